//! Drops of this host are never a loss of the path: over IPv4 and IPv6, joined or not.

use std::net::UdpSocket;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use wirelab_socket::udp::{self, Drops};
use wirelab_socket::{Expect, FlowProgress, Offer, Receiver};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Extent};

const BYTES: u32 = 512;
const SENT: u64 = 20_000;

fn pair(ip: &str) -> Option<(UdpSocket, UdpSocket)> {
    // A host without IPv6 has no such counters.
    let to = UdpSocket::bind((ip, 0)).ok()?;
    let from = UdpSocket::bind((ip, 0)).ok()?;
    from.connect(to.local_addr().unwrap()).unwrap();
    setsockopt(&to, sockopt::RcvBuf, &100_000).unwrap();
    Some((from, to))
}

/// Full speed in buffers of many datagrams, without a receiver.
fn overflow(from: &UdpSocket) {
    let offer = Offer {
        stream: 7,
        datagram_bytes: BYTES,
        pace: Pace::Max,
        extent: Extent::Frames { frames: SENT },
        with_time: false,
        node_clock: false,
    };
    let sent = udp::send(from, &offer, &FlowProgress::default(), &Cancel::new()).unwrap();
    assert_eq!(sent.report.sequences, SENT);
    assert!(sent.failure.is_none() && sent.segmented);
}

#[test]
fn the_bounds_of_what_a_queue_dropped_hold_the_truth() {
    for (ip, joined) in ["127.0.0.1", "::1"]
        .into_iter()
        .flat_map(|ip| [(ip, true), (ip, false)])
    {
        let Some((from, to)) = pair(ip) else { continue };
        let mut receiver = match joined {
            true => Receiver::joining(&to, 16),
            false => Receiver::new(64, 2048),
        };
        let before = Drops::of(&to);
        overflow(&from);
        let dropped = Drops::of(&to).since(before);
        to.set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let mut came = 0;
        while let Ok(datagrams) = receiver.receive(&to) {
            came += datagrams.count() as u64;
        }
        let missing = SENT - came;
        assert!(missing > 0, "{ip} {joined}: the queue held it all");
        let missed = dropped.datagrams(BYTES, joined, false);
        let range = missed.at_least..=missed.at_most;
        assert!(
            range.contains(&missing),
            "{ip} {joined}: {missing}, {missed:?}"
        );
        if joined {
            assert!(
                missed.at_least < missing,
                "{ip}: a buffer holds many, {missed:?}"
            );
        } else {
            assert_eq!(missed.at_least, missing, "{ip}: each datagram counts");
        }
        let foreign = dropped.datagrams(BYTES, joined, true);
        assert_eq!((foreign.at_least, foreign.at_most), (0, missed.at_most));
    }
}

#[test]
fn a_flow_that_came_before_the_receiver_started_has_no_loss() {
    for (ip, captures) in ["127.0.0.1", "::1"]
        .into_iter()
        .flat_map(|ip| [(ip, 0), (ip, 10)])
    {
        let Some((from, to)) = pair(ip) else { continue };
        if captures == 0 {
            // As a receiver does before the sender starts.
            drop(Receiver::joining(&to, 1));
        }
        overflow(&from);
        let expect = Expect {
            stream: 7,
            datagram_bytes: BYTES,
            captures,
        };
        let over = Cancel::new();
        over.cancel();
        let seen = udp::receive(&to, None, &expect, &FlowProgress::default(), &over).unwrap();
        let counts = seen.report.with_sent(SENT).counts;
        assert_eq!(counts.check_identity(SENT), Ok(()));
        assert!(counts.received_frames < SENT, "{ip}: nothing was dropped");
        assert_eq!(counts.lost_frames, 0, "{ip} {captures}: {counts:?}");
        assert!(counts.lost_or_missed_frames > 0 && !counts.is_clean());
    }
}
