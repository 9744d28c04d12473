//! Our client against our server, and both against peers that misbehave.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use wirelab_iperf::v2::{
    Amount, ClientConfig, ClientHeader, Generation, Leg, Mode, Protocol, Rate, ServerConfig,
    ServerReport, Trouble,
};

use crate::v2_common;
use crate::v2_common::{LIMIT, Ours, our_client, time};

fn config(ours: &Ours, protocol: Protocol) -> ClientConfig {
    let server = match protocol {
        Protocol::Tcp => ours.server.tcp_address(),
        Protocol::Udp => ours.server.udp_address(),
    };
    ClientConfig {
        amount: time(20),
        ..ClientConfig::new(server, protocol)
    }
}

#[test]
fn every_mode_over_both_families() {
    for ip in ["127.0.0.1", "::1"] {
        let ours = Ours::start(ip, ServerConfig::default());
        for (protocol, mode, legs) in [
            (Protocol::Udp, Mode::Forward, (1, 1)),
            (Protocol::Udp, Mode::Tradeoff, (2, 2)),
            (Protocol::Udp, Mode::Dual, (2, 2)),
            (Protocol::Udp, Mode::Reverse, (1, 1)),
            (Protocol::Udp, Mode::FullDuplex, (2, 2)),
            (Protocol::Tcp, Mode::Forward, (1, 1)),
            (Protocol::Tcp, Mode::Tradeoff, (2, 2)),
            (Protocol::Tcp, Mode::Dual, (2, 2)),
            (Protocol::Tcp, Mode::Reverse, (1, 1)),
            (Protocol::Tcp, Mode::FullDuplex, (2, 2)),
        ] {
            let (outcome, _) = our_client(&ClientConfig {
                mode,
                rate: Rate::BitsPerS(2_000_000),
                ..config(&ours, protocol)
            });
            assert!(
                outcome.trouble.is_none(),
                "{ip} {protocol:?} {mode:?}: {:?}",
                outcome.trouble
            );
            assert_eq!(outcome.legs.len(), legs.0, "{ip} {protocol:?} {mode:?}");
            let (seen, _) = ours.legs(legs.1);
            for (leg, trouble) in seen {
                assert!(
                    trouble.is_none(),
                    "{ip} {protocol:?} {mode:?} {leg}: {trouble:?}"
                );
                if let Leg::UdpReceived(udp) = leg {
                    assert_eq!((udp.received.lost, udp.unattributed), (0, 0));
                }
            }
        }
    }
}

#[test]
fn bytes_are_counted_alike_at_both_ends() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    for bytes in [1, 60, 61, 1 << 20] {
        let (outcome, _) = our_client(&ClientConfig {
            amount: Amount::Bytes(bytes),
            ..config(&ours, Protocol::Tcp)
        });
        let [(_, Leg::TcpSent { bytes: sent, .. })] = outcome.legs[..] else {
            panic!("{outcome:?}");
        };
        let (seen, _) = ours.legs(1);
        assert!(matches!(seen[0].0, Leg::TcpReceived { bytes, .. } if bytes == sent));
        assert_eq!(sent, bytes.max(60), "the header is part of the amount");
    }
}

#[test]
fn the_total_of_a_stream_goes_on_to_its_end() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    for mode in [Mode::Forward, Mode::Reverse] {
        // One block at the start, and the next one would be due after the end.
        let (outcome, _) = our_client(&ClientConfig {
            mode,
            rate: Rate::BitsPerS(1_000_000),
            amount: time(50),
            ..config(&ours, Protocol::Tcp)
        });
        let (served, _) = ours.legs(1);
        let client = outcome.legs.iter().map(|(_, leg)| leg);
        for leg in client.chain(served.iter().map(|(leg, _)| leg)) {
            if let Leg::TcpReceived { span, bytes, .. } = leg {
                // The header may stand before it.
                assert!((131_072..131_300).contains(bytes), "{mode:?}: {bytes}");
                assert!(span.seconds() > 0.45, "{mode:?}: {span:?}");
            }
        }
    }
}

