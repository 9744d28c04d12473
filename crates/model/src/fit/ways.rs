//! The fit of each way through the node (layer, direction, buffers): its limiting server, and its CPU load.

use std::collections::BTreeMap;

use super::figures::{Prefix, Report};
use super::gather::{Gathered, Point, Way};
use super::judge::{Judged, Quantity, judge};
use super::ring::ring_depth;
use super::shape::{Cell, Law};
use super::stages::{StageFit, fit_stages};
use super::{FitOptions, Fitted};

/// Observations that a period needs, and cells that a CPU load needs.
const NEEDED: usize = 3;
/// Ways (layer, direction, buffers) that go into one node file.
const MAX_WAYS: usize = 10;
/// Share of line rate from which the wire is the limit, and above which something is wrong.
const LINE_RATE: f64 = 0.99;
const ABOVE_LINE: f64 = 1.01;
/// Share of lost frames from which a receive trial is overloaded.
const OVERLOADED: f64 = 0.01;
/// Busy ratio from which the CPU is the limit.
const BUSY: f64 = 0.95;

/// What was fitted of one way.
#[derive(Clone, Debug)]
pub(super) struct WayFit {
    pub(super) way: Way,
    /// Time of the limiting server for a frame.
    pub(super) period: Option<Judged>,
    /// CPU load against frames/s.
    pub(super) load: Option<Judged>,
    /// Idle load from the node's own baseline, where the loads cannot give it.
    pub(super) baseline: Option<f64>,
    /// Whether the CPU is the limiting server.
    pub(super) cpu_limited: bool,
    /// Cells in which the wire was the limit.
    pub(super) wire_limited: usize,
    /// Descriptors of the receive ring.
    pub(super) ring: Option<f64>,
    pub(super) stages: Vec<StageFit>,
}

impl WayFit {
    /// Whether anything was learned.
    pub(super) fn says_something(&self) -> bool {
        self.period.is_some()
            || self.load.is_some()
            || !self.stages.is_empty()
            || self.wire_limited >= NEEDED
    }

    /// Sizes that look raised to this many bytes by a tool.
    pub(super) fn raised_to_bytes(&self) -> Option<f64> {
        let judged = [&self.period, &self.load];
        let raised = judged
            .into_iter()
            .flatten()
            .find_map(|j| j.raised.as_ref())?;
        Some(f64::midpoint(raised.implied_bytes.0, raised.implied_bytes.1).round())
    }
}

/// Fit every way that the observations went.
pub(super) fn fit_ways(
    gathered: &mut Gathered,
    options: &FitOptions,
    report: &mut Report,
) -> Vec<WayFit> {
    let mut of_way: BTreeMap<Way, Vec<Point>> = BTreeMap::new();
    for point in &gathered.points {
        of_way.entry(point.way).or_default().push(point.clone());
    }
    while of_way.len() > MAX_WAYS {
        if let Some((way, _)) = of_way.pop_last() {
            gathered.leave_out(format!(
                "{}: more than {MAX_WAYS} ways through the node",
                way.name()
            ));
        }
    }
    let fit = |(way, points): (Way, Vec<Point>)| fit_way(way, &points, gathered, options, report);
    of_way.into_iter().map(fit).collect()
}

fn fit_way(
    way: Way,
    points: &[Point],
    gathered: &mut Gathered,
    options: &FitOptions,
    report: &mut Report,
) -> WayFit {
    let mut fitted = WayFit {
        way,
        period: None,
        load: None,
        baseline: None,
        cpu_limited: false,
        wire_limited: 0,
        ring: None,
        stages: Vec::new(),
    };
    let limited = limited_points(way, points, gathered, report, &mut fitted);
    fit_load(points, report, &mut fitted);
    fit_period(&limited, report, &mut fitted);
    fitted.ring = ring_depth(way, points, &limited, report);
    fitted.stages = fit_stages(way, points, options, report);
    fitted
}

