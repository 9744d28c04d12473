//! Rules `jitter-is-spacing` and `first-id`: the report of a server if the sender writes no timestamps, or counts from
//! one.

use super::facts::{Facts, facts, groups, interval};
use super::range::Range;
use super::{Finding, Rule, Severity, show};
use crate::metric::Metric;
use crate::table::Study;

/// Fewest intervals of a pattern.
const LEAST_ROWS: usize = 3;
/// How close the jitter must be to the spacing, as a share of it.
const CLOSE: f64 = 0.01;
/// Without a reason, jitter may be any value from this share of the spacing up to the spacing, all equally likely.
const LEAST_JITTER: f64 = 1e-3;

/// Remarks about the reports of a server.
pub fn findings(study: &Study) -> Vec<Finding> {
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .filter(|row| row.row.interval.is_some())
        .collect();
    let runs = groups(&rows, Facts::same_run);
    let of_run = |run: &Vec<Facts<'_>>| [jitter(study, run), first_id(study, run)];
    runs.iter().flat_map(of_run).flatten().collect()
}

/// Seconds of a row's report interval, from its figures; 1 where they do not show it.
pub fn interval_s(row: &Facts<'_>) -> f64 {
    if let Some(agreed) = row.interval_s {
        return agreed;
    }
    let transfer = row.rounded(Metric::Transfer);
    let both = transfer.zip(row.rounded(Metric::Bandwidth));
    both.map_or(1.0, |(transfer, bandwidth)| interval(transfer / bandwidth))
}

/// Seconds from one datagram to the next.
fn spacing(row: &Facts<'_>) -> Option<f64> {
    let bandwidth = row.rounded(Metric::Bandwidth);
    let seconds = interval_s(row);
    match row.published(Metric::Datagrams) {
        Some(all) if all.base() > 0.0 => Some(seconds / all.base()),
        _ => Some(8.0 * row.counted_bytes / bandwidth?.middle()).filter(|s| s.is_finite()),
    }
}

fn jitter(study: &Study, run: &[Facts<'_>]) -> Option<Finding> {
    let pairs: Vec<(&Facts<'_>, Range, f64)> = run
        .iter()
        .filter_map(|row| Some((row, row.rounded(Metric::Jitter)?, spacing(row)?)))
        .collect();
    let close = |(_, jitter, spacing): &(&Facts<'_>, Range, f64)| {
        let around = Range {
            low: spacing * (1.0 - CLOSE),
            high: spacing * (1.0 + CLOSE),
        };
        jitter.touches(around) && jitter.low > 0.0
    };
    // Figures that are coarser than the required closeness would match anything.
    let fine = pairs
        .iter()
        .all(|(_, j, _)| j.width() < 2.0 * CLOSE * j.middle());
    if pairs.len() < LEAST_ROWS || !fine || !pairs.iter().all(close) {
        return None;
    }
    let line = pairs.first()?.0.row.line;
    let mut finding = Finding::new(study, line, Severity::Remark, Rule::JitterIsSpacing);
    finding.cells = pairs
        .iter()
        .map(|(row, ..)| row.row.subject(Metric::Jitter))
        .collect();
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / pairs.len() as f64;
    let jitter = mean(&mut pairs.iter().map(|(_, jitter, _)| jitter.middle()));
    let spaced = mean(&mut pairs.iter().map(|(.., spacing)| *spacing));
    finding.says = format!(
        "The jitter of all {} intervals is the spacing of the datagrams, as a server reports it when the sender writes no \
         timestamps: it shows nothing of the network.",
        pairs.len()
    );
    finding.arithmetic = format!(
        "mean jitter {}, mean spacing {}, difference {} %",
        show::time(jitter),
        show::time(spaced),
        show::number(100.0 * (jitter / spaced - 1.0), 2)
    );
    let chance = 2.0 * CLOSE / -LEAST_JITTER.ln();
    finding.chance = Some(chance);
    finding.sure = format!(
        "chance {} to lie within 1 %; intervals of one run count once",
        show::chance(chance)
    );
    Some(finding)
}

fn first_id(study: &Study, run: &[Facts<'_>]) -> Option<Finding> {
    let lost: Vec<(&Facts<'_>, f64)> = run
        .iter()
        .filter_map(|row| Some((row, row.published(Metric::Lost)?.base())))
        .collect();
    let (first, others): (Vec<_>, Vec<_>) = lost
        .iter()
        .partition(|(row, _)| row.row.interval == Some(1));
    let [(row, one)] = first.as_slice() else {
        return None;
    };
    if *one != 1.0 || others.len() < LEAST_ROWS || others.iter().any(|(_, lost)| *lost != 0.0) {
        return None;
    }
    let mut finding = Finding::new(study, row.row.line, Severity::Remark, Rule::FirstId);
    finding.cells = vec![row.row.subject(Metric::Lost)];
    finding.with = others
        .iter()
        .map(|(row, _)| row.row.subject(Metric::Lost))
        .collect();
    finding.says = format!(
        "{}: the one datagram lost may never have existed: a sender that counts from 1 makes a server miss id 0.",
        row.row.name
    );
    finding.arithmetic = format!(
        "1 lost in the first interval, none in the {} others",
        others.len()
    );
    finding.consistent = Some("0 lost".to_owned());
    let chance = 1.0 / lost.len() as f64;
    finding.chance = Some(chance);
    finding.sure = format!(
        "chance {} that a single loss falls into the first interval",
        show::chance(chance)
    );
    Some(finding)
}
