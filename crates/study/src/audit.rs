//! What in a published table cannot be true, and what does not fit together.
//!
//! Every comparison is made between the ranges that a printed figure stands for ([`Quantity::range`]), so that
//! honest rounding is never a finding. The rules are those of `docs/studies.md`, one file each.
//!
//! [`Quantity::range`]: crate::quantity::Quantity::range

mod claims;
mod clock;
mod columns;
mod cost;
mod equal;
mod facts;
mod fit;
mod identical;
mod limit;
mod range;
mod relations;
mod row;
mod server;
mod show;

use serde::Serialize;

use crate::metric::Metric;
use crate::table::{Row, Study};

/// A probability below which a pattern is not taken for chance.
pub const CHANCE: f64 = 1e-4;

/// How bad a finding is; the worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Physics forbids it.
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

/// Something that the audit has to say about a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule's name, which stays the same from version to version.
    pub rule: &'static str,
    /// The study's name.
    pub study: String,
    /// The study's file.
    pub file: String,
    /// Line of that file.
    pub line: usize,
    /// What is in doubt: `ROW/METRIC`, the name of a claim, or `ROW/size` for the size of a trial.
    pub cells: Vec<String>,
    /// Other cells that the arithmetic uses; they are not in doubt.
    pub with: Vec<String>,
    /// The finding in one sentence.
    pub says: String,
    /// The calculation, with its numbers.
    pub arithmetic: String,
    /// What value would be consistent, where one follows.
    pub consistent: Option<String>,
    /// The probability that chance alone makes the pattern, where one can be given; what was tried multiplies it.
    pub chance: Option<f64>,
    /// How sure it is, in words.
    pub sure: String,
}

/// How sure a finding is that follows from the printed figures alone.
const ARITHMETIC: &str = "certain: it holds for every value that rounds to the printed figures";

impl Finding {
    fn new(study: &Study, line: usize, severity: Severity, rule: &'static str) -> Finding {
        Finding {
            severity,
            rule,
            study: study.name.clone(),
            file: study.file.clone(),
            line,
            cells: Vec::new(),
            with: Vec::new(),
            says: String::new(),
            arithmetic: String::new(),
            consistent: None,
            chance: None,
            sure: ARITHMETIC.to_owned(),
        }
    }
}

/// The name of a cell in findings.
fn cell_name(row: &Row, metric: Metric) -> String {
    format!("{}/{metric}", row.name)
}

/// Every finding about one table, the worst first, else in the order of the file.
pub fn audit(study: &Study) -> Vec<Finding> {
    let clocks = clock::hypotheses(study);
    let raised = equal::hypothesis(study);
    let mut findings = limit::findings(study, |row| {
        clocks.iter().find_map(|clock| clock.explains(row))
    });
    findings.extend(row::findings(study));
    findings.extend(claims::findings(study));
    findings.extend(columns::findings(study));
    findings.extend(cost::findings(study, raised.as_ref()));
    findings.extend(raised.map(|raised| raised.finding(study)));
    findings.extend(clocks.iter().map(|clock| clock.finding(study)));
    findings.extend(server::findings(study));
    findings.sort_by(|a, b| (a.severity, a.line, a.rule).cmp(&(b.severity, b.line, b.rule)));
    findings
}

/// Every finding about some tables, and about what they share.
pub fn audit_all(studies: &[Study]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = studies.iter().flat_map(audit).collect();
    findings.extend(identical::findings(studies));
    // A stable sort: within a severity the studies keep their order.
    findings.sort_by_key(|finding| finding.severity);
    findings
}
