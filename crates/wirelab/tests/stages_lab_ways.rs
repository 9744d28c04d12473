//! `wirelab stages lab: --fast-track RULE`: both paths in turn, unloaded and beside a background.

use std::process::Output;

use crate::common::{json, refused, scratch, stderr, stdout, wirelab};
use serde_json::Value;
use wirelab_port::netns::may_test;

/// Trials of one way that took times.
fn trials<'a>(all: &'a Value, path: &str) -> Vec<&'a Value> {
    let trials = all["trials"].as_array().unwrap().iter();
    trials
        .filter(|t| t["path"] == path && t["probes"] != "off")
        .collect()
}

/// Both paths at length 64, whether the limit is held or not.
fn both_directions(rule: &str, count: &str, more: &[&str]) -> Output {
    let (length, rule) = (["--length", "64"], ["--fast-track", rule]);
    let what = ["stages", "lab:", "--count", count];
    let output = wirelab(&[&what[..], &length, &rule, more].concat());
    assert!(
        [Some(0), Some(1)].contains(&output.status.code()),
        "{}",
        stderr(&output)
    );
    output
}

#[test]
fn both_paths_stand_beside_each_other_unloaded_and_beside_half_of_the_stacks_rate() {
    if !may_test() {
        return;
    }
    let results = scratch("ways.json");
    let path = results.to_str().unwrap();
    let more = ["--background", "half", "-o", path];
    let output = both_directions("port=1026", "64", &more);
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
        // Where other work delays the tester, half of a rate is not available, and a note says so.
        let held_up = |found: &serde_json::Value| {
            let absent = found["absent"].as_str();
            absent.is_some_and(|why| why.contains("held up by its own host"))
        };
        let mut found = all["loss_free"].as_array().unwrap().iter();
        assert!(
            conditions.contains(&wanted) || (!wanted.1 && found.any(held_up)),
            "{wanted:?}: {all:#}"
        );
    }
    let beside = conditions.iter().filter(|(_, unloaded)| !unloaded).count();
    for pair in pairs {
        for way in ["stack", "fast_track"] {
            assert!(pair[way]["frames"].as_u64().unwrap() >= 32, "{pair:#}");
            assert_eq!(pair[way]["reordered_frames"], 0, "{pair:#}");
            assert!(pair[way]["median_ns"].as_f64().unwrap() > 0.0);
        }
        for ratio in [&pair["median_ratio"], &pair["p99_ratio"]] {
            assert!(ratio["interval"]["low"].as_f64() <= ratio["interval"]["high"].as_f64());
        }
        assert_eq!(pair["blocks"], 8, "{pair:#}");
        if !pair["background"].is_null() {
            // Of 64 frames no p99 is judged; the median alone, or unlike backgrounds, may still say something.
            assert_ne!(pair["verdict"]["answer"], "holds", "{pair:#}");
            assert_eq!(pair["verdict"]["claim"], "median_and_p99_not_above");
            for way in ["stack", "fast_track"] {
                ran_and_is_reported(&pair[way]["background"]);
            }
        }
    }
    let fast = trials(&all, "fast-track");
    assert_eq!(fast.len(), 2 + beside);
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
    assert_eq!(trials(&all, "stack").len(), 2 + beside);
    if beside > 0 {
        a_loss_free_rate_was_found(&all);
    }
    let page = stdout(&output);
    let words = [
        "length 64, spin, unloaded",
        "at most half",
        "poll of the driver",
        "XDP program (",
    ];
    let beside_words = ["not above the stack's", "half of", "frames/s sent of"];
    let beside_words = beside_words.iter().filter(|_| beside > 0);
    for words in words.iter().chain(beside_words) {
        let flowing = page.replace("\n  ", " ");
        assert!(flowing.contains(words), "{words}: {page}");
    }
}

/// The rate that half was taken of: found by a search, and no more than was sent.
fn a_loss_free_rate_was_found(all: &Value) {
    let found = &all["searches"][0]["found"]["goals"][0];
    let rate = found["relevant_lower_bound_frames_per_s"]["value"]
        .as_f64()
        .unwrap();
    assert!(rate > 0.0, "{found:#}");
    let free = &all["loss_free"][0];
    assert_eq!(free["frames_per_s"].as_f64(), Some(rate), "{free:#}");
    let is_node = found["limited_by"]["value"] == "node";
    assert_eq!(free["is_lower_bound"], !is_node, "{free:#}");
    let really_sent = all["searches"][0]["found"]["trials"].as_array().unwrap();
    let most = really_sent
        .iter()
        .filter_map(|t| t["sent_frames"]["value"].as_f64());
    let most = most.fold(0.0, f64::max) / 0.2;
    // A sender's rate is that between its first and its last frame, which the time of a trial rounds off.
    assert!(
        rate <= 1.1 * most,
        "{rate} of {most} that were sent: {found:#}"
    );
}

