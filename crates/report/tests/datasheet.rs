//! The datasheet: the third source document's tables cell by cell, what is absent, every format, side by side.

use crate::common;
use crate::common::am263x;
use crate::common::page::{pictures, rows, text};
use wirelab_report::datasheet::{compare, datasheet, is_datasheet};
use wirelab_report::{Format, Options, render};
use wirelab_trial::*;

#[test]
fn the_page_of_the_third_document_cell_by_cell() {
    let file = am263x::page();
    assert!(is_datasheet(&file));
    let page = text(&file, Format::Markdown);
    let latency = rows(&page, "### Layer 2 Latency");
    assert_eq!(latency[1][..3], ["RX Latency", "39400", "193"]);
    assert!(latency[1][3].starts_with("39593"), "{latency:?}");
    assert_eq!(latency[2][..3], ["TX Latency", "11000", "384"]);
    assert!(latency[2][3].starts_with("11384"), "{latency:?}");
    assert_eq!(
        rows(&page, "### Layer 2 Throughput")[1],
        ["Layer 2 Transmission", "950", "24", "1500"]
    );
    let tcp = rows(&page, "### TCP Throughput");
    assert_eq!(tcp[1], ["TCP RX", "178", "98"]);
    assert_eq!(tcp[2], ["TCP TX", "178", "98"]);
    assert_eq!(tcp[3], ["TCP Bidirectional", "RX=53 TX=132", "100"]);
    let udp = rows(&page, "### UDP Throughput");
    assert_eq!(udp[0][0], "Test");
    let sizes = ["64", "256", "512", "1470"].iter();
    let heads = sizes.flat_map(|b| {
        ["Bandwidth (Mbit/s)", "CPU Load (%)", "Packet Loss (%)"]
            .map(|name| format!("Datagram Length = {b}B: {name}"))
    });
    assert_eq!(udp[0][1..], heads.collect::<Vec<_>>());
    let printed = |of: &[&str]| of.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
    for (row, cells) in udp[1..].iter().zip([
        &[
            "UDP RX", "5", "37", "0.0", "5", "18", "0.0", "25", "44", "0.0", "50", "37", "0.0",
        ][..],
        &[
            "", "10", "67", "2.6", "15", "50", "0.0", "50", "80", "0.0", "60", "44", "0.0",
        ],
        &[
            "", "15", "96", "5.5", "25", "73", "4.4", "55", "88", "4.9", "95", "68", "0.0",
        ],
        &[
            "UDP RX (Max)",
            "7",
            "51",
            "0.8",
            "19",
            "60",
            "0.6",
            "51",
            "64",
            "0.0",
            "110",
            "78",
            "2.4",
        ],
        &[
            "UDP TX (Max)",
            "24.6",
            "100",
            "0.0",
            "56.2",
            "100",
            "0.0",
            "112",
            "100",
            "0.0",
            "323",
            "100",
            "0.0",
        ],
    ]) {
        assert_eq!(*row, printed(cells));
    }
    assert_eq!(udp.len(), 6);
}

