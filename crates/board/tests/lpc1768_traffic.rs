//! The emulated LPC1768 with its real firmware as a node: reception, echo, bad frames, and what it refuses.

use crate::common;
use crate::common::lpc1768::{board, run, trial};
use wirelab_board::lpc1768::Lpc1768Options;
use wirelab_trial::{
    Buffers, Cancel, ClockKind, Direction, FaultRates, Framing, Load, Node, NodeError, Status,
    Trial, TrialField, TrialOption,
};

#[test]
fn what_is_sent_to_it_is_counted_with_every_fault_that_was_made() {
    let Some(mut node) = board(&Lpc1768Options::default()) else {
        return;
    };
    let asked = Trial {
        load: Load::FrameRate {
            frames_per_s: 2000.0,
        },
        faults: FaultRates {
            drop: 0.1,
            duplicate: 0.1,
            swap: 0.1,
            corrupt: 0.1,
            stale: 0.1,
            seed: 7,
            ..FaultRates::default()
        },
        ..trial(Direction::Receive, 100, 200)
    };
    let seen = run(&mut node, &asked);
    let flow = &seen.flows[0];
    let ledger = flow.sender.value().unwrap().ledger.unwrap();
    let counts = flow.counts.value().unwrap();
    assert!(ledger.dropped_frames > 0 && ledger.corrupted_frames > 0);
    assert_eq!(ledger.differences(counts), []);
    assert_eq!(counts.check_identity(100), Ok(()));
}

#[test]
fn reception_keeps_up_at_line_rate_for_long_frames_and_says_where_it_does_not() {
    let Some(mut node) = board(&Lpc1768Options::default()) else {
        return;
    };
    for (length, share) in [(1514, 50.0), (1514, 100.0), (60, 100.0)] {
        let asked = Trial {
            load: Load::LinkShare { percent: share },
            ..trial(Direction::Receive, 200, length)
        };
        let seen = run(&mut node, &asked);
        let counts = seen.flows[0].counts.value().unwrap();
        assert_eq!(counts.good_frames, counts.received_frames);
        assert_eq!(counts.check_identity(200), Ok(()));
        let elapsed = seen.flows[0].elapsed.value().unwrap();
        assert_eq!(elapsed.clock, ClockKind::Simulated);
        let link = *seen.flows[0].link_bits_per_s.value().unwrap();
        assert!(
            link <= 100.001e6,
            "{length}: {link} bit/s is more than the link has"
        );
        if (length, share) == (1514, 50.0) {
            assert_eq!(counts.lost_frames, 0, "{length} at {share} %");
        }
    }
}

#[test]
fn an_echo_brings_every_frame_back_with_its_latency() {
    let Some(mut node) = board(&Lpc1768Options::default()) else {
        return;
    };
    let asked = Trial {
        load: Load::FrameRate {
            frames_per_s: 1000.0,
        },
        ..trial(Direction::Echo, 50, 256)
    };
    let seen = run(&mut node, &asked);
    let flow = &seen.flows[0];
    let counts = flow.counts.value().unwrap();
    assert!(counts.is_clean(), "{counts:?}");
    assert_eq!(counts.received_frames, 50);
    let latency = flow.series.iter().find(|s| s.name == "latency").unwrap();
    assert_eq!(latency.clock.kind, ClockKind::Simulated);
    assert_eq!(latency.histogram.count, 50);
    // The firmware checks a frame before it sends it back: some µs, and never before it had come.
    let (least, most) = (latency.histogram.min_ticks, latency.histogram.max_ticks);
    assert!(least > 1_000 && most < 200_000, "{least} to {most} ns");
}

#[test]
fn both_directions_at_once() {
    let Some(mut node) = board(&Lpc1768Options::default()) else {
        return;
    };
    let asked = Trial {
        load: Load::LinkShare { percent: 20.0 },
        buffers: Some(Buffers::Copied),
        ..trial(Direction::Both, 40, 512)
    };
    let seen = run(&mut node, &asked);
    assert_eq!(seen.status, Status::Complete);
    let ways: Vec<Direction> = seen.flows.iter().map(|flow| flow.direction).collect();
    assert_eq!(ways, [Direction::Receive, Direction::Transmit]);
    for flow in &seen.flows {
        assert_eq!(
            flow.counts.value().unwrap().good_frames,
            40,
            "{}",
            flow.direction
        );
    }
}

