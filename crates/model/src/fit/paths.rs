//! Fits each path (layer, direction, buffers) through the node: its limiting server, and its CPU load.

use std::collections::{BTreeMap, BTreeSet};
use wirelab_trial::{CPU_IS_LIMIT, Interval, SeriesName, Trial, WarningCode, format};

use super::chain::{Chain, fit_chain};
use super::figures::{Prefix, Report, sizes_in_words};
use super::gather::{CapturedSeries, FitPoint, Gathered, PathKey};
use super::judge::{Judged, Quantity, judge};
use super::ring::ring_depth;
use super::shape::{Cell, Law, middle};
use super::stages::{StageFit, fit_stages};
use super::{FitOptions, Fitted};
use crate::file::CalibratedMetric;

/// Observations that a period needs, and cells that a CPU load needs.
const NEEDED: usize = 3;
/// Most paths (layer, direction, buffers) of one node file.
const MAX_PATHS: usize = 16;
/// Share of line rate from which the wire is the limit. A figure as far above line rate is wrong.
const LINE_RATE: f64 = 0.99;
const ABOVE_LINE: f64 = 1.01;
/// Share of lost frames from which a receive trial is overloaded.
const OVERLOADED: f64 = 0.01;
/// Busy ratio from which a CPU had no idle time, at the precision of tables.
const FULL: f64 = 0.9995;

/// The fit of one path.
#[derive(Clone, Debug)]
pub(super) struct PathFit {
    pub(super) key: PathKey,
    /// Time of the limiting server for a frame.
    pub(super) period: Option<Judged>,
    /// CPU load as a function of frames/s.
    pub(super) load: Option<Judged>,
    /// Idle load from the node's own baseline, where the loads do not give it.
    pub(super) baseline: Option<f64>,
    /// Whether the CPU is the limiting server.
    pub(super) cpu_limited: bool,
    /// Cells in which the wire was the limit, and the smallest size from which it was the limit in all cells.
    pub(super) wire_limited: usize,
    pub(super) wire_from: Option<f64>,
    /// Descriptors of the receive ring.
    pub(super) ring: Option<f64>,
    pub(super) stages: Vec<StageFit>,
    /// Stages named after their points, in place of `stages`.
    pub(super) chain: Option<Chain>,
    /// The fitted figures.
    pub(super) trained: Vec<Trained>,
}

/// A figure that something was fitted to, as node files name it.
#[derive(Clone, Debug)]
pub(super) struct Trained {
    pub(super) trial: Trial,
    pub(super) metric: CalibratedMetric,
    /// The capture point of a latency.
    pub(super) point: Option<String>,
}

impl PathFit {
    /// Whether anything was fitted.
    pub(super) fn says_something(&self) -> bool {
        self.period.is_some()
            || self.load.is_some()
            || !self.stages.is_empty()
            || self.chain.is_some()
            || self.wire_limited >= NEEDED
    }

    /// Whether frames wait for a server of the node, in a ring of descriptors.
    pub(super) fn has_ring(&self) -> bool {
        self.key.receive && (self.period.is_some() || self.load.is_some())
    }

    /// The largest size at which the rate of the node itself is unknown. If the wire is the limit at a size, it is also the
    /// limit at larger ones.
    pub(super) fn limit_unknown_to(&self) -> Option<u32> {
        let works = self.chain.as_ref().is_some_and(Chain::works);
        let unknown = !self.key.receive && self.period.is_none() && !works;
        unknown.then(|| self.wire_from.map_or(u32::MAX, |bytes| bytes as u32 - 1))
    }

    /// Whether frames may be lost before the CPU whose loads were measured.
    pub(super) fn may_lose_before(&self) -> bool {
        self.key.receive && self.load.is_some()
    }

    /// The size to which a tool seems to raise small datagrams, in bytes.
    pub(super) fn raised_to_bytes(&self) -> Option<f64> {
        let judged = [&self.period, &self.load];
        let raised = judged
            .into_iter()
            .flatten()
            .find_map(|j| j.raised.as_ref())?;
        Some(f64::midpoint(raised.implied_bytes.0, raised.implied_bytes.1).round())
    }
}

