//! The distribution's iperf 2 as client in a lab, against our server: a test for each mode, over IPv4 and IPv6.

use std::time::Duration;

use wirelab_iperf::v2::table::Id;
use wirelab_iperf::v2::{Leg, ServerConfig};

use crate::v2_common::lost_and_total;
use crate::v2_lab_common::{
    IPV4, IPV6, LabSide, csv_bytes, faultless, port, received, sent, sides, sorted,
};

/// What a run of the real client showed.
struct ClientRun {
    /// What it printed.
    text: String,
    /// What our server saw.
    legs: Vec<Leg>,
    rows: Vec<wirelab_iperf::v2::table::Row>,
}

/// Run `iperf -c SERVER ARGS` over both families; our server sees so many legs.
fn over_both(args: &str, legs: usize, check: impl Fn(&ClientRun)) {
    with_server(ServerConfig::default(), args, legs, check);
}

fn with_server(config: ServerConfig, args: &str, legs: usize, check: impl Fn(&ClientRun)) {
    let Some([node, tester]) = sides() else {
        return;
    };
    for family in [IPV4, IPV6] {
        let shown = (0..5).find_map(|_| run(&node, &tester, family, config.clone(), args, legs));
        check(&shown.expect("iperf crashed or hung five times"));
    }
}

fn run(
    node: &LabSide,
    tester: &LabSide,
    family: &str,
    config: ServerConfig,
    args: &str,
    legs: usize,
) -> Option<ClientRun> {
    let ours = node.serve(family, config);
    let server = match args.contains("-u") {
        true => ours.server.udp_address(),
        false => ours.server.tcp_address(),
    };
    let args = args.replace("PORT", &port().to_string());
    let text = tester.real_client(server, &args)?;
    let (shown, rows) = ours.legs(legs);
    Some(ClientRun {
        legs: faultless(shown, &text),
        text,
        rows,
    })
}

const BYTES: u64 = 200 << 10;

/// With `-n 200K -y C`: so many streams in each direction, each of exactly that, at both ends.
fn to_the_byte(args: &str, there: usize, back: usize) {
    over_both(&format!("{args} -n 200K -y C"), there + back, |shown| {
        assert_eq!(received(&shown.legs), vec![BYTES; there], "{}", shown.text);
        assert_eq!(sent(&shown.legs), vec![BYTES; back], "{}", shown.text);
        assert_eq!(
            sorted(csv_bytes(&shown.text).into_iter()),
            vec![BYTES; there + back],
            "{}",
            shown.text
        );
    });
}

#[test]
fn tcp_forward() {
    to_the_byte("", 1, 0);
}

#[test]
fn tcp_tradeoff() {
    to_the_byte("-r -L PORT", 1, 1);
}

#[test]
fn tcp_dual() {
    to_the_byte("-d -L PORT", 1, 1);
}

#[test]
fn tcp_reverse() {
    to_the_byte("-R", 0, 1);
}

#[test]
fn tcp_full_duplex() {
    to_the_byte("--full-duplex", 1, 1);
}

#[test]
fn tcp_parallel() {
    to_the_byte("-P 3", 3, 0);
}

#[test]
fn tcp_parallel_in_every_mode() {
    to_the_byte("-P 2 -r -L PORT", 2, 2);
    to_the_byte("-P 2 -d -L PORT", 2, 2);
    to_the_byte("-P 2 -R", 0, 2);
    to_the_byte("-P 2 --full-duplex", 2, 2);
}

#[test]
fn tcp_length_window_and_peer_detection() {
    to_the_byte("-l 1000", 1, 0);
    to_the_byte("-w 32K", 1, 0);
    to_the_byte("-X", 1, 0);
}

#[test]
fn tcp_time_rate_and_intervals() {
    let interval = Duration::from_millis(100);
    let config = ServerConfig {
        interval,
        ..ServerConfig::default()
    };
    with_server(config, "-t 0.5 -b 10M -l 8K -i 0.5", 1, |shown| {
        let [Leg::TcpReceived { span, bytes, .. }] = &shown.legs[..] else {
            panic!("{:?}", shown.legs);
        };
        // 10 · 2²⁰ bit/s for half a second, a write more at each end.
        assert!(
            *bytes <= (5 << 20) / 8 + 3 * 8192,
            "{bytes}\n{}",
            shown.text
        );
        assert!(
            span.seconds() > 0.0 && shown.rows.len() >= 2,
            "{:?}",
            shown.rows
        );
        let told: u64 = shown.rows.iter().map(|row| row.bytes).sum();
        assert!(told <= *bytes && told > 0);
    });
}

