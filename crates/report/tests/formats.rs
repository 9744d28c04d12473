//! Each format on worked results, as snapshots, and what other programs make of it.

use crate::common;
use wirelab_report::{Format, Options, render, summary_line};
use wirelab_trial::{Field, ResultsFile, Status};

fn text(file: &ResultsFile, format: Format) -> String {
    let text = render(file, format, &Options::default());
    match format {
        Format::Html => common::page::own(&text),
        _ => text,
    }
}

fn terminal(file: &ResultsFile, width: usize, each_flow: bool) -> String {
    let options = Options {
        width: Some(width),
        each_flow,
        ..Options::default()
    };
    render(file, Format::Terminal, &options)
}

#[test]
fn terminal_wide() {
    insta::assert_snapshot!(terminal(&common::lab(), 200, false));
}

#[test]
fn terminal_of_eighty_columns() {
    let shown = terminal(&common::lab(), 80, false);
    let longest = |part: &str| part.lines().map(|l| l.chars().count()).max().unwrap();
    let table = shown.split("no room for").next().unwrap();
    let rows: Vec<&str> = table
        .lines()
        .skip_while(|l| !l.contains("direction"))
        .collect();
    assert!(longest(&rows.join("\n")) <= 80, "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_narrow_terminal_says_what_it_leaves_out_and_keeps_what_the_tester_limited() {
    for width in [40, 80, 120] {
        let shown = terminal(&common::lab(), width, false);
        let table = shown.lines().skip(1);
        let table = table.take_while(|line| !line.starts_with('[') && !line.starts_with("warn"));
        for line in table.filter(|line| !line.starts_with("all trials")) {
            assert!(line.chars().count() <= width, "{width}: {line:?}\n{shown}");
        }
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("no room for: length, link load"), "{shown}");
        assert!(words.contains("a report FILE shows all)"), "{shown}");
        assert!(shown.contains("tester limited"), "{shown}");
        let limited = shown.lines().filter(|line| line.ends_with("yes")).count();
        assert_eq!(limited, 5, "{shown}");
    }
}

#[test]
fn terminal_with_faults() {
    insta::assert_snapshot!(terminal(&common::faulty(), 120, false));
}

#[test]
fn terminal_of_each_flow() {
    insta::assert_snapshot!(terminal(&common::faulty(), 140, true));
}

#[test]
fn terminal_of_other_kinds() {
    insta::assert_snapshot!(terminal(&common::kinds(), 160, false));
}

#[test]
fn a_trial_that_did_not_begin_says_so_in_place_of_its_figures() {
    let mut file = common::lab();
    for observation in &mut file.observations {
        let why = "unsupported by this node: ports: 9 requested".to_owned();
        observation.status = Status::Void { why };
        observation.started_unix_ns = Field::absent("the trial did not begin");
        observation.flows.clear();
    }
    let shown = terminal(&file, 300, false);
    assert!(shown.contains("] the trial did not begin"), "{shown}");
    assert!(!shown.contains("reported no flow"), "{shown}");
}

#[test]
fn options_of_a_path_have_a_column_where_trials_requested_them() {
    let shown = terminal(&common::linux::ways(), 300, false);
    let heads = shown
        .lines()
        .find(|line| line.contains("direction"))
        .unwrap();
    assert!(heads.contains("  options"), "{heads}");
    let options = "fast track, spin, beside 50 kpps, rule port=1026";
    assert!(shown.lines().any(|line| line.contains(options)), "{shown}");
    let none = terminal(&common::lab(), 300, false);
    let heads = none
        .lines()
        .find(|line| line.contains("direction"))
        .unwrap();
    assert!(!heads.contains("  options"), "{heads}");
    assert!(!none.contains("options default"), "{none}");
    let csv = text(&common::linux::ways(), Format::Csv);
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .contains(",path,wait,rule,background,"),
        "{csv}"
    );
    assert!(
        lines.any(|line| line.contains(",fast-track,spin,port=1026,")),
        "{csv}"
    );
}

#[test]
fn terminal_of_the_examples() {
    for (name, file) in common::examples() {
        insta::assert_snapshot!(format!("example_{name}"), terminal(&file, 120, false));
    }
}

#[test]
fn markdown() {
    insta::assert_snapshot!(text(&common::faulty(), Format::Markdown));
    insta::assert_snapshot!("markdown_kinds", text(&common::kinds(), Format::Markdown));
}

#[test]
fn csv() {
    let mut file = common::faulty();
    file.observations.truncate(2);
    insta::assert_snapshot!(text(&file, Format::Csv));
}

#[test]
fn junit() {
    insta::assert_snapshot!(text(&common::faulty(), Format::Junit));
}

#[test]
fn html() {
    let mut file = common::faulty();
    file.observations.truncate(2);
    insta::assert_snapshot!(text(&file, Format::Html));
}

