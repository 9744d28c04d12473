//! One self-contained HTML page: tables and sentences as they stand, charts as data that the program of the page (`web/`)
//! draws. It loads nothing, and its content security policy allows only that program to run. Without it the page
//! has every table, and a sentence in place of each picture. It is well-formed XML too, so that a test can hold it to that.

use std::collections::BTreeMap;

use super::escape::{json, keep_numbers, line, xml};
use super::table::{Cell, Head, Look, Notes, Table};
use super::{Block, Chart, Document, Gallery, Medium, Notice, Picture, Sort};
use crate::chart::delays::Chapter;
use crate::chart::spans::SPANS;
use crate::chart::{roofline, timeline};
use crate::format;

/// The program of a page; `build.rs` makes it of `web/`, as the style, and the hashes that let a browser use both and nothing
/// else.
pub const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/page.js"));
/// The style of a page.
pub const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.css"));
const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/page.csp"));

/// Script elements of a page: its data, and the program.
pub const SCRIPTS: usize = 2;
/// Longest option of a command that is kept in one line, in bytes.
const OPTION: usize = 24;
/// Most lines of a verdict.
const VERDICT: usize = 3;
/// Fewest headings for a list of contents.
const CONTENTS: usize = 3;

/// The whole page.
pub fn render(document: &Document<'_>) -> String {
    let title = text(&document.title);
    let noted = document.notices(Medium::Page);
    let mut page = Page {
        flags: flags(&noted),
        marks: noted.iter().map(|notice| notice.mark()).collect(),
        ..Page::default()
    };
    let mut header = format!("<header>\n<h1>{title}</h1>\n");
    if let Some((created_unix_ns, version)) = &document.stamp {
        let (utc, version) = (format::utc(*created_unix_ns), xml(version));
        let hosts = document.hosts.iter();
        let hosts: String = hosts.map(|host| format!(" · {}", text(host))).collect();
        header.push_str(&format!(
            "<p class=\"quiet\">{utc}, wirelab {version}{hosts}</p>\n"
        ));
    }
    header.push_str(&verdict(document));
    header.push_str(&counted(&noted));
    header.push_str(&headlines(document));
    header.push_str("</header>\n");
    let body = page.blocks(&document.blocks);
    let appendix = page.appendix();
    let (contents, data) = (page.contents(), page.data(document, &noted));
    let (footer, data) = (footer(document), inline(&data));
    format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"wirelab\"/>\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{header}{contents}{body}{appendix}\
         {footer}</main>\n\
         {data}<script>{SCRIPT}</script>\n\
         </body>\n</html>\n"
    )
}

