//! The table of delays from the wire in the published layout: a point and a size in each row, and for each way a group
//! of columns with mean and 3σ, and the number of frames where rows differ in it. CPU time stands below.

use std::ops::Range;

use super::sheet::{Section, Span, Way};
use crate::escape::{clip, line};
use crate::format::integer;

/// Names of the columns of a group, of which the last is there where rows differ in it.
const COLUMNS: [&str; 3] = ["mean", "3σ", FRAMES];
/// The column that has no unit.
pub const FRAMES: &str = "frames";

/// Longest words above a group.
const WIDEST: usize = 30;

/// Rows of points and sizes, and groups of columns.
pub struct Groups {
    /// What all figures count.
    pub unit: &'static str,
    /// Lines above each group; empty for the only way.
    pub heads: Vec<Vec<String>>,
    /// Names of the columns of each group.
    pub columns: Vec<&'static [&'static str]>,
    /// Points with their rows.
    pub points: Vec<Point>,
}

/// The rows of a point.
pub struct Point {
    /// Its name.
    pub name: String,
    /// Whether it is CPU time, which is set apart.
    pub cpu_time: bool,
    /// Length in words, and for each group its cells.
    pub rows: Vec<(String, Vec<Cells>)>,
}

/// What stands in the columns of a group; `None` where a way does not pass the point.
pub type Cells = Option<Vec<String>>;

/// The table of a section.
pub fn table(section: &Section<'_>) -> Groups {
    let fast = section.ways.iter().any(Way::is_fast);
    let compared = |s: &Span<'_>| fast && (s.from, s.to) == ("driver", "application");
    let outer = section.spans.iter().filter(|s| s.outer || compared(s));
    let work = section.spans.iter().filter(|s| s.cpu_time && !s.outer);
    let points = outer.map(|s| (s, s.name())).chain(work.map(|s| {
        let name = format!("CPU time: {}", s.name());
        (s, name)
    }));
    let points: Vec<(&Span<'_>, String)> = points.collect();
    let spans: Vec<&Span<'_>> = points.iter().map(|(s, _)| *s).collect();
    let columns = columns(section, &spans);
    Groups {
        unit: section.unit.name,
        heads: section.ways.iter().map(head).collect(),
        points: points
            .into_iter()
            .map(|(s, name)| point(section, s, name, &columns))
            .collect(),
        columns,
    }
}

/// The columns of each way: its frames have one unless every row of the table is over as many as the heading says.
fn columns(section: &Section<'_>, spans: &[&Span<'_>]) -> Vec<&'static [&'static str]> {
    let counts = |way: &Way<'_>| -> Vec<u64> {
        let delays = spans.iter().flat_map(|span| {
            let at = |length: &u32| way.delay(span, *length);
            section.lengths.iter().filter_map(at)
        });
        delays.map(|delay| delay.figures.count).collect()
    };
    let usual = section.frames();
    let ways = section.ways.iter().map(|way| match counts(way) {
        alike if alike.iter().all(|n| *n == usual) => &COLUMNS[..2],
        _ => &COLUMNS[..],
    });
    ways.collect()
}

/// Words of a hostile file are no wider than others.
fn head(way: &Way<'_>) -> Vec<String> {
    let parts = way.label.iter();
    parts.map(|part| clip(&line(part), WIDEST)).collect()
}

