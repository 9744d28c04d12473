//! An earlier run that stages are compared with: its stages, what changed since, and what of that fails.

use wirelab_trial::stage::functions::CallPaths;
use wirelab_trial::stage::{self, Change, StageFigures};
use wirelab_trial::{ClockKind, ResultsFile};

use crate::compare::share;

/// An earlier run, and the limit of its stages' growth.
#[derive(Debug)]
pub struct Before {
    file: ResultsFile,
    rows: Vec<StageFigures>,
    gate: Option<f64>,
}

impl Before {
    /// The stages of a results file.
    ///
    /// # Errors
    /// The reason and the fix, if no stage is counted in instructions.
    pub fn new(file: ResultsFile, gate: Option<f64>) -> Result<Before, String> {
        let rows = stage::table(&file);
        match rows.iter().any(|row| row.clock == ClockKind::Instructions) {
            true => Ok(Before { file, rows, gate }),
            false => Err(
                "it holds no stages counted in instructions, and times are not compared; fix: make one with \
                 'wirelab stages board:NAME -o FILE.json'"
                    .to_owned(),
            ),
        }
    }

    /// Compares the run with the stages of a later one; `None` if none of these is counted in instructions.
    pub fn against(&self, rows: &[StageFigures]) -> Option<Against<'_>> {
        Some(Against {
            before: &self.rows,
            changes: stage::changes(&self.rows, rows)?,
            paths: paths_of(&self.file),
            gate: self.gate,
        })
    }
}

/// The ratio by which a stage may grow, from a percentage.
///
/// # Errors
/// The text, and the fix.
pub fn growth(text: &str) -> Result<f64, String> {
    let growth = share(text.strip_prefix('+').unwrap_or(text));
    growth.ok_or_else(|| format!("invalid share '{text}'; fix: write a percentage, e.g. +2%"))
}

/// The run that stages are compared with.
#[derive(Debug)]
pub struct Against<'a> {
    /// Its stages.
    pub before: &'a [StageFigures],
    /// What changed since.
    pub changes: Vec<Change>,
    /// Its paths of calls.
    pub paths: &'a [CallPaths],
    /// The ratio by which the median of a stage may grow; if `None`, no mean may grow.
    pub gate: Option<f64>,
}

impl Against<'_> {
    /// Whether a change fails the run.
    pub fn fails(&self, change: &Change) -> bool {
        match self.gate {
            None => change.is_worse(),
            Some(ratio) => change.is_beyond(ratio),
        }
    }

    /// Whether no change fails the run.
    pub fn passed(&self) -> bool {
        !self.changes.iter().any(|change| self.fails(change))
    }
}

/// The paths of a file.
pub fn paths_of(file: &ResultsFile) -> &[CallPaths] {
    file.measuring
        .as_ref()
        .map_or(&[], |m| m.call_paths.as_slice())
}