/// Points in which the node, not the wire or the tester, was as fast as it could.
fn limited_points<'p>(
    way: Way,
    points: &'p [Point],
    gathered: &mut Gathered,
    report: &mut Report,
    fitted: &mut WayFit,
) -> Vec<&'p Point> {
    let mut limited = Vec::new();
    let mut unexplained = 0;
    for point in points {
        let Some(frames_per_s) = point.frames_per_s else {
            continue;
        };
        let overloaded = point.loss_ratio.is_some_and(|l| l >= OVERLOADED);
        if !(if way.receive {
            overloaded
        } else {
            point.max_load
        }) {
            continue;
        }
        let of_line = point
            .line_frames_per_s
            .map_or(0.0, |line| frames_per_s / line);
        if of_line > ABOVE_LINE {
            gathered.leave_out("period: more frames/s than the link carries");
        } else if of_line >= LINE_RATE {
            fitted.wire_limited += 1;
        } else if point.flows > 1 {
            gathered.leave_out(
                "period: several ports at once, whose common limit one server cannot be",
            );
        } else if point.tester_was_limit && !way.receive {
            gathered.leave_out("period: the tester was the limit");
        } else if way.receive && point.load.is_some_and(|l| l.busy_ratio < BUSY) {
            unexplained += 1;
        } else {
            limited.push(point);
        }
    }
    if fitted.wire_limited > 0 {
        report.notes.push(format!(
            "{}: {} observations at line rate (within 1 %): the wire is the limit, they say nothing of the node's own cost",
            way.name(), fitted.wire_limited
        ));
    }
    if unexplained > 0 {
        report.warn(
            "loss-without-load",
            format!(
                "{}: {unexplained} observations lose frames while the CPU has time left: bursts of the sender against the \
                 ring, or another server; no service rate was taken from them",
                way.name()
            ),
            "offer an even stream (see the sender's gaps), or capture with a hardware tester",
        );
    }
    if way.receive {
        longest_of_each_size(&limited)
    } else {
        limited
    }
}

/// Short overloaded trials end before the ring is full: only those with the most frames show the service rate.
fn longest_of_each_size<'p>(points: &[&'p Point]) -> Vec<&'p Point> {
    let frames = |p: &Point| p.sent_frames.unwrap_or(0);
    let longest = |bytes: f64| {
        let same = points.iter().filter(|p| p.bytes == bytes);
        same.map(|p| frames(p)).max().unwrap_or(0)
    };
    let long = points.iter().filter(|p| frames(p) >= longest(p.bytes) / 2);
    long.copied().collect()
}

fn fit_period(limited: &[&Point], report: &mut Report, fitted: &mut WayFit) {
    if limited.is_empty() {
        return;
    }
    let name = fitted.way.name();
    let figure = format!("{name} period");
    if limited.len() < NEEDED {
        report.too_few.push(format!(
            "{figure}: {} of {NEEDED} observations",
            limited.len()
        ));
        report.notes.push(format!(
            "{figure}: too few observations, {} of {NEEDED}",
            limited.len()
        ));
        return;
    }
    let cells = cells_of(
        limited,
        |p| (p.bytes.to_bits(), String::new()),
        |p| {
            let period_ns = 1e9 / p.frames_per_s?;
            Some((1e9, period_ns, 1.0 / (period_ns * period_ns)))
        },
    );
    let Some(judged) = judge(&cells, Quantity::Period) else {
        return;
    };
    let busy: Vec<f64> = limited
        .iter()
        .filter_map(|p| Some(p.load?.busy_ratio))
        .collect();
    fitted.cpu_limited =
        fitted.load.is_some() && busy.iter().all(|b| *b >= BUSY) && !busy.is_empty();
    let way_out = "measure a second size; until then predict at this size alone";
    one_size(&judged, &figure, way_out, report);
    let what = if fitted.way.receive {
        "frames/s that arrive in overload"
    } else {
        "frames/s at maximum load"
    };
    let how = format!("least squares of 1 / {what} over {} sizes", cells.len());
    let prefix = Prefix {
        way: &name,
        part: "period",
        figure: &figure,
    };
    report.parameters_of(&judged.model, &prefix, &how);
    report.leave_one_out_of(&figure, Quantity::Period, &judged.model, &judged.outliers);
    report.findings_of(&judged, &figure, fitted.way.size());
    if fitted.cpu_limited {
        report.notes.push(format!(
            "{figure}: the CPU is busy for 95 % and more of the time, so it is the limiting server: its stage costs the \
             period, which holds the idle load too"
        ));
    }
    fitted.period = Some(judged);
}

