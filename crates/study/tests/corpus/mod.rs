//! Tables with planted errors, and what the audit says of them.

pub mod errors;
pub mod random;
pub mod tables;

use std::collections::BTreeMap;

use wirelab_study::audit::{Finding, Subject, audit};
use wirelab_study::table::Study;

use errors::{Cell, KINDS, Kind, plant};
use random::Random;
use tables::{Table, honest};

/// Rules that blame one cell or a few; the others remark on patterns of whole columns.
const BLAMING: [&str; 12] = [
    "limit", "link", "share", "row", "unit", "claim", "sum", "monotony", "cost", "pace", "offered",
    "twice",
];

/// How many errors of one kind were found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    pub planted: usize,
    /// Among the cells in doubt of a finding.
    pub named: usize,
    /// The likeliest suspect of a finding.
    pub first: usize,
    /// By a finding at "inconsistent" or above.
    pub surely: usize,
    /// Not so, but with a probability of a tenth or more.
    pub suspected: usize,
}

/// How many errors of many tables were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Result {
    pub by_kind: BTreeMap<Kind, Score>,
    pub tables: usize,
    pub errors: usize,
    /// Findings, by a cell that is not wrong: at "inconsistent" or above, and remarks.
    pub blamed: usize,
    pub blamed_by_remark: usize,
}

pub fn audited(table: &Table) -> Vec<Finding> {
    let text = table.text();
    let study = Study::parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    audit(&study)
}

/// Errors with the cells that each changed.
pub type Planted = Vec<(Kind, Vec<Cell>)>;

/// A table with one or two errors, and their cells.
pub fn broken(seed: u64) -> Option<(Table, Planted)> {
    let mut table = honest(seed);
    let mut random = Random(seed ^ 0x00c0_ffee);
    let wanted = if random.chance(0.5) { 1 } else { 2 };
    let mut planted: Planted = Vec::new();
    for turn in 0..8 {
        if planted.len() == wanted {
            break;
        }
        // The first error's kind goes round, so that rare kinds come as often as others.
        let kind = if turn == 0 {
            KINDS[(seed / 5) as usize % KINDS.len()].0
        } else {
            random.pick(&KINDS).0
        };
        let taken: Vec<usize> = planted
            .iter()
            .flat_map(|(_, cells)| cells.iter().map(|c| c.0))
            .collect();
        if let Some(cells) = plant(&mut table, kind, &mut random, &taken) {
            planted.push((kind, cells));
        }
    }
    (!planted.is_empty()).then_some((table, planted))
}

/// The likeliest cell of a finding, or its cells where it does not divide its doubt.
fn first(finding: &Finding) -> Vec<String> {
    match finding.suspects.first() {
        Some(first) => vec![first.cell.to_string()],
        None => in_doubt(finding),
    }
}

/// The cells that a finding calls in doubt.
fn in_doubt(finding: &Finding) -> Vec<String> {
    finding.cells.iter().map(Subject::to_string).collect()
}

pub fn judge(
    table: &Table,
    planted: &[(Kind, Vec<Cell>)],
    findings: &[Finding],
    into: &mut Result,
) {
    let of_doubt: Vec<&Finding> = findings
        .iter()
        .filter(|f| BLAMING.contains(&f.rule.name()))
        .collect();
    into.tables += 1;
    into.errors += planted.len();
    let name = |cells: &[Cell]| -> Vec<String> { cells.iter().map(|c| table.cell(*c)).collect() };
    for (kind, cells) in planted {
        let names = name(cells);
        let is = |cell: &String| names.iter().any(|n| n == cell);
        let names_it = |f: &&&Finding| in_doubt(f).iter().any(is);
        let score = into.by_kind.entry(*kind).or_default();
        score.planted += 1;
        if of_doubt.iter().any(|f| names_it(&f)) {
            score.named += 1;
            score.first += usize::from(of_doubt.iter().any(|f| first(f).iter().any(is)));
            score.surely +=
                usize::from(of_doubt.iter().filter(names_it).any(|f| f.severity.fails()));
        } else {
            let suspected = |f: &&Finding| {
                f.suspects
                    .iter()
                    .any(|s| s.probability >= 0.1 && is(&s.cell.to_string()))
            };
            score.suspected += usize::from(of_doubt.iter().any(suspected));
        }
    }
    let wrong: Vec<String> = planted.iter().flat_map(|(_, cells)| name(cells)).collect();
    for finding in &of_doubt {
        let blamed = in_doubt(finding);
        if blamed.iter().all(|cell| !wrong.iter().any(|w| w == cell)) {
            match finding.severity.fails() {
                true => into.blamed += 1,
                false => into.blamed_by_remark += 1,
            }
        }
    }
}

/// Every table of the seeds, audited.
pub fn run(seeds: std::ops::Range<u64>) -> Result {
    let mut result = Result::default();
    for seed in seeds {
        if let Some((table, planted)) = broken(seed) {
            let findings = audited(&table);
            judge(&table, &planted, &findings, &mut result);
        }
    }
    result
}

/// Fails on a table without errors that has a finding at "inconsistent" or above.
pub fn honest_tables_pass(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let table = honest(seed);
        let findings = audited(&table);
        let worse: Vec<&Finding> = findings.iter().filter(|f| f.severity.fails()).collect();
        assert!(worse.is_empty(), "{seed}: {worse:#?}\n{}", table.text());
    }
}

impl Result {
    pub fn total(&self) -> Score {
        self.by_kind.values().fold(Score::default(), |a, b| Score {
            planted: a.planted + b.planted,
            named: a.named + b.named,
            first: a.first + b.first,
            surely: a.surely + b.surely,
            suspected: a.suspected + b.suspected,
        })
    }
}
