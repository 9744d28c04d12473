//! Plain text for a person: as wide as the terminal, coloured only on request; colour is never the only sign.

use std::ops::Range;

use super::escape::{keep_numbers, line};
use super::table::{ColumnKind, Look, Notes, Table, WORTH};
use super::{Block, Chart, Document, Medium, Notice, PageHead, Sort};
use crate::chart::lanes;
use crate::chart::roofline::ceilings;
use crate::chart::spans::SPANS;
use crate::options::Options;

const BOLD: &str = "\x1b[1m";
pub(crate) const RED: &str = "\x1b[1;31m";
pub(crate) const YELLOW: &str = "\x1b[33m";
const OFF: &str = "\x1b[0m";
/// Narrowest column of words whose text is broken into lines, in characters.
const NARROWEST: usize = 24;
/// Narrowest paragraph, in characters.
const PARAGRAPH: usize = 40;
/// Default width of a drawing, in characters.
pub const DRAWING: usize = 100;
/// Spaces between the groups of a table of delays.
const APART: usize = 3;

/// A text in a colour, if requested.
pub fn paint(code: &str, text: &str, options: &Options) -> String {
    match options.colour && !code.is_empty() {
        true => format!("{code}{text}{OFF}"),
        false => text.to_owned(),
    }
}

/// The whole report as text.
pub fn render(document: &Document<'_>, options: &Options) -> String {
    let mut notes = Notes::default();
    let title = line(&document.title);
    let mut out = match title.is_empty() {
        true => String::new(),
        false => format!("{}\n", paint(BOLD, &title, options)),
    };
    let verdict = document.verdict.as_ref();
    if let Some(verdict) = verdict.filter(|verdict| verdict.first) {
        let colour = match verdict.head {
            PageHead::NotClean => RED,
            PageHead::TesterLimited | PageHead::NotJudged => YELLOW,
            PageHead::Clean | PageHead::Passed => "",
        };
        let word = paint(colour, verdict.head.words(), options);
        let limits = document.limits.iter().map(|of| format!(" {of}"));
        let text: String = [verdict.text.clone()].into_iter().chain(limits).collect();
        out.push_str(&format!("{word} {}\n", line(&text)));
        blocks(&document.heads(), options, &mut notes, &mut out);
    }
    blocks(&document.blocks, options, &mut notes, &mut out);
    let mut below: String = notes
        .iter()
        .map(|(number, reason)| format!("[{number}] {}\n", line(reason)))
        .collect();
    let mut notices = document.notices(Medium::Text);
    notices.sort_by_key(|notice| notice.sort);
    below.extend(notices.into_iter().map(|each| notice(each, options)));
    if !below.is_empty() {
        out.push_str(&format!("\n{below}"));
    }
    if let Some(verdict) = verdict.filter(|verdict| !verdict.first) {
        out.push_str(&format!("\n{}\n", line(&verdict.text)));
    }
    out.trim_start_matches('\n').to_owned()
}

fn notice(notice: &Notice, options: &Options) -> String {
    let (text, about) = (line(&notice.text), &notice.about);
    match notice.sort {
        Sort::Search => format!("{}\n", paint(YELLOW, &format!("search {text}"), options)),
        Sort::Finding => format!("{}\n", paint(RED, &format!("{about}: {text}"), options)),
        Sort::Warning => {
            let head = format!("warning ({}, {about}):", line(&notice.code));
            let fix = line(notice.fix.as_deref().unwrap_or_default());
            format!("{} {text}\n  fix: {fix}\n", paint(YELLOW, &head, options))
        }
    }
}

