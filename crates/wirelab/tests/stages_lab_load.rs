//! Under load no test frame is lost or counted twice between the points of a Linux node: each point's count is that of
//! the point before, less the drops that were counted between them.

use crate::common::{json, scratch, stderr, wirelab};
use serde_json::Value;
use wirelab_port::netns::may_test;

/// A counter of a trial; 0 where nothing of the kind happened.
fn counter(trial: &Value, name: &str) -> u64 {
    trial["counters"][name]["value"].as_u64().unwrap_or(0)
}

/// Frames that a point accounts for: those with a time, and those of which it says why they have none.
fn passed(trial: &Value, way: &str, point: &str) -> u64 {
    let kinds = ["taken", "unmatched", "unreadable", "unseen"];
    let of = |kind: &&str| counter(trial, &format!("probe_{kind}.{way}.{point}"));
    kinds.iter().map(of).sum()
}

/// Each frame that was sent is at each point, or is a counted drop before it.
fn accounted(trial: &Value, way: &str, points: &[&str], sent: u64) -> u64 {
    let mut left = sent;
    for point in points {
        left -= counter(trial, &format!("probe_dropped.{way}.{point}"));
        let there = passed(trial, way, point);
        assert_eq!(there, left, "{way}.{point}: {trial:#}");
        assert_eq!(
            counter(trial, &format!("probe_missed.{way}.{point}")),
            0,
            "{trial:#}"
        );
    }
    left
}

/// Frames that a point did not see are counted under one name, and there is a warning with a fix; else neither.
fn assert_unseen_is_reported(trial: &Value) {
    let counters = trial["counters"].as_object().unwrap();
    let of_points = counters
        .iter()
        .filter(|(name, _)| name.starts_with("probe_unseen."));
    let points = of_points.filter_map(|(_, field)| field["value"].as_u64());
    let most = points.max().unwrap_or(0);
    assert!(counters.contains_key("unseen_frames"), "{trial:#}");
    // Of several blocks the sums are compared, and each has a point of its own that saw least.
    assert!(counter(trial, "unseen_frames") >= most, "{trial:#}");
    let mut warnings = trial["warnings"].as_array().unwrap().iter();
    let told = warnings.find(|w| w["code"] == "unseen-frames");
    assert_eq!(
        told.is_some(),
        counter(trial, "unseen_frames") > 0,
        "{trial:#}"
    );
    let fix = told.map(|w| w["way_out"].as_str().unwrap());
    assert!(fix.is_none_or(|way| way.contains("--receive-work leave")));
}

/// Whether points inside the kernel were taken here.
fn traces(trial: &Value) -> bool {
    let probes = trial["setup"]["probes"].as_str().unwrap_or("none");
    probes == "raw" || probes == "fentry"
}

#[test]
fn under_load_no_frame_is_lost_or_counted_twice_between_stages() {
    if !may_test() {
        return;
    }
    let results = scratch("load.json");
    let path = results.to_str().unwrap();
    let asked = [
        "stages",
        "lab:",
        "--length",
        "64",
        "--count",
        "256",
        "--load",
        "2kpps",
        "--background",
        "10kpps",
        "-o",
        path,
    ];
    let output = wirelab(&asked);
    // A socket that overflows on a busy machine drops frames; they must be counted, and the trial is then no success.
    assert!(
        [Some(0), Some(1)].contains(&output.status.code()),
        "{}",
        stderr(&output)
    );
    let all = json(&["stages", path, "--json"]);
    let trials = all["trials"].as_array().unwrap();
    let (mut received, mut sent_out, mut beside) = (0, 0, 0);
    for trial in trials {
        if trial["probes"] == "off" || trial["status"]["status"] != "complete" || !traces(trial) {
            continue;
        }
        let flow = &trial["flows"][0];
        let sent = flow["sent_frames"]["value"].as_u64().unwrap();
        let counts = &flow["counts"]["value"];
        let arrived = counts["received_frames"].as_u64().unwrap();
        assert_eq!(counts["duplicated_frames"], 0, "{trial:#}");
        assert_eq!(counts["reordered_frames"], 0, "{trial:#}");
        assert_unseen_is_reported(trial);
        if trial["direction"] == "receive" {
            let mut points = vec!["wire", "driver", "stack"];
            if trial["counters"].get("probe_taken.in.socket").is_some() {
                points.push("socket");
            }
            points.push("call");
            let left = accounted(trial, "in", &points, sent);
            assert_eq!(
                arrived, left,
                "what came out of the last call is what the application counted: {trial:#}"
            );
            received += 1;
            if !trial["background"].is_null() {
                assert!(
                    counter(trial, "background_received_frames") > 0
                        || counter(trial, "node_background_received_frames") > 0,
                    "{trial:#}"
                );
                beside += 1;
            }
        } else {
            let left = accounted(trial, "out", &["call", "queue", "driver"], sent);
            assert_eq!(
                arrived, left,
                "what the driver got is what the other end counted: {trial:#}"
            );
            sent_out += 1;
        }
    }
    let traced = trials.iter().any(traces);
    assert!(
        !traced || (received >= 2 && sent_out >= 1 && beside >= 1),
        "{received} {sent_out} {beside}: {all:#}"
    );
}
