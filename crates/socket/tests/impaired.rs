//! Flows and echoes in a lab with an impaired path, or with a sender that damages its frames: every fault is found,
//! as often as the ledger says.

use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use crate::common::{Rig, in_node, rig};
use crate::over::Over;
use nix::sys::socket::{setsockopt, sockopt};
use wirelab_impair::{BitErrors, Delay, DirectionSpec, FramesHit};
use wirelab_port::inject::Schedule;
use wirelab_socket::echo::{self, Stamps, Wait};
use wirelab_socket::{Expect, FlowProgress, Offer, Reception, Sent, tcp, udp};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Counts, Extent, FaultRates, Layer};
use wirelab_wire::{Flags, Framing, Header, Size, SizeUnit, header, lfsr};

const FRAMES: u64 = 2_000;
const BYTES: u32 = 200;
const SOURCE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 18, 0, 2));
const EXPECT: Expect = Expect {
    stream: 9,
    datagram_bytes: BYTES,
    captures: 0,
};

fn offer(frames: u64, frames_per_s: f64) -> Offer {
    Offer {
        stream: 9,
        datagram_bytes: BYTES,
        pace: Pace::of(Some(frames_per_s)),
        extent: Extent::Frames { frames },
        with_time: true,
        node_clock: false,
    }
}

/// Receive at the node while `work` sends; returns both results. `work` must not return before all frames have left
/// the node's side of the path.
fn received<T>(rig: &Rig, node: &UdpSocket, work: impl FnOnce() -> T) -> (T, Reception) {
    let over = Cancel::new();
    let receive =
        || udp::receive(node, Some(SOURCE), &EXPECT, &FlowProgress::default(), &over).unwrap();
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| in_node(rig, receive));
        let ends = Over(over.flag());
        let done = work();
        drop(ends);
        (done, receiver.join().unwrap())
    })
}

fn send(tester: &UdpSocket) -> Sent {
    let sent = udp::send(
        tester,
        &offer(FRAMES, 10_000.0),
        &FlowProgress::default(),
        &Cancel::new(),
    );
    let sent = sent.unwrap();
    assert!(sent.failure.is_none(), "{:?}", sent.failure);
    assert_eq!(
        (sent.report.sequences, sent.report.refused_frames),
        (FRAMES, 0)
    );
    sent
}

/// Fill the queue of a socket outside the lab, as any program on the host may: this is not a drop of the node's
/// queue.
fn overflow_a_queue_outside() {
    let full = UdpSocket::bind("127.0.0.1:0").unwrap();
    setsockopt(&full, sockopt::RcvBuf, &4096).unwrap();
    let filling = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..1_000 {
        let sent = filling.send_to(&[0; 1_000], full.local_addr().unwrap());
        assert_eq!(sent.unwrap(), 1_000);
    }
}

#[test]
fn what_the_way_does_to_a_flow_is_found_as_the_ledger_says() {
    let Some(rig) = rig() else { return };
    let (tester, node) = rig.sockets();
    let some = || FramesHit::Probability(0.05);
    let none = DirectionSpec::default;
    let cases = [
        none(),
        DirectionSpec {
            drop: some(),
            ..none()
        },
        DirectionSpec {
            duplicate: some(),
            ..none()
        },
        DirectionSpec {
            swap: some(),
            ..none()
        },
        DirectionSpec {
            bit_errors: BitErrors {
                when: some(),
                bits: 1,
                // After the UDP header: the receiving kernel's checksum detects it and drops the datagram.
                first_byte: 42,
            },
            ..none()
        },
    ];
    for (seed, forward) in cases.into_iter().enumerate() {
        let impairing = rig.impair(seed as u64, forward.clone(), none());
        let (report, seen) = received(&rig, &node, || {
            // With two cores each has a queue to the impairer, and this test must have only the impairer's faults.
            let sending = || {
                wirelab_cores::stay_on_this_core().unwrap();
                send(&tester);
            };
            std::thread::scope(|scope| scope.spawn(sending).join().unwrap());
            overflow_a_queue_outside();
            impairing.stop(FRAMES).forward
        });
        let counts = seen.report.with_sent(FRAMES).counts;
        assert_eq!(counts.check_identity(FRAMES), Ok(()));
        let expected = Counts {
            lost_frames: report.dropped_frames + report.damaged_frames,
            duplicated_frames: report.duplicated_frames,
            reordered_frames: report.swapped_frames,
            reordering_extent_frames: report.swapped_frames.min(1),
            distinct_sequences: FRAMES - report.dropped_frames - report.damaged_frames,
            received_frames: counts.received_frames,
            good_frames: counts.received_frames,
            verified_payload_bytes: counts.received_frames * u64::from(BYTES + 28),
            ..Counts::default()
        };
        assert_eq!(counts, expected, "{forward:?}");
        assert_eq!(counts.is_clean(), seed == 0);
    }
}