#[test]
fn latency_is_that_between_driver_and_application_and_a_picture_says_so() {
    let mut file = am263x::page();
    for (name, direction) in [
        ("call to application", Direction::Receive),
        ("application to call", Direction::Transmit),
    ] {
        let all = file.observations.iter_mut();
        let mut mine = all.filter(|o| o.trial.direction == direction);
        let stages = mine.find(|o| !o.flows[0].series.is_empty()).unwrap();
        // A node also has shorter stages, and reports them first.
        let mut shorter = stages.flows[0].series[0].clone();
        shorter.name = crate::common::series_name(name);
        shorter.histogram.mean_ticks /= 2.0;
        shorter.raw_ticks.iter_mut().for_each(|ticks| *ticks /= 2);
        stages.flows[0].series.insert(0, shorter);
    }
    let page = text(&file, Format::Markdown);
    let latency = rows(&page, "### Layer 2 Latency");
    assert_eq!(latency[1][1], "39400");
    assert_eq!(latency[2][1], "11000");
    for format in [Format::Terminal, Format::Markdown] {
        let page = text(&file, format);
        let (_, drawn) = page.split_once("What each latency spans").unwrap();
        let way = "line   MAC   driver   application   driver   MAC   line\n";
        let (head, below) = drawn.split_once(way).expect(drawn);
        let indent = head.lines().last().unwrap().len();
        let total = below.lines().find(|line| line.starts_with("RX total"));
        assert_eq!(&total.unwrap()[indent..], "  ├─────┤       ├──────────┤");
        assert!(below.contains("from there to the driver is in no figure"));
    }
    let all = pictures(&text(&file, Format::Html));
    let spans: Vec<_> = all.iter().filter(|p| p["type"] == "spans").collect();
    assert_eq!(spans.len(), 2, "of the stages, and of the round trips");
    let words = |at: usize, row: usize| spans[at]["rows"][row]["words"].as_str().unwrap();
    assert_eq!(words(0, 1), "RX CPU<->MAC: from driver to application");
    assert_eq!(words(0, 4), "TX PHY: from MAC to line");
    assert_eq!(words(1, 0), "round trip: from due to back");
}

#[test]
fn the_set_up_tables_of_the_third_document() {
    let page = text(&am263x::page(), Format::Markdown);
    let soc = rows(&page, "## Setup Details");
    let pairs =
        |rows: &[Vec<String>]| -> Vec<String> { rows[1..].iter().map(|r| r.join(": ")).collect() };
    assert_eq!(
        pairs(&soc),
        [
            "Core: R5F",
            "Core Operating Speed: 400 MHz",
            "Memory Type: MSRAM",
            "Cache status: Enabled"
        ]
    );
    let (layer2, tcp_ip) = page.split_once("## TCP/IP Performance").unwrap();
    let layer2 = pairs(&rows(layer2, "### Configuration Details"));
    assert_eq!(layer2[0], "Processing Core: Main R5F0 Core 0");
    assert_eq!(layer2[2], "Ethernet Interface Type: RGMII at 1 Gbit/s");
    assert!(
        layer2.contains(&"Packet buffer memory: MSRAM (un-cached)".to_owned()),
        "{layer2:?}"
    );
    assert_eq!(
        layer2[layer2.len() - 2..],
        ["Rx packet length: 200 B", "Tx packet length: 200 B"]
    );
    let tcp_ip = pairs(&rows(tcp_ip, "### Configuration Details"));
    for row in [
        "Packet buffer memory: MSRAM (cached)",
        "Hardware checksum offload: Enabled on Tx side Disabled on Rx side",
        "Number of Rx packet buffers: 32",
        "TCP/IP stack: LwIP",
    ] {
        assert!(tcp_ip.contains(&row.to_owned()), "{row} in {tcp_ip:?}");
    }
}

#[test]
fn in_every_format() {
    let file = am263x::page();
    insta::assert_snapshot!("terminal", text(&file, Format::Terminal));
    let narrow = Options {
        width: Some(80),
        ..Options::default()
    };
    let narrow = render(&file, Format::Terminal, &narrow);
    let tables = narrow
        .lines()
        .filter(|l| !l.contains(". ") && !l.starts_with('[') && !l.contains('$'));
    let table = |l: &&str| l.contains("UDP RX") || l.contains("Datagram");
    for row in tables.filter(table) {
        assert!(row.chars().count() <= 80, "{row}");
    }
    insta::assert_snapshot!("markdown", text(&file, Format::Markdown));
    insta::assert_snapshot!("html", common::page::own(&text(&file, Format::Html)));
    insta::assert_snapshot!("csv", text(&file, Format::DatasheetCsv));
}

