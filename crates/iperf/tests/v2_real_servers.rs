//! The distribution's iperf 2 as server, against our client.

use std::time::Duration;

use wirelab_iperf::v2::{Amount, ClientConfig, Generation, Leg, Mode, Protocol, Rate};

use crate::v2_common::{Real, has_iperf, our_client, time};

/// Flows of iperf 2.1.8 that are over within some ms corrupt its server's heap, or stall it: 6 of 458 runs on a busy
/// host, "malloc(): unsorted double linked list corrupted"; 0 of 218 at this rate.
const NOT_AT_ONCE: Rate = Rate::BitsPerS(100_000_000);

fn run(protocol: Protocol, change: impl FnOnce(&mut ClientConfig)) -> Option<Vec<Leg>> {
    if !has_iperf() {
        return None;
    }
    let real = Real::server(protocol == Protocol::Udp);
    let mut config = ClientConfig::new(real.address, protocol);
    config.amount = time(50);
    change(&mut config);
    let (outcome, _) = our_client(&config);
    assert!(outcome.trouble.is_none(), "{:?}", outcome.trouble);
    Some(outcome.legs.into_iter().map(|(_, leg)| leg).collect())
}

fn udp_legs(mode: Mode) -> Option<Vec<Leg>> {
    run(Protocol::Udp, |config| {
        config.mode = mode;
        config.rate = Rate::BitsPerS(2 << 20);
        config.length_bytes = Some(600);
    })
}

#[test]
fn udp_forward_gets_the_report() {
    for length in [64, 1470] {
        let Some(legs) = run(Protocol::Udp, |config| config.length_bytes = Some(length)) else {
            return;
        };
        let [Leg::UdpSent(sent)] = &legs[..] else {
            panic!("{legs:?}");
        };
        let report = sent.report.expect("a report");
        assert_eq!((report.lost, report.out_of_order), (0, 0));
        assert_eq!(report.datagrams, sent.datagrams + 1);
        assert_eq!(report.bytes, sent.bytes + u64::from(length));
    }
}

#[test]
fn udp_without_a_header() {
    let Some(legs) = run(Protocol::Udp, |config| config.generation = Generation::Bare) else {
        return;
    };
    let [Leg::UdpSent(sent)] = &legs[..] else {
        panic!("{legs:?}");
    };
    assert_eq!(sent.report.expect("a report").lost, 0);
}

#[test]
fn udp_there_and_back() {
    for mode in [Mode::Tradeoff, Mode::Dual] {
        let Some(legs) = udp_legs(mode) else {
            return;
        };
        let report = legs.iter().find_map(|leg| match leg {
            Leg::UdpSent(sent) => sent.report,
            _ => None,
        });
        assert_eq!(
            report.map(|report| report.lost),
            Some(0),
            "{mode:?}: {legs:?}"
        );
        let back = legs.iter().find_map(|leg| match leg {
            Leg::UdpReceived(udp) => Some(udp),
            _ => None,
        });
        let back = back.unwrap_or_else(|| panic!("{mode:?}: {legs:?}"));
        assert!(
            back.finished && back.received.lost == 0,
            "{mode:?}: {back:?}"
        );
        // 2 Mibit/s in datagrams of 600 bytes for half a second.
        assert!(
            (150..=260).contains(&back.received.sent()),
            "{mode:?}: {back:?}"
        );
    }
}

#[test]
fn udp_reverse_on_the_same_socket() {
    let Some(legs) = udp_legs(Mode::Reverse) else {
        return;
    };
    let [Leg::UdpReceived(back)] = &legs[..] else {
        panic!("{legs:?}");
    };
    assert!(back.finished && back.received.lost == 0, "{back:?}");
    assert!((150..=260).contains(&back.received.sent()), "{back:?}");
}

#[test]
fn tcp_forward_and_its_lines() {
    if !has_iperf() {
        return;
    }
    let real = Real::server(false);
    let mut config = ClientConfig::new(real.address, Protocol::Tcp);
    config.amount = time(55);
    config.interval = Duration::from_millis(100);
    let (outcome, rows) = our_client(&config);
    assert!(outcome.trouble.is_none(), "{:?}", outcome.trouble);
    assert!(rows.len() >= 5, "{rows:?}");
    let [(_, Leg::TcpSent { bytes, .. })] = outcome.legs[..] else {
        panic!("{:?}", outcome.legs);
    };
    assert!(rows.iter().map(|row| row.bytes).sum::<u64>() <= bytes);
}

#[test]
fn tcp_there_and_back() {
    for mode in [Mode::Tradeoff, Mode::Dual, Mode::Reverse, Mode::FullDuplex] {
        let Some(legs) = run(Protocol::Tcp, |config| {
            config.mode = mode;
            config.amount = Amount::Bytes(4 << 20);
            config.rate = NOT_AT_ONCE;
        }) else {
            return;
        };
        let received = legs.iter().find_map(|leg| match leg {
            Leg::TcpReceived { bytes, .. } => Some(*bytes),
            _ => None,
        });
        assert!(
            received.is_some_and(|bytes| bytes >= 4 << 20),
            "{mode:?}: {legs:?}"
        );
        let sent = legs.iter().find_map(|leg| match leg {
            Leg::TcpSent { bytes, .. } => Some(*bytes),
            _ => None,
        });
        let wanted = (mode != Mode::Reverse).then_some(4 << 20);
        assert_eq!(sent, wanted, "{mode:?}");
    }
}

#[test]
fn tcp_in_parallel() {
    let Some(legs) = run(Protocol::Tcp, |config| {
        config.streams = 3;
        config.amount = Amount::Bytes(4 << 20);
        config.rate = NOT_AT_ONCE;
    }) else {
        return;
    };
    assert_eq!(legs.len(), 3);
}
