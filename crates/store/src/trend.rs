//! Figures of a run, and one figure over many runs.

use serde::Serialize;

use crate::connection::{SqlRow, Value};
use crate::error::StoreError;
use crate::figures::{COLUMNS, StoredFigure, figure, of};
use crate::list::conditions;
use crate::selection::Selection;
use crate::store::Store;

/// A figure at one of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendPoint {
    /// The run.
    pub run: i64,
    /// When it was begun, in ns since 1970.
    pub created_unix_ns: u64,
    /// The figure.
    #[serde(flatten)]
    pub figure: StoredFigure,
}

impl Store {
    /// The figures of a run, in the order of its trials; before its end, those of the trials so far.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read.
    pub fn figures(&mut self, run: i64) -> Result<Vec<StoredFigure>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM figures WHERE run = $1 ORDER BY place");
        let rows = self.rows(&sql, &[run.into()])?;
        match rows.is_empty() {
            true => Ok(of(&self.load(run)?)),
            false => Ok(rows.iter().map(|row| figure(row, 0)).collect()),
        }
    }

    /// A figure over the runs of a selection, the earliest first. If there are more runs than `last`, the latest stored are
    /// taken.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read.
    pub fn trend(
        &mut self,
        key: &str,
        selection: &Selection,
    ) -> Result<Vec<TrendPoint>, StoreError> {
        let mut values = vec![Value::text(key)];
        let mut sql = format!(
            "SELECT figures.run, runs.created_ns, {COLUMNS} FROM figures JOIN runs ON runs.id = figures.run \
             WHERE figures.figure_key = $1"
        );
        for condition in conditions(selection, "runs.node", "runs.created_ns", &mut values) {
            sql.push_str(&format!(" AND {condition}"));
        }
        if let Some(tag) = &selection.tag {
            values.push(Value::text(tag));
            sql.push_str(&format!(
                " AND EXISTS (SELECT 1 FROM tags WHERE tags.run = runs.id AND tags.tag = ${})",
                values.len()
            ));
        }
        values.push(Value::Int(selection.last.map_or(i64::MAX, i64::from)));
        sql.push_str(&format!(
            " ORDER BY figures.run DESC LIMIT ${}",
            values.len()
        ));
        let point = |row: &SqlRow| TrendPoint {
            run: row.int(0),
            created_unix_ns: u64::try_from(row.int(1)).unwrap_or(0),
            figure: figure(row, 2),
        };
        let mut points: Vec<TrendPoint> = self.rows(&sql, &values)?.iter().map(point).collect();
        points.sort_by_key(|point| (point.created_unix_ns, point.run));
        Ok(points)
    }
}
