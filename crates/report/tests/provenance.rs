//! Each figure says where it comes from in every format: a sum is of the weakest kind of its parts and names them, and
//! figures of an emulated node are marked, said at the top of the page, and never stand beside measured ones.

use crate::common;
use crate::common::am263x;
use wirelab_report::datasheet::compare;
use wirelab_report::{Format, MixedError, Options, refuse_mislabelled, refuse_mixed, render};

use wirelab_trial::{Direction, Field, Kind, Observation, ResultsFile, SearchOutcome};

const SUM: &str = "measured + published (PHY DP83869HM datasheet)";

fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

fn emulated() -> ResultsFile {
    let mut file = am263x::page();
    for o in &mut file.observations {
        o.mark_emulated();
    }
    // As a search of such a node finds them.
    let found = file.parts.iter_mut().filter_map(|p| p.found.as_mut());
    for part in found {
        if let SearchOutcome::Rates(result) = part {
            for goal in &mut result.goals {
                let bounds = [
                    &mut goal.relevant_lower_bound_frames_per_s,
                    &mut goal.relevant_upper_bound_frames_per_s,
                    &mut goal.conditional_throughput_frames_per_s,
                    &mut goal.conditional_throughput_payload_bits_per_s,
                    &mut goal.conditional_throughput_goodput_bits_per_s,
                    &mut goal.width_ratio,
                ];
                for field in bounds {
                    if let Field::Observed { kind, .. } = field {
                        *kind = Kind::Emulated;
                    }
                }
            }
        }
    }
    file
}

#[test]
fn a_sum_of_measured_and_published_names_its_parts() {
    let file = am263x::page();
    for format in [
        Format::Datasheet,
        Format::DatasheetHtml,
        Format::DatasheetCsv,
    ] {
        assert!(text(&file, format).contains(SUM), "{format}");
    }
    let csv = text(&file, Format::DatasheetCsv);
    let kind_of = |figure: &str| {
        let row = csv.lines().find(|l| l.contains(&format!(",{figure},")));
        let row = row.unwrap_or_else(|| panic!("{figure}: {csv}"));
        row.split(',').nth(6).unwrap().to_owned()
    };
    assert_eq!(kind_of("node_ps"), "measured");
    assert_eq!(kind_of("phy_ps"), "published");
    assert_eq!(kind_of("total_ps"), SUM);
    let json: serde_json::Value =
        serde_json::from_str(&text(&file, Format::DatasheetJson)).unwrap();
    let total = &json["sheets"][0]["layer2_latency"][0]["total"];
    assert_eq!(
        (&total["kind"], &total["parts"]),
        (&"published".into(), &SUM.into())
    );
    let files = [
        ("a.json".to_owned(), file.clone()),
        ("b.json".to_owned(), file),
    ];
    let beside = compare(&files, Format::Datasheet, &Options::default()).unwrap();
    let row = beside.lines().find(|l| l.contains(" total ")).unwrap();
    assert!(row.contains('[') && beside.contains(SUM), "{beside}");
}

#[test]
fn an_emulated_page_says_so_at_its_top_and_beside_each_figure() {
    let file = emulated();
    for format in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let page = text(&file, format);
        let body = page.find("Setup Details").unwrap();
        let top = &page[..body];
        assert!(
            top.contains("Emulated:") && top.contains("not figures of the hardware"),
            "{top}"
        );
        assert!(!page.contains("All figures measured"), "{format}: {page}");
        assert!(page.contains("All figures emulated"), "{format}");
    }
    for row in text(&file, Format::DatasheetCsv).lines().skip(1) {
        let of_the_tester = row.contains(",tester_") || row.contains(",floor_");
        let measured = row.split(',').nth(6) == Some("measured");
        // What was offered is what the tester itself sent.
        assert!(
            !measured || of_the_tester || row.contains(",offered_"),
            "{row}"
        );
    }
    let trials = Options {
        trials: true,
        ..Options::default()
    };
    for junit in render(&file, Format::Junit, &trials)
        .split("<testcase")
        .skip(1)
    {
        let judged = junit.contains("wirelab.run");
        assert!(judged || junit.contains("emulated)"), "{junit}");
    }
    for page in [
        render(&file, Format::Html, &trials),
        text(&file, Format::DatasheetHtml),
    ] {
        let tables = marked_tables(&page);
        assert!(tables > 3, "{tables} tables of figures");
    }
    let file: ResultsFile = serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
    assert!(
        file.observations
            .iter()
            .all(wirelab_trial::Observation::is_emulated)
    );
}

