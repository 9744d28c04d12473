//! A published table: rows of trials with the figures that somebody printed, each with its role.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use wirelab_trial::Trial;

use crate::metric::Metric;
use crate::quantity::Quantity;

/// A study: published figures, and the trials that they are of.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name: the file's without `.toml`.
    pub name: String,
    /// The file, as errors and findings name it.
    pub file: String,
    /// What it is about.
    pub title: String,
    /// Where the figures were printed.
    pub source: String,
    /// More about it.
    pub about: Option<String>,
    /// The node that rows are asked of where they name none; empty where none of them needs it.
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

/// One trial and what was printed of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name, different from that of all other rows of the study.
    pub name: String,
    /// Line of the file.
    pub line: usize,
    /// The node it is asked of, where not the study's.
    pub node: Option<String>,
    /// The trial.
    pub trial: Trial,
    /// The capture point that latency metrics are of.
    pub point: Option<String>,
    /// The server's report interval that transfer metrics are of, counted from 1.
    pub interval: Option<u32>,
    /// Conditions of the row for a model, as `--set` takes them.
    pub set: BTreeMap<String, String>,
    /// Whether the figures are the link's own limits, of which no node is asked.
    pub limit: bool,
    /// Rows with the same column are one column to the audit.
    pub column: Option<String>,
    /// The figures.
    pub cells: Vec<Cell>,
}

/// One printed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What it is a figure of.
    pub metric: Metric,
    /// As printed.
    pub published: Quantity,
    /// What it is used for.
    pub role: Role,
    /// Why it is disputed or cannot be predicted.
    pub reason: Option<String>,
    /// Line of the file.
    pub line: usize,
}

/// What a figure is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A parameter was taken from it: shown, never counted in the error.
    Calibration,
    /// Nothing was taken from it: the error counts.
    HeldOut,
    /// The audit says that it is wrong: shown, not counted.
    Disputed,
    /// No structure predicts it, for the reason given: shown, not counted.
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
        found.map(|(role, _)| *role).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let all = ROLES.map(|(_, name)| name).join(", ");
            format!("unknown role '{shown}': choose one of {all}")
        })
    }
}

/// A sentence of the text about figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// What the text says, in our words.
    pub text: String,
    /// Line of the file.
    pub line: usize,
    /// Whether the text gives a value or a bound.
    pub relation: Relation,
    /// The value or bound.
    pub published: Quantity,
    /// Of which metric of the rows.
    pub metric: Metric,
    /// How it follows from the rows.
    pub of: ClaimOf,
    /// What it is used for.
    pub role: Role,
    /// Why it is disputed or cannot be predicted.
    pub reason: Option<String>,
}

/// How a claim's figure stands to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is the value.
    Equals,
    /// The value is below it.
    Below,
    /// The value is above it.
    Above,
}

/// How a claim's value follows from rows, by their names.
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
    /// What is added.
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
}

impl Row {
    /// The cell of that metric.
    pub fn cell(&self, metric: Metric) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.metric == metric)
    }
}
