//! Bad days in a lab: short MTUs, no route, ports in use, peers that are killed, hosts that vanish, and a crowd.

use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use wirelab_iperf::v2::table::{Id, Row};
use wirelab_iperf::v2::{
    Amount, ClientConfig, Generation, Leg, Mode, Outcome, Protocol, Rate, ServerConfig, Trouble,
};
use wirelab_port::lab::LabSpec;

use crate::v2_common::{LIMIT, lost_and_total, time};
use crate::v2_lab_common;
use crate::v2_lab_common::{IPV4, IPV6, LabSide, can_run, lab, sides, sides_of};

fn single(outcome: &Outcome) -> &Leg {
    match &outcome.legs[..] {
        [(_, leg)] => leg,
        other => panic!("{other:?}"),
    }
}

/// A server and a client of ours with a datagram longer than a packet.
fn long_datagrams(
    node: &LabSide,
    tester: &LabSide,
    family: &str,
    change: fn(&mut ClientConfig),
) -> Leg {
    let ours = node.serve(family, ServerConfig::default());
    let mut config = ClientConfig::new(ours.server.udp_address(), Protocol::Udp);
    config.amount = Amount::Bytes(20_000);
    config.rate = Rate::PacketsPerS(200);
    config.length_bytes = Some(2000);
    change(&mut config);
    let outcome = tester.ask(&config);
    assert!(outcome.trouble.is_none(), "{outcome:?}");
    single(&outcome).clone()
}

#[test]
fn datagrams_longer_than_the_mtu_are_reported_not_hidden() {
    let Some([node, tester]) = sides() else {
        return;
    };
    for family in [IPV4, IPV6] {
        let Leg::UdpSent(sent) = long_datagrams(&node, &tester, family, |_| {}) else {
            panic!("sent");
        };
        assert_eq!((sent.mtu_bytes, sent.fragments), (Some(1500), 2));
        assert_eq!(
            sent.report.map(|report| report.lost),
            Some(0),
            "they arrive"
        );
        let notes = sent.notes().join("\n");
        assert!(
            notes.contains("fragmented: each datagram of 2000 bytes became 2 packets"),
            "{notes}"
        );
        let reverse = |config: &mut ClientConfig| config.mode = Mode::Reverse;
        let Leg::UdpReceived(back) = long_datagrams(&node, &tester, family, reverse) else {
            panic!("received");
        };
        assert_eq!((back.longest_bytes, back.fragments), (2000, 2));
        let fragmented =
            |notes: &[String]| notes.iter().any(|note| note.starts_with("fragmented:"));
        assert!(fragmented(&back.notes()), "{:?}", back.notes());
        let short = |config: &mut ClientConfig| config.length_bytes = None;
        let Leg::UdpSent(sent) = long_datagrams(&node, &tester, family, short) else {
            panic!("sent");
        };
        // A busy host may have held the sender up, which is another note.
        assert!(
            sent.fragments == 1 && !fragmented(&sent.notes()),
            "the default fits: {sent:?}"
        );
    }
}

#[test]
fn a_path_with_a_shorter_mtu_than_the_link_is_noticed() {
    if !can_run() {
        return;
    }
    let lab = lab(LabSpec::unique("wli", 1));
    let [node, tester] = sides_of(&lab);
    tester.ip(&[
        "route",
        "replace",
        "198.18.0.0/24",
        "dev",
        "t0",
        "mtu",
        "1006",
    ]);
    let default = |config: &mut ClientConfig| config.length_bytes = None;
    let Leg::UdpSent(sent) = long_datagrams(&node, &tester, IPV4, default) else {
        panic!("sent");
    };
    assert_eq!((sent.mtu_bytes, sent.fragments), (Some(1006), 2));
}