#[test]
fn an_iperf_peer_leaves_cells_empty_and_says_why() {
    let file = am263x::iperf_page();
    let page = text(&file, Format::Markdown);
    insta::assert_snapshot!("iperf", page);
    let sheet = &datasheet(&file).sheets[0];
    let absent = |field: &Field<f64>| match field {
        Field::Absent { absent } => absent.clone(),
        Field::Observed { value, .. } => panic!("{value} was not seen"),
    };
    assert_eq!(
        absent(&sheet.udp[0].receive[0].cpu_busy_ratio),
        "an iperf peer reports no CPU load"
    );
    assert_eq!(
        absent(&sheet.layer2_throughput[0].bits_per_s),
        "layer: iperf supports only UDP and TCP"
    );
    assert!(
        page.contains("`wirelab iperf -c 192.0.2.7 -u -l 64 -b BW -r`"),
        "{page}"
    );
    assert!(page.contains("`wirelab iperf -c 192.0.2.7 -d`"));
    // What the peer cannot do is not a failure, and neither is a loss that was looked for.
    let junit = text(&file, Format::Junit);
    let junit = roxmltree::Document::parse(&junit).unwrap();
    let suite = junit
        .descendants()
        .find(|n| n.has_tag_name("testsuite"))
        .unwrap();
    assert_eq!(suite.attribute("failures"), Some("0"));
    assert_eq!(suite.attribute("skipped"), Some("6"));
    let goals = junit
        .descendants()
        .filter(|n| n.attribute("classname") == Some("wirelab.search"));
    assert_eq!(goals.count(), 8);
}

#[test]
fn the_json_has_a_stable_shape() {
    let json: serde_json::Value =
        serde_json::from_str(&text(&am263x::page(), Format::DatasheetJson)).unwrap();
    assert_eq!(json["format"], "wirelab-datasheet");
    assert_eq!(json["version"], 1);
    let sheet = &json["sheets"][0];
    let value = |pointer: &str| {
        let field = sheet
            .pointer(pointer)
            .unwrap_or_else(|| panic!("{pointer}"));
        assert_eq!(field["kind"], "measured", "{pointer}");
        field["value"].as_f64().unwrap()
    };
    assert_eq!(value("/layer2_latency/0/node_ps"), 39_400_000.0);
    assert_eq!(sheet["layer2_latency"][0]["phy_ps"]["kind"], "published");
    assert_eq!(sheet["layer2_latency"][0]["total"]["kinds"][1], "published");
    assert_eq!(value("/tcp/2/bits_per_s"), 53e6);
    assert_eq!(sheet["tcp"][2]["trial_direction"], "both");
    assert_eq!(sheet["udp"][3]["datagram_bytes"], 1470);
    assert_eq!(value("/udp/0/receive/1/offered_bits_per_s"), 10e6);
    assert!((value("/udp/0/receive_max/rate/bits_per_s") - 7e6).abs() < 1.0);
    assert_eq!(
        sheet["udp"][0]["receive_max"]["limited_by"]["value"],
        "node"
    );
    assert!((value("/udp/0/receive_max/rate/loss_ratio") - 0.008).abs() < 1e-4);
    assert_eq!(value("/udp/0/receive_no_loss/rate/loss_ratio"), 0.0);
    assert_eq!(value("/echo/2/p50_ps"), 203_000_000.0);
    assert_eq!(value("/echo/0/floor_p50_ps"), 21_000_000.0);
    let mut names = Vec::new();
    keys(&json, String::new(), &mut names);
    names.sort_unstable();
    names.dedup();
    insta::assert_snapshot!("json_shape", names.join("\n"));
}

/// The paths of a JSON value, without the numbers of lists and the keys of set-up tables.
fn keys(value: &serde_json::Value, path: String, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) if !path.ends_with("setup") => {
            map.iter()
                .for_each(|(key, v)| keys(v, format!("{path}.{key}"), out));
        }
        serde_json::Value::Array(list) => {
            list.iter().for_each(|v| keys(v, format!("{path}[]"), out))
        }
        _ => out.push(path),
    }
}

