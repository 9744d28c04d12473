//! Rule `cost`: a CPU cost of a frame that deviates from the column's other rows.
//!
//! The load of a CPU is its idle load plus frames per second times the cost of a frame, which is linear in the size.
//! One row or two are compared with the fit through all others.

use super::equal::Size;
use super::facts::{Facts, facts};
use super::fit::{Loaded, columns};
use super::range::Range;
use super::robust::{Candidate, Deviant, RegressionRow, alone, chance_without, deviants};
use super::typo;
use super::{CHANCE, Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::table::Study;

/// Rows of the same size that the fit must hold beside the row in doubt; otherwise a step in the cost could be taken
/// for an error.
const LEAST_OF_SIZE: usize = 2;
/// Fewest rows beside the row in doubt.
const LEAST_OTHERS: usize = 6;
/// Deviations beyond this many standard deviations are examined.
const DEVIATIONS: f64 = 5.0;
/// A deviation that is likelier than this by chance is not worth a remark.
const WORTH_A_REMARK: f64 = 0.01;
/// Deviations below this share of the figure are never a finding.
const LEAST_SHARE: f64 = 0.1;
/// A step of this factor from one size to the next is not a step of a node.
const NO_STEP: f64 = 1.8;

/// One finding for each load that contradicts its column.
pub fn findings(study: &Study, raised: Option<&Size<'_>>) -> Vec<Finding> {
    let believed = raised.filter(|raised| raised.sure);
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .map(|row| believed.map_or(row, |raised| raised.corrected(&row)))
        .collect();
    let mut found = Vec::new();
    for column in columns(&rows) {
        for deviant in outliers(&column) {
            found.extend(finding(study, &column, &deviant, believed));
        }
    }
    found
}

/// What the other rows of its column imply for each load.
pub fn expectations(rows: &[Facts<'_>]) -> Vec<(Subject, Range)> {
    let mut all = Vec::new();
    for column in columns(rows) {
        for c in alone(&points(&column)) {
            let by = 3.0 * c.deviation + column[c.at].own;
            if column.len() > LEAST_OTHERS && by < LEAST_SHARE * c.expected {
                let range = Range {
                    low: c.expected - by,
                    high: c.expected + by,
                };
                all.push((column[c.at].facts.row.subject(Metric::CpuLoad), range));
            }
        }
    }
    all
}

fn points(column: &[Loaded<'_>]) -> Vec<RegressionRow> {
    let sizes = column.iter().any(|r| r.bytes() != column[0].bytes());
    let point = |row: &Loaded<'_>| RegressionRow {
        x: row.terms(sizes),
        y: row.load.middle(),
        own: row.own,
    };
    column.iter().map(point).collect()
}

/// The same rows under two other laws that a node may follow: a cost that falls as the rate grows, as of batches, and in
/// addition a cost of its own for each size, as of a second buffer.
fn other_laws(column: &[Loaded<'_>]) -> [Vec<RegressionRow>; 2] {
    let mut sizes: Vec<f64> = column.iter().map(Loaded::bytes).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let mut batched = points(column);
    let mut stepped = batched.clone();
    for (at, row) in column.iter().enumerate() {
        batched[at].x.push(row.per_s.sqrt());
        let own = sizes
            .iter()
            .map(|s| if *s == row.bytes() { row.per_s } else { 0.0 });
        stepped[at].x = std::iter::once(1.0)
            .chain(own)
            .chain([row.per_s.sqrt()])
            .collect();
    }
    [batched, stepped]
}

fn outliers(column: &[Loaded<'_>]) -> Vec<Deviant> {
    let points = points(column);
    let rest_of_size = |at: usize, out: &[usize]| {
        let same = column.iter().enumerate();
        let same = same.filter(|(i, r)| r.bytes() == column[at].bytes() && !out.contains(i));
        same.count()
    };
    let mut found = deviants(&points);
    let all: Vec<usize> = found.iter().map(|deviant| deviant.at).collect();
    for deviant in &mut found {
        for law in other_laws(column) {
            let chance = chance_without(&law, &all, deviant.at);
            deviant.chance = deviant.chance.max(chance.unwrap_or(0.0));
        }
    }
    found.retain(|deviant| {
        let away = (points[deviant.at].y - deviant.expected).abs() - points[deviant.at].own;
        let out: Vec<usize> = vec![deviant.at];
        let backed = rest_of_size(deviant.at, &out) >= LEAST_OF_SIZE;
        let ratio = points[deviant.at].y / deviant.expected;
        deviant.expected > 0.0
            && deviant.deviations >= DEVIATIONS
            && deviant.chance < WORTH_A_REMARK
            && away >= LEAST_SHARE * points[deviant.at].y
            && column.len() > LEAST_OTHERS
            && (backed || !(1.0 / NO_STEP..=NO_STEP).contains(&ratio))
    });
    found
}

/// How likely each of a row's cells is wrong, if the row is.
fn cells(row: &Loaded<'_>, expected: f64, deviation: f64, fit: &[f64]) -> Vec<(Subject, f64)> {
    let around = |value: f64, by: f64| Range {
        low: value - by,
        high: value + by,
    };
    let facts = &row.facts;
    let mut cells = Vec::new();
    if let Some(printed) = facts.published(Metric::CpuLoad) {
        let weight = typo::likelihood(printed, around(expected, 2.0 * deviation + row.own));
        cells.push((facts.row.subject(Metric::CpuLoad), weight));
    }
    // The rate is a suspect where nothing else in the row confirms it.
    let rate = [Metric::Throughput, Metric::FramesPerS]
        .into_iter()
        .filter(|m| facts.published(*m).is_some());
    let rate: Vec<Metric> = rate.collect();
    if let ([metric], None) = (rate.as_slice(), facts.offered_per_s()) {
        let each = fit[1] + fit.get(2).map_or(0.0, |byte| byte * row.bytes());
        let needed = (row.load.middle() - fit[0]) / each / row.per_s;
        if let (Some(printed), true) = (facts.published(*metric), needed > 0.0) {
            let value = printed.base() * needed;
            let by = value * (2.0 * deviation + row.own) / row.load.middle().max(1e-9);
            cells.push((
                facts.row.subject(*metric),
                typo::likelihood(printed, around(value, by)),
            ));
        }
    }
    cells
}

fn suspects(column: &[Loaded<'_>], deviant: &Deviant) -> Vec<(Subject, f64)> {
    let of = |c: &Candidate| {
        let each = cells(
            &column[c.at],
            c.expected,
            c.deviation,
            &deviant.coefficients,
        );
        let weight = c.weight;
        each.into_iter()
            .map(move |(cell, typo)| (cell, weight * typo))
    };
    deviant.candidates.iter().flat_map(of).collect()
}

fn finding(
    study: &Study,
    column: &[Loaded<'_>],
    deviant: &Deviant,
    raised: Option<&Size<'_>>,
) -> Option<Finding> {
    let row = &column[deviant.at];
    let severity = if deviant.chance < CHANCE {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let mut finding = Finding::new(study, row.facts.row.line, severity, Rule::Cost);
    let others = column.iter().enumerate().filter(|(i, _)| *i != deviant.at);
    finding.with = others
        .map(|(_, r)| r.facts.row.subject(Metric::CpuLoad))
        .collect();
    finding.divide(suspects(column, deviant));
    let expected = deviant.expected;
    let idle = deviant.coefficients[0];
    let printed = row.facts.published(Metric::CpuLoad)?;
    let each = |load: f64| show::time((load - idle) / row.per_s);
    finding.says = format!(
        "{}: a frame would cost {}, where the other rows of its column make it {}.",
        row.facts.row.name,
        each(row.load.middle()),
        each(expected)
    );
    finding.arithmetic = format!(
        "({printed} - idle {}) / {} frames/s; load = idle + frames/s x (frame + bytes) through the {} other rows gives {}, \
         with a standard deviation of {} points",
        show::value(idle, printed.unit),
        show::per_s(row.per_s),
        deviant.others,
        show::value(expected, printed.unit),
        show::number(100.0 * deviant.expected_deviation, 2)
    );
    if let Some(raised) = raised {
        finding
            .arithmetic
            .push_str(&format!("; {}", raised.in_words()));
    }
    finding.consistent = Some(show::about(expected, printed.unit));
    let needed = Range {
        low: expected - 2.0 * deviant.expected_deviation,
        high: expected + 2.0 * deviant.expected_deviation,
    };
    finding.name_slip(printed, needed);
    finding.chance = Some(deviant.chance);
    finding.sure = format!(
        "chance {} over {} rows",
        show::chance(deviant.chance),
        column.len()
    );
    Some(finding)
}
