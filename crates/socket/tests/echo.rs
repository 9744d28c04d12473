//! Echo over the host's loopback: what is measured, by which clock, how a stall shows, and hostile datagrams.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;

use crate::over::Over;
use wirelab_socket::echo::{self, EchoReport, PERCENTILES, Stamps, Wait};
use wirelab_socket::{FlowProgress, Offer, Reception, udp};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Extent, FixedSeries, Series};
use wirelab_wire::{Header, header};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn offer(frames: u64, pace: Pace) -> Offer {
    Offer {
        stream: 3,
        datagram_bytes: 64,
        pace,
        extent: Extent::Frames { frames },
        with_time: true,
        node_clock: false,
    }
}

fn pair() -> (UdpSocket, UdpSocket) {
    let [tester, node] = [0; 2].map(|_: i32| UdpSocket::bind((LOCAL, 0)).unwrap());
    tester.connect(node.local_addr().unwrap()).unwrap();
    (tester, node)
}

/// Run `work` against a reflector; returns both results.
fn reflected<T>(node: &UdpSocket, work: impl FnOnce() -> T) -> (T, Reception) {
    let over = Cancel::new();
    std::thread::scope(|scope| {
        let reflector = scope.spawn(|| {
            echo::reflect(
                node,
                Some(LOCAL),
                None,
                Wait::Sleep,
                &FlowProgress::default(),
                &over,
            )
            .unwrap()
        });
        let ends = Over(over.flag());
        let done = work();
        drop(ends);
        (done, reflector.join().unwrap())
    })
}

fn probe(wait: Wait, frames: u64) -> (EchoReport, Reception) {
    let (tester, node) = pair();
    let asked = offer(frames, Pace::of(Some(2_000.0)));
    reflected(&node, || {
        echo::probe(&tester, &asked, wait, &Cancel::new()).unwrap()
    })
}

#[test]
fn every_echo_is_timed_by_the_kernel_and_the_floor_stands_beside_it() {
    for wait in [Wait::Sleep, Wait::Spin] {
        let (report, seen) = probe(wait, 300);
        assert!(report.failure.is_none() && report.wait == wait);
        assert_eq!(report.sent.sequences, 300);
        assert!(report.received.counts.is_clean(), "{:?}", report.received);
        assert_eq!(report.received.counts.check_identity(300), Ok(()));
        assert!(seen.report.with_sent(300).counts.is_clean());
        // Loopback has software stamps in both directions, and no device.
        assert_eq!(
            (report.arrivals, report.stamps),
            (Stamps::Kernel, Stamps::Kernel)
        );
        assert_eq!(report.round_trip.histogram.count, 300);
        assert_eq!(report.from_sending.histogram.count, 300);
        let floor = report.floor.value().unwrap();
        assert_eq!(floor.name, FixedSeries::FLOOR);
        assert_eq!(floor.histogram.count, 256);
        assert_eq!(report.lateness.count, 300);
        assert!(report.received.jitter_ns.is_some() && report.pdv().is_some());
        let names: Vec<_> = report.series().into_iter().map(|s| s.name).collect();
        assert_eq!(
            names,
            [
                FixedSeries::ROUND_TRIP,
                FixedSeries::FROM_SENDING,
                FixedSeries::FLOOR
            ]
        );
        // For each frame, the time from due to echo is at least that from sending to echo.
        for (due, sent) in (report.round_trip.raw_ticks.iter()).zip(&report.from_sending.raw_ticks)
        {
            assert!(due >= sent, "{due} {sent}");
        }
        let shown = PERCENTILES.map(|p| report.round_trip.percentile(p).unwrap());
        assert!(shown.is_sorted(), "{shown:?}");
        assert_eq!(shown[5], report.round_trip.histogram.max_ticks);
    }
}

/// How long the node stalls, once.
const STALL: Duration = Duration::from_millis(300);
const STALL_NS: u64 = STALL.as_nanos() as u64;

/// Sends everything back, and stalls once before it sends back this sequence.
fn stalling(node: &UdpSocket, at: u32, over: &Cancel) {
    node.set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let mut buf = [0; 2048];
    while !over.is_cancelled() {
        let Ok((len, peer)) = node.recv_from(&mut buf) else {
            continue;
        };
        if Header::parse(&buf[..len]).is_ok_and(|header| header.sequence == at) {
            std::thread::sleep(STALL);
        }
        node.send_to(&buf[..len], peer).unwrap();
    }
}

