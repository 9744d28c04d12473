//! `wirelab stages lab: --fast-track RULE`: both ways in turn, unloaded and beside a background.

mod common;
mod stages_common;

use common::{json, refused, scratch, stderr, stdout, wirelab};
use serde_json::Value;
use stages_common::can_lab;

/// Trials of one way that took times.
fn trials<'a>(all: &'a Value, path: &str) -> Vec<&'a Value> {
    let trials = all["trials"].as_array().unwrap().iter();
    trials
        .filter(|t| t["path"] == path && t["probes"] != "off")
        .collect()
}

#[test]
fn both_ways_stand_beside_each_other_unloaded_and_beside_half_of_the_stacks_rate() {
    if !can_lab() {
        return;
    }
    let results = scratch("ways.json");
    let path = results.to_str().unwrap();
    let output = wirelab(&[
        "stages",
        "lab:",
        "--length",
        "64",
        "--count",
        "64",
        "--fast-track",
        "port=1026",
        "--background",
        "half",
        "-o",
        path,
    ]);
    let told = stderr(&output);
    if output.status.code() == Some(2) && told.contains("path") {
        // A host whose driver or kernel has no XDP sockets has no fast track, and says so.
        assert!(told.contains("fast-track"), "{told}");
        return;
    }
    assert!([Some(0), Some(1)].contains(&output.status.code()), "{told}");
    let all = json(&["stages", path, "--json"]);
    let pairs = all["ways"].as_array().unwrap();
    let conditions: Vec<(&str, bool)> = pairs
        .iter()
        .map(|p| (p["wait"].as_str().unwrap(), p["background"].is_null()))
        .collect();
    for wanted in [
        ("spin", true),
        ("sleep", true),
        ("spin", false),
        ("sleep", false),
    ] {
        assert!(conditions.contains(&wanted), "{wanted:?}: {all:#}");
    }
    for pair in pairs {
        for way in ["stack", "fast_track"] {
            assert!(pair[way]["frames"].as_u64().unwrap() >= 32, "{pair:#}");
            assert_eq!(pair[way]["reordered_frames"], 0, "{pair:#}");
            assert!(pair[way]["median_ns"].as_f64().unwrap() > 0.0);
        }
        let ratio = &pair["median_ratio"];
        assert!(ratio["interval"]["low"].as_f64() <= ratio["interval"]["high"].as_f64());
    }
    let fast = trials(&all, "fast-track");
    assert_eq!(fast.len(), 4);
    for trial in &fast {
        let flow = &trial["flows"][0];
        let sent = flow["sent_frames"]["value"].as_u64().unwrap();
        let matched = trial["counters"]["fast_track_matched_frames"]["value"]
            .as_u64()
            .unwrap();
        assert_eq!(
            matched, sent,
            "the rule takes the frames of the trial and no others: {trial:#}"
        );
    }
    assert_eq!(trials(&all, "stack").len(), 4);
    let found = &all["searches"][0]["found"]["goals"][0];
    let rate = found["relevant_lower_bound_frames_per_s"]["value"]
        .as_f64()
        .unwrap();
    assert!(rate > 0.0, "{found:#}");
    let page = stdout(&output);
    for words in [
        "length 64, spin, unloaded",
        "at most half",
        "not above the stack's",
        "half of",
        "poll of the driver",
    ] {
        let flowing = page.replace("\n  ", " ");
        assert!(flowing.contains(words), "{words}: {page}");
    }
}

#[test]
fn a_rule_or_a_background_that_is_none_is_refused_before_anything_runs() {
    for (options, words) in [
        (&["--fast-track", "port=many"][..], "--fast-track port=many"),
        (&["--fast-track", "colour=red"], "colour"),
        (&["--background", "max"], "--background"),
        (&["--wait", "nap"], "sleep, spin or both"),
        (&["--probes", "kprobe"], "--probes"),
    ] {
        refused(&[&["stages", "lab:"][..], options].concat(), words);
    }
}
