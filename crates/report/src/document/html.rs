//! One self-contained HTML page: no script, no font, no picture from elsewhere. It is well-formed XML too, so that
//! a test can hold it to that.

use super::escape::{keep_numbers, line, xml};
use super::table::{Cell, Head, Look, Notes, Table};
use super::{Block, Chart, Document, Gallery, Medium, Notice, Sort};
use crate::chart::{delays, roofline, timeline};
use crate::format;

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub fn render(document: &Document<'_>) -> String {
    let title = text(&document.title);
    let mut page = Page::default();
    let mut main = format!("<header>\n<h1>{title}</h1>\n");
    if let Some((created_unix_ns, version)) = &document.stamp {
        let (utc, version) = (format::utc(*created_unix_ns), xml(version));
        main.push_str(&format!(
            "<p class=\"quiet\">{utc}, wirelab {version}</p>\n"
        ));
    }
    if let Some(verdict) = &document.verdict {
        let class = match verdict.head {
            super::Head::Clean | super::Head::Passed => "",
            super::Head::TesterLimited | super::Head::NotJudged => " open",
            super::Head::NotClean => " bad",
        };
        let (word, words) = (verdict.head.words(), text(&verdict.text));
        main.push_str(&format!(
            "<p class=\"verdict{class}\"><strong>{word}</strong>{words}</p>\n"
        ));
    }
    main.push_str("</header>\n");
    for sort in [Sort::Finding, Sort::Warning, Sort::Search] {
        main.push_str(&notices(sort, &document.notices_of(sort)));
    }
    main.push_str(&page.blocks(&document.blocks));
    main.push_str(&page.reasons(document.notes_heading()));
    main.push_str(&footer(document));
    format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"wirelab\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{main}</main>\n</body>\n</html>\n"
    )
}

/// Text of one line.
fn text(text: &str) -> String {
    xml(&line(text))
}

/// The same of a sentence, in which a number stays with what it counts.
fn prose(text: &str) -> String {
    xml(&keep_numbers(&line(text)))
}

