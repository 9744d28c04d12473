//! A sender that its host holds up catches up in a burst, and with `--strict-gaps` does not: asked at the command line, of
//! `wirelab measure` and of both clients of `wirelab iperf`.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::stderr;
use crate::iperf_common::Ours;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Packets/s.
const LOAD: u64 = 5_000;
/// How long the process stands still, several times: much longer than ten intervals, and shorter than what a sender catches up
/// with.
const HOLD: Duration = Duration::from_millis(60);
/// Bytes of a datagram of iperf.
const DATAGRAM: u64 = 64;

/// The JSON of a command of trials of 4 s that stood still again and again.
fn held_up(args: &[&str], strict: bool) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(args)
        .args(strict.then_some("--strict-gaps"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let pid = Pid::from_raw(child.id() as i32);
    // A full pipe would block it forever.
    let mut pipe = child.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text)
    });
    // Until its end: a trial that missed its rate is repeated.
    while child.try_wait().expect("it is ours").is_none() {
        sleep(Duration::from_millis(700));
        kill(pid, Signal::SIGSTOP).expect("it is not waited for yet");
        sleep(HOLD);
        kill(pid, Signal::SIGCONT).expect("it is not waited for yet");
    }
    let output = child.wait_with_output().expect("it ends");
    let text = reader.join().expect("it reads").expect("it is text");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
}

/// The longest burst and the slips of a sender, at those places of its JSON, without and with strict gaps.
fn judge(args: &[&str], [burst, slips]: [&str; 2]) {
    let due_in_a_hold = LOAD * HOLD.as_millis() as u64 / 1000;
    let count = |file: &Value, place: &str| {
        let count = file.pointer(place).and_then(Value::as_u64);
        count.unwrap_or_else(|| panic!("{place}: {file:#}"))
    };
    let caught_up = held_up(args, false);
    assert!(
        count(&caught_up, burst) >= due_in_a_hold * 9 / 10,
        "{caught_up:#}"
    );
    let strict = held_up(args, true);
    assert!(count(&strict, burst) <= 12, "{strict:#}");
    assert!(count(&strict, slips) > 0, "{strict:#}");
}

#[test]
fn a_trial_makes_up_for_a_hold_in_a_burst_and_with_strict_gaps_does_not() {
    let load = LOAD.to_string() + "pps";
    let mut args = vec!["measure", "lab:1", "--path", "packet", "--length", "60"];
    args.extend(["--load", &load, "--time", "4s", "--no-ceiling", "--json"]);
    let sender = "/observations/0/flows/0/sender/value";
    judge(
        &args,
        [
            &format!("{sender}/longest_burst_frames/value"),
            &format!("{sender}/slips/value"),
        ],
    );
}

#[test]
fn so_does_a_client_of_iperf_2() {
    let server = Ours::start(&[]);
    let (port, rate) = (&server.udp, (LOAD * DATAGRAM * 8).to_string());
    let mut args = vec!["iperf", "-c", "127.0.0.1", "-p", port, "-u", "-J"];
    args.extend(["-l", "64", "-b", &rate, "-t", "4"]);
    judge(&args, ["/legs/0/longest_burst_datagrams", "/legs/0/slips"]);
}

#[test]
fn so_does_a_client_of_iperf3() {
    let server = Ours::start(&["--iperf3"]);
    let (port, rate) = (&server.tcp, (LOAD * DATAGRAM * 8).to_string());
    let mut args = vec!["iperf", "--iperf3", "-c", "127.0.0.1", "-p", port, "-u"];
    args.extend(["-J", "-l", "64", "-b", &rate, "-t", "4"]);
    let stream = "/end/wirelab/streams/0";
    judge(
        &args,
        [
            &format!("{stream}/longest_burst"),
            &format!("{stream}/sender_slips"),
        ],
    );
}
