//! `wirelab stages lab:`: a Linux node in a lab that is made for it, and what is left when it ends.

use std::process::{Command, Stdio};

use crate::common::{json, refused, scratch, stderr, wirelab};
use crate::stages_common::{labs_of, row, until};
use wirelab_port::netns::may_test;

/// Every point of a Linux node's way in and out, where its kernel is looked into, and by its sockets' stamps alone.
const INSIDE: [&[&str]; 2] = [
    &[
        "wire",
        "interrupt",
        "driver",
        "stack",
        "socket",
        "copy",
        "call",
        "application",
    ],
    &["application", "call", "queue", "driver", "wire"],
];
const OUTSIDE: [&[&str]; 2] = [&["driver", "application"], &["application", "driver"]];

#[test]
fn the_command_of_the_manual_gives_every_stage_that_this_host_allows() {
    if !may_test() {
        return;
    }
    let results = scratch("lab.json");
    let path = results.to_str().unwrap();
    let output = wirelab(&[
        "stages",
        "lab:",
        "--length",
        "64,256,1024",
        "--count",
        "512",
        "-o",
        path,
    ]);
    // A frame that a busy machine loses fails its trial, and is in the counts.
    assert!(
        [Some(0), Some(1)].contains(&output.status.code()),
        "{}",
        stderr(&output)
    );
    let table = String::from_utf8(output.stdout).unwrap();
    let all = json(&["stages", path, "--json"]);
    let setup = &all["trials"][0]["setup"];
    let traced = ["raw", "fentry"].contains(&setup["probes"].as_str().unwrap_or("none"));
    let points = if traced { INSIDE } else { OUTSIDE };
    for (way, points) in ["receive", "transmit"].into_iter().zip(points) {
        for length in [64, 256, 1024] {
            // Where few frames say when their reader ran again, that point is left out, in words.
            let rows = all["stages"].as_array().unwrap().iter();
            let mine = rows
                .filter(|r| (&r["direction"], &r["length_bytes"]) == (&way.into(), &length.into()));
            let past: Vec<&str> = mine
                .filter_map(|r| r["passed_over"]["point"].as_str())
                .collect();
            let there: Vec<&str> = points
                .iter()
                .copied()
                .filter(|p| !past.contains(p))
                .collect();
            for point in past {
                assert!(
                    table.contains(&format!("the point {point} is left out")),
                    "{table}"
                );
            }
            for pair in there.windows(2) {
                let row = row(&all, way, length, pair[0], pair[1]);
                assert_eq!(
                    (&row["clock"], &row["tick_ps"]),
                    (&"wall".into(), &1000.into())
                );
                assert!(row["count"].as_u64().unwrap() >= 256, "{row:#}");
            }
            let (first, last) = (there[0], there[there.len() - 1]);
            let whole = row(&all, way, length, first, last);
            assert!(whole["count"].as_u64().unwrap() >= 256, "{whole:#}");
        }
        assert!(
            table.contains(points[1]) && table.contains("CPU time") | !traced,
            "{table}"
        );
    }
    if traced {
        let costs = all["measuring"]["overheads"].as_array().unwrap();
        for (what, length) in [("wire to application", 64), ("application to wire", 1024)] {
            let cost = costs
                .iter()
                .find(|c| c["what"] == what && c["length_bytes"] == length);
            let cost = cost.unwrap_or_else(|| panic!("{what}: {:#}", all["measuring"]));
            assert!(cost["runs"].as_u64().unwrap() >= 2, "{cost:#}");
            assert!(
                cost["low_ns"].as_f64() <= cost["high_ns"].as_f64(),
                "{cost:#}"
            );
        }
        assert!(
            table.contains("probes"),
            "the set that was used is named: {table}"
        );
        warm_and_cold(&all);
    }
}

