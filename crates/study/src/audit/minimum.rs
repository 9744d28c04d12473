//! Rule `minimum-size` over all columns of both directions together: by rates and by CPU loads, datagrams of one size cost less
//! than the other sizes allow, unless the tool sent larger ones.
//!
//! Here the frames per second need not be equal at the other sizes. A single column may be too short to decide.

use super::equal::{KNOWN, LEAST_LOADS, MOST_BYTES, Size, trimmed};
use super::facts::{Facts, facts, groups};
use super::fit::{chance_of_ratio, columns, fit};
use super::{CHANCE, Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::table::Study;

/// Fewest other sizes of a column of rates.
const LEAST_OTHERS: usize = 3;
/// A rate this near the wire's limit shows the wire, not the node.
const AT_THE_WIRE: f64 = 0.97;
/// How much the squares must shrink before a column alone is worth a remark.
const SHRINKS: f64 = 0.02;
/// The best size of all must be this near a known minimum, in bytes.
const NEAR: u32 = 8;
/// The largest of the other sizes is this many times the smallest: sizes that are nearly equal show no cost of a byte, and
/// a line through them says nothing of a size far away.
const LEVER: f64 = 1.5;

/// A size that a tool raised, according to all columns together.
pub struct Joint<'a> {
    node: &'a str,
    requested: u32,
    bytes: u32,
    tool: &'static str,
    columns: Vec<Column<'a>>,
    /// The size that fits best, and how many were tried.
    best: u32,
    tried: usize,
    chance: f64,
}

/// Rows that one cost of a datagram explains.
struct Column<'a> {
    rows: Vec<Facts<'a>>,
    metric: Metric,
    /// The share of the squares that is left with the raised size, and the chance of it.
    ratio: f64,
}

/// The hypothesis for a study, where its columns suggest one.
pub fn hypothesis(study: &Study) -> Option<Joint<'_>> {
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .filter(|r| !r.is_tcp() && !r.row.limit && r.sizes.datagram.is_some())
        .collect();
    let nodes = groups(&rows, |a, b| a.node == b.node);
    nodes.into_iter().find_map(of_node)
}

fn of_node<'a>(rows: Vec<Facts<'a>>) -> Option<Joint<'a>> {
    let requested = rows.iter().filter_map(|r| r.sizes.datagram).min()?;
    let next = rows
        .iter()
        .filter_map(|r| r.sizes.datagram)
        .filter(|d| *d > requested)
        .min()?;
    let mut kept: Vec<(Vec<Facts<'a>>, Metric)> = rates(&rows, requested);
    kept.extend(loads(&rows, requested));
    kept.retain(|(rows, _)| has_lever(rows, requested));
    let sizes = requested + 1..=MOST_BYTES.min(next - 1);
    let tried = sizes.clone().count();
    let joint = |bytes: u32| -> f64 {
        let each = kept
            .iter()
            .filter_map(|(rows, metric)| shrunk(rows, *metric, requested, bytes));
        each.map(|(ratio, freedom)| chance_of_ratio(ratio, freedom).max(f64::MIN_POSITIVE).ln())
            .sum()
    };
    let best = sizes
        .map(|bytes| (bytes, joint(bytes)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (bytes, tool) = *KNOWN
        .iter()
        .min_by(|a, b| joint(a.0).total_cmp(&joint(b.0)))?;
    if !(requested + 1..next).contains(&bytes) || best.0.abs_diff(bytes) > NEAR {
        return None;
    }
    let columns: Vec<Column<'a>> = kept
        .iter()
        .filter_map(|(rows, metric)| {
            let (ratio, _) = shrunk(rows, *metric, requested, bytes)?;
            Some(Column {
                rows: rows.clone(),
                metric: *metric,
                ratio,
            })
        })
        .collect();
    if columns.is_empty() || columns.iter().any(|c| c.ratio > SHRINKS) {
        return None;
    }
    let chance = product_chance(joint(bytes), columns.len()) * tried as f64;
    Some(Joint {
        node: rows[0].node,
        requested,
        bytes,
        tool,
        columns,
        best: best.0,
        tried,
        chance: chance.min(1.0),
    })
}

/// Whether the other sizes differ by enough to show what a byte costs.
fn has_lever(rows: &[Facts<'_>], requested: u32) -> bool {
    let others = || {
        rows.iter()
            .filter_map(|row| row.sizes.datagram)
            .filter(|size| *size > requested)
    };
    let ends = others().min().zip(others().max());
    ends.is_some_and(|(least, most)| f64::from(most) >= LEVER * f64::from(least))
}

/// The probability that a product of `factors` independent chances is this small, from its logarithm: each chance is uniformly
/// distributed from 0 to 1 (Fisher).
fn product_chance(log: f64, factors: usize) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for i in 0..factors {
        if i > 0 {
            term *= -log / i as f64;
        }
        sum += term;
    }
    log.exp() * sum
}

/// Columns of greatest rates in one direction that the node and not the wire limits.
fn rates<'a>(rows: &[Facts<'a>], requested: u32) -> Vec<(Vec<Facts<'a>>, Metric)> {
    let metric = Metric::Throughput;
    let max: Vec<Facts<'a>> = rows
        .iter()
        .filter(|r| r.is_max() && r.published(metric).is_some() && r.row.interval.is_none())
        .filter(|r| {
            let limit = r.link.map(|link| link.frames_per_s(&r.sizes));
            let per_s = r.packets_per_s().map_or(0.0, |p| p.middle());
            // The size in doubt may look as if the wire limited it.
            r.sizes.datagram == Some(requested)
                || limit.is_none_or(|limit| per_s < AT_THE_WIRE * limit)
        })
        .copied()
        .collect();
    let columns = groups(&max, |a, b| a.same_kind(b) && a.row.set == b.row.set);
    let usable = columns.into_iter().filter(|column| {
        let small = column
            .iter()
            .filter(|r| r.sizes.datagram == Some(requested))
            .count();
        small == 1 && column.len() > LEAST_OTHERS
    });
    usable.map(|column| (column, metric)).collect()
}

