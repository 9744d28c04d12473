//! Which figures of a table an audit can check, by which rules, and what is missing for the others.
//!
//! A rule checks a figure if it would find the figure wrong by a factor of ten, up or down. So it claims only what the
//! rules do.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Finding, Rule, Subject, audit, audit_all};
use crate::import::words::links;
use crate::import::words::short_rate;
use crate::metric::Metric;
use crate::quantity::{Dimension, Precision};
use crate::table::Study;

/// Most figures that are tried; of a longer table, as many at equal distances.
const MOST_TRIED: usize = 400;
/// Most rows times tried figures: an audit takes longer the more rows there are.
const MOST_WORK: usize = 60_000;

/// How much of a table the rules check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// The study's name.
    pub study: String,
    /// Its figures.
    pub figures: usize,
    /// Figures that were tried: all, or some of a long table.
    pub tried: usize,
    /// Tried figures that some rule would find if they were wrong by a factor of ten.
    pub checked: usize,
    /// How many each rule would find, by the rule's name.
    pub rules: BTreeMap<Rule, usize>,
    /// Figures that no rule checks.
    pub unchecked: Vec<Subject>,
    /// What the table lacks, and what could not be checked because of it.
    pub lacks: Vec<String>,
}

/// Every finding about some tables, and what the rules check of each. A table without a link rate gets the one that its own
/// words name, and its coverage says so.
pub fn audit_with_coverage(studies: &[Study]) -> (Vec<Finding>, Vec<Coverage>) {
    let (studies, words): (Vec<_>, Vec<_>) = studies.iter().map(with_link).unzip();
    let with_words = |(study, words): (&Study, Option<String>)| {
        let mut checked = coverage(study);
        checked.lacks.extend(words);
        checked
    };
    let checked = studies.iter().zip(words).map(with_words).collect();
    (audit_all(&studies), checked)
}

/// The study with a link rate: its own, or the one that its words name; and those words.
fn with_link(study: &Study) -> (Study, Option<String>) {
    let mut study = study.clone();
    if study.link_bits_per_s.is_some()
        || study
            .rows
            .iter()
            .any(|row| row.trial.link_bits_per_s.is_some())
    {
        return (study, None);
    }
    let texts = [
        Some(&study.title),
        Some(&study.source),
        study.about.as_ref(),
    ];
    let texts: Vec<(usize, String)> = texts
        .into_iter()
        .flatten()
        .map(|text| (0, text.clone()))
        .collect();
    let [(rate, _, words)] = &links(&texts)[..] else {
        return (study, None);
    };
    let note = format!(
        "the link is {}bit/s according to the words '{words}'",
        short_rate(*rate)
    );
    study.link_bits_per_s = Some(*rate);
    (study, Some(note))
}

type Named = BTreeSet<(Rule, Subject)>;

fn named(findings: &[Finding]) -> Named {
    let of = |finding: &Finding| {
        let cells = finding.cells.iter().chain(&finding.with);
        cells
            .map(|cell| (finding.rule, cell.clone()))
            .collect::<Vec<_>>()
    };
    findings.iter().flat_map(of).collect()
}

/// What the rules check of a table.
pub fn coverage(study: &Study) -> Coverage {
    let cells: Vec<(usize, usize)> = study
        .rows
        .iter()
        .enumerate()
        .flat_map(|(row, of)| (0..of.cells.len()).map(move |cell| (row, cell)))
        .collect();
    let most = (MOST_WORK / study.rows.len().max(1)).clamp(20, MOST_TRIED);
    let step = cells.len().div_ceil(most).max(1);
    let before = named(&audit(study));
    let mut changed = study.clone();
    let mut coverage = Coverage {
        study: study.name.clone(),
        figures: cells.len(),
        tried: 0,
        checked: 0,
        rules: BTreeMap::new(),
        unchecked: Vec::new(),
        lacks: lacks(study),
    };
    for (row, cell) in cells.into_iter().step_by(step) {
        let name = study.rows[row].subject(study.rows[row].cells[cell].metric);
        let mut rules: BTreeSet<Rule> = BTreeSet::new();
        rules.extend(
            before
                .iter()
                .filter(|(_, cell)| *cell == name)
                .map(|(rule, _)| *rule),
        );
        let printed = study.rows[row].cells[cell].published.clone();
        for factor in [10.0, 0.1] {
            let figure = &mut changed.rows[row].cells[cell].published;
            figure.precision = Precision::Digits;
            figure.number = if printed.number == 0.0 {
                10.0
            } else {
                printed.number * factor
            };
            // A tenth keeps its digits.
            figure.decimals = printed.decimals + usize::from(factor < 1.0);
            let after = named(&audit(&changed));
            let new = after.difference(&before).filter(|(_, cell)| *cell == name);
            rules.extend(new.map(|(rule, _)| *rule));
        }
        changed.rows[row].cells[cell].published = printed;
        coverage.tried += 1;
        if rules.is_empty() {
            coverage.unchecked.push(name);
        } else {
            coverage.checked += 1;
        }
        for rule in rules {
            *coverage.rules.entry(rule).or_default() += 1;
        }
    }
    coverage
}

/// What a table lacks.
fn lacks(study: &Study) -> Vec<String> {
    let rate = |metric: Metric| {
        matches!(metric.dimension(), Dimension::Rate | Dimension::FrameRate)
            || matches!(metric, Metric::Efficiency | Metric::ShareOfLimit)
    };
    let has_link = |row: &crate::table::Row| {
        row.trial
            .link_bits_per_s
            .or(study.link_bits_per_s)
            .is_some()
    };
    let without = study.rows.iter().filter(|row| !has_link(row));
    let rates = without
        .flat_map(|row| &row.cells)
        .filter(|cell| rate(cell.metric))
        .count();
    let loads = study
        .rows
        .iter()
        .filter(|row| !has_link(row) && row.trial.load != wirelab_trial::Load::Max);
    let loads = loads.count();
    let unsized_rows: Vec<_> = study.rows.iter().filter(|row| !row.size_known).collect();
    let figures: usize = unsized_rows.iter().map(|row| row.cells.len()).sum();
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mut lacks = Vec::new();
    if rates + loads > 0 {
        lacks.push(format!(
            "no link rate: {} and {} are compared with no link; fix: link = \"100M\" at the top of the file, or import with --link-rate",
            plural(rates, "rate"),
            plural(loads, "load")
        ));
    }
    if figures > 0 {
        lacks.push(format!(
            "no size: {} of {} are compared only with the link's own rate; fix: datagram, payload, length or frame in the trial",
            plural(figures, "figure"),
            plural(unsized_rows.len(), "row")
        ));
    }
    lacks
}
