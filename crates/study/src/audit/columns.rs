//! Rule `monotony`: a row that breaks the order of its column, which its neighbours keep.

use super::facts::{Facts, facts, groups};
use super::fit::fit;
use super::range::Range;
use super::{Finding, Severity, cell_name, show};
use crate::metric::Metric;
use crate::table::Study;

/// Fewest other rows that must agree with a line before the row in doubt counts as inconsistent.
const LEAST_OTHERS: usize = 3;
/// How much closer to the line the other rows must be than the row in doubt.
const BETTER: f64 = 4.0;
/// Deviations below this share of the figure may be measurement noise.
const LEAST_SHARE: f64 = 0.1;

/// The sort key of a column.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Frames per second, among rows of one size.
    Rate,
    /// Bytes, among rows of one load.
    Size,
}

struct Order {
    metric: Metric,
    by: By,
    rises: bool,
    /// Whether only rows with the load `max` are compared.
    max_only: bool,
    law: &'static str,
}

/// Orders that are true for every node whose cost of a frame is linear in its size. Efficiency has none: it includes
/// headers, whose share falls with the size.
const ORDERS: [Order; 5] = [
    order(
        Metric::CpuLoad,
        By::Rate,
        true,
        false,
        "the load rises with the rate",
    ),
    order(
        Metric::Latency,
        By::Size,
        true,
        false,
        "latency rises with size",
    ),
    order(
        Metric::FramesPerS,
        By::Size,
        false,
        true,
        "frames per second fall with size",
    ),
    order(
        Metric::TimePerFrame,
        By::Size,
        true,
        true,
        "time per frame rises with size",
    ),
    order(
        Metric::Throughput,
        By::Size,
        true,
        true,
        "throughput rises with size",
    ),
];

const fn order(metric: Metric, by: By, rises: bool, max_only: bool, law: &'static str) -> Order {
    Order {
        metric,
        by,
        rises,
        max_only,
        law,
    }
}

/// A row as a point of its column.
#[derive(Clone, Copy)]
struct Point<'a> {
    facts: Facts<'a>,
    x: Range,
    y: Range,
}

/// At most one finding for each column and metric.
pub fn findings(study: &Study) -> Vec<Finding> {
    let rows: Vec<Facts<'_>> = facts(study).into_iter().filter(|r| !r.row.limit).collect();
    let mut found = Vec::new();
    for order in &ORDERS {
        let belongs = |a: &Facts<'_>, b: &Facts<'_>| in_column(order, a, b);
        for column in groups(&rows, belongs) {
            let points: Vec<Point<'_>> = column.iter().filter_map(|r| point(order, r)).collect();
            found.extend(finding(study, order, &points));
        }
    }
    found
}

fn in_column(order: &Order, a: &Facts<'_>, b: &Facts<'_>) -> bool {
    match order.by {
        // The conditions of a row may state the loss at that rate.
        By::Rate => a.row.trial.size == b.row.trial.size && (a.same_kind(b) || a.same_column(b)),
        By::Size => a.row.trial.load == b.row.trial.load && a.same_column(b),
    }
}

fn point<'a>(order: &Order, row: &Facts<'a>) -> Option<Point<'a>> {
    if order.max_only && !row.is_max() {
        return None;
    }
    let y = row.published(order.metric).map(Range::printed)?;
    let x = match order.by {
        By::Rate => row.packets_per_s()?,
        By::Size => Range::exact(f64::from(row.sizes.length)),
    };
    let y = if order.rises {
        y
    } else {
        Range {
            low: -y.high,
            high: -y.low,
        }
    };
    Some(Point { facts: *row, x, y })
}

/// Pairs in which the one with larger x certainly has smaller y.
fn breaks(points: &[Point<'_>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (i, a) in points.iter().enumerate() {
        for (j, b) in points.iter().enumerate() {
            if b.x.above(a.x) && a.y.above(b.y) {
                pairs.push((i, j));
            }
        }
    }
    pairs
}

