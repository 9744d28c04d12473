//! Pictures over the run: rate, loss, latency and CPU load of a trial from its first arrival to its last.

use wirelab_trial::over_time::Cores;
use wirelab_trial::stage::is_stage;
use wirelab_trial::{
    BusyOverTime, FlowObservation, Kind, Observation, OverTime, ResultsFile, Series as Times,
    Status, format,
};
use wirelab_wire::Layer;

use crate::chart::plane::{Pane, Plane, Point, Series};
use crate::chart::{Axis, Picture, Show};
use crate::document::Gallery;
use crate::row::{self, Row};
use crate::stats;

/// Most pictures; the results file has the rest.
const PICTURES: usize = 12;
/// Fewer slices of a run do not make a course.
const FEWEST_SLICES: usize = 8;
/// Fewer slices of a load do not make a course.
const FEWEST_LOADS: usize = 3;
/// The name of the axis of loads.
const LOAD: &str = "CPU load";
/// Most points of a curve.
const POINTS: usize = 48;
/// Samples behind each point of the latency: the median of fewer is noise.
const SAMPLES: usize = 8;

/// The runs whose rate varied most, as many as a page has room for.
pub fn gallery(file: &ResultsFile) -> Gallery {
    let rows = row::rows(&file.observations, false);
    let usable = |row: &&Row<'_>| !matches!(row.observation.status, Status::Void { .. });
    let mut runs: Vec<(f64, usize, (String, Picture))> = Vec::new();
    for row in rows.iter().filter(usable) {
        let plane = plane(row);
        if plane.is_empty() {
            continue;
        }
        let spread = row
            .flows
            .iter()
            .map(|flow| spread(flow))
            .fold(0.0, f64::max);
        // A node that is only watched has no requested load.
        let title = match row.flows.iter().any(|flow| flow.elapsed.value().is_some()) {
            true => format!(
                "{} · {}",
                row.label(),
                row::load(&row.observation.trial.load)
            ),
            false => row.label(),
        };
        runs.push((spread, row.trial, (title, Picture::Plane(plane))));
    }
    let left_out = runs.len().saturating_sub(PICTURES);
    runs.sort_by(|a, b| b.0.total_cmp(&a.0));
    runs.truncate(PICTURES);
    runs.sort_by_key(|(_, trial, _)| *trial);
    Gallery {
        title: "Over the run",
        about: "Rate, loss, latency and CPU load from the first arrival to the last. A run whose rate falls, or drops out for \
                a while, is not a steady state, and its mean says little. The CPU load is the mean of the cores: the node's, and \
                all that the tester may use on its host. A run of less than a second may be too short for it, since \
                kernels count it in steps of 10 ms.",
        pictures: runs.into_iter().map(|(_, _, picture)| picture).collect(),
        left_out,
        ..Gallery::default()
    }
}

/// The runs of stages. Their trials are blocks that alternate. If these are too short for a load each, one picture shows all of
/// them.
pub fn of_stages(file: &ResultsFile) -> Gallery {
    let each = gallery(file);
    let has_load = |picture: &Picture| match picture {
        Picture::Plane(plane) => plane.panes.iter().any(|pane| pane.y.name == LOAD),
        _ => false,
    };
    let whole = all_trials(file);
    if whole.is_empty() || each.pictures.iter().any(|(_, picture)| has_load(picture)) {
        return each;
    }
    let caption =
        "All trials one after another: the frames per second of each, and the CPU load meanwhile.";
    Gallery {
        title: "Over the run",
        about: "The CPU load is the mean of the cores: the node's, and all that the tester may use on its host.",
        pictures: vec![(caption.to_owned(), Picture::Plane(whole))],
        wide: true,
        ..Gallery::default()
    }
}

