//! Captured series: a constant and a part for each byte of every stage, with its scatter.

use std::collections::BTreeMap;
use wirelab_trial::{SeriesName, WarningCode};

use super::figures::{Prefix, Report, sizes_in_words};
use super::gather::{CapturedSeries, FitPoint, PathKey};
use super::judge::{Quantity, error_of};
use super::shape::{Cell, Class, Law, Model, Role, Shape, median, middle, repeat_noise};
use super::{Captures, FitOptions, Fitted};

/// Most series that are fitted for each path.
const MAX_STAGES: usize = 8;
/// Fewest samples of a series in all.
const NEEDED: u64 = 2;
/// Relative error of a size that is left out, from which a line is reported as not fitting.
const MISFIT: f64 = 0.05;

/// A stage between capture points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StageFit {
    /// The series' name: the capture point.
    pub(super) point: SeriesName,
    /// Its name in the node file.
    pub(super) key: String,
    /// Whether it has a cost for each byte.
    pub(super) has_byte: bool,
    /// Standard deviation in ns.
    pub(super) sigma_ns: f64,
    /// Whether its time is from the start of the first stage, not of its own.
    pub(super) from_start: bool,
}

/// The captures of one series by size in bytes, each with half of a step of its last digit in ns.
type BySize<'p> = BTreeMap<u64, Vec<(&'p CapturedSeries, f64)>>;

/// One series over the sizes: by size in bytes.
type Sizes = BTreeMap<u64, Cell>;

struct SeriesCells {
    from_start: bool,
    point: SeriesName,
    cells: Sizes,
    sigma_ns: f64,
    /// Whether its times were printed, so that single frames are unknown.
    printed: bool,
}

/// Fits each captured series of a path.
pub(super) fn fit_stages(
    path: PathKey,
    points: &[FitPoint],
    options: &FitOptions,
    report: &mut Report,
) -> Vec<StageFit> {
    let mut stages = collect(points);
    if stages.len() > MAX_STAGES {
        report.notes.push(format!(
            "{}: only {MAX_STAGES} of {} series were fitted",
            path.name(),
            stages.len()
        ));
        stages.truncate(MAX_STAGES);
    }
    if stages.len() > 1 {
        as_differences(&mut stages, path, options, report);
    }
    let mut fitted: Vec<StageFit> = Vec::new();
    for one in &stages {
        if one.printed && one.cells.len() < 2 {
            report.notes.push(format!(
                "left out: {} {}: one size only, and nothing shows the time of another size",
                path.name(),
                one.point
            ));
            continue;
        }
        let mut key = key_of(&one.point.to_string());
        while fitted.iter().any(|s| s.key == key) {
            key.push('x');
        }
        fitted.extend(fit_stage(path, one, key, report));
    }
    fitted
}

