//! `wirelab hdl` as a user calls it: a port of hardware in simulation and the programs of this host find each other's frames
//! good, to the last byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};

use crate::board_common::{can_tap, until};
use crate::common::{refused, stderr, stdout, wirelab};
use serde_json::Value;
use wirelab_port::netns::NetNs;

const FRAMES: u64 = 300;

/// A namespace that goes with the test.
struct Namespace(String);

impl Namespace {
    fn new(name: &str) -> Option<Namespace> {
        if !can_tap() {
            return None;
        }
        let name = format!("wlt-{name}-{}", std::process::id());
        NetNs::create(&name).unwrap();
        Some(Namespace(name))
    }

    /// The interface of the test, as the command line has it.
    fn port(&self) -> String {
        format!("{}/tap0", self.0)
    }

    /// A file of /proc/net as the namespace shows it.
    fn proc_net(&self, file: &str) -> String {
        let path = format!("/proc/thread-self/net/{file}");
        let namespace = NetNs::open(&self.0).unwrap();
        let read = namespace.run_in(|| std::fs::read_to_string(path));
        read.unwrap().unwrap()
    }

    fn has_interface(&self) -> bool {
        self.proc_net("dev").contains("tap0:")
    }

    /// Waits until a packet socket takes frames off an interface: the columns Iface and R (packet(7), net/packet/af_packet.c).
    fn until_heard(&self) {
        let runs = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields[4] != "0" && fields[5] == "1"
        };
        until("a receiver", || {
            self.proc_net("packet")
                .lines()
                .skip(1)
                .any(runs)
                .then_some(())
        });
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = NetNs::delete(&self.0);
    }
}

/// A call that goes on beside the test.
struct PathComparison(Child);

impl Drop for PathComparison {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl PathComparison {
    fn start(args: &[&str]) -> PathComparison {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        PathComparison(command.spawn().unwrap())
    }

    /// `wirelab hdl`, when its interface is up.
    fn hdl(port: &str, options: &[&str]) -> PathComparison {
        let mut running = PathComparison::start(&[&["hdl", port], options].concat());
        let mut line = String::new();
        let said = running.0.stderr.as_mut().unwrap();
        BufReader::with_capacity(1, said)
            .read_line(&mut line)
            .unwrap();
        assert!(line.contains("is up"), "{line}");
        running
    }

    fn enter(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn interrupt(&self) {
        let pid = self.0.id().to_string();
        let done = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(done.success());
    }

    /// Its exit status, and what it printed.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        let out = self.0.stdout.as_mut().unwrap();
        out.read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }

