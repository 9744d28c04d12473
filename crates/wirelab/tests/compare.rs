//! Two runs compared by the program: verdict, gate, formats and what is refused.

use crate::common::{PREDICT, scratch, stderr, stdout, wirelab};

/// A results file of a model, with a change of it.
fn predicted(name: &str, change: &[&str]) -> String {
    let path = scratch(name);
    let path = path.to_str().expect("plain text").to_owned();
    let output = wirelab(&[&PREDICT[..], &["-o", &path], change].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    path
}

#[test]
fn a_change_is_found_and_the_gate_ends_with_1() {
    let before = predicted("compare-before.json", &[]);
    let after = predicted("compare-after.json", &["--set", "in-flight=2"]);
    let better = wirelab(&["compare", &before, &after, "--fail-if", "worse"]);
    assert!(better.status.success(), "{}", stderr(&better));
    assert!(stdout(&better).contains("Better: of 3 figures, 1 better, 2 same."));
    let worse = wirelab(&["compare", &after, &before]);
    assert!(worse.status.success() && stdout(&worse).contains("▼ worse"));
    let report = scratch("compare.xml");
    let report = report.to_str().expect("plain text");
    let gated = wirelab(&[
        "compare",
        &after,
        &before,
        "--fail-if",
        "worse:5%",
        "-o",
        report,
    ]);
    assert_eq!(gated.status.code(), Some(1));
    assert!(stderr(&gated).contains("1 figure failed by --fail-if"));
    let junit = std::fs::read_to_string(report).expect("the report");
    assert!(
        junit.contains("failures=\"1\"") && junit.contains("forwarding rate"),
        "{junit}"
    );
    let lax = wirelab(&["compare", &after, &before, "--fail-if", "worse:50%"]);
    assert!(lax.status.success(), "{}", stderr(&lax));
    let json = wirelab(&["compare", &after, &before, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["verdict"], "worse");
    assert_eq!(json["figures"][0]["figure"], "forwarding rate");
    assert_eq!(json["figures"][0]["unit"], "frames/s");
}

#[test]
fn a_measurement_is_compared_with_an_earlier_one() {
    let before = predicted("compare-fast.json", &["--set", "in-flight=2"]);
    let asked = [
        "measure",
        "lpc1768",
        "--length",
        "1514",
        "--buffers",
        "copied",
        "--against",
        &before,
    ];
    let shown = wirelab(&asked);
    assert!(
        shown.status.success() && stdout(&shown).contains("▼ worse"),
        "{}",
        stdout(&shown)
    );
    let gated = wirelab(&[&asked[..], &["--fail-if", "worse:5%", "--json"]].concat());
    assert_eq!(gated.status.code(), Some(1), "{}", stderr(&gated));
    let text = stdout(&gated);
    assert!(text.starts_with('{') && stderr(&gated).contains("▼ worse"));
}

#[test]
fn what_cannot_be_compared_is_named_with_its_fix() {
    let before = predicted("compare-alone.json", &[]);
    for (args, words) in [
        (vec!["compare", &before, "/nowhere.json"], "/nowhere.json"),
        (
            vec!["compare", &before, &before, "--margin", "2"],
            "fix: write a percentage",
        ),
        (
            vec!["compare", &before, &before, "--fail-if", "slower"],
            "fix: write worse",
        ),
        (
            vec!["measure", "lpc1768", "--fail-if", "worse"],
            "fix: name its results file with --against",
        ),
        (
            vec!["measure", "lpc1768", "--against", "/nowhere.json"],
            "/nowhere.json",
        ),
    ] {
        let output = wirelab(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains(words),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

/// A results file of a lab whose link has this rate.
fn measured(name: &str, rate: &str) -> String {
    let path = scratch(name);
    let path = path.to_str().expect("plain text").to_owned();
    let asked = "measure lab:1 --payload 1482 --time 100ms --repeat 10 --no-ceiling --rate";
    let asked: Vec<&str> = asked.split(' ').chain([rate, "-o", &path]).collect();
    wirelab(&asked);
    path
}

#[test]
fn equal_labs_are_the_same_and_a_link_that_is_five_percent_slower_is_found() {
    if !wirelab_port::netns::may_test() {
        return;
    }
    let verdict = |before: &str, after: &str| {
        let output = wirelab(&["compare", before, after, "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let figures = json["figures"].as_array().expect("figures").iter();
        let mut rates = figures.filter(|f| f["figure"] == "forwarding rate");
        rates.next().expect("a rate")["verdict"].clone()
    };
    // A busy host delays trials of either run, so that there is no verdict.
    let told = || {
        let first = measured("compare-lab.json", "100M");
        let equal = measured("compare-lab-equal.json", "100M");
        let slower = measured("compare-lab-slower.json", "95M");
        [verdict(&first, &equal), verdict(&first, &slower)]
    };
    let sure = |told: &[serde_json::Value; 2]| told.iter().all(|v| v != "cannot_tell");
    let told = (0..10).map(|_| told()).find(sure).expect("a quiet host");
    assert_eq!(told, ["same", "worse"]);
}