/// Fits every path of the observations.
pub(super) fn fit_paths(
    gathered: &mut Gathered,
    options: &FitOptions,
    report: &mut Report,
) -> Vec<PathFit> {
    let mut by_key: BTreeMap<PathKey, Vec<FitPoint>> = BTreeMap::new();
    for point in &gathered.points {
        by_key.entry(point.key).or_default().push(point.clone());
    }
    while by_key.len() > MAX_PATHS {
        if let Some((key, _)) = by_key.pop_last() {
            gathered.leave_out(format!(
                "{}: more than {MAX_PATHS} paths through the node",
                key.name()
            ));
        }
    }
    let fit =
        |(key, points): (PathKey, Vec<FitPoint>)| fit_path(key, &points, gathered, options, report);
    by_key.into_iter().map(fit).collect()
}

fn fit_path(
    key: PathKey,
    points: &[FitPoint],
    gathered: &mut Gathered,
    options: &FitOptions,
    report: &mut Report,
) -> PathFit {
    let mut fitted = PathFit {
        key,
        period: None,
        load: None,
        baseline: None,
        cpu_limited: false,
        wire_limited: 0,
        wire_from: None,
        ring: None,
        stages: Vec::new(),
        chain: None,
        trained: Vec::new(),
    };
    let limited = limited_points(key, points, gathered, report, &mut fitted);
    fit_load(points, report, &mut fitted);
    fit_period(&limited, report, &mut fitted);
    if fitted.has_ring() {
        fitted.ring = ring_depth(key, points, &limited, report);
    }
    let bounded = key.receive
        || fitted.period.is_some()
        || fitted.load.is_some()
        || gathered.link_bits_per_s.is_some();
    fitted.chain = fit_chain(key, points, report).filter(|chain| bounded || chain.works());
    if fitted.chain.is_none() && bounded {
        fitted.stages = fit_stages(key, points, options, report);
        if !fitted.stages.is_empty() {
            let fitted_to = |name: &SeriesName| fitted.stages.iter().any(|s| s.point == *name);
            let of_point = |p: &FitPoint| -> Vec<Trained> {
                let series = p.series.iter().filter(|s| fitted_to(&s.name));
                let one = |s: &CapturedSeries| Trained {
                    trial: p.trial.clone(),
                    metric: CalibratedMetric::Latency,
                    point: Some(s.name.to_string()),
                };
                series.map(one).collect()
            };
            let trained: Vec<Trained> = points.iter().flat_map(of_point).collect();
            fitted.trained.extend(trained);
        }
    } else if fitted.chain.is_none() && points.iter().any(|p| !p.series.is_empty()) {
        // Delays do not limit the rate, so the node would send without bound.
        let few = format!(
            "{} latency: neither a period nor a link rate (--rate of measure) says how fast the node sends",
            key.name()
        );
        report.notes.push(format!("left out: {few}"));
        report.too_few.push(few);
    }
    fitted
}

/// Points in which the node was the limit, not the wire or the tester.
fn limited_points<'p>(
    key: PathKey,
    points: &'p [FitPoint],
    gathered: &mut Gathered,
    report: &mut Report,
    fitted: &mut PathFit,
) -> Vec<&'p FitPoint> {
    let mut limited = Vec::new();
    let mut of_wire = Vec::new();
    let mut unexplained = 0;
    for point in points {
        let Some(frames_per_s) = point.frames_per_s else {
            continue;
        };
        let overloaded = point.loss_ratio.is_some_and(|l| l >= OVERLOADED);
        if !(if key.receive {
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
            of_wire.push(point.bytes);
        } else if point.flows > 1 {
            gathered.leave_out(
                "period: several ports at once, whose common limit one server cannot be",
            );
        } else if point.tester_was_limit && !key.receive {
            gathered.leave_out("period: the tester was the limit");
        } else if overloaded && !key.receive {
            gathered.leave_out("period: frames of the node were lost on the way");
        } else if key.receive && point.load.is_some_and(|l| l.busy_ratio < CPU_IS_LIMIT) {
            unexplained += 1;
        } else {
            limited.push(point);
        }
    }
    let largest = limited
        .iter()
        .map(|p: &&FitPoint| p.bytes)
        .fold(0.0, f64::max);
    fitted.wire_from = of_wire
        .into_iter()
        .filter(|b| *b > largest)
        .reduce(f64::min);
    if fitted.wire_limited > 0 {
        report.notes.push(format!(
            "{}: {} at line rate (within 1 %): there the wire is the limit and does not show the node's own cost",
            key.name(), format::count(fitted.wire_limited as u64, "observation")
        ));
    }
    if unexplained > 0 {
        report.warn(
            WarningCode::LOSS_WITHOUT_LOAD,
            format!(
                "{}: {} with lost frames although the CPU has time left: bursts of the sender against the ring, or \
                 another server; no service rate was taken from there",
                key.name(),
                format::count(unexplained as u64, "observation")
            ),
            "offer an even stream (see the sender's gaps), or capture with a hardware tester",
        );
    }
    if key.receive {
        longest_of_each_size(&limited)
    } else {
        limited
    }
}