/// Series by name, in the order of first appearance; observations of one size are pooled.
fn collect(points: &[FitPoint]) -> Vec<SeriesCells> {
    let mut by_name: Vec<(&SeriesName, BySize<'_>)> = Vec::new();
    for point in points.iter().filter(|p| is_calm(p, points)) {
        for capture in &point.series {
            let known = by_name.iter().position(|(name, _)| *name == &capture.name);
            let at = known.unwrap_or(by_name.len());
            if known.is_none() {
                by_name.push((&capture.name, BySize::new()));
            }
            let same = by_name[at].1.entry(point.bytes as u64).or_default();
            same.push((capture, point.rounding.series_ns));
        }
    }
    let cells_of = |(name, sizes): &(&SeriesName, BySize<'_>)| {
        let captures = || sizes.values().flatten().map(|captured| captured.0);
        let samples = captures().fold(0u64, |n, c| n.saturating_add(c.samples));
        (samples >= NEEDED).then(|| SeriesCells {
            from_start: false,
            point: (*name).clone(),
            cells: sizes
                .iter()
                .map(|(b, captured)| (*b, cell(*b, captured)))
                .collect(),
            printed: captures().all(|c| c.printed),
            sigma_ns: median(captures().map(|c| c.sigma_ns).collect()),
        })
    };
    by_name.iter().filter_map(cells_of).collect()
}

/// Whether a point's load is the lowest of its size: a frame that waits in a queue shows the load, not the stage.
pub(super) fn is_calm(point: &FitPoint, points: &[FitPoint]) -> bool {
    let pressed = |p: &FitPoint| p.max_load || p.loss_ratio.is_some_and(|l| l > 0.0);
    let same = |p: &&FitPoint| p.bytes == point.bytes && !p.series.is_empty();
    !pressed(point) || points.iter().filter(same).all(pressed)
}

/// Observations of one size, each with half of a step of its last digit.
fn cell(bytes: u64, captured: &[(&CapturedSeries, f64)]) -> Cell {
    let means: Vec<f64> = captured.iter().map(|(c, _)| c.mean_ns).collect();
    let (value, stddev) = middle(&means);
    Cell {
        label: format!("{bytes} B"),
        bytes: bytes as f64,
        frames_per_s: 1e9,
        value,
        weight: 1.0 / (value * value),
        stddev,
        observations: captured.len(),
        counted: true,
        rounding: captured.iter().map(|(_, half)| half).sum::<f64>() / captured.len() as f64,
    }
}

/// Turns times from one start into times between points, where every size has the points in the same order.
fn as_differences(
    stages: &mut [SeriesCells],
    path: PathKey,
    options: &FitOptions,
    report: &mut Report,
) {
    if options.captures == Captures::Stages {
        return;
    }
    let first = |s: &SeriesCells| s.cells.values().next().map_or(0.0, |c| c.value);
    stages.sort_by(|a, b| first(a).total_cmp(&first(b)));
    let in_order = stages.windows(2).all(|pair| {
        let same_sizes = pair[0].cells.keys().eq(pair[1].cells.keys());
        let later = pair[0].cells.values().zip(pair[1].cells.values());
        same_sizes && later.into_iter().all(|(a, b)| a.value < b.value)
    });
    if !in_order {
        report.notes.push(format!(
            "{}: the captured series have no common order over the sizes, so each is taken as a stage of its own",
            path.name()
        ));
        return;
    }
    report.notes.push(format!(
        "{}: the captured series are taken as times from one start: {}",
        path.name(),
        stages
            .iter()
            .map(|s| s.point.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    ));
    for i in (1..stages.len()).rev() {
        let (before, from) = stages.split_at_mut(i);
        let (before, after) = (&before[i - 1], &mut from[0]);
        for (cell, earlier) in after.cells.values_mut().zip(before.cells.values()) {
            cell.value -= earlier.value;
            cell.rounding = cell.rounding.hypot(earlier.rounding);
        }
        let squares = after.sigma_ns.powi(2) - before.sigma_ns.powi(2);
        after.sigma_ns = squares.max(0.0).sqrt();
        after.from_start = true;
    }
}

fn fit_stage(
    path: PathKey,
    stage: &SeriesCells,
    key: String,
    report: &mut Report,
) -> Option<StageFit> {
    let cells: Vec<Cell> = stage.cells.values().cloned().collect();
    let shape = |law| Shape {
        idle: false,
        classes: vec![Class::all(law)],
        batches_per_s: None,
    };
    let (name, figure) = (path.name(), format!("{} {}", path.name(), stage.point));
    let line = Model::fit(shape(Law::Line), &cells);
    if line.is_none() {
        report.warn(
            WarningCode::INSEPARABLE,
            format!("{figure}: one size only, so its constant part and that of its bytes cannot be separated"),
            "capture at a second size",
        );
    }
    let model = line.or_else(|| Model::fit(shape(Law::Constant), &cells))?;
    let prefix = Prefix {
        path: &name,
        part: &key,
        figure: &figure,
    };
    let how = format!(
        "least squares of the mean of series '{}' over {}",
        stage.point,
        sizes_in_words(cells.len())
    );
    report.parameters_of(&model, &prefix, &how);
    report.leave_one_out_of(&figure, Quantity::Period, &model, &[]);
    let allowed = MISFIT.max(2.0 * repeat_noise(&cells).unwrap_or(0.0));
    if let Some(error) = error_of(&model).filter(|e| *e > allowed) {
        report.warn(
            WarningCode::LINE_DOES_NOT_FIT,
            format!(
                "{figure}: a line does not fit: a size that is left out is missed by {:.1} % (root mean square)",
                100.0 * error
            ),
            "measure more sizes; do not trust predictions between those measured",
        );
    }
    if stage.sigma_ns > 0.0 {
        report.parameters.push(Fitted {
            name: format!("{name}-{key}-sigma"),
            value: stage.sigma_ns,
            unit: "ns".to_owned(),
            how: "middle of the standard deviations of its series".to_owned(),
            ..Fitted::default()
        });
    }
    Some(StageFit {
        point: stage.point.clone(),
        key,
        has_byte: model.shape.roles().contains(&Role::Byte(0)),
        sigma_ns: stage.sigma_ns,
        from_start: stage.from_start,
    })
}

/// A series' name as a key: lower-case letters, digits and hyphens.
pub(super) fn key_of(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let key: String = name.chars().take(16).map(letter).collect();
    let key = key.trim_matches('-').to_owned();
    if key.is_empty() {
        "stage".to_owned()
    } else {
        key
    }
}
