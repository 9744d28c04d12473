//! `wirelab pulse`, and `measure --pulse`: the pulse of a pin as the time of a trial.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::board_common::{self, Running};
use crate::serial_common::Pty;

use crate::common::{json, refused, scratch, stderr, stdout, wirelab};

const TRIAL: [&str; 7] = [
    "--direction",
    "tx",
    "--length",
    "1514",
    "--frames",
    "50",
    "--buffers",
];

/// A recording that is saved after any trial of this test.
fn saved_later(name: &str, text: &str) -> PathBuf {
    let path = scratch(name);
    std::fs::write(&path, text).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let later = SystemTime::now() + Duration::from_secs(600);
    file.set_modified(later).unwrap();
    path
}

fn measured(node: &str, pulse: &str, results: &Path) -> std::process::Output {
    let results = results.display().to_string();
    let asked = [
        &["measure", node],
        &TRIAL[..],
        &["copied", "--pulse", pulse, "-o", &results],
    ];
    wirelab(&asked.concat())
}

/// The flow of the only trial.
fn flow(results: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(results).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["observations"].as_array().unwrap().len(), 1);
    file["observations"][0]["flows"][0].clone()
}

#[test]
fn the_recording_of_a_board_gives_the_time_that_the_board_has() {
    if !board_common::can_run("lpc1768") {
        return;
    }
    let (vcd, results) = (scratch("pin.vcd"), scratch("pin.json"));
    let vcd = vcd.display().to_string();
    let output = measured(&format!("board:lpc1768,vcd={vcd}"), &vcd, &results);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = json(&["pulse", &vcd, "--channel", "P0.0", "--json"]);
    let width = found["pulses"][0]["width_ps"].as_u64().unwrap();
    assert_eq!(found["uncertainty"]["ps"], 10_000, "a cycle of the core");
    let flow = flow(&results);
    assert_eq!(flow["elapsed"]["value"]["ps"], width);
    assert_eq!(flow["elapsed"]["value"]["spans"], "pin");
    assert_eq!(flow["counters"]["pin_uncertainty_ps"]["value"], 10_000);
    let rate = flow["frames_per_s"]["value"].as_f64().unwrap();
    assert!((rate * width as f64 / 50e12 - 1.0).abs() < 1e-9, "{rate}");
    let told = stdout(&wirelab(&["pulse", &vcd]));
    assert!(
        told.contains("channel P0.0, 1 pulse high") && told.contains("  10.000[1]  "),
        "{told}"
    );
}

#[test]
fn a_node_on_a_serial_line_has_the_time_of_its_pin_beside_a_capture() {
    if !board_common::can_run("mps2-an385") || !board_common::can_tap() {
        return;
    }
    let (_running, about) = Running::board("mps2-an385");
    let word = |key: &str| about[key].as_str().unwrap();
    let pty = Pty::before(UnixStream::connect(word("uart")).unwrap(), 0);
    let node = pty.name(&format!(",port={}/tap0", word("namespace")));
    let (results, capture) = (scratch("serial.json"), scratch("serial.pcapng"));
    let capture = capture.display().to_string();
    let csv = saved_later(
        "serial.csv",
        "Time [s],Channel 0\n0,0\n0.5,1\n1.125,0\n1.5,0\n",
    );
    let pulse = format!("{},channel=D0,sampling=24MHz", csv.display());
    let results_name = results.display().to_string();
    let trial = "--direction tx --length 1514 --frames 50 --load 100pps";
    let mut asked = vec!["measure", &node];
    asked.extend(trial.split(' '));
    asked.extend([
        "--pulse",
        &pulse,
        "--capture",
        &capture,
        "-o",
        &results_name,
    ]);
    let output = wirelab(&asked);
    assert!(output.status.success(), "{}", stderr(&output));
    let flow = flow(&results);
    assert_eq!(flow["elapsed"]["value"]["ps"], 625_000_000_000u64);
    assert_eq!(flow["elapsed"]["value"]["spans"], "pin");
    assert_eq!(
        flow["counters"]["pin_elapsed_ps"]["value"],
        625_000_000_000u64
    );
    let rate = flow["frames_per_s"]["value"].as_f64().unwrap();
    assert!((rate - 80.0).abs() < 1e-6, "50 frames in 625 ms: {rate}");
    let verified = wirelab(&["verify", &capture, "--sent", "50"]);
    assert!(
        verified.status.success(),
        "{}{}",
        stdout(&verified),
        stderr(&verified)
    );
}