fn against_a_stall<T>(work: impl FnOnce(&UdpSocket) -> T) -> T {
    let (tester, node) = pair();
    // Space for all that arrives during the stall, because the test is about time, not loss.
    udp::prepare(&node);
    let over = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| stalling(&node, 200, &over));
        let _over = Over(over.flag());
        work(&tester)
    })
}

fn long(series: &Series) -> usize {
    let long = |ns: &&u64| **ns >= STALL_NS / 2;
    series.raw_ticks.iter().filter(long).count()
}

#[test]
fn a_stall_shows_in_the_percentiles_of_an_open_loop_and_hides_in_a_closed_one() {
    let asked = offer(1_000, Pace::of(Some(1_000.0)));
    let open =
        against_a_stall(|tester| echo::probe(tester, &asked, Wait::Sleep, &Cancel::new()).unwrap());
    let closed = against_a_stall(|tester| {
        echo::ping_pong(tester, &asked, Wait::Sleep, &Cancel::new()).unwrap()
    });
    // The frame that met the stall waited for all of it, in both series.
    assert!(open.round_trip.histogram.max_ticks >= STALL_NS);
    assert!(closed.sent.sequences == 1_000);
    // Open loop: some 300 frames were due during the stall, and 150 of them waited for at least half of it.
    assert_eq!(open.received.counts.lost_frames, 0);
    let waited = open.round_trip.percentile(90.0).unwrap();
    assert!(
        waited >= STALL_NS / 2,
        "{waited} ns, {} long",
        long(&open.round_trip)
    );
    // Closed loop: the stalled node got one frame. Its wait ended after 200 ms, so even the largest sample need not
    // show the stall, and the 99th percentile does not.
    let hidden = closed.round_trip.percentile(99.0).unwrap();
    assert!(
        hidden < STALL_NS / 2,
        "{hidden} ns, {} long",
        long(&closed.round_trip)
    );
    assert!(long(&closed.round_trip) < long(&open.round_trip) / 4);
}

#[test]
fn a_node_that_loses_and_doubles_is_counted_and_never_hidden() {
    let (tester, node) = pair();
    let over = Cancel::new();
    let asked = offer(200, Pace::of(Some(2_000.0)));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            node.set_read_timeout(Some(Duration::from_millis(20)))
                .unwrap();
            let mut buf = [0; 2048];
            while !over.is_cancelled() {
                let Ok((len, peer)) = node.recv_from(&mut buf) else {
                    continue;
                };
                let sequence = Header::parse(&buf[..len]).unwrap().sequence;
                if sequence % 20 == 7 {
                    buf[40] ^= 1;
                }
                for _ in 0..[0, 2, 1, 1][sequence as usize % 4] {
                    node.send_to(&buf[..len], peer).unwrap();
                }
            }
        });
        let _over = Over(over.flag());
        // The last frame is lost, so the probe waits for it until its timeout.
        echo::probe(&tester, &asked, Wait::Sleep, &Cancel::new()).unwrap()
    });
    let counts = report.received.counts;
    assert_eq!((counts.lost_frames, counts.duplicated_frames), (50, 50));
    assert_eq!(
        (counts.distinct_sequences, counts.received_frames),
        (150, 200)
    );
    // Sequences 7, 27, 47, … leave the remainder 3 modulo 4: one copy of each.
    assert_eq!(counts.corrupted_frames, 10);
    assert_eq!(counts.check_identity(200), Ok(()));
    assert_eq!(report.round_trip.histogram.count, 150);
}

#[test]
fn a_node_that_is_gone_keeps_what_was_measured() {
    let (tester, node) = pair();
    let asked = offer(10_000, Pace::of(Some(1_000.0)));
    let report = std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut buf = [0; 2048];
            for _ in 0..100 {
                let (len, peer) = node.recv_from(&mut buf).unwrap();
                node.send_to(&buf[..len], peer).unwrap();
            }
        });
        echo::probe(&tester, &asked, Wait::Sleep, &Cancel::new()).unwrap()
    });
    let failure = report.failure.unwrap();
    assert_eq!(failure.kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(report.round_trip.histogram.count, 100);
    assert_eq!(report.received.counts.distinct_sequences, 100);
    assert!((100..10_000).contains(&report.sent.sequences));
}

