//! Rule `pace`: frames per second, derived from every rate, that do not lie on a line over the sizes; and a flow of a trial
//! of both directions that is faster than alone.
//!
//! At maximum load the time of a frame is a line in its size, whether the node or the wire is the limit.

use super::equal::Size;
use super::facts::{Facts, facts, groups};
use super::range::Range;
use super::robust::{Candidate, Deviant, RegressionRow, deviants};
use super::typo;
use super::{CHANCE, Finding, Rule, Severity, show};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::Study;
use wirelab_trial::Direction;

/// A cell within this share of the wire's limit shows the wire and not the node.
const AT_THE_WIRE: f64 = 0.03;
/// Fewest other sizes.
const LEAST_OTHERS: usize = 3;
/// Deviations beyond this many standard deviations are examined.
const DEVIATIONS: f64 = 5.0;
/// No node's cost steps by this factor at one size and back at the next.
const NO_STEP: f64 = 1.6;
/// Scatter may make a flow this much faster in both directions than alone.
const FASTER: f64 = 1.1;
/// A flow that is faster by this factor is certainly wrong.
const MUCH_FASTER: f64 = 1.5;
/// Figures that give the rate at maximum load; the first that a row has is used.
const RATES: [Metric; 4] = [
    Metric::FramesPerS,
    Metric::Throughput,
    Metric::TimePerFrame,
    Metric::ShareOfLimit,
];

/// A row as a time of a frame.
struct Paced<'a> {
    facts: Facts<'a>,
    metric: Metric,
    printed: &'a Quantity,
    /// Seconds of a frame.
    time: Range,
    wire: bool,
}

/// Findings about the rates of all columns.
pub fn findings(study: &Study, raised: Option<&Size<'_>>) -> Vec<Finding> {
    // A size that a tool may have raised belongs to the rule `minimum-size`.
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .map(|row| raised.map_or(row, |raised| raised.corrected(&row)))
        .filter(|r| r.is_max() && !r.is_tcp() && !r.row.limit && r.row.interval.is_none())
        .collect();
    let one_way = rows
        .iter()
        .filter(|r| r.row.trial.direction != Direction::Both);
    let one_way: Vec<Facts<'_>> = one_way.copied().collect();
    let mut found = Vec::new();
    for column in groups(&one_way, Facts::same_column) {
        let all: Vec<Paced<'_>> = column.iter().filter_map(paced).collect();
        let slower = all.iter().filter(|p| !p.wire).count();
        // If only one size is slower than the wire, it is compared with the wire's own line.
        let kept = all.into_iter().filter(|p| slower <= 1 || !p.wire);
        let kept: Vec<Paced<'_>> = kept.collect();
        // A small size may be slower than the wire although larger ones are not; a large size only if larger ones are too.
        let at_wire_below = |at: usize| {
            let own = kept[at].facts.counted_bytes;
            kept.iter().any(|p| p.wire && p.facts.counted_bytes < own)
        };
        for deviant in outliers(&kept) {
            // A size at the wire's limit has the wire's time, whatever line the others make.
            let explained = kept[deviant.at].wire || !at_wire_below(deviant.at);
            if slower <= 1 && explained {
                continue;
            }
            found.push(finding(study, &kept, &deviant));
        }
    }
    found.extend(both_directions(study));
    found
}

/// A rate as frames per second.
fn per_s(row: &Facts<'_>, metric: Metric, value: Range) -> Option<Range> {
    let bits = 8.0 * row.counted_bytes;
    match metric {
        Metric::FramesPerS => Some(value),
        Metric::TimePerFrame => Some(Range::exact(1.0) / value),
        Metric::ShareOfLimit => Some(value.scaled(row.link?.frames_per_s(&row.sizes))),
        _ => Some(value.scaled(1.0 / bits)),
    }
}

fn paced<'a>(row: &Facts<'a>) -> Option<Paced<'a>> {
    let metric = RATES.into_iter().find(|m| row.published(*m).is_some())?;
    let printed = row.published(metric)?;
    let rate = per_s(row, metric, Range::rounded(printed))?;
    if rate.low <= 0.0 || !rate.high.is_finite() {
        return None;
    }
    let wire = row.link.is_some_and(|link| {
        let limit = link.frames_per_s(&row.sizes);
        rate.high >= (1.0 - AT_THE_WIRE) * limit
    });
    Some(Paced {
        facts: *row,
        metric,
        printed,
        time: Range::exact(1.0) / rate,
        wire,
    })
}

