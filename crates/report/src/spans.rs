//! What the latencies of results span: the first and last event of each, as a picture beside their tables.

use wirelab_trial::stage::{CapturePoint, StageName};
use wirelab_trial::{
    ClockKind, Direction, FixedSeries, FlowObservation, Observation, ResultsFile, Series,
    Spans as Time,
};

use crate::chart::spans::Spans;
use crate::document::{Block, Chart};

/// Events of trials in the order in which a frame has them.
const EVENTS: [(&str, &str); 12] = [
    ("pin rises", "the node's pin, before its first frame"),
    (
        "due",
        "when the tester's schedule has the frame, sent or not",
    ),
    ("sent", "the tester's time stamp as the frame leaves"),
    (
        "stamped",
        "its sender writes the time into the frame, and hands it to the port",
    ),
    ("last bit in", "the frame has come in at the node's line"),
    ("first bit", "the first preamble on the wire"),
    ("node", "the node sends the frame back"),
    ("first bit out", "its echo begins at the node's line"),
    (
        "checked",
        "the receiving port hands the frame to the checker",
    ),
    ("back", "the tester's time stamp as the echo arrives"),
    ("last gap", "the end of the gap behind the last frame"),
    ("pin falls", "behind the last frame"),
];
/// Pairs of events: the second is shown if the first is, so that a reader sees what lies between.
const BETWEEN: [(&str, &str); 3] = [
    ("back", "node"),
    ("pin falls", "first bit"),
    ("pin falls", "last gap"),
];

/// A latency: its name, and its first and last event.
type Latency = (&'static str, &'static str, &'static str);

const ROUND_TRIP: Latency = (FixedSeries::ROUND_TRIP.word(), "due", "back");
const FLOOR_TRIP: Latency = ("floor, without the node", "due", "back");

/// The picture of what latencies and times of some results span; `None` where their names already show it.
pub fn of_results(file: &ResultsFile) -> Option<Block<'static>> {
    let mut found: Vec<Latency> = Vec::new();
    for o in &file.observations {
        let all = o.flows.iter().flat_map(|f| &f.series).chain(&o.series);
        let of_series = all.filter_map(|series| latency(o, series));
        for one in of_series.chain(o.flows.iter().filter_map(time)) {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    of_latencies(&found)
}

/// The picture of the round trips of a datasheet.
pub fn of_round_trips(has_floor: bool) -> Option<Block<'static>> {
    let all = [ROUND_TRIP, FLOOR_TRIP];
    of_latencies(&all[..if has_floor { 2 } else { 1 }])
}

fn of_latencies(found: &[Latency]) -> Option<Block<'static>> {
    let has = |name: &str| {
        found
            .iter()
            .any(|(_, from, to)| *from == name || *to == name)
    };
    let between = |name: &str| BETWEEN.iter().any(|(of, own)| *own == name && has(of));
    let mut spans = Spans::default();
    for (name, about) in EVENTS.iter().filter(|(name, _)| has(name) || between(name)) {
        spans.event(name, about);
    }
    let places = |name: &str| spans.events.iter().position(|event| event.name == name);
    let parts = found
        .iter()
        .map(|(_, from, to)| places(from).zip(places(to)));
    let parts: Vec<_> = parts.collect();
    for ((name, ..), part) in found.iter().zip(parts) {
        spans.row(name, part.into_iter().collect());
    }
    block(spans)
}

/// A series of times between events of a frame's path; stages have theirs in their names.
fn latency(o: &Observation, series: &Series) -> Option<Latency> {
    if series.histogram.count == 0 {
        return None;
    }
    let fixed = series.name.fixed()?;
    let (from, to) = match (fixed, series.clock.kind) {
        (FixedSeries::LATENCY, ClockKind::Wall) => ("stamped", "checked"),
        (FixedSeries::LATENCY, ClockKind::Simulated) if o.trial.direction == Direction::Echo => {
            ("last bit in", "first bit out")
        }
        (FixedSeries::FROM_SENDING, _) => ("sent", "back"),
        (FixedSeries::ROUND_TRIP, _) => return Some(ROUND_TRIP),
        (FixedSeries::FLOOR, _) => return Some(FLOOR_TRIP),
        _ => return None,
    };
    Some((fixed.word(), from, to))
}

/// The time of a flow where it is neither that on the wire nor that of a call.
fn time(flow: &FlowObservation) -> Option<Latency> {
    let is_of_pin = flow.elapsed.value()?.spans == Time::Pin;
    is_of_pin.then_some(("time of the pin", "pin rises", "pin falls"))
}

/// The picture of a datasheet's layer 2 latencies: of each its direction, the stage in which the node's was measured, and
/// whether the PHY's is known.
pub fn of_layer2<'a>(
    delays: impl Iterator<Item = (Direction, StageName<'a>, bool)>,
) -> Option<Block<'static>> {
    let mut spans = Spans::default();
    for (direction, stage, has_phy) in delays {
        let received = direction == Direction::Receive;
        let name = if received { "RX" } else { "TX" };
        let StageName { from, to } = stage;
        // The edge of the stage on the side of the line, and the two ends of the PHY.
        let (outer, inner) = if received { (from, to) } else { (to, from) };
        // A stage that begins at the line has the PHY in it.
        let has_phy = has_phy && outer != CapturePoint::LINE.word();
        let mut events = vec![CapturePoint::LINE.word()];
        if is_behind_the_mac(outer) {
            events.push("MAC");
        }
        events.extend([outer, inner]);
        events.dedup();
        if !received {
            events.reverse();
        }
        let places: Vec<usize> = events
            .iter()
            .map(|name| spans.event(name, about(name)))
            .collect();
        let (first, last) = (0, places.len() - 1);
        let (phy, node) = match received {
            true => ((places[0], places[1]), (places[last - 1], places[last])),
            false => ((places[last - 1], places[last]), (places[first], places[1])),
        };
        let mut parts = vec![(phy, "PHY", has_phy), (node, "CPU<->MAC", true)];
        if !received {
            parts.reverse();
        }
        parts.retain(|(_, _, is_known)| *is_known);
        for (part, of, _) in &parts {
            spans.row(&format!("{name} {of}"), vec![*part]);
        }
        if parts.len() > 1 {
            let both = parts.iter().map(|(part, ..)| *part).collect();
            spans.row(&format!("{name} total"), both);
        }
    }
    block(spans)
}

/// Whether a capture point of a node's software is so far from the line that a MAC and its DMA lie between.
fn is_behind_the_mac(point: &str) -> bool {
    let outside = [CapturePoint::WIRE, CapturePoint::LINE, CapturePoint::MAC];
    CapturePoint::of(point).is_some_and(|point| !outside.contains(&point))
}

fn about(event: &str) -> &'static str {
    match event {
        "line" => "the first bit at the PHY's connector",
        "MAC" => "the same bit between PHY and MAC; from there to the driver is in no figure",
        "CPU" => "the application has the frame, or is about to send it",
        _ => {
            let mut points = CapturePoint::ALL.iter();
            points
                .find(|known| known.word() == event)
                .map_or("", |known| known.meaning())
        }
    }
}

fn block(spans: Spans) -> Option<Block<'static>> {
    (!spans.rows.is_empty()).then_some(Block::Chart(Chart::Spans(spans)))
}