fn blocks(all: &[Block<'_>], options: &Options, notes: &mut Notes, out: &mut String) {
    let width = options.width.map(|width| width.max(PARAGRAPH));
    let wide = width.unwrap_or(usize::MAX);
    // A paragraph behind a table of figures, or behind facts, stands apart from it.
    let mut apart = false;
    for block in all {
        if apart && matches!(block, Block::Words(_) | Block::Remark(_)) {
            out.push('\n');
        }
        apart = match block {
            Block::Table(table) => matches!(table.look, Look::Figures | Look::Study),
            Block::Only(Medium::Page, _) => apart,
            Block::Only(Medium::Text, of) => matches!(of[..], [.., Block::Table(_)]),
            Block::Facts(_) => true,
            _ => false,
        };
        match block {
            Block::Heading(_, text) => heading(text, options, out),
            Block::Appendix(_, title, of) => {
                heading(title, options, out);
                blocks(of, options, notes, out);
            }
            Block::Answer(text) => {
                out.push('\n');
                let bold = |text: &String| format!("{}\n", paint(BOLD, text, options));
                out.extend(wrapped(text, wide).iter().map(bold));
            }
            Block::Words(text) | Block::Remark(text) => lines(&wrapped(text, wide), out),
            Block::List(items) => {
                for item in items {
                    hanging("- ", item, wide, out);
                }
            }
            Block::Mark { alarm, word, about } => {
                let word = paint(if *alarm { RED } else { YELLOW }, word, options);
                out.push_str(&format!("\n{word} {}\n", line(about)));
            }
            Block::Facts(facts) => {
                let names = facts.iter().map(|(name, _)| count(&line(name)));
                let indent = names.max().unwrap_or(0) + 4;
                for (name, text) in facts {
                    let label = format!("  {:<1$}", line(name), indent - 2);
                    hanging(&label, text, wide.max(indent + NARROWEST), out);
                }
            }
            Block::Commands(commands) => {
                out.push_str(if commands.is_empty() {
                    ""
                } else {
                    "Host PC commands:\n"
                });
                for (name, command) in commands {
                    out.push_str(&format!("  {}\n    $ {}\n", line(name), line(command)));
                }
            }
            Block::Table(table) => out.push_str(&captioned(table, options, notes)),
            Block::Chart(Chart::Timeline(timeline)) => {
                lines(&lanes::timeline(timeline, width.unwrap_or(DRAWING)), out);
            }
            Block::Chart(Chart::Roofline(roofline, kind)) => {
                for words in ceilings(roofline, *kind) {
                    hanging("- ", &words, wide, out);
                }
            }
            Block::Chart(Chart::Spans(spans)) => {
                out.push_str(&format!("\n{SPANS}:\n"));
                lines(&spans.drawn(width.unwrap_or(DRAWING)), out);
                lines(
                    &wrapped(&format!("{}.", spans.about().join("; ")), wide),
                    out,
                );
            }
            // The figures of pictures stand in the tables, and notices at the end.
            Block::Chart(_) | Block::Notices(_) => {}
            Block::Beside(columns) => {
                columns
                    .iter()
                    .for_each(|of| blocks(of, options, notes, out));
            }
            Block::Only(medium, of) if *medium == Medium::Text => blocks(of, options, notes, out),
            Block::Only(..) => {}
        }
    }
}

fn heading(text: &str, options: &Options, out: &mut String) {
    out.push_str(&format!("\n{}\n", paint(BOLD, &line(text), options)));
}

fn lines(lines: &[String], out: &mut String) {
    for text in lines {
        out.push_str(text);
        out.push('\n');
    }
}

/// A text behind a label; further lines are indented to its start.
fn hanging(label: &str, text: &str, width: usize, out: &mut String) {
    let indent = count(label);
    for (at, text) in wrapped(text, width.saturating_sub(indent))
        .iter()
        .enumerate()
    {
        let start = if at == 0 { label } else { "" };
        out.push_str(&format!("{start:indent$}{text}\n"));
    }
}

/// Lines of at most `width` characters, broken between words, but not between a number and what it counts.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = keep_numbers(&line(text));
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let long = count(word);
        if used > 0 && used + 1 + long > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(last) = lines.last_mut() {
            if used > 0 {
                last.push(' ');
            }
            last.push_str(&word.replace('\u{A0}', " "));
        }
        used += long + usize::from(used > 0);
    }
    lines
}

