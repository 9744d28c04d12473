//! Attacks on what listens: `wirelab node serve` with its iperf servers, and `wirelab iperf -s`. After each the server serves
//! honest clients, and its memory, threads, descriptors and idle processor time are what they were.

use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::attacks_common;
use crate::attacks_common::{CONTROL, Random, THREE, TWO, Victim, lab, opening, reset, write};
use crate::forged;
use crate::forged::bytes_that_come;
use crate::over::Over;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
};
use wirelab_iperf::v2::{Generation, Mode};
use wirelab_port::lab::Side;

const PORTS: [u16; 3] = [CONTROL, TWO, THREE];

/// Datagrams a second that are requested back, and bytes that are far more than a server may send.
const PACKETS_PER_S: u64 = 10_000;
const ENOUGH: usize = 20_000;

/// A datagram of a flow that asks for traffic back.
fn datagram(kind: Generation, mode: Mode, port: u16, id: i64) -> Vec<u8> {
    forged::datagram(kind, mode, port, PACKETS_PER_S, id)
}

/// Bytes sent in the name of an address, and bytes that it got.
fn forge(victim: &Victim<'_>, kind: Generation, mode: Mode) -> (usize, usize) {
    let (asks, back) = (victim.socket(), victim.socket());
    let port = back.local_addr().unwrap().port();
    let mut sent = 0;
    for id in [kind.first_id(), -2, -2, -2] {
        let bytes = datagram(kind, mode, port, id);
        sent += asks.send_to(&bytes, victim.at(TWO)).unwrap();
    }
    (sent, bytes_that_come(&[&asks, &back], ENOUGH))
}

#[test]
fn a_forged_start_makes_a_node_send_no_more_than_it_got() {
    let Some(lab) = lab("wlf") else { return };
    let kinds = [
        Generation::V205,
        Generation::V2010,
        Generation::V2013,
        Generation::Wide,
    ];
    let modes = [Mode::Dual, Mode::Tradeoff, Mode::Reverse, Mode::FullDuplex];
    for kind in kinds {
        let node = Victim::node(&lab, Side::Node, &[]);
        for mode in &modes[..if kind == Generation::Wide { 4 } else { 2 }] {
            let (sent, came) = forge(&node, kind, *mode);
            assert!(came <= sent, "{kind:?} {mode:?}: {came} bytes for {sent}");
        }
        node.must_rest("forged starts");
        // Who has shown over TCP that it receives gets what it asks for.
        drop(node.connect(TWO).unwrap());
        let until = Instant::now() + attacks_common::PATIENCE;
        loop {
            let (sent, came) = forge(&node, kind, Mode::Dual);
            if came > 10 * sent {
                break;
            }
            assert!(Instant::now() < until, "{kind:?}: {came} bytes for {sent}");
        }
    }
}

#[test]
fn our_clients_show_that_they_receive() {
    let Some(lab) = lab("wlp") else { return };
    for options in [&["-r"][..], &["-d"], &["-R"], &["--full-duplex"]] {
        let node = Victim::node(&lab, Side::Node, &[]);
        let host = node.address().to_string();
        let mut args = vec!["iperf", "-c", &host, "-u", "-b", "2m", "-t", "1", "--json"];
        args.extend(options);
        let output = node.wirelab(&args);
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {told}");
        let outcome: serde_json::Value = serde_json::from_str(&told).unwrap();
        let legs = outcome["legs"].as_array().unwrap();
        let back = legs.iter().find(|leg| leg["direction"] == "received");
        let back = back.unwrap_or_else(|| panic!("{options:?}: {told}"));
        assert!(
            back["bytes"].as_u64().unwrap() > 100_000,
            "{options:?}: {told}"
        );
    }
}

