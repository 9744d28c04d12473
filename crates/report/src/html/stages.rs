//! The page of stages: tables in the published layout, histograms, all figures, and what measuring cost.

use wirelab_trial::ResultsFile;
use wirelab_trial::format::utc;

use super::{explain, footer, parts, styled_page};
use crate::escape::{line, xml};
use crate::explain::Block;
use crate::stages::{FRAMES, Groups};

/// What tables and histograms of stages need beside the style of an explanation.
pub const STYLE: &str = include_str!("stages.css");

/// The whole page.
pub fn page(file: &ResultsFile, title: &str, blocks: &[Block<'_>]) -> String {
    let title = xml(&line(title));
    let mut main = format!(
        "<header>\n<h1>{title}</h1>\n<p class=\"quiet\">{}, wirelab {}</p>\n</header>\n",
        utc(file.created_unix_ns),
        xml(&file.wirelab_version)
    );
    main.push_str(&body(blocks));
    main.push_str(&parts::findings(file));
    main.push_str("<div class=\"columns\">\n");
    main.push_str(&parts::nodes(file));
    main.push_str(&parts::environment(file));
    main.push_str("</div>\n");
    main.push_str(&footer(file));
    styled_page(&title, &format!("{}{STYLE}", explain::STYLE), &main)
}

/// The stages of a file as parts of another page.
pub fn of(file: &ResultsFile) -> String {
    let delays = wirelab_trial::stage::delays(file);
    body(&crate::stages::blocks(file, &delays, None))
}

fn body(blocks: &[Block<'_>]) -> String {
    let each = blocks.iter().enumerate();
    each.map(|(at, block)| explain::part(block, at)).collect()
}

/// A table with groups of columns.
pub fn groups(table: &Groups) -> String {
    let mut out =
        String::from("<div class=\"scroll\" tabindex=\"0\"><table class=\"groups\">\n<thead>");
    if table.heads.iter().any(|head| !head.is_empty()) {
        out.push_str("<tr><td colspan=\"2\"></td>");
        for (head, columns) in table.heads.iter().zip(&table.columns) {
            let parts: Vec<String> = head.iter().map(|part| xml(&line(part))).collect();
            let (text, span) = (parts.join("<br/>"), columns.len());
            out.push_str(&format!(
                "<th scope=\"colgroup\" colspan=\"{span}\" class=\"first\">{text}</th>"
            ));
        }
        out.push_str("</tr>\n");
    }
    let unit = xml(table.unit);
    out.push_str("<tr><th scope=\"col\">delay</th><th scope=\"col\" class=\"n\">length</th>");
    for columns in &table.columns {
        for (at, column) in columns.iter().enumerate() {
            let first = if at == 0 { " first" } else { "" };
            let unit = if *column == FRAMES { "" } else { &unit };
            out.push_str(&format!(
                "<th scope=\"col\" class=\"n{first}\">{column} <small>{unit}</small></th>"
            ));
        }
    }
    out.push_str("</tr></thead>\n");
    for point in &table.points {
        let class = if point.cpu_time { " class=\"cpu\"" } else { "" };
        out.push_str(&format!("<tbody{class}>\n"));
        for (at, (size, cells)) in point.rows.iter().enumerate() {
            out.push_str("<tr>");
            if at == 0 {
                let name = xml(&line(&point.name));
                let rows = point.rows.len();
                out.push_str(&format!(
                    "<th scope=\"rowgroup\" rowspan=\"{rows}\">{name}</th>"
                ));
            }
            out.push_str(&format!("<td class=\"n\">{}</td>", xml(size)));
            for (cells, columns) in cells.iter().zip(&table.columns) {
                for at in 0..columns.len() {
                    let first = if at == 0 { " first" } else { "" };
                    let text = match cells {
                        Some(cells) => xml(&cells[at]),
                        None if at == 0 => "–".to_owned(),
                        None => String::new(),
                    };
                    out.push_str(&format!("<td class=\"n{first}\">{text}</td>"));
                }
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n");
    out
}
