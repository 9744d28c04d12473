//! Which charts a report of results has: the loss of each trial, gaps of senders, distributions, and searches trial by
//! trial.

use std::collections::BTreeSet;
use wirelab_trial::search::{BurstResult, CurveResult, SearchResult};

use wirelab_trial::{
    Field, FlowObservation, Found, Framing, Observation, ResultsFile, Size, SizeUnit, Sizes, Status,
};
use wirelab_wire::Overhead;

use crate::chart::histogram::Distribution;
use crate::chart::loss::Bar;
use crate::chart::scatter::{self, Scatter};
use crate::chart::xy::{Axis, Curve, Plane, Point};
use crate::chart::{Picture, nice};
use crate::detail;
use crate::document::Gallery;
use crate::document::escape::{clip, line};
use crate::format::{self, integer};
use crate::loss::Loss;
use crate::row::{self, Row};
use crate::search::{allowed, bracket};
use crate::stats::Samples;

/// Pictures of each sort; the results file has the rest.
const PANELS: usize = 24;
/// Pictures of searches; the tables have all.
const PICTURES: usize = 24;

/// A picture of each search.
pub fn searches(file: &ResultsFile) -> Gallery {
    let found = file
        .parts
        .iter()
        .filter_map(|part| Some((part, part.found.as_ref()?)));
    let pictures = found.take(PICTURES).map(|(part, found)| {
        let plane = match found {
            Found::Rates(r) => rates(r),
            Found::LossCurve(c) => loss_curve(c),
            Found::Bursts(b) => bursts(b),
        };
        (clip(&line(&part.name), 60), Picture::Plane(plane))
    });
    Gallery {
        title: "Searches, trial by trial",
        about: "Each mark is a trial of a search; dashed lines are the rates that it found, with the loss that was \
                allowed.",
        about_below: true,
        pictures: pictures.collect(),
        ..Gallery::default()
    }
}

fn number(v: f64) -> String {
    format::si(v, "").trim_end().to_owned()
}

fn rates(r: &SearchResult) -> Plane {
    let points = r.trials.iter().filter_map(|t| {
        let x = t.load_frames_per_s?;
        let loss = *t.loss_ratio.value()?;
        let beside = match (t.tester_was_limit, t.held_back) {
            (true, _) => ", the tester was the limit",
            (false, true) => " of what was sent, the path held the sender back",
            (false, false) => "",
        };
        let title = format!(
            "{} frames/s for {}: {} % lost{beside}",
            format::frame_rate(x),
            format::time(t.trial_ps),
            format::percent(loss)
        );
        let y = loss * 100.0;
        Some(Point { x, y, title })
    });
    let found = r.goals.iter().filter(|g| bracket(g).is_none());
    let marked = found.filter_map(|g| {
        let bound = *g.relevant_lower_bound_frames_per_s.value()?;
        Some((bound, allowed(g.goal.loss_ratio)))
    });
    Plane {
        x: axis("load in frames/s", true),
        y: axis("loss in %", false),
        diagonal: false,
        marked: marked.collect(),
        curves: vec![curve(points.collect(), false)],
    }
}