#[test]
fn nodes_with_12_bytes_get_totals_and_a_note() {
    // Longer than a busy host leaves the one that sends without a core.
    let quiet = Duration::from_secs(3);
    let ours = Ours::start(
        "127.0.0.1",
        ServerConfig {
            quiet,
            ..ServerConfig::default()
        },
    );
    let node = UdpSocket::bind("127.0.0.1:0").unwrap();
    for id in 0..50u32 {
        let mut datagram = [0; 1000];
        datagram[..4].copy_from_slice(&id.to_be_bytes());
        if id != 7 {
            node.send_to(&datagram, ours.server.udp_address()).unwrap();
        }
    }
    let (legs, _) = ours.legs(1);
    let Leg::UdpReceived(udp) = &legs[0].0 else {
        panic!("{legs:?}");
    };
    assert_eq!(udp.generation, Generation::Bare);
    assert_eq!((udp.received.sent(), udp.received.lost), (50, 1));
    assert_eq!((udp.jitter_ps, udp.finished), (None, false));
    let notes = udp.notes().join("\n");
    assert!(notes.contains("jitter column means nothing"), "{notes}");
    assert!(notes.contains("no final datagram arrived"), "{notes}");
}

/// A client of 2.0.5: header at 12, numbers of 32 bits.
#[test]
fn a_client_of_2_0_5_is_answered_in_its_own_layout() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(ours.server.udp_address()).unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    let back = UdpSocket::bind("127.0.0.1:0").unwrap();
    back.set_read_timeout(Some(LIMIT)).unwrap();
    let header = ClientHeader {
        flags: 0x8000_0000,
        threads: 1,
        port: back.local_addr().unwrap().port(),
        length_bytes: 100,
        window_bytes: 1_000_000,
        amount: Amount::Bytes(300),
        extension: None,
        start: None,
    };
    // It counts from 0, and leaves the first to its server.
    for id in [0i32, 1, 3, -4] {
        let mut datagram = [0; 100];
        datagram[..4].copy_from_slice(&id.to_be_bytes());
        header.emit(&mut datagram[12..]).unwrap();
        client.send(&datagram).unwrap();
    }
    let mut answer = [0; 200];
    let len = client.recv(&mut answer).unwrap();
    assert_eq!(answer[12], 0x80, "the report starts at 12");
    let report = ServerReport::parse(&answer[..len]).unwrap();
    assert_eq!((report.lost, report.datagrams, report.bytes), (1, 4, 300));
    // Then the three requested datagrams, and their end, in 12-byte heads.
    let ids = [0; 4].map(|_| {
        let len = back.recv(&mut answer).unwrap();
        assert_eq!(len, 100);
        i32::from_be_bytes(*answer.first_chunk().unwrap())
    });
    assert_eq!(ids, [0, 1, 2, -3]);
}

#[test]
fn lines_of_the_server() {
    let interval = Duration::from_millis(50);
    let ours = Ours::start(
        "127.0.0.1",
        ServerConfig {
            interval,
            ..ServerConfig::default()
        },
    );
    our_client(&ClientConfig {
        rate: Rate::PacketsPerS(200),
        ..config(&ours, Protocol::Udp)
    });
    let (legs, rows) = ours.legs(1);
    let Leg::UdpReceived(udp) = &legs[0].0 else {
        panic!("{legs:?}");
    };
    assert!(rows.len() >= 3, "{rows:?}");
    let total: u64 = rows.iter().map(|row| row.datagrams.unwrap().total).sum();
    assert!(total > 0 && total <= udp.received.sent());
    assert!(rows.windows(2).all(|pair| pair[0].end_s == pair[1].start_s));
}

#[test]
fn nobody_there() {
    let port = v2_common::free_port();
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let config = ClientConfig::new(([127, 0, 0, 1], port).into(), protocol);
        let (outcome, _) = our_client(&config);
        let trouble = outcome.trouble.expect("nobody is there").to_string();
        assert!(
            trouble.contains("start an iperf 2 server there"),
            "{trouble}"
        );
    }
}

