//! The distribution's iperf 2 as server in a lab, against our client: a test for each mode, over IPv4 and IPv6.

use std::net::SocketAddr;
use std::time::Duration;

use wirelab_iperf::v2::table::Id;
use wirelab_iperf::v2::{Amount, ClientConfig, Leg, Mode, Outcome, Protocol, Rate};

use crate::v2_common::time;
use crate::v2_lab_common::{IPV4, IPV6, port, received, sent, sides, sorted};

const BYTES: u64 = 200 << 10;
/// Flows that are over within some ms corrupt the heap of a 2.1.8 server, or stall it (see `v2_real_servers.rs`).
const NOT_AT_ONCE: Rate = Rate::BitsPerS(5_000_000);

/// Bytes of the datagrams that were sent.
fn outcome_length(outcome: &Outcome) -> u32 {
    match &outcome.legs[0].1 {
        Leg::UdpSent(sent) => sent.datagram_bytes,
        other => panic!("{other}"),
    }
}

fn legs(outcome: &Outcome) -> Vec<Leg> {
    outcome.legs.iter().map(|(_, leg)| leg.clone()).collect()
}

/// Whether the server connected back for several streams (`-d -P`) and then sent nothing on any and read on no
/// further: 2.1.8 does so now and then on a busy machine, and leaves its own client waiting likewise.
fn has_stalled(config: &ClientConfig, outcome: &Outcome) -> bool {
    let back: Vec<u64> = received(&legs(outcome));
    let silent = back.len() > 1 && back.iter().all(|bytes| *bytes == 0);
    let several = config.mode == Mode::Dual && config.streams > 1;
    several && silent && outcome.trouble.is_some()
}

/// Run our client over both families; `told` are the bytes of each line of the server.
fn over_both(
    protocol: Protocol,
    options: &str,
    change: impl Fn(&mut ClientConfig),
    check: impl Fn(&Outcome, Vec<u64>),
) {
    let Some([node, tester]) = sides() else {
        return;
    };
    for family in [IPV4, IPV6] {
        for tries_left in (0..3).rev() {
            let real = node.real_server(family, protocol, options);
            let mut config = ClientConfig::new(real.address, protocol);
            change(&mut config);
            let outcome = tester.ask(&config);
            if tries_left > 0 && has_stalled(&config, &outcome) {
                continue;
            }
            let told = real.bytes();
            assert!(outcome.trouble.is_none(), "{:?} {outcome:?}", config.mode);
            check(&outcome, told);
            break;
        }
    }
}

/// So many streams of exactly [`BYTES`] in each direction, at both ends.
fn to_the_byte(mode: Mode, streams: u32, [there, back]: [usize; 2], change: fn(&mut ClientConfig)) {
    over_both(
        Protocol::Tcp,
        "",
        |config| {
            config.mode = mode;
            config.streams = streams;
            config.amount = Amount::Bytes(BYTES);
            config.rate = NOT_AT_ONCE;
            change(config);
        },
        |outcome, told| {
            let legs = legs(outcome);
            assert_eq!(sent(&legs), vec![BYTES; there], "{outcome:?}");
            assert_eq!(received(&legs), vec![BYTES; back], "{outcome:?}");
            assert_eq!(
                sorted(told.into_iter()),
                vec![BYTES; there + back],
                "{mode:?}"
            );
        },
    );
}

#[test]
fn tcp_forward() {
    to_the_byte(Mode::Forward, 1, [1, 0], |_| {});
}

#[test]
fn tcp_tradeoff() {
    to_the_byte(Mode::Tradeoff, 1, [1, 1], |_| {});
    to_the_byte(Mode::Tradeoff, 1, [1, 1], |config| {
        config.listen_port = port()
    });
}

#[test]
fn tcp_dual() {
    to_the_byte(Mode::Dual, 1, [1, 1], |_| {});
}

#[test]
fn tcp_reverse() {
    to_the_byte(Mode::Reverse, 1, [0, 1], |_| {});
}

#[test]
fn tcp_full_duplex() {
    to_the_byte(Mode::FullDuplex, 1, [1, 1], |_| {});
}

#[test]
fn tcp_parallel_in_every_mode() {
    to_the_byte(Mode::Forward, 3, [3, 0], |_| {});
    // Not -r: iperf's server then leaves even its own client waiting.
    to_the_byte(Mode::Dual, 2, [2, 2], |_| {});
    to_the_byte(Mode::Reverse, 2, [0, 2], |_| {});
    to_the_byte(Mode::FullDuplex, 2, [2, 2], |_| {});
}