#[test]
fn tcp_enhanced_reports_histograms_and_trip_times() {
    for args in ["-e -i 0.5", "-e --histograms", "-e --trip-times"] {
        over_both(&format!("{args} -n 200K"), 1, |shown| {
            let [Leg::TcpReceived { bytes, reads, .. }] = &shown.legs[..] else {
                panic!("{:?}", shown.legs);
            };
            // With trip times, blocks are whole and the header comes before them.
            let most = BYTES + (128 << 10) + 80;
            assert!(
                (BYTES..=most).contains(bytes),
                "{args}: {bytes}\n{}",
                shown.text
            );
            assert!(reads.count > 0 && reads.sizes.iter().sum::<u64>() == reads.count);
            assert!(shown.text.contains("Write/Err"), "{args}\n{}", shown.text);
            assert!(!shown.text.contains("did not"), "{args}\n{}", shown.text);
        });
    }
}

#[test]
fn tcp_bounceback_is_answered_with_times() {
    over_both("--bounceback -t 1 -i 1", 1, |shown| {
        let [Leg::TcpReceived { bytes, .. }] = &shown.legs[..] else {
            panic!("{:?}", shown.legs);
        };
        assert!(
            *bytes >= 1000 && bytes % 100 == 0,
            "{bytes}\n{}",
            shown.text
        );
        let line = shown.text.lines().find(|line| line.contains(" rps"));
        let line = line.unwrap_or_else(|| panic!("{}", shown.text));
        assert!(line.contains("10="), "ten round trips: {line}");
    });
}

/// A UDP test without traffic back: nothing is lost, and both ends count alike.
fn udp_is_whole(args: &str) {
    over_both(args, 1, |shown| {
        let [Leg::UdpReceived(udp)] = &shown.legs[..] else {
            panic!("{:?}", shown.legs);
        };
        assert!(udp.finished && udp.jitter_ps.is_some(), "{udp:?}");
        assert_eq!((udp.received.lost, udp.received.duplicated), (0, 0));
        assert!(shown.text.contains("Server Report:"), "{}", shown.text);
        assert!(!shown.text.contains("did not"), "{}", shown.text);
        let counted = (0, udp.received.sent() + 1);
        assert_eq!(
            lost_and_total(&shown.text),
            counted,
            "iperf counts the final datagram"
        );
    });
}

#[test]
fn udp_forward() {
    udp_is_whole("-u -t 0.5 -b 2M");
}

#[test]
fn udp_bytes_to_the_last() {
    over_both("-u -n 30000 -b 2M", 1, |shown| {
        let [Leg::UdpReceived(udp)] = &shown.legs[..] else {
            panic!("{:?}", shown.legs);
        };
        assert_eq!((udp.received.bytes, udp.received.lost), (30_000, 0));
    });
}

#[test]
fn udp_lengths_window_and_packet_rate() {
    udp_is_whole("-u -t 0.3 -b 1M -l 64");
    udp_is_whole("-u -t 0.3 -b 300pps -l 512 -w 64K");
}

#[test]
fn udp_enhanced_reports_histograms_and_trip_times() {
    udp_is_whole("-u -e -t 0.3 -b 2M -i 0.5");
    udp_is_whole("-u -e --histograms -t 0.3 -b 2M");
    udp_is_whole("-u --isochronous -t 0.3");
    for args in [
        "-u --trip-times -t 0.3 -b 2M",
        "-u --trip-times -t 0.3 -b 2M -l 64",
    ] {
        over_both(args, 1, |shown| {
            let [Leg::UdpReceived(udp)] = &shown.legs[..] else {
                panic!("{:?}", shown.legs);
            };
            let transit = udp.transit.expect("both ends have one clock");
            assert!(transit.count + 1 >= udp.received.datagrams, "{udp:?}");
            assert_eq!(udp.received.lost, 0);
            assert!(
                shown.text.contains("Latency avg/min/max/stdev"),
                "{}",
                shown.text
            );
        });
    }
}

#[test]
fn udp_intervals_have_losses_and_jitter() {
    let config = ServerConfig {
        interval: Duration::from_millis(100),
        ..ServerConfig::default()
    };
    with_server(config, "-u -t 1 -b 300pps -l 200", 1, |shown| {
        let datagrams = shown.rows.iter().map(|row| row.datagrams.unwrap());
        // Until the first two datagrams there is no jitter, and a busy host may hold them back for some intervals.
        let came: Vec<_> = datagrams.skip_while(|d| d.jitter_ps.is_none()).collect();
        assert!(came.len() >= 3, "{:?}", shown.rows);
        for d in came {
            assert_eq!(d.lost, 0, "{:?}", shown.rows);
            assert_eq!(d.jitter_ps.map(|ps| ps as f64 / 1e9), Some(d.jitter_ms));
        }
    });
}