#[test]
fn the_csv_has_every_figure_with_its_kind() {
    let text = text(&am263x::iperf_page(), Format::DatasheetCsv);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let find = |section: &str, size: &str, row: &str, figure: &str| {
        let mut all = records.iter();
        let found = all.find(|r| [&r[1], &r[2], &r[3], &r[4]] == [section, size, row, figure]);
        found.map(|r| (r[5].to_owned(), r[6].to_owned())).unwrap()
    };
    assert_eq!(
        find("udp", "64", "receive_2", "offered_bits_per_s"),
        ("10000000".into(), "measured".into())
    );
    assert_eq!(
        find("udp", "64", "transmit_max", "cpu_busy_ratio"),
        (
            String::new(),
            "absent: an iperf peer reports no CPU load".into()
        )
    );
}

#[test]
fn shared_cores_are_marked_and_nothing_seen_is_not_nought() {
    let mut file = am263x::page();
    for o in &mut file.observations {
        if let Field::Observed { value, .. } = &mut o.cpu_load {
            value.shared = true;
        }
    }
    let last = file
        .observations
        .iter_mut()
        .rfind(|o| o.trial.direction == Direction::Transmit);
    last.unwrap().status = Status::Void {
        why: "the node went away".to_owned(),
    };
    let page = text(&file, Format::Markdown);
    let tcp = |page: &str| {
        let part = page.split("### TCP Throughput").nth(1).unwrap();
        part.split("##").next().unwrap().to_owned()
    };
    let alike = tcp(&page);
    assert!(
        alike.contains("CPU Load (%, shared)") && !alike.contains("98 shared"),
        "{alike}"
    );
    let mut some = file.clone();
    let of_tcp = |o: &&mut Observation| o.trial.framing.layer == Layer::TcpIpv4;
    let first = some.observations.iter_mut().find(of_tcp).unwrap();
    if let Field::Observed { value, .. } = &mut first.cpu_load {
        value.shared = false;
    }
    let mixed = tcp(&text(&some, Format::Markdown));
    assert!(
        mixed.contains("98 shared"),
        "a head is of all its cells: {mixed}"
    );
    let udp = rows(&page, "### UDP Throughput");
    assert!(udp[5][10..].iter().all(|c| c.starts_with('–')), "{udp:?}");
    assert!(page.contains("the node went away"));
}

#[test]
fn where_the_tester_was_the_limit_the_figure_says_so() {
    let mut file = am263x::page();
    let warning = |n: u64| Warning {
        code: "checker-missed".to_owned(),
        text: format!("{} frames went by unseen", n + 1),
        fix: "offer less".to_owned(),
    };
    let mut missed = 0;
    for o in &mut file.observations {
        match (o.trial.direction, o.trial.load) {
            (Direction::Transmit, Load::Max) if o.trial.framing.layer == Layer::UdpIpv4 => {
                missed += 1;
                o.warnings.push(warning(missed));
            }
            (_, Load::BitRate { .. }) => {
                o.tester.was_limit = Field::measured(true);
                if let Field::Observed { value, .. } = &mut o.cpu_load {
                    value.idle_baseline_ratio = None;
                }
            }
            _ => {}
        }
    }
    let page = text(&file, Format::Markdown);
    let udp = rows(&page, "### UDP Throughput");
    let note = |cell: &str| -> String {
        let number = cell
            .split('[')
            .nth(1)
            .unwrap_or_else(|| panic!("{cell} has no note"));
        let number = number.trim_end_matches(']');
        let found = page
            .lines()
            .find(|l| l.starts_with(&format!("\\[{number}\\]")));
        found.unwrap().to_owned()
    };
    assert!(
        note(&udp[1][1]).contains("fell behind the requested rate"),
        "{page}"
    );
    assert!(note(&udp[5][1]).contains("the node may be faster"));
    assert!(note(&udp[5][3]).contains("not in this loss"));
    // Four warnings that differ in a number alone are one.
    assert!(
        page.contains("2 frames went by unseen (and 3 more like it)"),
        "{page}"
    );
    let sheet = &datasheet(&file).sheets[0];
    assert_eq!(
        sheet.udp[0].receive[0].cpu_idle_ratio.value(),
        None,
        "0 stands for nothing"
    );
    assert!(
        sheet.udp[0]
            .transmit_max
            .as_ref()
            .unwrap()
            .tester_missed_frames
    );
}

