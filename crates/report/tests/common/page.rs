//! A page of a datasheet as text, and its tables as cells.

use wirelab_report::{Format, Options, render};
use wirelab_trial::ResultsFile;

/// The page of a file in a format.
pub fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

/// The rows of a Markdown table of the page as cells, without commas between groups of digits.
pub fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let part = page
        .split(heading)
        .nth(1)
        .unwrap_or_else(|| panic!("{heading} in {page}"));
    let part = part.split("\n##").next().unwrap();
    let lines = part
        .lines()
        .filter(|l| l.starts_with('|') && !l.starts_with("| ---"));
    let cells = |l: &str| {
        let l = l.strip_prefix("| ").unwrap_or(l);
        l.trim_end_matches(" |")
            .split(" | ")
            .map(|c| c.trim().replace(',', ""))
            .collect()
    };
    lines.map(|l| cells(&l.replace('\\', ""))).collect()
}
