//! What findings are about: a figure of a row, the size or the load of its trial, a claim of the text, or a whole study.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::metric::Metric;

/// A cell, claim or study that a finding names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A figure of a row.
    Figure {
        /// The row.
        row: String,
        /// The figure.
        metric: Metric,
    },
    /// The size of a row's trial.
    Size(String),
    /// The load of a row's trial.
    Load(String),
    /// A claim of the text, by its name.
    Claim(String),
    /// A figure of another study's row.
    Elsewhere {
        /// The study.
        study: String,
        /// The row.
        row: String,
        /// The figure.
        metric: Metric,
    },
    /// Another study.
    Study(String),
}

impl Subject {
    /// Its row, if it is a row of the same study.
    pub fn row(&self) -> Option<&str> {
        match self {
            Subject::Figure { row, .. } | Subject::Size(row) | Subject::Load(row) => Some(row),
            Subject::Claim(_) | Subject::Elsewhere { .. } | Subject::Study(_) => None,
        }
    }

    /// Its figure, if it is a figure of the same study.
    pub fn metric(&self) -> Option<Metric> {
        match self {
            Subject::Figure { metric, .. } => Some(*metric),
            _ => None,
        }
    }

    /// Whether it is a figure of this other study.
    pub(super) fn is_of(&self, study: &str) -> bool {
        matches!(self, Subject::Elsewhere { study: other, .. } if other == study)
    }
}

/// As findings show it: `ROW/METRIC`, `ROW/size`, `ROW/load`, a claim's name, `STUDY/ROW/METRIC`, or a study's name.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Figure { row, metric } => write!(f, "{row}/{metric}"),
            Subject::Size(row) => write!(f, "{row}/size"),
            Subject::Load(row) => write!(f, "{row}/load"),
            Subject::Claim(name) | Subject::Study(name) => f.write_str(name),
            Subject::Elsewhere { study, row, metric } => write!(f, "{study}/{row}/{metric}"),
        }
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Whether findings show it as this text.
impl PartialEq<&str> for Subject {
    fn eq(&self, text: &&str) -> bool {
        let shown = self.to_string();
        shown == *text
    }
}
