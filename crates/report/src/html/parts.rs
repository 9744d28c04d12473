//! Parts of the page that are words and tables.

use std::collections::BTreeSet;

use wirelab_trial::{Description, Field, Kind, ResultsFile};

use crate::escape::{clip, line, xml};
use crate::format;
use crate::row::{self, kind};
use crate::table::{Cell, Notes, Table};

/// A table with its caption above; numbers that mark the absent figures come from `notes`.
pub fn table(table: &Table, heading: &str, notes: &mut Notes) -> String {
    format!("<h2>{}</h2>\n{}", xml(heading), bare(table, notes))
}

/// A table under a heading of a part.
pub fn table_under(table: &Table, notes: &mut Notes) -> String {
    let caption = xml(&line(&table.caption));
    format!("<h3>{caption}</h3>\n{}", bare(table, notes))
}

/// A table without its caption.
pub fn bare(table: &Table, notes: &mut Notes) -> String {
    let kinds: Vec<_> = (0..table.heads.len())
        .map(|at| table.column_kind(at))
        .collect();
    let units = table.heads.iter().any(|head| !head.unit.is_empty());
    let mut out = String::new();
    if let Some(common) = table.common_text() {
        out.push_str(&format!("<p>All trials: {}.</p>\n", xml(&common)));
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
    for (head, column) in table.heads.iter().zip(&kinds) {
        let class = if head.number { " class=\"n\"" } else { "" };
        out.push_str(&format!("<th scope=\"col\"{class}>{}", xml(head.name)));
        // A line each, empty or not, so that heads stand level.
        let unit = units.then_some(head.unit);
        for small in unit.into_iter().chain([column.head()]) {
            out.push_str(&format!("<small>{}&#160;</small>", xml(small)));
        }
        out.push_str("</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for cells in &table.rows {
        let void = cells.contains(&Cell::Text("VOID".to_owned()));
        out.push_str(if void { "<tr class=\"void\">" } else { "<tr>" });
        for ((cell, head), column) in cells.iter().zip(&table.heads).zip(&kinds) {
            let number = if head.number { "n" } else { "" };
            let (class, text) = match cell {
                Cell::Text(text) => (number.to_owned(), xml(text)),
                Cell::Figure { .. } => (number.to_owned(), xml(&cell.marked(*column))),
                Cell::Absent(reason) => {
                    let n = notes.number(reason);
                    let link = format!("–<sup><a href=\"#note-{n}\">{n}</a></sup>");
                    (number.to_owned(), link)
                }
                Cell::Noted { note, .. } => {
                    let n = notes.number(note);
                    let text = xml(&cell.marked(*column));
                    let link = format!("{text}<sup><a href=\"#note-{n}\">{n}</a></sup>");
                    (number.to_owned(), link)
                }
            };
            let alarm = if cell.alarm() { " alarm" } else { "" };
            let class = format!("{class}{alarm}");
            let class = match class.trim() {
                "" => String::new(),
                class => format!(" class=\"{class}\""),
            };
            out.push_str(&format!("<td{class}>{text}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// The reasons behind the numbers.
pub fn notes(notes: &Notes, heading: &str) -> String {
    let items: String = notes
        .iter()
        .map(|(n, reason)| format!("<li id=\"note-{n}\">{}</li>\n", xml(&line(reason))))
        .collect();
    if items.is_empty() {
        return items;
    }
    format!("<h2>{heading}</h2>\n<ol class=\"notes\">\n{items}</ol>\n")
}

/// A field of words with its kind, or why it is absent.
fn words<T>(field: &Field<T>, show: impl Fn(&T) -> String) -> String {
    match field {
        Field::Observed { value, kind: k } if *k == Kind::Measured => xml(&show(value)),
        Field::Observed { value, kind: k } => format!("{} ({})", xml(&show(value)), kind(*k)),
        Field::Absent { absent } => format!("– <span class=\"quiet\">({})</span>", xml(absent)),
    }
}

fn list(items: &[(String, String)]) -> String {
    let mut out = String::from("<dl>\n");
    for (name, html) in items {
        out.push_str(&format!("<dt>{}</dt><dd>{html}</dd>\n", xml(name)));
    }
    out.push_str("</dl>\n");
    out
}

/// The host the tester ran on.
pub fn environment(file: &ResultsFile) -> String {
    let e = &file.environment;
    let items = [
        ("kernel", words(&e.kernel, String::clone)),
        ("CPU", words(&e.cpu, String::clone)),
        ("processors used", words(&e.cpus, |n| n.to_string())),
        ("memory", words(&e.memory_bytes, |b| format::memory(*b))),
        (
            "virtual machine",
            words(&e.virtual_machine, |v| {
                if *v { "yes" } else { "no" }.to_owned()
            }),
        ),
        ("wirelab", xml(&file.wirelab_version)),
    ]
    .map(|(name, html)| (name.to_owned(), html));
    format!("<section><h2>The tester</h2>\n{}</section>\n", list(&items))
}

/// Each node that was tested, once, as it described itself.
pub fn nodes(file: &ResultsFile) -> String {
    let mut seen = BTreeSet::new();
    let mut out = String::from("<section><h2>The node</h2>\n");
    for o in &file.observations {
        let d = &o.node;
        if seen.insert((&d.name, &d.kind, &d.setup)) {
            out.push_str(&format!(
                "<h3>{}</h3>\n{}",
                xml(&line(&d.name)),
                list(&node(d))
            ));
        }
    }
    out.push_str("</section>\n");
    out
}

fn node(d: &Description) -> Vec<(String, String)> {
    let c = &d.capabilities;
    let mut items = vec![
        ("kind".to_owned(), xml(&d.kind)),
        ("ports".to_owned(), c.ports.to_string()),
        (
            "frame sizes".to_owned(),
            format!(
                "{} to {} B",
                format::integer(c.min_frame_bytes.into()),
                format::integer(c.max_frame_bytes.into())
            ),
        ),
    ];
    let rate = c.link_bits_per_s.map(|r| format::si(r as f64, "bit/s"));
    items.push((
        "link rate".to_owned(),
        rate.unwrap_or_else(|| "– <span class=\"quiet\">(the carrier has none)</span>".to_owned()),
    ));
    let setup = d.setup.iter().take(100);
    items.extend(setup.map(|(key, value)| (clip(&line(key), 80), xml(value))));
    items
}

/// What was wrong, and what to do about it.
pub fn findings(file: &ResultsFile) -> String {
    let mut out = String::new();
    let findings = crate::finding::all(file);
    if !findings.is_empty() {
        out.push_str("<h2>Findings</h2>\n<ul class=\"findings\">\n");
        for f in findings {
            out.push_str(&format!(
                "<li><strong>Trial {}:</strong> {}</li>\n",
                f.trial,
                xml(&f.text)
            ));
        }
        out.push_str("</ul>\n");
    }
    let all: Vec<(String, &str, String, &str)> = row::warnings(file)
        .into_iter()
        .map(|(trials, w)| (trials, &*w.code, w.text.clone(), &*w.way_out))
        .collect();
    out.push_str(&warnings(&all));
    out
}

/// What a reader must know: trials, code, text and fix of each.
pub fn warnings(all: &[(String, &str, String, &str)]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let items: String = all
        .iter()
        .map(|(trials, code, text, way_out)| {
            format!(
                "<li><strong>{}</strong> ({trials}): {}<br/><span class=\"quiet\">Fix: {}</span></li>\n",
                xml(code),
                xml(text),
                xml(way_out)
            )
        })
        .collect();
    format!("<h2>Warnings</h2>\n<ul class=\"warnings\">\n{items}</ul>\n")
}
