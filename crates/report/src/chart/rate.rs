//! Pictures of what was reached: efficiency against payload where there is a link rate, frames/s against frame
//! size where there is none.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_trial::{
    Direction, Field, FlowObservation, Framing, Kind, Observation, Size, SizeUnit, Status,
};
use wirelab_wire::Overhead;

use super::svg::{Canvas, Mark, Scale, nice};
use crate::format;
use crate::row;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
/// A letter of a legend is about this wide; no font is at hand to measure it.
const LETTER: f64 = 6.4;

/// One figure of one flow.
struct Point<'a> {
    trial: usize,
    observation: &'a Observation,
    flow: &'a FlowObservation,
    value: f64,
    kind: Kind,
}

/// Flows of trials that may be used, with the figure that `get` takes from each.
fn points<'a>(
    observations: &'a [Observation],
    get: impl Fn(&'a Observation, &'a FlowObservation) -> Option<&'a Field<f64>>,
) -> Vec<Point<'a>> {
    let mut out = Vec::new();
    for (at, observation) in observations.iter().enumerate() {
        if matches!(observation.status, Status::Void { .. }) {
            continue;
        }
        for flow in &observation.flows {
            if let Some(Field::Observed { value, kind }) = get(observation, flow) {
                out.push(Point {
                    trial: at + 1,
                    observation,
                    flow,
                    value: *value,
                    kind: *kind,
                });
            }
        }
    }
    out
}

/// Classes of a mark: its direction and where its figure comes from.
pub fn class(direction: Direction, kind: Kind) -> String {
    let way = match direction {
        Direction::Transmit => "tx",
        Direction::Receive => "rx",
        Direction::Both | Direction::Echo => "echo",
    };
    format!("{way} {}", row::kind(kind))
}

/// The shape of a direction's marks.
pub const fn mark(direction: Direction) -> Mark {
    match direction {
        Direction::Transmit => Mark::Up,
        Direction::Receive => Mark::Down,
        Direction::Both | Direction::Echo => Mark::Diamond,
    }
}

