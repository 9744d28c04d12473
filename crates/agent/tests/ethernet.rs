//! Ethernet trials in every direction, with capture points, requested by a plain client in a lab.

use std::time::Duration;

use crate::common::{Bench, in_order, names, start};
use wirelab_control::client::ClientError;
use wirelab_control::message::Started;
use wirelab_control::refusal::Code;
use wirelab_control::value::{Extent, Load, Mac, State};
use wirelab_port::job::{CheckJob, CheckReport, SendJob};
use wirelab_port::lab::Side;
use wirelab_port::packet::{CheckOptions, Checker, SendOptions, send};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Direction};
use wirelab_wire::{Flow, FrameSpec, Layer, Size, SizeUnit, Transport};

const FRAMES: u64 = 500;
/// Payload bytes of a frame of length 200.
const PAYLOAD: u64 = 186;

/// Check on the tester's port during `work`.
fn checking<T>(
    bench: &mut Bench,
    stream: u8,
    work: impl FnOnce(&mut Bench) -> T,
) -> (T, CheckReport) {
    let job = CheckJob {
        flow: Flow {
            source: Some(bench.lab.mac(0, Side::Node).0),
            udp_port: 0,
            stream: Some(stream),
            dscp: None,
        },
        slots: None,
        time_every: 1,
    };
    let port = bench.lab.port(0, Side::Tester).unwrap();
    let checker = Checker::start(&port, &job, CheckOptions::default()).unwrap();
    let done = work(bench);
    let report = checker.finish(Duration::from_millis(100)).unwrap();
    (done, report)
}

/// Send from the tester to the node, as the reply says.
fn offer(bench: &Bench, started: &Started, frames: u64) {
    offer_in(bench, started, 3, frames);
}

/// The same in any stream.
fn offer_in(bench: &Bench, started: &Started, stream: u8, frames: u64) {
    let spec = FrameSpec {
        destination: started.node_mac.unwrap().0,
        source: bench.lab.mac(0, Side::Tester).0,
        vlans: [None, None],
        transport: Transport::Ethernet,
        dscp: 0,
    };
    let job = SendJob {
        frame: spec,
        sizes: Size::new(SizeUnit::Length, 200)
            .resolve_test(spec.framing())
            .unwrap(),
        stream,
        with_time: true,
        pace: Pace::Interval { ps: 500_000_000 },
        extent: wirelab_trial::Extent::Frames { frames },
        faults: Default::default(),
        buffers: None,
    };
    let port = bench.lab.port(0, Side::Tester).unwrap();
    let sent = send(&port, &job, &SendOptions::default(), &Cancel::new()).unwrap();
    assert_eq!(sent.emitted_frames, frames);
}

fn received_all(bench: &mut Bench, trial: u32) {
    assert_eq!(bench.counter(trial, "good_frames"), FRAMES);
    assert_eq!(bench.counter(trial, "distinct_sequences"), FRAMES);
    assert_eq!(bench.counter(trial, "received_frames"), FRAMES);
    assert_eq!(bench.counter(trial, "received_bytes"), FRAMES * PAYLOAD);
}

#[test]
fn a_node_receives_frames_and_tells_when_the_kernel_and_the_application_had_them() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut asked = start(Layer::Ethernet, Direction::Receive, FRAMES);
    asked.captures = Some(100);
    let started = bench.client.start(asked).unwrap();
    assert_eq!(
        started.peer_mac,
        Some(Mac(bench.lab.mac(0, Side::Tester).0))
    );
    offer(&bench, &started, FRAMES);
    assert_eq!(bench.ended(started.trial).state, State::Done);
    received_all(&mut bench, started.trial);
    has_points(&mut bench, started.trial, 3);
}

#[test]
fn late_frames_of_another_trial_are_counted_apart() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for direction in [Direction::Receive, Direction::Echo] {
        let asked = start(Layer::Ethernet, direction, FRAMES);
        let started = bench.client.start(asked).unwrap();
        // Sequence numbers of a trial in another stream, as from a queue on the path.
        offer_in(&bench, &started, 5, 50);
        offer(&bench, &started, FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        received_all(&mut bench, started.trial);
        assert_eq!(bench.counter(started.trial, "other_run_frames"), 50);
        assert_eq!(bench.counter(started.trial, "duplicated_frames"), 0);
    }
}

