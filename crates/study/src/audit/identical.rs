//! Rule `identical`: rows of different nodes that agree in every digit, like copied rows.

use super::facts::{Facts, facts};
use super::range::Range;
use super::server::interval_s;
use super::{CHANCE, Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity};
use crate::table::Study;

/// Significant digits that two rows must share.
const LEAST_DIGITS: u32 = 3;
/// Tables with more rows are not compared.
const MOST_ROWS: usize = 2_000;

/// Probability of equal first digits: the sum of the squares of Benford's frequencies.
const FIRST_DIGIT: f64 = 0.17;
/// Lists of metrics: those of one list follow from one another, those of different lists do not.
pub(super) const INDEPENDENT: &[&[Metric]] = &[
    &[
        Metric::Time,
        Metric::Throughput,
        Metric::FramesPerS,
        Metric::TimePerFrame,
        Metric::Spacing,
        Metric::Efficiency,
        Metric::ShareOfLimit,
        Metric::Bandwidth,
        Metric::Transfer,
        Metric::Datagrams,
    ],
    &[Metric::ThroughputReceive],
    &[Metric::ThroughputTransmit],
    &[Metric::CpuLoad],
    &[Metric::Loss, Metric::Lost],
    &[Metric::Jitter],
    // A spread is often the same share of the mean on both nodes.
    &[Metric::Latency, Metric::Latency3Sigma],
];

struct StudyRow<'a> {
    study: &'a Study,
    facts: Facts<'a>,
    digits: Vec<u32>,
}

/// One finding for each row that repeats an earlier one of another node.
pub fn findings(studies: &[Study]) -> Vec<Finding> {
    let lines: Vec<StudyRow<'_>> = studies
        .iter()
        .flat_map(|study| facts(study).into_iter().map(move |f| (study, f)))
        .filter(|(_, facts)| {
            !facts.row.limit && !facts.row.datasheet && !facts.row.cells.is_empty()
        })
        .map(|(study, facts)| StudyRow {
            study,
            facts,
            digits: telling_digits(&facts),
        })
        .take(MOST_ROWS)
        .collect();
    let mut compared = 0_u64;
    let mut same: Vec<(&StudyRow<'_>, &StudyRow<'_>)> = Vec::new();
    for (at, b) in lines.iter().enumerate() {
        let mut earlier = None;
        for a in lines[..at]
            .iter()
            .filter(|a| comparable(&a.facts, &b.facts))
        {
            compared += 1;
            if earlier.is_none() && total(a) >= LEAST_DIGITS && equal(&a.facts, &b.facts) {
                earlier = Some(a);
            }
        }
        same.extend(earlier.map(|a| (a, b)));
    }
    same.into_iter()
        .map(|(a, b)| finding(a, b, compared))
        .collect()
}

fn total(line: &StudyRow<'_>) -> u32 {
    line.digits.iter().sum()
}

/// The same trial on different nodes.
fn comparable(a: &Facts<'_>, b: &Facts<'_>) -> bool {
    let (x, y) = (&a.row.trial, &b.row.trial);
    a.node != b.node
        && x.framing == y.framing
        && x.direction == y.direction
        && x.size == y.size
        && x.load == y.load
        && a.row.point == b.row.point
        && a.row.cells.len() == b.row.cells.len()
}

fn equal(a: &Facts<'_>, b: &Facts<'_>) -> bool {
    let same = |cell: &crate::table::Cell| b.published(cell.metric) == Some(&cell.published);
    a.row.cells.iter().all(same)
}

/// The digits of each figure that depends on the node: not the link's limit, not the offered load, not 0 or 100 %, and
/// nothing that another figure implies.
fn telling_digits(row: &Facts<'_>) -> Vec<u32> {
    let most = |metrics: &[Metric]| {
        let printed = metrics
            .iter()
            .filter_map(|m| Some((*m, row.published(*m)?)));
        let telling = printed.filter(|(metric, printed)| !given(row, *metric, printed));
        telling.map(|(_, printed)| digits(printed)).max()
    };
    let all = INDEPENDENT.iter().filter_map(|metrics| most(metrics));
    all.filter(|digits| *digits > 0).collect()
}

