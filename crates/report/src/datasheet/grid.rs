//! A table in a published page's layout, before it has a format: columns in groups, and rows whose name stands once
//! for several.

use wirelab_trial::Kind;

use crate::escape::{line, markdown, xml};
use crate::options::Options;
use crate::table::{Cell, ColumnKind, Notes};
use crate::terminal::paint;

const BOLD: &str = "\x1b[1m";
/// Characters between columns on a terminal.
const GAP: usize = 2;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What it holds.
    pub name: String,
    /// Its unit; empty for words.
    pub unit: &'static str,
}

/// Columns under one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The heading; empty where columns stand alone.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// A cell for each column.
    pub cells: Vec<Cell>,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// What the rows' names are.
    pub corner: &'static str,
    /// The columns.
    pub groups: Vec<Group>,
    /// The rows; rows of one name follow one another.
    pub rows: Vec<Line>,
}

impl Grid {
    fn columns(&self) -> impl Iterator<Item = &Column> {
        self.groups.iter().flat_map(|g| &g.columns)
    }

    fn grouped(&self) -> bool {
        self.groups.iter().any(|g| !g.name.is_empty())
    }

    /// Leave out the columns of this name in which no row has a figure.
    pub fn without_empty(&mut self, name: &str) {
        let names: Vec<String> = self.columns().map(|column| column.name.clone()).collect();
        for at in (0..names.len()).rev() {
            let has = |line: &Line| line.cells.get(at).is_some_and(|cell| cell.kind().is_some());
            if names[at] == name && !self.rows.iter().any(has) {
                self.drop_column(at);
            }
        }
    }

    fn drop_column(&mut self, at: usize) {
        let mut before = 0;
        for group in &mut self.groups {
            let width = group.columns.len();
            if (before..before + width).contains(&at) {
                group.columns.remove(at - before);
                break;
            }
            before += width;
        }
        for line in &mut self.rows {
            line.cells.remove(at);
        }
    }

    fn kinds(&self) -> Vec<ColumnKind> {
        let width = self.columns().count();
        let of = |at: usize| {
            let mut kinds = self.rows.iter().filter_map(|r| r.cells.get(at)?.kind());
            match kinds.next() {
                None => ColumnKind::None,
                Some(first) if kinds.all(|k| k == first) => ColumnKind::One(first),
                Some(_) => ColumnKind::Several,
            }
        };
        (0..width).map(of).collect()
    }

    /// The kind of all figures, where they share one.
    pub fn kind(&self) -> Option<Kind> {
        let of_several = |cell: &Cell| matches!(cell, Cell::Noted { kind: None, .. });
        if self.rows.iter().flat_map(|r| &r.cells).any(of_several) {
            return None;
        }
        let mut kinds = self
            .rows
            .iter()
            .flat_map(|r| &r.cells)
            .filter_map(Cell::kind);
        let first = kinds.next()?;
        kinds.all(|k| k == first).then_some(first)
    }

    /// What stands above the table: the kind of all figures, where they share one.
    fn above(&self) -> Option<String> {
        Some(format!("All figures {}.", self.kind()?.name()))
    }

    /// How often the name of the row at `at` follows, itself included; 0 where it stands above already.
    fn span(&self, at: usize) -> usize {
        let name = &self.rows[at].name;
        if at > 0 && self.rows[at - 1].name == *name {
            return 0;
        }
        self.rows[at..]
            .iter()
            .take_while(|r| r.name == *name)
            .count()
    }

