//! `wirelab measure lab: --direction echo --background …`: one call gives the latency with and without the load.

use crate::common::{refused, scratch, stderr, stdout, wirelab};
use wirelab_port::netns::may_test;
use wirelab_trial::ResultsFile;

#[test]
fn one_call_gives_the_latency_with_and_without_the_load_in_turn() {
    if !may_test() {
        return;
    }
    let csv = scratch("loaded.csv");
    let csv = csv.to_str().unwrap();
    let output = wirelab(&[
        "measure",
        "lab:",
        "--direction",
        "echo",
        "--layer",
        "udp4",
        "--datagram",
        "64",
        "--load",
        "500pps",
        "--frames",
        "100",
        "--background",
        "2kpps",
        "--repeat",
        "2",
        "--json",
        "-o",
        csv,
    ]);
    let file = ResultsFile::parse(&stdout(&output));
    let file = file.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let beside: Vec<bool> = file
        .observations
        .iter()
        .map(|o| o.trial.background.is_some())
        .collect();
    assert_eq!(beside, [false, true, false, true], "in turn");
    for o in &file.observations {
        let flow = &o.flows[0];
        for name in ["round trip", "tester's floor"] {
            assert!(flow.series.iter().any(|s| s.name == name), "{name}: {o:#?}");
        }
        let received = o.counters.get("background_received_frames");
        let received = received.and_then(|field| field.value()).copied();
        assert_eq!(
            received.is_some_and(|n| n > 0),
            o.trial.background.is_some(),
            "{:#?}",
            o.counters
        );
    }
    let page = wirelab_report::render(
        &file,
        wirelab_report::Format::Terminal,
        &wirelab_report::Options::default(),
    );
    assert!(page.contains("Latency under load"), "{page}");
    let rows = std::fs::read_to_string(csv).unwrap();
    assert_eq!(rows.lines().count(), 1 + 4, "{rows}");
    assert!(rows.contains("background_frames_per_s"));
}

#[test]
fn a_lab_of_ports_says_how_to_measure_echoes() {
    if !may_test() {
        return;
    }
    refused(
        &["measure", "lab:2", "--direction", "echo"],
        "a Linux node in a lab has one interface",
    );
}