#[test]
fn tcp_length_and_window() {
    to_the_byte(Mode::Forward, 1, [1, 0], |config| {
        config.length_bytes = Some(1000)
    });
    to_the_byte(Mode::Forward, 1, [1, 0], |config| {
        config.window_bytes = Some(32 << 10)
    });
}

#[test]
fn a_slow_tcp_sender_counts_the_time_of_its_last_write() {
    over_both(
        Protocol::Tcp,
        "",
        |config| {
            config.amount = time(50);
            // A write of 128 KiB every 100 ms: the last is at 0.4 s.
            config.rate = Rate::BitsPerS(10 << 20);
        },
        |outcome, _| {
            let [Leg::TcpSent { span, .. }] = &legs(outcome)[..] else {
                panic!("{outcome:?}");
            };
            assert!(span.seconds() > 0.45, "{span:?}");
        },
    );
}

#[test]
fn tcp_time_rate_and_intervals() {
    over_both(
        Protocol::Tcp,
        "-e",
        |config| {
            config.amount = time(50);
            config.rate = Rate::BitsPerS(10 << 20);
            config.length_bytes = Some(8192);
            config.interval = Duration::from_millis(100);
        },
        |outcome, told| {
            let bytes = sent(&legs(outcome));
            assert_eq!(told, bytes);
            assert!(bytes[0] <= (5 << 20) / 8 + 3 * 8192, "{bytes:?}");
            assert!(outcome.rows.len() >= 3, "{:?}", outcome.rows);
            assert!(outcome.rows.iter().all(|row| row.more.is_some()));
            let [Leg::TcpSent { pace, .. }] = &legs(outcome)[..] else {
                panic!("{outcome:?}");
            };
            let pace = pace.as_ref().expect("a rate was requested");
            assert!(pace.gaps.count > 10 && pace.gaps.max_ticks > 0, "{pace:?}");
        },
    );
}

/// The server's traffic alone: our own leg is only opened, the header asks for the time.
#[test]
fn a_short_own_leg_gets_the_servers_traffic() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        over_both(
            protocol,
            "",
            |config| {
                config.mode = Mode::Tradeoff;
                config.amount = time(40);
                config.own_amount = Some(Amount::Bytes(100));
                config.rate = Rate::BitsPerS(4_000_000);
                config.length_bytes = Some(1000);
            },
            |outcome, _| {
                let legs = legs(outcome);
                assert!(sent(&legs)[0] <= 1000, "{legs:?}");
                let back = received(&legs)[0];
                // 4 Mbit/s for 0.4 s are 200,000 bytes; a busy machine sends less.
                assert!((20_000..=260_000).contains(&back), "{back}");
            },
        );
    }
}

/// A UDP test with so many streams in each direction; nothing is lost in our own count.
fn udp(mode: Mode, streams: u32, [there, back]: [usize; 2], change: fn(&mut ClientConfig)) {
    over_both(
        Protocol::Udp,
        "",
        |config| {
            config.mode = mode;
            config.streams = streams;
            config.amount = time(40);
            config.rate = Rate::BitsPerS(2 << 20);
            config.length_bytes = Some(600);
            change(config);
        },
        |outcome, _| {
            let (mut ways, config_reports) = ([0, 0], mode != Mode::FullDuplex);
            for leg in legs(outcome) {
                match leg {
                    Leg::UdpSent(sent) => {
                        ways[0] += 1;
                        assert_eq!(sent.fragments, 1, "{sent:?}");
                        assert_eq!(sent.gaps.count + 1, sent.datagrams);
                        let Some(report) = sent.report else {
                            assert!(!config_reports, "{mode:?}: {sent:?}");
                            continue;
                        };
                        // iperf's server hands the first datagrams of parallel flows to the wrong one, until it
                        // has a socket for each: more of them, the busier the machine.
                        let most = if streams > 1 { sent.datagrams / 4 } else { 0 };
                        assert!(report.lost <= most, "{mode:?}: {report:?}");
                        assert_eq!(report.datagrams, sent.datagrams + 1, "{mode:?}");
                    }
                    Leg::UdpReceived(udp) => {
                        ways[1] += 1;
                        assert!(udp.finished && udp.received.lost == 0, "{mode:?}: {udp:?}");
                        assert!(udp.received.datagrams > 10 && udp.jitter_ps.is_some());
                    }
                    other => panic!("{other}"),
                }
            }
            assert_eq!(ways, [there, back], "{mode:?}: {outcome:?}");
        },
    );
}

