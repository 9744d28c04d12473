//! The page of a datasheet: the published layout, with pictures where people would rather look.

use wirelab_trial::ResultsFile;

use super::{curves, html_class, parts, search, styled_page};
use crate::datasheet::{
    Block, Datasheet, KINDS, below, blocks, page_command, round_trips, verdict,
};
use crate::escape::{line, xml};
use crate::format;
use crate::options::Options;
use crate::row;
use crate::summary;
use crate::table::Notes;

/// Style beside that of every page.
pub const STYLE: &str = include_str!("datasheet.css");

/// Characters that a row of a table may have, so that it is read without scrolling.
const ROOM: usize = 150;

/// The whole page.
pub fn render(file: &ResultsFile, page: &Datasheet, options: &Options) -> String {
    let title = xml(&line(&options.title_of(file)));
    let mut notes = Notes::default();
    let head = summary::head(file);
    let class = html_class(head);
    let mut main = format!(
        "<header>\n<h1>{title}</h1>\n<p class=\"quiet\">{}, wirelab {}</p>\n\
         <p class=\"verdict{class}\"><strong>{}</strong>{}</p>\n</header>\n",
        format::utc(file.created_unix_ns),
        xml(&file.wirelab_version),
        head.words(),
        xml(&verdict(file))
    );
    for (at, sheet) in page.sheets.iter().enumerate() {
        if page.sheets.len() > 1 {
            main.push_str(&format!("<h2>{}</h2>\n", xml(&line(&sheet.node))));
        }
        for block in blocks(sheet) {
            match block {
                Block::RatePictures => main.push_str(&curves::rates(sheet, at)),
                Block::EchoPictures => {
                    let series = round_trips(file, &sheet.node);
                    main.push_str(&curves::round_trips(&series, at));
                }
                block => main.push_str(&part(block, &mut notes)),
            }
        }
    }
    for block in below(file, page) {
        main.push_str(&part(block, &mut notes));
    }
    main.push_str(&search::pictures(file));
    main.push_str(&parts::warnings(&row::warnings_once(file)));
    main.push_str(&parts::notes(&notes, "Why figures are absent, and notes"));
    main.push_str(&parts::environment(file));
    let command = page_command(page).map_or(String::new(), |command| {
        format!("<p>Command: <code>{}</code></p>\n", xml(&line(&command)))
    });
    main.push_str(&format!(
        "<footer class=\"quiet\">\n<p><strong>Figures.</strong> {KINDS}</p>\n{command}</footer>\n"
    ));
    styled_page(&title, STYLE, &main)
}

/// Results side by side, as a page.
pub fn compared(title: &str, blocks: Vec<Block>) -> String {
    let title = xml(&line(title));
    let mut notes = Notes::default();
    let mut main = format!("<header>\n<h1>{title}</h1>\n</header>\n");
    for block in blocks {
        main.push_str(&part(block, &mut notes));
    }
    main.push_str(&parts::notes(&notes, "Why figures are absent, and notes"));
    main.push_str(&format!(
        "<footer class=\"quiet\">\n<p><strong>Figures.</strong> {KINDS}</p>\n</footer>\n"
    ));
    styled_page(&title, STYLE, &main)
}

fn part(block: Block, notes: &mut Notes) -> String {
    let text = |text: &str| xml(&line(text));
    match block {
        Block::Heading(depth, words) => {
            let depth = depth.min(6);
            format!("<h{depth}>{}</h{depth}>\n", text(&words))
        }
        Block::Setup(heads, rows) => {
            let mut out = format!(
                "<div class=\"scroll\" tabindex=\"0\"><table class=\"sheet setup\">\n<thead><tr><th>{}</th><th>{}</th></tr></thead>\n<tbody>\n",
                heads[0], heads[1]
            );
            for (name, value) in rows {
                let (name, value) = (text(&name), text(&value));
                out.push_str(&format!("<tr><th>{name}</th><td>{value}</td></tr>\n"));
            }
            out.push_str("</tbody>\n</table></div>\n");
            out
        }
        Block::Grid(grid) => {
            let link = |n: usize| format!("<sup><a href=\"#note-{n}\">{n}</a></sup>");
            let table = grid.html(notes, &link);
            format!("<div class=\"scroll\" tabindex=\"0\">{table}</div>\n")
        }
        Block::Table(mut table) => {
            table.narrow(ROOM);
            parts::table_under(&table, notes)
        }
        Block::Words(words) => format!("<p class=\"quiet\">{}</p>\n", text(&words)),
        Block::List(items) => {
            let items: String = items
                .iter()
                .map(|item| format!("<li>{}</li>\n", text(item)))
                .collect();
            format!("<ul class=\"findings\">\n{items}</ul>\n")
        }
        Block::Commands(commands) => {
            let items: String = commands
                .iter()
                .map(|(name, command)| {
                    format!("<li>{}: <code>{}</code></li>\n", text(name), text(command))
                })
                .collect();
            format!("<p><strong>Host PC commands</strong></p>\n<ul>\n{items}</ul>\n")
        }
        Block::RatePictures | Block::EchoPictures => String::new(),
    }
}
