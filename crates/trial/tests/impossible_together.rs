//! Figures that were changed together, so that each alone looks sound: they are refused by what bounds them.

use std::path::PathBuf;

use serde_json::{Value, json};
use wirelab_trial::ResultsFile;

/// An edit of an observation, and what the refusal names.
type Edit = (&'static str, fn(&mut Value), &'static str);

const RATES: [&str; 4] = [
    "frames_per_s",
    "payload_bits_per_s",
    "link_bits_per_s",
    "goodput_bits_per_s",
];

fn example(name: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/examples");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn measured(value: impl Into<Value>) -> Value {
    json!({"value": value.into(), "kind": "measured"})
}

fn absent() -> Value {
    json!({"absent": "not reported"})
}

fn flow(observation: &mut Value) -> &mut Value {
    &mut observation["flows"][0]
}

fn rates_times(observation: &mut Value, factor: f64) {
    for rate in RATES {
        let field = &mut flow(observation)[rate];
        if let Some(value) = field["value"].as_f64() {
            field["value"] = json!(value * factor);
        }
    }
    flow(observation)["efficiency"] = absent();
}

/// A latency of which all samples are one value.
fn latency_of(observation: &mut Value, ticks: u64, count: u64) {
    let series = &mut flow(observation)["series"][0];
    series["sampled"] = json!(true);
    series["raw_ticks"] = json!([ticks]);
    series["histogram"] = json!({
        "tick_ps": 1000, "buckets": [[ticks, count]], "count": count,
        "min_ticks": ticks, "max_ticks": ticks, "mean_ticks": ticks, "stddev_ticks": 0.0
    });
}

fn interval(low: f64, high: f64, parts: u32, over: &str) -> Value {
    json!({"low": low, "high": high, "confidence": 0.95, "over": over, "parts": parts})
}

fn assert_refused(file: &str, at: usize, edits: &[Edit]) {
    for (what, edit, part) in edits {
        let mut file = example(file);
        edit(&mut file["observations"][at]);
        let said = ResultsFile::parse(&file.to_string()).expect_err(what);
        assert!(said.to_string().contains(part), "{what}: {said}");
    }
}

#[test]
fn rates_and_losses_are_bounded_by_counts_link_and_time() {
    assert_refused(
        "ports.json",
        0,
        &[
            (
                "all rates, and no time",
                |o| {
                    rates_times(o, 1000.0);
                    flow(o)["elapsed"] = absent();
                },
                "but the link has 100000000 bit/s",
            ),
            (
                "all rates, nearly twice",
                |o| rates_times(o, 1.9),
                "but 24,414 frames received",
            ),
            (
                "all rates, over the time of a call",
                |o| {
                    rates_times(o, 1000.0);
                    flow(o)["elapsed"]["value"]["spans"] = json!("call");
                },
                "but 24,414 frames received",
            ),
            (
                "nothing sent and received, at a rate",
                |o| {
                    let counts = flow(o)["counts"]["value"].as_object_mut().unwrap();
                    counts.values_mut().for_each(|count| *count = json!(0));
                    flow(o)["sent_frames"]["value"] = json!(0);
                },
                "but 0 frames received",
            ),
            (
                "a loss beside counts of an emulation",
                |o| {
                    flow(o)["counts"]["kind"] = json!("emulated");
                    flow(o)["loss_ratio"]["value"] = json!(0.5);
                },
                "loss_ratio: 0.5, but 0 lost of 24,414",
            ),
            (
                "a loss that is a range of nothing",
                |o| flow(o)["loss_ratio_at_most"] = json!(1.0),
                "loss_ratio_at_most: 1, but possibly 0 frames",
            ),
            (
                "a rate that another party printed",
                |o| flow(o)["frames_per_s"]["kind"] = json!("published"),
                "it is not measured, but a rate in another unit is",
            ),
            (
                "a flow twice",
                |o| {
                    let again = flow(o).clone();
                    o["flows"].as_array_mut().unwrap().push(again);
                },
                "flow 2 is there twice",
            ),
            (
                "more foreign frames than fit into the time",
                |o| flow(o)["counts"]["value"]["foreign_frames"] = json!(u64::MAX),
                "counts, foreign_frames",
            ),
            (
                "no byte verified of good frames",
                |o| flow(o)["counts"]["value"]["verified_payload_bytes"] = json!(0),
                "verified_payload_bytes: 0, but 24414 good frames",
            ),
        ],
    );
    assert_refused(
        "iperf.json",
        0,
        &[
            (
                "all rates of a peer without counts",
                |o| rates_times(o, 1e6),
                "but 42,515 frames received",
            ),
            (
                "a loss beside lost datagrams",
                |o| flow(o)["loss_ratio"]["value"] = json!(0.9),
                "loss_ratio: 0.9, but 3 lost of 42,518",
            ),
        ],
    );
}

