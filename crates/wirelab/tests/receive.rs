//! `wirelab receive`: what its own host dropped, held up or lost the link for is not a loss of the path, and is said.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{stderr, stdout, wirelab};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use wirelab_port::iface::PortName;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::{NetNs, probe};
use wirelab_port::xdp::program_on;

/// Frames of a flow that are sent.
const SENT: u64 = 900;
/// Frames of another stream, which nobody on the host wants, so that it drops them behind the checker.
const UNWANTED: u64 = 200;

struct Rig {
    lab: EphemeralLab,
}

impl Rig {
    fn new() -> Option<Rig> {
        if let Err(error) = probe() {
            assert!(error.is_privilege(), "{error}");
            // Directly, because the test harness swallows what is printed otherwise.
            let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP root: {error}");
            return None;
        }
        let lab = EphemeralLab::up(&LabSpec::unique("wlrx", 1)).unwrap();
        Some(Rig { lab })
    }

    fn port(&self, side: Side) -> PortName {
        self.lab.port(0, side).unwrap()
    }

    /// A receiver on the tester's side, when it listens.
    fn receiving(&self, args: &[&str]) -> Child {
        let port = self.port(Side::Tester);
        let child = Command::new(env!("CARGO_BIN_EXE_wirelab"))
            .args(["receive", &port.to_string(), "--idle", "1s"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !listens(&port) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{args:?}");
            sleep(Duration::from_millis(10));
        }
        // Its first look at the link follows.
        sleep(Duration::from_millis(200));
        child
    }

    fn send(&self, args: &[&str]) {
        let (from, to) = (
            self.port(Side::Node).to_string(),
            self.lab.mac(0, Side::Tester),
        );
        let output = wirelab(&[&["send", &from, "--to", &to.to_string()], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    }

    /// Frames that nobody wants, then the flow, of which nothing is lost.
    fn send_all(&self) {
        let (unwanted, sent) = (UNWANTED.to_string(), SENT.to_string());
        self.send(&["--frame", "128", "--stream", "1", "--frames", &unwanted]);
        self.send(&["--frame", "128", "--frames", &sent]);
    }

    fn link(&self, state: &str) {
        let port = self.port(Side::Node);
        let namespace = port.namespace.as_deref().unwrap();
        let status = Command::new("ip")
            .args([
                "-n",
                namespace,
                "link",
                "set",
                "dev",
                &port.interface,
                state,
            ])
            .status()
            .unwrap();
        assert!(status.success());
    }
}

/// Whether a checker of either path is on the port.
fn listens(port: &PortName) -> bool {
    let sockets = || std::fs::read_to_string("/proc/thread-self/net/packet").unwrap();
    let netns: NetNs = port.netns().unwrap();
    let sockets = netns.run_in(sockets).unwrap();
    // The columns Iface and R (packet(7), net/packet/af_packet.c).
    let runs = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[4] != "0" && fields[5] == "1"
    };
    sockets.lines().skip(1).any(runs) || program_on(port).unwrap().is_some()
}

fn ended(child: Child) -> (Option<i32>, Output) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), output)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
}

#[test]
fn what_the_host_dropped_of_a_port_is_said_and_not_called_lost() {
    let Some(rig) = Rig::new() else { return };
    // The sender's word is 100 more than came, which may be among those that the host dropped.
    let child = rig.receiving(&["--path", "xdp", "--sent", "1000"]);
    rig.send_all();
    let (code, output) = ended(child);
    let told = stdout(&output);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("0  lost of 1,000"), "{told}");
    assert!(
        told.contains("100  lost, or dropped by this host before they were checked"),
        "{told}"
    );

    let child = rig.receiving(&["--path", "xdp", "--sent", "1000", "--json"]);
    rig.send_all();
    let (code, output) = ended(child);
    let told = json(&output);
    assert_eq!(code, Some(1), "{told:#}");
    assert_eq!(told["counts"]["lost_or_missed_frames"], 100, "{told:#}");
    assert_eq!(told["checker_missed_frames"], 0);
    let at_most = told["checker_missed_frames_at_most"].as_u64().unwrap();
    assert!(at_most >= UNWANTED, "{told:#}");
}

#[test]
fn drops_end_with_1_unless_all_frames_are_known_to_have_come() {
    let Some(rig) = Rig::new() else { return };
    let child = rig.receiving(&["--path", "xdp"]);
    rig.send_all();
    let (code, output) = ended(child);
    let told = stdout(&output);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("at most dropped by this host"), "{told}");

    let child = rig.receiving(&["--path", "xdp", "--sent", &SENT.to_string()]);
    rig.send_all();
    let (code, output) = ended(child);
    assert_eq!(code, Some(0), "{}", stdout(&output));
}

#[test]
fn a_receiver_that_was_stopped_names_its_hold_and_its_drops() {
    let Some(rig) = Rig::new() else { return };
    // More than the ring holds.
    let sent = 120_000;
    let text = sent.to_string();
    let child = rig.receiving(&["--path", "packet", "--sent", &text, "--json"]);
    let pid = Pid::from_raw(child.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    rig.send(&["--frame", "1518", "--frames", &text]);
    kill(pid, Signal::SIGCONT).unwrap();
    let (code, output) = ended(child);
    let told = json(&output);
    assert_eq!(code, Some(1), "{told:#}");
    let count = |name: &str| told["counts"][name].as_u64().unwrap_or(0);
    let unseen = count("missed_frames") + count("lost_or_missed_frames");
    assert!(unseen > 0 && count("lost_frames") == 0, "{told:#}");
    assert_eq!(count("good_frames") + unseen, sent, "{told:#}");
    assert!(told["checker_held_up_ns"].as_u64() > Some(50_000_000));
}

#[test]
fn a_link_that_went_down_meanwhile_is_named() {
    let Some(rig) = Rig::new() else { return };
    for (path, sent) in [("xdp", None), ("packet", None), ("xdp", Some("1000"))] {
        let args = sent.map(|sent| ["--sent", sent]).into_iter().flatten();
        let args: Vec<&str> = ["--path", path].into_iter().chain(args).collect();
        let child = rig.receiving(&args);
        rig.send(&["--frame", "128", "--frames", "900"]);
        rig.link("down");
        sleep(Duration::from_millis(100));
        rig.link("up");
        let (code, output) = ended(child);
        let told = stdout(&output);
        assert_eq!(code, Some(1), "{path}: {told}");
        assert!(told.contains("the carrier changed"), "{path}: {told}");
    }
}
