//! The figures of runs, one in a row: the same figures that a comparison takes from a results file.

use serde::Serialize;
use sha2::{Digest, Sha256};
use wirelab_report::compare::figures;
use wirelab_trial::{Kind, ResultsFile};

use crate::connection::{Connection, Refused, SqlRow, Value};

/// A figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredFigure {
    /// Its key, which is equal for the same figure of the same trial in every run.
    pub key: String,
    /// Its trial, in words.
    pub trial: String,
    /// Its name.
    pub figure: String,
    /// Its unit; `ratio` for a share between 0 and 1.
    pub unit: String,
    /// Where it comes from.
    pub kind: Kind,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Its repeats.
    pub repeats: u64,
    /// Their median.
    pub median: f64,
    /// The lowest of them.
    pub low: f64,
    /// The highest of them.
    pub high: f64,
    /// Repeats in which the tester was the limit.
    pub tester_limited: u64,
}

/// The columns of a figure.
pub const COLUMNS: &str = "figure_key, trial, figure, unit, kind, higher_is_better, repeats, median, low, high, tester_limited";

/// The figure in the columns [`COLUMNS`], which begin at `at`.
pub fn figure(row: &SqlRow, at: usize) -> StoredFigure {
    let count = |at| u64::try_from(row.int(at)).unwrap_or(0);
    let kind = row.text(at + 4);
    StoredFigure {
        key: row.text(at),
        trial: row.text(at + 1),
        figure: row.text(at + 2),
        unit: row.text(at + 3),
        kind: Kind::ALL
            .into_iter()
            .find(|k| k.name() == kind)
            .unwrap_or(Kind::Published),
        higher_is_better: row.int(at + 5) != 0,
        repeats: count(at + 6),
        median: row.real(at + 7),
        low: row.real(at + 8),
        high: row.real(at + 9),
        tester_limited: count(at + 10),
    }
}

/// The figures of a results file.
pub fn of(file: &ResultsFile) -> Vec<StoredFigure> {
    let figure = |(key, of): (String, figures::Values)| {
        let summary = of.summary()?;
        Some(StoredFigure {
            key: short(&key),
            trial: of.what.trial,
            figure: of.what.figure,
            unit: of.what.unit.to_owned(),
            kind: of.kind,
            higher_is_better: of.what.higher_is_better,
            repeats: of.values.len() as u64,
            median: summary.median,
            low: summary.min,
            high: summary.max,
            tester_limited: of.tester_limited as u64,
        })
    };
    figures::of(file).into_iter().filter_map(figure).collect()
}

/// Replaces a run's figures by those of a results file.
pub fn replace(connection: &mut Connection, run: i64, file: &ResultsFile) -> Result<(), Refused> {
    connection.run("DELETE FROM figures WHERE run = $1", &[run.into()])?;
    let sql = format!(
        "INSERT INTO figures (run, place, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    for (index, figure) in of(file).into_iter().enumerate() {
        let values = [
            run.into(),
            Value::Int(index as i64),
            Value::Text(figure.key),
            Value::text(&figure.trial),
            Value::text(&figure.figure),
            Value::Text(figure.unit),
            Value::text(figure.kind.name()),
            Value::Int(figure.higher_is_better.into()),
            Value::Int(figure.repeats as i64),
            Value::Real(figure.median),
            Value::Real(figure.low),
            Value::Real(figure.high),
            Value::Int(figure.tester_limited as i64),
        ];
        connection.run(&sql, &values)?;
    }
    Ok(())
}

/// A key that fits an address: the first 64 bits of its SHA-256.
fn short(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
