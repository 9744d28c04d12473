//! Which charts a report of results has: the loss of each trial, gaps of senders, and searches trial by trial.

use std::collections::BTreeSet;
use wirelab_trial::search::{BurstResult, SearchResult};

use wirelab_trial::{
    Field, FlowObservation, Framing, Kind, Observation, Part, ResultsFile, SearchOutcome, Size,
    SizeUnit, Sizes, Status,
};
use wirelab_wire::Overhead;

use crate::chart::loss::{self, LossShare};
use crate::chart::plane::{LineLook, Pane, Plane, PlaneLine, Point, Series};
use crate::chart::samples::{self, Samples};
use crate::chart::{Axis, Bars, Picture, Show, nice, usable};
use crate::distributions;
use crate::document::Gallery;
use crate::document::escape::{clip, line};
use crate::format::{self, integer};
use crate::loss::Loss;
use crate::row::{self, Row, StatusWord};
use crate::search::{allowed, bracket};
use crate::stats;

/// Most pictures of searches; the tables have all.
const PICTURES: usize = 24;

/// A picture of each search.
pub fn searches(file: &ResultsFile) -> Gallery {
    let found = file
        .parts
        .iter()
        .filter_map(|part| Some((part, part.found.as_ref()?)));
    let pictures = found.take(PICTURES).map(|(part, found)| {
        let plane = match found {
            SearchOutcome::Rates(r) => loads(file, part, knees(r)),
            SearchOutcome::LossCurve(_) => loads(file, part, Vec::new()),
            SearchOutcome::Bursts(b) => bursts(b),
        };
        (clip(&line(&part.name), 60), Picture::Plane(plane))
    });
    let pictures: Vec<_> = pictures.collect();
    Gallery {
        title: "Searches, trial by trial",
        about: "Each mark is a trial of a search, at the load that its sender achieved; a hollow mark is one that the \
                tester limited. A dashed line across is the rate that was found, with the loss that was allowed; one \
                along is where all that was sent arrives.",
        about_below: true,
        wide: pictures.len() == 1,
        pictures,
        ..Gallery::default()
    }
}

/// The rates that a search found, with the loss that was allowed.
fn knees(r: &SearchResult) -> Vec<(f64, String)> {
    let found = r.goals.iter().filter(|g| bracket(g).is_none());
    let marked = found.filter_map(|g| {
        let bound = *g.relevant_lower_bound_frames_per_s.value()?;
        let lost = match g.goal.loss_ratio > 0.0 {
            true => format!("{} lost", allowed(g.goal.loss_ratio)),
            false => "no loss".to_owned(),
        };
        Some((
            bound,
            format!("{lost}: {} frames/s", format::frame_rate(bound)),
        ))
    });
    marked.collect()
}

/// The result of a load, as one flow's share.
struct Load {
    point: Point,
    forwarded: Option<f64>,
    loss: Option<Loss<f64>>,
    busy: Option<f64>,
}

/// A figure of a load, and its largest possible value if that is larger.
type Figure = fn(&Load) -> Option<(f64, Option<f64>)>;