#[test]
fn bad_fcs_runts_and_giants_are_reported_as_the_mac_does() {
    use wirelab_emulator::emac::Arrival;
    let Some(mut node) = board(&Lpc1768Options::default()) else {
        return;
    };
    let own = node.board().emac(|emac| emac.address());
    let frame = |length: usize| {
        let mut bytes = vec![0; length];
        bytes[..6].copy_from_slice(&own);
        bytes
    };
    // They come when the trial runs, in front of its own frames.
    let mut start_ps = node.board().time_ps() + 200_000_000_000;
    for (length, wrong) in [
        (60, 1),
        (200, 1),
        (1514, 1),
        (20, 0),
        (40, 0),
        (1700, 0),
        (2000, 0),
    ] {
        let bytes = frame(length);
        let mut bytes = wirelab_emulator::fcs::with_fcs(&bytes);
        bytes[length] ^= wrong;
        let arrival = Arrival {
            start_ps,
            bytes,
            ..Arrival::default()
        };
        node.board().arrive(arrival).unwrap();
        start_ps = node.board().emac(|emac| emac.wire_free_ps()) + 960_000;
    }
    let asked = Trial {
        load: Load::FrameRate {
            frames_per_s: 1000.0,
        },
        ..trial(Direction::Receive, 20, 300)
    };
    let seen = run(&mut node, &asked);
    let counts = seen.flows[0].counts.value().unwrap();
    assert_eq!((counts.good_frames, counts.received_frames), (20, 20));
    // Three with a wrong FCS, two that are too long; the MAC drops the runts itself.
    assert_eq!(seen.counters["node_mac_error_frames"].value(), Some(&5));
    let received = node.board().received();
    assert_eq!((received.runts, received.bad), (2, 5));
}

#[test]
fn a_pulled_cable_gives_a_reason_and_no_frames() {
    let Some(mut node) = board(&Lpc1768Options::default()) else {
        return;
    };
    let now = node.board().cycle();
    node.board().emac(|emac| emac.phy().set_cable(false, now));
    let refused = node.run(&trial(Direction::Transmit, 50, 1514), &(), &Cancel::new());
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("no link"), "{text}");
    let now = node.board().cycle();
    node.board().emac(|emac| emac.phy().set_cable(true, now));
    // Negotiation takes its time, and the status shows a lost link until it was read.
    let _ = node.run(&trial(Direction::Transmit, 5, 1514), &(), &Cancel::new());
    let seen = run(&mut node, &trial(Direction::Transmit, 5, 1514));
    assert_eq!(seen.status, Status::Complete);
}

#[test]
fn what_the_board_cannot_do_is_named_with_the_fix() {
    let Some(mut node) = board(&Lpc1768Options::default()) else {
        return;
    };
    let plain = trial(Direction::Transmit, 50, 1514);
    let udp = Trial {
        framing: Framing {
            layer: wirelab_trial::Layer::UdpIpv4,
            ..Framing::default()
        },
        ..plain.clone()
    };
    let two = Trial {
        ports: 2,
        ..plain.clone()
    };
    let fast = Trial {
        link_bits_per_s: Some(1_000_000_000),
        ..plain.clone()
    };
    let faulty = Trial {
        faults: FaultRates {
            drop: 0.1,
            ..FaultRates::default()
        },
        ..plain.clone()
    };
    let others = [
        (udp, "layer", "board:zynq7000"),
        (two, "ports", "--ports 1"),
        (fast, "link_bits_per_s", "100 Mbit/s"),
        (faulty, "faults", "receive"),
    ];
    let taken = [
        TrialOption::Link,
        TrialOption::Buffers,
        TrialOption::StrictGaps,
        TrialOption::Faults,
    ];
    let refused = plain.with_each_but(&taken);
    let refused = refused.map(|(field, asked)| (asked, field, "has one path"));
    for (asked, field, words) in others.into_iter().chain(refused) {
        match node.run(&asked, &(), &Cancel::new()) {
            Err(NodeError::Unsupported(no)) => {
                assert_eq!(no.field.map(TrialField::name), Some(field));
                assert!(no.why.contains(words), "{no}");
            }
            other => panic!("{field}: {other:?}"),
        }
    }
    let slow = trial(Direction::Echo, 10, 256);
    let error = node.run(&slow, &(), &Cancel::new()).unwrap_err();
    assert!(error.to_string().contains("--load"), "{error}");
}

#[test]
fn frames_leave_at_any_port_of_this_host() {
    use std::time::Duration;
    use wirelab_port::iface::{Interface, PortName};
    use wirelab_port::netns::NetNs;
    use wirelab_port::tap::{TapPort, TapSpec};
    if !common::can_tap() || !common::has_image("lpc1768") {
        return;
    }
    let name = format!("wlt-lpc-{}", std::process::id());
    NetNs::create(&name).unwrap();
    let _gone = Gone(name.clone());
    let port = PortName::new(Some(&name), "tap0").unwrap();
    let tap = TapPort::create(&TapSpec::new(port.clone())).unwrap();
    common::until("the tap runs", || {
        let found = Interface::query(&port).unwrap();
        (found.up && found.carrier).then_some(())
    });
    let options = Lpc1768Options {
        port: Some(port),
        ..Lpc1768Options::default()
    };
    let mut node = board(&options).unwrap();
    let own = node.board().emac(|emac| emac.address());
    let seen = run(&mut node, &trial(Direction::Transmit, 50, 1514));
    assert_eq!(seen.status, Status::Complete);
    let (mut buffer, mut ours) = ([0; 2048], 0);
    // The host may say something of its own on a new interface.
    while let Some(length) = tap
        .read_frame(&mut buffer, Some(Duration::from_millis(200)))
        .unwrap()
    {
        ours += u32::from(length == 1514 && buffer[6..12] == own);
    }
    assert_eq!(ours, 50);
}

/// Removes a namespace, whatever happens to the test.
struct Gone(String);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = wirelab_port::netns::NetNs::delete(&self.0);
    }
}
