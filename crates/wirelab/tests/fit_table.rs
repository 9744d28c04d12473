//! `wirelab fit TABLE`: the node file predicts every figure of the table, and what it was fitted to is calibrated.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// A directory of this test alone.
pub struct TestFolder(pub PathBuf);

impl TestFolder {
    pub fn new(name: &str) -> TestFolder {
        let path =
            std::env::temp_dir().join(format!("wirelab-fit-table-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TestFolder(path)
    }

    fn wirelab(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command.current_dir(&self.0).args(args).output().unwrap()
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let out = self.wirelab(args);
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        serde_json::from_slice(&out.stdout).unwrap()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Loads of 4 % + 20 us + 8 ns a byte and greatest rates of the same cost, printed to a tenth.
pub fn table() -> String {
    let mut text = String::from(
        "title = \"t\"\nsource = \"s\"\nnode = \"board\"\nlink = \"1G\"\n[defaults]\ntrial = { layer = \"udp4\", time = \"1s\" }\n",
    );
    for bytes in [64u32, 256, 512, 1024, 1470] {
        let cost = 20e-6 + 8e-9 * f64::from(bytes);
        for rate in [2_000.0, 8_000.0, 16_000.0, 24_000.0] {
            let load = 100.0 * (0.04 + rate * cost);
            text.push_str(&format!(
                "[[row]]\nname = \"RX {bytes} at {rate}\"\ntrial = {{ direction = \"receive\", datagram = {bytes}, load = \"{rate}pps\" }}\npublished = {{ cpu_load = \"{load:.1} %\" }}\n"
            ));
        }
        let mbit = 8.0 * f64::from(bytes) / cost / 1e6;
        text.push_str(&format!(
            "[[row]]\nname = \"TX {bytes}\"\ntrial = {{ direction = \"transmit\", datagram = {bytes} }}\npublished = {{ throughput = \"{mbit:.1} Mbit/s\", cpu_load = \"100 %\" }}\n"
        ));
    }
    text
}

pub fn figures(value: &Value) -> &Vec<Value> {
    value["figures"].as_array().unwrap()
}

#[test]
fn a_size_that_is_held_out_is_predicted_by_the_file_as_written() {
    let room = TestFolder::new("held");
    std::fs::write(room.0.join("t.toml"), table()).unwrap();
    let all = room.json(&[
        "fit",
        "t.toml",
        "--hold-out",
        "size=512",
        "-o",
        "fitted.toml",
        "--json",
    ]);
    for figure in figures(&all) {
        let held = figure["row"].as_str().unwrap().contains("512");
        assert_eq!(figure["counted"], held, "{figure}");
        assert_eq!(
            figure["kind"],
            if held { "predicted" } else { "calibrated" },
            "{figure}"
        );
        let error = figure["error_percent"].as_f64().unwrap();
        assert!(error.abs() < 2.0, "{figure}");
    }
    assert_eq!(
        all["fit"]["leave_one_out"],
        Value::Array(Vec::new()),
        "no error of another form"
    );
    // The same file says the same, and knows its trials, on another day.
    let again = room.json(&[
        "study",
        "run",
        "t.toml",
        "--node",
        "./fitted.toml",
        "--json",
    ]);
    for (a, b) in figures(&all).iter().zip(again.as_array().unwrap()) {
        assert_eq!(
            (&a["value"], &a["kind"]),
            (&b["value"], &b["kind"]),
            "{a} {b}"
        );
    }
}

#[test]
fn what_cannot_be_held_out_or_fitted_is_said() {
    let room = TestFolder::new("said");
    std::fs::write(room.0.join("t.toml"), table()).unwrap();
    for (args, what) in [
        (
            vec!["fit", "t.toml", "--hold-out", "size=99"],
            "matches no figure",
        ),
        (
            vec!["fit", "t.toml", "--hold-out", "colour=red"],
            "unknown key 'colour'",
        ),
        (vec!["fit", "zynq"], "choose one of them with --node"),
        (
            vec!["fit", "t.toml", "results.json"],
            "a table cannot be combined",
        ),
        (
            vec!["fit", "results.json", "--hold-out", "size=64"],
            "--hold-out is for published tables",
        ),
    ] {
        let out = room.wirelab(&args);
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?} {error}");
        assert!(error.contains(what), "{args:?} {error}");
    }
}