/// Parts for a page that is made elsewhere: it has [`STYLE`] and, behind pictures, [`SCRIPT`].
pub fn part(blocks: &[Block<'_>]) -> String {
    let mut page = Page::default();
    let body = page.blocks(blocks);
    match page.pictures.is_empty() {
        true => body,
        false => body + &inline(&page.data(&Document::default(), &[])),
    }
}

/// Words that lead elsewhere, each with its address.
pub fn links(all: &[(String, String)]) -> String {
    let link =
        |(words, to): &(String, String)| format!("<a href=\"{}\">{}</a>", xml(to), text(words));
    all.iter().map(link).collect::<Vec<_>>().join(" ")
}

/// The data of a page where its program looks for them.
fn inline(data: &str) -> String {
    format!("<script type=\"application/json\" id=\"wirelab-data\">{data}</script>\n")
}

/// The judgement: a word, then its sentences in at most three lines.
fn verdict(document: &Document<'_>) -> String {
    let Some(verdict) = &document.verdict else {
        return String::new();
    };
    let class = match verdict.head {
        super::PageHead::Clean | super::PageHead::Passed => "",
        super::PageHead::TesterLimited | super::PageHead::NotJudged => " open",
        super::PageHead::NotClean => " bad",
    };
    let (word, sentences) = (verdict.head.words(), verdict.text.replace(". ", ".\n"));
    let limits = document.limits.as_deref();
    let mut lines: Vec<String> = sentences.lines().chain(limits).map(text).collect();
    // If there are too many lines, the first one, the number of trials, takes up the next ones.
    while lines.len() > VERDICT {
        let second = lines.remove(1);
        lines[0] = format!("{} {second}", lines[0]);
    }
    format!(
        "<p class=\"verdict{class}\"><strong>{word}</strong> {}</p>\n",
        lines.join("<br/>\n")
    )
}

/// The headline figures.
fn headlines(document: &Document<'_>) -> String {
    let items = document.headlines.iter().map(|of| {
        let (class, mark) = of.limited.limiter.mark();
        let trial = of.trial.map_or_else(String::new, |n| format!("; trial {n}"));
        let (number, unit) = of.value.split_once(' ').unwrap_or((&of.value, ""));
        format!(
            "<li class=\"{class}\"><span class=\"name\">{}, {}</span>\n<span class=\"value\">{} <small>{}</small></span>\n\
             <span class=\"of\">{}{trial}</span>\n<span class=\"limit\">{mark} {}</span></li>\n",
            text(&of.name),
            of.kind,
            text(number),
            text(unit),
            text(&of.of),
            text(&of.limited.why)
        )
    });
    let items: String = items.collect();
    match items.is_empty() {
        true => items,
        false => format!("<ul class=\"heads\">\n{items}</ul>\n"),
    }
}

/// A command whose options are not divided behind their hyphens.
pub fn words_of(command: &str) -> String {
    let line = line(command);
    let words = line.split(' ').map(|word| {
        let whole = word.starts_with('-') && word.len() <= OPTION;
        match (whole, xml(word)) {
            (true, word) => format!("<span>{word}</span>"),
            (false, word) => word,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Text of one line.
fn text(text: &str) -> String {
    xml(&line(text))
}

/// A sentence as text of one line, in which a number stays with what it counts.
fn prose(text: &str) -> String {
    xml(&keep_numbers(&line(text)))
}

fn list(class: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

/// How many notices there are, with links to the first of each sort: they stand beside what they concern.
fn counted(all: &[&Notice]) -> String {
    let links = Sort::ALL.iter().filter_map(|sort| {
        let of = || all.iter().filter(|notice| notice.sort == *sort);
        let first = all.iter().position(|notice| notice.sort == *sort)? + 1;
        let words = sort.counted(of().count() as u64);
        Some(format!("<a href=\"#notice-{first}\">{words}</a>"))
    });
    let links: Vec<String> = links.collect();
    match links.is_empty() {
        true => String::new(),
        false => format!(
            "<p class=\"quiet\">Beside what they concern: {}.</p>\n",
            links.join(", ")
        ),
    }
}

/// The notices of each trial, by their places in a page from 1. Notices of all trials mark none.
fn flags(all: &[&Notice]) -> BTreeMap<usize, Vec<usize>> {
    let mut flags: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let own = all.iter().enumerate();
    for (at, notice) in own.filter(|(_, notice)| !notice.is_of_the_run()) {
        for trial in &notice.trials {
            flags.entry(*trial).or_default().push(at + 1);
        }
    }
    flags
}

/// What went wrong, and what to do about it; `first` is the place of the first one in the page.
fn notices(all: &[Notice], first: usize) -> String {
    let of_sort = |sort: Sort| {
        let of = all.iter().enumerate().filter(move |(_, n)| n.sort == sort);
        let items: Vec<String> = of.map(|(at, notice)| item(notice, first + at)).collect();
        let (heading, count) = (sort.heading(), format::integer(items.len() as u64));
        let (class, open) = match sort {
            Sort::Warning => ("warnings", ""),
            // Failures are shown unfolded.
            Sort::Search | Sort::Finding => ("findings", " open=\"open\""),
        };
        match items.is_empty() {
            true => String::new(),
            false => format!(
                "<details class=\"notices\"{open}>\n<summary>{heading} ({count})</summary>\n<ul class=\"{class}\">\n{}</ul>\n\
                 </details>\n",
                items.concat()
            ),
        }
    };
    Sort::ALL.map(of_sort).concat()
}

fn item(notice: &Notice, n: usize) -> String {
    let (words, about) = (text(&notice.text), text(&notice.about));
    let words = match notice.sort {
        Sort::Search => words,
        Sort::Finding => format!("<strong>{}:</strong> {words}", about.replacen('t', "T", 1)),
        Sort::Warning => format!(
            "<strong>{}</strong> ({about}): {words}<br/><span class=\"quiet\">fix: {}</span>",
            text(&notice.code),
            text(notice.fix.as_deref().unwrap_or_default())
        ),
    };
    format!("<li id=\"notice-{n}\">{words}</li>\n")
}

fn footer(document: &Document<'_>) -> String {
    let legend = document.legend.iter();
    let mut out: String = legend
        .map(|(name, words)| format!("<p><strong>{name}.</strong> {}</p>\n", text(words)))
        .collect();
    if let Some(command) = &document.command {
        out.push_str(&format!(
            "<p>Command: <code class=\"command\">{}</code></p>\n",
            words_of(command)
        ));
    }
    match out.is_empty() {
        true => out,
        false => format!("<footer class=\"quiet\">\n{out}</footer>\n"),
    }
}

/// What a page counts and collects while it is written.
#[derive(Default)]
struct Page {
    notes: Notes,
    /// Of each trial the places of its notices.
    flags: BTreeMap<usize, Vec<usize>>,
    /// The mark of each notice.
    marks: Vec<&'static str>,
    /// Number of notices so far.
    noticed: usize,
    /// Number of notes below tables so far.
    noted: usize,
    /// Headings of the second level: their ids are counted.
    headings: Vec<String>,
    /// Pictures as JSON.
    pictures: Vec<String>,
    appendix: String,
}

impl Page {
    /// A heading that a link leads to.
    fn heading(&mut self, depth: u8, words: &str) -> String {
        let words = text(words);
        match depth {
            2 => {
                self.headings.push(words.clone());
                let n = self.headings.len();
                format!("<h2 id=\"part-{n}\">{words}</h2>\n")
            }
            depth => {
                let depth = depth.min(6);
                format!("<h{depth}>{words}</h{depth}>\n")
            }
        }
    }

    fn contents(&self) -> String {
        if self.headings.len() < CONTENTS {
            return String::new();
        }
        let items = self.headings.iter().enumerate();
        let items: String = items
            .map(|(at, words)| format!("<li><a href=\"#part-{}\">{words}</a></li>\n", at + 1))
            .collect();
        format!("<nav aria-label=\"Contents\"><ol>\n{items}</ol></nav>\n")
    }

    /// The parts that a reader looks for last.
    fn appendix(&mut self) -> String {
        let of = std::mem::take(&mut self.appendix);
        match of.is_empty() {
            true => of,
            false => format!(
                "<section class=\"appendix\">\n{}{of}</section>\n",
                self.heading(2, "Appendix")
            ),
        }
    }

    /// What the program of the page draws.
    fn data(&self, document: &Document<'_>, noted: &[&Notice]) -> String {
        let words = |notice: &&Notice| {
            let (mark, text) = (notice.mark(), line(&notice.text));
            match notice.code.is_empty() {
                true => format!("{mark} {text}"),
                false => format!("{mark} {}: {text}", line(&notice.code)),
            }
        };
        let words: Vec<String> = noted.iter().map(words).collect();
        let data = |of: serde_json::Result<String>| of.expect("numbers and words");
        let (commands, flags, notices) = (
            data(serde_json::to_string(&document.commands)),
            data(serde_json::to_string(&self.flags)),
            data(serde_json::to_string(&words)),
        );
        let pictures = self.pictures.join(",\n");
        json(&format!(
            "{{\"commands\":{commands},\"flags\":{flags},\"notices\":{notices},\"pictures\":[\n{pictures}]}}"
        ))
    }

    fn blocks(&mut self, blocks: &[Block<'_>]) -> String {
        blocks.iter().map(|block| self.block(block)).collect()
    }

    fn block(&mut self, block: &Block<'_>) -> String {
        match block {
            Block::Heading(depth, words) => self.heading(*depth, words),
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
                    let command = words_of(command);
                    format!("{}: <code class=\"command\">{command}</code>", text(name))
                });
                let items = list("words", items);
                format!("<p><strong>Host PC commands</strong></p>\n{items}")
            }
            Block::Table(table) => self.table(table),
            Block::Notices(all) => {
                let first = self.noticed + 1;
                self.noticed += all.len();
                notices(all, first)
            }
            Block::Chart(chart) => self.chart(chart),
            Block::Beside(columns) => {
                let columns = columns.iter();
                let columns: String = columns
                    .map(|of| format!("<section>{}</section>\n", self.blocks(of)))
                    .collect();
                format!("<div class=\"columns\">\n{columns}</div>\n")
            }
            Block::Appendix(depth, title, of) => {
                // In the appendix, a title needs the name of its section.
                let section = self.headings.last().filter(|_| *depth > 2);
                let section = section.map_or_else(String::new, |name| format!("{name}: "));
                let title = format!("{section}{}", text(title));
                let of = self.blocks(of);
                if !of.is_empty() {
                    self.appendix.push_str(&folded(&title, &of));
                }
                String::new()
            }
            Block::Only(Medium::Page, of) => self.blocks(of),
            Block::Only(Medium::Text, _) => String::new(),
        }
    }

    /// The reasons of the notes that no earlier table refers to.
    fn reasons(&mut self) -> String {
        let new = self.notes.iter().skip(self.noted);
        let items: Vec<String> = new
            .map(|(n, reason)| format!("<li id=\"note-{n}\" value=\"{n}\">{}</li>\n", text(reason)))
            .collect();
        self.noted += items.len();
        match items.len() {
            0 => String::new(),
            n => format!(
                "<details class=\"notes\">\n<summary>{}</summary>\n<ol>\n{}</ol>\n</details>\n",
                format::count(n as u64, "note"),
                items.concat()
            ),
        }
    }

    fn table(&mut self, table: &Table) -> String {
        let mut out = String::new();
        let caption = match table.caption.is_empty() {
            true => String::new(),
            false => format!("<caption>{}</caption>\n", text(&table.caption)),
        };
        if let Some(common) = table.common_text() {
            out.push_str(&format!("<p>{}: {}.</p>\n", table.all_of(), text(&common)));
        }
        let common_kind = table.kind().filter(|_| table.look == Look::Sheet);
        let class = match table.look {
            Look::Figures | Look::Study => "",
            Look::Sentences => " class=\"grid\"",
            Look::Sheet => " class=\"grid-sheet\"",
            Look::Delays => " class=\"groups\"",
            Look::Setup => " class=\"sheet setup\"",
        };
        out.push_str("<div class=\"scroll\" tabindex=\"0\">");
        if let Some(kind) = common_kind {
            out.push_str(&format!("<p>All figures {}.</p>\n", kind.name()));
        }
        let heads = heads(table, common_kind.is_some());
        out.push_str(&format!(
            "<table{class}>\n{caption}<thead>{heads}</thead>\n"
        ));
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
            let void = cells.contains(&Cell::Void);
            out.push_str(if void { "<tr class=\"void\">" } else { "<tr>" });
            let named = table.look.names_once() || table.look == Look::Setup;
            for (column, (cell, head)) in cells.iter().zip(&table.heads).enumerate() {
                let words = self.cell(cell, &cell.marked(kinds[column]));
                match (column, span) {
                    (0, 0) => {}
                    (0, 1) if named => out.push_str(&format!("<th scope=\"row\">{words}</th>")),
                    (0, n) if named => {
                        out.push_str(&format!("<th scope=\"row\" rowspan=\"{n}\">{words}</th>"));
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
        out.push_str(&self.reasons());
        out
    }

    /// The text of a cell, and a link to its note.
    fn cell(&mut self, cell: &Cell, marked: &str) -> String {
        let words = xml(&line(marked));
        match (cell, cell.note()) {
            (Cell::Trials(numbers), _) => {
                let each = numbers.iter().map(|number| self.trial(*number));
                each.collect::<Vec<_>>().join(", ")
            }
            (Cell::Bar(share), _) => {
                let (share, percent) = (share.clamp(0.0, 1.0), format::percent(*share));
                format!(
                    "<meter value=\"{share:.3}\" aria-label=\"{percent} %\">{percent} %</meter>"
                )
            }
            (Cell::Links(all), _) => links(all),
            (Cell::Command(command), _) => format!("<code>{}</code>", words_of(command)),
            (Cell::Tick(name, value), _) => {
                let value = text(value);
                format!(
                    "<input type=\"checkbox\" name=\"{name}\" value=\"{value}\" aria-label=\"{name} {value}\"/>"
                )
            }
            (_, Some(note)) => {
                let n = self.notes.number(note);
                format!("{words}<sup><a href=\"#note-{n}\">{n}</a></sup>")
            }
            _ => words,
        }
    }

    /// The number of a trial, with a mark that leads to its notices.
    fn trial(&self, number: usize) -> String {
        let Some(places) = self.flags.get(&number) else {
            return number.to_string();
        };
        let (first, count) = (places[0], format::count(places.len() as u64, "notice"));
        let mark = self.marks.get(first - 1).copied().unwrap_or_default();
        format!(
            "{number}<sup><a href=\"#notice-{first}\" aria-label=\"{count} of trial {number}\">{mark}</a></sup>"
        )
    }

    fn chart(&mut self, chart: &Chart<'_>) -> String {
        match chart {
            Chart::Timeline(data) => self.figure(
                &Picture::Timeline(timeline::lanes(data)),
                "What each resource does in the steady state, from the simulation. Filled boxes are on the \
                 critical circuit; hollow ones work beside it. Numbers are frames.",
                "",
            ),
            Chart::Roofline(data, _) => self.figure(
                &Picture::Plane(roofline::plane(data)),
                "Data against size on logarithmic scales. No mark can lie above a ceiling of its direction. A cost of \
                 each packet is a slope, a cost of each byte is level; marks well below all ceilings wait for one another.",
                "",
            ),
            Chart::Spans(data) => {
                let about = text(&format!("{}.", data.about().join("; ")));
                let figure = self.figure(&Picture::Spans(data.clone()), &format!("{SPANS}."), "");
                format!("{figure}<p class=\"quiet\">{about}</p>\n")
            }
            Chart::Delays(data) => self.delays(data),
            Chart::Gallery(data) => self.gallery(data),
        }
    }

    /// A picture as data, its caption, and the sentence that replaces it; nothing for an empty picture.
    fn figure(&mut self, picture: &Picture, caption: &str, kind: &str) -> String {
        if picture.is_empty() {
            return String::new();
        }
        let data = serde_json::to_string(picture).expect("numbers and words");
        self.pictures.push(data);
        let n = self.pictures.len();
        let kind = match kind {
            "" => String::new(),
            kind => format!(" <small>{}</small>", text(kind)),
        };
        format!(
            "<figure id=\"figure-{n}\">\n<figcaption><a href=\"#figure-{n}\">Figure {n}.</a> {}{kind}</figcaption>\n\
             <p class=\"instead\">{}.</p>\n</figure>\n",
            text(caption),
            text(&picture.words())
        )
    }

    /// Histograms of delays; those of side figures are folded.
    fn delays(&mut self, chapter: &Chapter) -> String {
        let panels = chapter.panels.iter().map(|panel| {
            let picture = Picture::Delays(panel.clone());
            self.figure(&picture, &panel.title, &panel.kind)
        });
        let panels: String = panels.collect();
        let about = text(&chapter.about);
        let more = more(chapter.left_out, "are in the tables");
        let body = format!(
            "<p class=\"quiet\">{about}</p>\n<div class=\"panels\">\n{panels}</div>\n{more}"
        );
        match chapter.folded {
            true => folded(&text(&chapter.title), &body),
            false => format!("{}{body}", self.heading(2, &chapter.title)),
        }
    }

    fn gallery(&mut self, gallery: &Gallery) -> String {
        let of = gallery.pictures.iter();
        let pictures: String = of
            .map(|(caption, picture)| self.figure(picture, caption, ""))
            .collect();
        if pictures.is_empty() {
            return pictures;
        }
        let mut out = match gallery.title {
            "" => String::new(),
            title => self.heading(2, title),
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
        out.push_str(&more(gallery.left_out, "are in the results file"));
        out
    }
}

/// A remark on what does not fit.
fn more(left_out: usize, place: &str) -> String {
    match left_out {
        0 => String::new(),
        n => format!("<p class=\"quiet\">{n} more {place}.</p>\n"),
    }
}

/// A part that is shown on request.
fn folded(title: &str, body: &str) -> String {
    format!("<details>\n<summary>{title}</summary>\n{body}</details>\n")
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
fn heads(table: &Table, has_kind: bool) -> String {
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
    let kinds = !has_kind && (0..table.heads.len()).any(|at| figures(&at));
    out.push_str("<tr>");
    for (at, head) in table.heads.iter().enumerate() {
        let class = classes(table, head, at, false);
        // A column of bars has no name, and an empty head would be read out.
        if head.name.is_empty() {
            out.push_str("<td></td>");
            continue;
        }
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
