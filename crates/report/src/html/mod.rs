//! One self-contained HTML page: no script, no font, no picture from elsewhere. It is well-formed XML too, so that
//! a test can hold it to that.

mod curves;
mod datasheet;
mod delays;
mod explain;
mod histogram;
mod loss;
pub mod parts;
mod rate;
mod roofline;
mod search;
mod stages;
mod svg;
mod timeline;
mod xy;

use wirelab_trial::{Field, ResultsFile};

use crate::datasheet::KINDS;
use crate::escape::{line, xml};
use crate::options::Options;
use crate::row::{self, Row};
use crate::summary::{self, Head};
use crate::table::Notes;
use crate::{columns, detail, format};

pub(crate) use datasheet::{compared, render as datasheet};
pub(crate) use explain::explanation;
pub(crate) use stages::page as stages;
pub(crate) use svg::nice;

const STYLE: &str = include_str!("style.css");

/// Characters that a row of the first table may have, so that it is read without scrolling.
const ROOM: usize = 140;

/// The whole page.
pub fn render(file: &ResultsFile, options: &Options) -> String {
    let title = xml(&options.title_of(file));
    let mut style = String::new();
    if !file.parts.is_empty() {
        style.push_str(datasheet::STYLE);
    }
    if crate::stages::has_stages(file) {
        style.push_str(explain::STYLE);
        style.push_str(stages::STYLE);
    }
    styled_page(&title, &style, &body(file, options, &title))
}

/// A page of its own around a body; both are XML already.
pub fn page(title: &str, body: &str) -> String {
    styled_page(title, "", body)
}

/// A page with further style after that of every page.
fn styled_page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"wirelab\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn body(file: &ResultsFile, options: &Options, title: &str) -> String {
    let staged = crate::stages::has_stages(file);
    let delays = staged.then(|| stages::of(file));
    // Stages stand in tables and pictures of their own.
    let rest = staged.then(|| crate::stages::without_stages(file));
    let others = rest.as_ref().unwrap_or(file);
    let together = row::listed(file, false);
    let flows = row::listed(file, true);
    let mut notes = Notes::default();
    let mut out = header(file, title);
    out.push_str(&parts::findings(file));
    let mut left_out = Vec::new();
    if !together.is_empty() {
        let (shown, each) = if options.each_flow {
            (&flows, true)
        } else {
            (&together, false)
        };
        let mut table = columns::table("", shown, each);
        left_out = table.narrow(ROOM);
        out.push_str(&parts::table(&table, "Results", &mut notes));
    }
    if let Some(text) = row::left_to_searches(file) {
        out.push_str(&format!("<p class=\"quiet\">{}</p>\n", xml(&text)));
    }
    out.push_str(&searches(file, &mut notes));
    if let Some(table) = crate::loaded::table(file) {
        out.push_str(&parts::table(&table, &table.caption, &mut notes));
    }
    out.push_str(&delays.unwrap_or_default());
    out.push_str(&pictures(others, &together));
    for table in detail::series_tables(others, options.each_flow)
        .iter()
        .chain(&detail::counters(file))
    {
        out.push_str(&parts::table(table, &table.caption, &mut notes));
    }
    if !left_out.is_empty() || flows.len() > together.len() {
        let table = columns::table("", &flows, true);
        out.push_str(&parts::table(
            &table,
            "All figures of each flow",
            &mut notes,
        ));
    }
    out.push_str(&parts::notes(&notes, "Why figures are absent"));
    out.push_str("<div class=\"columns\">\n");
    out.push_str(&parts::nodes(file));
    out.push_str(&parts::environment(file));
    out.push_str("</div>\n");
    out.push_str(&footer(file));
    out
}

