//! Rules `row` and `unit`: the figures of one row contradict each other, or would agree in another unit.

use super::evidence::{Doubt, Evidence};
use super::facts::{Facts, facts};
use super::limit::{beyond, broken};
use super::range::Range;
use super::relations::{Cells, Relation, other_units};
use super::typo::rank;
use super::{Finding, Rule, Severity, show};
use crate::metric::Metric;
use crate::quantity::{Quantity, Unit};
use crate::table::Study;

/// One finding for each row whose figures cannot all be true.
pub fn findings(study: &Study, evidence: &Evidence) -> Vec<Finding> {
    facts(study)
        .iter()
        .filter_map(|row| finding(study, row, evidence))
        .collect()
}

fn finding(study: &Study, row: &Facts<'_>, evidence: &Evidence) -> Option<Finding> {
    let failing = Cells::new(row).failing();
    if failing.is_empty() {
        return None;
    }
    let mut slips = unit_slips(row, &failing);
    // A figure above a limit has its own finding, unless only the unit is wrong.
    let impossible: Vec<Metric> = broken(row).iter().map(|b| b.metric).collect();
    let explained = !impossible.is_empty() && Cells::without(row, &impossible).failing().is_empty();
    if explained {
        slips.retain(|(metric, _)| impossible.contains(metric));
    }
    match slips.is_empty() {
        false => Some(slip(study, row, &failing, &slips)),
        true if explained => None,
        true => contradiction(study, row, &failing, evidence),
    }
}

/// The cells that failing relations name, targets first.
fn suspects(failing: &[Relation]) -> Vec<Metric> {
    let targets = failing.iter().map(|r| r.target);
    let sources = failing.iter().flat_map(|r| r.from.iter().copied());
    let mut all = Vec::new();
    for metric in targets.chain(sources) {
        if !all.contains(&metric) {
            all.push(metric);
        }
    }
    all
}

/// The cells with the unit with which all contradictions vanish and no limit is broken, the usual slips first.
fn unit_slips(row: &Facts<'_>, failing: &[Relation]) -> Vec<(Metric, &'static Unit)> {
    let mut found = Vec::new();
    for metric in suspects(failing) {
        let Some(printed) = row.published(metric) else {
            continue;
        };
        let mut units: Vec<&'static Unit> = other_units(printed).collect();
        units.sort_by_key(|unit| rank(unit.scale / printed.unit.scale));
        let fits = |unit: &&&'static Unit| {
            let meant = Quantity {
                unit: ***unit,
                ..printed.clone()
            };
            let factor = unit.scale / printed.unit.scale;
            Cells::scaled(row, metric, factor).failing().is_empty()
                && beyond(row, metric, &meant).is_none()
        };
        found.extend(units.iter().find(fits).map(|unit| (metric, *unit)));
    }
    found
}

