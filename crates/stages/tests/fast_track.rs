//! The fast track in a lab: frames that match rules reach the application past the stack, complete, in order and
//! counted; all others pass the stack.

use std::io::Write;
use std::time::Duration;

use crate::common::rig::Rig;
use crate::common::{lab, lab_of, until};
use wirelab_port::ebpf::Mode;
use wirelab_port::lab::LabSpec;
use wirelab_stages::{FastTrack, FastTrackOptions, FlowFilter, NodeOptions, NodeXdp, Point, Store};
use wirelab_trial::Wait;
use wirelab_wire::rule::Rules;
use wirelab_wire::{Flow, FrameSpec, Verdict, classify};

fn rules(text: &str) -> Rules {
    text.parse().unwrap()
}

fn options(frames: u32) -> FastTrackOptions {
    FastTrackOptions {
        frames,
        ..FastTrackOptions::default()
    }
}

/// The sequences of the good test frames to `port`, until there are `count` or none has arrived for a second.
fn take(track: &mut FastTrack, wait: Wait, port: u16, count: usize) -> Vec<u32> {
    let flow = Flow {
        udp_port: port,
        ..Flow::default()
    };
    let (mut seen, mut quiet) = (Vec::new(), 0);
    while seen.len() < count && quiet < 20 {
        let came = track.receive(wait, |frame| match classify(frame, &flow) {
            Verdict::Good(header) => seen.push(header.sequence),
            other => panic!("{other:?}: {frame:02x?}"),
        });
        quiet = if came.unwrap() == 0 { quiet + 1 } else { 0 };
    }
    seen
}

#[test]
fn priority_frames_pass_the_stack_and_ordinary_udp_goes_through_it() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let spec = FrameSpec {
        vlans: [Some(6 << 13 | 5), None],
        ..rig.udp(1026)
    };
    let ordinary = (rig.node_socket(1026), rig.tester_socket(1026));
    let wanted = rules("port=1026,priority=6");
    for wait in [Wait::Sleep, Wait::Spin] {
        let mut track = FastTrack::open(&rig.node, &wanted, &options(4096), None).unwrap();
        assert_eq!(track.node().mode(), Some(Mode::Native));
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| rig.send(&spec, 3000, Some(20_000.0)));
            scope.spawn(|| {
                for number in 0..300u32 {
                    ordinary.1.send(&number.to_be_bytes()).unwrap();
                    let mut back = [0; 8];
                    assert_eq!(ordinary.0.recv(&mut back).unwrap(), 4);
                    assert_eq!(back[..4], number.to_be_bytes());
                }
            });
            take(&mut track, wait, 1026, 3000)
        });
        assert_eq!(seen, (0..3000).collect::<Vec<u32>>(), "all, once, in order");
        let counters = track.counters().unwrap();
        assert_eq!(counters.node.matched[0], 3000);
        assert_eq!(counters.received_frames, 3000);
        assert_eq!(counters.node.no_socket + counters.ring_full_frames, 0);
        assert_eq!(counters.dropped_frames + counters.invalid_descriptors, 0);
        assert!(counters.node.passed >= 300, "{counters:?}");
    }
}

#[test]
fn frames_beyond_the_ring_are_counted_and_none_is_counted_twice() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let mut track =
        FastTrack::open(&rig.node, &rules("ethertype=0x88b5"), &options(16), None).unwrap();
    let sent = rig
        .send(&rig.ethernet(), 1000, Some(50_000.0))
        .emitted_frames;
    until("the frames", || {
        track.node().counters().all_matched() == sent
    });
    let seen = take(&mut track, Wait::Sleep, 0, 1000);
    let counters = track.counters().unwrap();
    let lost = counters.ring_full_frames + counters.dropped_frames;
    assert_eq!(
        (sent, seen.len()),
        (1000, 16),
        "what the ring holds is not lost"
    );
    assert_eq!(seen, (0..16).collect::<Vec<u32>>());
    assert_eq!(counters.received_frames + lost, sent, "{counters:?}");
    // It continues in the same place.
    rig.send(&rig.ethernet(), 10, Some(1000.0));
    assert_eq!(take(&mut track, Wait::Spin, 0, 10).len(), 10);
}

