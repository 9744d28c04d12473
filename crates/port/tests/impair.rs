//! The impairer between two veth pairs: exactly the frames in its ledger arrive.
//!
//! ```text
//! left = tester/t0 ── node/n0 <─ impairer ─> node/n1 ── tester/t1 = right
//! ```

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::common::sys::RawSocket;
use crate::common::{lab, lab_of};
use wirelab_impair::{
    Action, BitErrors, Delay, DirectionReport, DirectionSpec, FramesHit, ImpairHandle,
    ImpairReport, ImpairSpec, Impairer,
};
use wirelab_port::lab::{EphemeralLab, Lab, LabSpec, Side};

const ETHERTYPE: u16 = 0x88b5;
const PATIENCE: Duration = Duration::from_secs(30);

/// Long enough for an unexpected frame to arrive.
const SILENCE: Duration = Duration::from_millis(100);

fn frame(number: u64, length: usize) -> Vec<u8> {
    let mut frame = [[0xff; 6].as_slice(), &[2; 6], &ETHERTYPE.to_be_bytes()].concat();
    frame.extend(number.to_be_bytes());
    frame.extend((frame.len()..length).map(|at| (number as usize * 31 + at) as u8));
    frame
}

struct Bench {
    lab: EphemeralLab,
    left: RawSocket,
    right: RawSocket,
}

impl Bench {
    fn new(lab: EphemeralLab) -> Bench {
        let socket = |pair| RawSocket::open(&lab.port(pair, Side::Tester).unwrap(), 3);
        let (left, right) = (socket(0), socket(1));
        Bench { lab, left, right }
    }

    fn start(&self, spec: ImpairSpec) -> ImpairHandle {
        let port = |pair| self.lab.port(pair, Side::Node).unwrap();
        Impairer::start(&port(0), &port(1), spec).unwrap()
    }

    /// Sends frames of 60 bytes from left to right; returns what arrived and the report.
    fn run(&self, spec: ImpairSpec, frames: u64) -> (Vec<Vec<u8>>, ImpairReport) {
        let handle = self.start(spec);
        for number in 0..frames {
            self.left.send(&frame(number, 60)).unwrap();
        }
        until_received(&handle, [frames, 0]);
        let report = handle.stop();
        let arrived = collect(&self.right, report.forward.sent_frames);
        (arrived, report)
    }
}