/// A datagram of a sequence.
fn frame(sequence: u32) -> Vec<u8> {
    let lfsr_len = BYTES as usize - header::LEN;
    let mut frame = vec![0; BYTES as usize];
    let head = Header {
        flags: Flags::NONE,
        stream: EXPECT.stream,
        sequence,
        time_ns: 0,
        lfsr_len: lfsr_len as u16,
    };
    head.emit(frame.first_chunk_mut().unwrap());
    frame[header::LEN..].copy_from_slice(lfsr::payload(sequence, lfsr_len));
    frame
}

fn every_fault(seed: u64) -> Schedule {
    let rates = FaultRates {
        drop: 0.02,
        duplicate: 0.02,
        swap: 0.02,
        header_corrupt: 0.02,
        truncate: 0.02,
        stale: 0.02,
        corrupt: 0.02,
        seed,
        ..FaultRates::default()
    };
    Schedule::plan(&rates, FRAMES, BYTES - header::LEN as u32).unwrap()
}

#[test]
fn every_fault_in_datagrams_is_found_as_the_ledger_says() {
    let Some(rig) = rig() else { return };
    let (tester, node) = rig.sockets();
    let impairing = rig.impair(0, DirectionSpec::default(), DirectionSpec::default());
    let faults = every_fault(5);
    let emissions = faults.emissions(FRAMES);
    let (_, seen) = received(&rig, &node, || {
        let mut cursor = faults.cursor();
        for emission in 0..emissions {
            let (sequence, mutation) = cursor.next();
            let mut frame = frame(sequence);
            let length = mutation.apply(&mut frame, 0);
            tester.send(&frame[..length]).unwrap();
            if emission % 32 == 31 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        impairing.stop(emissions)
    });
    let counts = seen.report.with_sent(FRAMES).counts;
    assert_eq!(counts.check_identity(FRAMES), Ok(()));
    let ledger = faults.ledger(emissions);
    assert_eq!(ledger.differences(&counts), []);
    for found in [
        ledger.dropped_frames,
        ledger.header_corrupt_frames,
        ledger.truncated_frames,
        ledger.stale_frames,
        ledger.corrupted_frames,
        ledger.duplicated_frames,
        ledger.reordered_frames,
    ] {
        assert!(found > 10, "{ledger:?}");
    }
}

#[test]
fn another_sender_is_foreign_and_changes_no_count() {
    let Some(rig) = rig() else { return };
    let (tester, node) = rig.sockets();
    let to = node.local_addr().unwrap();
    let impairing = rig.impair(0, DirectionSpec::default(), DirectionSpec::default());
    let elsewhere: IpAddr = "198.18.0.77".parse().unwrap();
    let over = Cancel::new();
    let seen = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            udp::receive(
                &node,
                Some(elsewhere),
                &EXPECT,
                &FlowProgress::default(),
                &over,
            )
            .unwrap()
        });
        let ends = Over(over.flag());
        for sequence in 0..10 {
            tester.send_to(&frame(sequence), to).unwrap();
        }
        impairing.stop(10);
        drop(ends);
        receiver.join().unwrap()
    });
    let counts = seen.report.counts;
    assert_eq!((counts.foreign_frames, counts.received_frames), (10, 0));
}

