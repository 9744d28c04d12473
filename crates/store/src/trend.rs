//! Figures of a run, and one figure over many runs.

use serde::Serialize;

use crate::connection::Value;
use crate::error::StoreError;
use crate::figures::{COLUMNS, StoredFigure, figure};
use crate::selection::Selection;
use crate::store::Store;

/// A figure at one of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The run.
    pub run: i64,
    /// When it was begun, in ns since 1970.
    pub created_unix_ns: u64,
    /// The figure.
    #[serde(flatten)]
    pub figure: StoredFigure,
}

impl Store {
    /// The figures of a run, in the order of its trials; none before its end.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read.
    pub fn figures(&mut self, run: i64) -> Result<Vec<StoredFigure>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM figures WHERE run = $1 ORDER BY place");
        Ok(self
            .rows(&sql, &[run.into()])?
            .iter()
            .map(|row| figure(row, 0))
            .collect())
    }

    /// A figure over the runs of a selection, the earliest first.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read.
    pub fn trend(&mut self, key: &str, selection: &Selection) -> Result<Vec<Point>, StoreError> {
        let runs = self.list(selection)?;
        let sql = format!("SELECT run, {COLUMNS} FROM figures WHERE figure_key = $1");
        let mut points: Vec<Point> = Vec::new();
        for row in self.rows(&sql, &[Value::text(key)])? {
            if let Some(run) = runs.iter().find(|run| run.id == row.int(0)) {
                points.push(Point {
                    run: run.id,
                    created_unix_ns: run.created_unix_ns,
                    figure: figure(&row, 1),
                });
            }
        }
        points.sort_by_key(|point| (point.created_unix_ns, point.run));
        Ok(points)
    }
}