/// Short overloaded trials end before the ring is full, so only those with the most frames show the service rate.
fn longest_of_each_size<'p>(points: &[&'p FitPoint]) -> Vec<&'p FitPoint> {
    let frames = |p: &FitPoint| p.sent_frames.unwrap_or(0);
    let longest = |bytes: f64| {
        let same = points.iter().filter(|p| p.bytes == bytes);
        same.map(|p| frames(p)).max().unwrap_or(0)
    };
    let long = points.iter().filter(|p| frames(p) >= longest(p.bytes) / 2);
    long.copied().collect()
}

fn fit_period(limited: &[&FitPoint], report: &mut Report, fitted: &mut PathFit) {
    let name = fitted.key.name();
    let figure = format!("{name} period");
    if limited.is_empty() || !enough(limited.len(), &figure, "observations", report) {
        return;
    }
    let by_size = |p: &FitPoint| p.bytes.to_bits();
    let cells = cells_of(limited, by_size, |p| {
        let value = 1e9 / p.frames_per_s?;
        Some(Figures {
            frames_per_s: 1e9,
            value,
            weight: 1.0 / (value * value),
            rounding: p.rounding.frames_per_s * value,
        })
    });
    let Some(judged) = judge(&cells, Quantity::Period) else {
        return;
    };
    let mut busy = limited.iter().filter_map(|p| p.load).peekable();
    fitted.cpu_limited = fitted.load.is_some()
        && busy.peek().is_some()
        && busy.all(|l| l.busy_ratio >= CPU_IS_LIMIT);
    one_size(&judged, &figure, report);
    let what = if fitted.key.receive {
        "frames/s that arrive in overload"
    } else {
        "frames/s at maximum load"
    };
    let how = format!(
        "least squares of 1 / {what} over {}",
        sizes_in_words(judged.model.cells.len())
    );
    found(
        &judged,
        Quantity::Period,
        "period",
        &how,
        fitted.key,
        report,
    );
    if fitted.cpu_limited {
        report.notes.push(format!(
            "{figure}: the CPU is busy for 95 % and more of the time, so it is the limiting server: its stage costs the period, which includes the idle load"
        ));
    }
    fitted
        .trained
        .extend(fitted_to(&judged, limited, CalibratedMetric::Time));
    fitted.period = Some(judged);
}

/// The trials of a figure, without those that were found out of line.
fn fitted_to(judged: &Judged, points: &[&FitPoint], metric: CalibratedMetric) -> Vec<Trained> {
    let out = |p: &FitPoint| {
        judged
            .outliers
            .iter()
            .any(|(cell, _)| cell.label == p.label)
    };
    let kept = points.iter().filter(|p| !out(p));
    let one = |p: &&FitPoint| Trained {
        trial: p.trial.clone(),
        metric,
        point: None,
    };
    kept.map(one).collect()
}

/// Points with a CPU load. A full CPU gives only a lower bound, so such points are left out where there are enough
/// others.
fn loaded_points(points: &[FitPoint]) -> Vec<&FitPoint> {
    let loaded: Vec<&FitPoint> = points.iter().filter(|p| p.load.is_some()).collect();
    let with_rest = |p: &&FitPoint| p.load.is_some_and(|l| l.busy_ratio < FULL);
    let resting: Vec<&FitPoint> = loaded.iter().copied().filter(|p| with_rest(p)).collect();
    let rates: BTreeSet<u64> = resting
        .iter()
        .filter_map(|p| Some(p.frames_per_s?.to_bits()))
        .collect();
    if resting.len() >= NEEDED && rates.len() > 1 {
        resting
    } else {
        loaded
    }
}