#[test]
fn emulated_and_measured_results_do_not_stand_side_by_side() {
    let files = [
        ("chip.json".to_owned(), am263x::page()),
        ("emulated.json".to_owned(), emulated()),
    ];
    for format in [
        Format::Datasheet,
        Format::DatasheetMarkdown,
        Format::DatasheetHtml,
    ] {
        let error = compare(&files, format, &Options::default())
            .unwrap_err()
            .to_string();
        for word in ["emulated.json", "chip.json", "not compared", "fix:"] {
            assert!(error.contains(word), "{error}");
        }
    }
    let alone = [files[1].clone(), files[1].clone()];
    let shown = compare(&alone, Format::Datasheet, &Options::default()).unwrap();
    assert!(shown.contains("emulated"), "{shown}");
}

/// The tables of a page of emulated figures, in each of which each figure must have its kind: in the sentence above it,
/// in the head of its column, or beside it. What the tester says of itself is measured.
fn marked_tables(page: &str) -> usize {
    let page = page.split_once("<body>").unwrap().1;
    let page = page.split("</body>").next().unwrap();
    let page = format!("<body>{page}</body>");
    let page = roxmltree::Document::parse(&page).unwrap();
    let all_text = |node: roxmltree::Node<'_, '_>| -> String {
        let texts = node.descendants().filter(|t| t.is_text());
        let texts: Vec<&str> = texts.filter_map(|t| t.text()).collect();
        texts.join(" ")
    };
    let mut count = 0;
    for table in page.descendants().filter(|n| n.has_tag_name("table")) {
        let above = table
            .prev_siblings()
            .skip(1)
            .find(roxmltree::Node::is_element);
        let above = above.map(all_text).unwrap_or_default();
        let headings = page.descendants().take_while(|n| *n != table);
        let headings = headings.filter(|n| n.has_tag_name("h2") || n.has_tag_name("summary"));
        let heading = headings.last().map(all_text).unwrap_or_default();
        let rows = table.descendants().filter(|n| n.has_tag_name("tr"));
        let rows: Vec<_> = rows.collect();
        let mut heads = rows
            .iter()
            .filter(|r| r.children().all(|c| !c.has_tag_name("td")));
        let Some(heads) = heads.next_back() else {
            continue;
        };
        let heads: Vec<String> = heads.children().map(all_text).collect();
        let mut figures = 0;
        for row in &rows {
            let cells: Vec<_> = row.children().collect();
            for (from_end, cell) in cells.iter().rev().enumerate() {
                let (shown, class) = (all_text(*cell), cell.attribute("class").unwrap_or(""));
                let is_figure = cell.has_tag_name("td") && class.starts_with('n');
                if !is_figure
                    || !shown.contains(|c: char| c.is_ascii_digit())
                    || shown.starts_with('–')
                {
                    continue;
                }
                let head = heads
                    .iter()
                    .rev()
                    .nth(from_end)
                    .map_or("", |head| head.as_str());
                // The request and its number are not figures of the node.
                let asked = [
                    "#",
                    "Samples",
                    "samples",
                    "probes",
                    "payload B",
                    "frame B",
                    "length B",
                    "datagram B",
                    "bytes",
                    "load",
                    "trial",
                    "frames sent",
                    "line rate",
                    "repeats",
                ];
                if asked
                    .iter()
                    .any(|asked| head.to_lowercase().contains(&asked.to_lowercase()))
                {
                    continue;
                }
                let of_head = ["emulated", "measured", "published"]
                    .iter()
                    .any(|k| head.contains(k));
                let of_cell = ["emul.", "meas.", "publ.", "(measured", "(emulated"];
                let of_cell = of_cell.iter().any(|k| shown.contains(k));
                let of_table = above.starts_with("All figures ") || heading.contains("(emulated)");
                assert!(
                    of_head || of_cell || of_table,
                    "{shown:?} under {head:?} in {heads:?} has no kind"
                );
                let tester = ["tester", "floor", "Floor", "Tester", "Offered", "PHY"];
                if of_head && !tester.iter().any(|t| head.contains(t)) {
                    assert!(!head.contains("measured"), "{head}");
                }
                figures += 1;
            }
        }
        count += usize::from(figures > 0);
    }
    count
}

