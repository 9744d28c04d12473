//! A published table: rows of trials with the printed figures, each with its role.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use wirelab_trial::Trial;
use wirelab_trial::nearest::unknown;

use crate::audit::Subject;
use crate::metric::Metric;
use crate::quantity::Quantity;

/// A study: published figures, and their trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name: the file's without `.toml`.
    pub name: String,
    /// The file, as errors and findings name it.
    pub file: String,
    /// Its title.
    pub title: String,
    /// Where the figures were printed.
    pub source: String,
    /// Further text.
    pub about: Option<String>,
    /// The default node of rows; empty where no row needs one.
    pub node: String,
    /// The document's link rate in bit/s.
    pub link_bits_per_s: Option<u64>,
    /// Clocks in Hz that the document names.
    pub clocks_hz: Vec<f64>,
    /// The rows, in the document's order.
    pub rows: Vec<Row>,
    /// Sentences of the text about figures.
    pub claims: Vec<Claim>,
    /// Cells that must be the sum of others.
    pub sums: Vec<Sum>,
}

/// One trial and its printed figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name, unique in the study.
    pub name: String,
    /// Line of the file.
    pub line: usize,
    /// Its node, where not the study's.
    pub node: Option<String>,
    /// The trial.
    pub trial: Trial,
    /// Whether the page gives the size; the trial's is a placeholder otherwise.
    pub size_known: bool,
    /// The TCP window, a condition that the page states.
    pub window: Option<Quantity>,
    /// Where latency begins, a condition that the page states.
    pub forwarding: Option<Forwarding>,
    /// Whether the figures are from a data sheet, and so the same on each page with that part.
    pub datasheet: bool,
    /// The capture point of latency metrics.
    pub point: Option<String>,
    /// The server's report interval of transfer metrics, counted from 1.
    pub interval: Option<u32>,
    /// Conditions of the row for a model, in the syntax of `--set`.
    pub set: BTreeMap<String, String>,
    /// Whether the figures are the link's own limits, which need no node.
    pub limit: bool,
    /// Rows with the same column name form one column for the audit.
    pub column: Option<String>,
    /// The figures.
    pub cells: Vec<Cell>,
}

/// One printed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its metric.
    pub metric: Metric,
    /// As printed.
    pub published: Quantity,
    /// Its role.
    pub role: Role,
    /// Why it is disputed or unpredictable.
    pub reason: Option<String>,
    /// Line of the file.
    pub line: usize,
    /// Line of the page that it was imported from.
    pub source_line: Option<usize>,
}

/// How a node forwards frames, which defines its latency (RFC 1242, 3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forwarding {
    /// From the last bit in to the first bit out.
    StoreAndForward,
    /// From the first bit in to the first bit out.
    CutThrough,
}

impl std::fmt::Display for Forwarding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Forwarding::StoreAndForward => "store-and-forward",
            Forwarding::CutThrough => "cut-through",
        })
    }
}

impl FromStr for Forwarding {
    type Err = String;

    fn from_str(text: &str) -> Result<Forwarding, String> {
        let all = [Forwarding::StoreAndForward, Forwarding::CutThrough];
        let mut named = all.iter().filter(|one| one.to_string() == text);
        named.next().copied().ok_or_else(|| {
            let names = all.map(|one| one.to_string());
            unknown("way of forwarding", text, names.iter().map(String::as_str))
        })
    }
}

/// The role of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A parameter is derived from it: shown, never counted in the error.
    Calibration,
    /// No parameter is derived from it: the error counts.
    HeldOut,
    /// Wrong according to the audit: shown, not counted.
    Disputed,
    /// Unpredictable by any structure, for the given reason: shown, not counted.
    Unpredictable,
}

/// The roles with their names in files and JSON.
const ROLES: [(Role, &str); 4] = [
    (Role::Calibration, "calibration"),
    (Role::HeldOut, "held-out"),
    (Role::Disputed, "disputed"),
    (Role::Unpredictable, "unpredictable"),
];

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = ROLES.iter().find(|(role, _)| role == self);
        f.pad(known.map_or("", |(_, name)| name))
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        let found = ROLES.iter().find(|(_, name)| *name == text);
        found
            .map(|(role, _)| *role)
            .ok_or_else(|| unknown("role", text, ROLES.map(|(_, name)| name)))
    }
}

/// A claim of the text about figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// The claim, reworded.
    pub text: String,
    /// Line of the file.
    pub line: usize,
    /// Whether the text gives a value or a bound.
    pub relation: Relation,
    /// The value or bound.
    pub published: Quantity,
    /// The metric of its rows.
    pub metric: Metric,
    /// How it follows from the rows.
    pub of: ClaimOf,
    /// Its role.
    pub role: Role,
    /// Why it is disputed or unpredictable.
    pub reason: Option<String>,
}

/// The relation of a claim's figure to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is the value.
    Equals,
    /// The value is below it.
    Below,
    /// The value is above it.
    Above,
}

/// How a claim's value follows from named rows.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimOf {
    /// The row's own cell.
    Row(String),
    /// The largest of some differences first − second.
    LargestDifference(Vec<(String, String)>),
}

/// A cell that must be the sum of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// Line of the file.
    pub line: usize,
    /// The sum.
    pub total: CellName,
    /// The added cells.
    pub parts: Vec<CellName>,
}

/// A cell by its row's name and its metric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellName {
    /// The row's name.
    pub row: String,
    /// The metric.
    pub metric: Metric,
}

impl Study {
    /// The row of that name.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Removes a cell, as findings name it; the whole row where the doubt is about its trial.
    pub(crate) fn take_out(&mut self, subject: &Subject) {
        if let Subject::Claim(name) = subject {
            self.claims.retain(|claim| claim.name != *name);
        }
        let of_row = |row: &&mut Row| subject.row() == Some(row.name.as_str());
        for row in self.rows.iter_mut().filter(of_row) {
            match subject.metric() {
                None | Some(Metric::Time) => row.cells.clear(),
                Some(metric) => row.cells.retain(|c| c.metric != metric),
            }
        }
    }
}

impl Row {
    /// The name of a figure in findings.
    pub(crate) fn subject(&self, metric: Metric) -> Subject {
        Subject::Figure {
            row: self.name.clone(),
            metric,
        }
    }

    /// The cell of that metric.
    pub fn cell(&self, metric: Metric) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.metric == metric)
    }
}
