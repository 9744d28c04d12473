//! Steering in a lab: masks are set and restored, and the receive work of veth goes where it is told.

mod common;

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{skip, two_cores};
use wirelab_cores::steer::masks;
use wirelab_cores::{Cores, Steering, pin_thread};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};

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

/// Packets that a core did the receive work of (the first column of softnet_stat).
fn worked_on(core: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    // The thirteenth column says which core a line is of.
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

/// A process that steers, and is killed before it can put anything back.
fn killed_while_steering(lab: &EphemeralLab) {
    const TEST: &str = "what_a_killed_process_steered_is_put_back_by_the_next_one";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", TEST, "--nocapture"])
        .env("WIRELAB_TEST_STEER", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = lab.netns(Side::Node).unwrap().spawn(&mut command).unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    assert!(said.lines().any(|line| line.unwrap().contains("steered")));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_killed_process_steered_is_put_back_by_the_next_one() {
    let core: Cores = "0".parse().unwrap();
    if std::env::var_os("WIRELAB_TEST_STEER").is_some() {
        let _steering = Steering::to("n0", &core).unwrap();
        println!("steered");
        std::thread::sleep(Duration::from_secs(600));
        return;
    }
    let Some(lab) = lab() else { return };
    let read = || in_lab(&lab, Side::Node, || masks("n0").unwrap());
    let before = read();
    killed_while_steering(&lab);
    assert_ne!(read(), before, "it was killed before it put anything back");
    // Its own value is not what it found, but what was there before the other.
    drop(in_lab(&lab, Side::Node, || {
        Steering::to("n0", &core).unwrap()
    }));
    assert_eq!(read(), before);
    killed_while_steering(&lab);
    in_lab(&lab, Side::Node, || wirelab_cores::restore_left().unwrap());
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
fn receive_work_goes_from_the_senders_core_to_the_one_that_was_told() {
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
    // A full backlog of the other core may cost a few.
    assert!(
        moved >= DATAGRAMS / 2,
        "{moved} of {DATAGRAMS} went to core {core}"
    );
    drop((steering, receiver));
}
