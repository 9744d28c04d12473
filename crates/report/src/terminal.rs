//! Plain text for a person: as wide as the terminal, coloured only when asked, nothing told by colour alone.

use wirelab_trial::ResultsFile;

use crate::escape::line;
use crate::options::Options;
use crate::row;
use crate::table::{Cell, ColumnKind, Notes, Table, WORTH};
use crate::{columns, detail, finding, loaded, search, summary};

const BOLD: &str = "\x1b[1m";
pub const RED: &str = "\x1b[1;31m";
pub const YELLOW: &str = "\x1b[33m";
const OFF: &str = "\x1b[0m";

/// A text in a colour, where one is asked for.
pub fn paint(code: &str, text: &str, options: &Options) -> String {
    if options.colour {
        format!("{code}{text}{OFF}")
    } else {
        text.to_owned()
    }
}

/// A heading of text that nobody vouches for.
pub fn heading(text: &str, options: &Options) -> String {
    format!("{}\n", paint(BOLD, &line(text), options))
}

/// The reasons behind the numbers, each on a line.
pub fn reasons(notes: &Notes) -> String {
    let lines = notes.iter();
    lines
        .map(|(number, reason)| format!("[{number}] {}\n", line(reason)))
        .collect()
}

/// The whole report as text.
pub fn render(file: &ResultsFile, options: &Options) -> String {
    let paint = |code: &str, text: &str| paint(code, text, options);
    let mut notes = Notes::default();
    let mut out = heading(&options.title_of(file), options);
    let rows = row::listed(file, options.each_flow);
    let mut tables = Vec::new();
    if !rows.is_empty() {
        tables.push(columns::table("", &rows, options.each_flow));
    }
    tables.extend(search::tables(file));
    tables.extend(loaded::table(file));
    tables.extend(detail::series_tables(file, options.each_flow));
    tables.extend(detail::counters(file));
    for table in tables {
        if !table.caption.is_empty() {
            out.push_str(&format!("\n{}\n", paint(BOLD, &table.caption)));
        }
        if let Some(common) = table.common_text() {
            out.push_str(&format!("all trials: {common}\n"));
        }
        out.push('\n');
        out.push_str(&draw(table, options, &mut notes));
    }
    if let Some(text) = row::left_to_searches(file) {
        out.push_str(&format!("\n{text}\n"));
    }
    let mut below = reasons(&notes);
    for trouble in search::troubles(file) {
        let text = format!("search {}", line(&trouble));
        below.push_str(&format!("{}\n", paint(YELLOW, &text)));
    }
    for finding in finding::all(file) {
        let text = format!("trial {}: {}", finding.trial, line(&finding.text));
        below.push_str(&format!("{}\n", paint(RED, &text)));
    }
    for (trials, warning) in row::warnings(file) {
        below.push_str(&format!(
            "{} {}\n  fix: {}\n",
            paint(
                YELLOW,
                &format!("warning ({}, {trials}):", line(&warning.code))
            ),
            line(&warning.text),
            line(&warning.way_out)
        ));
    }
    if !below.is_empty() {
        out.push('\n');
        out.push_str(&below);
    }
    out.push_str(&format!("\n{}\n", summary::verdict(file)));
    out
}

/// A column ready to be drawn: head lines, cells, and how wide they are.
struct Drawn {
    head: [String; 3],
    cells: Vec<(String, bool)>,
    right: bool,
    width: usize,
}

/// How narrow a table must be drawn.
struct Fit {
    /// Spaces between columns.
    gap: usize,
    /// Whether the heads name the kinds; else a line above does, which needs less room.
    kinds: bool,
    /// Columns that had no room.
    left_out: Vec<&'static str>,
}

pub fn draw(mut table: Table, options: &Options, notes: &mut Notes) -> String {
    let fit = fit(&mut table, options.width.unwrap_or(usize::MAX), notes);
    // Notes are numbered once the columns are settled, so that no number is missing.
    let columns = columns_of(&table, notes, fit.kinds);
    let mut out = match (fit.kinds, table.kind()) {
        (false, Some(kind)) => format!("all figures {}\n", kind.name()),
        _ => String::new(),
    };
    out.push_str(&lines(&columns, fit.gap, options.colour));
    if !fit.left_out.is_empty() {
        out.push_str(&format!(
            "no room for: {} (a wider terminal or a report FILE shows all)\n",
            fit.left_out.join(", ")
        ));
    }
    out
}

