//! Finds figures in a published table that cannot be true or contradict each other.
//!
//! Every comparison is made between the ranges that printed figures stand for ([`Quantity::range`]), so that correct
//! rounding is never a finding. The rules are those of `docs/studies.md`, one file each.
//!
//! [`Quantity::range`]: crate::quantity::Quantity::range

mod claims;
mod clock;
mod columns;
mod cost;
pub mod coverage;
mod equal;
mod evidence;
mod facts;
mod fit;
mod identical;
mod limit;
mod minimum;
mod offered;
mod pace;
mod pages;
mod range;
mod relations;
mod robust;
mod row;
mod rule;
mod server;
mod show;
mod stated;
mod subject;
mod suspect;
mod twice;
mod typo;

use serde::Serialize;

use evidence::Evidence;
pub use rule::Rule;
pub use subject::Subject;

use crate::table::Study;

pub use suspect::Suspect;

/// Probability below which a pattern does not count as chance.
pub const CHANCE: f64 = 1e-4;

/// The severity of a finding; the worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Physically impossible.
    Impossible,
    /// Two figures, or a figure and the text, cannot both be true.
    Inconsistent,
    /// Worth knowing before the figure is used.
    Remark,
}

impl Severity {
    /// Its name, as JSON and the terminal show it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Impossible => "impossible",
            Severity::Inconsistent => "inconsistent",
            Severity::Remark => "remark",
        }
    }

    /// Whether it makes the audit of a table fail.
    pub fn fails(self) -> bool {
        self != Severity::Remark
    }
}

/// A finding about a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The study's name.
    pub study: String,
    /// The study's file.
    pub file: String,
    /// Line of that file.
    pub line: usize,
    /// Line of the page that the first cell in doubt was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_line: Option<usize>,
    /// The cells in doubt: `ROW/METRIC`, the name of a claim, or `ROW/size` and `ROW/load` for those of a trial.
    pub cells: Vec<Subject>,
    /// Where one cell of several is the wrong one: each with its probability, the likeliest first.
    pub suspects: Vec<Suspect>,
    /// Other cells of the calculation, which are not in doubt.
    pub with: Vec<Subject>,
    /// The finding in one sentence.
    pub says: String,
    /// The calculation, with its numbers.
    pub arithmetic: String,
    /// A value that would be consistent, where one follows.
    pub consistent: Option<String>,
    /// The probability that chance alone causes the pattern, where it can be computed; multiplied by the number of
    /// tries.
    pub chance: Option<f64>,
    /// Its certainty, in words.
    pub sure: String,
}

/// The certainty of a finding that follows only from the printed figures.
const ARITHMETIC: &str = "certain: it holds for every value that rounds to the printed figures";

impl Finding {
    fn new(study: &Study, line: usize, severity: Severity, rule: Rule) -> Finding {
        Finding {
            severity,
            rule,
            study: study.name.clone(),
            file: study.file.clone(),
            line,
            source_line: None,
            cells: Vec::new(),
            suspects: Vec::new(),
            with: Vec::new(),
            says: String::new(),
            arithmetic: String::new(),
            consistent: None,
            chance: None,
            sure: ARITHMETIC.to_owned(),
        }
    }
}

/// The line of the page of the first cell that has one; a load or a size has that of its row.
fn source_line(study: &Study, cells: &[Subject]) -> Option<usize> {
    let of = |subject: &Subject| {
        let row = study.row(subject.row()?)?;
        let cell = subject.metric().and_then(|metric| row.cell(metric));
        cell.or(row.cells.first())?.source_line
    };
    cells.iter().find_map(of)
}

