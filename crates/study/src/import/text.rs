//! The tables of a text: Markdown, HTML tables within it, reports of iperf, and lines of figures as pasted from a PDF.

use super::figure::{FigureToken, figures};
use super::grid::{Document, Grid, GridCell, collapsed};
use super::{html, iperf};

/// Lines above a table of a plain text that may be its headings.
const MOST_HEADS: usize = 3;

/// Reads a text.
pub fn read(text: &str) -> Document {
    let lines: Vec<&str> = text.lines().collect();
    let mut document = Document::default();
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let context = |headings: &[(usize, String)]| -> Vec<String> {
            headings.iter().map(|(_, text)| text.clone()).collect()
        };
        if let Some((level, heading)) = heading(line) {
            document.title.get_or_insert_with(|| heading.clone());
            headings.retain(|(other, _)| *other < level);
            headings.push((level, heading));
        }
        let end = if opens_table(line) {
            let end = end_of_html(&lines, at);
            let part = lines[at..end].join("\n");
            html::read(&part, at + 1, &context(&headings), &mut document);
            end
        } else if let Some((grid, end)) = piped(&lines, at, context(&headings))
            .or_else(|| iperf::report(&lines, at, context(&headings)))
            .or_else(|| plain(&lines, at, context(&headings)))
        {
            document.grids.push(grid);
            for (at, line) in lines.iter().enumerate().take(end).skip(at) {
                document.lines.push((at + 1, collapsed(line)));
            }
            end
        } else {
            document.lines.push((at + 1, collapsed(line)));
            at + 1
        };
        at = end;
    }
    document
}

/// A heading of Markdown and its level.
fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let rest = line[level..].strip_prefix(' ')?;
    let rest = rest.split("{#").next().unwrap_or_default();
    (1..=6)
        .contains(&level)
        .then(|| (level, collapsed(rest.trim_end_matches('#'))))
}

fn opens_table(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    lower.contains("<table")
}

fn end_of_html(lines: &[&str], from: usize) -> usize {
    let mut open = 0_usize;
    for (at, line) in lines.iter().enumerate().skip(from) {
        let lower = line.to_ascii_lowercase();
        open += lower.matches("<table").count();
        open = open.saturating_sub(lower.matches("</table").count());
        if open == 0 {
            return at + 1;
        }
    }
    lines.len()
}

/// Cells between bars; a bar after a backslash is text.
fn bars(line: &str) -> Vec<String> {
    let line = line.trim().replace("\\|", "\u{1}");
    let line = line.strip_prefix('|').unwrap_or(&line);
    let line = line.strip_suffix('|').unwrap_or(line);
    let cells = line.split('|');
    cells
        .map(|cell| collapsed(&cell.replace('\u{1}', "|")))
        .collect()
}

/// The line of dashes below the headings of a Markdown table.
fn is_rule(line: &str) -> bool {
    let known = |c: char| matches!(c, '|' | '-' | ':' | ' ' | '\t');
    line.contains('|') && line.contains('-') && line.trim().chars().all(known)
}

/// A Markdown table that begins here.
fn piped(lines: &[&str], at: usize, context: Vec<String>) -> Option<(Grid, usize)> {
    let rule = lines.get(at + 1)?;
    if !lines[at].contains('|') || !is_rule(rule) {
        return None;
    }
    let mut grid = Grid {
        context,
        heads: Some(1),
        ..Grid::default()
    };
    let row = |at: usize, head: bool| -> Vec<GridCell> {
        let cells = bars(lines[at]).into_iter();
        let of = |text: String| GridCell {
            text: text.trim_matches(['*', '_', '`']).to_owned(),
            line: at + 1,
            head,
        };
        cells.map(of).collect()
    };
    grid.rows.push(row(at, true));
    let mut end = at + 2;
    while end < lines.len() && lines[end].contains('|') {
        grid.rows.push(row(end, false));
        end += 1;
    }
    Some((grid, end))
}