fn point(
    section: &Section<'_>,
    span: &Span<'_>,
    name: String,
    columns: &[&[&'static str]],
) -> Point {
    let unit = &section.unit;
    let rows = section.lengths.iter().filter_map(|length| {
        let cells = section.ways.iter().zip(columns).map(|(way, columns)| {
            let f = &way.delay(span, *length)?.figures;
            let [mean, sigma] =
                [f.mean_ticks, 3.0 * f.stddev_ticks].map(|ticks| unit.show(f, ticks));
            let all = [mean, sigma, integer(f.count)].into_iter();
            Some(all.take(columns.len()).collect::<Vec<_>>())
        });
        let cells: Vec<_> = cells.collect();
        let any = cells.iter().any(Option::is_some);
        any.then(|| (format!("{} B", integer((*length).into())), cells))
    });
    Point {
        name: clip(&line(&name), 2 * WIDEST),
        cpu_time: span.cpu_time && !span.outer,
        rows: rows.collect(),
    }
}

/// Lines of text of at most `width` characters; groups that have no room stand below, with the points again.
pub fn text(table: &Groups, width: usize) -> Vec<String> {
    let layout = Layout::of(table);
    let mut out = Vec::new();
    let mut first = 0;
    while first < table.heads.len() {
        if first > 0 {
            out.push(String::new());
        }
        let next = layout.fitting(first, width);
        out.extend(layout.heads(table, first..next));
        out.extend(layout.rows(table, first..next));
        first = next;
    }
    out
}

/// How wide each part of the text is.
struct Layout {
    name: usize,
    size: usize,
    groups: Vec<Vec<usize>>,
}

impl Layout {
    fn of(table: &Groups) -> Layout {
        let names = table.points.iter().map(|p| p.name.as_str());
        let rows = table.points.iter().flat_map(|p| p.rows.iter());
        Layout {
            name: widest(names.chain(["delay"])),
            size: widest(rows.map(|r| r.0.as_str()).chain(["length"])),
            groups: (0..table.heads.len()).map(|g| widths(table, g)).collect(),
        }
    }

    /// The first group after `first` that has no room beside it.
    fn fitting(&self, first: usize, width: usize) -> usize {
        let mut used = self.name + 2 + self.size;
        let mut fits = |group: &[usize]| {
            used += 3 + room(group);
            used <= width
        };
        let fitting = self.groups[first..].iter().take_while(|group| fits(group));
        first + fitting.count().max(1)
    }

    /// The words above each group, the same number of lines for all.
    fn heads(&self, table: &Groups, groups: Range<usize>) -> Vec<String> {
        let heads = &table.heads[groups.clone()];
        let height = heads.iter().map(Vec::len).max().unwrap_or(0);
        let each = (0..height).map(|at| {
            let mut text = " ".repeat(self.name + 2 + self.size);
            for (head, group) in heads.iter().zip(&self.groups[groups.clone()]) {
                let room = room(group);
                let part = head.get(at).map_or("", String::as_str);
                text.push_str(&format!("   {part:>room$}"));
            }
            text.trim_end().to_owned()
        });
        each.collect()
    }

    /// Points that one of the groups passes.
    fn rows(&self, table: &Groups, groups: Range<usize>) -> Vec<String> {
        let columns = table.columns[groups.clone()].iter();
        let names = columns.map(|names| names.iter().map(|n| (*n).to_owned()).collect());
        let names = names.collect();
        let mut out = vec![self.row("delay", "length", names, &groups)];
        for point in &table.points {
            let cells = |row: &(String, Vec<Cells>)| row.1[groups.clone()].to_vec();
            let passed = point.rows.iter().map(|row| (&row.0, cells(row)));
            let passed = passed.filter(|(_, cells)| cells.iter().any(Option::is_some));
            for (at, (size, cells)) in passed.enumerate() {
                let name = if at == 0 { point.name.as_str() } else { "" };
                let counted = cells.iter().zip(&table.columns[groups.clone()]);
                let cells = counted
                    .map(|(cells, columns)| cell(cells, columns))
                    .collect();
                out.push(self.row(name, size, cells, &groups));
            }
        }
        out
    }

    fn row(
        &self,
        name: &str,
        size: &str,
        cells: Vec<Vec<String>>,
        groups: &Range<usize>,
    ) -> String {
        let (name_width, size_width) = (self.name, self.size);
        let mut text = format!("{name:<name_width$}  {size:>size_width$}");
        for (cells, widths) in cells.iter().zip(&self.groups[groups.clone()]) {
            for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let gap = if at == 0 { "   " } else { "  " };
                text.push_str(&format!("{gap}{cell:>width$}"));
            }
        }
        text.trim_end().to_owned()
    }
}

fn cell(figures: &Cells, columns: &[&str]) -> Vec<String> {
    let none = || {
        let rest = columns.iter().skip(1).map(|_| String::new());
        [String::from("–")].into_iter().chain(rest).collect()
    };
    figures.clone().unwrap_or_else(none)
}

/// Characters that the columns of a group take.
fn room(group: &[usize]) -> usize {
    group.iter().sum::<usize>() + 2 * group.len().saturating_sub(1)
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|t| t.chars().count()).max().unwrap_or(0)
}

/// Widths of the columns of a group, wide enough for what stands above them.
fn widths(table: &Groups, group: usize) -> Vec<usize> {
    let columns = table.columns[group];
    let mut widths: Vec<usize> = columns.iter().map(|c| c.chars().count()).collect();
    for (_, cells) in table.points.iter().flat_map(|p| &p.rows) {
        for (width, text) in widths.iter_mut().zip(cell(&cells[group], columns)) {
            *width = (*width).max(text.chars().count());
        }
    }
    let head = widest(table.heads[group].iter().map(String::as_str));
    widths[0] += head.saturating_sub(room(&widths));
    widths
}

/// The table as Markdown, whose heads have one line.
pub fn markdown(table: &Groups) -> String {
    let escape = crate::escape::markdown;
    let mut heads = vec!["delay".to_owned(), "length".to_owned()];
    for (labels, columns) in table.heads.iter().zip(&table.columns) {
        let way = escape(&labels.join(", "));
        heads.extend(columns.iter().map(|column| match way.is_empty() {
            true => (*column).to_owned(),
            false => format!("{way}: {column}"),
        }));
    }
    let rules: Vec<&str> = heads
        .iter()
        .enumerate()
        .map(|(at, _)| if at == 0 { "---" } else { "--:" })
        .collect();
    let mut out = format!("\n| {} |\n| {} |\n", heads.join(" | "), rules.join(" | "));
    for point in &table.points {
        for (size, cells) in &point.rows {
            let each = cells.iter().zip(&table.columns);
            let figures = each.flat_map(|(cells, columns)| cell(cells, columns));
            let all = [escape(&point.name), size.clone()]
                .into_iter()
                .chain(figures);
            let all: Vec<String> = all.collect();
            out.push_str(&format!("| {} |\n", all.join(" | ")));
        }
    }
    out
}