#[test]
fn with_a_token_a_stranger_gets_nothing_of_iperf_either() {
    let Some(lab) = lab("wlk") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "a token of the tests\n").unwrap();
    let file = file.to_str().unwrap();
    let node = Victim::node(&lab, Side::Node, &["--token", file]);
    let host = node.address().to_string();
    let asked = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        let shared = [
            "--layer",
            "udp4",
            "--datagram",
            "200",
            "--load",
            "1kpps",
            "--frames",
            "100",
        ];
        command.args(["measure", name]).args(shared);
        command.args(["--direction", "rx,tx"]);
        let spawned = lab.netns(Side::Tester).unwrap().spawn(
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped()),
        );
        spawned.unwrap().wait_with_output().unwrap()
    };
    drop(node.connect(TWO));
    let (sent, came) = forge(&node, Generation::Wide, Mode::Dual);
    assert!(
        came <= sent,
        "{came} bytes for {sent}, after a TCP handshake"
    );
    for kind in ["node", "iperf"] {
        let output = asked(&format!("{kind}:{host}"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{kind}: {told}");
        if kind == "node" {
            assert!(told.contains(",token=FILE"), "{told}");
        }
    }
    for kind in ["node", "iperf"] {
        let output = asked(&format!("{kind}:{host},token={file}"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{kind}: {told}");
    }
    node.must_rest("strangers without the token");
}

#[test]
fn held_connections_and_slow_lines_keep_nobody_out() {
    let Some(lab) = lab("wlh") else { return };
    let node = Victim::node(&lab, Side::Node, &[]);
    for port in PORTS {
        let mut held: Vec<TcpStream> = (0..300).filter_map(|_| node.connect(port)).collect();
        let whole = opening(port);
        for (n, stream) in held.iter_mut().enumerate() {
            // Silent ones, and such that stop in the middle of what they say.
            write(stream, &whole[..n % 4 * whole.len() / 5]);
        }
        node.must_be_bounded("held connections", 200);
        for port in PORTS {
            node.must_serve(port, "held connections");
        }
        drop(held);
        node.must_rest("held connections");
    }
    for port in PORTS {
        let whole = opening(port);
        let mut slow: Vec<TcpStream> = (0..20).filter_map(|_| node.connect(port)).collect();
        for byte in whole.chunks(1).take(whole.len() - 1) {
            for stream in &mut slow {
                write(stream, byte);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        node.must_be_bounded("slow lines", 200);
        for port in PORTS {
            node.must_serve(port, "slow lines");
        }
        drop(slow);
        node.must_rest("slow lines");
    }
}

#[test]
fn connections_that_go_on_trickling_keep_nobody_out() {
    let Some(lab) = lab("wlt") else { return };
    let node = Victim::node(&lab, Side::Node, &[]);
    for port in [TWO, CONTROL] {
        let whole = opening(port);
        let mut slow: Vec<TcpStream> = (0..100).filter_map(|_| node.connect(port)).collect();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for byte in whole.iter().cycle() {
                    slow.iter_mut().for_each(|stream| write(stream, &[*byte]));
                    std::thread::sleep(Duration::from_millis(200));
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            let _over = Over(&over);
            node.must_serve(port, "trickling connections");
        });
        node.must_rest("trickling connections");
    }
}

#[test]
fn a_node_sends_no_faster_than_it_may_whatever_asks() {
    let Some(lab) = lab("wlx") else { return };
    let node = Victim::node(&lab, Side::Node, &["--max-rate", "10M"]);
    let host = node.address().to_string();
    let cases: [&[&str]; 5] = [
        &["-R"],
        &["-R", "-P", "8", "-l", "16K"],
        &["-u", "-R", "-b", "100m", "-P", "4"],
        &["-3", "-R"],
        &["-3", "-u", "-R", "-b", "500M", "-P", "2"],
    ];
    for options in cases {
        drop(node.connect(TWO));
        let (_, before) = node.traffic();
        let mut args = vec!["iperf", "-c", &host, "-t", "2"];
        args.extend(options);
        let begun = Instant::now();
        let output = node.wirelab(&args);
        let told = String::from_utf8_lossy(&output.stdout);
        let (_, after) = node.traffic();
        let most_s = begun.elapsed().as_secs_f64();
        let sent = (after - before) as f64 * 8.0;
        // Headers of frames come on top, and a sender's first burst.
        assert!(
            sent < 1.3 * 10e6 * most_s,
            "{options:?}: {sent} bits in {most_s} s: {told}"
        );
        assert!(sent > 1e6, "{options:?}: nothing came: {told}");
    }
}

#[test]
fn a_cut_at_any_state_ends_that_test_alone() {
    let Some(lab) = lab("wlc") else { return };
    let node = Victim::node(&lab, Side::Node, &[]);
    let host = node.address().to_string();
    for port in PORTS {
        let whole = opening(port);
        for end in 0..=whole.len() {
            let Some(mut stream) = node.connect(port) else {
                continue;
            };
            write(&mut stream, &whole[..end]);
            match end % 2 {
                0 => reset(stream),
                _ => drop(stream),
            }
        }
        node.must_serve(port, "cut openings");
    }
    let clients: [&[&str]; 5] = [
        &["iperf", "-c", &host, "-t", "5", "-r"],
        &["iperf", "-c", &host, "-t", "5", "-u", "-d", "-b", "5M"],
        &["iperf", "-3", "-c", &host, "-t", "5"],
        &["iperf", "-3", "-c", &host, "-t", "5", "-u", "-R"],
        &[
            "measure",
            &format!("node:{host}"),
            "--layer",
            "udp4",
            "--direction",
            "tx",
            "--datagram",
            "100",
            "--load",
            "1kpps",
            "--time",
            "5s",
        ],
    ];
    for args in clients {
        for bytes in [1, 100, 300, 500, 1000, 2000, 10_000] {
            node.client_killed_after(args, bytes);
        }
    }
    for port in PORTS {
        node.must_serve(port, "killed clients");
    }
    node.must_rest("cuts");
}

/// One of the seeds with a few bytes changed or the end cut off.
fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..random.below(3) {
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

#[test]
fn a_hundred_thousand_mutated_datagrams_get_no_more_than_they_bring() {
    let Some(lab) = lab("wlm") else { return };
    let node = Victim::node(&lab, Side::Node, &[]);
    let kinds = [
        Generation::V205,
        Generation::V2010,
        Generation::V2013,
        Generation::Wide,
    ];
    let two = kinds.iter().flat_map(|kind| {
        let ids = [kind.first_id(), 1, -2];
        ids.map(|id| datagram(*kind, Mode::Dual, 9, id))
    });
    let lines = [
        "?0.1 hello version=1\n",
        "?0.2 hello version=1\n",
        "?0.3 hello version=1 pad=----\n",
        "?1.1 status\n",
    ];
    let control = lines.iter().map(|line| line.as_bytes().to_vec());
    let attacks: [(u16, usize, Vec<Vec<u8>>); 3] = [
        (TWO, 60_000, two.collect()),
        (CONTROL, 35_000, control.collect()),
        (THREE, 5_000, vec![0x3938_3736u32.to_be_bytes().to_vec()]),
    ];
    let mut random = Random(88_172_645_463_325_252);
    let sockets: Vec<UdpSocket> = (0..100).map(|_| node.socket()).collect();
    for (port, number, seeds) in attacks {
        let (before_in, before_out) = node.traffic();
        for n in 0..number {
            let bytes = mutated(&seeds, &mut random);
            let _ = sockets[n % sockets.len()].send_to(&bytes, node.at(port));
        }
        std::thread::sleep(Duration::from_secs(1));
        let (after_in, after_out) = node.traffic();
        let (came, left) = (after_in - before_in, after_out - before_out);
        let least = 40 * number as u64;
        assert!(came > least, "{came} bytes: the attack did not arrive");
        // Port 5201 takes no datagrams between two tests, and the host says so.
        assert!(
            left <= came || port == THREE,
            "port {port}: {left} bytes for {came}"
        );
    }
    drop(sockets);
    for port in PORTS {
        node.must_serve(port, "mutated datagrams");
    }
    node.must_rest("mutated datagrams");
}

/// Send a datagram as if the server of a port on the attacker's side had.
fn in_the_name_of(port: u16, to: (Ipv4Addr, u16), payload: &[u8]) {
    let raw = socket(
        AddressFamily::Inet,
        SockType::Raw,
        SockFlag::empty(),
        SockProtocol::Udp,
    )
    .unwrap();
    // RFC 768; a checksum of 0 stands for none.
    let length = (8 + payload.len()) as u16;
    let head = [
        port.to_be_bytes(),
        to.1.to_be_bytes(),
        length.to_be_bytes(),
        [0; 2],
    ]
    .concat();
    let address = SockaddrIn::from(std::net::SocketAddrV4::new(to.0, 0));
    let datagram = [&head[..], payload].concat();
    sendto(
        std::os::fd::AsRawFd::as_raw_fd(&raw),
        &datagram,
        &address,
        MsgFlags::empty(),
    )
    .unwrap();
}

#[test]
fn two_servers_do_not_talk_to_each_other() {
    let Some(lab) = lab("wlo") else { return };
    let one = Victim::node(&lab, Side::Node, &[]);
    let other = Victim::node(&lab, Side::Tester, &[]);
    // Each may send to the other.
    drop((one.connect(TWO), other.connect(TWO)));
    let mut payloads: Vec<(u16, Vec<u8>)> = Vec::new();
    for kind in [Generation::V205, Generation::V2010, Generation::Wide] {
        for id in [kind.first_id(), 1, -2] {
            payloads.push((TWO, datagram(kind, Mode::Forward, 5001, id)));
        }
    }
    for line in [
        "?0.1 hello version=1\n",
        "?9.1 status\n",
        "!0.0 bad-line\n",
        "=0.1 hello\n",
    ] {
        payloads.push((CONTROL, line.as_bytes().to_vec()));
    }
    let filled = format!("?0.1 hello version=1 pad={:-<470}\n", "");
    payloads.push((CONTROL, filled.into_bytes()));
    let before = one.frames_sent() + other.frames_sent();
    let mut forged = 0;
    for (port, payload) in &payloads {
        for (from, to) in [(TWO, *port), (CONTROL, *port)] {
            one.on_their_side(|| in_the_name_of(from, (one.address(), to), payload));
            forged += 1;
        }
    }
    std::thread::sleep(Duration::from_secs(3));
    let sent = one.frames_sent() + other.frames_sent() - before;
    // The forged ones themselves, an answer to each, at most one more, and what finds the neighbour.
    assert!(sent <= 3 * forged + 20, "{sent} frames for {forged}");
    let before = one.frames_sent();
    std::thread::sleep(Duration::from_secs(1));
    assert!(one.frames_sent() - before < 10, "they still talk");
    one.must_rest("loops");
    other.must_rest("loops");
}

#[test]
fn a_server_out_of_descriptors_serves_again() {
    let Some(lab) = lab("wld") else { return };
    let address = lab.address(0, Side::Node).to_string();
    let program = env!("CARGO_BIN_EXE_wirelab");
    let servers: [(&str, &[u16]); 3] = [
        ("node serve --json --listen", &PORTS),
        ("iperf -s -B", &[TWO]),
        ("iperf -3 -s -B", &[THREE]),
    ];
    for (arguments, ports) in servers {
        let script = format!("ulimit -n 48; exec {program} {arguments} {address}");
        let server = Victim::start(&lab, Side::Node, Command::new("sh").args(["-c", &script]));
        let mut held = Vec::new();
        for port in ports {
            held.extend((0..60).filter_map(|_| server.connect(*port)));
        }
        let before = server.cost().processor_ms;
        std::thread::sleep(Duration::from_secs(1));
        let spent_ms = server.cost().processor_ms - before;
        assert!(
            spent_ms < 300,
            "{arguments}: {spent_ms} ms in a second without descriptors"
        );
        drop(held);
        for port in ports {
            server.must_serve(*port, "no descriptors");
        }
        server.must_rest("no descriptors");
    }
}

#[test]
fn iperf_servers_of_ours_stand_the_same() {
    let Some(lab) = lab("wli") else { return };
    for (options, port) in [(&[][..], TWO), (&["-3"][..], THREE)] {
        let server = Victim::iperf(&lab, Side::Node, options);
        let whole = opening(port);
        for end in 0..=whole.len() {
            if let Some(mut stream) = server.connect(port) {
                write(&mut stream, &whole[..end]);
                reset(stream);
            }
        }
        let mut held: Vec<TcpStream> = (0..300).filter_map(|_| server.connect(port)).collect();
        for (n, stream) in held.iter_mut().enumerate() {
            write(stream, &whole[..n % 4 * whole.len() / 5]);
        }
        server.must_be_bounded("held connections", 200);
        server.must_serve(port, "held connections");
        drop(held);
        let mut random = Random(362_436_069);
        let socket = server.socket();
        for _ in 0..20_000 {
            let mut bytes = datagram(Generation::Wide, Mode::Forward, 9, -2);
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
            let _ = socket.send_to(&bytes, server.at(port));
        }
        server.must_serve(port, "mutated datagrams");
        server.must_rest(&format!("all of it at port {port}"));
    }
}