    /// As HTML; `note` makes of the number of a note what marks it.
    pub fn html(&self, notes: &mut Notes, note: &dyn Fn(usize) -> String) -> String {
        let kinds = self.kinds();
        let told = self.kind().is_some();
        let mut out = String::new();
        if let Some(above) = self.above() {
            out.push_str(&format!("<p>{}</p>\n", xml(&above)));
        }
        out.push_str("<table class=\"grid-sheet\">\n<thead>\n<tr>");
        let deep = if self.grouped() { " rowspan=\"2\"" } else { "" };
        out.push_str(&format!("<th{deep}>{}</th>", xml(self.corner)));
        let head = |column: &Column, kind: &ColumnKind| {
            let unit = match column.unit {
                "" => String::new(),
                unit => format!("<br/>({unit})"),
            };
            let kind = match kind.head() {
                "" => String::new(),
                _ if told => String::new(),
                kind => format!("<br/><em>{kind}</em>"),
            };
            format!(
                "<th class=\"n\">{}{unit}{kind}</th>",
                xml(&line(&column.name))
            )
        };
        let heads: Vec<String> = self
            .columns()
            .zip(&kinds)
            .map(|(c, k)| head(c, k))
            .collect();
        if self.grouped() {
            for group in &self.groups {
                let wide = group.columns.len();
                let name = xml(&line(&group.name));
                out.push_str(&format!(
                    "<th class=\"group\" colspan=\"{wide}\">{name}</th>"
                ));
            }
            out.push_str("</tr>\n<tr>");
        }
        out.push_str(&heads.concat());
        out.push_str("</tr>\n</thead>\n<tbody>\n");
        for (at, row) in self.rows.iter().enumerate() {
            out.push_str("<tr>");
            match self.span(at) {
                0 => {}
                1 => out.push_str(&format!("<th>{}</th>", xml(&line(&row.name)))),
                n => out.push_str(&format!(
                    "<th rowspan=\"{n}\">{}</th>",
                    xml(&line(&row.name))
                )),
            }
            for (cell, kind) in row.cells.iter().zip(&kinds) {
                out.push_str(&html_cell(cell, *kind, notes, note));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n");
        out
    }

    /// As Markdown: a pipe table, or where columns have groups the HTML that Markdown allows, since pipe tables know
    /// no groups.
    pub fn markdown(&self, notes: &mut Notes) -> String {
        if self.grouped() {
            return self.html(notes, &|n| format!(" [{n}]"));
        }
        let kinds = self.kinds();
        let told = self.kind().is_some();
        let mut out = match self.above() {
            Some(above) => format!("{above}\n\n"),
            None => String::new(),
        };
        out.push_str(&format!("| {} |", self.corner));
        for (column, kind) in self.columns().zip(&kinds) {
            let unit = match column.unit {
                "" => String::new(),
                unit => format!(" ({unit})"),
            };
            let kind = match kind.head() {
                "" => String::new(),
                _ if told => String::new(),
                kind => format!("<br>*{kind}*"),
            };
            out.push_str(&format!(" {}{unit}{kind} |", markdown(&column.name)));
        }
        out.push_str(&format!("\n| --- |{}\n", " ---: |".repeat(kinds.len())));
        for (at, row) in self.rows.iter().enumerate() {
            let name = if self.span(at) == 0 { "" } else { &row.name };
            out.push_str(&format!("| {} |", markdown(name)));
            for (cell, kind) in row.cells.iter().zip(&kinds) {
                let (text, number) = plain(cell, *kind, notes);
                let number = number.map_or(String::new(), |n| format!(" \\[{n}\\]"));
                out.push_str(&format!(" {}{number} |", markdown(&text)));
            }
            out.push('\n');
        }
        out
    }

    /// As text for a terminal; groups that have no room beside the others stand below them.
    pub fn terminal(&self, options: &Options, notes: &mut Notes) -> String {
        let kinds = self.kinds();
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let cells = row.cells.iter().zip(&kinds);
                cells
                    .map(|(cell, kind)| {
                        let (text, number) = plain(cell, *kind, notes);
                        let number = number.map_or(String::new(), |n| format!("[{n}]"));
                        line(&format!("{text}{number}"))
                    })
                    .collect()
            })
            .collect();
        let mut out = String::new();
        if let Some(above) = self.above() {
            out.push_str(&format!("{above}\n"));
        }
        let drawn = self.drawn(&kinds, &rows);
        let names = self.rows.iter().map(|r| count(&line(&r.name)));
        let label = names.chain([count(self.corner)]).max().unwrap_or(0);
        let room = options.width.unwrap_or(usize::MAX);
        let mut at = 0;
        while at < drawn.len() {
            let mut width = label + GAP + drawn[at].width();
            let mut to = at + 1;
            while to < drawn.len() && width + GAP + drawn[to].width() <= room {
                width += GAP + drawn[to].width();
                to += 1;
            }
            if at > 0 {
                out.push('\n');
            }
            out.push_str(&self.block(&drawn[at..to], label, options));
            at = to;
        }
        out
    }