#[test]
fn what_a_sender_offered_has_the_kind_of_the_sender() {
    let mut file = emulated();
    let json: serde_json::Value =
        serde_json::from_str(&text(&file, Format::DatasheetJson)).unwrap();
    let udp = json["sheets"][0]["udp"].as_array().unwrap();
    let receive = udp
        .iter()
        .flat_map(|size| size["receive"].as_array().unwrap());
    let kinds: Vec<_> = receive
        .map(|rate| {
            (
                rate["offered_bits_per_s"]["kind"].clone(),
                rate["bits_per_s"]["kind"].clone(),
            )
        })
        .collect();
    assert!(kinds.len() > 3);
    for (offered, arrived) in kinds {
        assert_eq!(
            (&offered, &arrived),
            (&"measured".into(), &"emulated".into())
        );
    }
    for size in udp {
        let sent = &size["transmit_max"]["offered_bits_per_s"];
        assert_ne!(sent["kind"], "measured", "the node sent it: {sent}");
    }
    // A model computes what it offers.
    for flow in file.observations.iter_mut().flat_map(|o| &mut o.flows) {
        if let Field::Observed { kind, .. } = &mut flow.goodput_bits_per_s {
            *kind = Kind::Predicted;
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&text(&file, Format::DatasheetJson)).unwrap();
    let first = &json["sheets"][0]["udp"][0]["receive"][0];
    assert_eq!(first["offered_bits_per_s"]["kind"], "predicted");
}

/// One observation of a file, alone.
fn alone(file: &ResultsFile, of: impl Fn(&Observation) -> bool) -> ResultsFile {
    let mut file = file.clone();
    file.parts.clear();
    file.observations.retain(|o| of(o));
    file.observations.truncate(1);
    assert_eq!(file.observations.len(), 1);
    file
}

fn named(name: &str, file: ResultsFile) -> (String, ResultsFile) {
    (name.to_owned(), file)
}

#[test]
fn results_of_both_kinds_are_refused_by_whichever_figure_tells_them() {
    let (chip, board) = (am263x::page(), emulated());
    let refused = |a: &ResultsFile, b: &ResultsFile| {
        let ends = [(a, b), (b, a)].map(|(a, b)| {
            let files = [named("a.json", a.clone()), named("b.json", b.clone())];
            matches!(refuse_mixed(&files), Err(MixedError::Mixed { .. }))
        });
        assert_eq!(ends[0], ends[1], "in either order");
        ends[0]
    };
    assert!(refused(&chip, &board));
    assert!(!refused(&chip, &chip) && !refused(&board, &board));
    // Round trips alone, stages alone, a CPU load alone.
    let echo = |o: &Observation| o.trial.direction == Direction::Echo;
    let stages = |o: &Observation| {
        o.series.len() + o.flows.iter().map(|f| f.series.len()).sum::<usize>() > 0
    };
    let bare = |file: &ResultsFile| {
        let mut file = file.clone();
        for o in &mut file.observations {
            let loaded = o.cpu_load.clone();
            for flow in &mut o.flows {
                flow.without_rates("not reported");
                flow.counts = Field::absent("not reported");
                flow.loss_ratio = Field::absent("not reported");
                flow.jitter_ps = Field::absent("not reported");
                flow.sent_frames = Field::absent("not reported");
                flow.series.clear();
            }
            o.cpu_load = loaded;
        }
        file
    };
    assert!(
        refused(&alone(&chip, echo), &alone(&board, echo)),
        "round trips"
    );
    assert!(
        refused(&alone(&chip, stages), &alone(&board, stages)),
        "stages"
    );
    let busy = |o: &Observation| o.cpu_load.value().is_some() && o.series.is_empty();
    let (a, b) = (bare(&alone(&chip, busy)), bare(&alone(&board, busy)));
    assert!(refused(&a, &b), "CPU loads");
    // A void trial has no figure, whatever its counters say.
    let mut void = alone(&chip, busy);
    void.observations[0].status = wirelab_trial::Status::Void {
        why: "so it is".to_owned(),
    };
    assert!(!refused(&void, &board));
}

#[test]
fn an_emulated_node_whose_times_claim_to_be_measured_is_refused() {
    let of = |file: &mut ResultsFile| {
        for o in &mut file.observations {
            let key = ("emulator".to_owned(), "QEMU 7.2".to_owned());
            o.node.setup.extend([key]);
        }
    };
    let mut board = emulated();
    of(&mut board);
    assert_eq!(refuse_mislabelled("board.json", &board), Ok(()));
    let mut old = am263x::page();
    assert_eq!(refuse_mislabelled("chip.json", &old), Ok(()));
    of(&mut old);
    let error = refuse_mislabelled("old.json", &old)
        .unwrap_err()
        .to_string();
    for word in [
        "old.json, trial 1",
        "QEMU 7.2",
        "claims to be measured",
        "fix:",
    ] {
        assert!(error.contains(word), "{error}");
    }
    let both = [named("board.json", board.clone()), named("old.json", old)];
    assert!(refuse_mixed(&both).is_err());
    // One figure is enough.
    let flow = board.observations.iter_mut().flat_map(|o| &mut o.flows);
    let mut flow = flow.filter(|f| f.elapsed.value().is_some());
    if let Some(Field::Observed { kind, .. }) = flow.next().map(|f| &mut f.loss_ratio) {
        *kind = Kind::Measured;
    }
    let error = refuse_mislabelled("board.json", &board).unwrap_err();
    assert!(error.to_string().contains("loss claims"), "{error}");
}

#[test]
fn counts_of_instructions_and_simulated_times_are_measured() {
    let examples = common::examples();
    let of = |name: &str| {
        let found = examples.iter().find(|(n, _)| n.contains(name));
        found.map(|(_, file)| file.clone()).unwrap()
    };
    let mut board = of("board-instructions");
    board.observations[0]
        .node
        .setup
        .insert("emulator".to_owned(), "QEMU".to_owned());
    assert_eq!(refuse_mislabelled("board.json", &board), Ok(()));
}

#[test]
fn trials_of_different_kinds_are_no_repeats_of_each_other() {
    let mut file = am263x::page();
    let part = |file: &ResultsFile| {
        let trial = |o: &Observation| o.trial.framing.layer.is_tcp();
        file.observations.iter().position(trial).unwrap()
    };
    let at = part(&file);
    let mut again = file.observations[at].clone();
    again.mark_emulated();
    file.observations.push(again);
    let json: serde_json::Value =
        serde_json::from_str(&text(&file, Format::DatasheetJson)).unwrap();
    let tcp = json["sheets"][0]["tcp"].as_array().unwrap();
    let number = file.observations.len() as u64;
    let holds = |rate: &&serde_json::Value, n: u64| {
        let trials = rate["trials"].as_array().unwrap();
        trials.iter().any(|t| t.as_u64() == Some(n))
    };
    let emulated = tcp.iter().find(|r| holds(r, number)).unwrap();
    assert_eq!(emulated["bits_per_s"]["kind"], "emulated");
    assert!(!holds(&emulated, at as u64 + 1), "{emulated}");
}
