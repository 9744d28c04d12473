//! `wirelab stages here:IFACE`: a node that is watched alone, its frames sent by another process.

use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};

use crate::common::{refused, scratch, stderr, wirelab};
use crate::stages_common::row;
use serde_json::Value;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::may_test;
use wirelab_trial::ResultsFile;
use wirelab_trial::over_time::Cores;

/// A process; it is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Frames from the node's side of a lab to the address of the tester's, for as long as the test runs.
fn sender(lab: &EphemeralLab, more: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    let port = lab.port(0, Side::Node).unwrap().to_string();
    let mac = lab.mac(0, Side::Tester).to_string();
    command
        .args([
            "send", &port, "--layer", "udp4", "--load", "500pps", "--time", "600s",
        ])
        .args(["--length", "100", "--to", &mac, "--path", "packet"])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

fn here(lab: &EphemeralLab, side: Side, options: &[&str]) -> Value {
    let name = format!("here:{}", lab.port(0, side).unwrap());
    let mut args = vec!["stages", &name, "--count", "64", "--json"];
    args.extend(options);
    let output = wirelab(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn frames_of_another_process_are_timed_to_our_own_receiver_and_past_it() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("here", 1)).unwrap();
    let _sender = sender(&lab, &[]);
    let results = scratch("here.json");
    let path = results.to_str().unwrap();
    let mine = here(&lab, Side::Tester, &["-o", path]);
    for (from, to) in [
        ("driver", "stack"),
        ("stack", "socket"),
        ("call", "application"),
    ] {
        let row = row(&mine, "receive", 100, from, to);
        assert_eq!(row["clock"], "wall");
        assert!(row["count"].as_u64().unwrap() >= 32, "{row:#}");
    }
    let counters = &mine["trials"][0]["counters"];
    let received = counters["received_frames"]["value"].as_u64().unwrap();
    assert!(received >= 64, "{counters:#}");
    assert_eq!(counters["reordered_frames"]["value"], 0);
    assert!(counters["probe_taken.in.driver"]["value"].as_u64().unwrap() >= 64);
    // The file has the samples of the same table.
    let again = wirelab(&["stages", path, "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["stages"], mine["stages"]);

    // Another program reads: its last point is that its system call returns.
    let namespace = lab.netns(Side::Tester).unwrap();
    let socket = namespace
        .run_in(|| UdpSocket::bind("0.0.0.0:5003").unwrap())
        .unwrap();
    let reader = std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        let second = std::time::Duration::from_secs(5);
        socket.set_read_timeout(Some(second)).unwrap();
        while socket.recv(&mut buffer).is_ok() {}
    });
    let theirs = here(&lab, Side::Tester, &["--watch", "--length", "100"]);
    row(&theirs, "receive", 100, "stack", "socket");
    let ends: Vec<&Value> = theirs["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["to"])
        .collect();
    assert!(ends.contains(&&"call".into()), "{theirs:#}");
    assert!(!ends.contains(&&"application".into()), "{theirs:#}");
    let notes = theirs["trials"][0]["warnings"].to_string();
    assert!(notes.contains("another program reads"), "{notes}");

    // What goes out is timed too.
    let sent = here(&lab, Side::Node, &["--watch", "--length", "100"]);
    row(&sent, "transmit", 100, "queue", "driver");
    drop(_sender);
    reader.join().unwrap();
}

#[test]
fn frames_and_load_of_the_cores_are_reported_over_the_run() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("here", 1)).unwrap();
    let _sender = sender(&lab, &[]);
    let name = format!("here:{}", lab.port(0, Side::Tester).unwrap());
    let (results, page) = (scratch("over.json"), scratch("over.html"));
    let paths = [results.to_str().unwrap(), page.to_str().unwrap()];
    let output = wirelab(&[
        "stages", &name, "--count", "1500", "-o", paths[0], "-o", paths[1],
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let file = ResultsFile::parse(&std::fs::read_to_string(&results).unwrap()).unwrap();
    let run = &file.observations[0];
    let over = &run.flows[0].over_time;
    let sum = |list: &[u64]| list.iter().sum::<u64>();
    assert!(
        sum(&over.arrived) >= 1500 && over.arrived.len() > 8,
        "{over:?}"
    );
    let [load] = &run.busy_over_time[..] else {
        panic!("{:?}", run.busy_over_time);
    };
    assert_eq!(load.of, Cores::Node);
    assert!(load.slice_ns.len() >= 3, "{load:?}");
    let (from, lasted) = (load.from_ns, sum(&load.slice_ns));
    assert!(from + lasted <= sum(&over.slice_ns), "{load:?} of {over:?}");
    // The command's page and that of its results show it.
    let again = wirelab(&["report", paths[0], "--format", "html"]);
    let pages = [
        std::fs::read_to_string(&page).unwrap(),
        String::from_utf8(again.stdout).unwrap(),
    ];
    for text in pages {
        assert!(text.contains("Over the run"), "{text}");
        assert!(text.contains("the node's cores "), "{text}");
    }
}

#[test]
fn a_copy_of_a_frame_is_not_one_more_and_is_reported() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("here", 1)).unwrap();
    let _sender = sender(&lab, &["--inject", "duplicate=0.5,seed=6"]);
    let all = here(&lab, Side::Tester, &[]);
    let trial = &all["trials"][0];
    assert_eq!(trial["status"]["status"], "complete", "{trial:#}");
    let counter = |name: &str| trial["counters"][name]["value"].as_u64();
    assert!(counter("duplicated_frames") > Some(0), "{trial:#}");
    // Records of both copies were taken, and a stage has each frame once.
    let count = row(&all, "receive", 100, "driver", "stack")["count"].as_u64();
    assert!(count >= Some(64) && count < counter("probe_taken.in.stack"));
    let notes = all["measuring"]["notes"].to_string();
    let told = "stack: ";
    assert!(
        notes.contains(told) && notes.contains("of a frame recorded before"),
        "{notes}"
    );
    // Nothing that was not seen is put as 0.
    let counters = trial["counters"].as_object().unwrap();
    let probes = counters
        .iter()
        .filter(|(name, _)| name.starts_with("probe_") || name.starts_with("napi_"));
    for (name, value) in probes {
        assert!(value["value"].as_u64() > Some(0), "{name}: {value}");
    }
    assert!(counter("napi_poll_frames_mean_milli") >= Some(1000));
}