/// Every finding about one table, the worst first, then in the order of the file.
pub fn audit(study: &Study) -> Vec<Finding> {
    let clocks = clock::hypotheses(study);
    let raised = equal::hypothesis(study);
    let joint = match raised {
        Some(_) => None,
        None => minimum::hypothesis(study),
    };
    let size = raised.as_ref().and_then(equal::Raised::size);
    let size = size.or_else(|| joint.as_ref().map(minimum::Joint::size));
    let mut findings = limit::findings(study, |row| {
        clocks.iter().find_map(|clock| clock.explains(row))
    });
    findings.extend(stated::findings(study));
    findings.extend(raised.as_ref().map(|raised| raised.finding(study)));
    findings.extend(joint.as_ref().map(|joint| joint.finding(study)));
    findings.extend(clocks.iter().map(|clock| clock.finding(study)));
    findings.extend(server::findings(study));
    findings.extend(doubts(study, size.as_ref()));
    for finding in &mut findings {
        if let Some(which) = finding.suspects_in_words() {
            finding.sure.push_str(&format!("; {which}"));
        }
        finding.source_line = source_line(study, &finding.cells);
    }
    findings.sort_by(|a, b| {
        let order = |f: &Finding| (f.severity, f.line, f.rule.name());
        order(a).cmp(&order(b))
    });
    findings
}

/// Most cells that are taken out one after another.
const MOST_WRONG: usize = 10;
/// From this probability on a cell is taken out before the others are judged.
const WRONG: f64 = 0.5;

/// The findings of the rules that compare cells. A wrong cell must not judge others, so the cell of the surest finding is taken
/// out, and the rest of the table is judged again.
fn doubts(study: &Study, size: Option<&equal::Size<'_>>) -> Vec<Finding> {
    let mut rest = study.clone();
    let mut kept: Vec<Finding> = Vec::new();
    for _ in 0..MOST_WRONG {
        let mut found = compare(&rest, size);
        suspect::combine(&mut found);
        let surest = found
            .iter()
            .filter(|f| f.severity.fails() && f.first().is_some_and(|s| s.probability >= WRONG))
            .max_by(|a, b| sureness(a).total_cmp(&sureness(b)));
        let Some(wrong) = surest.and_then(Finding::first).map(|s| s.cell.clone()) else {
            kept.extend(found);
            return kept;
        };
        let about = |f: &Finding| f.first().is_some_and(|s| s.cell == wrong);
        kept.extend(found.into_iter().filter(about));
        rest.take_out(&wrong);
    }
    kept
}

/// How far to trust what a finding says about one cell: arithmetic before statistics.
fn sureness(finding: &Finding) -> f64 {
    let by_rule = match finding.rule {
        Rule::Unit | Rule::Row | Rule::Offered | Rule::Sum | Rule::Twice => 2.0,
        _ => 1.0 - finding.chance.unwrap_or(CHANCE).sqrt(),
    };
    by_rule + finding.first().map_or(0.0, |s| s.probability)
}

/// One pass of the rules that compare cells.
fn compare(rest: &Study, size: Option<&equal::Size<'_>>) -> Vec<Finding> {
    // What is above a limit is known to be wrong.
    let mut sound = rest.clone();
    for cell in limit::broken_cells(rest) {
        sound.take_out(&cell);
    }
    let evidence = Evidence::of(&sound);
    let mut findings = row::findings(rest, &evidence);
    findings.extend(claims::findings(rest, &evidence));
    findings.extend(offered::findings(&sound, &evidence));
    findings.extend(twice::findings(&sound, &evidence));
    findings.extend(columns::findings(&sound));
    findings.extend(cost::findings(&sound, size));
    findings.extend(pace::findings(&sound, size));
    findings
}

/// Every finding about some tables, and about what they have in common.
pub fn audit_all(studies: &[Study]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = studies.iter().flat_map(audit).collect();
    let pages = pages::findings(studies);
    let rows = identical::findings(studies).into_iter();
    findings.extend(rows.filter(|row| !pages.iter().any(|page| pages::covers(page, row))));
    findings.extend(pages);
    // The sort is stable: within a severity the studies keep their order.
    findings.sort_by_key(|finding| finding.severity);
    findings
}