/// Rate and load of all trials by when each began; empty for fewer than three of them.
fn all_trials(file: &ResultsFile) -> Plane {
    let begun = |o: &Observation| o.started_unix_ns.value().copied();
    let first = file.observations.iter().filter_map(begun).min();
    let rows = row::rows(&file.observations, false);
    let usable = |row: &&Row<'_>| !matches!(row.observation.status, Status::Void { .. });
    let (mut rates, mut loads) = (Vec::new(), [Vec::new(), Vec::new()]);
    for row in rows.iter().filter(usable) {
        let Some(since_ns) = begun(row.observation)
            .zip(first)
            .map(|(at, first)| at - first)
        else {
            continue;
        };
        if let Some(rate) = row.sum(|flow| &flow.frames_per_s).value() {
            let words = format!("{} frames/s", format::frame_rate(*rate));
            let at = middle_ps(since_ns, since_ns);
            rates.push(Point::new(at, *rate, words, Some(row.trial)));
        }
        for of in &row.observation.busy_over_time {
            loads[usize::from(of.of == Cores::Tester)].extend(shares(row.trial, of, since_ns));
        }
    }
    if loads.iter().map(Vec::len).max() < Some(FEWEST_LOADS) {
        rates.clear();
        loads = Default::default();
    }
    let [node, tester] = loads;
    let of = |cores, points| Series {
        kind: Some(Kind::Measured),
        ..Series::plain(whose(cores).to_owned(), false, points)
    };
    let plane = Plane {
        x: Axis::linear("time since the first trial began", Show::Time),
        panes: vec![
            Pane {
                y: Axis::linear("frames/s of each trial", Show::Si),
                series: vec![Series::plain(String::new(), false, rates)],
                lines: Vec::new(),
            },
            Pane {
                y: Axis::linear(LOAD, Show::Share).up_to(1.0),
                series: vec![of(Cores::Node, node), of(Cores::Tester, tester)],
                lines: Vec::new(),
            },
        ],
        marked: Vec::new(),
    };
    plane.tidied()
}

const fn whose(cores: Cores) -> &'static str {
    match cores {
        Cores::Node => "the node's cores",
        Cores::Tester => "the tester's host",
    }
}

/// How much the rate of a flow varied, as a share of its mean.
fn spread(flow: &FlowObservation) -> f64 {
    let rates: Vec<f64> = slices(&flow.over_time).map(|slice| slice.per_s).collect();
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    match mean > 0.0 {
        true => (squares / rates.len() as f64).sqrt() / mean,
        false => 0.0,
    }
}

/// Where the slices of a flow come from. If a node is only watched, only the times of its frames are known.
fn kind(flow: &FlowObservation) -> Option<Kind> {
    let rate = flow.frames_per_s.kind().or(flow.goodput_bits_per_s.kind());
    rate.or(flow.series.first().map(|times| times.kind))
}

/// A slice of a run.
struct Slice {
    from_ns: u64,
    to_ns: u64,
    /// Frames or bytes that arrived, a second.
    per_s: f64,
    /// The share of the sequences passed over.
    missing: f64,
}

fn when(from_ns: u64, to_ns: u64) -> String {
    let time = |ns: u64| format::time(ns.saturating_mul(1000));
    format!("{} to {}", time(from_ns), time(to_ns))
}

/// The middle of a slice, in ps.
fn middle_ps(from_ns: u64, to_ns: u64) -> f64 {
    (from_ns as f64 + to_ns as f64) * 500.0
}

fn slices(of: &OverTime) -> impl Iterator<Item = Slice> {
    let rows = of
        .slice_ns
        .iter()
        .zip(of.arrived.iter())
        .zip(of.missing_frames.iter());
    let mut from_ns = 0u64;
    rows.filter_map(move |((ns, arrived), missing)| {
        let to_ns = from_ns.saturating_add(*ns);
        let slice = Slice {
            from_ns,
            to_ns,
            per_s: *arrived as f64 * 1e9 / *ns as f64,
            missing: *missing as f64 / (missing.saturating_add(*arrived)).max(1) as f64,
        };
        from_ns = to_ns;
        (*ns > 0).then_some(slice)
    })
}

