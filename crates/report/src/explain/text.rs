//! Explanations as plain text for a terminal, and as Markdown.

use super::{Block, ceilings, heads, picture};
use crate::escape::{self, line};
use crate::options::Options;
use crate::stages::{groups_markdown, groups_text};
use crate::table::{Notes, Table};
use crate::{markdown, terminal};

const BOLD: &str = "\x1b[1m";
const OFF: &str = "\x1b[0m";
/// Width where nobody says one.
const WIDTH: usize = 100;

/// Plain text as wide as the terminal.
pub fn on_terminal(title: &str, blocks: &[Block<'_>], options: &Options) -> String {
    let width = options.width.unwrap_or(WIDTH).max(40);
    let bold = |text: &str| match options.colour {
        true => format!("{BOLD}{}{OFF}", line(text)),
        false => line(text),
    };
    let mut out = format!("{}\n", bold(title));
    for block in blocks {
        match block {
            Block::Heading(text) => out.push_str(&format!("\n{}\n", bold(text))),
            Block::Answer(text) => {
                out.push('\n');
                wrapped(text, width)
                    .iter()
                    .for_each(|l| out.push_str(&format!("{}\n", bold(l))));
            }
            Block::Words(text) => push(&mut out, &wrapped(text, width)),
            Block::List(items) => {
                for item in items {
                    let lines = wrapped(item, width.saturating_sub(2));
                    for (at, text) in lines.iter().enumerate() {
                        let mark = if at == 0 { "- " } else { "  " };
                        out.push_str(&format!("{mark}{text}\n"));
                    }
                }
            }
            Block::Grid(heads, rows) => {
                out.push('\n');
                push(&mut out, &grid(heads, rows, width));
            }
            Block::Columns(names, rows) => {
                out.push('\n');
                push(&mut out, &grid(&heads(names), rows, width));
            }
            Block::Table(table) => out.push_str(&captioned(table, options, width)),
            Block::Groups(groups) => {
                out.push('\n');
                push(&mut out, &groups_text(groups, width));
            }
            // Their figures stand in the tables.
            Block::Delays(_) => {}
            Block::Timeline(timeline) => push(&mut out, &picture::timeline(timeline, width)),
            // Its points stand in the grid below.
            Block::Roofline(roofline, told) => {
                let lines = ceilings(roofline, *told).map(|words| format!("- {}", line(&words)));
                push(&mut out, &lines.collect::<Vec<_>>());
            }
        }
    }
    out
}

/// A table under its caption.
fn captioned(table: &Table, options: &Options, width: usize) -> String {
    let options = Options {
        width: Some(width),
        ..options.clone()
    };
    let drawn = terminal::draw(table.clone(), &options, &mut Notes::default());
    match table.caption.as_str() {
        "" => format!("\n{drawn}"),
        caption => format!("\n{}\n{drawn}", line(caption)),
    }
}

fn markdown_grid(heads: &[(&str, bool)], rows: &[Vec<String>]) -> String {
    let names: Vec<&str> = heads.iter().map(|(name, _)| *name).collect();
    let rules: Vec<&str> = heads
        .iter()
        .map(|(_, number)| if *number { "--:" } else { "---" })
        .collect();
    let mut out = format!("\n| {} |\n| {} |\n", names.join(" | "), rules.join(" | "));
    for cells in rows {
        let cells: Vec<String> = cells.iter().map(|c| escape::markdown(c)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

/// GitHub Flavored Markdown.
pub fn as_markdown(title: &str, blocks: &[Block<'_>]) -> String {
    let mut out = format!("# {}\n", escape::markdown(title));
    for block in blocks {
        match block {
            Block::Heading(text) => out.push_str(&format!("\n## {}\n", escape::markdown(text))),
            Block::Answer(text) => out.push_str(&format!("\n**{}**\n", escape::markdown(text))),
            Block::Words(text) => out.push_str(&format!("\n{}\n", escape::markdown(text))),
            Block::List(items) => {
                out.push('\n');
                items
                    .iter()
                    .for_each(|i| out.push_str(&format!("- {}\n", escape::markdown(i))));
            }
            Block::Grid(heads, rows) => out.push_str(&markdown_grid(heads, rows)),
            Block::Columns(names, rows) => out.push_str(&markdown_grid(&heads(names), rows)),
            Block::Table(table) => {
                if !table.caption.is_empty() {
                    out.push_str(&format!("\n### {}\n", escape::markdown(&table.caption)));
                }
                let drawn = markdown::draw(table, &mut Notes::default());
                out.push_str(&format!("\n{drawn}"));
            }
            Block::Groups(groups) => out.push_str(&groups_markdown(groups)),
            Block::Delays(_) => {}
            Block::Timeline(timeline) => {
                let lines = picture::timeline(timeline, WIDTH).join("\n");
                out.push_str(&format!("\n```text\n{lines}\n```\n"));
            }
            Block::Roofline(roofline, told) => {
                out.push('\n');
                for words in ceilings(roofline, *told) {
                    out.push_str(&format!("- {}\n", escape::markdown(&words)));
                }
            }
        }
    }
    out
}

fn push(out: &mut String, lines: &[String]) {
    for text in lines {
        out.push_str(text);
        out.push('\n');
    }
}

/// Lines of at most `width` characters, broken between words, but not between a number and what it counts.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = escape::keep_numbers(&line(text));
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let word = word.replace('\u{A0}', " ");
        let now = lines.last().map_or(0, |l| l.chars().count());
        if now > 0 && now + 1 + word.chars().count() > width {
            lines.push(word);
        } else if let Some(last) = lines.last_mut() {
            if now > 0 {
                last.push(' ');
            }
            last.push_str(&word);
        }
    }
    lines
}

/// A grid whose last column is broken into lines where it has no room.
fn grid(heads: &[(&str, bool)], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let count = |text: &str| text.chars().count();
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|r| r.iter().map(|c| line(c)).collect())
        .collect();
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, (name, _))| {
            let cells = rows.iter().map(|row| row.get(at).map_or(0, |c| count(c)));
            cells.chain([count(name)]).max().unwrap_or(0)
        })
        .collect();
    let last = heads.len().saturating_sub(1);
    let before: usize = widths.iter().take(last).map(|w| w + 2).sum();
    let room = width.saturating_sub(before).max(24);
    let mut out = Vec::new();
    let head_row: Vec<String> = heads.iter().map(|(name, _)| (*name).to_owned()).collect();
    for cells in std::iter::once(&head_row).chain(&rows) {
        let mut text = String::new();
        for (at, cell) in cells.iter().take(last).enumerate() {
            let pad = " ".repeat(widths[at] - count(cell));
            match heads[at].1 {
                true => text.push_str(&format!("{pad}{cell}  ")),
                false => text.push_str(&format!("{cell}{pad}  ")),
            }
        }
        let end = cells.get(last).map_or("", String::as_str);
        if heads.get(last).is_some_and(|(_, number)| *number) {
            text.push_str(&format!("{end:>0$}", widths[last]));
            out.push(text.trim_end().to_owned());
            continue;
        }
        for (at, part) in wrapped(end, room).iter().enumerate() {
            let start = if at == 0 {
                text.clone()
            } else {
                " ".repeat(before)
            };
            out.push(format!("{start}{part}").trim_end().to_owned());
        }
    }
    out
}
