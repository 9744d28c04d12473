//! Rule `monotony`: a row that breaks the order of its column, which its neighbours keep.

use super::facts::{Facts, facts, groups};
use super::fit::fit;
use super::range::Range;
use super::robust;
use super::{Finding, Rule, Severity, show, typo};
use crate::metric::Metric;
use crate::table::Study;

/// Fewest other rows that must agree with a line before the row in doubt counts as inconsistent.
const LEAST_OTHERS: usize = 3;
/// How much closer to the line the other rows must be than the row in doubt.
const BETTER: f64 = 4.0;
/// Deviations below this share of the figure may be measurement noise.
const LEAST_SHARE: f64 = 0.1;
/// An order that is broken by less than this share of the figure may be scatter.
const LEAST_BREAK: f64 = 0.02;
/// An order that is broken by this share is inconsistent if one row alone breaks it and all others lie on a line. A size
/// may cost more than a line says: a second buffer, another path.
const CLEAR_BREAK: f64 = 0.05;
const CLEAR_BREAK_OF_SIZE: f64 = 0.2;
/// A load that falls by this share of itself where the rate rises is wrong, whichever of the two it is.
const FALLS: f64 = 0.25;
/// A rate or a time that steps back by this share of itself where the size rises: no step of a node does that.
const STEPS_BACK: f64 = 0.45;

/// The sort key of a column.
#[derive(Clone, Copy, PartialEq)]
enum SortKey {
    /// Frames per second, among rows of one size.
    Rate,
    /// Bytes, among rows of one load.
    Size,
}

struct Order {
    metric: Metric,
    by: SortKey,
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
        SortKey::Rate,
        true,
        false,
        "the load rises with the rate",
    ),
    order(
        Metric::Latency,
        SortKey::Size,
        true,
        false,
        "latency rises with size",
    ),
    order(
        Metric::FramesPerS,
        SortKey::Size,
        false,
        true,
        "frames per second fall with size",
    ),
    order(
        Metric::TimePerFrame,
        SortKey::Size,
        true,
        true,
        "time per frame rises with size",
    ),
    order(
        Metric::Throughput,
        SortKey::Size,
        true,
        true,
        "throughput rises with size",
    ),
];

const fn order(
    metric: Metric,
    by: SortKey,
    rises: bool,
    max_only: bool,
    law: &'static str,
) -> Order {
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
struct RegressionRow<'a> {
    facts: Facts<'a>,
    x: Range,
    y: Range,
    /// x and y where the law is a straight line: a rate as the time of a frame.
    straight: (f64, f64),
    /// The uncertainty of the y in `straight`.
    own: f64,
}

/// At most one finding for each column and metric.
pub fn findings(study: &Study) -> Vec<Finding> {
    let rows: Vec<Facts<'_>> = facts(study).into_iter().filter(|r| !r.row.limit).collect();
    let mut found = Vec::new();
    for order in &ORDERS {
        let belongs = |a: &Facts<'_>, b: &Facts<'_>| in_column(order, a, b);
        for column in groups(&rows, belongs) {
            let points: Vec<RegressionRow<'_>> =
                column.iter().filter_map(|r| point(order, r)).collect();
            found.extend(finding(study, order, &points));
        }
    }
    found
}

fn in_column(order: &Order, a: &Facts<'_>, b: &Facts<'_>) -> bool {
    match order.by {
        // The conditions of a row may state the loss at that rate.
        SortKey::Rate => {
            a.row.trial.size == b.row.trial.size && (a.same_kind(b) || a.same_column(b))
        }
        SortKey::Size => a.row.trial.load == b.row.trial.load && a.same_column(b),
    }
}

fn point<'a>(order: &Order, row: &Facts<'a>) -> Option<RegressionRow<'a>> {
    if order.max_only && !row.is_max() {
        return None;
    }
    let y = row.published(order.metric).map(Range::printed)?;
    let x = match order.by {
        SortKey::Rate => row.packets_per_s()?,
        SortKey::Size => Range::exact(f64::from(row.sizes.length)),
    };
    let y = if order.rises {
        y
    } else {
        Range {
            low: -y.high,
            high: -y.low,
        }
    };
    let printed = row.published(order.metric).map(Range::rounded)?;
    let time = match order.metric {
        Metric::FramesPerS => Range::exact(1.0) / printed,
        Metric::Throughput => Range::exact(8.0 * row.counted_bytes) / printed,
        _ => printed,
    };
    let finite = time.high.is_finite() && time.low.is_finite();
    finite.then(|| RegressionRow {
        facts: *row,
        x,
        y,
        straight: (x.middle(), time.middle()),
        own: time.width() / 2.0,
    })
}