    fn drawn(&self, kinds: &[ColumnKind], rows: &[Vec<String>]) -> Vec<Drawn> {
        let told = self.kind().is_some();
        let mut first = 0;
        let each = self.groups.iter().map(|group| {
            let columns = group.columns.iter().enumerate().map(|(at, column)| {
                let at = first + at;
                let kind = kinds.get(at).map_or("", |k| k.head());
                let kind = if told { "" } else { kind };
                let mut lines = vec![line(&column.name), column.unit.to_owned(), kind.to_owned()];
                lines.extend(rows.iter().map(|r| r.get(at).cloned().unwrap_or_default()));
                lines
            });
            let columns: Vec<Vec<String>> = columns.collect();
            first += columns.len();
            Drawn {
                name: line(&group.name),
                columns,
            }
        });
        each.collect()
    }

    fn block(&self, groups: &[Drawn], label: usize, options: &Options) -> String {
        let mut out = String::new();
        if self.grouped() {
            let mut text = " ".repeat(label);
            for group in groups {
                text.push_str(&" ".repeat(GAP));
                text.push_str(&centred(&group.name, group.width()));
            }
            out.push_str(&format!("{}\n", paint(BOLD, text.trim_end(), options)));
        }
        for at in 0..3 + self.rows.len() {
            let name = match at {
                0 => self.corner.to_owned(),
                1 | 2 => String::new(),
                at if self.span(at - 3) == 0 => String::new(),
                at => line(&self.rows[at - 3].name),
            };
            let mut text = format!("{name}{}", " ".repeat(label.saturating_sub(count(&name))));
            let mut empty = name.is_empty();
            for group in groups {
                let spare = group.width().saturating_sub(group.columns_width());
                text.push_str(&" ".repeat(GAP + spare));
                for (n, column) in group.columns.iter().enumerate() {
                    let cell = &column[at];
                    empty &= cell.is_empty();
                    let gap = if n > 0 { GAP } else { 0 };
                    let pad = Drawn::widest(column).saturating_sub(count(cell));
                    text.push_str(&format!("{}{cell}", " ".repeat(gap + pad)));
                }
            }
            // A head line of units or kinds is left out where it says nothing.
            if !(empty && at < 3) {
                out.push_str(text.trim_end());
                out.push('\n');
            }
        }
        out
    }
}

/// A group as lines of text: name, unit, kind, then the cells, for each column.
struct Drawn {
    name: String,
    columns: Vec<Vec<String>>,
}

impl Drawn {
    fn widest(column: &[String]) -> usize {
        column.iter().map(|t| count(t)).max().unwrap_or(0)
    }

    fn columns_width(&self) -> usize {
        let widths: usize = self.columns.iter().map(|c| Drawn::widest(c)).sum();
        widths + GAP * self.columns.len().saturating_sub(1)
    }

    fn width(&self) -> usize {
        self.columns_width().max(count(&self.name))
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}

fn centred(text: &str, width: usize) -> String {
    let spare = width.saturating_sub(count(text));
    let left = spare / 2;
    format!("{}{text}{}", " ".repeat(left), " ".repeat(spare - left))
}

/// The text of a cell with the mark of its kind, and the number of its note.
fn plain(cell: &Cell, kind: ColumnKind, notes: &mut Notes) -> (String, Option<usize>) {
    let number = match cell {
        Cell::Text(_) | Cell::Figure { .. } => None,
        Cell::Absent(note) | Cell::Noted { note, .. } => Some(notes.number(note)),
    };
    (cell.marked(kind), number)
}

fn html_cell(
    cell: &Cell,
    kind: ColumnKind,
    notes: &mut Notes,
    note: &dyn Fn(usize) -> String,
) -> String {
    let (text, number) = plain(cell, kind, notes);
    let class = if cell.alarm() { "n alarm" } else { "n" };
    let mark = number.map_or(String::new(), note);
    format!("<td class=\"{class}\">{}{mark}</td>", xml(&line(&text)))
}