fn draw_points(
    picture: &mut Canvas,
    points: &[Point<'_>],
    x: &Scale,
    y: &Scale,
    size: fn(&Observation) -> u32,
    text: impl Fn(&Point<'_>) -> String,
) {
    for p in points {
        let title = format!(
            "trial {}, {} on {}: {} ({}), load {}",
            p.trial,
            p.flow.direction,
            p.flow.port,
            text(p),
            row::kind(p.kind),
            row::load(&p.observation.trial.load)
        );
        let place = (x.at(f64::from(size(p.observation))), y.at(p.value));
        picture.mark(
            mark(p.flow.direction),
            &class(p.flow.direction, p.kind),
            place,
            &title,
        );
    }
}

/// Marks and what they stand for, for those that occur.
fn legend(picture: &mut Canvas, points: &[Point<'_>], curve: Option<&str>) {
    let (mut at, mut y) = (56.0, HEIGHT - 14.0);
    if let Some(name) = curve {
        picture.line("limit", (at, y), (at + 22.0, y));
        picture.text("tick", "start", (at + 28.0, y + 4.0), name);
        at += 44.0 + LETTER * name.chars().count() as f64;
    }
    let mut seen: Vec<(Direction, Kind)> = Vec::new();
    for p in points {
        if !seen.contains(&(p.flow.direction, p.kind)) {
            seen.push((p.flow.direction, p.kind));
        }
    }
    for (direction, kind) in seen {
        let name = format!("{direction}, {}", row::kind(kind));
        let room = 34.0 + LETTER * name.chars().count() as f64;
        if at + room > WIDTH {
            (at, y) = (56.0, y + 20.0);
            picture.grow(20.0);
        }
        let style = class(direction, kind);
        picture.mark(mark(direction), &style, (at + 6.0, y), &name);
        picture.text("tick", "start", (at + 18.0, y + 4.0), &name);
        at += room;
    }
}

const fn plane(x_high: f64, y_high: f64) -> (Scale, Scale) {
    let x = Scale {
        low: 0.0,
        high: x_high,
        from: 56.0,
        to: WIDTH - 20.0,
        log: false,
    };
    let y = Scale {
        low: 0.0,
        high: y_high,
        from: HEIGHT - 74.0,
        to: 36.0,
        log: false,
    };
    (x, y)
}

/// Room for the largest size: a usual frame, or a jumbo frame.
fn size_limit(largest: u32) -> f64 {
    let largest = f64::from(largest);
    if largest <= 1600.0 {
        return 1600.0;
    }
    let step = nice(largest / 10.0);
    (largest / step).ceil() * step
}

/// Efficiency against payload: the limit of the link as a line, and each flow as a mark. `None` without any flow
/// that has an efficiency.
pub fn efficiency(observations: &[Observation], id: &str) -> Option<String> {
    let points = points(observations, |_, flow| Some(&flow.efficiency));
    if points.is_empty() {
        return None;
    }
    let largest = points.iter().map(|p| p.observation.sizes.payload).max();
    let (x, y) = plane(size_limit(largest.unwrap_or(0)), 1.0);
    let mut picture = Canvas::new(id, WIDTH, HEIGHT);
    picture.axes(
        (&x, "payload in bytes", 8, &|v| format::decimal(v, 0)),
        (
            &y,
            "efficiency in %: payload bits over link bits",
            5,
            &|v| format::decimal(v * 100.0, 0),
        ),
    );
    let tags: BTreeSet<u8> = points
        .iter()
        .map(|p| p.observation.trial.framing.vlan_tags.min(2))
        .collect();
    for vlan_tags in tags {
        let limit = limit_curve(vlan_tags, x.high);
        picture.curve("limit", limit.iter().map(|(p, e)| (x.at(*p), y.at(*e))));
    }
    draw_points(
        &mut picture,
        &points,
        &x,
        &y,
        |o| o.sizes.payload,
        |p| {
            format!(
                "{} % at {} B payload",
                format::percent(p.value),
                p.observation.sizes.payload
            )
        },
    );
    let ranges = ranges(&points);
    if ranges.len() <= 12 {
        for (payload, (low, high)) in &ranges {
            let text = if format::percent(*low) == format::percent(*high) {
                format::percent(*low)
            } else {
                format!("{}–{}", format::percent(*low), format::percent(*high))
            };
            let (at, level) = (x.at(f64::from(*payload)), y.at(*low));
            // To the right where the curve is steep, so that it does not cross the words.
            if at < x.at(x.high / 6.0) {
                picture.text("value", "start", (at + 12.0, level + 10.0), &text);
            } else {
                let below = level + 26.0;
                let place = if below < y.from - 4.0 {
                    below
                } else {
                    level - 14.0
                };
                picture.text("value", "middle", (at, place), &text);
            }
        }
    }
    legend(
        &mut picture,
        &points,
        Some("limit of the link, p / (p + 38)"),
    );
    let described: Vec<String> = ranges
        .iter()
        .map(|(p, (low, high))| {
            format!(
                "{p} B: {} to {} %",
                format::percent(*low),
                format::percent(*high)
            )
        })
        .collect();
    Some(picture.finish("Efficiency against payload", &described.join("; ")))
}

/// Payload and efficiency along the limit of a link with the standard's overhead (IEEE 802.3).
fn limit_curve(vlan_tags: u8, highest: f64) -> Vec<(f64, f64)> {
    let framing = Framing {
        vlan_tags,
        ..Framing::default()
    };
    let least = 46 - 4 * u32::from(vlan_tags);
    let most = highest as u32;
    let steps = 120u32;
    (0..=steps)
        .filter_map(|n| {
            // Denser at the small end, where the curve bends.
            let share = (f64::from(n) / f64::from(steps)).powi(2);
            let payload = f64::from(least) + share * f64::from(most - least);
            let sizes = Size::new(SizeUnit::Payload, payload as u32)
                .resolve(framing)
                .ok()?;
            Some((
                f64::from(sizes.payload),
                Overhead::default().efficiency(&sizes),
            ))
        })
        .collect()
}

/// Smallest and largest figure at each payload.
fn ranges(points: &[Point<'_>]) -> BTreeMap<u32, (f64, f64)> {
    let mut out: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for p in points {
        let range = out
            .entry(p.observation.sizes.payload)
            .or_insert((p.value, p.value));
        *range = (range.0.min(p.value), range.1.max(p.value));
    }
    out
}

/// Frames/s against frame size for trials without a link rate, with the tester's own ceiling where it is known.
/// `None` without such trials.
pub fn frame_rate(observations: &[Observation], id: &str) -> Option<String> {
    let points = points(observations, |o, flow| {
        row::link(o).is_none().then_some(&flow.frames_per_s)
    });
    if points.is_empty() {
        return None;
    }
    let ceiling = |o: &Observation| o.tester.ceiling_frames_per_s.value().copied();
    let highest = points
        .iter()
        .flat_map(|p| [p.value, ceiling(p.observation).unwrap_or(0.0)])
        .fold(0.0, f64::max);
    let step = nice(highest / 5.0);
    let largest = points.iter().map(|p| p.observation.sizes.frame).max();
    let (x, y) = plane(
        size_limit(largest.unwrap_or(0)),
        (highest / step).ceil().max(1.0) * step,
    );
    let mut picture = Canvas::new(id, WIDTH, HEIGHT);
    picture.axes(
        (&x, "frame in bytes, with FCS", 8, &|v| {
            format::decimal(v, 0)
        }),
        (&y, "frames/s of each flow", 5, &|v| {
            format::si(v, "").trim_end().to_owned()
        }),
    );
    let mut ceilings = false;
    for p in &points {
        if let Some(value) = ceiling(p.observation) {
            ceilings = true;
            let (at, level) = (x.at(f64::from(p.observation.sizes.frame)), y.at(value));
            picture.line("limit", (at - 14.0, level), (at + 14.0, level));
        }
    }
    draw_points(
        &mut picture,
        &points,
        &x,
        &y,
        |o| o.sizes.frame,
        |p| {
            format!(
                "{} frames/s at frame {} B",
                format::frame_rate(p.value),
                p.observation.sizes.frame
            )
        },
    );
    legend(
        &mut picture,
        &points,
        ceilings.then_some("the tester's own ceiling, measured"),
    );
    let described: Vec<String> = points
        .iter()
        .take(50)
        .map(|p| {
            format!(
                "{} B: {} frames/s",
                p.observation.sizes.frame,
                format::frame_rate(p.value)
            )
        })
        .collect();
    Some(picture.finish(
        "Frames per second against frame size",
        &described.join("; "),
    ))
}
