//! A page as text, its pictures as data, and its tables as cells.

use wirelab_report::{Format, Options, render};
use wirelab_trial::ResultsFile;

/// The page of a file in a format.
pub fn text(file: &ResultsFile, format: Format) -> String {
    render(file, format, &Options::default())
}

/// An HTML page without its program, its style and their hashes, which are of `web/`.
pub fn own(html: &str) -> String {
    let cut = |text: &str, from: &str, to: &str| {
        let (before, rest) = text.split_once(from).expect(from);
        let (_, after) = rest.split_once(to).expect(to);
        format!("{before}{from}…{to}{after}")
    };
    let page = cut(html, "<style>", "</style>");
    let page = cut(&page, "<script>", "</script>");
    cut(&page, "Security-Policy\" content=\"", "\"")
}

/// The data of the pictures of a page.
pub fn pictures(html: &str) -> Vec<serde_json::Value> {
    let (_, rest) = html.split_once("id=\"wirelab-data\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("an end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    data["pictures"].as_array().expect("pictures").clone()
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