#[test]
fn udp_forward() {
    udp(Mode::Forward, 1, [1, 0], |_| {});
}

#[test]
fn udp_tradeoff() {
    udp(Mode::Tradeoff, 1, [1, 1], |_| {});
}

#[test]
fn udp_dual() {
    udp(Mode::Dual, 1, [1, 1], |config| config.listen_port = port());
}

#[test]
fn udp_reverse() {
    udp(Mode::Reverse, 1, [0, 1], |_| {});
}

#[test]
fn udp_full_duplex() {
    udp(Mode::FullDuplex, 1, [1, 1], |_| {});
}

#[test]
fn udp_parallel_in_every_mode() {
    udp(Mode::Forward, 3, [3, 0], |_| {});
    // Not -r: iperf's server then leaves even its own client waiting.
    udp(Mode::Dual, 2, [2, 2], |_| {});
    udp(Mode::Reverse, 2, [0, 2], |_| {});
    udp(Mode::FullDuplex, 2, [2, 2], |_| {});
}

#[test]
fn udp_lengths_window_and_packet_rate() {
    udp(Mode::Forward, 1, [1, 0], |config| {
        config.length_bytes = Some(64);
        config.rate = Rate::PacketsPerS(300);
        config.window_bytes = Some(64 << 10);
    });
    udp(Mode::Forward, 1, [1, 0], |config| {
        config.length_bytes = None
    });
    udp(Mode::Reverse, 1, [0, 1], |config| {
        config.rate = Rate::PacketsPerS(300)
    });
}

#[test]
fn udp_bytes_to_the_last() {
    over_both(
        Protocol::Udp,
        "",
        |config| {
            config.amount = Amount::Bytes(30_000);
            config.rate = Rate::BitsPerS(2 << 20);
        },
        |outcome, told| {
            assert_eq!(sent(&legs(outcome)), [30_000]);
            // The final datagram is as long as any.
            let last = u64::from(outcome_length(outcome));
            assert_eq!(told, [30_000 + last]);
        },
    );
}

#[test]
fn udp_enhanced_server_tells_one_way_times() {
    over_both(
        Protocol::Udp,
        "-e",
        |config| config.amount = time(30),
        |outcome, _| {
            let [Leg::UdpSent(sent)] = &legs(outcome)[..] else {
                panic!("{outcome:?}");
            };
            let report = sent.report.expect("a report");
            let transit = report.transit.expect("-e says that they hold");
            assert!(
                transit.count > 0 && transit.max_us >= transit.min_us,
                "{transit:?}"
            );
            let line = report.row(Id::Stream(1)).enhanced_line(Default::default());
            assert!(line.contains(" pps "), "{line}");
        },
    );
}

#[test]
fn udp_parallel_has_sums_and_intervals() {
    over_both(
        Protocol::Udp,
        "",
        |config| {
            config.mode = Mode::Reverse;
            config.streams = 2;
            config.amount = time(50);
            config.rate = Rate::PacketsPerS(200);
            config.length_bytes = Some(200);
            config.interval = Duration::from_millis(100);
        },
        |outcome, _| {
            let sums: Vec<_> = outcome
                .rows
                .iter()
                .filter(|row| row.id == Id::SumBack)
                .collect();
            assert!(sums.len() >= 2, "{:?}", outcome.rows);
            assert!(
                sums.iter()
                    .all(|row| row.datagrams.is_some_and(|d| d.lost == 0))
            );
            let whole = outcome.sums();
            assert_eq!(whole.len(), 1);
            assert_eq!(whole[0].bytes, received(&legs(outcome)).iter().sum::<u64>());
        },
    );
}

#[test]
fn nobody_listens_beyond_the_address_given() {
    let Some([node, tester]) = sides() else {
        return;
    };
    let ours = node.serve(IPV4, Default::default());
    for (protocol, here) in [
        (Protocol::Tcp, ours.server.tcp_address()),
        (Protocol::Udp, ours.server.udp_address()),
    ] {
        let mut config = ClientConfig::new(here, protocol);
        config.amount = time(10);
        assert!(tester.ask(&config).trouble.is_none());
        config.server = SocketAddr::new(node.address(IPV6), here.port());
        let trouble = tester
            .ask(&config)
            .trouble
            .expect("nobody is there")
            .to_string();
        assert!(trouble.contains("cannot reach"), "{trouble}");
    }
}
