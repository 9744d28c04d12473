//! A table of a document as rows of cells, each with the line that it stands in.

/// Most cells of all tables of a document, with those that spans repeat.
pub const MAX_CELLS: usize = 100_000;
/// Most columns or rows that one cell may span.
pub const MAX_SPAN: usize = 200;

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridCell {
    /// Its text, in one line.
    pub text: String,
    /// Its line in the document, from 1.
    pub line: usize,
    /// Whether the document marks it as a heading.
    pub head: bool,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Headings above it and its caption, the nearest last.
    pub context: Vec<String>,
    /// Its rows. A cell that spans several places stands in each of them.
    pub rows: Vec<Vec<GridCell>>,
    /// Leading rows that are headings, where the format says so.
    pub heads: Option<usize>,
    /// Whether it is the report of an iperf server or client.
    pub iperf: bool,
}

impl Grid {
    /// Its first line.
    pub fn line(&self) -> usize {
        let first = self.rows.iter().flatten().next();
        first.map_or(0, |cell| cell.line)
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }
}

/// A document: its tables, and all of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its first heading.
    pub title: Option<String>,
    /// The tables, from the top.
    pub grids: Vec<Grid>,
    /// The text of each line, with its number.
    pub lines: Vec<(usize, String)>,
}

/// Text with each run of white space as one space; `\n` as written by some page generators counts as one.
pub fn collapsed(text: &str) -> String {
    let text = text.replace("\\n", " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Places cells that span columns and rows.
#[derive(Default)]
pub struct Builder {
    rows: Vec<Vec<GridCell>>,
    /// Cells of rows above that reach down: how many rows are left.
    reaching: Vec<Option<(usize, GridCell)>>,
    row: Vec<GridCell>,
    open: bool,
    cells: usize,
}

impl Builder {
    /// Begins a row, and ends the one before.
    pub fn row(&mut self) {
        self.end();
        self.open = true;
    }

    /// A cell of the row, over so many columns and rows.
    pub fn cell(&mut self, cell: GridCell, columns: usize, rows: usize) {
        if !self.open {
            self.row();
        }
        self.reach();
        for _ in 0..columns.clamp(1, MAX_SPAN) {
            if self.cells >= MAX_CELLS {
                return;
            }
            let at = self.row.len();
            if self.reaching.len() <= at {
                self.reaching.resize(at + 1, None);
            }
            if rows > 1 {
                self.reaching[at] = Some((rows.min(MAX_SPAN) - 1, cell.clone()));
            }
            self.row.push(cell.clone());
            self.cells += 1;
        }
    }

    /// Puts the cells that reach down from above in front of the next cell.
    fn reach(&mut self) {
        while let Some(Some((left, cell))) = self.reaching.get(self.row.len()).cloned() {
            if self.cells >= MAX_CELLS {
                return;
            }
            let at = self.row.len();
            self.reaching[at] = (left > 1).then(|| (left - 1, cell.clone()));
            self.row.push(cell);
            self.cells += 1;
        }
    }

    fn end(&mut self) {
        if self.open {
            self.reach();
        }
        self.open = false;
        let row = std::mem::take(&mut self.row);
        if row.iter().any(|cell| !cell.text.is_empty()) {
            self.rows.push(row);
        }
    }

    /// The table.
    pub fn grid(mut self, context: Vec<String>) -> Grid {
        self.end();
        Grid {
            context,
            rows: self.rows,
            ..Grid::default()
        }
    }
}