#[test]
fn no_route_is_said_at_once() {
    let Some([_, tester]) = sides() else {
        return;
    };
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let nowhere = SocketAddr::from(([203, 0, 113, 1], 5001));
        let outcome = tester.ask(&ClientConfig::new(nowhere, protocol));
        let trouble = outcome.trouble.expect("no route").to_string();
        assert!(
            trouble.contains("cannot reach 203.0.113.1:5001: Network is unreachable"),
            "{trouble}"
        );
        assert!(trouble.contains("no route"), "{trouble}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let Some([node, _]) = sides() else {
        return;
    };
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let real = node.real_server(IPV4, protocol, "");
        let start = || {
            let quiet = std::sync::Arc::new(|_| {});
            wirelab_iperf::v2::Server::start(real.address, ServerConfig::default(), quiet)
        };
        let error = node
            .namespace
            .run_in(|| start().err().map(|e| e.to_string()));
        let error = error.unwrap().expect("the port is taken");
        let named = format!("cannot listen on {}", real.address);
        assert!(
            error.starts_with(&named) && error.contains("in use"),
            "{error}"
        );
    }
}

/// A test of our client, to its end; once it is well under way `change` happens, which may stop it.
fn ask_and_change(
    tester: &LabSide,
    config: &ClientConfig,
    change: impl FnOnce(&AtomicBool),
) -> Outcome {
    let config = ClientConfig {
        interval: Duration::from_millis(100),
        ..*config
    };
    let (tell, moved) = channel();
    let (tell, stop) = (Mutex::new(tell), AtomicBool::new(false));
    let on_row = |row: Row| {
        let _ = tell.lock().unwrap().send(row.bytes);
    };
    std::thread::scope(|scope| {
        let run = || config.run(&stop, &on_row);
        let client = scope.spawn(move || tester.namespace.run_in(run).unwrap());
        let mut bytes = 0;
        while bytes <= 10_000 {
            bytes += moved.recv_timeout(LIMIT).expect("a test under way");
        }
        change(&stop);
        client.join().unwrap()
    })
}

/// A long test of our client, whose real server is killed after a while.
fn server_killed(protocol: Protocol, mode: Mode) -> Option<Outcome> {
    let [node, tester] = sides()?;
    let real = node.real_server(IPV4, protocol, "");
    let config = ClientConfig {
        amount: time(360_000),
        rate: Rate::PacketsPerS(500),
        length_bytes: Some(500),
        mode,
        ..ClientConfig::new(real.address, protocol)
    };
    Some(ask_and_change(&tester, &config, |_| {
        // A connection that ends within a second was closed at once.
        std::thread::sleep(Duration::from_millis(1300));
        real.kill();
    }))
}

#[test]
fn a_real_server_killed_in_the_middle_leaves_what_was_measured() {
    for (protocol, mode) in [
        (Protocol::Tcp, Mode::Forward),
        (Protocol::Udp, Mode::Forward),
        (Protocol::Tcp, Mode::Reverse),
        (Protocol::Udp, Mode::Reverse),
    ] {
        let Some(outcome) = server_killed(protocol, mode) else {
            return;
        };
        let bytes = single(&outcome).row(Id::Sum).bytes;
        assert!(bytes > 5000, "{protocol:?} {mode:?}: {outcome:?}");
        match &outcome.trouble {
            Some(trouble @ Trouble::Gone { .. }) => {
                let text = trouble.to_string();
                assert!(text.contains("the figures are those until then"), "{text}");
            }
            // A connection that is closed ends; of a flow of datagrams the end is missing.
            None if mode == Mode::Reverse => {
                if let Leg::UdpReceived(udp) = single(&outcome) {
                    assert!(!udp.finished && udp.notes().join(" ").contains("no final datagram"));
                }
            }
            other => panic!("{protocol:?} {mode:?}: {other:?}"),
        }
    }
}