/// If the CPU is full in all points except a few that show no line, the loads bound the cost of a frame, and the idle
/// load is only known as a range. Returns the upper end of the range.
fn idle_at_most(loaded: &[&FitPoint]) -> Option<f64> {
    let busy = |p: &&FitPoint| p.load.map_or(0.0, |l| l.busy_ratio);
    let full = loaded.iter().filter(|p| busy(p) >= FULL).count();
    let least = loaded.iter().map(busy).fold(1.0, f64::min);
    (full > 0 && loaded.len() - full < NEEDED).then_some(least)
}

fn fit_load(points: &[FitPoint], report: &mut Report, fitted: &mut PathFit) {
    let loaded = loaded_points(points);
    let figure = format!("{} CPU load", fitted.key.name());
    let by_cell = |p: &FitPoint| (p.bytes.to_bits(), p.label.clone());
    let cells = cells_of(&loaded, by_cell, |p| {
        Some(Figures {
            frames_per_s: p.frames_per_s?,
            value: p.load?.busy_ratio,
            weight: 1.0,
            rounding: p.rounding.cpu_load,
        })
    });
    if cells.is_empty() || !enough(cells.len(), &figure, "cells", report) {
        return;
    }
    if let Some(most) = idle_at_most(&loaded) {
        return bounded_load(&loaded, &cells, most, report, fitted);
    }
    let Some(mut judged) = judge(&cells, Quantity::Load) else {
        return;
    };
    if !judged.model.shape.idle {
        let idle = baseline(&loaded);
        say_one_rate(&figure, idle, report);
        if let Some((idle, again)) = idle.and_then(|idle| Some((idle, above(&cells, idle)?))) {
            report.parameters.push(Fitted {
                name: format!("{}-idle", fitted.key.name()),
                value: 100.0 * idle,
                unit: "%".to_owned(),
                how: "the node's own baseline".to_owned(),
                ..Fitted::default()
            });
            (judged, fitted.baseline) = (again, Some(idle));
        }
    }
    one_size(&judged, &figure, report);
    let how = format!(
        "least squares of CPU load against frames/s that arrive, {} cells; ns of CPU time",
        judged.model.cells.len()
    );
    found(&judged, Quantity::Load, "cpu", &how, fitted.key, report);
    fitted
        .trained
        .extend(fitted_to(&judged, &loaded, CalibratedMetric::CpuLoad));
    fitted.load = Some(judged);
}

/// A full CPU has no time left that would show an idle load: the costs are upper bounds, with an idle load of 0.
fn bounded_load(
    loaded: &[&FitPoint],
    cells: &[Cell],
    most: f64,
    report: &mut Report,
    fitted: &mut PathFit,
) {
    let figure = format!("{} CPU load", fitted.key.name());
    // A full CPU spends all of its time on frames: the cost is the time of a frame, with no idle load to choose.
    let costs: Vec<Cell> = cells.iter().map(busy_time).collect();
    let Some(judged) = judge(&costs, Quantity::Period) else {
        return;
    };
    let range = format!(
        "the CPU is full, so the idle load is not known: 0 to {:.0} %",
        100.0 * most
    );
    report.parameters.push(Fitted {
        name: format!("{}-idle", fitted.key.name()),
        value: 0.0,
        unit: "%".to_owned(),
        interval: Some(Interval {
            low: 0.0,
            high: 100.0 * most,
            confidence: 1.0,
        }),
        how: range.clone(),
        ..Fitted::default()
    });
    report.warn(
        WarningCode::INSEPARABLE,
        format!("{figure}: {range}; the costs are upper bounds, with an idle load of 0"),
        "measure at two loads below the maximum too",
    );
    let how = format!("upper bound: a full CPU at {} rates", cells.len());
    found(&judged, Quantity::Load, "cpu", &how, fitted.key, report);
    fitted
        .trained
        .extend(fitted_to(&judged, loaded, CalibratedMetric::CpuLoad));
    fitted.baseline = Some(0.0);
    fitted.load = Some(judged);
}

/// Whether there are enough of something; if not, it is reported.
fn enough(have: usize, figure: &str, of: &str, report: &mut Report) -> bool {
    if have >= NEEDED {
        return true;
    }
    let few = format!("{figure}: {have} of {NEEDED} {of}");
    report.notes.push(format!("too few for a fit: {few}"));
    report.too_few.push(few);
    false
}

/// A load as CPU time of a frame.
fn busy_time(cell: &Cell) -> Cell {
    let in_ns = 1e9 / cell.frames_per_s;
    let value = cell.value * in_ns;
    Cell {
        frames_per_s: 1e9,
        value,
        rounding: cell.rounding * in_ns,
        weight: 1.0 / (value * value),
        ..cell.clone()
    }
}