#[test]
fn hostile_datagrams_are_counted_and_nothing_goes_back() {
    let (tester, node) = pair();
    tester
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut good = vec![0; 64];
    let head = Header {
        flags: wirelab_wire::Flags::NONE,
        stream: 0,
        sequence: 0,
        time_ns: 0,
        lfsr_len: 46,
    };
    head.emit(good.first_chunk_mut().unwrap());
    let (answer, seen) = reflected(&node, || {
        for len in [0, 1, 17, 18, 19, 600, 9216, 20_000, 65_507] {
            tester.send(&vec![0xA5; len]).unwrap();
        }
        let mut damaged = good.clone();
        damaged[4] ^= 1;
        tester.send(&damaged).unwrap();
        // A header with a length of more than there is, and one of more than any frame has.
        for lfsr_len in [47, u16::MAX] {
            let mut liar = good.clone();
            Header { lfsr_len, ..head }.emit(liar.first_chunk_mut().unwrap());
            tester.send(&liar).unwrap();
        }
        let mut buf = [0; 100];
        let answers: Vec<_> = std::iter::from_fn(|| tester.recv(&mut buf).ok()).collect();
        answers
    });
    // A datagram with an intact header is a test frame, even a bad one, and is sent back unchanged; the rest is not.
    assert_eq!(answer, [64, 64]);
    let counts = seen.report.counts;
    assert_eq!(
        (counts.truncated_frames, counts.header_corrupt_frames),
        (2, 10)
    );
    assert_eq!(counts.received_frames, 12);
    assert_eq!(header::LEN, 18);
}

#[test]
fn a_connected_reflector_serves_its_peer_alone_spinning_or_not() {
    for wait in [Wait::Sleep, Wait::Spin] {
        let (tester, node) = pair();
        let stranger = UdpSocket::bind((LOCAL, 0)).unwrap();
        // Datagrams in the queue from before the connect may be from any sender.
        stranger
            .send_to(&[0; 64], node.local_addr().unwrap())
            .unwrap();
        node.connect(tester.local_addr().unwrap()).unwrap();
        let over = Cancel::new();
        let asked = offer(200, Pace::Max);
        let (done, seen) = std::thread::scope(|scope| {
            let reflector = scope.spawn(|| {
                echo::reflect(
                    &node,
                    Some(LOCAL),
                    None,
                    wait,
                    &FlowProgress::default(),
                    &over,
                )
                .unwrap()
            });
            let ends = Over(over.flag());
            let done = echo::ping_pong(&tester, &asked, wait, &Cancel::new()).unwrap();
            drop(ends);
            (done, reflector.join().unwrap())
        });
        assert_eq!(done.sent.sequences, 200);
        assert_eq!(seen.report.counts.foreign_frames, 1);
        assert_eq!(seen.sent_back_frames, 200);
        // On a machine that is busy for longer than the wait an echo is missed, but none is damaged.
        let counts = done.received.counts;
        assert_eq!(counts.good_frames, counts.received_frames);
        assert!(done.round_trip.histogram.count > 0);
    }
}

#[test]
fn over_ipv6_where_there_is_any() {
    let Ok(node) = UdpSocket::bind("[::1]:0") else {
        return;
    };
    let tester = UdpSocket::bind("[::1]:0").unwrap();
    tester.connect(node.local_addr().unwrap()).unwrap();
    let over = Cancel::new();
    let asked = offer(100, Pace::of(Some(2_000.0)));
    let report = std::thread::scope(|scope| {
        let local = tester.local_addr().unwrap().ip();
        let (node, over) = (&node, &over);
        scope.spawn(move || {
            echo::reflect(
                node,
                Some(local),
                None,
                Wait::Sleep,
                &FlowProgress::default(),
                over,
            )
            .unwrap()
        });
        let _over = Over(over.flag());
        echo::probe(&tester, &asked, Wait::Sleep, &Cancel::new()).unwrap()
    });
    assert!(report.received.counts.is_clean(), "{:?}", report.received);
    assert_eq!(
        report.received.counts.verified_payload_bytes,
        100 * (64 + 48)
    );
    assert_eq!(
        (report.arrivals, report.stamps),
        (Stamps::Kernel, Stamps::Kernel)
    );
    assert!(report.floor.value().is_some());
}

#[test]
fn a_probe_without_a_rate_is_refused_with_the_fix() {
    let (tester, _node) = pair();
    let asked = offer(1, Pace::Max);
    let error = echo::probe(&tester, &asked, Wait::Sleep, &Cancel::new()).unwrap_err();
    assert!(
        error.to_string().contains("needs a load with a rate"),
        "{error}"
    );
}