/// Trials of a part against the load that was achieved, which is not always the requested one.
fn loads(file: &ResultsFile, part: &Part, mut marked: Vec<(f64, String)>) -> Plane {
    let range = row::range_of(part, file.observations.len());
    let first = range.start;
    let rows = row::rows(&file.observations[range], false);
    let mut all: Vec<Load> = rows.iter().filter_map(|row| load(row, first)).collect();
    all.sort_by(|a, b| a.point.x.total_cmp(&b.point.x));
    let most = all.iter().map(|load| load.point.x).fold(0.0, f64::max);
    // If the path held the sender back, the result stands at the load that was offered.
    marked.iter_mut().for_each(|(at, _)| *at = at.min(most));
    let pane = |y: Axis, get: Figure| {
        let points = all.iter().filter_map(|load| {
            let (y, at_most) = get(load)?;
            let words = load.point.words.clone();
            let trial = load.point.trial;
            let tester = load.point.tester;
            Some(Point {
                at_most,
                tester,
                ..Point::new(load.point.x, y, words, trial)
            })
        });
        Pane {
            y,
            series: vec![Series::plain(String::new(), false, points.collect())],
            lines: Vec::new(),
        }
    };
    let mut forwarded = pane(Axis::linear("forwarded in frames/s", Show::Si), |load| {
        Some((load.forwarded?, None))
    });
    let least = all.iter().map(|load| load.point.x).fold(most, f64::min);
    forwarded.lines.push(PlaneLine {
        name: "all that was sent".to_owned(),
        look: LineLook::Limit,
        points: vec![(least, least), (most, most)],
    });
    let lost = pane(Axis::linear("lost", Show::Share), |load| {
        let of = load.loss?;
        Some((of.low, of.at_most()))
    });
    let busy = pane(Axis::linear("CPU load", Show::Share).up_to(1.0), |load| {
        Some((load.busy?, None))
    });
    let wide = all.first().is_some_and(|load| load.point.x * 20.0 < most);
    let name = "load that was achieved in frames/s of each flow";
    let plane = Plane {
        x: match wide {
            true => Axis::log(name, Show::Si),
            false => Axis::linear(name, Show::Si),
        },
        panes: vec![forwarded, lost, busy],
        marked,
    };
    plane.tidied()
}

/// A trial of a search; `None` where what was sent is unknown.
fn load(row: &Row<'_>, first: usize) -> Option<Load> {
    let flows = row.flows.len().max(1) as f64;
    let sent = row.fold(achieved, |a, b| a + b);
    let x = sent.value()? / flows;
    let forwarded = row.sum(|flow| &flow.frames_per_s);
    let forwarded = forwarded.value().map(|fps| fps / flows);
    let loss = row.loss().value().copied();
    let busy = row.observation.cpu_load.value().map(|load| load.busy_ratio);
    let mut words = format!("{} frames/s sent", format::frame_rate(x));
    if let Some(fps) = forwarded {
        words.push_str(&format!(", {} forwarded", format::frame_rate(fps)));
    }
    if let Some(loss) = loss {
        words.push_str(&format!(", {} % lost", loss.show(format::percent)));
    }
    if let Some(busy) = busy {
        words.push_str(&format!(", CPU load {} %", format::percent(busy)));
    }
    if let Some(frames) = row.sent().value() {
        words.push_str(&format!("; {} frames", integer(*frames)));
    }
    let tester = row.observation.tester.was_limit.value() == Some(&true);
    if tester {
        words.push_str("; the tester was the limit");
    }
    Some(Load {
        point: Point {
            tester,
            ..Point::new(x, 0.0, words, Some(first + row.trial))
        },
        forwarded,
        loss,
        busy,
    })
}

/// Frames/s that a flow's sender achieved: its own figure, else what was sent over the time.
fn achieved(flow: &FlowObservation) -> Field<f64> {
    let own = flow.sender.value().map(|s| s.achieved_frames_per_s.clone());
    match (own, &flow.sent_frames, flow.elapsed.value()) {
        (Some(own @ Field::Observed { .. }), ..) => own,
        (_, Field::Observed { value, kind }, Some(elapsed)) if elapsed.ps > 0 => Field::Observed {
            value: *value as f64 * 1e12 / elapsed.ps as f64,
            kind: *kind,
        },
        _ => Field::absent("what was sent was not counted"),
    }
}

fn bursts(b: &BurstResult) -> Plane {
    let points = b.bursts.iter().enumerate().map(|(at, burst)| {
        let frames = format::count(burst.frames, "frame");
        let words = format!("repeat {}: {frames}", at + 1);
        Point::new((at + 1) as f64, burst.frames as f64, words, None)
    });
    let plane = Plane {
        x: Axis::linear("repeat", Show::Integer),
        panes: vec![Pane {
            y: Axis::linear("longest burst in frames", Show::Integer),
            series: vec![Series::plain(String::new(), false, points.collect())],
            lines: Vec::new(),
        }],
        marked: Vec::new(),
    };
    plane.tidied()
}