/// What searches found, trial by trial, and what kept them from their end.
fn searches(file: &ResultsFile, notes: &mut Notes) -> String {
    let mut out: String = crate::search::tables(file)
        .iter()
        .map(|table| parts::table(table, &table.caption, notes))
        .collect();
    out.push_str(&search::pictures(file));
    let troubles = crate::search::troubles(file);
    if !troubles.is_empty() {
        let items: String = troubles
            .iter()
            .map(|t| format!("<li>{}</li>\n", xml(&line(t))))
            .collect();
        out.push_str(&format!(
            "<h2>Searches that did not end</h2>\n<ul class=\"findings\">\n{items}</ul>\n"
        ));
    }
    out
}

fn header(file: &ResultsFile, title: &str) -> String {
    let (head, text) = (summary::head(file), summary::verdict(file));
    let (class, word) = (html_class(head), head.words());
    format!(
        "<header>\n<h1>{title}</h1>\n<p class=\"quiet\">{}, wirelab {}</p>\n\
         <p class=\"verdict{class}\"><strong>{word}</strong>{}</p>\n</header>\n",
        format::utc(file.created_unix_ns),
        xml(&file.wirelab_version),
        xml(&text)
    )
}

/// The class of a verdict's paragraph.
const fn html_class(head: Head) -> &'static str {
    match head {
        Head::Clean | Head::Passed => "",
        Head::TesterLimited | Head::NotJudged => " open",
        Head::NotClean => " bad",
    }
}

fn wide(svg: &str, caption: &str) -> String {
    format!("<figure class=\"wide\">\n<figcaption>{caption}</figcaption>\n{svg}</figure>\n")
}

fn pictures(file: &ResultsFile, rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    if let Some(svg) = rate::efficiency(&file.observations) {
        out.push_str("<h2>Efficiency against payload</h2>\n");
        out.push_str(&wide(
            &svg,
            "Each mark is one flow; the dashed line is the most a link can carry, whatever its rate: the payload \
             over the payload with 18 B of Ethernet header and FCS, 8 B of preamble and 12 B of gap.",
        ));
    }
    if let Some(svg) = rate::frame_rate(&file.observations) {
        out.push_str("<h2>Frames per second against frame size</h2>\n");
        out.push_str(&wide(
            &svg,
            "Flows on ports without a link rate, where there is no efficiency. Each mark is one flow; a dashed line \
             is what the tester reached against itself.",
        ));
    }
    if let Some(svg) = loss::loss(rows) {
        out.push_str("<h2>Loss</h2>\n");
        out.push_str(&wide(
            &svg,
            "Frames sent that never arrived with an intact header, for each trial and direction; the scale is \
             logarithmic, and no loss stands left of it.",
        ));
    }
    if let Some(panels) = histogram::gaps(rows) {
        out.push_str(
            "<h2>Gaps of the sender</h2>\n<p class=\"quiet\">Time from the start of one frame to the start of the \
             next, by the sender's own clock, and how many of each; both scales are logarithmic. The dashed line is the \
             gap that was asked.</p>\n",
        );
        out.push_str(&panels);
    }
    if let Some(panels) = histogram::series(file) {
        out.push_str(
            "<h2>Latency and other series</h2>\n<p class=\"quiet\">How many samples of each value; both scales are \
             logarithmic. Instruction counts are no times.</p>\n",
        );
        out.push_str(&panels);
    }
    out
}

fn footer(file: &ResultsFile) -> String {
    let begun = file
        .observations
        .iter()
        .find_map(|o| match o.started_unix_ns {
            Field::Observed { value, .. } => Some(value),
            Field::Absent { .. } => None,
        });
    let begun = begun.map_or_else(String::new, |ns| {
        format!(" The first trial began {}.", format::utc(ns))
    });
    format!(
        "<footer class=\"quiet\">\n<p><strong>Sizes.</strong> frame: destination address through FCS; length: the \
         same without FCS; payload: what follows the Ethernet header and its tags; datagram: UDP or TCP data.</p>\n\
         <p><strong>Figures.</strong> {KINDS} efficiency: payload bits over the link's bits. bad: damaged header, \
         truncated, stale or corrupted.</p>\n<p>Command: <code>{}</code>.{begun}</p>\n</footer>\n",
        xml(&file.command.join(" "))
    )
}