fn finding(study: &Study, order: &Order, points: &[Point<'_>]) -> Option<Finding> {
    let pairs = breaks(points);
    let &(first, second) = pairs.first()?;
    // Rows whose removal restores the order, starting with the one that leaves the straightest line.
    let mut alone: Vec<(usize, f64)> = (0..points.len())
        .filter(|i| pairs.iter().all(|(a, b)| a == i || b == i))
        .map(|i| (i, roughness(points, i)))
        .collect();
    alone.sort_by(|a, b| a.1.total_cmp(&b.1));
    let doubted = alone.first().copied();
    let clear = doubted.is_some_and(|(i, rough)| {
        let next = alone.get(1).map_or(f64::INFINITY, |n| n.1);
        next > BETTER * rough && stands_out(points, i, rough)
    });
    let severity = if clear {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let at = match doubted {
        Some((i, _)) if clear => &points[i],
        _ => &points[second],
    };
    let mut finding = Finding::new(study, at.facts.row.line, severity, "monotony");
    let name = |p: &Point<'_>| cell_name(p.facts.row, order.metric);
    let (lower, upper) = (&points[first], &points[second]);
    finding.cells = vec![name(at)];
    finding.with = points
        .iter()
        .filter(|p| p.facts.row.name != at.facts.row.name)
        .map(name)
        .collect();
    let text = |p: &Point<'_>| {
        p.facts
            .published(order.metric)
            .map_or(String::new(), ToString::to_string)
    };
    finding.says = format!(
        "{}: {} {} breaks its column: {}.",
        at.facts.row.name,
        order.metric,
        text(at),
        order.law
    );
    finding.arithmetic = format!(
        "{} at {} of {}, but {} at {} of {}",
        text(lower),
        driver(order, lower),
        lower.facts.row.name,
        text(upper),
        driver(order, upper),
        upper.facts.row.name
    );
    imply(&mut finding, order, points, at);
    finding.sure = if clear {
        "certain that the order is broken; without this row, and only then, the others lie on a line"
    } else {
        "certain that the order is broken, not which row is wrong"
    }
    .to_owned();
    Some(finding)
}

fn driver(order: &Order, p: &Point<'_>) -> String {
    match order.by {
        By::Rate => format!("{} frames/s", show::per_s(p.x.middle())),
        By::Size => format!("{} B", p.x.middle()),
    }
}

/// Largest deviation of the other rows from a line, relative to their spread.
fn roughness(points: &[Point<'_>], without: usize) -> f64 {
    let rows = line_rows(points, without);
    let Some(line) = fit(&rows) else {
        return f64::INFINITY;
    };
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let worst = most(&mut rows.iter().map(|(x, y)| (y - line.at(x)).abs()));
    // No line agrees better than the precision of the printed figures.
    let printed = most(&mut points.iter().map(|p| p.y.width() / 2.0));
    worst.max(printed)
}

fn line_rows(points: &[Point<'_>], without: usize) -> Vec<(Vec<f64>, f64)> {
    points
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != without)
        .map(|(_, p)| (vec![1.0, p.x.middle()], p.y.middle()))
        .collect()
}

/// Whether the others agree with a line and the row is far from it.
fn stands_out(points: &[Point<'_>], at: usize, rough: f64) -> bool {
    let rows = line_rows(points, at);
    let Some(line) = fit(&rows).filter(|_| rows.len() >= LEAST_OTHERS) else {
        return false;
    };
    let p = &points[at];
    let slope = line.at(&[0.0, 1.0]);
    let own = (p.y.width() + slope.abs() * p.x.width()) / 2.0;
    let away = (p.y.middle() - line.at(&[1.0, p.x.middle()])).abs();
    away - own > BETTER * rough && away > LEAST_SHARE * p.y.middle().abs()
}

/// The value between the neighbours on both sides.
fn imply(finding: &mut Finding, order: &Order, points: &[Point<'_>], at: &Point<'_>) {
    let x = at.x.middle();
    let others = || {
        points
            .iter()
            .filter(|p| p.facts.row.name != at.facts.row.name)
    };
    let below = others().filter(|p| p.x.middle() < x);
    let below = below.max_by(|a, b| a.x.middle().total_cmp(&b.x.middle()));
    let above = others().filter(|p| p.x.middle() > x);
    let above = above.min_by(|a, b| a.x.middle().total_cmp(&b.x.middle()));
    let (Some(a), Some(b), Some(printed)) = (below, above, at.facts.published(order.metric)) else {
        return;
    };
    let share = (x - a.x.middle()) / (b.x.middle() - a.x.middle());
    let mid = |p: &Point<'_>| p.facts.published(order.metric).map_or(0.0, |q| q.base());
    let implied = mid(a) + share * (mid(b) - mid(a));
    let implied = show::about(implied, printed.unit);
    finding.arithmetic.push_str(&format!(
        "; between {} and {} the neighbours imply {implied}",
        a.facts.row.name, b.facts.row.name
    ));
    finding.consistent = Some(implied);
}