fn loss_curve(c: &CurveResult) -> Plane {
    let mut points: Vec<Point> = c
        .points
        .iter()
        .filter_map(|p| {
            let loss = *p.loss_ratio.value()?;
            let achieved = p.held_back_at_frames_per_s;
            let x = achieved.map_or(p.load_percent, |rate| {
                rate / c.max_load_frames_per_s * 100.0
            });
            let load = match achieved {
                Some(_) => format!(
                    "held back at {} % of the highest load ({} % was asked)",
                    format::decimal(x, 1),
                    format::decimal(p.load_percent, 1)
                ),
                None => format!("{} % of the highest load", format::decimal(x, 1)),
            };
            Some(Point {
                x,
                y: loss * 100.0,
                title: format!("{load}: {} % lost", format::percent(loss)),
            })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Plane {
        x: axis("load in % of the highest", false),
        y: axis("loss in %", false),
        diagonal: false,
        marked: Vec::new(),
        curves: vec![curve(points, true)],
    }
}

fn bursts(b: &BurstResult) -> Plane {
    let points = b.bursts.iter().enumerate().map(|(at, burst)| Point {
        x: (at + 1) as f64,
        y: burst.frames as f64,
        title: format!(
            "repeat {}: {}",
            at + 1,
            format::count(burst.frames, "frame")
        ),
    });
    Plane {
        x: axis("repeat", false),
        y: axis("longest burst in frames", false),
        diagonal: false,
        marked: Vec::new(),
        curves: vec![curve(points.collect(), false)],
    }
}

const fn axis(name: &'static str, log: bool) -> Axis {
    Axis {
        name,
        log,
        show: number,
    }
}

fn curve(points: Vec<Point>, joined: bool) -> Curve {
    Curve {
        label: String::new(),
        joined,
        points,
    }
}

/// Gaps between the starts of frames by the senders' clocks.
pub fn gaps(rows: &[Row<'_>]) -> Gallery {
    let pictures = rows.iter().filter_map(|row| {
        let senders = || row.flows.iter().filter_map(|f| f.sender.value());
        let gaps = senders().filter_map(|s| s.gap.value());
        let asked = senders().find_map(|s| s.asked_frames_per_s.value());
        let asked = asked.filter(|fps| **fps > 0.0);
        let of = Distribution {
            samples: Samples::of(None, gaps)?,
            kind: senders().find_map(|s| s.gap.kind())?,
            mark: asked.map(|fps| (1e12 / fps, "requested")),
        };
        Some((format!("Trial {}", row.label()), of))
    });
    Gallery {
        title: "Gaps of the sender",
        about: "Time from the start of one frame to the start of the next, by the sender's own clock, and how many of \
                each; both scales are logarithmic. The dashed line is the gap that was requested.",
        ..distributions(pictures)
    }
}

/// Distributions of some series, each with its title.
pub fn of_series<'a>(all: impl Iterator<Item = (String, &'a wirelab_trial::Series)>) -> Gallery {
    distributions(all.filter_map(|(title, series)| {
        let of = Distribution {
            samples: Samples::of_series(series)?,
            kind: series.kind,
            mark: None,
        };
        Some((title, of))
    }))
}

/// Every series of times or instructions with samples.
pub fn series(file: &ResultsFile) -> Gallery {
    let places = detail::series(file);
    let all = places.iter().map(|place| {
        let simulated = match place.series.clock.kind {
            wirelab_trial::ClockKind::Simulated => ", simulated time",
            _ => "",
        };
        let (trial, name) = (place.trial, &place.series.name);
        let title = format!("Trial {trial} · {name} · {}{simulated}", place.of);
        (title, place.series)
    });
    Gallery {
        title: "Latency and other series",
        about: "How many samples of each value; both scales are logarithmic. Instruction counts are no times.",
        ..of_series(all)
    }
}

fn distributions(all: impl Iterator<Item = (String, Distribution)>) -> Gallery {
    let mut pictures: Vec<_> = all
        .map(|(title, of)| (title, Picture::Distribution(of)))
        .collect();
    let left_out = pictures.len().saturating_sub(PANELS);
    pictures.truncate(PANELS);
    Gallery {
        pictures,
        left_out,
        ..Gallery::default()
    }
}

/// How much of each row was lost, of those that counted frames.
pub fn losses(rows: &[Row<'_>]) -> Vec<Bar> {
    let bar = |row: &Row<'_>| {
        let (loss, kind) = match row.loss() {
            Field::Observed { value, kind } => (value, kind),
            Field::Absent { .. } => return None,
        };
        let status = match row::status(&row.observation.status) {
            "complete" => String::new(),
            status => format!(", {status}"),
        };
        Some(Bar {
            label: row.label(),
            loss,
            words: format!("{}, {}{status}", in_words(row, loss), row::kind(kind)),
        })
    };
    rows.iter().filter_map(bar).collect()
}

/// How much a row lost: frames of those sent where they were counted, else the share.
fn in_words(row: &Row<'_>, loss: Loss<f64>) -> String {
    match (row.lost().value(), row.sent().value()) {
        (Some(lost), Some(sent)) => format!("{} of {}", lost.show(integer), integer(*sent)),
        _ => format!("{} %", loss.show(crate::format::percent)),
    }
}

/// Flows of trials that may be used, with the figure that `get` takes from each, its size and its words.
fn points<'a>(
    observations: &'a [Observation],
    get: impl Fn(&'a Observation, &'a FlowObservation) -> Option<&'a Field<f64>>,
    bytes: fn(&Sizes) -> u32,
    words: fn(f64, u32) -> String,
) -> Vec<scatter::Point> {
    let mut out = Vec::new();
    for (at, o) in observations.iter().enumerate() {
        if matches!(o.status, Status::Void { .. }) {
            continue;
        }
        for flow in &o.flows {
            if let Some(Field::Observed { value, kind }) = get(o, flow) {
                let (words, load) = (words(*value, bytes(&o.sizes)), row::load(&o.trial.load));
                let (direction, port) = (flow.direction, &flow.port);
                let title = format!(
                    "trial {}, {direction} on {port}: {words} ({kind}), load {load}",
                    at + 1
                );
                out.push(scatter::Point {
                    bytes: bytes(&o.sizes),
                    value: *value,
                    direction,
                    kind: *kind,
                    title,
                });
            }
        }
    }
    out
}