    fn json(self) -> (Option<i32>, Value) {
        let (code, said) = self.end();
        let value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
        (code, value)
    }
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

#[test]
fn the_generator_in_hardware_and_the_checker_of_the_host() {
    let Some(namespace) = Namespace::new("out") else {
        return;
    };
    let (port, frames) = (namespace.port(), FRAMES.to_string());
    let mut hdl = PathComparison::hdl(&port, &["--frames", &frames, "--payload", "1000", "--json"]);
    let receiver = PathComparison::start(&[
        "receive", &port, "--path", "packet", "--sent", &frames, "--idle", "4s", "--json",
    ]);
    namespace.until_heard();
    hdl.enter();
    let (code, seen) = receiver.json();
    assert_eq!(code, Some(0), "{seen:#}");
    assert_eq!(seen["counts"]["good_frames"], FRAMES, "{seen:#}");
    assert_eq!(seen["counts"]["lost_frames"], 0);
    assert_eq!(seen["counts"]["verified_payload_bytes"], FRAMES * 1000);
    // It continues until a signal ends it, and leaves nothing.
    assert!(namespace.has_interface());
    hdl.interrupt();
    let (code, told) = hdl.json();
    assert_eq!(code, Some(0), "{told:#}");
    assert_eq!(told["generator"]["sent_frames"], FRAMES);
    assert_eq!(told["generator"]["interrupted"], false);
    assert_eq!(told["interface"]["given_frames"], FRAMES);
    assert!(!namespace.has_interface());
}

#[test]
fn the_generator_of_the_host_and_the_checker_in_hardware() {
    let Some(namespace) = Namespace::new("in") else {
        return;
    };
    let (port, frames) = (namespace.port(), FRAMES.to_string());
    let hdl = PathComparison::hdl(&port, &["--sent", &frames, "--idle", "2s", "--json"]);
    done(&wirelab(&[
        "send",
        &port,
        "--frames",
        &frames,
        "--layer",
        "udp4",
        "--datagram",
        "700",
    ]));
    let (code, told) = hdl.json();
    assert_eq!(code, Some(0), "{told:#}");
    let counts = &told["checker"]["counts"];
    assert_eq!(counts["good_frames"], FRAMES, "{told:#}");
    assert_eq!(counts["lost_frames"], 0);
    // 700 of datagram, 8 of UDP, 20 of IPv4.
    assert_eq!(counts["verified_payload_bytes"], FRAMES * 728);
    assert_eq!(told["generator"]["sent_frames"], 0);
    assert!(!namespace.has_interface());
}

#[test]
fn damage_is_found_on_either_side() {
    let Some(namespace) = Namespace::new("bad") else {
        return;
    };
    let (port, frames) = (namespace.port(), FRAMES.to_string());
    let mut hdl = PathComparison::hdl(
        &port,
        &[
            "--frames",
            &frames,
            "--inject",
            "corrupt=0.1",
            "--sent",
            &frames,
            "--idle",
            "2s",
            "--json",
        ],
    );
    // It judges while its own generator still waits.
    done(&wirelab(&[
        "send",
        &port,
        "--frames",
        &frames,
        "--inject",
        "corrupt=0.1,seed=7",
    ]));
    let receiver = PathComparison::start(&[
        "receive", &port, "--path", "packet", "--sent", &frames, "--idle", "4s", "--json",
    ]);
    namespace.until_heard();
    hdl.enter();
    let (code, seen) = receiver.json();
    assert_eq!(code, Some(1), "{seen:#}");
    assert_eq!(seen["counts"]["corrupted_frames"], FRAMES / 10, "{seen:#}");
    assert_eq!(seen["counts"]["good_frames"], FRAMES - FRAMES / 10);
    let (code, told) = hdl.json();
    assert_eq!(code, Some(1), "{told:#}");
    assert_eq!(told["generator"]["injected_faults"], FRAMES / 10);
    let counts = &told["checker"]["counts"];
    let corrupted = counts["corrupted_frames"].as_u64().unwrap();
    assert!(corrupted > 0, "{told:#}");
    assert_eq!(counts["good_frames"], FRAMES - corrupted, "{told:#}");
}

#[test]
fn an_interrupted_generator_says_so_and_leaves_nothing() {
    let Some(namespace) = Namespace::new("cut") else {
        return;
    };
    let port = namespace.port();
    // 10 ms of simulated time between two frames: it takes minutes.
    let mut hdl = PathComparison::hdl(&port, &["--frames", "900", "--load", "100pps"]);
    hdl.enter();
    hdl.interrupt();
    let (code, said) = hdl.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not everything requested was sent"), "{said}");
    assert!(said.contains("       0  of the flow"), "{said}");
    assert!(!namespace.has_interface());
}

#[test]
fn the_number_to_check_with_is_of_frames_that_left_when_it_ended_between_two() {
    let Some(namespace) = Namespace::new("told") else {
        return;
    };
    let port = namespace.port();
    // 1 ms of simulated time between two frames, a quarter of an hour in all: the next one always waits.
    let asked = [
        "--frames", "9999", "--load", "1kpps", "--after", "0s", "--time", "2s", "--json",
    ];
    for faults in [&[][..], &["--inject", "drop=0.5"]] {
        let (code, told) = PathComparison::hdl(&port, &[&asked, faults].concat()).json();
        assert_eq!(code, Some(1), "{told:#}");
        let generator = &told["generator"];
        assert_eq!(generator["interrupted"], true, "{told:#}");
        let count = |name: &str| generator[name].as_u64().unwrap();
        assert!(count("sent_frames") > 0, "{told:#}");
        assert_eq!(generator["sent_frames"], told["interface"]["given_frames"]);
        let left = count("sent_frames") + count("injected_faults");
        assert_eq!(count("sequences"), left, "{told:#}");
    }
    // Enter was never pressed.
    let waits = PathComparison::hdl(&port, &["--frames", "9"]);
    waits.interrupt();
    let (code, said) = waits.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("       0  sent\n"), "{said}");
    assert!(!said.contains("sequences"), "{said}");
}

#[test]
fn what_cannot_be_joined_says_why_and_what_to_do() {
    refused(&["hdl", "tap0", "--payload", "100"], "--frames");
    refused(&["hdl", "tap0", "--load", "max"], "--frames");
    refused(&["hdl", "tap0", "--frames", "0"], "requests nothing");
    refused(
        &["hdl", "tap0", "--frames", "9", "--frame", "64,128"],
        "one size",
    );
    refused(
        &["hdl", "tap0", "--frames", "9", "--layer", "tcp4"],
        "request ethernet or udp4",
    );
    let Some(namespace) = Namespace::new("no") else {
        return;
    };
    let port = namespace.port();
    let _first = PathComparison::hdl(&port, &[]);
    refused(&["hdl", &port], "exists already");
    // As a user without the privilege.
    let bound = ["--bounding-set", "-net_admin", "--inh-caps", "-net_admin"];
    let program = env!("CARGO_BIN_EXE_wirelab");
    let plain = Command::new("setpriv")
        .args(bound)
        .args([program, "hdl", "wlt-none"])
        .output()
        .unwrap();
    assert_eq!(plain.status.code(), Some(2), "{}", stderr(&plain));
    let told = stderr(&plain);
    assert!(
        told.contains("missing CAP_NET_ADMIN") && told.contains("setcap"),
        "{told}"
    );
}
