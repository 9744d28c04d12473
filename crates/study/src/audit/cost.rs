//! Rule `cost`: a CPU cost of a frame that deviates from the column's other rows.
//!
//! The load of a CPU is its idle load plus frames per second times the cost of a frame, which is linear in the size.
//! Each row is compared with the fit through all others.

use super::equal::Raised;
use super::facts::{Facts, facts};
use super::fit::{Loaded, chance_of_deviation, columns, fit_without};
use super::{CHANCE, Finding, Severity, cell_name, show};
use crate::metric::Metric;
use crate::table::Study;

/// Rows of the same size that the fit must hold beside the row in doubt; otherwise a step in the cost could be taken
/// for an error.
const LEAST_OF_SIZE: usize = 2;
/// Fewest rows beyond the fit's coefficients for a significant deviation.
const LEAST_FREEDOM: usize = 4;
/// Deviations beyond this many standard deviations are examined.
const DEVIATIONS: f64 = 6.0;
/// Deviations below this share of the figure are never a finding.
const LEAST_SHARE: f64 = 0.1;

/// One finding for each load that contradicts its column.
pub fn findings(study: &Study, raised: Option<&Raised<'_>>) -> Vec<Finding> {
    let believed = raised.filter(|raised| raised.convinces());
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .map(|row| believed.map_or(row, |raised| raised.corrected(&row)))
        .collect();
    let mut found = Vec::new();
    for column in columns(&rows) {
        for at in 0..column.len() {
            found.extend(outlier(study, &column, at, believed));
        }
    }
    found
}

fn outlier(
    study: &Study,
    column: &[Loaded<'_>],
    at: usize,
    raised: Option<&Raised<'_>>,
) -> Option<Finding> {
    let row = &column[at];
    let same = column.iter().filter(|r| r.bytes() == row.bytes()).count();
    if same <= LEAST_OF_SIZE {
        return None;
    }
    let fit = fit_without(column, Some(at)).filter(|fit| fit.freedom >= LEAST_FREEDOM)?;
    let sizes = column.iter().any(|r| r.bytes() != row.bytes());
    let terms = row.terms(sizes);
    let expected = fit.at(&terms);
    let others = column.iter().enumerate().filter(|(i, _)| *i != at);
    let mean_square = others.map(|(_, r)| r.own * r.own).sum::<f64>() / (column.len() - 1) as f64;
    let scale = fit.deviation().max(mean_square.sqrt()) * (1.0 + fit.leverage(&terms)).sqrt();
    let away = (row.load.middle() - expected).abs() - row.own;
    let t = away / scale;
    if t < DEVIATIONS || away < LEAST_SHARE * row.load.middle() || expected <= 0.0 {
        return None;
    }
    let chance = (chance_of_deviation(t, fit.freedom) * column.len() as f64).min(1.0);
    let severity = if chance < CHANCE {
        Severity::Inconsistent
    } else {
        Severity::Remark
    };
    let mut finding = Finding::new(study, row.facts.row.line, severity, "cost");
    let others = || column.iter().enumerate().filter(|(i, _)| *i != at);
    finding.cells = vec![cell_name(row.facts.row, Metric::CpuLoad)];
    finding.with = others()
        .map(|(_, r)| cell_name(r.facts.row, Metric::CpuLoad))
        .collect();
    let mut at_rest = vec![0.0; terms.len()];
    at_rest[0] = 1.0;
    let idle = fit.at(&at_rest);
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
        column.len() - 1,
        show::value(expected, printed.unit),
        show::number(100.0 * fit.deviation(), 2)
    );
    if let Some(raised) = raised {
        finding
            .arithmetic
            .push_str(&format!("; {}", raised.in_words()));
    }
    finding.consistent = Some(show::about(expected, printed.unit));
    finding.chance = Some(chance);
    finding.sure = format!("chance {} over {} rows", show::chance(chance), column.len());
    Some(finding)
}
