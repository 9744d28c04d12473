//! Rule `identical`: rows of different nodes that agree in every digit, as copied rows do.

use super::facts::{Facts, facts};
use super::range::Range;
use super::{CHANCE, Finding, Severity, cell_name, show};
use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity};
use crate::table::Study;

/// Significant digits that two rows must share.
const LEAST_DIGITS: u32 = 3;
/// Rows beyond which tables are not compared.
const MOST_ROWS: usize = 2_000;

struct Line<'a> {
    study: &'a Study,
    facts: Facts<'a>,
    digits: u32,
}

/// One finding for each row that repeats an earlier one of another node.
pub fn findings(studies: &[Study]) -> Vec<Finding> {
    let lines: Vec<Line<'_>> = studies
        .iter()
        .flat_map(|study| facts(study).into_iter().map(move |f| (study, f)))
        .filter(|(_, facts)| !facts.row.limit && !facts.row.cells.is_empty())
        .map(|(study, facts)| Line {
            study,
            facts,
            digits: telling_digits(&facts),
        })
        .take(MOST_ROWS)
        .collect();
    let mut compared = 0_u64;
    let mut same: Vec<(&Line<'_>, &Line<'_>)> = Vec::new();
    for (at, b) in lines.iter().enumerate() {
        let mut earlier = None;
        for a in lines[..at]
            .iter()
            .filter(|a| comparable(&a.facts, &b.facts))
        {
            compared += 1;
            if earlier.is_none() && a.digits >= LEAST_DIGITS && equal(&a.facts, &b.facts) {
                earlier = Some(a);
            }
        }
        same.extend(earlier.map(|a| (a, b)));
    }
    same.into_iter()
        .map(|(a, b)| finding(a, b, compared))
        .collect()
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

/// Digits that say something about the node: neither the link's limit, nor what was offered, nor all or nothing.
fn telling_digits(row: &Facts<'_>) -> u32 {
    let cells = row.row.cells.iter();
    let telling = cells.filter(|cell| !given(row, cell.metric, &cell.published));
    telling.map(|cell| digits(&cell.published)).sum()
}

fn given(row: &Facts<'_>, metric: Metric, printed: &Quantity) -> bool {
    let range = Range::printed(printed);
    let is = |value: Option<f64>| value.is_some_and(|v| range.contains(v));
    let per_s = row.link.map(|link| link.frames_per_s(&row.sizes));
    let offered = row.offered_per_s();
    let bits = 8.0 * row.counted_bytes;
    let whole = printed.unit.dimension == Dimension::Share && range.contains(1.0);
    let trial = matches!(
        metric,
        Metric::Frames | Metric::Payload | Metric::Data | Metric::FrameBits
    );
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
        _ => by_rate(bits),
    };
    whole || trial || rate
}

/// Significant digits; zeros at the end of a whole number are none.
fn digits(printed: &Quantity) -> u32 {
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

fn finding(a: &Line<'_>, b: &Line<'_>, compared: u64) -> Finding {
    let chance = (0.1_f64.powi(a.digits as i32) * compared as f64).min(1.0);
    let severity = if chance < CHANCE {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let row = b.facts.row;
    let mut finding = Finding::new(b.study, row.line, severity, "identical");
    finding.cells = row.cells.iter().map(|c| cell_name(row, c.metric)).collect();
    let other = a.facts.row;
    finding.with = other
        .cells
        .iter()
        .map(|c| format!("{}/{}", a.study.name, cell_name(other, c.metric)))
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
        a.digits,
        if compared == 1 { "" } else { "s" }
    );
    finding.chance = Some(chance);
    finding.sure = format!(
        "chance {} if the two nodes have nothing in common",
        show::chance(chance)
    );
    finding
}