/// What is reported about a background that ran: what was sent is what arrived and what was lost.
fn ran_and_is_reported(ran: &Value) {
    let number = |name: &str| {
        ran[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {ran:#}"))
    };
    let (sent, received) = (number("sent_frames"), number("received_frames"));
    assert_eq!(
        number("lost_frames"),
        sent.saturating_sub(received),
        "{ran:#}"
    );
    let rates = (
        ran["frames_per_s"].as_f64(),
        ran["asked_frames_per_s"].as_f64(),
    );
    assert!(rates.0 > Some(0.0) && rates.1 > Some(0.0), "{ran:#}");
}

#[test]
fn rules_of_frames_that_are_no_udp_have_a_flow_of_their_own() {
    if !may_test() {
        return;
    }
    for (rule, tags) in [("ethertype=0x88b5", 0), ("ethertype=0x88b5,priority=6", 1)] {
        let results = scratch("flow.json");
        let path = results.to_str().unwrap();
        both_directions(rule, "16", &["--wait", "sleep", "-o", path]);
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let all = file["observations"].as_array().unwrap();
        let fast = all.iter().filter(|o| o["trial"]["path"] == "fast-track");
        let (mut matched, mut sent) = (0, 0);
        for o in fast {
            assert_eq!(o["trial"]["framing"]["layer"], "ethernet", "{rule}");
            assert_eq!(o["trial"]["framing"]["vlan_tags"], tags, "{rule}");
            let flow = &o["flows"][0];
            sent += flow["sent_frames"]["value"].as_u64().unwrap();
            let name = "fast_track_matched_frames";
            let of = |counters: &Value| counters[name]["value"].as_u64();
            matched += of(&o["counters"]).or(of(&flow["counters"])).unwrap();
        }
        assert_eq!((sent, matched), (16, 16), "{rule}");
    }
}

#[test]
fn more_frames_than_a_node_keeps_of_a_trial_are_asked_in_more_trials() {
    if !may_test() {
        return;
    }
    let args = [
        "stages", "lab:", "--length", "64", "--count", "4100", "--load", "20kpps", "--probes",
        "off", "--json",
    ];
    let output = wirelab(&args);
    assert!(
        [Some(0), Some(1)].contains(&output.status.code()),
        "{}",
        stderr(&output)
    );
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = all["stages"].as_array().unwrap();
    let is = |r: &&Value| r["direction"] == "receive" && r["to"] == "application";
    let row = rows.iter().find(is).unwrap_or_else(|| panic!("{all:#}"));
    let trial = &all["trials"][0]["flows"][0]["counts"]["value"];
    let received = trial["received_frames"].as_u64().unwrap();
    // Ten blocks of 410; five of 820 would have had the times of 2,560.
    assert!(
        row["count"].as_u64().unwrap() > received * 9 / 10,
        "{row:#} of {received}"
    );
}

#[test]
fn a_rule_or_a_background_that_is_none_is_refused_before_anything_runs() {
    for (options, words) in [
        (
            &["--fast-track", "protocol=6"][..],
            "protocol=6 of the rule",
        ),
        (
            &["--fast-track", "port=1026,priority=6"],
            "priority=6 of the rule",
        ),
        (
            &["--fast-track", "own", "--background", "1kpps"],
            "own,port=1026",
        ),
        (
            &["--fast-track", "port=1026", "--xdp", "off"],
            "--xdp generic",
        ),
        (&["--port", "1026"], "--fast-track port=N"),
        (&["--stream", "1"], "--stream has no meaning"),
        (&["--watch"], "here:IFACE"),
        (&["--time", "1s"], "--count"),
        (&["--wall"], "--wall has no meaning"),
        (&["--image", "a.elf"], "board:NAME"),
        (&["--length", "60000"], "from 60 to 1514"),
        (&["--fast-track", "port=many"], "--fast-track port=many"),
        (&["--fast-track", "colour=red"], "colour"),
        (&["--background", "max"], "--background"),
        (&["--wait", "nap"], "sleep, spin, both"),
        (&["--probes", "kprobe"], "--probes"),
    ] {
        refused(&[&["stages", "lab:"][..], options].concat(), words);
    }
}
