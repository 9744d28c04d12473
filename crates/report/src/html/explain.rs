//! The page of an explanation: sentences, grids, and pictures of time and of rates.

use super::{delays, parts, roofline, stages, styled_page, timeline};
use crate::datasheet::KINDS;
use crate::escape::{keep_numbers, line, xml};
use crate::explain::Block;
use crate::table::Notes;

/// What its parts need beside the style of every page.
pub const STYLE: &str = include_str!("explain.css");

/// The whole page.
pub fn explanation(title: &str, blocks: &[Block<'_>]) -> String {
    let title = xml(&line(title));
    let mut main = format!("<header>\n<h1>{title}</h1>\n</header>\n");
    for (at, block) in blocks.iter().enumerate() {
        main.push_str(&part(block, at));
    }
    main.push_str(&format!(
        "<footer class=\"quiet\">\n<p><strong>Figures.</strong> {KINDS}</p>\n\
         <p><strong>Critical circuit.</strong> Stages of which each waits for the one before it, round to the first; \
         their time over the frames in the circuit is the period of the node.</p>\n</footer>\n"
    ));
    styled_page(&title, STYLE, &main)
}

/// One part; `at` makes the ids of its picture unique.
pub fn part(block: &Block<'_>, at: usize) -> String {
    let text = |text: &str| xml(&keep_numbers(&line(text)));
    match block {
        Block::Heading(words) => format!("<h2>{}</h2>\n", text(words)),
        Block::Answer(words) => format!("<p class=\"answer\">{}</p>\n", text(words)),
        Block::Words(words) => format!("<p>{}</p>\n", text(words)),
        Block::List(items) => {
            let items: String = items
                .iter()
                .map(|i| format!("<li>{}</li>\n", text(i)))
                .collect();
            format!("<ul class=\"words\">\n{items}</ul>\n")
        }
        Block::Grid(heads, rows) => grid(heads, rows),
        Block::Columns(heads, rows) => grid(&crate::explain::heads(heads), rows),
        Block::Table(data) if data.caption.is_empty() => parts::bare(data, &mut Notes::default()),
        Block::Table(data) => parts::table_under(data, &mut Notes::default()),
        Block::Groups(data) => stages::groups(data),
        Block::Delays(data) => delays::chapter(data, at),
        Block::Timeline(data) => figure(
            &timeline::draw(data, &format!("timeline-{at}")),
            "What each resource does in the steady state, from the simulation. Filled boxes are on the \
             critical circuit; hollow ones work beside it. Numbers are frames.",
        ),
        Block::Roofline(data, _) => figure(
            &roofline::draw(data, &format!("roofline-{at}")),
            "Data against size on logarithmic scales. No mark can lie above a ceiling of its direction. A cost of each \
             packet is a slope, a cost of each byte is level; marks well below all ceilings wait for one another.",
        ),
    }
}

fn figure(svg: &str, caption: &str) -> String {
    format!("<figure class=\"wide\">\n<figcaption>{caption}</figcaption>\n{svg}</figure>\n")
}

fn grid(heads: &[(&str, bool)], rows: &[Vec<String>]) -> String {
    let class = |number: bool| if number { " class=\"n\"" } else { "" };
    let mut out =
        String::from("<div class=\"scroll\" tabindex=\"0\"><table class=\"grid\">\n<thead><tr>");
    for (name, number) in heads {
        out.push_str(&format!(
            "<th scope=\"col\"{}>{}</th>",
            class(*number),
            xml(name)
        ));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for cells in rows {
        out.push_str("<tr>");
        for (cell, (_, number)) in cells.iter().zip(heads) {
            let text = xml(&line(cell));
            let bar = !cell.is_empty() && cell.chars().all(|c| c == '#' || c == '.');
            let text = if bar {
                format!("<code>{text}</code>")
            } else {
                text
            };
            out.push_str(&format!("<td{}>{text}</td>", class(*number)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}