/// Whether a column's order is broken by more than a node can cause.
fn certainly_broken(order: &Order, points: &[RegressionRow<'_>], pairs: &[(usize, usize)]) -> bool {
    let least = match order.metric {
        Metric::CpuLoad => FALLS,
        _ => STEPS_BACK,
    };
    broken_by(points, pairs, least)
}

fn broken_by(points: &[RegressionRow<'_>], pairs: &[(usize, usize)], least: f64) -> bool {
    pairs.iter().any(|(a, b)| {
        let (a, b) = (points[*a].y, points[*b].y);
        a.low - b.high > least * a.low.abs().max(b.high.abs())
    })
}

/// How likely each row of a broken pair is the wrong one.
fn suspects(
    order: &Order,
    points: &[RegressionRow<'_>],
    pairs: &[(usize, usize)],
    alone: &[(usize, f64)],
) -> Vec<(usize, f64)> {
    let rows: Vec<robust::RegressionRow> = points
        .iter()
        .map(|p| robust::RegressionRow {
            x: vec![1.0, p.straight.0],
            y: p.straight.1,
            own: p.own,
        })
        .collect();
    let found = robust::alone(&rows);
    let likely = |at: usize| {
        let p = &points[at];
        let printed = p.facts.published(order.metric)?;
        let c = found.iter().find(|c| c.at == at)?;
        let figure = |y: f64| match order.metric {
            Metric::FramesPerS | Metric::Throughput => printed.base() * p.straight.1 / y,
            _ => y,
        };
        let by = (2.0 * c.deviation).min(0.5 * c.expected.abs());
        let (a, b) = (figure(c.expected - by), figure(c.expected + by));
        let needed = Range {
            low: a.min(b),
            high: a.max(b),
        };
        Some(c.weight * typo::likelihood(printed, needed))
    };
    let in_pairs = |i: &usize| pairs.iter().any(|(a, b)| a == i || b == i);
    let candidates = (0..points.len()).filter(in_pairs);
    let resolves = |i: usize| {
        if alone.iter().any(|(a, _)| *a == i) {
            1.0
        } else {
            0.05
        }
    };
    candidates
        .map(|i| (i, resolves(i) * likely(i).unwrap_or(1.0)))
        .collect()
}

/// Pairs in which the one with larger x certainly has smaller y, by more than figures of a page scatter.
fn breaks(points: &[RegressionRow<'_>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (i, a) in points.iter().enumerate() {
        for (j, b) in points.iter().enumerate() {
            let beyond = (a.y.low - b.y.high) > LEAST_BREAK * a.y.low.abs().max(b.y.high.abs());
            if b.x.above(a.x) && a.y.above(b.y) && beyond {
                pairs.push((i, j));
            }
        }
    }
    pairs
}

fn finding(study: &Study, order: &Order, points: &[RegressionRow<'_>]) -> Option<Finding> {
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
    let least = match order.by {
        SortKey::Rate => CLEAR_BREAK,
        SortKey::Size => CLEAR_BREAK_OF_SIZE,
    };
    let clear = clear && broken_by(points, &pairs, least);
    let severity = if clear || certainly_broken(order, points, &pairs) {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let name = |p: &RegressionRow<'_>| p.facts.row.subject(order.metric);
    let weights = match doubted {
        Some((i, _)) if clear => vec![(i, 1.0)],
        _ => suspects(order, points, &pairs, &alone),
    };
    let likeliest = weights.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let at = &points[likeliest.map_or(second, |(i, _)| *i)];
    let mut finding = Finding::new(study, at.facts.row.line, severity, Rule::Monotony);
    finding.with = points.iter().map(name).collect();
    finding.divide(
        weights
            .iter()
            .map(|(i, w)| (name(&points[*i]), *w))
            .collect(),
    );
    let (lower, upper) = (&points[first], &points[second]);
    let text = |p: &RegressionRow<'_>| {
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

fn driver(order: &Order, p: &RegressionRow<'_>) -> String {
    match order.by {
        SortKey::Rate => format!("{} frames/s", show::per_s(p.x.middle())),
        SortKey::Size => format!("{} B", p.x.middle()),
    }
}

/// Largest deviation of the other rows from a line, relative to their spread.
fn roughness(points: &[RegressionRow<'_>], without: usize) -> f64 {
    let rows = line_rows(points, without);
    let Some(line) = fit(&rows) else {
        return f64::INFINITY;
    };
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let worst = most(&mut rows.iter().map(|(x, y)| (y - line.at(x)).abs()));
    // No line agrees better than the precision of the printed figures.
    let printed = most(&mut points.iter().map(|p| p.own));
    worst.max(printed)
}

fn line_rows(points: &[RegressionRow<'_>], without: usize) -> Vec<(Vec<f64>, f64)> {
    points
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != without)
        .map(|(_, p)| (vec![1.0, p.straight.0], p.straight.1))
        .collect()
}

/// Whether the others agree with a line and the row is far from it.
fn stands_out(points: &[RegressionRow<'_>], at: usize, rough: f64) -> bool {
    let rows = line_rows(points, at);
    let Some(line) = fit(&rows).filter(|_| rows.len() >= LEAST_OTHERS) else {
        return false;
    };
    let p = &points[at];
    let slope = line.at(&[0.0, 1.0]);
    let own = p.own + slope.abs() * p.x.width() / 2.0;
    let away = (p.straight.1 - line.at(&[1.0, p.straight.0])).abs();
    away - own > BETTER * rough && away > LEAST_SHARE * p.straight.1.abs()
}

/// The value between the neighbours on both sides.
fn imply(
    finding: &mut Finding,
    order: &Order,
    points: &[RegressionRow<'_>],
    at: &RegressionRow<'_>,
) {
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
    let mid = |p: &RegressionRow<'_>| p.facts.published(order.metric).map_or(0.0, |q| q.base());
    let implied = mid(a) + share * (mid(b) - mid(a));
    let implied = show::about(implied, printed.unit);
    finding.arithmetic.push_str(&format!(
        "; between {} and {} the neighbours imply {implied}",
        a.facts.row.name, b.facts.row.name
    ));
    finding.consistent = Some(implied);
}
