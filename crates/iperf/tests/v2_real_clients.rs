//! The distribution's iperf 2 as client, against our server.

use wirelab_iperf::v2::{Generation, Leg, Rate, ServerConfig};

use crate::v2_common::{Ours, free_port, has_iperf, lost_and_total, real_client};

fn udp(args: &str, legs: usize) -> Option<(String, Vec<Leg>)> {
    run(args, legs, true)
}

fn run(args: &str, legs: usize, udp: bool) -> Option<(String, Vec<Leg>)> {
    if !has_iperf() {
        return None;
    }
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let port = match udp {
        true => ours.server.udp_address().port(),
        false => ours.server.tcp_address().port(),
    };
    let text = real_client(port, args);
    let (legs, _) = ours.legs(legs);
    let legs = legs.into_iter().map(|(leg, trouble)| {
        assert!(trouble.is_none(), "{trouble:?}\n{text}");
        leg
    });
    let legs = legs.collect();
    Some((text, legs))
}

#[test]
fn udp_forward_gets_its_report() {
    let Some((text, legs)) = udp("-u -t 0.5 -l 500 -b 2M", 1) else {
        return;
    };
    let [Leg::UdpReceived(udp)] = &legs[..] else {
        panic!("{legs:?}");
    };
    assert_eq!(udp.generation, Generation::Wide);
    assert!(udp.finished && udp.jitter_ps.is_some());
    assert_eq!((udp.received.lost, udp.received.duplicated), (0, 0));
    assert!(text.contains("Server Report:"), "{text}");
    assert!(!text.contains("WARN"), "{text}");
    let (lost, total) = lost_and_total(&text);
    assert_eq!(lost, 0);
    assert_eq!(
        total,
        udp.received.sent() + 1,
        "iperf counts the final datagram"
    );
}

#[test]
fn udp_short_datagrams_and_trip_times() {
    let Some((text, legs)) = udp("-u -n 20000 -l 64 -b 5M", 1) else {
        return;
    };
    let [Leg::UdpReceived(plain)] = &legs[..] else {
        panic!("{legs:?}");
    };
    assert_eq!(plain.generation, Generation::Wide);
    assert_eq!(lost_and_total(&text), (0, plain.received.sent() + 1));
    let Some((text, legs)) = udp("-u -n 20000 -l 64 -b 5M --trip-times", 1) else {
        return;
    };
    let [Leg::UdpReceived(short)] = &legs[..] else {
        panic!("{legs:?}");
    };
    assert_eq!(short.generation, Generation::SmallTripTimes);
    assert!(text.contains("Server Report:"), "{text}");
    assert_eq!(short.received.lost, 0);
}

#[test]
fn udp_there_and_back() {
    for (mode, amount) in [("-r", "-n 30000"), ("-d", "-t 0.5")] {
        let port = free_port();
        let Some((text, legs)) = udp(&format!("-u -b 2M -l 600 {amount} {mode} -L {port}"), 2)
        else {
            return;
        };
        let received = legs.iter().find_map(|leg| match leg {
            Leg::UdpReceived(udp) => Some(udp),
            _ => None,
        });
        let sent = legs.iter().find_map(|leg| match leg {
            Leg::UdpSent(sent) => Some(sent),
            _ => None,
        });
        let (received, sent) = (received.unwrap(), sent.unwrap());
        assert_eq!(received.received.lost, 0, "{mode}\n{text}");
        let report = sent
            .report
            .unwrap_or_else(|| panic!("{mode}: no report\n{text}"));
        assert_eq!(report.lost, 0, "{mode}\n{text}");
        assert_eq!(report.datagrams, sent.datagrams + 1, "{mode}\n{text}");
        assert!(
            sent.datagrams >= 20,
            "{mode}: the requested amount and rate"
        );
    }
}

#[test]
fn udp_reverse_on_the_same_socket() {
    let Some((text, legs)) = udp("-u -t 0.5 -b 2M -l 600 -R", 1) else {
        return;
    };
    let [Leg::UdpSent(sent)] = &legs[..] else {
        panic!("{legs:?}");
    };
    let (lost, total) = lost_and_total(&text);
    assert_eq!(lost, 0, "{text}");
    assert!(
        total.abs_diff(sent.datagrams) <= 1,
        "{total}, {}",
        sent.datagrams
    );
}

#[test]
fn tcp_forward_to_the_byte() {
    for args in ["-n 3M", "-n 3M -X", "-n 3M -l 1000", "-n 3M -e"] {
        let Some((text, legs)) = run(args, 1, false) else {
            return;
        };
        let [Leg::TcpReceived { bytes, .. }] = &legs[..] else {
            panic!("{legs:?}");
        };
        // The header comes before the amount or is part of it, and the last write is whole.
        assert!(
            (3 << 20..(3 << 20) + 1100).contains(bytes),
            "{args}: {bytes}\n{text}"
        );
        assert!(text.contains("3.00 MBytes"), "{text}");
    }
}

#[test]
fn tcp_there_and_back() {
    for mode in ["-r", "-d"] {
        let port = free_port();
        let Some((text, legs)) = run(&format!("-n 3M {mode} -L {port}"), 2, false) else {
            return;
        };
        let sent = legs.iter().find_map(|leg| match leg {
            Leg::TcpSent { bytes, .. } => Some(*bytes),
            _ => None,
        });
        let received = legs
            .iter()
            .any(|leg| matches!(leg, Leg::TcpReceived { .. }));
        assert_eq!((sent, received), (Some(3 << 20), true), "{mode}\n{text}");
    }
}

#[test]
fn tcp_on_the_same_socket() {
    for (mode, count) in [("-R", 1), ("--full-duplex", 2)] {
        let Some((text, legs)) = run(&format!("-t 0.5 -b 20M {mode}"), count, false) else {
            return;
        };
        let sent = legs.iter().find_map(|leg| match leg {
            Leg::TcpSent { bytes, .. } => Some(*bytes),
            _ => None,
        });
        assert!(
            sent.is_some_and(|bytes| bytes > 500_000),
            "{mode}: {sent:?}\n{text}"
        );
    }
}

#[test]
fn tcp_in_parallel() {
    let Some((text, legs)) = run("-n 1M -P 4", 4, false) else {
        return;
    };
    assert!(
        legs.iter()
            .all(|leg| matches!(leg, Leg::TcpReceived { .. }))
    );
    assert!(text.contains("[SUM]"), "{text}");
}

#[test]
fn the_rate_that_was_asked_is_the_rate_that_comes_back() {
    // 50 pps of 100 bytes: sent as bits.
    let port = free_port();
    let Some((text, legs)) = udp(&format!("-u -t 1 -b 40000 -l 100 -r -L {port}"), 2) else {
        return;
    };
    let Some(Leg::UdpSent(sent)) = legs.last() else {
        panic!("{legs:?}\n{text}");
    };
    let asked = Rate::BitsPerS(40_000).interval_ps(100).unwrap() / 1000;
    assert_eq!(asked, 20_000_000);
    assert_eq!(sent.gaps.count + 1, sent.datagrams);
    assert!(
        sent.datagrams <= 51,
        "never more than requested: {}",
        sent.datagrams
    );
}
