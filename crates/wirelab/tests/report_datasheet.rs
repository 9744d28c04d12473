//! `wirelab report` of results that fill a datasheet, as a user calls it, and what `wirelab explain` says of them.

use crate::common::{scratch, stderr, stdout, wirelab};

/// A results file of a node's layer 2, TCP, and UDP at one size with its search.
const RESULTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fuzz/corpus/report/datasheet.json"
);

fn shown(args: &[&str]) -> String {
    let output = wirelab(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_person_sees_the_datasheet_and_can_see_the_trials() {
    let page = shown(&["report", RESULTS]);
    assert_eq!(page, shown(&["report", RESULTS, "--format", "datasheet"]));
    let lines: Vec<&str> = page.lines().collect();
    let at = lines
        .iter()
        .position(|l| *l == "UDP Throughput")
        .expect(&page);
    let rows: Vec<Vec<&str>> = lines[at..]
        .iter()
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert!(
        rows.contains(&vec!["UDP", "RX", "5", "37", "0.0"]),
        "{page}"
    );
    assert!(
        rows.contains(&vec!["UDP", "RX", "(Max)", "7", "51", "0.8"]),
        "{page}"
    );
    let trials = shown(&["report", RESULTS, "--trials"]);
    assert!(!trials.contains("UDP RX (Max)") && trials.contains("Throughput that searches found"));
}

#[test]
fn every_format_of_the_datasheet_is_written() {
    let paths = ["html", "md", "txt", "datasheet.json", "datasheet.csv"]
        .map(|end| scratch(&format!("sheet.{end}")));
    let mut args = vec!["report", RESULTS];
    for path in &paths {
        args.extend(["-o", path.to_str().expect("a plain path")]);
    }
    assert_eq!(shown(&args), "");
    let text = |at: usize| std::fs::read_to_string(&paths[at]).expect("it was written");
    assert!(text(0).contains("<figure") && text(0).contains("UDP Throughput"));
    assert!(text(1).contains("### TCP Throughput") && text(2).contains("TCP Bidirectional"));
    let json: serde_json::Value = serde_json::from_str(&text(3)).expect("JSON");
    assert_eq!(json["sheets"][0]["udp"][0]["datagram_bytes"], 64);
    assert!(text(4).starts_with("node,section,size_bytes,row,figure,value,kind,trials"));
    for path in &paths {
        std::fs::remove_file(path).expect("it was written");
    }
}

#[test]
fn two_results_stand_side_by_side() {
    let page = shown(&["report", RESULTS, RESULTS, "--format", "datasheet-md"]);
    let head = page.lines().find(|l| l.starts_with("| Test")).expect(&page);
    assert_eq!(head.matches("datasheet.json").count(), 2, "{head}");
    let path = scratch("side-by-side.html");
    let html = path.to_str().expect("a plain path");
    shown(&["report", RESULTS, RESULTS, "--side-by-side", "-o", html]);
    assert!(
        std::fs::read_to_string(&path)
            .expect("it was written")
            .contains("<table")
    );
    std::fs::remove_file(&path).expect("it was written");
    let refused = wirelab(&[
        "report",
        RESULTS,
        RESULTS,
        "--side-by-side",
        "--format",
        "junit",
    ]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("datasheet-md"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn explain_says_what_the_search_found() {
    let text = shown(&["explain", RESULTS]);
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    assert!(
        text.contains("Search at datagram 64 B for no loss"),
        "{text}"
    );
    assert!(text.contains("CPU only"), "{text}");
}