fn until_received(handle: &ImpairHandle, frames: [u64; 2]) {
    let deadline = Instant::now() + PATIENCE;
    while handle.received_frames() != frames {
        assert!(
            Instant::now() < deadline,
            "{:?} of {frames:?}",
            handle.received_frames()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Takes `count` frames and checks that there are no more.
fn collect(socket: &RawSocket, count: u64) -> Vec<Vec<u8>> {
    let frames: Vec<_> = (0..count)
        .map(|n| {
            socket
                .receive(PATIENCE)
                .unwrap_or_else(|| panic!("frame {n} of {count}"))
                .0
        })
        .collect();
    assert_eq!(
        socket.receive(SILENCE),
        None,
        "more frames than the ledger knows"
    );
    frames
}

/// The frames that must arrive, in order, from the ledger alone.
fn by_ledger(report: &DirectionReport, frames: u64) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut held = None;
    let mut events = report.events.iter().peekable();
    for number in 0..frames {
        let mut bytes = frame(number, 60);
        let (mut dropped, mut copies, mut swapped) = (false, 1, false);
        while let Some(event) = events.next_if(|event| event.frame == number) {
            match event.action {
                Action::Dropped => dropped = true,
                Action::Duplicated => copies = 2,
                Action::Swapped => swapped = true,
                Action::BitError { bit } => bytes[bit as usize / 8] ^= 0x80 >> (bit % 8),
                Action::SwapExpired | Action::Delayed { .. } => {}
            }
        }
        if dropped {
            continue;
        }
        let these = vec![bytes; copies];
        if swapped {
            held = Some(these);
        } else {
            out.extend(these);
            out.extend(held.take().unwrap_or_default());
        }
    }
    out
}

fn spec(seed: u64, forward: DirectionSpec) -> ImpairSpec {
    let mut spec = ImpairSpec::new(seed).record();
    spec.forward = forward;
    spec
}

#[test]
fn without_impairments_all_sizes_and_tags_pass_in_both_directions_unchanged() {
    let mut wanted = LabSpec::unique("wlt", 2);
    wanted.mtu = 9000;
    let Some(lab) = lab_of(wanted) else { return };
    let bench = Bench::new(lab);
    let handle = bench.start(ImpairSpec::new(0));
    let sizes = [60, 64, 1514, 3400, 9014];
    for (number, length) in sizes.into_iter().enumerate() {
        bench.left.send(&frame(number as u64, length)).unwrap();
        bench
            .right
            .send(&frame(100 + number as u64, length))
            .unwrap();
    }
    let mut tagged = frame(7, 1514);
    tagged.splice(12..12, [0x81, 0x00, 0x60, 0x2a]);
    bench.left.send(&tagged).unwrap();
    for (number, length) in sizes.into_iter().enumerate() {
        assert_eq!(
            bench.right.receive(PATIENCE),
            Some((frame(number as u64, length), None))
        );
        assert_eq!(
            bench.left.receive(PATIENCE),
            Some((frame(100 + number as u64, length), None))
        );
    }
    let (bytes, tag) = bench.right.receive(PATIENCE).unwrap();
    assert_eq!(
        (bytes, tag),
        (frame(7, 1514), Some(0x602a)),
        "the kernel takes the tag out"
    );
    let report = handle.stop();
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(
        (report.forward.sent_frames, report.backward.sent_frames),
        (6, 5)
    );
}

#[test]
fn the_ledger_equals_what_arrives_for_each_impairment_alone() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let some = || FramesHit::Probability(0.1);
    let bit_errors = |bits| BitErrors {
        when: FramesHit::Probability(0.1),
        bits,
        first_byte: 14,
    };
    let none = DirectionSpec::default;
    let cases = [
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
            bit_errors: bit_errors(1),
            ..none()
        },
        DirectionSpec {
            bit_errors: bit_errors(5),
            ..none()
        },
        DirectionSpec {
            drop: FramesHit::Every(7),
            ..none()
        },
        DirectionSpec {
            swap: FramesHit::Frames(vec![0, 5, 1998]),
            ..none()
        },
    ];
    for (seed, case) in cases.into_iter().enumerate() {
        let (arrived, report) = bench.run(spec(seed as u64, case.clone()), 2000);
        assert!(report.is_complete(), "{case:?}: {report:?}");
        assert!(!report.forward.events.is_empty(), "{case:?} did nothing");
        assert!(
            arrived == by_ledger(&report.forward, 2000),
            "{case:?}: not what the ledger says"
        );
    }
}

#[test]
fn mixed_impairments_keep_the_ledger_and_the_seed_decides() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let mixed = || DirectionSpec {
        drop: FramesHit::Probability(0.05),
        duplicate: FramesHit::Probability(0.05),
        swap: FramesHit::Probability(0.2),
        bit_errors: BitErrors {
            when: FramesHit::Probability(0.1),
            bits: 2,
            first_byte: 14,
        },
        delay: Some(Delay {
            fixed_ps: 1_000_000,
            jitter_ps: 50_000_000,
            keep_order: true,
        }),
    };
    // A swap that waits forever makes the result independent of the host's speed.
    let run = |seed| bench.run(spec(seed, mixed()).swap_timeout(60_000_000_000_000), 3000);
    let (arrived, first) = run(1);
    let report = &first.forward;
    assert!(first.is_complete(), "{:?}", report.own_loss);
    assert!(
        arrived == by_ledger(report, 3000),
        "not what the ledger says"
    );
    let counts = [
        report.dropped_frames,
        report.duplicated_frames,
        report.swapped_frames,
        report.damaged_frames,
        report.delayed_frames,
    ];
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    assert_eq!(report.delayed_frames, 3000 - report.dropped_frames);
    let (again, second) = run(1);
    assert!(
        again == arrived && second == first,
        "the same seed must do the same"
    );
    let (_, other) = run(2);
    assert!(
        other.forward.events != report.events,
        "another seed must do something else"
    );
}

