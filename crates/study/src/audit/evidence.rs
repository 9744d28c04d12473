//! What the rest of the table says about a cell that a contradiction puts in doubt: its column's line, its neighbours' figures,
//! and the slips that lead to what is printed.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Facts, facts, groups};
use super::range::Range;
use super::robust::{RegressionRow, alone};
use super::{Subject, cost, typo};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::Study;

/// Columns that are a line in the size: rates at maximum load as the time of a frame, and latencies at one load.
const LINES: [Metric; 6] = [
    Metric::FramesPerS,
    Metric::Throughput,
    Metric::TimePerFrame,
    Metric::ShareOfLimit,
    Metric::Time,
    Metric::Latency,
];
/// A column is evidence about its cells if it implies them to within this share.
const TELLS: f64 = 0.15;
/// How much less likely a cell is wrong if the needed value lies off its column's line.
const OFF_THE_LINE: f64 = 0.02;
/// Probability that a wrong figure is a copy of the figure beside it.
const COPIED: f64 = 0.02;
/// Fewest significant digits with which two figures are not equal by chance.
const TELLING_DIGITS: usize = 3;

/// A cell that could resolve a contradiction, and the value it would need for that.
pub struct Doubt<'a> {
    pub cell: Subject,
    pub printed: &'a Quantity,
    pub needed: Range,
}

/// What is known about a table's cells beside the contradictions.
#[derive(Default)]
pub struct Evidence {
    /// What the rest of the column implies, in the base unit.
    expected: BTreeMap<Subject, Range>,
    copied: BTreeSet<Subject>,
}

impl Evidence {
    pub fn of(study: &Study) -> Evidence {
        let mut evidence = Evidence::default();
        let rows: Vec<Facts<'_>> = facts(study).into_iter().filter(|r| !r.row.limit).collect();
        for metric in LINES {
            let belongs = |a: &Facts<'_>, b: &Facts<'_>| {
                a.row.trial.load == b.row.trial.load && a.frames() == b.frames() && a.same_column(b)
            };
            for column in groups(&rows, belongs) {
                evidence.line(metric, &column);
            }
        }
        evidence.expected.extend(cost::expectations(&rows));
        evidence.repeats(study);
        evidence
    }

    fn line<'a>(&mut self, metric: Metric, column: &[Facts<'a>]) {
        let found = |row: &Facts<'a>| {
            let printed = row.published(metric)?;
            let time = seconds(row, metric, Range::rounded(printed))?;
            let usable = metric == Metric::Latency || (row.is_max() && !row.is_tcp());
            let point = RegressionRow {
                x: vec![1.0, row.counted_bytes],
                y: time.middle(),
                own: time.width() / 2.0,
            };
            usable.then_some((row.row.subject(metric), *row, point))
        };
        let rows: Vec<_> = column.iter().filter_map(found).collect();
        // A size that the wire limits is not on the node's line.
        let wire = |row: &Facts<'_>, point: &RegressionRow| {
            let limit = row.link.map(|l| 1.0 / l.frames_per_s(&row.sizes));
            metric != Metric::Latency && limit.is_some_and(|l| point.y < l * 1.01)
        };
        let node: Vec<_> = rows.iter().filter(|(_, row, p)| !wire(row, p)).collect();
        let kept = if node.len() <= 1 {
            rows.iter().collect()
        } else {
            node
        };
        let points: Vec<RegressionRow> = kept.iter().map(|(.., p)| p.clone()).collect();
        for candidate in alone(&points) {
            let (cell, row, point) = kept[candidate.at];
            let by = 3.0 * candidate.deviation + point.own;
            if candidate.expected <= 0.0 || by > TELLS * candidate.expected {
                continue;
            }
            let times = Range {
                low: candidate.expected - by,
                high: candidate.expected + by,
            };
            self.expected
                .extend(figure(row, metric, times).map(|range| (cell.clone(), range)));
        }
    }

    /// Marks figures that also stand in the next row, or in another column of their row.
    fn repeats(&mut self, study: &Study) {
        for row in &study.rows {
            for cell in row.cells.iter().filter(|cell| telling(&cell.published)) {
                let other = row.cells.iter().filter(|c| c.metric != cell.metric);
                let mut other = other.filter(|c| {
                    c.published.number == cell.published.number
                        && c.published.decimals == cell.published.decimals
                });
                if other.next().is_some() {
                    self.copied.insert(row.subject(cell.metric));
                }
            }
        }
        for pair in study.rows.windows(2) {
            for cell in &pair[1].cells {
                let same = pair[0]
                    .cell(cell.metric)
                    .is_some_and(|c| c.published == cell.published);
                if same && telling(&cell.published) {
                    self.copied.insert(pair[0].subject(cell.metric));
                    self.copied.insert(pair[1].subject(cell.metric));
                }
            }
        }
    }

    /// How likely each cell is the wrong one.
    pub fn weights(&self, doubts: &[Doubt<'_>]) -> Vec<(Subject, f64)> {
        let each = doubts.iter().map(|doubt| {
            let mut weight = typo::likelihood(doubt.printed, doubt.needed);
            if let Some(expected) = self.expected.get(&doubt.cell) {
                let on = expected.touches(doubt.needed);
                weight *= if on {
                    1.0 / OFF_THE_LINE.sqrt()
                } else {
                    OFF_THE_LINE
                };
            }
            if self.copied.contains(&doubt.cell) {
                weight += COPIED;
            }
            (doubt.cell.clone(), weight)
        });
        each.collect()
    }
}

/// Whether a figure has so many digits that another one is not the same by chance.
fn telling(printed: &Quantity) -> bool {
    let digits = format!("{:.*}", printed.decimals, printed.number);
    let digits = digits.trim_start_matches(['0', '.']).chars();
    digits.filter(char::is_ascii_digit).count() >= TELLING_DIGITS
}

/// The time of a frame that a figure implies.
fn seconds(row: &Facts<'_>, metric: Metric, value: Range) -> Option<Range> {
    let one = Range::exact(1.0);
    let time = match metric {
        Metric::FramesPerS => one / value,
        Metric::Throughput => Range::exact(8.0 * row.counted_bytes) / value,
        Metric::ShareOfLimit => one / value.scaled(row.link?.frames_per_s(&row.sizes)),
        Metric::Time => value.scaled(1.0 / row.frames()?),
        _ => value,
    };
    (time.low > 0.0 && time.high.is_finite()).then_some(time)
}

/// The figures that times of a frame imply.
fn figure(row: &Facts<'_>, metric: Metric, time: Range) -> Option<Range> {
    if time.low <= 0.0 {
        return None;
    }
    match metric {
        Metric::Time => Some(time.scaled(row.frames()?)),
        // The others are their own inverse, up to the factor.
        _ => seconds(row, metric, time),
    }
    .map(|range| match metric {
        Metric::ShareOfLimit => {
            let limit = row.link.map_or(1.0, |l| l.frames_per_s(&row.sizes));
            (Range::exact(1.0) / time).scaled(1.0 / limit)
        }
        _ => range,
    })
}