/// Columns of CPU loads that have the size at two rates or more.
fn loads<'a>(rows: &[Facts<'a>], requested: u32) -> Vec<(Vec<Facts<'a>>, Metric)> {
    let all = columns(rows)
        .into_iter()
        .map(|column| column.iter().map(|r| r.facts).collect());
    let usable = all.filter(|column: &Vec<Facts<'a>>| {
        let small = column
            .iter()
            .filter(|r| r.sizes.datagram == Some(requested))
            .count();
        column.len() >= LEAST_LOADS && small >= 2
    });
    usable.map(|column| (column, Metric::CpuLoad)).collect()
}

/// What is left of a column's squares with `bytes` in place of `requested`, and the rows left over.
fn shrunk(rows: &[Facts<'_>], metric: Metric, requested: u32, bytes: u32) -> Option<(f64, usize)> {
    let squares = |bytes: u32| match metric {
        Metric::CpuLoad => trimmed(rows, requested, bytes),
        _ => of_rates(rows, requested, bytes),
    };
    let ((before, freedom), (after, _)) = (squares(requested)?, squares(bytes)?);
    let freedom = freedom.checked_sub(1).filter(|f| *f > 0)?;
    (before > 0.0).then(|| (after / before, freedom))
}

/// Squares of the relative distances of the times of a frame from a line in the size.
fn of_rates(rows: &[Facts<'_>], requested: u32, bytes: u32) -> Option<(f64, usize)> {
    let point = |row: &Facts<'_>| {
        let raised = match row.sizes.datagram {
            Some(datagram) if datagram == requested => row.with_datagram(bytes)?,
            _ => *row,
        };
        let time = 1.0 / raised.packets_per_s()?.middle();
        Some((vec![1.0 / time, raised.counted_bytes / time], 1.0))
    };
    let points: Vec<(Vec<f64>, f64)> = rows.iter().map(point).collect::<Option<_>>()?;
    let fit = fit(&points)?;
    // No figure of a page is better than a thousandth.
    Some((fit.squares + 1e-6 * points.len() as f64, fit.freedom))
}

impl<'a> Joint<'a> {
    /// Whether the columns agree beyond chance.
    fn convinces(&self) -> bool {
        self.chance < CHANCE
    }

    /// The size that other rules use in place of the printed one.
    pub fn size(&self) -> Size<'a> {
        Size {
            node: self.node,
            requested: self.requested,
            bytes: self.bytes,
            sure: self.convinces(),
        }
    }

    /// A remark, unless the columns agree beyond chance.
    pub fn finding(&self, study: &Study) -> Finding {
        let severity = match self.convinces() {
            true => Severity::Inconsistent,
            false => Severity::Remark,
        };
        let rows = || self.columns.iter().flat_map(|c| &c.rows);
        let small = || rows().filter(|r| r.sizes.datagram == Some(self.requested));
        let line = small().map(|r| r.row.line).min().unwrap_or(0);
        let mut finding = Finding::new(study, line, severity, Rule::MinimumSize);
        finding.cells = small().map(|r| Subject::Size(r.row.name.clone())).collect();
        let with = self
            .columns
            .iter()
            .flat_map(|c| c.rows.iter().map(|r| r.row.subject(c.metric)));
        finding.with = with.collect();
        finding.says = format!(
            "The datagrams of {} B were {} B (the minimum of {}): they cost less than the other sizes allow, in {} column{}.",
            self.requested,
            self.bytes,
            self.tool,
            self.columns.len(),
            if self.columns.len() == 1 { "" } else { "s" }
        );
        let each = self.columns.iter().map(|c| {
            let left = show::number(100.0 * c.ratio, 2);
            format!(
                "{} rows of {}: {left} % of the squares are left",
                c.rows.len(),
                c.metric
            )
        });
        finding.arithmetic = format!(
            "{} with {} B in place of {}; of {} sizes tried, {} B fits best",
            each.collect::<Vec<_>>().join(", "),
            self.bytes,
            self.requested,
            self.tried,
            self.best
        );
        finding.consistent = Some(format!("datagrams of {} B", self.bytes));
        finding.chance = Some(self.chance);
        finding.sure = format!(
            "chance at most {} that all columns agree by themselves, over {} sizes",
            show::chance(self.chance),
            self.tried
        );
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::product_chance;

    #[test]
    fn a_product_of_chances_is_no_chance_itself() {
        assert!((product_chance(0.01f64.ln(), 1) - 0.01).abs() < 1e-12);
        // x (1 - ln x) of two.
        assert!((product_chance(0.01f64.ln(), 2) - 0.01 * (1.0 + 100f64.ln())).abs() < 1e-12);
    }
}