#[test]
fn the_two_ways_have_impairments_of_their_own() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let mut wanted = ImpairSpec::new(3).record();
    wanted.forward.drop = FramesHit::Every(2);
    wanted.backward.duplicate = FramesHit::Every(1);
    let handle = bench.start(wanted);
    for number in 0..100 {
        bench.left.send(&frame(number, 60)).unwrap();
        bench.right.send(&frame(number, 60)).unwrap();
    }
    until_received(&handle, [100, 100]);
    let report = handle.stop();
    assert!(report.is_complete(), "{report:?}");
    let right: Vec<_> = (0..100).step_by(2).map(|n| frame(n, 60)).collect();
    assert!(collect(&bench.right, 50) == right);
    let left: Vec<_> = (0..200).map(|n| frame(n / 2, 60)).collect();
    assert!(collect(&bench.left, 200) == left);
}

#[test]
fn a_delay_is_no_shorter_than_it_says_and_jitter_reorders_only_if_it_may() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let wanted = |keep_order| {
        let delay = Some(Delay {
            fixed_ps: 50_000_000_000,
            jitter_ps: 20_000_000_000,
            keep_order,
        });
        spec(
            4,
            DirectionSpec {
                delay,
                ..Default::default()
            },
        )
    };
    for keep_order in [true, false] {
        let handle = bench.start(wanted(keep_order));
        let begin = Instant::now();
        for number in 0..200 {
            bench.left.send(&frame(number, 60)).unwrap();
        }
        let mut arrived = vec![bench.right.receive(PATIENCE).unwrap().0];
        assert!(begin.elapsed() >= Duration::from_millis(50));
        arrived.extend((1..200).map(|_| bench.right.receive(PATIENCE).unwrap().0));
        assert!(handle.stop().is_complete());
        let sent: Vec<_> = (0..200).map(|number| frame(number, 60)).collect();
        assert_eq!(arrived == sent, keep_order);
        arrived.sort();
        assert!(arrived == sent);
    }
}

#[test]
fn a_held_frame_goes_on_when_no_other_comes() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let swap = FramesHit::Every(1);
    let handle = bench.start(spec(
        0,
        DirectionSpec {
            swap,
            ..Default::default()
        },
    ));
    bench.left.send(&frame(0, 60)).unwrap();
    assert_eq!(bench.right.receive(PATIENCE), Some((frame(0, 60), None)));
    let report = handle.stop();
    assert_eq!(
        (
            report.forward.swap_expired_frames,
            report.forward.swapped_frames
        ),
        (1, 0)
    );
}

#[test]
fn nothing_comes_back_to_where_it_came_from() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let (arrived, report) = bench.run(ImpairSpec::new(0), 50);
    assert_eq!(arrived.len(), 50);
    assert_eq!(bench.left.receive(SILENCE), None);
    assert_eq!(
        (report.backward.received_frames, report.backward.sent_frames),
        (0, 0)
    );
}

#[test]
fn frames_that_are_not_meant_pass_and_are_counted_apart() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let drop = FramesHit::Every(1);
    let wanted = spec(
        0,
        DirectionSpec {
            drop,
            ..Default::default()
        },
    )
    .only_ethertype(ETHERTYPE);
    let handle = bench.start(wanted);
    let mut other = frame(1, 60);
    other[12..14].copy_from_slice(&[0x88, 0xb6]);
    bench.left.send(&other).unwrap();
    bench.left.send(&frame(0, 60)).unwrap();
    assert_eq!(bench.right.receive(PATIENCE), Some((other, None)));
    until_received(&handle, [1, 0]);
    let report = handle.stop().forward;
    assert_eq!(
        (
            report.untouched_frames,
            report.dropped_frames,
            report.sent_frames
        ),
        (1, 1, 1)
    );
    assert_eq!(bench.right.receive(SILENCE), None);
}