/// A line of a plain text in its parts: words before the first figure, and what follows.
pub fn parts(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.contains('\t') || line.contains("  ") {
        let line = line.replace('\t', "  ");
        let wide = line.split("  ").map(str::trim).filter(|s| !s.is_empty());
        let wide: Vec<String> = wide.map(str::to_owned).collect();
        // A line with one wide gap among narrow ones is not a line of columns.
        if wide.iter().filter(|part| is_figure(part)).count() + 1 >= wide.len() && wide.len() > 2 {
            return wide;
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let mut label = String::new();
    let words = line.split_whitespace();
    for word in words {
        let joined = parts.last().map(|last| format!("{last} {word}"));
        match joined {
            // A unit of its own belongs to the figure before it.
            Some(joined) if !starts_figure(word) && is_figure(&joined) => {
                parts.pop();
                parts.push(joined);
            }
            None if !starts_figure(word) => {
                label.push(' ');
                label.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
    }
    let label = label.trim();
    if !label.is_empty() {
        parts.insert(0, label.to_owned());
    }
    parts
}

fn starts_figure(word: &str) -> bool {
    let word = word.trim_start_matches(['~', '≈', '<', '>', '≤', '≥']);
    word.starts_with(|c: char| c.is_ascii_digit()) || is_none(word)
}

fn is_none(word: &str) -> bool {
    matches!(word, "-" | "–" | "—")
}

fn is_figure(text: &str) -> bool {
    matches!(figures(text).as_deref(), Ok([_]))
}

/// The parts of a line that is a row of figures: at least two figures, and few words.
fn figures_line(line: &str) -> Option<Vec<String>> {
    let parts = parts(line);
    let read = |part: &String| match figures(part) {
        Ok(found) => found.len() == 1 && found[0] != FigureToken::none(),
        Err(_) => false,
    };
    let count = parts.iter().filter(|part| read(part)).count();
    let words = parts.iter().filter(|part| !is_figure(part));
    let letters: usize = words.clone().map(|w| w.split_whitespace().count()).sum();
    (count >= 2 && words.count() <= 2 && letters <= 6).then_some(parts)
}

/// Lines of figures as pasted from a PDF, with the lines above them as headings.
fn plain(lines: &[&str], at: usize, mut context: Vec<String>) -> Option<(Grid, usize)> {
    let mut rows = Vec::new();
    let mut end = at;
    while let Some(parts) = lines.get(end).and_then(|line| figures_line(line)) {
        rows.push(parts);
        end += 1;
    }
    if rows.len() < 2 {
        return None;
    }
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let labelled = rows.iter().filter(|row| !is_figure(&row[0])).count() * 2 > rows.len();
    let mut grid = Grid::default();
    let above = lines[at.saturating_sub(MOST_HEADS)..at].iter().enumerate();
    let above = above.filter(|(_, line)| !line.trim().is_empty());
    let first = at - MOST_HEADS.min(at);
    let above: Vec<(usize, &str)> = above.map(|(i, line)| (first + i + 1, *line)).collect();
    let heads = above.iter().rev().find_map(|(line, text)| {
        let mut heads = headings_of(text, width, labelled)?;
        if heads.len() < width {
            heads.insert(0, String::new());
        }
        Some((*line, heads))
    });
    if let Some((line, heads)) = heads {
        let cell = |text| GridCell {
            text,
            line,
            head: true,
        };
        grid.rows.push(heads.into_iter().map(cell).collect());
        grid.heads = Some(1);
    } else {
        grid.heads = Some(0);
    }
    context.extend(above.iter().map(|(_, text)| collapsed(text)));
    grid.context = context;
    for (i, mut row) in rows.into_iter().enumerate() {
        if labelled && is_figure(&row[0]) {
            row.insert(0, String::new());
        }
        // Missing cells are missing at the left.
        while row.len() < width {
            row.insert(usize::from(labelled).min(row.len()), String::new());
        }
        let cell = |text| GridCell {
            text,
            line: at + i + 1,
            head: false,
        };
        grid.rows.push(row.into_iter().map(cell).collect());
    }
    Some((grid, end))
}

/// The headings of so many columns in a line: separated by wide gaps, or each ended by its unit in brackets.
fn headings_of(line: &str, width: usize, labelled: bool) -> Option<Vec<String>> {
    let fits = |heads: &Vec<String>| heads.len() == width || (labelled && heads.len() + 1 == width);
    let line = line.trim().replace('\t', "  ");
    let wide: Vec<String> = line
        .split("  ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    if fits(&wide) {
        return Some(wide);
    }
    let ended: Vec<String> = line
        .split_inclusive(')')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    fits(&ended).then_some(ended)
}
