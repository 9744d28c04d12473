//! Rules `claim` and `sum`: compare the text with the table, and totals with their parts.

use super::evidence::{Doubt, Evidence};
use super::facts::{Facts, facts, of};
use super::range::Range;
use super::relations::other_units;
use super::{Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::quantity::{Quantity, Unit};
use crate::table::{CellName, Claim, ClaimOf, Relation, Study, Sum};

/// Most cells that are listed as the possible source of a wrong claim.
const MOST_MISTAKEN: usize = 3;

/// A finding for each claim that the table contradicts and each sum that does not add up.
pub fn findings(study: &Study, evidence: &Evidence) -> Vec<Finding> {
    let claims = study
        .claims
        .iter()
        .filter_map(|claim| against(study, claim));
    let sums = study
        .sums
        .iter()
        .filter_map(|sum| total(study, sum, evidence));
    claims.chain(sums).collect()
}

/// The value for comparison with a claim.
struct Value {
    range: Range,
    cells: Vec<Subject>,
    formula: String,
}

fn value_of(study: &Study, claim: &Claim) -> Option<Value> {
    match &claim.of {
        ClaimOf::Row(row) => single(study, row, claim.metric),
        ClaimOf::LargestDifference(pairs) => {
            let each = pairs.iter().filter_map(|(a, b)| {
                let (first, second) = (
                    single(study, a, claim.metric)?,
                    single(study, b, claim.metric)?,
                );
                let unit = claim.published.unit;
                let range = first.range - second.range;
                let formula = format!(
                    "{} - {} = {} ({a} - {b})",
                    show::value(first.range.middle(), unit),
                    show::value(second.range.middle(), unit),
                    show::range(range, unit)
                );
                let cells = [first.cells, second.cells].concat();
                Some(Value {
                    range,
                    cells,
                    formula,
                })
            });
            // All values must keep the bound, so the one nearest to breaking it counts.
            match claim.relation {
                Relation::Above => each.min_by(|a, b| a.range.high.total_cmp(&b.range.high)),
                Relation::Below | Relation::Equals => {
                    each.max_by(|a, b| a.range.low.total_cmp(&b.range.low))
                }
            }
        }
    }
}

/// A row's own cell, or a value that follows from its trial.
fn single(study: &Study, row: &str, metric: Metric) -> Option<Value> {
    let row = study.row(row)?;
    if let Some(cell) = row.cell(metric) {
        return Some(Value {
            range: Range::rounded(&cell.published),
            cells: vec![row.subject(metric)],
            formula: format!("{} is {}", row.subject(metric), cell.published),
        });
    }
    let facts = of(study, row)?;
    let bits = 8.0 * facts.counted_bytes;
    let (value, formula) = match metric {
        Metric::Payload => (bits, "the size of the trial".to_owned()),
        Metric::Frames => (facts.frames()?, "the frames of the trial".to_owned()),
        Metric::FrameBits => (8.0 * facts.link_bytes(), "a frame on the link".to_owned()),
        Metric::Data => {
            let frames = facts.frames()?;
            (
                frames * bits,
                format!("{frames} frames of {} B", facts.counted_bytes),
            )
        }
        _ => return None,
    };
    Some(Value {
        range: Range::exact(value),
        cells: Vec::new(),
        formula,
    })
}

/// Whether the figure and the value can both be true.
fn holds(relation: Relation, printed: &Quantity, value: Range) -> bool {
    match relation {
        Relation::Equals => Range::printed(printed).touches(value),
        Relation::Below => !value.above(Range::rounded(printed)),
        Relation::Above => !Range::rounded(printed).above(value),
    }
}

fn against(study: &Study, claim: &Claim) -> Option<Finding> {
    let value = value_of(study, claim)?;
    if holds(claim.relation, &claim.published, value.range) {
        return None;
    }
    let meant = meant(claim, value.range);
    let rule = if meant.is_some() {
        Rule::Unit
    } else {
        Rule::Claim
    };
    let mut finding = Finding::new(study, claim.line, Severity::Inconsistent, rule);
    finding.cells = vec![Subject::Claim(claim.name.clone())];
    let relation = match claim.relation {
        Relation::Equals => "",
        Relation::Below => "less than ",
        Relation::Above => "more than ",
    };
    let unit = claim.published.unit;
    let is = show::value(value.range.middle(), unit);
    finding.says = format!(
        "{}: the text says {relation}{}, the table {is}.",
        claim.name, claim.published
    );
    finding.arithmetic = value.formula;
    finding.consistent = Some(is);
    if let Some(meant) = meant {
        let digits = format!(
            "{:.*} {}",
            claim.published.decimals, claim.published.number, meant.name
        );
        finding
            .says
            .push_str(&format!(" {digits} would be right: the unit is wrong."));
        finding.consistent = Some(digits);
    } else if claim.relation == Relation::Equals {
        let mistaken = mistaken(study, claim);
        if !mistaken.is_empty() {
            let text = format!("; cells that print so: {}", mistaken.join(", "));
            finding.arithmetic.push_str(&text);
        }
    }
    finding.with = value.cells;
    Some(finding)
}

/// The unit in which the claim would be true.
fn meant(claim: &Claim, value: Range) -> Option<&'static Unit> {
    if claim.relation != Relation::Equals {
        return None;
    }
    let printed = &claim.published;
    other_units(printed).find(|unit| {
        let factor = unit.scale / printed.unit.scale;
        Range::printed(printed).scaled(factor).touches(value)
    })
}