fn plane(row: &Row<'_>) -> Plane {
    let layer = row.observation.trial.framing.layer;
    let is_stream = matches!(layer, Layer::TcpIpv4 | Layer::TcpIpv6);
    let flows = || {
        row.flows
            .iter()
            .filter(|f| f.over_time.slice_ns.len() >= FEWEST_SLICES)
    };
    let several = flows().count() > 1;
    let name = |flow: &FlowObservation| match several {
        true => flow.port.clone(),
        false => String::new(),
    };
    let (unit, scale) = match is_stream {
        true => ("bit/s", 8.0),
        false => ("frames/s", 1.0),
    };
    let curve = |get: &dyn Fn(&Slice) -> (f64, String)| -> Vec<Series> {
        let one = |flow: &&FlowObservation| {
            let points = slices(&flow.over_time).map(|slice| {
                let (y, words) = get(&slice);
                let words = format!("{}: {words}", when(slice.from_ns, slice.to_ns));
                Point::new(
                    middle_ps(slice.from_ns, slice.to_ns),
                    y,
                    words,
                    Some(row.trial),
                )
            });
            Series {
                kind: kind(flow),
                ..Series::plain(name(flow), true, points.collect())
            }
        };
        flows().map(one).collect()
    };
    let rates = curve(&|slice| {
        let rate = slice.per_s * scale;
        (rate, format::si(rate, unit))
    });
    let any_missing = flows().any(|f| f.over_time.missing_frames.iter().any(|n| *n > 0));
    let mut panes = vec![Pane {
        y: Axis::linear(format!("arrived in {unit}"), Show::Si),
        series: rates,
        lines: Vec::new(),
    }];
    if any_missing {
        let series = curve(&|slice| {
            let share = slice.missing;
            (share, format!("{} % missing", format::percent(share)))
        });
        panes.push(Pane {
            y: Axis::linear("missing", Show::Share),
            series,
            lines: Vec::new(),
        });
    }
    let delays = row
        .flows
        .iter()
        .filter_map(|flow| latency(row.trial, flow, name(flow)));
    panes.push(Pane {
        y: Axis::linear("latency, median", Show::Time),
        series: delays.collect(),
        lines: Vec::new(),
    });
    // A picture of a load alone would stand beside nothing.
    if flows().next().is_some() {
        let loads = row.observation.busy_over_time.iter();
        panes.push(Pane {
            y: Axis::linear(LOAD, Show::Share).up_to(1.0),
            series: loads.filter_map(|of| load(row.trial, of)).collect(),
            lines: Vec::new(),
        });
    }
    let points = panes.iter().flat_map(|pane| &pane.series);
    let points = points.flat_map(|series| &series.points);
    let last = points.map(|point| point.x).fold(0.0, f64::max);
    let plane = Plane {
        x: Axis::linear("time since the first arrival", Show::Time).up_to(last * 1.02),
        panes,
        marked: Vec::new(),
    };
    plane.tidied()
}

/// How busy cores were in each slice.
fn load(trial: usize, of: &BusyOverTime) -> Option<Series> {
    let points = shares(trial, of, 0);
    (points.len() >= FEWEST_LOADS).then(|| Series {
        kind: Some(Kind::Measured),
        ..Series::plain(whose(of.of).to_owned(), true, points)
    })
}

/// The share of each slice that cores worked, of a trial that began at `since_ns`.
fn shares(trial: usize, of: &BusyOverTime, since_ns: u64) -> Vec<Point> {
    let name = whose(of.of);
    let mut from_ns = since_ns.saturating_add(of.from_ns);
    let slices = of.slice_ns.iter().zip(of.busy_ns.iter());
    let points = slices.filter(|(ns, _)| **ns > 0).map(|(ns, busy)| {
        let to_ns = from_ns.saturating_add(*ns);
        let (middle, when) = (middle_ps(from_ns, to_ns), when(from_ns, to_ns));
        from_ns = to_ns;
        let share = *busy as f64 / *ns as f64;
        let words = format!("{when}: {name} {} % busy", format::percent(share));
        Point::new(middle, share, words, Some(trial))
    });
    points.collect()
}

/// The median latency of successive samples, in their order of arrival. If not all samples are kept, their times are unknown.
fn latency(trial: usize, flow: &FlowObservation, name: String) -> Option<Series> {
    // A stage is a part of the path, and has pictures of its own.
    let whole = |times: &&Times| {
        !is_stage(times) && stats::complete(times) && times.clock.tick_ps.is_some()
    };
    let times = flow.series.iter().find(whole)?;
    let tick_ps = times.clock.tick_ps? as f64;
    let all = times.raw_ticks.len();
    let each = all.div_ceil(POINTS).max(SAMPLES);
    let elapsed_ps = flow.elapsed.value()?.ps as f64;
    if all < FEWEST_SLICES * each {
        return None;
    }
    let point = |(at, ticks): (usize, &[u64])| {
        let mut sorted = ticks.to_vec();
        sorted.sort_unstable();
        let median = sorted[(sorted.len() - 1) / 2] as f64 * tick_ps;
        let share = (at * each) as f64 + ticks.len() as f64 / 2.0;
        let words = format!(
            "median of {}: {}",
            format::count(ticks.len() as u64, "frame"),
            format::time_f(median)
        );
        Point::new(share / all as f64 * elapsed_ps, median, words, Some(trial))
    };
    let points = times.raw_ticks.chunks(each).enumerate().map(point);
    Some(Series {
        kind: Some(times.kind),
        ..Series::plain(name, true, points.collect())
    })
}
