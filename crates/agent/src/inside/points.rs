//! The capture points of a trial that has ended: those of the tracer, of the socket's stamps, and of the application.

use wirelab_socket::flow::Capture;
use wirelab_socket::serve::Passed;
use wirelab_stages::Point;
use wirelab_trial::stage::{CapturePoint, PointTimes};
use wirelab_trial::{Direction, Owner};

/// Bits of the transmit time that a test frame carries (`spec/test-frame.md`).
const CARRIED_BITS: u32 = 48;
/// Name of the application's point, whichever way.
const APPLICATION: &str = CapturePoint::APPLICATION.word();

/// The points that were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Records of each.
    pub records: u32,
    /// As the node sees it.
    pub direction: Direction,
    /// Stream that is received.
    pub stream_in: u8,
    /// Stream that is sent.
    pub stream_out: u8,
}

/// A capture point with its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenPoint {
    pub name: String,
    pub stream: u8,
    pub owner: Owner,
    /// Sequence and time in ns, in the order they were taken.
    pub records: Vec<(u32, u64)>,
    /// Frames among those asked for that have no record here.
    pub lost: u64,
}

/// What of one way is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneWay<'a> {
    /// Frames that passed.
    pub frames: u64,
    /// Times of the tracer's points.
    pub times: &'a [PointTimes],
    /// Times of the application.
    pub passed: &'a [Passed],
    /// Where there is no tracer: the socket's stamps.
    pub captures: &'a [Capture],
}

/// All points, received first, each way in its order.
pub fn collect(wanted: &Wanted, received: OneWay<'_>, sent: OneWay<'_>) -> Vec<TakenPoint> {
    if wanted.records == 0 {
        return Vec::new();
    }
    let (into, out) = ways(wanted.direction, received.times, sent.times);
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
    let ways = all.len();
    let mut application = of(|c| c.application_ns, sent.captures);
    application.extend(sent.passed.iter().map(application_ns));
    all.push(own(APPLICATION, stream_out, application));
    all.extend(out.iter().map(traced_point));
    if !sent.captures.is_empty() {
        let stamps = of(|c| c.driver_ns, sent.captures);
        all.push(own(Point::OutDriver.name(), stream_out, stamps));
    }
    for (at, point) in all.iter_mut().enumerate() {
        let frames = if at < ways {
            received.frames
        } else {
            sent.frames
        };
        point.records.truncate(most);
        let due = frames.min(most as u64);
        point.lost = due.saturating_sub(point.records.len() as u64);
    }
    // A point that took no record is left out.
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

fn application_ns(passed: &Passed) -> (u32, u64) {
    (passed.sequence, passed.application_ns)
}

/// The whole time that a frame carried, if both clocks are one: the latest before the application had it.
fn carried(passed: &Passed) -> Option<(u32, u64)> {
    let period = 1u64 << CARRIED_BITS;
    let carried = passed.wire_ns?;
    let behind = passed.application_ns.wrapping_sub(carried) & (period - 1);
    // Of another clock, it may lie ahead: half a period is as good as never.
    let ns = match behind > period / 2 {
        true => passed.application_ns.wrapping_add(period - behind),
        false => passed.application_ns.wrapping_sub(behind),
    };
    Some((passed.sequence, ns))
}

/// Those of the ways that frames of the trial go: an answer to what was not the trial's has no point.
fn ways<'a>(
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