/// A table under its caption and what all its rows have in common.
fn captioned(table: &Table, options: &Options, notes: &mut Notes) -> String {
    let mut out = String::new();
    if !table.caption.is_empty() {
        let caption = paint(BOLD, &line(&table.caption), options);
        out.push_str(&format!("\n{caption}\n"));
    }
    if let Some(common) = table.common_text() {
        out.push_str(&format!("{}: {common}\n", table.all_of().to_lowercase()));
    }
    if table.caption.is_empty() && !matches!(table.look, Look::Sheet | Look::Setup) {
        out.push('\n');
    }
    out + &draw(table.clone(), options, notes)
}

/// A column ready to be drawn: head lines, cells of one or more lines, and how wide they are.
struct Drawn {
    head: [String; 3],
    cells: Vec<Vec<String>>,
    alarms: Vec<bool>,
    right: bool,
    width: usize,
}

impl Drawn {
    fn measure(&mut self) {
        let cells = self.cells.iter().flatten().map(|text| count(text));
        let heads = self.head.iter().map(|text| count(text));
        self.width = cells.chain(heads).max().unwrap_or(0);
    }
}

/// How narrow a table must be drawn.
struct Fit {
    /// Spaces between columns.
    gap: usize,
    /// Whether the heads name the kinds; else a line above does, which needs less room.
    kinds: bool,
    /// Columns that did not fit.
    left_out: Vec<String>,
}

/// A table as wide as the terminal. Where it does not fit, the least important columns go, long words are broken into
/// lines, and what still does not fit stands below, behind the names of the rows.
fn draw(mut table: Table, options: &Options, notes: &mut Notes) -> String {
    let room = options.width.unwrap_or(usize::MAX);
    let fit = fit(&mut table, room, notes);
    // Notes are numbered once the columns are settled, so that no number is missing.
    let mut columns = columns_of(&table, notes, fit.kinds);
    let mut out = match (fit.kinds, table.kind()) {
        (false, Some(kind)) if table.look == Look::Sheet => {
            format!("All figures {}.\n", kind.name())
        }
        (false, Some(kind)) => format!("all figures {}\n", kind.name()),
        _ => String::new(),
    };
    break_words(&mut columns, &fit, room);
    let names = table.look.labels().min(columns.len());
    let units = units(&table, columns.len());
    let mut at = 0;
    while at < units.len() || at == 0 {
        let mut to = at + 1;
        let of = |to: usize| match (units.get(at), units.get(to.saturating_sub(1))) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => names..names,
        };
        while to < units.len() && width(&table, &columns, of(to + 1), fit.gap) <= room {
            to += 1;
        }
        if at > 0 {
            out.push('\n');
        }
        out.push_str(&drawn(&table, &columns, of(to), fit.gap, options));
        at = to;
    }
    if !fit.left_out.is_empty() {
        let words = format!(
            "no room for: {} (a wider terminal, COLUMNS=200 or a report FILE shows all)",
            fit.left_out.join(", ")
        );
        lines(&wrapped(&words, room.max(PARAGRAPH)), &mut out);
    }
    out
}