/// Cells of the same metric that match the claim's figure: it may be from one of these.
fn mistaken(study: &Study, claim: &Claim) -> Vec<String> {
    let figure = Range::rounded(&claim.published);
    let cells = study.rows.iter().filter_map(|row| {
        let cell = row.cell(claim.metric)?;
        let fits = figure.contains(cell.published.base());
        fits.then(|| format!("{} {}", row.subject(claim.metric), cell.published))
    });
    cells.take(MOST_MISTAKEN).collect()
}

fn published<'a>(rows: &[Facts<'a>], name: &CellName) -> Option<&'a Quantity> {
    let row = rows.iter().find(|row| row.row.name == name.row)?;
    row.published(name.metric)
}

fn total(study: &Study, sum: &Sum, evidence: &Evidence) -> Option<Finding> {
    let rows = facts(study);
    let printed = published(&rows, &sum.total)?;
    let parts: Vec<&Quantity> = sum
        .parts
        .iter()
        .map(|part| published(&rows, part))
        .collect::<Option<_>>()?;
    let added = parts
        .iter()
        .fold(Range::exact(0.0), |sum, part| sum + Range::printed(part));
    if added.touches(Range::printed(printed)) {
        return None;
    }
    let name = |cell: &CellName| Subject::Figure {
        row: cell.row.clone(),
        metric: cell.metric,
    };
    let mut finding = Finding::new(study, sum.line, Severity::Inconsistent, Rule::Sum);
    let unit = printed.unit;
    let middle: f64 = parts.iter().map(|part| part.base()).sum();
    let is = show::value(middle, unit);
    finding.says = format!(
        "{}: {printed} is not the sum of its parts, {is}.",
        name(&sum.total)
    );
    let terms: Vec<String> = parts.iter().map(ToString::to_string).collect();
    finding.arithmetic = format!("{} = {is}, printed {printed}", terms.join(" + "));
    finding.consistent = Some(format!("{is}, or other parts"));
    // To find the wrong one, trailing zeros count as significant.
    let digits = Range::of_digits;
    let added = parts
        .iter()
        .fold(Range::exact(0.0), |sum, part| sum + digits(part));
    let rest = |at: usize| {
        let others = parts.iter().enumerate().filter(|(i, _)| *i != at);
        others.fold(digits(printed), |rest, (_, part)| rest - digits(part))
    };
    let doubt = |cell: &CellName, printed, needed| Doubt {
        cell: name(cell),
        printed,
        needed,
    };
    let mut doubts = vec![doubt(&sum.total, printed, added)];
    let each = sum.parts.iter().zip(&parts).enumerate();
    doubts.extend(each.map(|(at, (cell, part))| doubt(cell, part, rest(at))));
    // A part cannot be negative.
    doubts.retain(|doubt| doubt.needed.high >= 0.0);
    finding.divide(evidence.weights(&doubts));
    let wrong = finding.first().map(|s| s.cell.clone());
    if wrong == Some(name(&sum.total)) {
        finding.name_slip(printed, added);
    } else if let Some(at) = sum.parts.iter().position(|part| wrong == Some(name(part))) {
        finding.name_slip(parts[at], rest(at));
    }
    Some(finding)
}
