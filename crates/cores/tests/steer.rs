//! Steering in a lab: masks are set and restored, and the receive work of veth goes where it is told.

mod common;

use std::net::UdpSocket;

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