fn outliers(column: &[Paced<'_>]) -> Vec<Deviant> {
    let bytes = |p: &Paced<'_>| p.facts.counted_bytes;
    let sizes = column
        .first()
        .is_some_and(|f| column.iter().any(|p| bytes(p) != bytes(f)));
    if !sizes || column.len() <= LEAST_OTHERS {
        return Vec::new();
    }
    let points: Vec<RegressionRow> = column
        .iter()
        .map(|p| RegressionRow {
            x: vec![1.0, bytes(p)],
            y: p.time.middle(),
            own: p.time.width() / 2.0,
        })
        .collect();
    let mut found = deviants(&points);
    found.retain(|deviant| {
        let ratio = points[deviant.at].y / deviant.expected;
        deviant.expected > 0.0
            && deviant.deviations >= DEVIATIONS
            && !(1.0 / NO_STEP..=NO_STEP).contains(&ratio)
    });
    found
}

/// The printed figure of a row whose frame took `seconds`.
fn figure_at(p: &Paced<'_>, seconds: f64) -> f64 {
    p.printed.base()
        * match p.metric {
            Metric::TimePerFrame => seconds / p.time.middle(),
            _ => p.time.middle() / seconds,
        }
}

fn needed(p: &Paced<'_>, expected: f64, deviation: f64) -> Range {
    let by = (2.0 * deviation).min(0.5 * expected);
    let ends = [figure_at(p, expected - by), figure_at(p, expected + by)];
    Range {
        low: ends[0].min(ends[1]),
        high: ends[0].max(ends[1]),
    }
}

fn finding(study: &Study, column: &[Paced<'_>], deviant: &Deviant) -> Finding {
    let p = &column[deviant.at];
    let severity = if deviant.chance < CHANCE {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let line = p
        .facts
        .row
        .cell(p.metric)
        .map_or(p.facts.row.line, |c| c.line);
    let mut finding = Finding::new(study, line, severity, Rule::Pace);
    let weights = deviant
        .candidates
        .iter()
        .filter(|c| c.expected > 0.0)
        .map(|c: &Candidate| {
            let p = &column[c.at];
            let typo = typo::likelihood(p.printed, needed(p, c.expected, c.deviation));
            (p.facts.row.subject(p.metric), c.weight * typo)
        });
    finding.with = column
        .iter()
        .map(|p| p.facts.row.subject(p.metric))
        .collect();
    finding.divide(weights.collect());
    let per_s = |seconds: f64| show::per_s(1.0 / seconds);
    finding.says = format!(
        "{}: {} {} is {} frames/s, where the other sizes of its column make it {}.",
        p.facts.row.name,
        p.metric,
        p.printed,
        per_s(p.time.middle()),
        per_s(deviant.expected)
    );
    let each = column
        .iter()
        .map(|p| format!("{} at {} B", per_s(p.time.middle()), p.facts.counted_bytes));
    finding.arithmetic = format!(
        "frames/s: {}; the time of a frame is a line in its size: {} + {} for a byte, without this row",
        each.collect::<Vec<_>>().join(", "),
        show::time(deviant.coefficients[0].max(0.0)),
        show::time(deviant.coefficients[1].max(0.0))
    );
    finding.consistent = Some(show::about(figure_at(p, deviant.expected), p.printed.unit));
    finding.name_slip(
        p.printed,
        needed(p, deviant.expected, deviant.expected_deviation),
    );
    finding.chance = Some(deviant.chance);
    finding.sure = format!(
        "chance {} over {} sizes",
        show::chance(deviant.chance),
        column.len()
    );
    finding
}

/// Flows of a trial of both directions that are faster than the same direction alone.
fn both_directions(study: &Study) -> Vec<Finding> {
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .filter(|r| r.is_max() && !r.row.limit)
        .collect();
    let both = rows
        .iter()
        .filter(|r| r.row.trial.direction == Direction::Both);
    let metrics = [
        (Metric::ThroughputReceive, Direction::Receive),
        (Metric::ThroughputTransmit, Direction::Transmit),
    ];
    let pairs = both.flat_map(|b| metrics.map(|(metric, direction)| (b, metric, direction)));
    let found = pairs.filter_map(|(both, metric, direction)| {
        let alone = rows.iter().find(|r| {
            let (x, y) = (&r.row.trial, &both.row.trial);
            x.direction == direction
                && x.framing == y.framing
                && x.size == y.size
                && x.ports == y.ports
                && x.buffers == y.buffers
                && r.node == both.node
                && r.row.set == both.row.set
        })?;
        faster(study, both, metric, alone)
    });
    found.collect()
}

fn faster(study: &Study, both: &Facts<'_>, metric: Metric, alone: &Facts<'_>) -> Option<Finding> {
    let (beside, single) = (
        both.published(metric)?,
        alone.published(Metric::Throughput)?,
    );
    let (b, a) = (Range::printed(beside), Range::printed(single));
    if !b.above(a.scaled(FASTER)) {
        return None;
    }
    let severity = if b.above(a.scaled(MUCH_FASTER)) {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let mut finding = Finding::new(study, both.row.line, severity, Rule::Pace);
    let at_most = Range {
        low: 0.3 * a.low,
        high: a.high,
    };
    let at_least = Range {
        low: b.low,
        high: 2.0 * b.high,
    };
    finding.divide(vec![
        (both.row.subject(metric), typo::likelihood(beside, at_most)),
        (
            alone.row.subject(Metric::Throughput),
            typo::likelihood(single, at_least),
        ),
    ]);
    finding.says = format!(
        "{}: {beside} beside a flow the other way, and {single} alone ({}): nothing is faster when it shares the node.",
        both.row.name, alone.row.name
    );
    finding.arithmetic = format!("{metric} {beside}, alone {single}");
    finding.consistent = Some(format!("at most {single}"));
    Some(finding)
}
