//! GitHub Flavored Markdown: sentences, tables and notices, to be pasted into a page or an issue.

use super::escape::{line, markdown as escape};
use super::table::{Cell, Look, Notes, Table};
use super::{Block, Chart, Document, Medium, Notice, Sort};
use crate::chart::lanes;
use crate::chart::roofline::ceilings;
use crate::chart::spans::SPANS;
use crate::format;

/// The whole report.
pub fn render(document: &Document<'_>) -> String {
    let mut notes = Notes::default();
    let mut out = format!("# {}\n", escape(&document.title));
    if let Some(verdict) = &document.verdict {
        let text = escape(&verdict.text);
        if verdict.first {
            let limits = document.limits.iter().map(|of| format!(" {}", escape(of)));
            let limits: String = limits.collect();
            let word = verdict.head.words();
            out.push_str(&format!("\n**{word}** {text}{limits}\n"));
            blocks(&document.heads(), &mut notes, &mut out);
        } else {
            out.push_str(&format!("\n{text}\n"));
        }
    }
    blocks(&document.blocks, &mut notes, &mut out);
    // A blank line before each, or they would run into one paragraph.
    let reasons = notes.iter();
    let reasons = reasons.map(|(number, reason)| format!("\n\\[{number}\\] {}\n", escape(reason)));
    out.extend(reasons);
    for (name, words) in &document.legend {
        out.push_str(&format!("\n**{name}.** {}\n", escape(words)));
    }
    if let Some(command) = &document.command {
        out.push_str(&format!("\nCommand: {}\n", code(command)));
    }
    if let Some((created_unix_ns, version)) = &document.stamp {
        let utc = format::utc(*created_unix_ns);
        out.push_str(&format!("\n`wirelab` {}, {utc}\n", escape(version)));
    }
    out
}

/// The notices under a heading for each sort; they stand below what they concern.
fn notices(all: &[Notice], out: &mut String) {
    for sort in Sort::ALL {
        let mut of = all.iter().filter(|notice| notice.sort == sort).peekable();
        if of.peek().is_some() {
            out.push_str(&format!("\n**{}**\n\n", sort.heading()));
        }
        out.extend(of.map(notice));
    }
}

fn notice(notice: &Notice) -> String {
    let text = escape(&notice.text);
    match notice.sort {
        Sort::Search => format!("- {text}\n"),
        Sort::Finding => format!("- {}: {text}\n", notice.about.replacen('t', "T", 1)),
        Sort::Warning => format!(
            "- **{}** ({}): {text}; *fix:* {}\n",
            escape(&notice.code),
            notice.about,
            escape(notice.fix.as_deref().unwrap_or_default())
        ),
    }
}