#[test]
fn a_report_that_never_comes_leaves_our_own_count() {
    let deaf = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (outcome, _) = our_client(&ClientConfig {
        amount: Amount::Bytes(7350),
        rate: Rate::PacketsPerS(1000),
        ..ClientConfig::new(deaf.local_addr().unwrap(), Protocol::Udp)
    });
    assert!(outcome.trouble.is_none());
    let [(_, Leg::UdpSent(sent))] = &outcome.legs[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!((sent.report, sent.final_tries), (None, 10));
    assert_eq!((sent.datagrams, sent.bytes), (5, 7350));
}

#[test]
fn traffic_back_that_never_comes_keeps_what_was_measured() {
    let config_of = ServerConfig {
        back: false,
        ..ServerConfig::default()
    };
    let ours = Ours::start("127.0.0.1", config_of);
    let (outcome, _) = our_client(&ClientConfig {
        mode: Mode::Tradeoff,
        ..config(&ours, Protocol::Udp)
    });
    assert!(
        matches!(outcome.trouble, Some(Trouble::NothingBack { .. })),
        "{outcome:?}"
    );
    assert!(matches!(&outcome.legs[..], [(_, Leg::UdpSent(_))]));
    assert_eq!(ours.refusal(), "traffic back: this server only receives");
}

#[test]
fn what_cannot_be_asked_is_said() {
    let to = |protocol| ClientConfig::new(([127, 0, 0, 1], 9).into(), protocol);
    for config in [
        ClientConfig {
            mode: Mode::Dual,
            generation: Generation::Bare,
            ..to(Protocol::Udp)
        },
        ClientConfig {
            mode: Mode::Tradeoff,
            amount: Amount::Bytes(1 << 31),
            ..to(Protocol::Tcp)
        },
        ClientConfig {
            mode: Mode::Dual,
            listen_port: 65_535,
            streams: 2,
            ..to(Protocol::Tcp)
        },
    ] {
        let outcome = config.run(&AtomicBool::new(false), &|_| {});
        assert!(
            matches!(outcome.trouble, Some(Trouble::Unsupported(_))),
            "{outcome:?}"
        );
    }
}

#[test]
fn an_interrupt_ends_a_test_early_with_what_was_measured() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let stop = AtomicBool::new(false);
    let config = ClientConfig {
        amount: time(360_000),
        interval: Duration::from_millis(20),
        ..config(&ours, Protocol::Udp)
    };
    let outcome = config.run(&stop, &|_| {
        stop.store(true, std::sync::atomic::Ordering::Relaxed)
    });
    let [(_, Leg::UdpSent(sent))] = &outcome.legs[..] else {
        panic!("{outcome:?}");
    };
    assert!(sent.datagrams > 0);
    assert!(
        sent.report.is_some(),
        "the other end is notified, and answers"
    );
}

#[test]
fn a_thousand_half_open_connections_leave_the_server_answering() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let mut held = Vec::new();
    for at in 0..1000 {
        let mut stream = TcpStream::connect(ours.server.tcp_address()).unwrap();
        // Every other one sends half a header.
        if at % 2 == 1 {
            let _ = stream.write_all(&[0xC0, 0x01, 0x00]);
        }
        held.push(stream);
        // No more than a process may have open.
        if held.len() > 300 {
            held.remove(0);
        }
    }
    for forged in 0..1000u32 {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut datagram = [0; 100];
        datagram[..4].copy_from_slice(&forged.to_be_bytes());
        socket
            .send_to(&datagram, ours.server.udp_address())
            .unwrap();
    }
    let (outcome, _) = our_client(&config(&ours, Protocol::Udp));
    let [(_, Leg::UdpSent(sent))] = &outcome.legs[..] else {
        panic!("{outcome:?}");
    };
    // The flood may take room in the socket's queue, but the answer must come.
    assert!(sent.report.is_some());
    // A place is free as soon as one of those with half a header has been quiet for a second.
    let mut tries = 0;
    loop {
        let bytes = Amount::Bytes(100_000);
        let (outcome, _) = our_client(&ClientConfig {
            amount: bytes,
            ..config(&ours, Protocol::Tcp)
        });
        if outcome.trouble.is_none() {
            break;
        }
        tries += 1;
        assert!(tries < 100, "{outcome:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(held);
}

#[test]
fn a_server_that_is_stopped_lets_its_port_go() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let address = ours.server.udp_address();
    let mut idle = TcpStream::connect(ours.server.tcp_address()).unwrap();
    drop(ours);
    assert!(UdpSocket::bind(address).is_ok());
    assert!(matches!(idle.read(&mut [0; 1]), Ok(0) | Err(_)));
}
