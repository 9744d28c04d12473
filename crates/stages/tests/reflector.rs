//! The reflector in a lab: every test frame returns once and complete, and other traffic is not affected.

use std::time::{Duration, Instant};

use crate::common::lab;
use crate::common::rig::Rig;
use wirelab_port::job::{CheckJob, CheckReport};
use wirelab_port::xdp::{Checker, CheckerOptions};
use wirelab_stages::{NodeOptions, Reflect, Reflector, Xdp};
use wirelab_wire::rule::FixedList;
use wirelab_wire::{Flags, Flow, FrameSpec, Header, header};

fn reflect(ports: &[u16]) -> Reflect {
    Reflect {
        ethernet: true,
        udp_ports: FixedList::of(ports).unwrap(),
        ..Reflect::default()
    }
}

fn checker(rig: &Rig, udp_port: u16, pass: bool) -> Checker {
    let check = CheckJob {
        flow: Flow {
            source: Some(rig.ethernet().destination),
            udp_port,
            stream: None,
            dscp: None,
        },
        slots: None,
        time_every: 1,
    };
    let options = CheckerOptions {
        pass,
        ..CheckerOptions::default()
    };
    Checker::attach(&rig.tester, check, options).unwrap()
}

/// Sends a burst and returns its report. A burst is less than the 256 frames that a veth's ring holds, so that a slow
/// machine loses none.
fn burst(rig: &Rig, spec: &FrameSpec, checker: &Checker) -> CheckReport {
    checker.reset();
    let sent = rig.send(spec, BURST, Some(100_000.0));
    let began = Instant::now();
    while checker.received() < sent.emitted_frames && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    checker.report().with_sent(sent.sequences)
}

const BURST: u64 = 200;

#[test]
fn every_test_frame_comes_back_once_and_whole() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let reflector = Reflector::attach(&rig.node, &reflect(&[5003]), Xdp::Native, None).unwrap();
    let mut sent = 0;
    // The reply goes to the frame's source port.
    for (spec, back) in [(rig.ethernet(), 5003), (rig.udp(5003), 4000)] {
        let checker = checker(&rig, back, false);
        for _ in 0..10 {
            let seen = burst(&rig, &spec, &checker);
            assert!(seen.counts.is_clean(), "{:?}", seen.counts);
            assert_eq!(seen.counts.good_frames, BURST);
            sent += BURST;
            assert_eq!(reflector.counters().reflected, sent);
        }
    }
    assert_eq!(reflector.counters().not_reflected, 0);
}

#[test]
fn a_socket_gets_its_echo_with_right_checksums_and_other_ports_stay_the_stacks() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let reflector = Reflector::attach(&rig.node, &reflect(&[5003]), Xdp::Native, None).unwrap();
    // Frames sent by XDP arrive only if the other end has XDP too.
    let _open = checker(&rig, 9, true);
    let socket = rig.tester_socket(5003);
    let mut datagram = [0; header::LEN];
    let test = Header {
        flags: Flags::NONE,
        stream: 0,
        sequence: 5,
        time_ns: 0,
        lfsr_len: 0,
    };
    test.emit(&mut datagram);
    for _ in 0..20 {
        socket.send(&datagram).unwrap();
        let mut back = [0; 64];
        assert_eq!(socket.recv(&mut back).unwrap(), header::LEN);
        assert_eq!(back[..header::LEN], datagram);
    }
    assert_eq!(reflector.counters().reflected, 20);
    let (other, stack) = (rig.tester_socket(5004), rig.node_socket(5004));
    other.send(&datagram).unwrap();
    assert_eq!(stack.recv(&mut [0; 64]).unwrap(), header::LEN);
    assert_eq!(reflector.counters().reflected, 20);
}

#[test]
fn a_reflector_of_nothing_is_refused() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let nothing = Reflector::attach(&rig.node, &Reflect::default(), Xdp::Auto, None);
    let said = nothing.err().unwrap().to_string();
    assert!(said.contains("nothing to reflect"), "{said}");
    assert_eq!(NodeOptions::default().reflect, None);
}