/// Make a table fit: side figures go first, then wide gaps, then the sizes and the efficiency.
fn fit(table: &mut Table, room: usize, notes: &Notes) -> Fit {
    let mut fit = Fit {
        gap: 2,
        kinds: true,
        left_out: Vec::new(),
    };
    while total(&columns_of(table, &mut notes.clone(), fit.kinds), fit.gap) > room {
        let ranked = table.heads.iter().enumerate().filter(|(_, h)| h.rank > 0);
        let least = ranked.min_by_key(|(_, h)| h.rank);
        match least {
            Some((at, h)) if h.rank < WORTH => {
                fit.left_out.push(h.name);
                table.drop_column(at);
            }
            _ if fit.gap > 1 => fit.gap = 1,
            _ if fit.kinds && table.kind().is_some() => fit.kinds = false,
            Some((at, h)) => {
                fit.left_out.push(h.name);
                table.drop_column(at);
            }
            None => break,
        }
    }
    fit
}

fn total(columns: &[Drawn], gap: usize) -> usize {
    let widths: usize = columns.iter().map(|c| c.width).sum();
    widths + gap * columns.len().saturating_sub(1)
}

fn columns_of(table: &Table, notes: &mut Notes, kinds: bool) -> Vec<Drawn> {
    // Once a column: to find it out for each cell would look at every cell for each.
    let kinds_of: Vec<ColumnKind> = (0..table.heads.len())
        .map(|at| table.column_kind(at))
        .collect();
    // Numbers go by rows, as a reader meets them.
    let mut texts: Vec<Vec<(String, bool)>> = vec![Vec::new(); table.heads.len()];
    for cells in &table.rows {
        for (at, cell) in cells.iter().enumerate() {
            let text = cell.marked(kinds_of[at]);
            let text = match cell {
                Cell::Text(_) | Cell::Figure { .. } => text,
                Cell::Absent(note) | Cell::Noted { note, .. } => {
                    format!("{text}[{}]", notes.number(note))
                }
            };
            texts[at].push((text, cell.alarm()));
        }
    }
    let heads = table.heads.iter().enumerate().zip(texts);
    heads
        .map(|((at, head), cells)| {
            let kind = if kinds { kinds_of[at].head() } else { "" };
            let head_lines = [head.name.to_owned(), head.unit.to_owned(), kind.to_owned()];
            let longest_head = head_lines.iter().map(|t| count(t));
            let width = longest_head
                .chain(cells.iter().map(|(t, _)| count(t)))
                .max();
            Drawn {
                head: head_lines,
                cells,
                right: head.number,
                width: width.unwrap_or(0),
            }
        })
        .collect()
}

fn count(text: &str) -> usize {
    text.chars().count()
}

fn lines(columns: &[Drawn], gap: usize, colour: bool) -> String {
    let mut out = String::new();
    for at in 0..3 {
        if columns.iter().all(|c| c.head[at].is_empty()) {
            continue;
        }
        let parts = columns.iter().map(|c| (c, c.head[at].as_str(), false));
        push_line(&mut out, parts, gap, colour);
    }
    let height = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    for at in 0..height {
        let parts = columns.iter().map(|c| {
            let (text, alarm) = &c.cells[at];
            (c, text.as_str(), *alarm)
        });
        push_line(&mut out, parts, gap, colour);
    }
    out
}

fn push_line<'a>(
    out: &mut String,
    parts: impl Iterator<Item = (&'a Drawn, &'a str, bool)>,
    gap: usize,
    colour: bool,
) {
    let mut text = String::new();
    for (at, (column, part, alarm)) in parts.enumerate() {
        if at > 0 {
            text.push_str(&" ".repeat(gap));
        }
        let pad = " ".repeat(column.width.saturating_sub(count(part)));
        let shown = if alarm && colour {
            format!("{RED}{part}{OFF}")
        } else {
            part.to_owned()
        };
        if column.right {
            text.push_str(&pad);
            text.push_str(&shown);
        } else {
            text.push_str(&shown);
            text.push_str(&pad);
        }
    }
    out.push_str(text.trim_end());
    out.push('\n');
}