#[test]
fn an_echo_takes_as_long_as_its_path_and_losses_are_those_of_both_directions() {
    let Some(rig) = rig() else { return };
    let (tester, node) = rig.sockets();
    let way = |drop| DirectionSpec {
        drop,
        delay: Some(Delay {
            fixed_ps: 3_000_000_000,
            jitter_ps: 0,
            keep_order: true,
        }),
        ..DirectionSpec::default()
    };
    let impairing = rig.impair(
        3,
        way(FramesHit::Every(10)),
        way(FramesHit::Frames(vec![0, 50, 100])),
    );
    let over = Cancel::new();
    let frames = 300;
    let (report, mirrored) = std::thread::scope(|scope| {
        let mirror = scope.spawn(|| {
            echo::reflect(
                &node,
                Some(SOURCE),
                None,
                Wait::Sleep,
                &FlowProgress::default(),
                &over,
            )
            .unwrap()
        });
        let asked = offer(frames, 1_000.0);
        let ends = Over(over.flag());
        let report = echo::probe(&tester, &asked, Wait::Sleep, &Cancel::new()).unwrap();
        drop(ends);
        (report, mirror.join().unwrap())
    });
    let ledger = impairing.stop(frames);
    let lost = ledger.forward.dropped_frames + ledger.backward.dropped_frames;
    assert_eq!((ledger.forward.dropped_frames, lost), (30, 33));
    let counts = report.received.counts;
    assert_eq!(counts.lost_frames, lost);
    assert_eq!(counts.check_identity(frames), Ok(()));
    assert_eq!(counts.good_frames, frames - lost);
    assert_eq!(mirrored.report.with_sent(frames).counts.lost_frames, 30);
    // A veth pair makes software stamps at both ends and has no device clock.
    assert_eq!(
        (report.arrivals, report.stamps),
        (Stamps::Kernel, Stamps::Kernel)
    );
    for series in [&report.round_trip, &report.from_sending] {
        assert_eq!(series.histogram.count, frames - lost);
        assert!(
            series.histogram.min_ticks >= 6_000_000,
            "{}",
            series.histogram.min_ticks
        );
    }
    // The floor does not include the path.
    let floor = report.floor.value().unwrap();
    assert!(floor.histogram.min_ticks < 6_000_000);
}

/// Passes a stream on and inverts a bit of every byte at these offsets.
fn damaging(from: &TcpStream, to: &TcpStream, places: &[u64]) {
    use std::io::{Read, Write};
    let (mut from, mut to, mut at) = (from, to, 0u64);
    let mut buf = [0; 8192];
    loop {
        let len = from.read(&mut buf).unwrap();
        if len == 0 {
            to.shutdown(std::net::Shutdown::Write).unwrap();
            return;
        }
        for place in places.iter().filter(|p| (at..at + len as u64).contains(p)) {
            buf[(place - at) as usize] ^= 0x10;
        }
        to.write_all(&buf[..len]).unwrap();
        at += len as u64;
    }
}

#[test]
fn damage_in_a_stream_is_found_and_hides_nothing_behind_it() {
    let connection = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    };
    let ((tester, middle), (behind, node)) = (connection(), connection());
    let at = |frame: u64, byte: u64| frame * u64::from(BYTES) + byte;
    // Magic, sequence and length of a header; first and last byte of the LFSR part.
    let places = [at(3, 0), at(10, 5), at(11, 15), at(20, 18), at(1_999, 199)];
    let asked = Offer {
        pace: Pace::Max,
        ..offer(FRAMES, 1.0)
    };
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| damaging(&middle, &behind, &places));
        let receiver = scope.spawn(|| {
            tcp::receive(&node, &EXPECT, &FlowProgress::default(), &Cancel::new()).unwrap()
        });
        let sent = tcp::send(&tester, &asked, &FlowProgress::default(), &Cancel::new()).unwrap();
        assert_eq!(sent.report.sequences, FRAMES);
        receiver.join().unwrap()
    });
    let counts = seen.report.with_sent(FRAMES).counts;
    assert_eq!(counts.check_identity(FRAMES), Ok(()));
    assert_eq!(
        (counts.header_corrupt_frames, counts.corrupted_frames),
        (3, 2)
    );
    assert_eq!((counts.good_frames, counts.lost_frames), (FRAMES - 5, 3));
}

#[test]
fn a_stream_that_ends_inside_a_frame_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    use std::io::Write;
    near.write_all(&frame(0)).unwrap();
    near.write_all(&frame(1)[..100]).unwrap();
    drop(near);
    let seen = tcp::receive(&far, &EXPECT, &FlowProgress::default(), &Cancel::new()).unwrap();
    let counts = seen.report.counts;
    assert_eq!((counts.good_frames, counts.truncated_frames), (1, 1));
    assert!(
        seen.report.notes[0].contains("100 of 200 bytes"),
        "{:?}",
        seen.report.notes
    );
}

#[test]
fn the_smallest_test_frames_over_udp_are_those_of_the_specification() {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let sizes = Size::new(SizeUnit::Frame, 64)
        .resolve_test(framing)
        .unwrap();
    assert_eq!(sizes.datagram, Some(wirelab_socket::flow::LEAST_BYTES));
    let largest = Size::new(SizeUnit::Datagram, wirelab_socket::flow::MOST_BYTES);
    assert!(largest.resolve_test(framing).is_ok());
}