/// What each packet stage costs stands there of a warm node and of the trials, with quartiles and the clock's part.
fn warm_and_cold(all: &serde_json::Value) {
    let costs = all["measuring"]["costs"].as_array().unwrap();
    for (at, load) in [("warm", 20_000.0), ("trial", 1_000.0)] {
        for point in ["in.driver", "in.stack", "out.queue", "out.driver"] {
            let is = |c: &&serde_json::Value| c["at"] == at && c["point"] == point;
            let cost = costs.iter().find(is);
            let cost = cost.unwrap_or_else(|| panic!("{at}, {point}: {:#}", all["measuring"]));
            let ns = |name: &str| cost[name].as_u64().unwrap();
            assert!(
                0 < ns("q1_ns") && ns("q1_ns") <= ns("median_ns"),
                "{cost:#}"
            );
            assert!(
                ns("median_ns") <= ns("q3_ns") && ns("clock_ns") > 0,
                "{cost:#}"
            );
            assert_eq!(cost["load"]["frames_per_s"], load, "{cost:#}");
            assert_eq!(cost["frames_per_s"].is_f64(), at == "warm", "{cost:#}");
        }
    }
}

/// Whether a process is a node, and none of those by which its lab is made.
fn is_a_node(pid: &String) -> bool {
    let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.contains("\0node\0serve\0")
}

/// The nodes in the namespaces of labs that a process has made.
fn nodes_of(pid: u32) -> Vec<String> {
    let namespaces = labs_of(pid)
        .into_iter()
        .filter(|name| name.ends_with("-node"));
    let processes = |name: String| {
        let pids = Command::new("ip")
            .args(["netns", "pids", &name])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&pids.stdout).into_owned();
        let pids = text.lines().map(str::to_owned);
        pids.filter(is_a_node).collect::<Vec<String>>()
    };
    namespaces.flat_map(processes).collect()
}

#[test]
fn a_killed_command_leaves_neither_node_nor_lab() {
    if !may_test() {
        return;
    }
    for signal in ["-KILL", "-INT"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command.args(["stages", "lab:", "--count", "512", "--load", "20pps"]);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().unwrap();
        let pid = child.id();
        until("the node does not start", || !nodes_of(pid).is_empty());
        let sent = Command::new("kill")
            .args([signal, &pid.to_string()])
            .status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        until("the lab stays", || labs_of(pid).is_empty());
    }
}

#[test]
fn a_node_that_dies_is_said_with_how() {
    if !may_test() {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    command.args([
        "stages", "lab:", "--count", "512", "--load", "20pps", "--length", "64",
    ]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    until("the node does not start", || !nodes_of(pid).is_empty());
    for node in nodes_of(pid) {
        let killed = Command::new("kill").args(["-KILL", &node]).status();
        assert!(killed.unwrap().success());
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(
        told.contains("the node in the lab") && told.contains("signal: 9"),
        "{told}"
    );
    until("the lab stays", || labs_of(pid).is_empty());
}

#[test]
fn without_rights_the_fix_is_named() {
    use std::os::unix::process::CommandExt;
    if !may_test() {
        return;
    }
    for node in ["lab:", "here:lo"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        // Nobody, as most systems have it.
        command.args(["stages", node]).uid(65534).gid(65534);
        let output = match command.output() {
            Ok(output) => output,
            // The folder of the program may be closed to others.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(output.status.code(), Some(2), "{node}: {}", stderr(&output));
        let told = stderr(&output);
        assert!(
            told.contains("CAP_") && told.contains("sudo"),
            "{node}: {told}"
        );
    }
}

#[test]
fn labs_that_have_no_stages_are_refused_with_the_fix() {
    for (args, words) in [
        (&["stages", "lab:2"][..], "write lab:1, or lab:NAME"),
        (&["stages", "lab:", "--load", "fast"], "--load"),
        (&["stages", "lab:", "--load", "max"], "--load 1kpps"),
        (&["stages", "lab:", "--count", "0"], "at least 1"),
        (
            &["stages", "lab:", "--count", "5003"],
            "--count 5000 or 5010",
        ),
        (&["stages", "lab:there-is-none"], "there-is-none"),
    ] {
        if args[1] != "lab:2" && !may_test() {
            continue;
        }
        refused(args, words);
    }
}
