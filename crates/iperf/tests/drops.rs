//! What this host's own queues drop is never a loss of the path: iperf 2 and iperf3, either role, over IPv4 and IPv6,
//! joined or not. Loopback loses nothing, and what was sent is known.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::v2_common::{Ours, our_client, time};
use wirelab_iperf::v2::{ClientConfig, Head, IdWidth, Leg, Mode, Protocol, Rate, ServerConfig};
use wirelab_iperf::v3::{Client, Parameters, Server, TestOutcome, report};
use wirelab_iperf::{SendOptions, SocketOptions};
use wirelab_socket::Batch;
use wirelab_trial::Cancel;

use crate::v2_common;

/// A queue for so few datagrams that it overflows.
const WINDOW: u32 = 20_000;
const LENGTH: u32 = 500;

fn families() -> impl Iterator<Item = (&'static str, bool)> {
    let there = |ip: &&str| UdpSocket::bind((*ip, 0)).is_ok();
    let ips = ["127.0.0.1", "::1"].into_iter().filter(there);
    ips.flat_map(|ip| [(ip, true), (ip, false)])
}

fn sending(segmentation: bool) -> SendOptions {
    SendOptions {
        segmentation,
        ..SendOptions::DEFAULT
    }
}

/// A second without pace: what the receiver saw.
fn iperf3(ip: &str, segmentation: bool, reverse: bool) -> TestOutcome {
    let mut server = Server::bind(format!("{}:0", bracketed(ip)).parse().unwrap()).unwrap();
    server.set_sending(sending(segmentation));
    let client = Client {
        server: server.local_addr(),
        parameters: Parameters {
            seconds: 1,
            length_bytes: LENGTH,
            rate_bit_s: 0,
            window_bytes: WINDOW,
            reverse,
            ..Parameters::udp()
        },
        interval: Duration::from_millis(200),
        sending: sending(segmentation),
        options: SocketOptions::NONE,
        connect_timeout: wirelab_iperf::v3::CONNECT_TIMEOUT,
        credentials: None,
    };
    let asking = thread::spawn(move || client.run(&Cancel::new()).unwrap());
    let served = server.serve_one(&Cancel::new()).unwrap();
    let asked = asking.join().unwrap();
    assert_eq!((&served.failure, &asked.failure), (&None, &None));
    if reverse { asked } else { served }
}

fn bracketed(ip: &str) -> String {
    match ip.contains(':') {
        true => format!("[{ip}]"),
        false => ip.to_owned(),
    }
}

#[test]
fn what_a_receiver_of_iperf3_dropped_itself_is_no_loss() {
    for (ip, segmentation) in families() {
        for reverse in [false, true] {
            let what = format!("{ip}, segmented: {segmentation}, reverse: {reverse}");
            let outcome = iperf3(ip, segmentation, reverse);
            let seen = outcome.streams[0].counted.received;
            assert!(
                seen.lost_or_missed > 0,
                "{what}: nothing was dropped: {seen:?}"
            );
            assert_eq!((seen.lost, seen.shown_lost()), (0, 0), "{what}: {seen:?}");
            assert!(seen.peer_lost > 0, "{what}: the peer gets iperf3's count");
            assert!(seen.missed_note().is_some());
            let json = report::to_json(&outcome);
            assert_eq!(json["end"]["sum"]["lost_packets"], 0, "{what}");
            let ours = &json["end"]["wirelab"]["streams"][0];
            assert_eq!(ours["lost_or_missed"], seen.lost_or_missed);
            for line in json["intervals"].as_array().unwrap() {
                assert_eq!(line["sum"]["lost_packets"], 0, "{what}: {line}");
            }
        }
    }
}

/// Every so many numbers one is never sent: lost on the way, as far as a receiver can tell.
const GAP: i64 = 20;
const NUMBERS: i64 = 20_000;

/// At the highest rate, then slowly, so that the last ones arrive.
fn send_with_gaps(socket: &UdpSocket, segmented: bool) -> u64 {
    let numbers: Vec<i64> = (1..NUMBERS).filter(|id| id % GAP != 0).collect();
    let mut batch = Batch::new(LENGTH as usize, 100, segmented);
    let mut send = |ids: &[i64]| {
        for (at, id) in ids.iter().enumerate() {
            let head = Head {
                id: *id,
                seconds: 1,
                microseconds: 0,
            };
            head.emit(batch.slot_mut(at), IdWidth::Narrow);
        }
        let mut sent = 0;
        while sent < ids.len() {
            sent += batch.send(socket, None, sent..ids.len()).unwrap();
        }
    };
    let (fast, slow) = numbers.split_at(numbers.len() - 20);
    fast.chunks(100).for_each(&mut send);
    for id in slow {
        thread::sleep(Duration::from_millis(10));
        send(&[*id]);
    }
    ((NUMBERS - 1) / GAP) as u64
}