/// With traffic back on a port of the client: its report says that nothing was lost.
fn udp_there_and_back(args: &str, streams: usize) {
    over_both(args, 2 * streams, |shown| {
        let whole = |leg: &&Leg| match leg {
            Leg::UdpReceived(udp) => udp.finished && udp.received.lost == 0,
            Leg::UdpSent(sent) => {
                let report = sent.report.unwrap_or_default();
                // The client hands the first datagrams of parallel flows to the wrong one, until it has a socket
                // for each: more of them, the busier the machine.
                let most = if streams > 1 { sent.datagrams / 4 } else { 0 };
                report.lost <= most && report.datagrams == sent.datagrams + 1
            }
            _ => false,
        };
        let count = shown.legs.iter().filter(whole).count();
        assert_eq!(
            count,
            2 * streams,
            "{args}: {:?}\n{}",
            shown.legs,
            shown.text
        );
        assert_eq!(sent(&shown.legs).len(), streams, "{args}");
    });
}

#[test]
fn udp_tradeoff() {
    udp_there_and_back("-u -t 0.4 -b 2M -r -L PORT", 1);
    udp_there_and_back("-u -n 30000 -b 2M -r -L PORT", 1);
}

#[test]
fn udp_dual() {
    udp_there_and_back("-u -t 0.4 -b 2M -d -L PORT", 1);
    udp_there_and_back("-u -P 2 -t 0.4 -b 2M -d -L PORT", 2);
}

#[test]
fn udp_reverse() {
    over_both("-u -t 0.4 -b 2M -R", 1, |shown| {
        let [Leg::UdpSent(sent)] = &shown.legs[..] else {
            panic!("{:?}", shown.legs);
        };
        let (lost, total) = lost_and_total(&shown.text);
        assert_eq!(lost, 0, "{}", shown.text);
        assert!(
            total.abs_diff(sent.datagrams) <= 1,
            "{total} of {}",
            sent.datagrams
        );
    });
    over_both("-u -P 2 -t 0.4 -b 2M -R", 2, |shown| {
        assert_eq!(sent(&shown.legs).len(), 2);
    });
}

#[test]
fn udp_full_duplex() {
    for (args, streams) in [
        ("-u -t 0.4 -b 2M --full-duplex", 1),
        ("-u -P 2 -t 0.4 -b 2M --full-duplex", 2),
    ] {
        over_both(args, 2 * streams, |shown| {
            assert_eq!(sent(&shown.legs).len(), streams);
            for leg in &shown.legs {
                if let Leg::UdpReceived(udp) = leg {
                    assert!(udp.finished && udp.received.lost == 0, "{udp:?}");
                }
            }
            let lost = shown.text.lines().filter(|line| line.contains(" ms "));
            let lines: Vec<&str> = lost.collect();
            assert_eq!(lines.len(), streams, "{}", shown.text);
            for line in lines {
                assert!(line.contains("0/") && line.contains("(0%)"), "{line}");
            }
            assert!(!shown.text.contains("out-of-order"), "{}", shown.text);
        });
    }
}

#[test]
fn udp_parallel_has_sums() {
    let config = ServerConfig {
        interval: Duration::from_millis(100),
        ..ServerConfig::default()
    };
    with_server(config, "-u -P 2 -t 0.5 -b 200pps -l 200", 2, |shown| {
        assert_eq!(received(&shown.legs).len(), 2);
        assert!(shown.text.contains("[SUM]"), "{}", shown.text);
        let sums: Vec<_> = shown.rows.iter().filter(|row| row.id == Id::Sum).collect();
        assert!(!sums.is_empty(), "{:?}", shown.rows);
        for sum in sums {
            let parts = shown.rows.iter().filter(|row| {
                matches!(row.id, Id::Stream(_)) && (row.start_s - sum.start_s).abs() < 1e-6
            });
            // That of the whole test is the last.
            if sum.end_s - sum.start_s > 0.15 {
                assert_eq!(sum.bytes, received(&shown.legs).iter().sum::<u64>());
                continue;
            }
            assert_eq!(parts.map(|row| row.bytes).sum::<u64>(), sum.bytes);
        }
    });
}