#[test]
fn what_the_impairer_loses_on_its_own_is_counted_as_its_own() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    const FRAMES: u64 = 6000;
    // Frames leave more slowly than they arrive, and the queue between is short.
    bench
        .lab
        .set_link_rate(1, Side::Node, Some(100_000))
        .unwrap();
    let handle = bench.start(ImpairSpec::new(0).receive_bytes(100_000));
    for number in 0..FRAMES {
        bench.left.send(&frame(number, 60)).unwrap();
    }
    let report = handle.stop();
    let (way, own) = (&report.forward, &report.forward.own_loss);
    assert!(own.ring_frames > 0, "{own:?}");
    assert!(!report.is_complete() && way.balances(), "{way:?}");
    assert_eq!(way.received_frames + own.ring_frames, FRAMES, "{way:?}");
}

#[test]
fn a_port_that_goes_down_is_reported_in_the_report() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let handle = bench.start(ImpairSpec::new(0));
    let down = ["ip", "link", "set", "dev", "n1", "down"].map(str::to_owned);
    assert_eq!(Lab::exec(bench.lab.name(), Side::Node, &down).unwrap(), 0);
    bench.left.send(&frame(0, 60)).unwrap();
    until_received(&handle, [1, 0]);
    let report = handle.stop();
    assert_eq!(report.forward.own_loss.send_frames, 1);
    assert!(report.forward.refusal.unwrap().contains("down"));
    assert!(report.backward.failure.unwrap().contains("down"));
}

#[test]
fn ports_that_cannot_be_used_are_refused_and_left_free() {
    let Some(lab) = lab(2) else { return };
    let bench = Bench::new(lab);
    let port = |pair| bench.lab.port(pair, Side::Node).unwrap();
    let start = |a, b| Impairer::start(&a, &b, ImpairSpec::new(0));
    let text = start(port(0), port(0)).unwrap_err().to_string();
    assert!(text.contains("two ports"), "{text}");
    let running = bench.start(ImpairSpec::new(0));
    let text = start(port(1), port(0)).unwrap_err().to_string();
    assert!(text.contains("in use"), "{text}");
    drop(running);
    let down = ["ip", "link", "set", "dev", "n1", "down"].map(str::to_owned);
    assert_eq!(Lab::exec(bench.lab.name(), Side::Node, &down).unwrap(), 0);
    let text = start(port(0), port(1)).unwrap_err().to_string();
    assert!(text.contains("is down"), "{text}");
    let up = ["ip", "link", "set", "dev", "n1", "up"].map(str::to_owned);
    assert_eq!(Lab::exec(bench.lab.name(), Side::Node, &up).unwrap(), 0);
    assert_eq!(bench.run(ImpairSpec::new(0), 0).0.len(), 0);
}

/// With checksum offload the kernel passes on datagrams whose checksum is not computed yet, which a receiver after
/// the impairer would drop.
#[test]
fn datagrams_of_the_kernel_with_checksum_offload_arrive() {
    let one = || {
        let mut spec = LabSpec::unique("wlt", 1);
        spec.offloads = true;
        lab_of(spec)
    };
    let (Some(near), Some(far)) = (one(), one()) else {
        return;
    };
    let change = "ip address flush dev t0 && ip address add 198.18.0.9/24 dev t0";
    let argv = ["sh", "-c", change].map(str::to_owned);
    assert_eq!(Lab::exec(far.name(), Side::Tester, &argv).unwrap(), 0);
    let (a, b) = (
        near.port(0, Side::Node).unwrap(),
        far.port(0, Side::Node).unwrap(),
    );
    let handle = Impairer::start(&a, &b, ImpairSpec::new(0)).unwrap();
    let bound = |lab: &EphemeralLab, address: &str| {
        let netns = lab.netns(Side::Tester).unwrap();
        let socket = netns.run_in(|| UdpSocket::bind(address)).unwrap().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    };
    let sender = bound(&near, "198.18.0.2:5001");
    let receiver = bound(&far, "198.18.0.9:5002");
    let mut buffer = [0; 2000];
    for size in [1, 2, 999, 1472] {
        sender.send_to(&vec![7; size], "198.18.0.9:5002").unwrap();
        let (got, from) = receiver.recv_from(&mut buffer).unwrap();
        assert_eq!((got, from.to_string().as_str()), (size, "198.18.0.2:5001"));
    }
    assert!(handle.stop().is_complete());
}
