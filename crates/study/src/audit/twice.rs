//! Rule `twice`: the same trial printed twice, with figures that differ.

use wirelab_trial::Load;

use super::evidence::{Doubt, Evidence};
use super::facts::{Facts, facts};
use super::range::Range;
use super::{Finding, Rule, Severity, show};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::Study;

/// Repeats of a measurement differ by this share of the figure.
const SCATTER: f64 = 0.1;
/// A difference below this share is not worth a remark.
const LEAST: f64 = 0.02;
/// Percentage points by which repeats of a share may differ.
const POINTS: f64 = 0.02;
/// Share of lost frames from which a row has a loss.
const LOST: f64 = 0.005;
/// Rows beyond this number are not compared.
const MOST_ROWS: usize = 500;
/// The figures that a repeat reproduces.
const METRICS: [Metric; 10] = [
    Metric::Time,
    Metric::Throughput,
    Metric::ThroughputReceive,
    Metric::ThroughputTransmit,
    Metric::ThroughputSum,
    Metric::FramesPerS,
    Metric::TimePerFrame,
    Metric::Latency,
    Metric::CpuLoad,
    Metric::Efficiency,
];

/// One finding for each figure that two rows of one trial print differently.
pub fn findings(study: &Study, evidence: &Evidence) -> Vec<Finding> {
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .filter(|r| !r.row.limit)
        .take(MOST_ROWS)
        .collect();
    let mut found = Vec::new();
    for (at, b) in rows.iter().enumerate() {
        let Some(a) = rows[..at].iter().find(|a| same_trial(a, b)) else {
            continue;
        };
        for metric in METRICS {
            // A latency without a point may be taken anywhere.
            if metric == Metric::Latency && b.row.point.is_none() {
                continue;
            }
            if let (Some(x), Some(y)) = (a.published(metric), b.published(metric)) {
                found.extend(finding(study, (a, x), (b, y), metric, evidence));
            }
        }
    }
    found
}

/// At full speed, rows with and without a loss have different loads: the highest without loss, and the highest of all.
fn same_trial(a: &Facts<'_>, b: &Facts<'_>) -> bool {
    let lost = |of: &Facts<'_>| {
        of.published(Metric::Loss)
            .is_some_and(|loss| loss.base() > LOST)
    };
    let alike = a.row.trial.load != Load::Max || lost(a) == lost(b);
    a.row.trial == b.row.trial && a.same_column(b) && alike
}

fn finding(
    study: &Study,
    (a, x): (&Facts<'_>, &Quantity),
    (b, y): (&Facts<'_>, &Quantity),
    metric: Metric,
    evidence: &Evidence,
) -> Option<Finding> {
    let (one, other) = (Range::printed(x), Range::printed(y));
    if one.touches(other) {
        return None;
    }
    let apart = (one.low - other.high).max(other.low - one.high);
    let most = one.high.max(other.high);
    let scatter = SCATTER * most
        + if metric == Metric::CpuLoad {
            POINTS
        } else {
            0.0
        };
    if apart < LEAST * most {
        return None;
    }
    let severity = if apart > scatter {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let mut finding = Finding::new(study, b.row.line, severity, Rule::Twice);
    let wider = |range: Range| Range {
        low: range.low * (1.0 - 0.2 * SCATTER),
        high: range.high * (1.0 + 0.2 * SCATTER),
    };
    let doubt = |row: &Facts<'_>, printed, needed| Doubt {
        cell: row.row.subject(metric),
        printed,
        needed,
    };
    finding.divide(evidence.weights(&[doubt(a, x, wider(other)), doubt(b, y, wider(one))]));
    finding.says = format!(
        "{} and {} are the same trial, and {metric} is {x} in one and {y} in the other.",
        a.row.name, b.row.name
    );
    finding.arithmetic = format!(
        "{x} and {y} differ by {} %",
        show::number(100.0 * (x.base() - y.base()).abs() / most, 3)
    );
    if !severity.fails() {
        "certain that they differ; repeats of a measurement may by a tenth"
            .clone_into(&mut finding.sure);
    }
    Some(finding)
}
