//! A page of a datasheet as text, and its tables as cells.

use wirelab_report::{Format, Options, render};
use wirelab_trial::ResultsFile;

/// The page of a file in a format.
pub fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

/// The rows of a Markdown or HTML table of the page as cells, without commas between groups of digits.
pub fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let part = page
        .split(heading)
        .nth(1)
        .unwrap_or_else(|| panic!("{heading} in {page}"));
    let part = part.split("\n##").next().unwrap();
    if let Some((_, rest)) = part.split_once("<table class=\"grid-sheet\">") {
        let table = format!("<table>{}</table>", rest.split("</table>").next().unwrap());
        let table = roxmltree::Document::parse(&table).unwrap();
        let rows = table.descendants().filter(|n| n.has_tag_name("tr"));
        let cell = |c: roxmltree::Node<'_, '_>| {
            let words: Vec<_> = c
                .descendants()
                .filter_map(|t| t.text().filter(|_| t.is_text()))
                .collect();
            words.join(" ")
        };
        let cells = |row: roxmltree::Node<'_, '_>| row.children().map(cell).collect();
        return rows.map(cells).collect();
    }
    let lines = part
        .lines()
        .filter(|l| l.starts_with('|') && !l.starts_with("| ---"));
    let cells = |l: &str| {
        l.trim_matches('|')
            .split(" | ")
            .map(|c| c.trim().replace(',', ""))
            .collect()
    };
    lines.map(|l| cells(&l.replace('\\', ""))).collect()
}
