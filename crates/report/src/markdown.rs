//! GitHub Flavored Markdown: the tables, notes and warnings of the report, to be pasted into a page or an issue.

use wirelab_trial::ResultsFile;

use crate::escape::markdown as escape;
use crate::options::Options;
use crate::row;
use crate::table::{Cell, ColumnKind, Notes, Table};
use crate::{columns, detail, finding, format, loaded, search, summary};

/// The whole report as Markdown.
pub fn render(file: &ResultsFile, options: &Options) -> String {
    let mut notes = Notes::default();
    let mut out = format!("# {}\n\n", escape(&options.title_of(file)));
    out.push_str(&format!("{}\n", summary::verdict(file)));
    let rows = row::listed(file, options.each_flow);
    let mut tables = Vec::new();
    if !rows.is_empty() {
        tables.push(columns::table("Results", &rows, options.each_flow));
    }
    tables.extend(search::tables(file));
    tables.extend(loaded::table(file));
    tables.extend(detail::series_tables(file, options.each_flow));
    tables.extend(detail::counters(file));
    for table in &tables {
        out.push_str(&format!("\n## {}\n\n", table.caption));
        if let Some(common) = table.common_text() {
            out.push_str(&format!("All trials: {}\n\n", escape(&common)));
        }
        out.push_str(&draw(table, &mut notes));
    }
    if let Some(text) = row::left_to_searches(file) {
        out.push_str(&format!("\n{}\n", escape(&text)));
    }
    out.push_str(&reasons(&notes));
    let troubles = search::troubles(file);
    if !troubles.is_empty() {
        out.push_str("\n## Searches that did not end\n\n");
    }
    for trouble in troubles {
        out.push_str(&format!("- {}\n", escape(&trouble)));
    }
    let findings = finding::all(file);
    if !findings.is_empty() {
        out.push_str("\n## Findings\n\n");
    }
    for finding in findings {
        out.push_str(&format!(
            "- Trial {}: {}\n",
            finding.trial,
            escape(&finding.text)
        ));
    }
    let warnings = row::warnings(file);
    if !warnings.is_empty() {
        out.push_str("\n## Warnings\n\n");
    }
    for (trials, warning) in warnings {
        out.push_str(&format!(
            "- **{}** ({trials}): {} *Fix:* {}\n",
            escape(&warning.code),
            escape(&warning.text),
            escape(&warning.way_out)
        ));
    }
    out.push_str(&format!(
        "\n`wirelab` {}, {}\n",
        escape(&file.wirelab_version),
        format::utc(file.created_unix_ns)
    ));
    out
}

/// The reasons behind the numbers, with a blank line before each, or they would run into one paragraph.
pub fn reasons(notes: &Notes) -> String {
    let paragraphs = notes.iter();
    paragraphs
        .map(|(number, reason)| format!("\n\\[{number}\\] {}\n", escape(reason)))
        .collect()
}

pub fn draw(table: &Table, notes: &mut Notes) -> String {
    let kinds: Vec<_> = (0..table.heads.len())
        .map(|at| table.column_kind(at))
        .collect();
    let mut out = String::from("|");
    for (head, kind) in table.heads.iter().zip(&kinds) {
        let unit = if head.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", head.unit)
        };
        let kind = match kind.head() {
            "" => String::new(),
            kind => format!("<br>*{kind}*"),
        };
        out.push_str(&format!(" {}{unit}{kind} |", head.name));
    }
    out.push_str("\n|");
    for head in &table.heads {
        out.push_str(if head.number { " ---: |" } else { " --- |" });
    }
    out.push('\n');
    for cells in &table.rows {
        out.push('|');
        for (cell, column) in cells.iter().zip(&kinds) {
            let text = match cell {
                Cell::Text(text) => escape(text),
                Cell::Figure { .. } => figure(cell, *column),
                Cell::Absent(reason) => format!("– \\[{}\\]", notes.number(reason)),
                Cell::Noted { note, .. } => {
                    format!("{} \\[{}\\]", figure(cell, *column), notes.number(note))
                }
            };
            out.push_str(&format!(" {text} |"));
        }
        out.push('\n');
    }
    out
}

/// A figure with the mark of its kind, in bold where it tells of a fault.
fn figure(cell: &Cell, column: ColumnKind) -> String {
    let text = escape(&cell.marked(column));
    match cell.alarm() {
        true => format!("**{text}**"),
        false => text,
    }
}