/// Make a table fit: side figures go first, then wide gaps, then the sizes and the efficiency.
fn fit(table: &mut Table, room: usize, notes: &Notes) -> Fit {
    let mut fit = Fit {
        gap: 2,
        kinds: table.look != Look::Sheet || table.kind().is_none(),
        left_out: Vec::new(),
    };
    let wide = |table: &Table, fit: &Fit| {
        let columns = columns_of(table, &mut notes.clone(), fit.kinds);
        width(
            table,
            &columns,
            table.look.labels().min(columns.len())..columns.len(),
            fit.gap,
        )
    };
    while wide(table, &fit) > room {
        let ranked = table.heads.iter().enumerate().filter(|(_, h)| h.rank > 0);
        let least = ranked.min_by_key(|(_, h)| h.rank);
        let least = least.map(|(at, head)| (at, head.rank, head.name.clone().into_owned()));
        match least {
            Some((at, rank, name)) if rank < WORTH => {
                fit.left_out.push(name);
                table.drop_column(at);
            }
            _ if !matches!(table.look, Look::Figures | Look::Study) => break,
            _ if fit.gap > 1 => fit.gap = 1,
            _ if fit.kinds && table.kind().is_some() => fit.kinds = false,
            Some((at, _, name)) => {
                fit.left_out.push(name);
                table.drop_column(at);
            }
            None => break,
        }
    }
    fit
}

/// Break the words of the last column into lines where it does not fit.
fn break_words(columns: &mut [Drawn], fit: &Fit, room: usize) {
    let before: usize = columns
        .iter()
        .rev()
        .skip(1)
        .map(|c| c.width + fit.gap)
        .sum();
    let Some(last) = columns.last_mut().filter(|last| !last.right) else {
        return;
    };
    if before + last.width <= room {
        return;
    }
    let room = room.saturating_sub(before).max(NARROWEST);
    for cell in &mut last.cells {
        *cell = cell.iter().flat_map(|text| wrapped(text, room)).collect();
    }
    last.measure();
}

/// Columns that stay together, behind those that name a row.
fn units(table: &Table, columns: usize) -> Vec<Range<usize>> {
    let mut first = table.look.labels();
    if table.groups.is_empty() {
        return (first..columns).map(|at| at..at + 1).collect();
    }
    let each = table.groups.iter().map(|group| {
        first += group.columns;
        first - group.columns..first
    });
    each.collect()
}

/// Groups among some columns, with the spaces before each.
fn groups<'a>(
    table: &'a Table,
    columns: &Range<usize>,
    gap: usize,
) -> Vec<(Range<usize>, usize, &'a [String])> {
    let before = if table.look == Look::Delays {
        APART
    } else {
        gap
    };
    let all = units(table, columns.end).into_iter().enumerate();
    let inside = all.filter(|(_, unit)| unit.start >= columns.start && unit.end <= columns.end);
    let each = inside.map(|(at, unit)| {
        let words = table.groups.get(at).map_or(&[][..], |group| &group.above);
        (unit, before, words)
    });
    each.collect()
}

/// Characters that a group takes: its columns, or the words above them.
fn room_of(columns: &[Drawn], unit: &Range<usize>, above: &[String], gap: usize) -> usize {
    let widths: usize = columns[unit.clone()].iter().map(|c| c.width).sum();
    let wide = widths + gap * unit.len().saturating_sub(1);
    above.iter().map(|text| count(text)).fold(wide, usize::max)
}

/// Characters of a row with some of the columns behind those that name it.
fn width(table: &Table, columns: &[Drawn], shown: Range<usize>, gap: usize) -> usize {
    let names = table.look.labels().min(columns.len());
    let labels: usize = columns[..names].iter().map(|c| c.width + gap).sum();
    let of = groups(table, &shown, gap);
    let of = of
        .iter()
        .map(|(unit, before, above)| before + room_of(columns, unit, above, gap));
    (labels + of.sum::<usize>()).saturating_sub(gap)
}

