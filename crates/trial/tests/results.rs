//! The results file: its schema, a worked file of each node type, and files that must be refused.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use wirelab_trial::results_reader::fuzz_results;
use wirelab_trial::stage::functions::{CallPaths, costs};
use wirelab_trial::{ClockKind, Direction, Field, Kind, Measuring, Part, ResultsFile, Status};

const EXAMPLES: [&str; 5] = ["ports", "iperf", "board-instructions", "hdl", "model"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> String {
    let path = root()
        .join("spec/examples")
        .join(name)
        .with_extension("json");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What the schema says against each of these files, by the distribution's Python, for which the set-up installs jsonschema.
fn against(files: &[Value]) -> Vec<Vec<String>> {
    let judge = "import json, sys, jsonschema
schema = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
print(json.dumps([[e.message for e in schema.iter_errors(file)] for file in json.load(sys.stdin)]))";
    let mut python = Command::new("/usr/bin/python3")
        .args(["-c", judge])
        .arg(root().join("spec/results.schema.json"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the distribution's Python");
    serde_json::to_writer(python.stdin.take().unwrap(), files).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "Python has no jsonschema; fix: make setup"
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn each_worked_file_reads_and_writes_the_same() {
    let texts = EXAMPLES.map(example);
    for (name, text) in EXAMPLES.iter().zip(&texts) {
        let file = ResultsFile::parse(text).unwrap();
        assert!(file.to_json() == *text, "{name}");
    }
    let values = texts.map(|text| serde_json::from_str(&text).unwrap());
    for (name, errors) in EXAMPLES.iter().zip(against(&values)) {
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn the_figures_of_each_worked_file_agree() {
    for name in EXAMPLES {
        for o in ResultsFile::parse(&example(name)).unwrap().observations {
            assert_eq!(o.status, Status::Complete);
            assert_eq!(o.sizes, o.trial.size.resolve(o.trial.framing).unwrap());
            for f in &o.flows {
                if let (Some(sent), Some(counts)) = (f.sent_frames.value(), f.counts.value()) {
                    counts.check_identity(*sent).unwrap();
                    let sender = f.sender.value().and_then(|s| s.ledger);
                    if let Some(ledger) = sender {
                        assert_eq!(ledger.differences(counts), []);
                    }
                }
                let per_frame = |bits: &Field<f64>| {
                    bits.value()
                        .map(|b| b / f.frames_per_s.value().unwrap() / 8.0)
                };
                let near = |got: Option<f64>, bytes: u32| {
                    got.is_none_or(|got| (got - f64::from(bytes)).abs() < 1e-6)
                };
                assert!(
                    near(per_frame(&f.payload_bits_per_s), o.sizes.payload),
                    "{name}"
                );
                assert!(
                    near(per_frame(&f.link_bits_per_s), o.sizes.frame + 20),
                    "{name}"
                );
                if let Some(efficiency) = f.efficiency.value() {
                    let most = f64::from(o.sizes.payload) / f64::from(o.sizes.frame + 20);
                    assert!(
                        *efficiency <= most * 1.000_001,
                        "{name}: {efficiency} of {most}"
                    );
                }
            }
        }
    }
}

#[test]
fn each_kind_says_what_it_cannot_know() {
    let read = |name| {
        ResultsFile::parse(&example(name))
            .unwrap()
            .observations
            .remove(0)
    };
    let board = read("board-instructions");
    assert!(
        board.flows[0].elapsed.value().is_none() && board.flows[0].frames_per_s.value().is_none()
    );
    let clock = board.series[0].clock;
    assert_eq!((clock.kind, clock.tick_ps), (ClockKind::Instructions, None));
    let model = read("model");
    assert_eq!(model.flows[0].frames_per_s.kind(), Some(Kind::Predicted));
    assert_eq!(model.series[0].kind, Kind::Predicted);
    assert!(model.flows[0].counts.value().is_none());
    let hdl = read("hdl");
    let elapsed = hdl.flows[0].elapsed.value().unwrap();
    assert_eq!(
        (elapsed.clock, elapsed.ps),
        (ClockKind::Simulated, 672_000_000)
    );
    let iperf = read("iperf");
    assert!(iperf.flows[0].counts.value().is_none());
    assert_eq!(
        iperf.flows[0].counters["received_datagrams"],
        Field::measured(42_515)
    );
}

#[test]
fn broken_files_are_refused_and_named() {
    let text = example("ports");
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 7] = [
        (|v| v["format"] = json!("other"), "its format is 'other'"),
        (
            |v| v["version"] = json!(3),
            "version 3, but this wirelab reads versions 1 to 2",
        ),
        (|v| v["interrupted"] = json!("no"), "invalid type: string"),
        (
            |v| {
                drop(
                    v["observations"][0]
                        .as_object_mut()
                        .unwrap()
                        .remove("flows"),
                )
            },
            "missing field `flows`",
        ),
        (
            |v| v["observations"][0]["status"] = json!("fine"),
            "unknown variant `fine`",
        ),
        (
            |v| v["observations"][0]["flows"][0]["jitter_ps"] = json!(0),
            "expected a figure: its value and kind, or why it is absent",
        ),
        (
            |v| v["observations"][0]["flows"][0]["sent_frames"]["value"] = json!(-1),
            "invalid value: integer `-1`, expected u64",
        ),
    ];
    let mut values = Vec::new();
    for (change, part) in &changes {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        let error = ResultsFile::parse(&value.to_string())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
        values.push(value);
    }
    for ((_, part), errors) in changes.iter().zip(against(&values)) {
        assert!(!errors.is_empty(), "the schema lets pass: {part}");
    }
    let cut = ResultsFile::parse(&text[..text.len() / 2])
        .unwrap_err()
        .to_string();
    assert!(cut.contains("EOF while parsing"), "{cut}");
}

#[test]
fn the_fuzz_corpus_is_read_without_panic() {
    let folder = root().join("fuzz/corpus/results");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        fuzz_results(&bytes);
        files += 1;
    }
    assert!(files >= 5, "{files} files in {}", folder.display());
}

#[test]
fn parts_are_optional_kept_and_never_reach_outside() {
    let text = example("ports");
    assert!(
        !text.contains("\"parts\""),
        "a file without parts names none"
    );
    let mut file = ResultsFile::parse(&text).unwrap();
    let all = file.observations.len() as u64;
    for (first, observations, inside) in [(0, all, all), (1, 1, 1), (all, 5, 0), (7, u64::MAX, 0)] {
        let part = Part {
            name: "listed".to_owned(),
            first,
            observations,
            found: None,
            refused: None,
        };
        assert_eq!(part.of(&file.observations).len() as u64, inside);
        file.parts.push(part);
    }
    let read = ResultsFile::parse_unchecked(&file.to_json()).unwrap();
    assert_eq!(read, file);
    let mut both = file.clone();
    both.append(read);
    assert_eq!(
        both.parts[4].of(&both.observations),
        &both.observations[2..4]
    );
    let errors = against(&[serde_json::to_value(&both).unwrap()]);
    assert!(errors[0].is_empty(), "{errors:?}");
}

#[test]
fn paths_of_calls_are_kept_when_files_are_joined_and_a_frame_costs_its_mean() {
    let paths = |to: &str, instructions: u64| CallPaths {
        direction: Direction::Receive,
        length_bytes: 64,
        from: "in.driver".to_owned(),
        to: to.to_owned(),
        frames: 2,
        instructions: [("main;input".to_owned(), instructions)].into(),
    };
    let run = |call_paths| {
        let mut file = ResultsFile::parse(&example("board-instructions")).unwrap();
        file.measuring = Some(Measuring {
            call_paths,
            ..Measuring::default()
        });
        file
    };
    let mut both = run(vec![paths("in.stack", 20)]);
    both.append(run(vec![paths("in.stack", 40), paths("in.app", 8)]));
    let all = both.measuring.unwrap().call_paths;
    assert_eq!(all.len(), 2, "a stage of both runs is one");
    let costs: Vec<f64> = all.iter().map(|of| costs([of])[0].per_frame).collect();
    assert_eq!(costs, [15.0, 4.0]);
}