#[test]
fn another_recording_replaces_the_time_and_its_rates() {
    if !board_common::can_run("lpc1768") {
        return;
    }
    let results = scratch("other.json");
    let csv = saved_later(
        "other.csv",
        "Time [s],Channel 0,Channel 1\n0,1,0\n0.001,0,1\n0.011,1,0\n0.012,0,0\n",
    );
    let pulse = format!("{},channel=D1,sampling=1MHz", csv.display());
    let output = measured("board:lpc1768", &pulse, &results);
    assert!(output.status.success(), "{}", stderr(&output));
    let flow = flow(&results);
    assert_eq!(flow["elapsed"]["value"]["ps"], 10_000_000_000u64);
    let rate = flow["frames_per_s"]["value"].as_f64().unwrap();
    assert!((rate - 5000.0).abs() < 1e-6, "50 frames in 10 ms: {rate}");
    let payload = flow["payload_bits_per_s"]["value"].as_f64().unwrap();
    assert!((payload - 60e6).abs() < 1.0, "{payload}");
    // The sampling, and the digit of the times in the file.
    assert_eq!(
        flow["counters"]["pin_uncertainty_ps"]["value"],
        1_001_000_000u64
    );
}

#[test]
fn a_recording_that_cannot_be_the_trials_is_refused_and_the_results_are_kept() {
    if !board_common::can_run("lpc1768") {
        return;
    }
    let two = saved_later(
        "two.csv",
        "Time [s],D0\n0,0\n0.001,1\n0.002,0\n0.003,1\n0.004,0\n",
    );
    for (pulse, code, words) in [
        (
            two.display().to_string(),
            2,
            "D0 has 2 pulses, and the run has 1 trials; fix: ",
        ),
        (
            format!("{},channel=D7", two.display()),
            2,
            "no channel 'D7'",
        ),
    ] {
        let results = scratch("refused.json");
        let output = measured("board:lpc1768", &pulse, &results);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(words), "{told}");
        let flow = flow(&results);
        assert_eq!(
            flow["counters"]["pin_uncertainty_ps"],
            serde_json::Value::Null
        );
    }
    let node = [
        "measure",
        "board:lpc1768",
        "--frames",
        "5",
        "--pulse",
        "x.vcd",
    ];
    refused(
        &[&node[..], &["--direction", "rx"]].concat(),
        "give --direction tx",
    );
    refused(
        &[&node[..4], &["--pulse", "x.vcd,chanel=D0"]].concat(),
        "unknown option 'chanel'",
    );
}

#[test]
fn a_pulse_that_is_shorter_than_its_frames_is_warned_of() {
    if !board_common::can_run("lpc1768") {
        return;
    }
    let short = saved_later(
        "short.csv",
        "Time [s],D0\n0.000,0\n0.001,1\n0.005,0\n0.006,0\n",
    );
    let pulse = format!("{},sampling=1MHz", short.display());
    let output = measured("board:lpc1768", &pulse, &scratch("short.json"));
    let told = stdout(&output);
    assert!(
        told.contains("less than 50 frames take on the link"),
        "{told}"
    );
}

#[test]
fn options_of_a_recording_are_refused_with_the_fix() {
    let csv = saved_later("volts.csv", "Time,CH1\n0,0.1\n0.1,3.2\n0.2,3.3\n0.3,0.1\n");
    let csv = csv.display().to_string();
    for (option, value, words) in [
        (
            "--active",
            "up",
            "--active: unknown level 'up'; fix: write one of high, low",
        ),
        (
            "--sampling",
            "fast",
            "--sampling: invalid sampling rate 'fast'; fix: ",
        ),
        ("--threshold", "x", "--threshold: invalid threshold"),
        ("--shortest", "1", "--shortest: "),
        ("--shortest", "1s", "shorter than wanted; fix: "),
        ("--channel", "D3", "choose one with --channel: CH1"),
        ("--threshold", "9", "never high"),
    ] {
        refused(&["pulse", &csv, option, value], words);
    }
    let told = stdout(&wirelab(&["pulse", &csv]));
    assert!(told.contains("threshold 1.650 V"), "{told}");
    let cut = scratch("cut.csv");
    std::fs::write(
        &cut,
        "Time [s],Channel 0\n0,1\n0.1,0\n0.5,1\n1.125,0\n1.5,1\n1.500001,0\n1.6,1\n1.7,1\n",
    )
    .unwrap();
    let told = |args: &[&str]| {
        let printed = wirelab(&[&["pulse", cut.to_str().unwrap()], args].concat());
        let (folder, name) = (cut.parent().unwrap().display(), cut.file_name().unwrap());
        let told = stdout(&printed).replace(&format!("{folder}/"), "");
        told.replace(name.to_str().unwrap(), "cut.csv")
    };
    insta::assert_snapshot!("pulses_of_unknown_sampling", told(&[]));
    insta::assert_snapshot!(
        "pulses",
        told(&["--sampling", "24MHz", "--shortest", "10us"])
    );
    refused(&["pulse", "/no/such/file.vcd"], "/no/such/file.vcd: ");
}
