//! Figures that cannot be: each edit of a sound file is refused by its place, and an observation with one is kept void.

use std::path::PathBuf;

use serde_json::{Value, json};
use wirelab_trial::check::{self, MOST_NAMED};
use wirelab_trial::results_reader::ResultsError;
use wirelab_trial::{ResultsFile, Status, WarningCode};

fn example(name: &str) -> Value {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/examples");
    let text = std::fs::read_to_string(root.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A search, as a part of a file whose observations it asked.
fn part() -> Value {
    let trial = example("ports.json")["observations"][0]["trial"].clone();
    let sizes = example("ports.json")["observations"][0]["sizes"].clone();
    let seen = |value: f64| json!({"value": value, "kind": "measured"});
    json!({
        "name": "search", "first": 0, "observations": 2,
        "found": {
            "kind": "rates", "node": "lab:1", "trial": trial, "sizes": sizes,
            "search": {
                "goals": [], "preliminary_trial_ps": null, "min_load_frames_per_s": null,
                "warmup_ps": 0, "max_trials": 10, "max_time_ps": 1
            },
            "min_load_frames_per_s": 1.0,
            "max_load": {"frames_per_s": 100.0, "set_by": "link"},
            "goals": [{
                "goal": {
                    "final_trial_ps": 1, "duration_sum_ps": 1, "loss_ratio": 0.0,
                    "exceed_ratio": 0.0, "width_ratio": 0.1
                },
                "outcome": "found",
                "limited_by": {"value": "node", "kind": "measured"},
                "relevant_lower_bound_frames_per_s": seen(90.0),
                "relevant_upper_bound_frames_per_s": seen(99.0),
                "width_ratio": seen(9.0 / 99.0),
                "conditional_throughput_frames_per_s": seen(90.0),
                "conditional_throughput_payload_bits_per_s": seen(90.0 * 8.0 * 1498.0),
                "conditional_throughput_goodput_bits_per_s": {"absent": "none"},
                "lower_bound_trials": 1, "trials": 1, "not_monotone": false
            }],
            "trials": [{
                "load_frames_per_s": 90.0, "trial_ps": 1, "sent_frames": {"value": 9, "kind": "measured"},
                "loss_ratio": seen(0.0), "forwarding_frames_per_s": seen(90.0), "tester_was_limit": false
            }],
            "asked_ps": 1,
            "ended": {"kind": "done"}
        }
    })
}

fn refused(file: &Value) -> String {
    match ResultsFile::parse(&file.to_string()) {
        Err(ResultsError::Impossible(all)) => {
            assert!(!all.is_empty() && all.len() <= MOST_NAMED + 1);
            ResultsError::Impossible(all).to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// A place in the first flow of the first observation, what it is set to, and what the refusal names.
#[test]
fn each_impossible_figure_of_a_flow_is_named_with_its_place() {
    let sound = example("ports.json");
    let edits: [(&str, Value, &str); 22] = [
        (
            "counts/value/received_frames",
            json!(1_000_000_000),
            "counts: they do not add up",
        ),
        (
            "counts/value/distinct_sequences",
            json!(30_000),
            "is not sent 24414",
        ),
        ("counts/value/lost_frames", json!(5), "is not sent 24414"),
        (
            "counts/value/good_frames",
            json!(24_000),
            "good and bad frames are 24000",
        ),
        (
            "counts/value/reordered_frames",
            json!(30_000),
            "counts, reordered_frames: 30000",
        ),
        (
            "counts/value/order_breaks",
            json!(30_000),
            "order_breaks: 30000",
        ),
        (
            "counts/value/verified_payload_bytes",
            json!(u64::MAX),
            "verified_payload_bytes",
        ),
        ("sent_frames/value", json!(7), "is not sent 7"),
        (
            "loss_ratio/value",
            json!(2.0),
            "loss_ratio: 2 is not a share",
        ),
        (
            "loss_ratio/value",
            json!(0.5),
            "loss_ratio: 0.5, but 0 lost of 24,414 frames",
        ),
        (
            "loss_ratio/value",
            json!(-0.1),
            "loss_ratio: -0.1 is not a share",
        ),
        (
            "efficiency/value",
            json!(50.0),
            "efficiency: 50 is more than all",
        ),
        ("efficiency/value", json!(0.5), "of 100000000 are 0.97"),
        (
            "frames_per_s/value",
            json!(-1.0),
            "frames_per_s: -1 is not a number of at least 0",
        ),
        (
            "frames_per_s/value",
            json!(813_798.0),
            "for 3.00000732 s, but 24,414 frames received",
        ),
        (
            "payload_bits_per_s/value",
            json!(1e12),
            "payload_bits_per_s: 1000000000000",
        ),
        (
            "link_bits_per_s/value",
            json!(1.0),
            "link_bits_per_s: 1, but",
        ),
        (
            "elapsed/value/ps",
            json!(3_000_000_000_000_000_u64),
            "for 3000 s",
        ),
        (
            "series/0/histogram/mean_ticks",
            json!(1e15),
            "mean_ticks: 1000000000000000",
        ),
        ("series/0/histogram/count", json!(7), "histogram"),
        ("series/0/histogram/min_ticks", json!(u64::MAX), "min_ticks"),
        (
            "series/0/histogram/stddev_ticks",
            json!(1e18),
            "stddev_ticks",
        ),
    ];
    for (place, value, part) in edits {
        let mut file = sound.clone();
        *file
            .pointer_mut(&format!("/observations/0/flows/0/{place}"))
            .expect(place) = value;
        let said = refused(&file);
        assert!(
            said.contains("observation 1, flow 1 (transmit on lab-node/n0)"),
            "{said}"
        );
        assert!(
            said.contains(part) || place.contains("count") && said.contains("count"),
            "{place}: {said}"
        );
        assert!(said.contains("fix: "), "{said}");
    }
}

#[test]
fn what_is_beside_the_flows_is_checked_too() {
    let sound = example("ports.json");
    let edits: [(&str, Value, &str); 5] = [
        (
            "/observations/1/sizes/frame_bytes",
            json!(65),
            "observation 2, sizes",
        ),
        (
            "/observations/0/sizes/payload_bytes",
            json!(9000),
            "observation 1, sizes",
        ),
        (
            "/observations/0/cpu_load",
            json!({"value": {"busy_ratio": 3.0, "shared": false}, "kind": "measured"}),
            "observation 1, cpu_load.busy_ratio: 3",
        ),
        (
            "/observations/0/tester/ceiling_frames_per_s",
            json!({"value": -5.0, "kind": "measured"}),
            "tester, ceiling_frames_per_s: -5",
        ),
        (
            "/observations/0/flows/0/sender/value/achieved_frames_per_s",
            json!({"value": -5.0, "kind": "measured"}),
            "sender, achieved_frames_per_s: -5",
        ),
    ];
    for (place, value, part) in edits {
        let mut file = sound.clone();
        *file.pointer_mut(place).expect(place) = value;
        let said = refused(&file);
        assert!(said.contains(part), "{place}: {said}");
    }
    for (busy_ns, says) in [
        (json!([9, 11]), "11 ns of work in 10 ns"),
        (json!([9]), "2 slices, but 1 loads"),
    ] {
        let mut file = sound.clone();
        file["observations"][0]["busy_over_time"] =
            json!([{"of": "node", "from_ns": 0, "slice_ns": [10, 10], "busy_ns": busy_ns}]);
        let said = refused(&file);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn bounds_and_shares_of_searches_are_checked() {
    let mut sound = example("ports.json");
    sound["parts"] = json!([part()]);
    ResultsFile::parse(&sound.to_string()).expect("the search is sound");
    let goal = "/parts/0/found/goals/0";
    for (place, value, part) in [
        (
            format!("{goal}/relevant_lower_bound_frames_per_s/value"),
            json!(100.0),
            "goal 1, relevant_lower",
        ),
        (
            format!("{goal}/width_ratio/value"),
            json!(1.5),
            "goal 1, width_ratio: 1.5",
        ),
        (
            format!("{goal}/goal/loss_ratio"),
            json!(-1.0),
            "goal.loss_ratio: -1",
        ),
        (
            "/parts/0/found/trials/0/loss_ratio/value".to_owned(),
            json!(7.0),
            "trial 1, loss_ratio: 7",
        ),
        (
            "/parts/0/observations".to_owned(),
            json!(3),
            "observations: it has 3 from place 0",
        ),
        (
            "/parts/0/first".to_owned(),
            json!(u64::MAX),
            "observations: it has 2 from place",
        ),
    ] {
        let mut file = sound.clone();
        *file.pointer_mut(&place).expect(&place) = value;
        let said = refused(&file);
        assert!(said.contains(part), "{place}: {said}");
    }
}

#[test]
fn names_from_the_file_steer_no_terminal() {
    let mut file = example("ports.json");
    file["observations"][0]["flows"][0]["port"] = json!("\u{1b}[2J".repeat(100));
    file["observations"][0]["flows"][0]["loss_ratio"]["value"] = json!(2);
    let said = refused(&file);
    assert!(
        !said.contains(char::is_control) && said.len() < 4_000,
        "{said}"
    );
}

#[test]
fn an_observation_with_an_impossible_figure_is_kept_void_and_says_why() {
    let file = ResultsFile::parse(&example("ports.json").to_string()).unwrap();
    let sound = file.observations[0].clone();
    assert_eq!(check::kept(sound.clone()), sound);
    let mut wrong = sound;
    wrong.flows[0].loss_ratio = wirelab_trial::Field::measured(2.0);
    let kept = check::kept(wrong);
    let Status::Void { why } = &kept.status else {
        panic!("{:?}", kept.status);
    };
    assert!(why.contains("loss_ratio: 2 is not a share"), "{why}");
    assert!(kept.flows.is_empty() && check::observation(&kept).is_empty());
    assert!(kept.warned(WarningCode::IMPOSSIBLE_FIGURES));
}

#[test]
fn a_file_with_too_many_values_is_refused_before_they_take_memory() {
    let commas = ",".repeat(wirelab_trial::results_reader::MOST_VALUES + 1);
    let error = ResultsFile::parse(&format!("{{\"x\":\"{commas}\"}}")).unwrap_err();
    assert!(matches!(error, ResultsError::TooManyValues), "{error}");
}
