//! Rules `row` and `unit`: the figures of one row contradict each other, or would not in another unit.

use super::facts::{Facts, facts};
use super::limit::broken;
use super::relations::{Cells, Relation, other_units};
use super::{Finding, Severity, cell_name, show};
use crate::metric::Metric;
use crate::quantity::Unit;
use crate::table::Study;

/// One finding for each row whose figures cannot all be true.
pub fn findings(study: &Study) -> Vec<Finding> {
    facts(study)
        .iter()
        .filter_map(|row| finding(study, row))
        .collect()
}

fn finding(study: &Study, row: &Facts<'_>) -> Option<Finding> {
    let failing = Cells::new(row).failing();
    if failing.is_empty() {
        return None;
    }
    match unit_slip(row, &failing) {
        Some((metric, unit)) => Some(slip(study, row, &failing, metric, unit)),
        None => contradiction(study, row, &failing),
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

/// The cell and the unit with which all contradictions vanish.
fn unit_slip(row: &Facts<'_>, failing: &[Relation]) -> Option<(Metric, &'static Unit)> {
    for metric in suspects(failing) {
        let Some(printed) = row.published(metric) else {
            continue;
        };
        for unit in other_units(printed) {
            let factor = unit.scale / printed.unit.scale;
            if Cells::scaled(row, metric, factor).failing().is_empty() {
                return Some((metric, unit));
            }
        }
    }
    None
}

fn slip(
    study: &Study,
    row: &Facts<'_>,
    failing: &[Relation],
    metric: Metric,
    unit: &'static Unit,
) -> Finding {
    let mut finding = based_on(study, row, failing, &[metric], "unit");
    let Some(printed) = row.published(metric) else {
        return finding;
    };
    let digits = format!("{:.*}", printed.decimals, printed.number);
    finding.says = format!(
        "{}: {metric} {printed} is wrong by the unit: {digits} {} fits all other figures.",
        row.row.name, unit.name
    );
    finding.consistent = Some(format!("{digits} {}", unit.name));
    finding.arithmetic.push_str(&format!(
        "; {digits} {} = {}",
        unit.name,
        show::value(printed.number * unit.scale, printed.unit)
    ));
    finding
}

/// A contradiction that no change of a unit resolves; empty where the cells are impossible on their own.
fn contradiction(study: &Study, row: &Facts<'_>, failing: &[Relation]) -> Option<Finding> {
    let all = suspects(failing);
    let alone: Vec<Metric> = all
        .iter()
        .copied()
        .filter(|m| row.published(*m).is_some())
        .filter(|m| Cells::without(row, *m).failing().is_empty())
        .collect();
    // One cell that contradicts several others is the one in doubt; of two, it is unknown which.
    let doubted = if alone.len() == 1 { alone } else { all };
    let impossible = broken(row);
    let told = |metric: &Metric| impossible.iter().any(|b| b.metric == *metric);
    if doubted.iter().all(told) {
        return None;
    }
    let mut finding = based_on(study, row, failing, &doubted, "row");
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
    finding.consistent = failing.iter().find_map(|r| {
        let printed = row.published(r.target)?;
        doubted
            .contains(&r.target)
            .then(|| format!("{} {}", r.target, show::range(r.expected, printed.unit)))
    });
    Some(finding)
}

fn based_on(
    study: &Study,
    row: &Facts<'_>,
    failing: &[Relation],
    doubted: &[Metric],
    rule: &'static str,
) -> Finding {
    let line = row.row.cell(doubted[0]).map_or(row.row.line, |c| c.line);
    let mut finding = Finding::new(study, line, Severity::Inconsistent, rule);
    for metric in suspects(failing) {
        if row.published(metric).is_none() {
            continue;
        }
        let name = cell_name(row.row, metric);
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
