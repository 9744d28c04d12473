//! The tables of an HTML text, by the tokens of a browser's own grammar. A table needs no tree: its tags suffice.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};

use super::grid::{Builder, Document, GridCell, MAX_SPAN, collapsed};

/// Deepest nesting of tables; a deeper one is read as part of the one around it.
const DEEPEST: usize = 8;

/// A table that is being read.
#[derive(Default)]
struct Open {
    builder: Builder,
    context: Vec<String>,
    cell: Option<(GridCell, usize, usize)>,
    /// Whether all text of the cell so far is bold.
    bold: bool,
    caption: bool,
}

struct Reader<'d> {
    document: &'d mut Document,
    tables: Vec<Open>,
    /// The headings that apply here, by their level.
    headings: Vec<(u8, String)>,
    heading: Option<u8>,
    bold: usize,
    /// Inside an element without text: scripts, styles, footnote marks.
    skipped: Option<Vec<u8>>,
    line: (usize, String),
}

/// Reads tables and lines of `text`, whose first line has the number `first`.
pub fn read(text: &str, first: usize, context: &[String], document: &mut Document) {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    let line_of = |at: usize| first + starts.partition_point(|start| *start <= at).max(1) - 1;
    let mut reader = Reader {
        document,
        tables: Vec::new(),
        headings: context.iter().map(|text| (0, text.clone())).collect(),
        heading: None,
        bold: 0,
        skipped: None,
        line: (first, String::new()),
    };
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    // Text in a script is not a table.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
        match token {
            Token::StartTag(tag) => {
                let span = |name: &[u8]| {
                    let value = tag.attributes.get(name)?;
                    let value = std::str::from_utf8(&value.value).ok()?;
                    value.trim().parse::<usize>().ok()
                };
                let spans = (
                    span(b"colspan").unwrap_or(1).min(MAX_SPAN),
                    span(b"rowspan").unwrap_or(1).min(MAX_SPAN),
                );
                reader.start(&tag.name, line_of(tag.span.start), spans, tag.self_closing);
            }
            Token::EndTag(tag) => reader.end(&tag.name),
            Token::String(text) => {
                let shown = String::from_utf8_lossy(&text);
                reader.text(&shown, line_of(text.span.start));
            }
            _ => {}
        }
    }
    while !reader.tables.is_empty() {
        reader.end(b"table");
    }
    reader.flush();
}

fn level(name: &[u8]) -> Option<u8> {
    match name {
        [b'h', n @ b'1'..=b'6'] => Some(n - b'0'),
        _ => None,
    }
}

impl Reader<'_> {
    fn start(&mut self, name: &[u8], line: usize, spans: (usize, usize), closed: bool) {
        match name {
            b"table" if self.tables.len() < DEEPEST => {
                let context = self.headings.iter().map(|(_, text)| text.clone()).collect();
                self.tables.push(Open {
                    context,
                    ..Open::default()
                });
            }
            b"tr" => {
                self.end_cell();
                self.flush();
                if let Some(open) = self.tables.last_mut() {
                    open.builder.row();
                }
            }
            b"td" | b"th" => {
                self.end_cell();
                self.line.1.push(' ');
                if let Some(open) = self.tables.last_mut() {
                    let head = name == b"th";
                    let cell = GridCell {
                        line,
                        head,
                        ..GridCell::default()
                    };
                    open.cell = Some((cell, spans.0, spans.1));
                    open.bold = true;
                }
            }
            b"caption" => {
                if let Some(open) = self.tables.last_mut() {
                    open.caption = true;
                    open.context.push(String::new());
                }
            }
            b"br" => self.text(" ", line),
            b"p" | b"div" | b"li" => {
                self.text(" ", line);
                self.flush();
            }
            b"title" => {
                self.headings.push((0, String::new()));
                self.heading = Some(0);
            }
            b"b" | b"strong" => self.bold += 1,
            b"script" | b"style" | b"sup" if !closed && self.skipped.is_none() => {
                self.skipped = Some(name.to_vec());
            }
            _ => {
                if let Some(level) = level(name) {
                    self.flush();
                    self.headings.retain(|(other, _)| *other < level);
                    self.headings.push((level, String::new()));
                    self.heading = Some(level);
                }
            }
        }
    }

    fn end(&mut self, name: &[u8]) {
        if self.skipped.as_deref() == Some(name) {
            self.skipped = None;
            return;
        }
        match name {
            b"table" => {
                self.end_cell();
                if let Some(open) = self.tables.pop() {
                    let context = open.context.into_iter().map(|t| collapsed(&t)).collect();
                    self.document.grids.push(open.builder.grid(context));
                }
            }
            b"td" | b"th" | b"tr" => self.end_cell(),
            b"caption" => {
                if let Some(open) = self.tables.last_mut() {
                    open.caption = false;
                }
            }
            b"b" | b"strong" => self.bold = self.bold.saturating_sub(1),
            _ if level(name).is_some() || name == b"title" => {
                self.heading = None;
                let first = self.headings.last().map(|(_, text)| collapsed(text));
                let title = &mut self.document.title;
                if title.is_none() || name == b"h1" {
                    *title = first.filter(|text| !text.is_empty()).or(title.take());
                }
                // The title of a window is not a heading of a table.
                self.headings
                    .retain(|(level, _)| *level > 0 || name != b"title");
            }
            _ => {}
        }
    }

    fn end_cell(&mut self) {
        let Some(open) = self.tables.last_mut() else {
            return;
        };
        if let Some((mut cell, columns, rows)) = open.cell.take() {
            cell.text = collapsed(&cell.text);
            cell.head |= open.bold && !cell.text.is_empty();
            open.builder.cell(cell, columns, rows);
        }
    }

    fn text(&mut self, text: &str, line: usize) {
        // A footnote mark is a letter or two; a longer superscript is text.
        if self.skipped.is_some() {
            return;
        }
        if let Some(level) = self.heading {
            if let Some((_, heading)) = self.headings.iter_mut().rfind(|(l, _)| *l == level) {
                heading.push_str(text);
            }
        }
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.flush();
            }
            if self.line.1.is_empty() {
                self.line.0 = line + at;
            }
            self.line.1.push_str(part);
        }
        let Some(open) = self.tables.last_mut() else {
            return;
        };
        if open.caption {
            if let Some(caption) = open.context.last_mut() {
                caption.push_str(text);
            }
        } else if let Some((cell, _, _)) = &mut open.cell {
            let blank = text.trim().is_empty();
            if cell.text.trim().is_empty() && !blank {
                let before = text.len() - text.trim_start().len();
                cell.line = line + text[..before].matches('\n').count();
            }
            open.bold &= blank || self.bold > 0;
            cell.text.push_str(text);
        }
    }

    fn flush(&mut self) {
        let text = collapsed(&self.line.1);
        if !text.is_empty() {
            self.document.lines.push((self.line.0, text));
        }
        self.line.1.clear();
    }
}