fn list(class: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

/// What went wrong, and what to do about it.
fn notices(sort: Sort, all: &[&Notice]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let items = all.iter().map(|notice| {
        let words = text(&notice.text);
        match sort {
            Sort::Search => words,
            Sort::Finding => {
                let trials = notice.trials.replacen('t', "T", 1);
                format!("<strong>{trials}:</strong> {words}")
            }
            Sort::Warning => format!(
                "<strong>{}</strong> ({}): {words}<br/><span class=\"quiet\">Fix: {}</span>",
                text(&notice.code),
                notice.trials,
                text(notice.fix.as_deref().unwrap_or_default())
            ),
        }
    });
    let class = match sort {
        Sort::Warning => "warnings",
        Sort::Search | Sort::Finding => "findings",
    };
    format!("<h2>{}</h2>\n{}", sort.heading(), list(class, items))
}

fn footer(document: &Document<'_>) -> String {
    let legend = document.legend.iter();
    let mut out: String = legend
        .map(|(name, words)| format!("<p><strong>{name}.</strong> {}</p>\n", text(words)))
        .collect();
    if let Some(command) = &document.command {
        out.push_str(&format!(
            "<p>Command: <code>{}</code></p>\n",
            xml(&line(command))
        ));
    }
    match out.is_empty() {
        true => out,
        false => format!("<footer class=\"quiet\">\n{out}</footer>\n"),
    }
}

/// What a page counts on its way from the top to its end.
#[derive(Default)]
struct Page {
    notes: Notes,
    pictures: usize,
}

impl Page {
    fn blocks(&mut self, blocks: &[Block<'_>]) -> String {
        blocks.iter().map(|block| self.block(block)).collect()
    }

    fn block(&mut self, block: &Block<'_>) -> String {
        match block {
            Block::Heading(depth, words) => {
                let depth = (*depth).min(6);
                format!("<h{depth}>{}</h{depth}>\n", text(words))
            }
            Block::Answer(words) => format!("<p class=\"answer\">{}</p>\n", prose(words)),
            Block::Words(words) => format!("<p>{}</p>\n", prose(words)),
            Block::Remark(words) => format!("<p class=\"quiet\">{}</p>\n", text(words)),
            Block::List(items) => list("words", items.iter().map(|item| prose(item))),
            Block::Mark { word, about, .. } => {
                format!("<p><strong>{word}</strong> {}</p>\n", text(about))
            }
            Block::Facts(facts) => {
                let facts = facts.iter();
                let facts: String = facts
                    .map(|(name, of)| format!("<dt>{}</dt><dd>{}</dd>\n", text(name), text(of)))
                    .collect();
                format!("<dl>\n{facts}</dl>\n")
            }
            Block::Commands(commands) if commands.is_empty() => String::new(),
            Block::Commands(commands) => {
                let items = commands.iter().map(|(name, command)| {
                    format!("{}: <code>{}</code>", text(name), xml(&line(command)))
                });
                let items = list("words", items);
                format!("<p><strong>Host PC commands</strong></p>\n{items}")
            }
            Block::Table(table) => self.table(table),
            Block::Chart(chart) => self.chart(chart),
            Block::Beside(columns) => {
                let columns = columns.iter();
                let columns: String = columns
                    .map(|of| format!("<section>{}</section>\n", self.blocks(of)))
                    .collect();
                format!("<div class=\"columns\">\n{columns}</div>\n")
            }
            Block::Only(Medium::Page, of) => self.blocks(of),
            Block::Only(Medium::Text, _) => String::new(),
        }
    }

    /// The reasons behind the numbers.
    fn reasons(&self, heading: &str) -> String {
        let items = self.notes.iter();
        let items: String = items
            .map(|(n, reason)| format!("<li id=\"note-{n}\">{}</li>\n", text(reason)))
            .collect();
        match items.is_empty() {
            true => items,
            false => format!("<h2>{heading}</h2>\n<ol class=\"notes\">\n{items}</ol>\n"),
        }
    }

    fn table(&mut self, table: &Table) -> String {
        let mut out = String::new();
        if !table.caption.is_empty() {
            out.push_str(&format!("<h3>{}</h3>\n", text(&table.caption)));
        }
        if let Some(common) = table.common_text() {
            out.push_str(&format!("<p>{}: {}.</p>\n", table.all_of(), text(&common)));
        }
        let told = table.kind().filter(|_| table.look == Look::Sheet);
        let class = match table.look {
            Look::Figures | Look::Study => "",
            Look::Sentences => " class=\"grid\"",
            Look::Sheet => " class=\"grid-sheet\"",
            Look::Delays => " class=\"groups\"",
            Look::Setup => " class=\"sheet setup\"",
        };
        out.push_str("<div class=\"scroll\" tabindex=\"0\">");
        if let Some(kind) = told {
            out.push_str(&format!("<p>All figures {}.</p>\n", kind.name()));
        }
        let heads = heads(table, told.is_some());
        out.push_str(&format!("<table{class}>\n<thead>{heads}</thead>\n"));
        let kinds: Vec<_> = (0..table.heads.len())
            .map(|at| table.column_kind(at))
            .collect();
        out.push_str("<tbody>\n");
        for (at, cells) in table.rows.iter().enumerate() {
            let span = table.span(at);
            if at > 0 && (at == table.apart || table.look == Look::Delays && span > 0) {
                let apart = if at >= table.apart {
                    " class=\"cpu\""
                } else {
                    ""
                };
                out.push_str(&format!("</tbody>\n<tbody{apart}>\n"));
            }
            let void = cells.contains(&Cell::Text("VOID".to_owned()));
            out.push_str(if void { "<tr class=\"void\">" } else { "<tr>" });
            let named = table.look.names_once() || table.look == Look::Setup;
            for (column, (cell, head)) in cells.iter().zip(&table.heads).enumerate() {
                let words = self.cell(cell, &cell.marked(kinds[column]));
                match (column, span) {
                    (0, 0) => {}
                    (0, 1) if named => out.push_str(&format!("<th>{words}</th>")),
                    (0, n) if named => {
                        out.push_str(&format!("<th rowspan=\"{n}\">{words}</th>"));
                    }
                    _ => {
                        let class = classes(table, head, column, cell.alarm());
                        out.push_str(&format!("<td{class}>{words}</td>"));
                    }
                }
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n");
        out
    }

    /// The text of a cell, and a link to its note.
    fn cell(&mut self, cell: &Cell, marked: &str) -> String {
        let words = xml(&line(marked));
        match (cell, cell.note()) {
            (Cell::Bar(_), _) => format!("<code>{words}</code>"),
            (_, Some(note)) => {
                let n = self.notes.number(note);
                format!("{words}<sup><a href=\"#note-{n}\">{n}</a></sup>")
            }
            _ => words,
        }
    }

    fn chart(&mut self, chart: &Chart<'_>) -> String {
        self.pictures += 1;
        let id = format!("picture-{}", self.pictures);
        match chart {
            Chart::Timeline(data) => wide(
                &timeline::draw(data, &id),
                "What each resource does in the steady state, from the simulation. Filled boxes are on the \
                 critical circuit; hollow ones work beside it. Numbers are frames.",
            ),
            Chart::Roofline(data, _) => wide(
                &roofline::draw(data, &id),
                "Data against size on logarithmic scales. No mark can lie above a ceiling of its direction. A cost of \
                 each packet is a slope, a cost of each byte is level; marks well below all ceilings wait for one another.",
            ),
            Chart::Delays(data) => delays::chapter(data, &id),
            Chart::Gallery(data) => gallery(data, &id),
        }
    }
}

fn wide(svg: &str, caption: &str) -> String {
    format!(
        "<figure class=\"wide\">\n<figcaption>{}</figcaption>\n{svg}</figure>\n",
        text(caption)
    )
}

fn gallery(gallery: &Gallery, id: &str) -> String {
    let mut pictures = String::new();
    for (at, (caption, picture)) in gallery.pictures.iter().enumerate() {
        let title = if gallery.wide { gallery.title } else { caption };
        let Some(svg) = picture.draw(&format!("{id}-{at}"), &line(title)) else {
            continue;
        };
        if gallery.wide {
            pictures.push_str(&wide(&svg, caption));
            continue;
        }
        let words = picture
            .words()
            .map_or_else(String::new, |words| format!("<p>{}</p>\n", text(&words)));
        let caption = text(caption);
        pictures.push_str(&format!(
            "<figure>\n<figcaption>{caption}</figcaption>\n{svg}{words}</figure>\n"
        ));
    }
    if pictures.is_empty() {
        return pictures;
    }
    let mut out = match gallery.title {
        "" => String::new(),
        title => format!("<h2>{}</h2>\n", text(title)),
    };
    let about = match gallery.about {
        "" => String::new(),
        about => format!("<p class=\"quiet\">{}</p>\n", text(about)),
    };
    let all = match gallery.wide {
        true => pictures,
        false => format!("<div class=\"panels\">\n{pictures}</div>\n"),
    };
    let (before, after) = match gallery.about_below {
        true => (all, about),
        false => (about, all),
    };
    out.push_str(&before);
    out.push_str(&after);
    if gallery.left_out > 0 {
        let more = format!("{} more are in the results file.", gallery.left_out);
        out.push_str(&format!("<p class=\"quiet\">{more}</p>\n"));
    }
    out
}

/// Attribute of the classes of a cell.
fn classes(table: &Table, head: &Head, column: usize, alarm: bool) -> String {
    let first = table.look == Look::Delays && begins(table, column);
    let all = [(head.number, "n"), (first, "first"), (alarm, "alarm")];
    let all: Vec<&str> = all
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, of)| *of)
        .collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(" class=\"{}\"", all.join(" ")),
    }
}

/// Whether a group begins with a column.
fn begins(table: &Table, column: usize) -> bool {
    let mut first = table.look.labels();
    table.groups.iter().any(|group| {
        first += group.columns;
        first - group.columns == column
    })
}

/// Rows of the heads: the words above groups, then name, unit and kind of each column.
fn heads(table: &Table, told: bool) -> String {
    let mut out = String::new();
    if table.lines_above() > 0 {
        let names = table.look.labels();
        out.push_str(&format!("<tr><td colspan=\"{names}\"></td>"));
        for group in &table.groups {
            let class = if table.look == Look::Delays {
                "first"
            } else {
                "group"
            };
            let words: Vec<String> = group.above.iter().map(|part| text(part)).collect();
            out.push_str(&format!(
                "<th scope=\"colgroup\" colspan=\"{}\" class=\"{class}\">{}</th>",
                group.columns,
                words.join("<br/>")
            ));
        }
        out.push_str("</tr>\n");
    }
    let units = table.heads.iter().any(|head| !head.unit.is_empty());
    let figures = |at: &usize| !table.column_kind(*at).head().is_empty();
    let kinds = !told && (0..table.heads.len()).any(|at| figures(&at));
    out.push_str("<tr>");
    for (at, head) in table.heads.iter().enumerate() {
        let class = classes(table, head, at, false);
        out.push_str(&format!("<th scope=\"col\"{class}>{}", text(&head.name)));
        // A line each, empty or not, so that heads stand level.
        let unit = units.then_some(head.unit);
        let kind = kinds.then(|| table.column_kind(at).head());
        for small in unit.into_iter().chain(kind) {
            out.push_str(&format!("<small>{}&#160;</small>", xml(small)));
        }
        out.push_str("</th>");
    }
    out.push_str("</tr>");
    out
}