fn blocks(all: &[Block<'_>], notes: &mut Notes, out: &mut String) {
    for block in all {
        match block {
            Block::Heading(depth, text) => heading(*depth, text, out),
            Block::Appendix(depth, title, of) => {
                heading(*depth, title, out);
                blocks(of, notes, out);
            }
            Block::Answer(text) => out.push_str(&format!("\n**{}**\n", escape(text))),
            Block::Words(text) | Block::Remark(text) => {
                out.push_str(&format!("\n{}\n", escape(text)));
            }
            Block::List(items) => list(items.iter().map(|item| escape(item)), out),
            Block::Mark { word, about, .. } => {
                out.push_str(&format!("\n**{word}** {}\n", escape(about)));
            }
            Block::Facts(facts) => {
                let of =
                    |(name, text): &(String, String)| format!("{}: {}", escape(name), escape(text));
                list(facts.iter().map(of), out);
            }
            Block::Commands(commands) if commands.is_empty() => {}
            Block::Commands(commands) => {
                out.push_str("\n**Host PC commands:**\n");
                let of = |(name, command): &(String, String)| {
                    format!("{}: {}", escape(name), code(command))
                };
                list(commands.iter().map(of), out);
            }
            Block::Table(table) => out.push_str(&drawn(table, notes)),
            Block::Notices(all) => notices(all, out),
            Block::Chart(Chart::Timeline(timeline)) => {
                let lines = lanes::timeline(timeline, super::terminal::DRAWING).join("\n");
                out.push_str(&format!("\n```text\n{lines}\n```\n"));
            }
            Block::Chart(Chart::Roofline(roofline, kind)) => {
                list(ceilings(roofline, *kind).map(|words| escape(&words)), out);
            }
            Block::Chart(Chart::Spans(spans)) => {
                let lines = spans.drawn(super::terminal::DRAWING).join("\n");
                out.push_str(&format!("\n{SPANS}:\n\n```text\n{lines}\n```\n"));
                list(spans.about().iter().map(|of| escape(of)), out);
            }
            Block::Chart(_) => {}
            Block::Beside(columns) => columns.iter().for_each(|of| blocks(of, notes, out)),
            Block::Only(Medium::Text, of) => blocks(of, notes, out),
            Block::Only(Medium::Page, _) => {}
        }
    }
}

fn heading(depth: u8, text: &str, out: &mut String) {
    let marks = "#".repeat(usize::from(depth));
    out.push_str(&format!("\n{marks} {}\n", escape(text)));
}

fn list(items: impl Iterator<Item = String>, out: &mut String) {
    out.push('\n');
    out.extend(items.map(|item| format!("- {item}\n")));
}

/// A command as code; a backtick in it would end the code, so that such a text is shown as plain text.
fn code(command: &str) -> String {
    let command = line(command);
    match command.contains('`') {
        true => escape(&command),
        false => format!("`{command}`"),
    }
}

/// A pipe table under its caption. Pipe tables know no groups: the words above a group stand before each of its names.
fn drawn(table: &Table, notes: &mut Notes) -> String {
    let mut out = String::new();
    if !table.caption.is_empty() {
        out.push_str(&format!("\n### {}\n", escape(&table.caption)));
    }
    if let Some(common) = table.common_text() {
        out.push_str(&format!("\n{}: {}\n", table.all_of(), escape(&common)));
    }
    let common_kind = table.kind().filter(|_| table.look == Look::Sheet);
    if let Some(kind) = common_kind {
        out.push_str(&format!("\nAll figures {}.\n", kind.name()));
    }
    let kinds: Vec<_> = (0..table.heads.len())
        .map(|at| table.column_kind(at))
        .collect();
    let mut above = vec![String::new(); table.look.labels()];
    for group in &table.groups {
        let words = escape(&group.above.join(", "));
        above.extend(vec![words; group.columns]);
    }
    above.resize(table.heads.len(), String::new());
    out.push_str("\n|");
    for ((head, kind), above) in table.heads.iter().zip(&kinds).zip(&above) {
        let part = |before: &str, text: &str, after: &str| match text {
            "" => String::new(),
            text => format!("{before}{text}{after}"),
        };
        let unit = part(" (", table.unit(head), ")");
        let kind = part(
            "<br>*",
            if common_kind.is_some() {
                ""
            } else {
                kind.head()
            },
            "*",
        );
        let above = part("", above, ": ");
        out.push_str(&format!(" {above}{}{unit}{kind} |", escape(&head.name)));
    }
    out.push_str("\n|");
    for head in &table.heads {
        out.push_str(if head.number { " ---: |" } else { " --- |" });
    }
    out.push('\n');
    for (at, cells) in table.rows.iter().enumerate() {
        out.push('|');
        for (column, (cell, kind)) in cells.iter().zip(&kinds).enumerate() {
            let text = match column == 0 && table.span(at) == 0 {
                true => String::new(),
                false => figure(cell, &cell.marked(*kind), notes),
            };
            out.push_str(&format!(" {text} |"));
        }
        out.push('\n');
    }
    out
}

/// The text of a cell, in bold if it reports a fault, and the number of its note.
fn figure(cell: &Cell, marked: &str, notes: &mut Notes) -> String {
    let text = escape(marked);
    let text = if cell.alarm() {
        format!("**{text}**")
    } else {
        text
    };
    match cell.note() {
        Some(note) => format!("{text} \\[{}\\]", notes.number(note)),
        None => text,
    }
}
