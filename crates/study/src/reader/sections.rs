//! Reads the rows of a study, each a section of its own or one of many of a table.

use std::collections::BTreeSet;

use wirelab_config::{FileError, Read, Table};

use super::row::{DEFAULT_KEYS, Keys, metric_tables, row};
use super::{MAX_CELLS, MAX_ROWS, matrix};
use crate::table::{CellName, Row, Study};

/// Reads the rows of all sections, in the order of the file. An error in one does not hide the others.
pub(super) fn rows(top: &Table<'_>, study: &mut Study, wrong: &mut Vec<FileError>) -> Read<()> {
    let defaults = top.section("defaults")?;
    if let Some(defaults) = &defaults {
        defaults.known_keys(&DEFAULT_KEYS)?;
        metric_tables(defaults)?;
    }
    let defaults = defaults.as_ref();
    let alone = top.sections("row")?;
    let tables = top.sections("table")?;
    if alone.is_empty() && tables.is_empty() {
        return Err(top.error(
            "row",
            "there is none; fix: add a section [[row]] with a trial and its published figures",
        ));
    }
    let notes = matrix::notes(top)?;
    let mut sections: Vec<(Table<'_>, bool)> = alone.into_iter().map(|t| (t, false)).collect();
    sections.extend(tables.into_iter().map(|t| (t, true)));
    sections.sort_by_key(|(section, _)| section.place());
    let mut taken = Taken::default();
    let mut sums = Vec::new();
    for (own, is_table) in &sections {
        let read_rows = if *is_table {
            matrix::rows(own, defaults, &notes, wrong, &mut sums, &mut |at, row| {
                taken.add(study, row, at)
            })
        } else {
            let at = |what: String| own.at_key("name", what);
            row(&Keys { own, defaults }).and_then(|row| taken.add(study, row, &at))
        };
        match read_rows {
            Ok(()) => {}
            // The limit is reported once, however many rows follow.
            Err(error) if taken.full => return Err(error),
            Err(error) => wrong.push(error),
        }
    }
    // A row that could not be read has no sum.
    let has = |cell: &CellName| {
        study
            .row(&cell.row)
            .is_some_and(|row| row.cell(cell.metric).is_some())
    };
    sums.retain(|sum| has(&sum.total) && sum.parts.iter().all(has));
    study.sums.extend(sums);
    wrong.extend(notes.iter().filter_map(matrix::Note::unused));
    Ok(())
}

/// What has been read so far.
#[derive(Default)]
struct Taken {
    names: BTreeSet<String>,
    cells: usize,
    full: bool,
}

impl Taken {
    fn add(&mut self, study: &mut Study, row: Row, at: &dyn Fn(String) -> FileError) -> Read<()> {
        self.cells += row.cells.len();
        self.full = self.cells > MAX_CELLS || study.rows.len() >= MAX_ROWS;
        if self.full {
            return Err(at(format!(
                "at most {MAX_ROWS} rows are read, and {MAX_CELLS} figures; fix: split the study into several files"
            )));
        }
        if !self.names.insert(row.name.clone()) {
            return Err(at(format!(
                "another row is named '{}' too; fix: choose another",
                row.name
            )));
        }
        study.rows.push(row);
        Ok(())
    }
}
