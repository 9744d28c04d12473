//! From the stages of a Linux node to its node file, as a user calls the commands: fit, explain, predict, whatif.

use std::path::{Path, PathBuf};

use crate::common::{json, scratch, stderr, stdout, wirelab};
use wirelab_trial::results::Environment;
use wirelab_trial::{
    Clock, ClockKind, Description, Direction, Extent, Field, FlowObservation, Framing, Layer, Load,
    Observation, Owner, Probes, ResultsFile, SeriesBuilder, SeriesName, Size, SizeUnit, Status,
    TesterObservation, Trial, Wait,
};

/// A stage: name, ns for each frame and for each byte of length.
type Stage = (&'static str, u64, u64);

const STACK: [Stage; 6] = [
    ("wire to driver", 2_000, 0),
    ("driver to stack", 700, 0),
    ("stack to socket", 900, 0),
    ("socket to copy", 5_000, 0),
    ("copy to call", 600, 1),
    ("call to application", 250, 0),
];
const FAST: [Stage; 2] = [
    ("wire to driver", 2_000, 0),
    ("driver to application", 6_000, 0),
];

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn trial(path: wirelab_trial::Path, length: u32) -> Trial {
    Trial {
        path: Some(path),
        wait: Some(Wait::Spin),
        rule: Some("port=1026".to_owned()),
        probes: Some(Probes::Auto),
        ..Trial::new(
            Framing {
                layer: Layer::UdpIpv4,
                vlan_tags: 0,
            },
            Direction::Receive,
            Size::new(SizeUnit::Length, length),
            Load::FrameRate {
                frames_per_s: 1_000.0,
            },
            Extent::Frames { frames: 64 },
        )
    }
}

fn observation(path: wirelab_trial::Path, stages: &[Stage], length: u32) -> Observation {
    let trial = trial(path, length);
    let clock = Clock {
        kind: ClockKind::Wall,
        tick_ps: Some(1_000),
        resolution_ticks: 1,
        owner: Owner::Node,
    };
    let series = stages.iter().map(|(name, packet, byte)| {
        let mut series = SeriesBuilder::new(SeriesName::parse(name).expect("two points"), clock, 0);
        // A few ns of scatter, the same in each run.
        (0..64).for_each(|n| series.push(packet + byte * u64::from(length) + n * 7 % 5));
        series.finish()
    });
    let none = "not seen";
    Observation {
        sizes: trial.sizes().expect("a length that a test frame has"),
        flows: vec![FlowObservation {
            port: "node".to_owned(),
            direction: Direction::Receive,
            stream: 0,
            sent_frames: Field::measured(64),
            counts: Field::absent(none),
            elapsed: Field::absent(none),
            frames_per_s: Field::measured(1_000.0),
            payload_bits_per_s: Field::absent(none),
            link_bits_per_s: Field::absent(none),
            efficiency: Field::absent(none),
            goodput_bits_per_s: Field::measured(1_000.0 * 8.0 * f64::from(length - 42)),
            loss_ratio: Field::measured(0.0),
            loss_ratio_at_most: None,
            intervals: wirelab_trial::FlowIntervals::default(),
            over_time: wirelab_trial::OverTime::default(),
            checker_held_up_ps: Field::absent(none),
            jitter_ps: Field::absent(none),
            sender: Field::absent(none),
            receiver_path: "test".to_owned(),
            series: series.collect(),
            counters: Default::default(),
        }],
        trial,
        node: Description {
            name: "lab:".to_owned(),
            ..Description::default()
        },
        status: Status::Complete,
        started_unix_ns: Field::absent(none),
        cpu_load: Field::absent(none),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: Default::default(),
        tester: TesterObservation::new(Field::absent(none), Field::measured(false)),
        warnings: Vec::new(),
    }
}

/// The results of `wirelab stages lab: --fast-track port=1026 --wait spin`, made by hand.
fn results(name: &str) -> PathBuf {
    use wirelab_trial::Path::{FastTrack, Stack};
    let ways: [(wirelab_trial::Path, &[Stage]); 2] = [(Stack, &STACK), (FastTrack, &FAST)];
    // Two blocks of each.
    let lengths = [64, 256, 1024, 64, 256, 1024];
    let all = ways.iter().flat_map(|(path, stages)| {
        let of = move |length| observation(*path, stages, length);
        lengths.into_iter().map(of)
    });
    let environment = Environment {
        kernel: Field::absent("made by hand"),
        cpu: Field::absent("made by hand"),
        cpus: Field::absent("made by hand"),
        memory_bytes: Field::absent("made by hand"),
        virtual_machine: Field::absent("made by hand"),
    };
    let file = ResultsFile {
        observations: all.collect(),
        ..ResultsFile::new("test", Vec::new(), 0, environment)
    };
    let path = scratch(name);
    std::fs::write(&path, file.to_json()).expect("a folder that can be written");
    path
}

#[test]
fn stages_become_a_node_that_predicts_explains_and_tries_the_fast_track() {
    let (results, node) = (results("stages.json"), scratch("mylinux.toml"));
    let fitted = wirelab(&["fit", text(&results), "-o", text(&node)]);
    assert!(fitted.status.success(), "{}", stderr(&fitted));
    let shown = stdout(&fitted);
    assert!(
        shown.contains("udp4-receive-spin-copy-to-call-byte")
            && shown.contains(
                "fast track, driver to application, length 64 B, spin: 5.002 µs predicted"
            ),
        "{shown}"
    );
    let ask = ["--length", "256", "--direction", "rx", "--load", "1kpps"];
    let with = |command: &str, extra: &[&str]| {
        let mut args = vec![command, text(&node)];
        args.extend(ask);
        args.extend(extra);
        let output = wirelab(&args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    let predicted = with("predict", &["--layer", "udp4"]);
    assert!(predicted.contains("wire to application"), "{predicted}");
    assert!(predicted.contains("calibrated"), "{predicted}");
    let fast = with("predict", &["--layer", "udp4", "--set", "path=fast-track"]);
    let cut_by_the_terminal = "stage udp4-receive-fast-track-spin-wire";
    assert!(fast.contains(cut_by_the_terminal), "{fast}");
    let explained = with("explain", &["--layer", "udp4"]);
    assert!(
        explained.contains("socket-to-copy takes most: 5."),
        "{explained}"
    );
    let tried = with("whatif", &["--layer", "udp4"]);
    for set in ["alternative=past-the-stack", "path=fast-track"] {
        assert!(tried.contains(set), "{set} is missing in\n{tried}");
    }
}

#[test]
fn the_results_file_shows_predicted_and_measured_side_by_side() {
    let results = results("both.json");
    let shown = wirelab(&["explain", text(&results)]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    let table = stdout(&shown);
    assert!(
        table.contains("The fast track of lab:") && table.contains("fast track predicted"),
        "{table}"
    );
    assert!(table.contains("'socket to copy' takes most"), "{table}");
    let all = json(&["explain", text(&results), "--json"]);
    let gains = all["fast_track"].as_array().expect("a list");
    assert_eq!(gains.len(), 3);
    assert_eq!(gains[0]["measured_ps"], 6_002_000);
    assert_eq!(gains[0]["predicted_ps"], 5_002_000);
    // The load of such trials was chosen low: their rates are not findings, and blocks of one size no rows of their own.
    let group = &all["groups"][0];
    assert!(group["title"].as_str().unwrap().starts_with("lab: UDP"));
    let readings = group["readings"].as_array().unwrap();
    assert_eq!(readings.len(), 3, "{readings:#?}");
    for reading in readings {
        let words = reading["words"].as_str().unwrap();
        assert!(words.contains("chosen low for the times"), "{words}");
    }
}

#[test]
fn a_way_that_the_node_does_not_have_is_status_2() {
    let (results, node) = (results("one.json"), scratch("one.toml"));
    let fitted = wirelab(&["fit", text(&results), "-o", text(&node)]);
    assert!(fitted.status.success(), "{}", stderr(&fitted));
    for (set, says) in [
        ("path=express", "write one of stack, driver, fast-track"),
        ("path=driver", "choose stack, fast-track"),
        ("wait=sleep", "choose spin"),
    ] {
        let output = wirelab(&[
            "explain",
            text(&node),
            "--layer",
            "udp4",
            "--length",
            "64",
            "--direction",
            "rx",
            "--load",
            "1kpps",
            "--set",
            set,
        ]);
        assert_eq!(output.status.code(), Some(2), "{set}");
        assert!(stderr(&output).contains(says), "{set}: {}", stderr(&output));
    }
}