#[test]
fn summary_lines() {
    let files = [common::lab(), common::faulty(), common::kinds()];
    let lines: Vec<String> = files
        .iter()
        .flat_map(|f| f.observations.iter().map(summary_line))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn json_is_the_results_file() {
    let file = common::kinds();
    let again = ResultsFile::parse(&text(&file, Format::Json)).unwrap();
    assert_eq!(again, file);
}

#[test]
fn csv_comes_back_as_it_went() {
    let file = common::lab();
    let text = text(&file, Format::Csv);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let names: std::collections::BTreeSet<&str> = header.iter().collect();
    assert_eq!(
        names.len(),
        header.len(),
        "every column has a name of its own"
    );
    let flows: Vec<_> = file.observations.iter().flat_map(|o| &o.flows).collect();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), flows.len());
    for (record, flow) in records.iter().zip(flows) {
        assert_eq!(&record[at("port")], flow.port);
        let counts = flow.counts.value().unwrap();
        assert_eq!(record[at("good_frames")].parse(), Ok(counts.good_frames));
        let fps = flow.frames_per_s.value().unwrap();
        assert_eq!(record[at("frames_per_s")].parse(), Ok(*fps));
        assert_eq!(&record[at("frames_per_s_kind")], "measured");
        match flow.efficiency.value() {
            Some(e) => assert_eq!(record[at("efficiency_ratio")].parse(), Ok(*e)),
            None => {
                assert_eq!(&record[at("efficiency_ratio")], "");
                assert!(record[at("efficiency_ratio_kind")].starts_with("absent: the port has"));
            }
        }
    }
}

#[test]
fn junit_fails_what_did_not_pass() {
    let file = common::faulty();
    let text = text(&file, Format::Junit);
    let doc = roxmltree::Document::parse(&text).unwrap();
    let cases: Vec<_> = doc
        .descendants()
        .filter(|n| n.has_tag_name("testcase"))
        .collect();
    // One for the run itself, which was interrupted.
    assert_eq!(cases.len(), file.observations.len() + 1);
    for (case, o) in cases.iter().zip(&file.observations) {
        let failed = case.children().any(|n| n.has_tag_name("failure"));
        assert_eq!(failed, !o.passed(), "{case:?}");
    }
    let suite = doc.root_element();
    assert_eq!(suite.attribute("failures"), Some("4"));
    let messages: Vec<_> = doc
        .descendants()
        .filter_map(|n| n.attribute("message"))
        .collect();
    assert!(messages[0].contains("12 lost, 2 corrupted"), "{messages:?}");
}

#[test]
fn what_was_not_counted_is_not_called_clean() {
    let mut file = common::kinds();
    let shown = text(&file, Format::Html);
    assert!(shown.contains("3 without counted frames"), "{shown}");
    assert!(
        shown.contains("✗ Not clean.") && shown.contains("0.01 % lost, as the node reports it")
    );
    file.observations.remove(0);
    assert!(text(&file, Format::Html).contains("✓ Clean."));
    file.observations.retain(|o| o.node.node_type == "model");
    let shown = text(&file, Format::Html);
    assert!(!shown.contains("✓ Clean.") && shown.contains("Not judged."));
}

#[test]
fn colour_is_only_an_addition() {
    let file = common::faulty();
    let plain = text(&file, Format::Terminal);
    let options = Options {
        colour: true,
        ..Options::default()
    };
    let coloured = render(&file, Format::Terminal, &options);
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[1;31m15\x1b[0m"));
    let mut bare = String::new();
    for part in coloured.split('\x1b') {
        let code = part.split_once('m').filter(|(c, _)| c.starts_with('['));
        bare.push_str(code.map_or(part, |(_, rest)| rest));
    }
    assert_eq!(bare, plain);
}

#[test]
fn instructions_are_never_shown_as_time() {
    let mut file = common::kinds();
    file.observations.retain(|o| o.node.node_type == "board");
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let shown = text(&file, format);
        assert!(shown.contains("instructions"), "{shown}");
        assert!(shown.contains("1,914"), "{shown}");
        for unit in [" ns", " µs", " ps<", "frames/s<br>*measured*"] {
            assert!(!shown.contains(unit), "{unit} in {shown}");
        }
    }
}

#[test]
fn each_figure_names_its_kind() {
    let shown = text(&common::kinds(), Format::Markdown);
    assert!(
        shown.contains("4,252 meas.") && shown.contains("7,042 pred."),
        "{shown}"
    );
    let csv = text(&common::kinds(), Format::Csv);
    assert!(csv.contains(",predicted,") && csv.contains("absent: a model moves no frames"));
}

/// What is compared for each pair of trials would be compared 16 million times here.
#[test]
fn a_file_of_many_trials_is_a_table_of_as_many_rows() {
    let mut file = common::lab();
    let one = file.observations.remove(0);
    file.observations = (0..4_000u64)
        .map(|n| {
            let mut next = one.clone();
            next.flows.truncate(1);
            next.counters.insert("turn".to_owned(), Field::measured(n));
            next
        })
        .collect();
    file.parts.clear();
    let shown = text(&file, Format::Terminal);
    assert!(shown.lines().count() > 8_000, "{}", shown.lines().count());
    assert!(shown.contains("3,999"), "the last trial's counter");
}