fn columns_of(table: &Table, notes: &mut Notes, kinds: bool) -> Vec<Drawn> {
    // Once per column: per cell it would take quadratic time.
    let all = 0..table.heads.len();
    let kinds_of: Vec<ColumnKind> = all.map(|at| table.column_kind(at)).collect();
    let mut columns: Vec<Drawn> = table
        .heads
        .iter()
        .zip(&kinds_of)
        .map(|(head, kind)| Drawn {
            head: [
                line(&head.name),
                table.unit(head).to_owned(),
                if kinds { kind.head() } else { "" }.to_owned(),
            ],
            cells: Vec::new(),
            alarms: Vec::new(),
            right: head.number,
            width: 0,
        })
        .collect();
    // Numbers go by rows, as a reader meets them.
    for cells in &table.rows {
        for ((cell, column), kind) in cells.iter().zip(&mut columns).zip(&kinds_of) {
            let number = cell.note().map(|note| format!("[{}]", notes.number(note)));
            let text = cell.marked(*kind) + &number.unwrap_or_default();
            column.cells.push(vec![line(&text)]);
            column.alarms.push(cell.alarm());
        }
    }
    columns.iter_mut().for_each(Drawn::measure);
    columns
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// Some of the columns of a table behind those that name a row.
fn drawn(
    table: &Table,
    columns: &[Drawn],
    shown: Range<usize>,
    gap: usize,
    options: &Options,
) -> String {
    let names = table.look.labels().min(columns.len());
    let groups = groups(table, &shown, gap);
    let labels: usize = columns[..names].iter().map(|c| c.width).sum();
    let labels = labels + gap * names.saturating_sub(1);
    let mut out = String::new();
    for at in 0..table.lines_above() {
        let mut text = " ".repeat(labels);
        for (unit, before, above) in &groups {
            let room = before + room_of(columns, unit, above, gap);
            let words = above.get(at).map_or(String::new(), |words| line(words));
            text.push_str(&format!("{words:>room$}"));
        }
        out.push_str(&format!("{}\n", text.trim_end()));
    }
    let mut row = |text: &dyn Fn(usize) -> (String, bool)| {
        let mut whole = String::new();
        for (at, column) in columns.iter().enumerate().take(names) {
            whole.push_str(&" ".repeat(if at > 0 { gap } else { 0 }));
            whole.push_str(&set(column, &text(at), options));
        }
        for (unit, before, above) in &groups {
            let spare = room_of(columns, unit, above, gap) - room_of(columns, unit, &[], gap);
            whole.push_str(&" ".repeat(if names > 0 { before + spare } else { spare }));
            for at in unit.clone() {
                whole.push_str(&" ".repeat(if at > unit.start { gap } else { 0 }));
                whole.push_str(&set(&columns[at], &text(at), options));
            }
        }
        out.push_str(whole.trim_end());
        out.push('\n');
    };
    for at in 0..3 {
        // A line of units or kinds is left out where it says nothing.
        let mut these = (0..names).chain(shown.clone());
        if these.any(|column| !columns[column].head[at].is_empty()) {
            row(&|column| (columns[column].head[at].clone(), false));
        }
    }
    let mut last = None;
    for at in 0..table.rows.len() {
        let cell = |column: usize| &columns[column].cells[at];
        let says = |column: usize| !matches!(cell(column)[0].as_str(), "–" | "");
        if table.look == Look::Delays && !shown.clone().any(says) {
            continue;
        }
        let name = (at >= table.apart, columns.first().map(|c| &c.cells[at]));
        let again = table.look.names_once() && last == Some(name);
        last = Some(name);
        let height = (0..names).chain(shown.clone()).map(|c| cell(c).len()).max();
        for n in 0..height.unwrap_or(1) {
            row(&|column| match column {
                0 if again => (String::new(), false),
                _ => {
                    let text = cell(column).get(n).cloned().unwrap_or_default();
                    (text, columns[column].alarms[at])
                }
            });
        }
    }
    out
}

/// A cell as wide as its column.
fn set(column: &Drawn, (text, alarm): &(String, bool), options: &Options) -> String {
    let pad = " ".repeat(column.width.saturating_sub(count(text)));
    let shown = paint(if *alarm { RED } else { "" }, text, options);
    match column.right {
        true => format!("{pad}{shown}"),
        false => format!("{shown}{pad}"),
    }
}
