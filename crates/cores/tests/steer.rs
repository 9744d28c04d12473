//! Steering in a lab: masks are set and restored, and the receive work of veth moves to the given core.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{skip, two_cores};
use wirelab_cores::steer::masks;
use wirelab_cores::{Cores, Steering, pin_thread};
use wirelab_port::lab::{EphemeralLab, Lab, LabSpec, Side};

fn lab() -> Option<EphemeralLab> {
    match wirelab_port::netns::probe() {
        Ok(()) => Some(EphemeralLab::up(&LabSpec::unique("wlc", 1)).unwrap()),
        Err(error) if error.is_privilege() => {
            skip("root", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn in_lab<T: Send>(lab: &EphemeralLab, side: Side, work: impl FnOnce() -> T + Send) -> T {
    lab.netns(side).unwrap().run_in(work).unwrap()
}

/// Packets whose receive work a core did (the first column of softnet_stat).
fn worked_on(core: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    // The thirteenth column is the core's number.
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let line = text.lines().find_map(|line| {
        let columns: Vec<u64> = line.split_whitespace().map(hex).collect();
        (columns[12] == core as u64).then_some(columns[0])
    });
    line.unwrap()
}

#[test]
fn masks_are_set_in_the_namespace_and_restored_on_drop() {
    let Some(lab) = lab() else { return };
    let core: Cores = "0".parse().unwrap();
    let before = in_lab(&lab, Side::Node, || masks("n0").unwrap());
    let steering = in_lab(&lab, Side::Node, || Steering::to("n0", &core).unwrap());
    assert_eq!(steering.queues(), before.len());
    let during = in_lab(&lab, Side::Node, || masks("n0").unwrap());
    assert!(
        during.iter().all(|m| m.trim_start_matches('0') == "1"),
        "{during:?}"
    );
    let unknown = in_lab(&lab, Side::Tester, || {
        Steering::to("n0", &core).unwrap_err()
    });
    assert!(unknown.to_string().contains("n0"), "{unknown}");
    drop(steering);
    assert_eq!(in_lab(&lab, Side::Node, || masks("n0").unwrap()), before);
}

/// Let a process steer and kill it before it can restore; returns the masks that it set. From then on any operation
/// on labs may restore them.
fn killed_while_steering(lab: &EphemeralLab, test: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("steer::{test}"), "--nocapture"])
        .env(TOLD, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = lab.netns(Side::Node).unwrap().spawn(&mut command).unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let set = said.find_map(|line| Some(line.unwrap().strip_prefix("steered ")?.to_owned()));
    child.kill().unwrap();
    child.wait().unwrap();
    set.expect("it steers")
}

/// The variable that makes a process of a test steer.
const TOLD: &str = "WIRELAB_TEST_STEER";

/// Whether this is a process of a test that steers, until it is killed.
fn steers() -> bool {
    let told = std::env::var_os(TOLD).is_some();
    if told {
        let _steering = Steering::to("n0", &"0".parse().unwrap()).unwrap();
        println!("\nsteered {:?}", masks("n0").unwrap());
        std::thread::sleep(Duration::from_secs(600));
    }
    told
}

#[test]
fn what_a_killed_process_steered_is_put_back_by_the_next_one() {
    const TEST: &str = "what_a_killed_process_steered_is_put_back_by_the_next_one";
    if steers() {
        return;
    }
    let core: Cores = "0".parse().unwrap();
    let Some(lab) = lab() else { return };
    let read = || in_lab(&lab, Side::Node, || masks("n0").unwrap());
    let before = read();
    assert_ne!(killed_while_steering(&lab, TEST), format!("{before:?}"));
    // Its own value is not the one it found, but the one before the other process.
    drop(in_lab(&lab, Side::Node, || {
        Steering::to("n0", &core).unwrap()
    }));
    assert_eq!(read(), before);
    killed_while_steering(&lab, TEST);
    in_lab(&lab, Side::Node, || wirelab_cores::restore_left().unwrap());
    assert_eq!(read(), before);
}

#[test]
fn what_a_killed_process_steered_in_a_lab_is_put_back_by_any_operation_on_labs() {
    const TEST: &str =
        "what_a_killed_process_steered_in_a_lab_is_put_back_by_any_operation_on_labs";
    if steers() {
        return;
    }
    let Some(lab) = lab() else { return };
    let read = || in_lab(&lab, Side::Node, || masks("n0").unwrap());
    let before = read();
    assert_ne!(killed_while_steering(&lab, TEST), format!("{before:?}"));
    // It concerns no lab in particular, and this process is in another namespace.
    Lab::status().unwrap();
    assert_eq!(read(), before);
}

#[test]
fn a_steering_outlives_its_interface() {
    let Some(lab) = lab() else { return };
    let core: Cores = "0".parse().unwrap();
    let steering = in_lab(&lab, Side::Node, || Steering::to("n0", &core).unwrap());
    lab.down().unwrap();
    drop(steering);
}

#[test]
fn receive_work_goes_from_the_senders_core_to_the_one_requested() {
    const DATAGRAMS: u64 = 1000;
    let Some((tester, node)) = two_cores() else {
        return;
    };
    let Some(lab) = lab() else { return };
    let core = node.numbers()[0];
    let to = (lab.address(0, Side::Node), 5003);
    let receiver = in_lab(&lab, Side::Node, || UdpSocket::bind(to).unwrap());
    let send = || {
        pin_thread(&tester).unwrap();
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for _ in 0..DATAGRAMS {
            socket.send_to(&[0; 64], to).unwrap();
        }
    };
    let steering = in_lab(&lab, Side::Node, || Steering::to("n0", &node).unwrap());
    let before = worked_on(core);
    in_lab(&lab, Side::Tester, send);
    let moved = worked_on(core) - before;
    // A full backlog of the other core may drop a few.
    assert!(
        moved >= DATAGRAMS / 2,
        "{moved} of {DATAGRAMS} went to core {core}"
    );
    drop((steering, receiver));
}