#[test]
fn samples_and_intervals_are_bounded_by_the_run() {
    assert_refused(
        "ports.json",
        0,
        &[
            (
                "a latency of 30 years",
                |o| latency_of(o, 1_000_000_000_000_000_000, 12),
                "a test frame cannot encode more than",
            ),
            (
                "a latency of an hour in 3 s",
                |o| latency_of(o, 3_600_000_000_000, 12),
                "max_ticks: 3600000000000000 ps, but the trial took 3.0",
            ),
            (
                "more latencies than frames",
                |o| latency_of(o, 5, 1_000_000_000_000_000),
                "series latency, count: 1000000000000000, but only 24,414",
            ),
            (
                "samples that are all the smallest",
                |o| {
                    let series = &mut flow(o)["series"][0];
                    series["raw_ticks"] = json!(vec![8111; 12]);
                },
                "histogram.buckets: 1 samples up to 8111, but raw_ticks has 12 there",
            ),
            (
                "the largest as the mean, without the samples",
                |o| {
                    let series = &mut flow(o)["series"][0];
                    series["raw_ticks"] = json!([]);
                    series["histogram"]["mean_ticks"] = json!(9870);
                },
                "mean_ticks: 9870, but by its buckets",
            ),
            (
                "no deviation of different samples, without them",
                |o| {
                    let series = &mut flow(o)["series"][0];
                    series["raw_ticks"] = json!([]);
                    series["histogram"]["stddev_ticks"] = json!(0.0);
                },
                "stddev_ticks: 0, but by its buckets",
            ),
            (
                "an interval over repeats of one trial",
                |o| {
                    let wide = interval(0.0, 1e30, 3, "repeats");
                    flow(o)["intervals"] = json!({"frames_per_s": wide});
                },
                "95 % over 3 parts (over repeats)",
            ),
            (
                "an interval of one rate that is wider than that of another",
                |o| {
                    flow(o)["intervals"] = json!({
                        "frames_per_s": interval(8000.0, 8200.0, 64, "within_run"),
                        "link_bits_per_s": interval(0.0, 1e30, 64, "within_run"),
                    });
                },
                "link_bits_per_s differs from frames_per_s",
            ),
            (
                "an interval beyond all samples",
                |o| {
                    let wide = interval(0.0, 1e300, 64, "within_run");
                    flow(o)["series"][0]["intervals"] = json!({"p50_ticks": wide});
                },
                "but the samples are from 8111 to 9870",
            ),
        ],
    );
}

#[test]
fn sender_and_tester_are_bounded_by_what_they_did() {
    fn sender(observation: &mut Value) -> &mut Value {
        &mut flow(observation)["sender"]["value"]
    }
    assert_refused(
        "ports.json",
        0,
        &[
            (
                "a rate asked and kept that the gaps do not have",
                |o| {
                    for rate in ["asked_frames_per_s", "achieved_frames_per_s"] {
                        sender(o)[rate] = measured(1e12);
                    }
                    sender(o)["kept_rate"] = measured(true);
                },
                "achieved_frames_per_s: 1000000000000, but the mean gap is",
            ),
            (
                "a rate without gaps that no clock can measure",
                |o| {
                    sender(o)["gap"] = absent();
                    sender(o)["achieved_frames_per_s"] = measured(1e15);
                },
                "but 24,414 frames sent, each at least 1 ns",
            ),
            (
                "a burst of more than was sent",
                |o| sender(o)["longest_burst_frames"] = measured(1_000_000_000_000_u64),
                "longest_burst_frames: 1000000000000, but 24,414",
            ),
            (
                "holds that are longer than the run",
                |o| {
                    for hold in ["slipped_ps", "blocked_ps"] {
                        sender(o)[hold] = measured(1_000_000_000_000_000_000_u64);
                    }
                    for hold in ["checker_held_up_ps", "jitter_ps"] {
                        flow(o)[hold] = measured(1_000_000_000_000_000_000_u64);
                    }
                },
                "sender, blocked_ps: 1000000000000000000 ps, but the trial took",
            ),
            (
                "a ceiling below the flow",
                |o| o["tester"]["ceiling_frames_per_s"] = measured(1.0),
                "ceiling_frames_per_s: 1, but a flow reached 8137",
            ),
            (
                "a margin below 0 and a spread above 1",
                |o| {
                    o["tester"]["ceiling_margin_ratio"] = measured(-3.0);
                    o["tester"]["ceiling_spread_ratio"] = measured(7.0);
                },
                "ceiling_spread_ratio: 7 is not a share",
            ),
            (
                "a background of which more came than was sent",
                |o| {
                    o["counters"] = json!({
                        "background_sent_frames": measured(5),
                        "background_received_frames": measured(1_000_000_000_000_000_u64),
                    });
                },
                "background_received_frames: 1000000000000000, but 5",
            ),
        ],
    );
    assert_refused(
        "ports.json",
        1,
        &[(
            "more left out than there was",
            |o| sender(o)["ledger"]["lost_frames"] = json!(1_000_000_000_000_u64),
            "ledger, lost_frames: 1000000000000",
        )],
    );
}
