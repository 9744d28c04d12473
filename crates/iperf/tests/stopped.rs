//! A host that stops its sender and its receiver: both say so, for iperf 2 and iperf3, over UDP and TCP, at any load.
//!
//! One test, since it stops its own process.

use std::process::{Child, Command};
use std::thread;

use crate::v2_common::{Ours, our_client, time};
use crate::v3_common::ask;
use wirelab_iperf::v2::{ClientConfig, Leg, Mode, Protocol, Rate, ServerConfig};
use wirelab_iperf::v3::{Parameters, Server, StreamOutcome};
use wirelab_trial::Cancel;

/// Less than the second of the stop, of which a sender makes up for 100 ms.
const SEEN_NS: u64 = 800_000_000;
const LENGTH: u32 = 500;
/// A datagram or a write each ms.
const RATE_BIT_S: u64 = 4_000_000;

/// Stops this process for a second, a second from now.
fn stop_for_a_second() -> Child {
    let own = std::process::id();
    let stop = format!("sleep 1; kill -STOP {own}; sleep 1; kill -CONT {own}");
    Command::new("sh").args(["-c", &stop]).spawn().unwrap()
}

/// For how long sender and receiver of a run of 3 s were held up, in ns.
type Held = (u64, u64);

/// Our two ends of iperf 2: what has a rate comes back from the server, at full rate the client sends.
fn iperf2(protocol: Protocol, rate: Rate) -> Held {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let server = match protocol {
        Protocol::Tcp => ours.server.tcp_address(),
        Protocol::Udp => ours.server.udp_address(),
    };
    let (outcome, _) = our_client(&ClientConfig {
        mode: match rate {
            Rate::Max => Mode::Forward,
            _ => Mode::Reverse,
        },
        rate,
        length_bytes: Some(LENGTH),
        amount: time(300),
        ..ClientConfig::new(server, protocol)
    });
    let [(_, leg)] = &outcome.legs[..] else {
        panic!("{outcome:?}");
    };
    let (mut sent, mut received) = (0, 0);
    for leg in [leg, &ours.next_leg()] {
        match leg {
            Leg::UdpSent(udp) => sent = udp.slipped_ns + udp.holds.held_ns,
            Leg::TcpSent { pace, holds, .. } => {
                sent = pace.as_ref().map_or(0, |pace| pace.slipped_ns) + holds.held_ns;
            }
            Leg::UdpReceived(udp) => received = udp.held_up_ns.unwrap(),
            Leg::TcpReceived { held_up_ns, .. } => received = held_up_ns.unwrap(),
        }
    }
    (sent, received)
}

/// Our client of iperf3 sends to our server.
fn iperf3(udp: bool, rate_bit_s: u64) -> Held {
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    let parameters = Parameters {
        udp,
        seconds: 3,
        length_bytes: LENGTH,
        rate_bit_s,
        ..Parameters::udp()
    };
    let asking = thread::spawn(move || ask(address, parameters).unwrap());
    let served = server.serve_one(&Cancel::new()).unwrap();
    let asked = asking.join().unwrap();
    let held = |stream: &StreamOutcome| stream.slipped_ns + stream.holds.held_ns;
    (held(&asked.streams[0]), held(&served.streams[0]))
}

fn stopped<T>(run: impl FnOnce() -> T) -> T {
    let mut stopper = stop_for_a_second();
    let told = run();
    assert!(stopper.wait().unwrap().success());
    told
}

#[test]
fn a_process_that_is_stopped_is_seen_by_its_sender_and_its_receiver() {
    let rate = Rate::BitsPerS(RATE_BIT_S);
    let paced = stopped(|| {
        thread::scope(|scope| {
            [
                scope.spawn(|| iperf2(Protocol::Udp, rate)),
                scope.spawn(|| iperf2(Protocol::Tcp, rate)),
                scope.spawn(|| iperf3(true, RATE_BIT_S)),
                scope.spawn(|| iperf3(false, RATE_BIT_S)),
            ]
            .map(|run| run.join().unwrap())
        })
    });
    let full = [
        stopped(|| iperf2(Protocol::Udp, Rate::Max)),
        stopped(|| iperf2(Protocol::Tcp, Rate::Max)),
        stopped(|| iperf3(true, 0)),
        stopped(|| iperf3(false, 0)),
    ];
    let names = ["iperf 2 UDP", "iperf 2 TCP", "iperf3 UDP", "iperf3 TCP"];
    for (load, runs) in [("paced", paced), ("max", full)] {
        for (name, (sent, received)) in names.iter().zip(runs) {
            let told = format!("{name}, {load}: sender {sent} ns, receiver {received} ns");
            assert!(sent >= SEEN_NS && received >= SEEN_NS, "{told}");
            // How long the stop was on this host, both saw.
            assert!(sent < 2 * received, "{told}");
        }
    }
}