fn slip(
    study: &Study,
    row: &Facts<'_>,
    failing: &[Relation],
    slips: &[(Metric, &'static Unit)],
) -> Finding {
    let (metric, unit) = slips[0];
    let mut finding = based_on(study, row, failing, &[metric], Rule::Unit);
    let Some(printed) = row.published(metric) else {
        return finding;
    };
    let digits = format!("{:.*}", printed.decimals, printed.number);
    finding.says = format!(
        "{}: {metric} {printed} is wrong by the unit: {digits} {} fits all other figures.",
        row.row.name, unit.name
    );
    finding.consistent = Some(format!("{digits} {}", unit.name));
    let weight = |(metric, unit): &(Metric, &'static Unit)| {
        let from = row.published(*metric).map_or(1.0, |q| q.unit.scale);
        let rank = f64::from(rank(unit.scale / from));
        (row.row.subject(*metric), 1.0 / (1.0 + rank))
    };
    finding.divide(slips.iter().map(weight).collect());
    finding.arithmetic.push_str(&format!(
        "; {digits} {} = {}",
        unit.name,
        show::value(printed.number * unit.scale, printed.unit)
    ));
    finding
}

/// A contradiction that no change of a unit resolves.
fn contradiction(
    study: &Study,
    row: &Facts<'_>,
    failing: &[Relation],
    evidence: &Evidence,
) -> Option<Finding> {
    let all = suspects(failing);
    let all: Vec<Metric> = all
        .into_iter()
        .filter(|m| row.published(*m).is_some())
        .collect();
    let doubt = |metric: &Metric| {
        Some(Doubt {
            cell: row.row.subject(*metric),
            printed: row.published(*metric)?,
            needed: needed(row, failing, *metric)?,
        })
    };
    let doubts: Vec<Doubt<'_>> = all.iter().filter_map(doubt).collect();
    let weights = match doubts.is_empty() {
        // No single cell resolves it: those with most contradictions come first.
        true => all
            .iter()
            .map(|m| (row.row.subject(*m), involved(failing, *m)))
            .collect(),
        false => evidence.weights(&doubts),
    };
    let mut finding = based_on(study, row, failing, &all, Rule::Row);
    finding.divide(weights);
    let in_doubt = |m: &Metric| finding.cells.contains(&row.row.subject(*m));
    let doubted: Vec<Metric> = all.iter().copied().filter(in_doubt).collect();
    let first = doubted.first().and_then(|m| row.row.cell(*m));
    finding.line = first.map_or(row.row.line, |cell| cell.line);
    let printed: Vec<String> = doubted
        .iter()
        .filter_map(|m| Some(format!("{m} {}", row.published(*m)?)))
        .collect();
    finding.says = match printed.as_slice() {
        [one] => format!(
            "{}: {one} contradicts the row's other figures.",
            row.row.name
        ),
        _ => format!(
            "{}: {} contradict each other.",
            row.row.name,
            printed.join(" and ")
        ),
    };
    if let [metric] = doubted.as_slice() {
        let needed = row.published(*metric).zip(needed(row, failing, *metric));
        if let Some((printed, needed)) = needed {
            finding.consistent = Some(format!("{metric} {}", show::range(needed, printed.unit)));
            finding.name_slip(printed, needed);
        }
    } else {
        finding.consistent = failing.iter().find_map(|r| {
            let printed = row.published(r.target)?;
            let expected = show::range(r.expected, printed.unit);
            doubted
                .contains(&r.target)
                .then(|| format!("{} {expected}", r.target))
        });
    }
    Some(finding)
}

/// The weight of a cell, by the number of its contradictions: a cell with many weighs much more than one with a few.
fn involved(failing: &[Relation], metric: Metric) -> f64 {
    let with = failing
        .iter()
        .filter(|r| r.target == metric || r.from.contains(&metric));
    10f64.powi(with.count() as i32)
}

/// The values of a cell that make the row consistent; `None` where no value does.
fn needed(row: &Facts<'_>, failing: &[Relation], metric: Metric) -> Option<Range> {
    let own = Range::printed(row.published(metric)?);
    if !Cells::without(row, &[metric]).failing().is_empty() {
        return None;
    }
    let middle = own.middle();
    let helps = |needed: &Range| {
        // Nothing is a multiple of 0.
        middle <= 0.0
            || Cells::scaled(row, metric, needed.middle() / middle)
                .failing()
                .is_empty()
    };
    let mut common: Option<Range> = None;
    let narrow = |common: Option<Range>, with: Range| match common {
        None => Some(with),
        Some(common) => common.common(with),
    };
    for relation in failing.iter().filter(|r| r.target == metric) {
        common = Some(narrow(common, relation.expected)?);
    }
    // A source: its target is a product or a quotient of it, so a factor on one is a factor on the other.
    for relation in failing.iter().filter(|r| r.from.contains(&metric)) {
        let target = Range::printed(row.published(relation.target)?);
        let expected = relation.expected.middle();
        if relation.target == Metric::ThroughputSum {
            common = Some(narrow(common, target - Range::exact(expected - middle))?);
            continue;
        }
        let bounds = [
            target.scaled(middle / expected),
            Range::exact(middle * expected) / target,
        ];
        let fits = bounds.into_iter().find_map(|bound| {
            let narrowed = narrow(common, bound).filter(|n| n.high.is_finite());
            narrowed.filter(|n| common.is_some() || helps(n))
        });
        common = Some(fits?);
    }
    common.filter(|needed| needed.high >= 0.0 && helps(needed))
}

fn based_on(
    study: &Study,
    row: &Facts<'_>,
    failing: &[Relation],
    doubted: &[Metric],
    rule: Rule,
) -> Finding {
    let line = row.row.cell(doubted[0]).map_or(row.row.line, |c| c.line);
    let mut finding = Finding::new(study, line, Severity::Inconsistent, rule);
    for metric in suspects(failing) {
        if row.published(metric).is_none() {
            continue;
        }
        let name = row.row.subject(metric);
        if doubted.contains(&metric) {
            finding.cells.push(name);
        } else {
            finding.with.push(name);
        }
    }
    let sentences = failing.iter().filter_map(|r| {
        let printed = row.published(r.target)?;
        Some(format!(
            "{}: {} = {}, printed {printed}",
            r.target,
            r.formula,
            show::range(r.expected, printed.unit)
        ))
    });
    finding.arithmetic = sentences.collect::<Vec<_>>().join("; ");
    finding
}