/// Records the findings of a figure.
fn found(
    judged: &Judged,
    quantity: Quantity,
    part: &str,
    how: &str,
    key: PathKey,
    report: &mut Report,
) {
    let name = key.name();
    let figure = match quantity {
        Quantity::Period => format!("{name} period"),
        Quantity::Load => format!("{name} CPU load"),
    };
    let prefix = Prefix {
        path: &name,
        part,
        figure: &figure,
    };
    let unfit = if judged.misfit {
        "; a line does not fit"
    } else {
        ""
    };
    report.parameters_of(&judged.model, &prefix, &format!("{how}{unfit}"));
    report.leave_one_out_of(&figure, quantity, &judged.model, &judged.outliers);
    report.findings_of(judged, (&figure, quantity), key.size());
}

/// Mean of the idle loads that the node reported.
fn baseline(loaded: &[&FitPoint]) -> Option<f64> {
    let reported = loaded
        .iter()
        .filter_map(|p| p.load)
        .filter_map(|l| l.idle_baseline_ratio);
    let reported: Vec<f64> = reported.filter(|b| *b > 0.0 && *b < 1.0).collect();
    (!reported.is_empty()).then(|| reported.iter().sum::<f64>() / reported.len() as f64)
}

/// The form of the load above a known idle load.
fn above(cells: &[Cell], idle: f64) -> Option<Judged> {
    let mut cells = cells.to_vec();
    cells.iter_mut().for_each(|c| c.value -= idle);
    judge(&cells, Quantity::Load).filter(|j| !j.model.shape.idle)
}

fn say_one_rate(figure: &str, idle: Option<f64>, report: &mut Report) {
    let known = match idle {
        Some(idle) => format!(
            "the node's own idle baseline of {:.1} % was taken",
            100.0 * idle
        ),
        None => "the cost of a frame includes the idle load".to_owned(),
    };
    report.warn(
        WarningCode::INSEPARABLE,
        format!(
            "{figure}: one frame rate only, so idle load and cost of a frame cannot be separated; {known}"
        ),
        "measure at least two loads",
    );
}

fn one_size(judged: &Judged, figure: &str, report: &mut Report) {
    let (classes, cells) = (&judged.model.shape.classes, &judged.model.cells);
    if classes.len() != 1 || classes[0].law != Law::Constant {
        return;
    }
    let (why, fix) = if cells.iter().all(|cell| cell.bytes == cells[0].bytes) {
        (
            "one size only",
            "measure a second size; until then predict at this size alone",
        )
    } else {
        (
            "the larger the frames, the fewer they were, and the figure stayed the same",
            "measure each size at two loads below the maximum too",
        )
    };
    report.warn(
        WarningCode::INSEPARABLE,
        format!("{figure}: {why}, so the cost of a frame and of its bytes cannot be separated"),
        fix,
    );
}

/// An observation's contribution to a cell.
struct Figures {
    frames_per_s: f64,
    value: f64,
    weight: f64,
    rounding: f64,
}

/// Observations with the same key as one cell each: median of the values, means of frame rate and weight.
fn cells_of<K: Ord>(
    points: &[&FitPoint],
    key: impl Fn(&FitPoint) -> K,
    of: impl Fn(&FitPoint) -> Option<Figures>,
) -> Vec<Cell> {
    let mut same: BTreeMap<K, (&FitPoint, Vec<Figures>)> = BTreeMap::new();
    for point in points {
        if let Some(figures) = of(point) {
            let cell = same.entry(key(point)).or_insert((point, Vec::new()));
            cell.1.push(figures);
        }
    }
    let cell = |(point, repeats): (&FitPoint, Vec<Figures>)| {
        let n = repeats.len() as f64;
        let mean = |of: fn(&Figures) -> f64| repeats.iter().map(of).sum::<f64>() / n;
        let values: Vec<f64> = repeats.iter().map(|f| f.value).collect();
        let (value, stddev) = middle(&values);
        Cell {
            label: point.label.clone(),
            bytes: point.bytes,
            frames_per_s: mean(|f| f.frames_per_s),
            value,
            weight: mean(|f| f.weight),
            stddev,
            observations: repeats.len(),
            counted: point.counted,
            rounding: mean(|f| f.rounding),
        }
    };
    same.into_values().map(cell).collect()
}