/// Gaps between the starts of frames by the senders' clocks.
pub fn gaps(rows: &[Row<'_>]) -> Gallery {
    let series = rows.iter().filter_map(|row| {
        let senders = || row.flows.iter().filter_map(|f| f.sender.value());
        let gaps = senders().filter_map(|s| s.gap.value());
        let requested = senders().find_map(|s| s.asked_frames_per_s.value());
        let requested = requested.filter(|fps| **fps > 0.0);
        let samples = stats::Samples::of(None, gaps)?;
        let kind = senders().find_map(|s| s.gap.kind())?;
        let label = format!(
            "{} · {}",
            row.label(),
            row::load(&row.observation.trial.load)
        );
        Some(samples::Series {
            mark: requested
                .map(|fps| (1e12 / fps, "requested"))
                .filter(|(ps, _)| usable(*ps)),
            ..samples::Series::of(label, Some(row.trial), kind, &samples)
        })
    });
    let picture = Samples {
        name: "gap between frames".to_owned(),
        show: Show::Time,
        by: "trial",
        steps: samples::STEPS,
        series: series.collect(),
    };
    Gallery {
        title: "Gaps of the sender",
        about: "Time from the start of one frame to the start of the next, by the sender's own clock. The dashed line is \
                the gap that was requested.",
        wide: true,
        ..distributions::gallery(vec![("Gaps of the sender".to_owned(), picture)])
    }
}

/// The loss of each row that counted frames.
pub fn losses(rows: &[Row<'_>]) -> Bars {
    let bar = |row: &Row<'_>| {
        let (loss, kind) = match row.loss() {
            Field::Observed { value, kind } => (value, kind),
            Field::Absent { .. } => return None,
        };
        let status = match row::status(&row.observation.status) {
            StatusWord::Complete => String::new(),
            status => format!(", {}", status.name()),
        };
        Some(LossShare {
            label: row.label(),
            trial: row.trial,
            loss,
            words: format!("{}, {}{status}", in_words(row, loss), row::kind(kind)),
        })
    };
    loss::bars(rows.iter().filter_map(bar).collect())
}

/// How much a row lost: frames of those sent where they were counted, else the share.
fn in_words(row: &Row<'_>, loss: Loss<f64>) -> String {
    match (row.lost().value(), row.sent().value()) {
        (Some(lost), Some(sent)) => format!("{} of {}", lost.show(integer), integer(*sent)),
        _ => format!("{} %", loss.show(crate::format::percent)),
    }
}

/// Flows of usable trials, with the figure that `get` takes from each, its size and its text: a series for
/// each direction and kind.
fn points<'a>(
    observations: &'a [Observation],
    get: impl Fn(&'a Observation, &'a FlowObservation) -> Option<&'a Field<f64>>,
    bytes: fn(&Sizes) -> u32,
    words: fn(f64, u32) -> String,
) -> Vec<Series> {
    let mut out: Vec<Series> = Vec::new();
    for (at, o) in observations.iter().enumerate() {
        if matches!(o.status, Status::Void { .. }) {
            continue;
        }
        let tester = o.tester.was_limit.value() == Some(&true);
        for flow in &o.flows {
            let Some(Field::Observed { value, kind }) = get(o, flow) else {
                continue;
            };
            let (words, load) = (words(*value, bytes(&o.sizes)), row::load(&o.trial.load));
            let (direction, port) = (flow.direction, &flow.port);
            let mut words = format!(
                "trial {}, {direction} on {}: {words} ({kind}), load {load}",
                at + 1,
                line(port)
            );
            if let Some(frames) = flow.sent_frames.value() {
                words.push_str(&format!("; {} frames", integer(*frames)));
            }
            if tester {
                words.push_str("; the tester was the limit");
            }
            let point = Point {
                tester,
                ..Point::new(bytes(&o.sizes).into(), *value, words, Some(at + 1))
            };
            push(&mut out, direction, *kind, point);
        }
    }
    out
}