#[test]
fn frames_without_a_socket_go_through_the_stack_and_are_counted() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let options = NodeOptions {
        rules: rules("port=1026"),
        ..NodeOptions::default()
    };
    let node = NodeXdp::attach(&rig.node, &options, None).unwrap();
    let (receiver, sender) = (rig.node_socket(1026), rig.tester_socket(1026));
    for _ in 0..20 {
        sender.send(b"hello").unwrap();
        assert_eq!(receiver.recv(&mut [0; 16]).unwrap(), 5);
    }
    let counters = node.counters();
    assert_eq!((counters.matched[0], counters.no_socket), (20, 20));
    assert_eq!(counters.handed_over(), 0);
}

#[test]
fn with_a_store_the_points_of_the_way_in_are_taken_too() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let store = Store::new(1024).unwrap();
    let filter = FlowFilter {
        udp_ports: vec![1026],
        one_clock: true,
        ..FlowFilter::default()
    };
    store.aim(&rig.node, &filter).unwrap();
    let wanted = rules("own,port=1026");
    let mut track = FastTrack::open(&rig.node, &wanted, &options(1024), Some(&store)).unwrap();
    rig.send(&rig.udp(1026), 512, Some(10_000.0));
    let mut arrived = Vec::new();
    let flow = Flow {
        udp_port: 1026,
        ..Flow::default()
    };
    while arrived.len() < 512 {
        let came = track.receive(Wait::Sleep, |frame| {
            let now = wirelab_trial::host_clock::now_ns();
            if let Verdict::Good(header) = classify(frame, &flow) {
                arrived.push((header.sequence, now));
            }
        });
        assert!(came.unwrap() > 0, "{} came", arrived.len());
    }
    let times = store.times();
    let of = |point: Point| &times.iter().find(|t| t.name == point.name()).unwrap().times;
    let (wire, driver) = (of(Point::InWire), of(Point::InDriver));
    assert_eq!((wire.len(), driver.len()), (512, 512));
    for ((left, handed), came) in wire.iter().zip(driver).zip(&arrived) {
        assert!(left.0 == handed.0 && handed.0 == came.0, "one frame");
        assert!(
            left.1 <= handed.1 && handed.1 <= came.1,
            "{left:?} {handed:?} {came:?}"
        );
    }
}

#[test]
fn patience_ends_a_wait_for_nothing() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let short = FastTrackOptions {
        patience: Duration::from_millis(5),
        ..options(64)
    };
    let mut track = FastTrack::open(&rig.node, &rules("port=1026"), &short, None).unwrap();
    for wait in [Wait::Sleep, Wait::Spin] {
        assert_eq!(
            track.receive(wait, |_| panic!("nothing was sent")).unwrap(),
            0
        );
    }
    assert_eq!((track.queues(), track.fds().count()), (1, 1));
}

#[test]
fn each_receive_queue_has_a_socket_and_one_left_out_leaves_its_frames_to_the_stack() {
    let mut spec = LabSpec::unique("wlf", 1);
    spec.queues = 2;
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        let _ = writeln!(
            std::io::stderr(),
            "WIRELAB-SKIP two-cores: one queue a core"
        );
        return;
    }
    let Some(lab) = lab_of(&spec) else { return };
    let rig = Rig::new(&lab);
    for queues in [None, Some(1)] {
        let some = FastTrackOptions {
            queues,
            ..options(1024)
        };
        let wanted = rules("ethertype=0x88b5");
        let mut track = FastTrack::open(&rig.node, &wanted, &some, None).unwrap();
        assert_eq!(track.queues(), queues.map_or(2, |_| 1));
        for core in [0, 1] {
            rig.send_on(core, &rig.ethernet(), 100, 5_000.0);
        }
        until("the frames", || {
            track.node().counters().all_matched() == 200
        });
        let expected = if queues.is_none() { 200 } else { 100 };
        let seen = take(&mut track, Wait::Sleep, 0, expected);
        assert_eq!(seen.len(), expected);
        let counters = track.counters().unwrap();
        assert_eq!(counters.node.no_socket, 200 - expected as u64);
        assert_eq!(counters.node.handed_over(), expected as u64);
    }
}
