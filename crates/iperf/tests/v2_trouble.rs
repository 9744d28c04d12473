//! Bad days: datagrams lost, doubled and swapped on the way, and peers that vanish in the middle of a test.

use std::collections::HashSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirelab_iperf::v2::{
    ClientConfig, Head, IdWidth, Leg, Protocol, Rate, Sent, ServerConfig, Trouble, UdpReceived,
};

use crate::v2_common::{Ours, has_iperf, lost_and_total, our_client, real_client, time};

/// A proxy between one client and a server that drops every 7th datagram, doubles every 5th, and swaps 12 and 13.
struct FaultyProxy {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<HashSet<i64>>>,
}

impl FaultyProxy {
    fn to(server: SocketAddr) -> FaultyProxy {
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = near.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = Some(std::thread::spawn(move || run(&near, server, &flag)));
        FaultyProxy {
            address,
            stop,
            thread,
        }
    }

    /// The numbers of the datagrams that were dropped.
    fn dropped(mut self) -> HashSet<i64> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn run(near: &UdpSocket, server: SocketAddr, stop: &AtomicBool) -> HashSet<i64> {
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    far.connect(server).unwrap();
    near.set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    far.set_nonblocking(true).unwrap();
    let (mut buf, mut held, mut client) = (vec![0; 2000], None, None);
    let mut dropped = HashSet::new();
    while !stop.load(Ordering::Relaxed) {
        if let (Ok(len), Some(client)) = (far.recv(&mut buf), client) {
            near.send_to(&buf[..len], client).unwrap();
        }
        let Ok((len, from)) = near.recv_from(&mut buf) else {
            continue;
        };
        client = Some(from);
        let id = Head::parse(&buf[..len], IdWidth::Wide).unwrap().id;
        match id {
            12 => held = Some(buf[..len].to_vec()),
            id if id > 0 && id % 7 == 0 => {
                dropped.insert(id);
            }
            id => {
                far.send(&buf[..len]).unwrap();
                if id > 0 && id % 5 == 0 {
                    far.send(&buf[..len]).unwrap();
                }
            }
        }
        if id == 13 {
            far.send(&held.take().unwrap()).unwrap();
        }
    }
    dropped
}

fn received(ours: &Ours) -> UdpReceived {
    let (legs, _) = ours.legs(1);
    match &legs[0].0 {
        Leg::UdpReceived(udp) => (**udp).clone(),
        other => panic!("{other}"),
    }
}

/// wirelab's figures show what the path did, and `told` the result of iperf's arithmetic.
fn check(udp: &UdpReceived, dropped: &HashSet<i64>, told: (u64, u64)) {
    let highest = udp.received.sent() as i64;
    let lost = dropped.iter().filter(|id| **id <= highest).count() as u64;
    assert!(udp.received.duplicated >= 5, "{udp:?}");
    assert_eq!(
        (udp.received.lost, udp.received.reordered),
        (lost, 1),
        "{udp:?}"
    );
    // The last ones may have been dropped: then they look like final datagrams.
    assert_eq!(udp.unattributed, dropped.len() as u64 - lost);
    let hidden = udp.received.duplicated + udp.received.reordered;
    let peers = (dropped.len() as u64 + 1).saturating_sub(hidden);
    assert_eq!(told.0, peers, "{udp:?}");
    assert_eq!(told.1, udp.received.sent() + udp.unattributed + 1);
}

#[test]
fn losses_are_not_hidden_from_a_real_client() {
    if !has_iperf() {
        return;
    }
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let proxy = FaultyProxy::to(ours.server.udp_address());
    let text = real_client(proxy.address.port(), "-u -n 40000 -l 500 -b 1M");
    let udp = received(&ours);
    check(&udp, &proxy.dropped(), lost_and_total(&text));
}

fn sent(config: &ClientConfig) -> (Sent, Option<Trouble>) {
    let (outcome, _) = our_client(config);
    match &outcome.legs[..] {
        [(_, Leg::UdpSent(sent))] => ((**sent).clone(), outcome.trouble),
        other => panic!("{other:?}"),
    }
}

#[test]
fn losses_are_not_hidden_from_our_client() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let proxy = FaultyProxy::to(ours.server.udp_address());
    let (sent, trouble) = sent(&ClientConfig {
        amount: time(30),
        rate: Rate::PacketsPerS(200),
        ..ClientConfig::new(proxy.address, Protocol::Udp)
    });
    assert!(trouble.is_none(), "{trouble:?}");
    let report = sent.report.expect("a report");
    check(
        &received(&ours),
        &proxy.dropped(),
        (report.lost, report.datagrams),
    );
}

/// A client that runs for an hour unless the server goes away, which it does after a second and more.
fn until_the_server_vanishes(protocol: Protocol) -> (Vec<Leg>, Option<Trouble>) {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let server = match protocol {
        Protocol::Udp => ours.server.udp_address(),
        Protocol::Tcp => ours.server.tcp_address(),
    };
    let config = ClientConfig {
        amount: time(360_000),
        rate: Rate::PacketsPerS(500),
        length_bytes: Some(500),
        ..ClientConfig::new(server, protocol)
    };
    let client = std::thread::spawn(move || our_client(&config).0);
    std::thread::sleep(Duration::from_millis(1200));
    drop(ours);
    let outcome = client.join().unwrap();
    (
        outcome.legs.into_iter().map(|(_, leg)| leg).collect(),
        outcome.trouble,
    )
}

#[test]
fn a_server_that_vanishes_leaves_what_was_measured() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let (legs, trouble) = until_the_server_vanishes(protocol);
        let bytes = match &legs[..] {
            [Leg::UdpSent(sent)] => sent.bytes,
            [Leg::TcpSent { bytes, .. }] => *bytes,
            other => panic!("{other:?}"),
        };
        assert!(bytes > 10_000, "{protocol:?}: {bytes}");
        let trouble = trouble.expect("it is gone").to_string();
        assert!(
            trouble.contains("the figures are those until then"),
            "{trouble}"
        );
    }
}

#[test]
fn a_client_that_vanishes_ends_its_flow() {
    // Longer than a busy host leaves the one that sends without a core.
    let quiet = Duration::from_secs(3);
    let ours = Ours::start(
        "127.0.0.1",
        ServerConfig {
            quiet,
            ..ServerConfig::default()
        },
    );
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    for id in 1..=5 {
        let mut datagram = [0; 100];
        let head = Head {
            id,
            seconds: 1,
            microseconds: id as u32,
        };
        head.emit(&mut datagram, IdWidth::Narrow);
        client
            .send_to(&datagram, ours.server.udp_address())
            .unwrap();
    }
    drop(client);
    let udp = received(&ours);
    assert_eq!((udp.received.sent(), udp.finished), (5, false));
}