#[test]
fn figures_of_a_node_with_other_work_say_so() {
    let mut file = am263x::page();
    let note = "the node's cores were busy before the trial: an idle node may be faster";
    assert!(!text(&file, Format::Markdown).contains(note));
    for o in &mut file.observations {
        if let Field::Observed { value, .. } = &mut o.cpu_load {
            value.idle_baseline_ratio = Some(wirelab_trial::NODE_BUSY);
        }
    }
    let page = text(&file, Format::Markdown);
    assert!(page.contains(note), "{page}");
    let udp = rows(&page, "### UDP Throughput");
    assert!(
        udp[5][1].contains('[') && udp[5][3].contains('['),
        "{udp:?}"
    );
}

#[test]
fn figures_of_a_node_that_its_host_held_up_say_so() {
    let mut file = am263x::page();
    let note = "the node's own host held its sender or receiver up: an idle node may be faster";
    for o in &mut file.observations {
        let held = Field::measured(3_600_000_000_000);
        o.counters
            .insert(wirelab_trial::held::NODE_SENDER_HELD.to_owned(), held);
    }
    let page = text(&file, Format::Markdown);
    assert!(page.contains(note), "{page}");
}

#[test]
fn a_bound_that_the_tester_set_is_found_by_what_was_really_offered() {
    let mut file = am263x::page();
    let first = file.parts.iter().position(|p| p.found.is_some()).unwrap();
    let range = file.parts[first].first as usize..;
    // The fourth trial of the search is the one at the bound; more was requested than was offered.
    let o = &mut file.observations[range][3];
    let Load::FrameRate { frames_per_s } = o.trial.load else {
        panic!("{:?}", o.trial.load);
    };
    o.trial.load = Load::FrameRate {
        frames_per_s: 3.0 * frames_per_s,
    };
    o.tester.was_limit = Field::measured(true);
    if let Field::Observed { value, .. } = &mut o.flows[0].sender {
        value.kept_rate = Field::measured(false);
        value.achieved_frames_per_s = Field::measured(frames_per_s);
    }
    if let Some(SearchOutcome::Rates(result)) = &mut file.parts[first].found {
        result.goals[1].limited_by = Field::measured(search::Limit::Tester);
    }
    let page = text(&file, Format::Markdown);
    let udp = rows(&page, "### UDP Throughput");
    assert!(udp[4][1].starts_with("7 ["), "{udp:?}");
    assert_eq!(udp[4][2..4], ["51", "0.8"]);
    assert!(page.contains("the tester was the limit: the node may be faster"));
}

