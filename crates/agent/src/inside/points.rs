//! The capture points of a trial that has ended: from the tracer, the socket's stamps and the application.

use wirelab_socket::flow::Capture;
use wirelab_socket::serve::ApplicationTime;
use wirelab_stages::Point;
use wirelab_trial::stage::{CapturePoint, PointTimes};
use wirelab_trial::{Direction, Owner};

/// Bits of the transmit time that a test frame carries (`spec/test-frame.md`).
const CARRIED_BITS: u32 = 48;
/// Name of the application's point, in both directions.
const APPLICATION: &str = CapturePoint::APPLICATION.word();

/// The requested points.
#[derive(Clone, Copy, Debug)]
pub struct RequestedPoints {
    /// Records of each point.
    pub records: u32,
    /// Direction from the node's side.
    pub direction: Direction,
    /// Stream that the node receives.
    pub stream_in: u8,
    /// Stream that the node sends.
    pub stream_out: u8,
}

/// A capture point with its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenPoint {
    pub name: String,
    pub stream: u8,
    pub owner: Owner,
    /// Sequence and time in ns, in the order in which they were recorded.
    pub records: Vec<(u32, u64)>,
    /// Requested frames without a record here.
    pub lost: u64,
}

/// What is known of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneWay<'a> {
    /// Frames in this direction.
    pub frames: u64,
    /// Times of the tracer's points.
    pub times: &'a [PointTimes],
    /// Times of the application.
    pub passed: &'a [ApplicationTime],
    /// The socket's stamps, if there is no tracer.
    pub captures: &'a [Capture],
}

/// All points, received first, each direction in the order of the path.
pub fn collect(
    wanted: &RequestedPoints,
    received: OneWay<'_>,
    sent: OneWay<'_>,
) -> Vec<TakenPoint> {
    if wanted.records == 0 {
        return Vec::new();
    }
    let (into, out) = directions(wanted.direction, received.times, sent.times);
    let stream_in = match (wanted.direction, into.first()) {
        // An echo takes any stream.
        (Direction::Echo, Some(first)) => first.stream,
        _ => wanted.stream_in,
    };
    let stream_out = match wanted.direction {
        Direction::Echo => stream_in,
        _ => wanted.stream_out,
    };
    let most = wanted.records as usize;
    let mut all: Vec<TakenPoint> = Vec::new();
    all.extend(into.iter().map(traced_point));
    if !all.iter().any(|point| point.name == Point::InWire.name()) {
        let carried = received.passed.iter().filter_map(carried);
        let mut wire = own(Point::InWire.name(), stream_in, carried.collect());
        wire.owner = Owner::Tester;
        all.insert(0, wire);
    }
    let of = |get: fn(&Capture) -> u64, all: &[Capture]| -> Vec<(u32, u64)> {
        all.iter().map(|c| (c.sequence, get(c))).collect()
    };
    if !received.captures.is_empty() {
        let stamps = of(|c| c.driver_ns, received.captures);
        all.push(own(Point::InDriver.name(), stream_in, stamps));
    }
    let mut application = of(|c| c.application_ns, received.captures);
    application.extend(received.passed.iter().map(application_ns));
    all.push(own(APPLICATION, stream_in, application));
    let received_points = all.len();
    let mut application = of(|c| c.application_ns, sent.captures);
    application.extend(sent.passed.iter().map(application_ns));
    all.push(own(APPLICATION, stream_out, application));
    all.extend(out.iter().map(traced_point));
    if !sent.captures.is_empty() {
        let stamps = of(|c| c.driver_ns, sent.captures);
        all.push(own(Point::OutDriver.name(), stream_out, stamps));
    }
    for (at, point) in all.iter_mut().enumerate() {
        let frames = if at < received_points {
            received.frames
        } else {
            sent.frames
        };
        point.records.truncate(most);
        let due = frames.min(most as u64);
        point.lost = due.saturating_sub(point.records.len() as u64);
    }
    // A point without a record is left out.
    all.retain(|point| !point.records.is_empty());
    all
}

fn own(name: &str, stream: u8, records: Vec<(u32, u64)>) -> TakenPoint {
    TakenPoint {
        name: name.to_owned(),
        stream,
        owner: Owner::Node,
        records,
        lost: 0,
    }
}

fn traced_point(times: &PointTimes) -> TakenPoint {
    let mut point = own(&times.name, times.stream, times.times.clone());
    point.owner = times.clock.owner;
    point
}

fn application_ns(passed: &ApplicationTime) -> (u32, u64) {
    (passed.sequence, passed.application_ns)
}

/// A frame's sequence and its full transmit time, of which it carried only the low bits: the value nearest to the
/// application's time. Both ends must read one clock.
fn carried(passed: &ApplicationTime) -> Option<(u32, u64)> {
    let period = 1u64 << CARRIED_BITS;
    let carried = passed.wire_ns?;
    let behind = passed.application_ns.wrapping_sub(carried) & (period - 1);
    // In the upper half of the period, the transmit time lies after the application's time.
    let ns = match behind > period / 2 {
        true => passed.application_ns.wrapping_add(period - behind),
        false => passed.application_ns.wrapping_sub(behind),
    };
    Some((passed.sequence, ns))
}

/// The directions in which frames of the trial go. Answers to foreign frames have no points.
fn directions<'a>(
    direction: Direction,
    received: &'a [PointTimes],
    sent: &'a [PointTimes],
) -> (&'a [PointTimes], &'a [PointTimes]) {
    match direction {
        Direction::Receive => (received, &[]),
        Direction::Transmit => (&[], sent),
        Direction::Both | Direction::Echo => (received, sent),
    }
}