#[test]
fn a_real_client_killed_in_the_middle_ends_its_flows() {
    let Some([node, tester]) = sides() else {
        return;
    };
    let config = ServerConfig {
        // Longer than a busy host leaves a client without a core.
        quiet: Duration::from_secs(3),
        interval: Duration::from_millis(100),
        ..ServerConfig::default()
    };
    for (args, count) in [
        ("-t 600 -b 2M", 1),
        ("-u -t 600 -b 2M", 1),
        ("-u -t 600 -b 2M -R", 1),
        ("-u -t 600 -b 2M --full-duplex", 2),
        ("-t 600 -b 2M -R", 1),
    ] {
        let ours = node.serve(IPV4, config.clone());
        let server = match args.starts_with("-u") {
            true => ours.server.udp_address(),
            false => ours.server.tcp_address(),
        };
        let mut client = tester.start_client(server, args);
        ours.moved(count, 5000);
        client.kill().unwrap();
        client.wait().unwrap();
        let (legs, _) = ours.legs(count);
        for (leg, trouble) in legs {
            assert!(leg.row(Id::Sum).bytes > 5000, "{args}: {leg:?}");
            if let Leg::UdpSent(_) = leg {
                // Nobody listens any more, and its host says so.
                assert!(
                    matches!(trouble, Some(Trouble::Gone { .. })),
                    "{args}: {trouble:?}"
                );
            }
        }
    }
}

#[test]
fn a_host_that_vanishes_without_a_word_is_noticed() {
    if !can_run() {
        return;
    }
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let lab = lab(LabSpec::unique("wli", 1));
        let [node, tester] = sides_of(&lab);
        let ours = node.serve(IPV4, ServerConfig::default());
        let (server, amount) = match protocol {
            Protocol::Udp => (ours.server.udp_address(), time(360_000)),
            Protocol::Tcp => (ours.server.tcp_address(), Amount::Bytes(1 << 40)),
        };
        let config = ClientConfig {
            amount,
            rate: Rate::PacketsPerS(500),
            length_bytes: Some(500),
            ..ClientConfig::new(server, protocol)
        };
        let outcome = ask_and_change(&tester, &config, |stop| {
            node.ip(&["address", "flush", "dev", "n0"]);
            node.ip(&["-6", "address", "flush", "dev", "n0"]);
            // Datagrams are sent, whether or not any host takes them.
            stop.store(protocol == Protocol::Udp, Ordering::Relaxed);
        });
        match single(&outcome) {
            Leg::UdpSent(sent) => {
                assert!(sent.report.is_none() && sent.datagrams > 10, "{sent:?}");
                let notes = sent.notes().join(" ");
                let marked = notes.contains("no report came") || outcome.trouble.is_some();
                assert!(marked, "{outcome:?}");
            }
            Leg::TcpSent { bytes, .. } => {
                assert!(*bytes > 5000, "{outcome:?}");
                assert!(
                    matches!(outcome.trouble, Some(Trouble::Gone { .. })),
                    "{outcome:?}"
                );
            }
            other => panic!("{other}"),
        }
    }
}

/// Connections that say nothing, half a header, or noise; datagrams of noise and forged requests for traffic.
fn crowd(server: SocketAddr, udp: SocketAddr) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for at in 0..1000u32 {
        let mut stream = TcpStream::connect(server).unwrap();
        let noise: Vec<u8> = (0..at % 200).map(|n| (n * at) as u8).collect();
        let _ = match at % 4 {
            0 => Ok(()),
            1 => stream.write_all(&[0xC0, 0x01, 0x00]),
            2 => stream.write_all(&noise),
            // Bounceback that never completes its first block.
            _ => stream.write_all(&[0, 0x80, 0, 0, 0, 0, 4, 0, 1]),
        };
        held.push(stream);
        // No more than a process may have open.
        if held.len() > 300 {
            held.remove(0);
        }
        let socket = UdpSocket::bind((server_peer(udp), 0)).unwrap();
        let mut datagram: Vec<u8> = (0..64 + at % 100).map(|n| ((n * at) >> 3) as u8).collect();
        if at % 2 == 0 {
            // A header of 2.1.8 that asks for an hour of traffic back to a port of its choice.
            let start = [
                0u8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC8, 1, 0, 0x99,
            ];
            datagram[..20].copy_from_slice(&start);
            datagram[20..24].copy_from_slice(&[0, 0, 0, 1]);
            datagram[24..28].copy_from_slice(&[0, 0, 0, 9]);
        }
        socket.send_to(&datagram, udp).unwrap();
    }
    held
}