#[test]
fn fewer_frames_than_asked_fail_and_say_so() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("here", 1)).unwrap();
    let _sender = sender(&lab, &[]);
    let name = format!("here:{}", lab.port(0, Side::Tester).unwrap());
    let few = wirelab(&["stages", &name, "--count", "60000", "--time", "2s"]);
    assert_eq!(few.status.code(), Some(1), "{}", stderr(&few));
    let told = stderr(&few);
    assert!(
        told.contains("of 60000 frames came in the time") && told.contains("--time"),
        "{told}"
    );
    let table = String::from_utf8_lossy(&few.stdout);
    assert!(table.contains("driver to stack"), "{table}");
}

#[test]
fn nothing_seen_fails_and_says_what_to_send() {
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("here", 1)).unwrap();
    let name = format!("here:{}", lab.port(0, Side::Tester).unwrap());
    let quiet = wirelab(&["stages", &name, "--time", "100ms"]);
    assert_eq!(quiet.status.code(), Some(1), "{}", stderr(&quiet));
    let told = stderr(&quiet);
    assert!(
        told.contains("no test frame of stream 0") && told.contains("wirelab send"),
        "{told}"
    );
}

#[test]
fn the_program_of_another_stays_where_it_is() {
    use wirelab_stages::{NodeOptions, NodeXdp};
    if !may_test() {
        return;
    }
    let lab = EphemeralLab::up(&LabSpec::unique("here", 1)).unwrap();
    let port = lab.port(0, Side::Tester).unwrap();
    let Ok(theirs) = NodeXdp::attach(&port, &NodeOptions::default(), None) else {
        // Hosts without XDP have nobody else's program either.
        return;
    };
    let name = format!("here:{port}");
    let refused = wirelab(&["stages", &name, "--xdp", "native", "--time", "100ms"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains(&port.interface),
        "{}",
        stderr(&refused)
    );
    let again = NodeXdp::attach(&port, &NodeOptions::default(), None);
    assert!(again.is_err(), "their program is still there");
    drop(theirs);
}

#[test]
fn what_has_no_meaning_without_a_tester_is_refused() {
    for (options, words) in [
        (
            &["--fast-track", "port=1026"][..],
            "--fast-track has no meaning for 'here:lo'",
        ),
        (
            &["--background", "half"],
            "--background has no meaning for 'here:lo'",
        ),
        (&["--load", "2kpps"], "wirelab send"),
        (&["--count", "0"], "at least 1"),
        (&["--count", "65537"], "1 to 65536"),
        (&["--wait", "both"], "fix: write one of sleep, spin"),
        (&["--probes", "off"], "fix: write one of auto, fentry, raw"),
    ] {
        refused(&[&["stages", "here:lo"][..], options].concat(), words);
    }
    let none = wirelab(&["stages", "here:nosuch0"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("nosuch0"), "{}", stderr(&none));
}