#[test]
fn marks_of_rates_stand_at_the_load_that_was_achieved_and_the_knee_is_named() {
    let mut file = am263x::page();
    let at = file.parts.iter().position(|p| p.found.is_some()).unwrap();
    let first = file.parts[at].first as usize;
    let o = &mut file.observations[first];
    o.tester.was_limit = Field::measured(true);
    let bits = 8.0 * f64::from(o.sizes.datagram.unwrap());
    // The sender kept its rate within the tolerance, and still sent a little less than requested.
    if let Field::Observed { value, .. } = &mut o.flows[0].sender {
        value.kept_rate = Field::measured(true);
        value.achieved_frames_per_s = Field::measured(1234.5);
    }
    let all = pictures(&text(&file, Format::Html));
    let of_rates = |p: &&serde_json::Value| p["panes"][0]["y"]["name"] == "arrived in bit/s";
    let rates = all.iter().find(of_rates).unwrap();
    for pane in rates["panes"].as_array().unwrap() {
        for series in pane["series"].as_array().unwrap() {
            assert_eq!(
                series["joined"], false,
                "a line would zigzag: {}",
                series["name"]
            );
        }
    }
    let points = rates["panes"][0]["series"][0]["points"].as_array().unwrap();
    let own = points.iter().find(|p| p["trial"] == first + 1).unwrap();
    assert!(
        (own["x"].as_f64().unwrap() - 1234.5 * bits).abs() < 1e-6,
        "{own}"
    );
    assert_eq!(own["tester"], true);
    let marked = rates["marked"].as_array().unwrap();
    let names: Vec<&str> = marked.iter().map(|m| m[1].as_str().unwrap()).collect();
    assert_eq!(names[0], "64 B: 7 Mbit/s");
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn other_results_are_shown_trial_by_trial() {
    assert!(!is_datasheet(&common::lab()));
    let mut file = am263x::page();
    let trials = Options {
        trials: true,
        ..Options::default()
    };
    let shown = render(&file, Format::Terminal, &trials);
    assert!(
        !shown.contains("Layer 2 Latency") && shown.contains("Throughput that searches found"),
        "{shown}"
    );
    assert!(
        shown.contains("24 of the trials are of searches"),
        "{shown}"
    );
    file.parts.clear();
    assert!(!is_datasheet(&file));
    assert!(
        text(&file, Format::Datasheet).contains("Layer 2 Latency"),
        "requested by name"
    );
}

#[test]
fn results_side_by_side() {
    let mut predicted = am263x::page();
    for o in &mut predicted.observations {
        o.node.name = "am263x".to_owned();
        o.node.node_type = "model".to_owned();
        for flow in &mut o.flows {
            for field in [
                &mut flow.goodput_bits_per_s,
                &mut flow.frames_per_s,
                &mut flow.loss_ratio,
            ] {
                if let Field::Observed { kind, .. } = field {
                    *kind = Kind::Predicted;
                }
            }
        }
    }
    let files = [
        ("board.json".to_owned(), am263x::page()),
        ("model.json".to_owned(), predicted),
    ];
    let shown = compare(&files, Format::DatasheetMarkdown, &Options::default()).unwrap();
    insta::assert_snapshot!("side_by_side", shown);
    assert!(shown.contains("am263x (model.json)") && shown.contains("pred"));
    assert!(compare(&files, Format::Junit, &Options::default()).is_err());
    for format in [Format::Datasheet, Format::DatasheetHtml] {
        assert!(
            compare(&files, format, &Options::default())
                .unwrap()
                .contains("board.json")
        );
    }
}

#[test]
fn a_search_that_was_cut_short_shows_its_bracket_and_is_no_max() {
    let mut file = am263x::page();
    let first = file.parts.iter().position(|p| p.found.is_some()).unwrap();
    let Some(SearchOutcome::Rates(result)) = &mut file.parts[first].found else {
        panic!("no rates");
    };
    for goal in &mut result.goals {
        goal.outcome = search::Outcome::Unfinished;
        goal.limited_by = Field::absent("the rate was not found");
        goal.relevant_lower_bound_frames_per_s = Field::measured(1_000.0);
        goal.relevant_upper_bound_frames_per_s = Field::measured(4_321.0);
        goal.conditional_throughput_frames_per_s = Field::measured(1_234.5);
    }
    let page = text(&file, Format::Markdown);
    assert!(page.contains("≥ 1,000, &lt; 4,321 frames/s"), "{page}");
    let max = &rows(&page, "### UDP Throughput")[4];
    assert!(max[1].starts_with('–'), "{max:?}");
    let max = datasheet(&file).sheets[0]
        .udp
        .iter()
        .find_map(|u| u.receive_max.clone())
        .unwrap();
    assert!(max.rate.bits_per_s.value().is_none() && max.rate.frames_per_s.value().is_none());
    let trials = Options {
        trials: true,
        ..Options::default()
    };
    let tables = render(&file, Format::Markdown, &trials);
    let junit = text(&file, Format::Junit);
    assert!(tables.contains("≥ 1,000, &lt; 4,321 frames/s"), "{tables}");
    assert!(junit.contains("≥ 1,000, &lt; 4,321 frames/s"), "{junit}");
    for text in [tables, junit] {
        assert!(!text.contains("1,234"), "{text}");
    }
}