#[test]
fn the_bounds_of_a_server_of_iperf_2_hold_what_was_lost_on_the_way() {
    for (ip, segmented) in families() {
        let config = ServerConfig {
            window_bytes: Some(WINDOW),
            ..ServerConfig::default()
        };
        let ours = Ours::start(ip, config);
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        socket.connect(ours.server.udp_address()).unwrap();
        let lost = send_with_gaps(&socket, segmented);
        let mut last = [0; LENGTH as usize];
        let head = Head {
            id: -NUMBERS,
            seconds: 1,
            microseconds: 0,
        };
        head.emit(&mut last, IdWidth::Narrow);
        socket.send(&last).unwrap();
        let Leg::UdpReceived(seen) = ours.next_leg() else {
            panic!("datagrams were sent");
        };
        let seen = seen.received;
        let what = format!("{ip}, segmented: {segmented}: {seen:?}");
        assert!(
            seen.lost + seen.unseen_by_us() > lost,
            "nothing dropped: {what}"
        );
        let bounds = seen.lost..=seen.lost + seen.lost_or_missed;
        assert!(bounds.contains(&lost), "{lost}: {what}");
    }
}

#[test]
fn what_a_client_of_iperf_2_dropped_itself_is_no_loss() {
    for (ip, segmentation) in families() {
        let ours = Ours::start(
            ip,
            ServerConfig {
                sending: sending(segmentation),
                ..ServerConfig::default()
            },
        );
        let (outcome, rows) = our_client(&ClientConfig {
            mode: Mode::Reverse,
            rate: Rate::BitsPerS(5_000_000_000),
            length_bytes: Some(LENGTH),
            window_bytes: Some(WINDOW),
            amount: time(100),
            interval: Duration::from_millis(200),
            ..ClientConfig::new(ours.server.udp_address(), Protocol::Udp)
        });
        let [(id, leg @ Leg::UdpReceived(seen))] = &outcome.legs[..] else {
            panic!("{outcome:?}");
        };
        let what = format!("{ip}, segmented: {segmentation}: {:?}", seen.received);
        assert!(seen.received.unseen_by_us() > 0, "nothing dropped: {what}");
        assert_eq!(seen.received.lost, 0, "{what}");
        assert_eq!(leg.row(*id).datagrams.unwrap().lost, 0);
        assert!(leg.notes()[0].contains("this host was too slow"), "{what}");
        assert!(!rows.is_empty());
        assert!(
            rows.iter().all(|row| row.datagrams.unwrap().lost == 0),
            "{what}"
        );
    }
}

/// A server of iperf 2 as it may be: it answers the first datagram of `-d` with a flow in which one number in `GAP` is never
/// sent, so slowly that the client's queue has room for it. What is lost on the way, and the flow's end, as far as a
/// client can tell.
fn answer_with_gaps(server: &UdpSocket, back_port: u16, over: &AtomicBool) {
    let mut first = [0; 2000];
    let (_, from) = server.recv_from(&mut first).unwrap();
    let client = (from.ip(), back_port);
    let send = |id: i64| {
        let mut datagram = [0; LENGTH as usize];
        let head = Head {
            id,
            seconds: 1,
            microseconds: 0,
        };
        head.emit(&mut datagram, IdWidth::Narrow);
        server.send_to(&datagram, client).unwrap();
    };
    for id in (1..SLOW_NUMBERS).filter(|id| id % GAP != 0) {
        send(id);
        thread::sleep(Duration::from_micros(500));
    }
    over.store(true, Ordering::Relaxed);
    // After the flood the queue has room.
    thread::sleep(Duration::from_millis(300));
    send(SLOW_NUMBERS);
    send(-SLOW_NUMBERS - 1);
}

const SLOW_NUMBERS: i64 = 1_000;

#[test]
fn what_a_client_of_iperf_2_dropped_of_strangers_hides_no_loss() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server_address = server.local_addr().unwrap();
    let back_port = v2_common::free_port();
    let config = ClientConfig {
        mode: Mode::Dual,
        listen_port: back_port,
        length_bytes: Some(LENGTH),
        window_bytes: Some(WINDOW),
        amount: time(1500),
        ..ClientConfig::new(server_address, Protocol::Udp)
    };
    let over = AtomicBool::new(false);
    let (outcome, _) = thread::scope(|scope| {
        let answering = scope.spawn(|| answer_with_gaps(&server, back_port, &over));
        scope.spawn(|| {
            let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
            while !over.load(Ordering::Relaxed) {
                // More at once than the queue holds; before the client listens nobody takes them.
                for _ in 0..200 {
                    let _ = stranger.send_to(&[0; 1400], ("127.0.0.1", back_port));
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let asked = scope.spawn(|| our_client(&config));
        answering.join().unwrap();
        asked.join().unwrap()
    });
    let mut legs = outcome.legs.iter().map(|(_, leg)| leg);
    let Some(Leg::UdpReceived(udp)) = legs.find(|leg| !leg.is_sent()) else {
        panic!("{outcome:?}");
    };
    let (seen, lost) = (udp.received, (SLOW_NUMBERS / GAP) as u64 - 1);
    assert!(seen.unseen_by_us() > 0, "nothing dropped: {seen:?}");
    // The last number is one of the gaps that was sent after all.
    let bounds = seen.lost..=seen.lost + seen.lost_or_missed;
    assert!(bounds.contains(&lost), "{lost}: {seen:?}");
    assert_eq!(seen.missed, 0, "none is certain: {seen:?}");
    let notes = udp.notes().join("\n");
    assert!(notes.contains("of others"), "{notes}");
}