fn largest(points: &[scatter::Point]) -> f64 {
    let largest = points.iter().map(|point| point.bytes).max();
    scatter::size_limit(largest.unwrap_or(0))
}

/// Efficiency against payload, and the limit of the link.
pub fn efficiency(observations: &[Observation]) -> Scatter {
    let points = points(
        observations,
        |_, flow| Some(&flow.efficiency),
        |sizes| sizes.payload,
        |value, bytes| format!("{} % at {bytes} B payload", format::percent(value)),
    );
    let high = largest(&points);
    let tags = observations.iter();
    let tags: BTreeSet<u8> = tags.map(|o| o.trial.framing.vlan_tags.min(2)).collect();
    Scatter {
        x: "payload in bytes",
        y: "efficiency in %: payload bits over link bits",
        show: |v| format::decimal(v * 100.0, 0),
        words: format::percent,
        high: (high, 1.0),
        points,
        limits: tags.iter().map(|tags| limit_curve(*tags, high)).collect(),
        ceilings: Vec::new(),
        limit: Some("limit of the link, p / (p + 38)"),
    }
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

/// Frames/s against frame size for trials without a link rate, with the tester's own ceiling where it is known.
pub fn frame_rate(observations: &[Observation]) -> Scatter {
    let unlinked = |o: &Observation| row::link(o).is_none();
    let points = points(
        observations,
        |o, flow| unlinked(o).then_some(&flow.frames_per_s),
        |sizes| sizes.frame,
        |value, bytes| format!("{} frames/s at frame {bytes} B", format::frame_rate(value)),
    );
    let ceilings = observations
        .iter()
        .filter(|o| unlinked(o) && !o.flows.is_empty());
    let ceilings = ceilings.filter_map(|o| {
        let ceiling = o.tester.ceiling_frames_per_s.value().copied();
        Some((
            o.sizes.frame,
            ceiling.filter(|_| !matches!(o.status, Status::Void { .. }))?,
        ))
    });
    let ceilings: Vec<(u32, f64)> = ceilings.collect();
    let all = points.iter().map(|p| p.value);
    let highest = all
        .chain(ceilings.iter().map(|(_, value)| *value))
        .fold(0.0, f64::max);
    let step = nice(highest / 5.0);
    Scatter {
        x: "frame in bytes, with FCS",
        y: "frames/s of each flow",
        show: number,
        words: |v| format!("{} frames/s", format::frame_rate(v)),
        high: (largest(&points), (highest / step).ceil().max(1.0) * step),
        points,
        limits: Vec::new(),
        limit: (!ceilings.is_empty()).then_some("the tester's own ceiling, measured"),
        ceilings,
    }
}