fn push(all: &mut Vec<Series>, direction: wirelab_trial::Direction, kind: Kind, point: Point) {
    let like = |s: &&mut Series| s.direction == Some(direction) && s.kind == Some(kind);
    match all.iter_mut().find(like) {
        Some(series) => series.points.push(point),
        None => all.push(Series {
            name: format!("{direction}, {kind}"),
            direction: Some(direction),
            kind: Some(kind),
            joined: false,
            points: vec![point],
        }),
    }
}

/// The end of the size axis: for a usual frame, or for a jumbo frame.
fn size_limit(series: &[Series]) -> f64 {
    let points = series.iter().flat_map(|s| &s.points);
    let largest = points.map(|p| p.x).fold(0.0, f64::max);
    if largest <= 1600.0 {
        return 1600.0;
    }
    let step = nice(largest / 10.0);
    (largest / step).ceil() * step
}

/// Efficiency against payload, and the limit of the link.
pub fn efficiency(observations: &[Observation]) -> Plane {
    let series = points(
        observations,
        |_, flow| Some(&flow.efficiency),
        |sizes| sizes.payload,
        |value, bytes| format!("{} % at {bytes} B payload", format::percent(value)),
    );
    let high = size_limit(&series);
    let tags = observations.iter();
    let tags: BTreeSet<u8> = tags.map(|o| o.trial.framing.vlan_tags.min(2)).collect();
    let limit = |tags: &u8| PlaneLine {
        name: match tags {
            0 => "limit of the link, p / (p + 38)".to_owned(),
            n => format!("the same with {}", format::count(u64::from(*n), "tag")),
        },
        look: LineLook::Limit,
        points: limit_curve(*tags, high),
    };
    let plane = Plane {
        x: Axis::linear("payload in bytes", Show::Integer).up_to(high),
        panes: vec![Pane {
            y: Axis::linear("efficiency: payload bits over link bits", Show::Share).up_to(1.0),
            series,
            lines: tags.iter().map(limit).collect(),
        }],
        marked: Vec::new(),
    };
    plane.tidied()
}

/// Payload and efficiency along the limit of a link with the standard's overhead (IEEE 802.3).
fn limit_curve(vlan_tags: u8, highest: f64) -> Vec<(f64, f64)> {
    let framing = Framing {
        vlan_tags,
        ..Framing::default()
    };
    let least = 46 - 4 * u32::from(vlan_tags);
    let most = highest as u32;
    let steps = 60u32;
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
pub fn frame_rate(observations: &[Observation]) -> Plane {
    let unlinked = |o: &Observation| row::link(o).is_none();
    let series = points(
        observations,
        |o, flow| unlinked(o).then_some(&flow.frames_per_s),
        |sizes| sizes.frame,
        |value, bytes| format!("{} frames/s at frame {bytes} B", format::frame_rate(value)),
    );
    let ceilings = observations
        .iter()
        .filter(|o| unlinked(o) && !o.flows.is_empty() && !matches!(o.status, Status::Void { .. }));
    let mut ceilings: Vec<(f64, f64)> = ceilings
        .filter_map(|o| {
            let ceiling = *o.tester.ceiling_frames_per_s.value()?;
            Some((o.sizes.frame.into(), ceiling))
        })
        .collect();
    ceilings.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    ceilings.dedup();
    let high = size_limit(&series);
    // A ceiling of one size is a short line at it.
    if let [(x, y)] = ceilings[..] {
        ceilings = vec![(x * 0.9, y), (x * 1.1, y)];
    }
    let plane = Plane {
        x: Axis::linear("frame in bytes, with FCS", Show::Integer).up_to(high),
        panes: vec![Pane {
            y: Axis::linear("frames/s of each flow", Show::Si),
            series,
            lines: vec![PlaneLine {
                name: "the tester's own ceiling, measured".to_owned(),
                look: LineLook::Limit,
                points: ceilings,
            }],
        }],
        marked: Vec::new(),
    };
    plane.tidied()
}