fn fit_load(points: &[Point], report: &mut Report, fitted: &mut WayFit) {
    let loaded: Vec<&Point> = points
        .iter()
        .filter(|p| p.load.is_some() && p.frames_per_s.is_some())
        .collect();
    if loaded.is_empty() {
        return;
    }
    let name = fitted.way.name();
    let figure = format!("{name} CPU load");
    let of = |p: &Point| Some((p.frames_per_s?, p.load?.busy_ratio, 1.0));
    let mut cells = cells_of(&loaded, |p| (p.bytes.to_bits(), p.label.clone()), of);
    if cells.len() < NEEDED {
        report
            .too_few
            .push(format!("{figure}: {} of {NEEDED} cells", cells.len()));
        report.notes.push(format!(
            "{figure}: too few cells, {} of {NEEDED}",
            cells.len()
        ));
        return;
    }
    let Some(mut judged) = judge(&cells, Quantity::Load) else {
        return;
    };
    let baselines: Vec<f64> = loaded
        .iter()
        .filter_map(|p| p.load.map(|l| l.idle_baseline_ratio))
        .filter(|b| *b > 0.0 && *b < 1.0)
        .collect();
    let baseline =
        (!baselines.is_empty()).then(|| baselines.iter().sum::<f64>() / baselines.len() as f64);
    if !judged.model.shape.idle {
        let known = match baseline {
            Some(idle) => format!(
                "the node's own idle baseline of {:.1} % was taken",
                100.0 * idle
            ),
            None => "the idle load is in the cost of a frame".to_owned(),
        };
        report.warn(
            "inseparable",
            format!("{figure}: one frame rate only, so that idle load and cost of a frame cannot be told apart; {known}"),
            "measure at least two loads",
        );
        if let Some(idle) = baseline {
            cells.iter_mut().for_each(|c| c.value -= idle);
            let Some(again) = judge(&cells, Quantity::Load) else {
                return;
            };
            judged = again;
            // Only where the idle column is still not to be told apart is the baseline the idle load.
            report.parameters.push(Fitted {
                name: format!("{name}-idle"),
                value: 100.0 * idle,
                unit: "%".to_owned(),
                interval: None,
                how: "the node's own baseline".to_owned(),
            });
            fitted.baseline = Some(idle);
        }
    }
    one_size(
        &judged,
        &figure,
        "measure a second size; until then predict at this size alone",
        report,
    );
    let how = format!(
        "least squares of CPU load against frames/s that arrive, {} cells; ns of CPU time",
        judged.model.cells.len()
    );
    let prefix = Prefix {
        way: &name,
        part: "cpu",
        figure: &figure,
    };
    report.parameters_of(&judged.model, &prefix, &how);
    report.leave_one_out_of(&figure, Quantity::Load, &judged.model, &judged.outliers);
    report.findings_of(&judged, &figure, fitted.way.size());
    fitted.load = Some(judged);
}

fn one_size(judged: &Judged, figure: &str, way_out: &str, report: &mut Report) {
    let classes = &judged.model.shape.classes;
    if classes.len() == 1 && classes[0].law == Law::Constant {
        report.warn(
            "inseparable",
            format!("{figure}: one size only, so that the cost of a frame and of its bytes cannot be told apart"),
            way_out,
        );
    }
}

/// Observations with the same key as one cell each: means of frame rate, value and weight.
pub(super) fn cells_of<K: Ord>(
    points: &[&Point],
    key: impl Fn(&Point) -> K,
    of: impl Fn(&Point) -> Option<(f64, f64, f64)>,
) -> Vec<Cell> {
    let mut same: BTreeMap<K, Vec<(&Point, (f64, f64, f64))>> = BTreeMap::new();
    for point in points {
        if let Some(figures) = of(point) {
            same.entry(key(point)).or_default().push((point, figures));
        }
    }
    let cell = |repeats: Vec<(&Point, (f64, f64, f64))>| {
        let n = repeats.len() as f64;
        let mean =
            |of: fn(&(f64, f64, f64)) -> f64| repeats.iter().map(|r| of(&r.1)).sum::<f64>() / n;
        let value = mean(|f| f.1);
        let squares: f64 = repeats.iter().map(|r| (r.1.1 - value).powi(2)).sum();
        Cell {
            label: repeats[0].0.label.clone(),
            bytes: repeats[0].0.bytes,
            frames_per_s: mean(|f| f.0),
            value,
            weight: mean(|f| f.2),
            stddev: (repeats.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            observations: repeats.len(),
            counted: repeats.iter().all(|r| r.0.counted),
        }
    };
    same.into_values().map(cell).collect()
}