#[test]
fn a_node_sends_frames_and_tells_when_the_application_and_the_driver_had_them() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut asked = start(Layer::Ethernet, Direction::Transmit, FRAMES);
    asked.captures = Some(100);
    let (trial, seen) = checking(&mut bench, 7, |bench| {
        let started = bench.client.start(asked).unwrap();
        assert_eq!(bench.ended(started.trial).state, State::Done);
        started.trial
    });
    let counts = seen.with_sent(FRAMES).counts;
    counts.check_identity(FRAMES).unwrap();
    assert_eq!(counts.good_frames, FRAMES);
    assert_eq!(bench.counter(trial, "sent_frames"), FRAMES);
    assert_eq!(bench.counter(trial, "sent_bytes"), FRAMES * PAYLOAD);
    has_points(&mut bench, trial, 7);
}

/// The points of the application and the driver exist on every host, and all points are of one stream.
fn has_points(bench: &mut Bench, trial: u32, stream: u8) {
    let points = bench.taken(trial);
    in_order(&points, 100);
    for name in ["driver", "application"] {
        let point = points.iter().find(|p| p.point.name == name).unwrap();
        // Some stamps may be missing on a machine whose clock is set, but not all.
        assert!(point.records.len() > 50, "{name}: {}", point.records.len());
    }
    assert!(points.iter().all(|p| p.point.stream == stream));
    if bench.has_probes() {
        let taken = names(&points);
        let expected: &[&str] = match stream {
            3 => &["wire", "driver", "stack", "call", "application"],
            _ => &["application", "call", "queue", "driver"],
        };
        assert!(
            expected.iter().all(|name| taken.contains(name)),
            "{taken:?}"
        );
    }
}

#[test]
fn both_directions_of_the_link_run_at_once_at_full_speed() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut asked = start(Layer::Ethernet, Direction::Both, FRAMES);
    asked.load = Some(Load::Max);
    let (trial, seen) = checking(&mut bench, 7, |bench| {
        let started = bench.client.start(asked).unwrap();
        offer(bench, &started, FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        started.trial
    });
    received_all(&mut bench, trial);
    assert_eq!(bench.counter(trial, "sent_frames"), FRAMES);
    seen.with_sent(FRAMES)
        .counts
        .check_identity(FRAMES)
        .unwrap();
}

#[test]
fn frames_come_back_with_their_addresses_swapped() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let asked = start(Layer::Ethernet, Direction::Echo, FRAMES);
    let (trial, seen) = checking(&mut bench, 3, |bench| {
        let started = bench.client.start(asked).unwrap();
        offer(bench, &started, FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        started.trial
    });
    assert_eq!(seen.counts.good_frames, FRAMES);
    assert_eq!(bench.counter(trial, "sent_frames"), FRAMES);
}

#[test]
fn frames_go_only_to_the_requesting_host_unless_the_operator_allows_more() {
    let elsewhere = Mac([2, 0, 0, 0, 0, 0x77]);
    let mut asked = start(Layer::Ethernet, Direction::Transmit, 10);
    asked.peer_mac = Some(elsewhere);
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let refused = bench.client.start(asked.clone()).unwrap_err();
    let ClientError::Refused { refusal, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(
        (refusal.code, refusal.field.as_deref()),
        (Code::Peer, Some("peer_mac"))
    );
    assert!(refusal.why.unwrap().contains("--allow-mac"));
    drop(bench);
    let allow = |options: &mut wirelab_agent::Options| options.allowed_macs.push(elsewhere.0);
    let Some(mut bench) = Bench::with(allow) else {
        return;
    };
    asked.extent = Extent::Frames(10);
    let started = bench.client.start(asked).unwrap();
    assert_eq!(started.peer_mac, Some(elsewhere));
    assert_eq!(bench.ended(started.trial).state, State::Done);
}

#[test]
fn the_longest_identity_fits_a_line() {
    let longest = |options: &mut wirelab_agent::Options| {
        options.name = Some("n".repeat(32));
        options.limits.frames = u64::MAX;
        options.limits.time_ps = u64::MAX;
        options.limits.captures = u32::MAX;
        options.limits.idle_ms = u32::MAX;
        for number in 0..64 {
            options
                .set(&format!("a_key_that_is_rather_{number}={}", "ä".repeat(60)))
                .unwrap();
        }
    };
    let Some(mut bench) = Bench::with(longest) else {
        return;
    };
    assert_eq!(bench.client.identity().name.len(), 32);
    let setup = bench.client.setup().unwrap();
    assert_eq!(setup.len(), bench.client.identity().setup as usize);
    let long = setup.iter().filter(|(_, value)| value.len() == 120);
    assert_eq!(long.count(), 64, "{setup:?}");
}