fn server_peer(udp: SocketAddr) -> std::net::IpAddr {
    match udp {
        SocketAddr::V4(_) => [198, 18, 0, 2].into(),
        SocketAddr::V6(_) => panic!("IPv4 alone"),
    }
}

#[test]
fn a_thousand_hostile_connections_leave_a_real_client_served() {
    let Some([node, tester]) = sides() else {
        return;
    };
    // The crowd's requests are refused beyond the limit, which is not a fault here.
    let (tell, events) = std::sync::mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let server = node
        .namespace
        .run_in(|| {
            let handler = std::sync::Arc::new(move |event| {
                if let wirelab_iperf::v2::ServerEvent::Leg { leg, .. } = event {
                    let _ = tell.lock().unwrap().send(leg);
                }
            });
            let address = SocketAddr::new(node.address(IPV4), 0);
            wirelab_iperf::v2::Server::start(address, ServerConfig::default(), handler).unwrap()
        })
        .unwrap();
    let (tcp, udp) = (server.tcp_address(), server.udp_address());
    let held = tester.namespace.run_in(|| crowd(tcp, udp)).unwrap();
    let text = tester.real_client(udp, "-u -n 50000 -l 500 -b 2M").unwrap();
    assert_eq!(lost_and_total(&text), (0, 101), "{text}");
    // A place is free as soon as one that was quiet for a second gives its own.
    let mut tries = 0;
    let bytes = loop {
        let text = tester.real_client(tcp, "-n 200K -y C").unwrap_or_default();
        let bytes = v2_lab_common::csv_bytes(&text);
        if bytes == [200 << 10] {
            break events.try_iter().find_map(|leg| match leg {
                Leg::TcpReceived { bytes, .. } if bytes == 200 << 10 => Some(bytes),
                _ => None,
            });
        }
        tries += 1;
        assert!(tries < 100, "{text}");
        std::thread::sleep(Duration::from_millis(50));
    };
    // The server may report its leg a moment after the client has ended.
    let told = bytes.or_else(|| {
        events.iter().find_map(|leg| match leg {
            Leg::TcpReceived { bytes, .. } if bytes == 200 << 10 => Some(bytes),
            _ => None,
        })
    });
    assert_eq!(told, Some(200 << 10));
    drop(held);
}

#[test]
fn a_peer_of_no_known_kind_is_said_to_be_one() {
    let Some([node, tester]) = sides() else {
        return;
    };
    let stranger = node
        .namespace
        .run_in(|| UdpSocket::bind((node.address(IPV4), 0)).unwrap())
        .unwrap();
    let to = stranger.local_addr().unwrap();
    stranger
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Answers everything with noise, until the final datagram came ten times.
            let (mut buf, mut finals) = ([0; 2000], 0);
            while finals < 10 {
                let Ok((_, from)) = stranger.recv_from(&mut buf) else {
                    return;
                };
                finals += i32::from(buf[0] & 0x80 != 0);
                let _ = stranger.send_to(b"no report, whatever it is", from);
            }
        });
        let mut config = ClientConfig::new(to, Protocol::Udp);
        config.amount = Amount::Bytes(5000);
        config.rate = Rate::PacketsPerS(1000);
        tester.ask(&config)
    });
    let Leg::UdpSent(sent) = single(&outcome) else {
        panic!("{outcome:?}");
    };
    assert!(
        sent.report.is_none() && sent.strange_answers > 0,
        "{sent:?}"
    );
    let notes = sent.notes().join("\n");
    assert!(
        notes.contains("unknown generation") && notes.contains("after 10 tries"),
        "{notes}"
    );
    // As a sender, such a peer is counted as the least that iperf has.
    assert_eq!(Generation::detect(&[7; 64]), Some(Generation::Bare));
}