fn given(row: &Facts<'_>, metric: Metric, printed: &Quantity) -> bool {
    let range = Range::printed(printed);
    let is = |value: Option<f64>| value.is_some_and(|v| range.contains(v));
    let per_s = row.link.map(|link| link.frames_per_s(&row.sizes));
    let offered = row.offered_per_s();
    let bits = 8.0 * row.counted_bytes;
    let whole = printed.unit.dimension == Dimension::Share && range.contains(1.0);
    let trial = metric.is_of_the_trial();
    let by_rate = |scale: f64| is(per_s.map(|p| p * scale)) || is(offered.map(|o| o * scale));
    let rate = match metric {
        Metric::FramesPerS => by_rate(1.0),
        Metric::Efficiency => {
            let link = row.link.map_or(1.0, |l| l.bits_per_s() as f64);
            by_rate(8.0 * f64::from(row.sizes.payload) / link)
        }
        Metric::TimePerFrame | Metric::Spacing => {
            is(per_s.map(|p| 1.0 / p)) || is(offered.map(|o| 1.0 / o))
        }
        Metric::Time => is(per_s.zip(row.frames()).map(|(p, n)| n / p)),
        Metric::Datagrams | Metric::Transfer | Metric::Bandwidth => {
            let carried = frames_of_interval(row, metric, range);
            let is_rate = |rate: f64| carried.contains(rate * interval_s(row));
            per_s.is_some_and(is_rate) || offered.is_some_and(is_rate)
        }
        _ => by_rate(bits),
    };
    whole || trial || rate
}

/// Datagrams in a report interval, as one of its figures implies. Whether an interval begins or ends within a datagram
/// is by chance, and lost ones belong to it too.
fn frames_of_interval(row: &Facts<'_>, metric: Metric, printed: Range) -> Range {
    let bits = 8.0 * row.counted_bytes;
    let lost = row.rounded(Metric::Lost).map_or(0.0, |lost| lost.high);
    let (counted, lost) = match metric {
        Metric::Datagrams => (printed, 0.0),
        Metric::Transfer => (printed.scaled(1.0 / bits), lost),
        _ => (printed.scaled(interval_s(row) / bits), lost),
    };
    Range {
        low: counted.low - 1.0,
        high: counted.high + 1.0 + lost,
    }
}

/// Significant digits, without zeros at the end of a whole number.
pub(super) fn digits(printed: &Quantity) -> u32 {
    let text = format!("{:.*}", printed.decimals, printed.number.abs());
    let bare: String = text.chars().filter(char::is_ascii_digit).collect();
    let bare = bare.trim_start_matches('0');
    let bare = if printed.decimals == 0 {
        bare.trim_end_matches('0')
    } else {
        bare
    };
    bare.len() as u32
}

/// The chance that two figures of so many significant digits are equal.
pub(super) fn chance_of_digits(digits: u32) -> f64 {
    FIRST_DIGIT * 0.1_f64.powi(digits as i32 - 1)
}

/// Whether a figure of a row depends on the node.
pub(super) fn telling(row: &Facts<'_>, metric: Metric) -> bool {
    row.published(metric)
        .is_some_and(|printed| !given(row, metric, printed))
}

fn finding(a: &StudyRow<'_>, b: &StudyRow<'_>, compared: u64) -> Finding {
    let each = |digits: &u32| chance_of_digits(*digits);
    let chance = (a.digits.iter().map(each).product::<f64>() * compared as f64).min(1.0);
    let severity = if chance < CHANCE {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let row = b.facts.row;
    let mut finding = Finding::new(b.study, row.line, severity, Rule::Identical);
    finding.cells = row.cells.iter().map(|c| row.subject(c.metric)).collect();
    let other = a.facts.row;
    finding.with = other
        .cells
        .iter()
        .map(|c| Subject::Elsewhere {
            study: a.study.name.clone(),
            row: other.name.clone(),
            metric: c.metric,
        })
        .collect();
    let figures: Vec<String> = row.cells.iter().map(|c| c.published.to_string()).collect();
    let sure = if severity.fails() {
        "was"
    } else {
        "may have been"
    };
    finding.says = format!(
        "{}: every figure of {} is that of {} too ({}, row {}): one of them {sure} copied.",
        row.name, b.facts.node, a.facts.node, a.study.name, other.name
    );
    finding.arithmetic = format!(
        "{}: {} significant digits in common, {compared} pair{} of rows compared",
        figures.join(", "),
        total(a),
        if compared == 1 { "" } else { "s" }
    );
    finding.chance = Some(chance);
    finding.sure = format!(
        "chance {} if the two nodes have nothing in common",
        show::chance(chance)
    );
    finding
}
