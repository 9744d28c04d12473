//! The table of a CSV or TSV text.

use super::grid::{Document, Grid, GridCell, MAX_CELLS, collapsed};

/// The delimiter of a text: the one that its lines have most often, if at least two lines agree on it.
pub fn delimiter(text: &str) -> Option<u8> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|l| !l.trim().is_empty())
        .take(20)
        .collect();
    let count = |delimiter: char| {
        let mut counts: Vec<usize> = lines.iter().map(|l| l.matches(delimiter).count()).collect();
        counts.sort_unstable();
        // The number that at least half of the lines have.
        counts.get(counts.len() / 2).copied().unwrap_or(0)
    };
    let best = ['\t', ';', ',']
        .into_iter()
        .max_by_key(|d| (count(*d), *d == '\t'))?;
    (lines.len() >= 2 && count(best) >= 1).then_some(best as u8)
}

/// Reads a text whose cells are separated by `delimiter`; lines of one cell are headings.
pub fn read(text: &str, delimiter: u8) -> Document {
    let mut reader = csv::ReaderBuilder::new();
    reader
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter);
    let mut grid = Grid {
        heads: Some(1),
        ..Grid::default()
    };
    let mut document = Document::default();
    let mut cells = 0;
    let mut reader = reader.from_reader(text.as_bytes());
    for record in reader.records().flatten() {
        let line = record.position().map_or(0, |place| place.line() as usize);
        let row: Vec<GridCell> = record
            .iter()
            .map(|text| GridCell {
                text: collapsed(text),
                line,
                head: false,
            })
            .collect();
        cells += row.len();
        if cells > MAX_CELLS {
            break;
        }
        let texts: Vec<&str> = row
            .iter()
            .map(|c| c.text.as_str())
            .filter(|t| !t.is_empty())
            .collect();
        document.lines.push((line, texts.join(" ")));
        match texts.as_slice() {
            [] => {}
            [one] if grid.rows.is_empty() => grid.context.push((*one).to_owned()),
            _ => grid.rows.push(row),
        }
    }
    if !grid.rows.is_empty() {
        document.grids.push(grid);
    }
    document
}
