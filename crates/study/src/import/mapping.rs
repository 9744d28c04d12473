//! A mapping file: the meaning of a page's tables in the words of a study, and what a study states beyond its page.
//!
//! It is a study without figures. Its `[[table]]` sections select cells of the page in place of `rows`, and its `[[text]]`
//! sections select sentences; all other keys go into the study unchanged.

use wirelab_config::{Entry, Read, Table, quoted};

use super::figure::{FigureToken, figures};
use super::grid::{Document, Grid};
use super::parts::{heads, labels};
use super::pattern::RunningText;
use super::plan::{PlanRow, TableText, token};
use super::text;
use super::words::said;
use crate::quantity::Quantity;
use crate::reader::{MAX_PARTS, OF_ROWS, fits, too_many};

/// Keys of a table that say what it takes from the page.
const TAKING: [&str; 6] = ["take", "lines", "only", "size", "decimals", "split"];
/// Keys of a table that go into the study unchanged.
fn kept() -> impl Iterator<Item = &'static str> {
    ["name", "total", "trial"].into_iter().chain(OF_ROWS)
}

/// Keys at the top that go into the study unchanged.
const TOP: [&str; 6] = ["title", "source", "about", "node", "link", "clocks"];
/// Sections that go into the study unchanged.
const SECTIONS: [&str; 3] = ["note", "claim", "sum"];

/// The content of a mapping file.
#[derive(Debug, Default)]
pub struct Mapped {
    /// The keys at the top, as TOML.
    pub top: Vec<(String, String)>,
    /// `[defaults]`, as its keys and values.
    pub defaults: Vec<(String, String)>,
    /// The tables, filled from the page; `None` where the file leaves them to the importer.
    pub plans: Option<Vec<TableText>>,
    /// Notes, claims and sums: their section, and their keys and values.
    pub sections: Vec<(String, Vec<(String, String)>)>,
}

/// Reads a mapping file and fills its tables from the page.
///
/// # Errors
/// [`FileError`](wirelab_config::FileError) where the file is wrong, or the page does not have what it names.
pub fn read(text: &str, file: &str, page: &str, document: &Document) -> Read<Mapped> {
    wirelab_config::read(text, file, |top| mapped(top, page, document))
}

fn pairs(table: &Table<'_>, keys: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let pair = |key: String| {
        let value = table.get(&key)?.to_toml();
        Some((key, value))
    };
    keys.filter_map(pair).collect()
}

fn mapped(top: &Table<'_>, page: &str, document: &Document) -> Read<Mapped> {
    let known: Vec<&str> = TOP
        .into_iter()
        .chain(["defaults", "table", "text"])
        .chain(SECTIONS)
        .collect();
    top.known_keys(&known)?;
    let mut mapped = Mapped {
        top: pairs(top, TOP.into_iter().map(str::to_owned)),
        ..Mapped::default()
    };
    if let Some(defaults) = top.section("defaults")? {
        mapped.defaults = pairs(&defaults, defaults.keys().map(str::to_owned));
    }
    let running = RunningText::new(&document.lines);
    for section in SECTIONS {
        for table in top.sections(section)? {
            let mut all = pairs(&table, table.keys().map(str::to_owned));
            if section == "claim" {
                bound(&table, &running, &mut all)?;
            }
            mapped.sections.push((section.to_owned(), all));
        }
    }
    let (tables, texts) = (top.sections("table")?, top.sections("text")?);
    if tables.is_empty() && texts.is_empty() {
        return Ok(mapped);
    }
    let lines: Vec<&str> = page.lines().collect();
    let mut places: Vec<(usize, TableText)> = Vec::new();
    for table in &tables {
        places.push((table.place(), taken(table, document, &lines)?));
    }
    for table in &texts {
        places.push((table.place(), sentence(table, &running)?));
    }
    places.sort_by_key(|(place, _)| *place);
    mapped.plans = Some(places.into_iter().map(|(_, plan)| plan).collect());
    Ok(mapped)
}

fn texts(entry: &Entry<'_>) -> Read<Vec<String>> {
    entry.entries().iter().map(Entry::text).collect()
}

/// Lines `339` or `339-352`.
fn lines_of(entry: &Entry<'_>) -> Read<(usize, usize)> {
    let text = entry.text()?;
    let (from, to) = text.split_once('-').unwrap_or((&text, &text));
    let ends = (from.trim().parse().ok(), to.trim().parse().ok());
    match ends {
        (Some(from), Some(to)) if from >= 1 && from <= to => Ok((from, to)),
        _ => Err(entry.invalid("write lines of the page, e.g. \"339-352\"")),
    }
}

/// A row of the page: its label, its cells of figures with their lines.
struct Raw {
    label: String,
    line: usize,
    cells: Vec<(String, usize)>,
}

/// The rows that a table takes.
fn rows_of(table: &Table<'_>, document: &Document, page: &[&str]) -> Read<Vec<Raw>> {
    let range = table.get("lines").map(|e| lines_of(&e)).transpose()?;
    let within = |line: usize| range.is_none_or(|(from, to)| (from..=to).contains(&line));
    let rows = match table.get("take") {
        Some(take) => of_grid(grid_of(&take, document)?),
        None => {
            let Some((from, to)) = range else {
                return Err(table.error(
                    "take",
                    "it does not say what it takes; fix: write take = 2 for the second table of the page, take = \"words above it\", or lines = \"20-24\"",
                ));
            };
            of_lines(page, from, to)
        }
    };
    let only = table.get("only").map(|e| texts(&e)).transpose()?;
    let wanted = |label: &str| {
        only.as_ref()
            .is_none_or(|all| all.iter().any(|p| fits(p, label)))
    };
    let rows: Vec<Raw> = rows
        .into_iter()
        .filter(|row| {
            within(row.line)
                || row
                    .cells
                    .iter()
                    .any(|(_, line)| range.is_some() && within(*line))
        })
        .filter(|row| wanted(&row.label))
        .collect();
    if rows.is_empty() {
        let what = "the page has no such row; fix: correct take, lines or only";
        return Err(table.at_key(if only.is_some() { "only" } else { "take" }, what));
    }
    Ok(rows)
}

fn grid_of<'d>(take: &Entry<'_>, document: &'d Document) -> Read<&'d Grid> {
    let count = document.grids.len();
    if !take.is_text() {
        let number = take.whole(1, count.max(1) as u64)? as usize;
        return document.grids.get(number - 1).ok_or_else(|| {
            take.error("the page has no table; fix: write lines, e.g. lines = \"20-24\"")
        });
    }
    let words = take.text()?.to_lowercase();
    let has = |text: &String| text.to_lowercase().contains(&words);
    let found = document.grids.iter().find(|grid| {
        let heads = grid.rows.iter().take(2).flatten();
        grid.context.last().is_some_and(has) || heads.map(|cell| &cell.text).any(has)
    });
    found.ok_or_else(|| {
        take.error(format!(
            "none of the page's {count} tables has these words above it or in its headings; fix: write other words, or the number of the table"
        ))
    })
}

fn of_grid(grid: &Grid) -> Vec<Raw> {
    let labels = if grid.iperf { 1 } else { labels(grid) };
    let rows = grid.rows.iter().skip(heads(grid));
    let row = |row: &Vec<super::grid::GridCell>| {
        let mut label: Vec<&str> = Vec::new();
        for cell in row.iter().take(labels) {
            if !cell.text.is_empty() && !label.contains(&cell.text.as_str()) {
                label.push(&cell.text);
            }
        }
        let line = row.first().map_or(0, |cell| cell.line);
        let own = row.iter().skip(labels);
        let own = own.map(|cell| (cell.text.clone(), cell.line));
        // A report of iperf has its number as its first figure.
        let label = label.join(" ");
        let number = super::iperf::number(&label).filter(|_| grid.iperf);
        let number = number.map(|number| (number.to_string(), line));
        Raw {
            line,
            cells: number.into_iter().chain(own).collect(),
            label,
        }
    };
    rows.map(row).collect()
}

/// Lines of a plain text: all words are cells, the label is found from the right.
fn of_lines(page: &[&str], from: usize, to: usize) -> Vec<Raw> {
    let lines = page.iter().enumerate().skip(from - 1).take(to + 1 - from);
    let lines = lines.filter(|(_, text)| !text.trim().is_empty());
    lines
        .map(|(at, text)| Raw {
            label: text.trim().to_owned(),
            line: at + 1,
            cells: text::parts(text)
                .into_iter()
                .map(|part| (part, at + 1))
                .collect(),
        })
        .collect()
}

/// Restores points that a text has lost: 33 of 033 is 0.33.
fn with_point(token: &str, decimals: usize) -> String {
    let digits = token.bytes().all(|b| b.is_ascii_digit());
    if !digits || token.len() <= decimals || decimals == 0 {
        return token.to_owned();
    }
    let (whole, part) = token.split_at(token.len() - decimals);
    format!("{whole}.{part}")
}

/// Figures without a gap between them, by the number of digits before the point of each; 0 for the rest.
fn split(text: &str, digits: &[usize]) -> Option<Vec<String>> {
    let mut rest = text.trim().trim_end_matches(['%', ' ']);
    let mut parts = Vec::new();
    for wanted in digits.iter().rev() {
        if *wanted == 0 {
            parts.push(std::mem::take(&mut rest));
            continue;
        }
        let decimals = match rest.rfind('.') {
            Some(at) => rest.len() - at,
            None => 0,
        };
        let at = rest.len().checked_sub(decimals + wanted)?;
        let part = rest.get(at..)?;
        parts.push(part);
        rest = &rest[..at];
    }
    parts.reverse();
    let number =
        |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (rest.is_empty() && parts.iter().all(number))
        .then(|| parts.into_iter().map(str::to_owned).collect())
}

/// How a table takes figures from rows.
struct Taking {
    columns: Vec<String>,
    groups: usize,
    size: Option<String>,
    decimals: usize,
    split: Vec<usize>,
}

fn taken(table: &Table<'_>, document: &Document, page: &[&str]) -> Read<TableText> {
    let known: Vec<&str> = TAKING
        .into_iter()
        .chain(kept())
        .chain(["columns", "groups"])
        .collect();
    table.known_keys(&known)?;
    let columns = table.need(
        "columns",
        "write what each column has, e.g. [\"load Mbit/s\", \"cpu_load %\"]",
    )?;
    let groups: Vec<String> = match table.get("groups") {
        Some(groups) if groups.is_list() => groups.entries().iter().map(Entry::to_toml).collect(),
        Some(groups) => return Err(groups.invalid("write a list of groups")),
        None => Vec::new(),
    };
    if groups.len() > MAX_PARTS {
        return Err(table.at_key("groups", too_many(MAX_PARTS)));
    }
    let small = |e: &Entry<'_>| e.whole(0, 20).map(|n| n as usize);
    let taking = Taking {
        columns: texts(&columns)?,
        groups: groups.len().max(1),
        size: table.text("size")?,
        decimals: table.get("decimals").map_or(Ok(0), |e| small(&e))?,
        split: match table.get("split") {
            Some(list) => list.entries().iter().map(small).collect::<Read<_>>()?,
            None => Vec::new(),
        },
    };
    let mut plan = TableText {
        keys: pairs(table, kept().map(str::to_owned)),
        groups,
        ..TableText::default()
    };
    let kept = taking.columns.iter().filter(|column| *column != "-");
    plan.columns = taking
        .size
        .iter()
        .map(|key| format!("{key} B"))
        .chain(kept.cloned())
        .collect();
    for raw in rows_of(table, document, page)? {
        let row = taking.row(&raw).map_err(|what| {
            let text: String = raw.label.chars().take(60).collect();
            table.at_key(
                "columns",
                format!("line {} of the page, '{text}': {what}", raw.line),
            )
        })?;
        plan.rows.push(row);
    }
    Ok(plan)
}

/// The unit of a column `KEY UNIT`.
fn unit_of(column: &str) -> Option<&str> {
    column.split_once(' ').map(|(_, unit)| unit.trim())
}

impl Taking {
    fn row(&self, raw: &Raw) -> Result<PlanRow, String> {
        let wanted = self.columns.len() * self.groups;
        let (label, found) = self.figures(raw, wanted)?;
        let size = match &self.size {
            Some(_) => {
                let size = said(&label)
                    .size
                    .ok_or("its label has no size in bytes; fix: leave size out")?;
                Some(size.0)
            }
            None => None,
        };
        let groups = found.chunks(self.columns.len()).map(|group| {
            let own = self
                .columns
                .iter()
                .zip(group)
                .filter(|(column, _)| *column != "-");
            let own = own.map(|(column, (figure, line))| {
                let token = token(figure, unit_of(column));
                (with_point(&token, self.decimals), *line)
            });
            let size = size.map(|bytes| (bytes.to_string(), raw.line));
            size.into_iter().chain(own).collect()
        });
        Ok(PlanRow {
            label: match size {
                Some(bytes) => bare(&label, bytes),
                None => label.clone(),
            },
            groups: groups.collect(),
        })
    }

    /// The label and as many figures as the columns want, the last ones of the row.
    fn figures(
        &self,
        raw: &Raw,
        wanted: usize,
    ) -> Result<(String, Vec<(FigureToken, usize)>), String> {
        if !self.split.is_empty() {
            let text: String = raw.cells.iter().map(|(text, _)| text.as_str()).collect();
            let parts = split(&text, &self.split)
                .ok_or("it cannot be split into so many digits; fix: correct split")?;
            let figure = |token: String| FigureToken {
                token,
                unit: None,
                tag: None,
            };
            let found = parts
                .into_iter()
                .map(|token| (figure(token), raw.line))
                .collect();
            return counted(String::new(), found, wanted);
        }
        let mut found: Vec<(FigureToken, usize)> = Vec::new();
        let mut at = raw.cells.len();
        while at > 0 && found.len() < wanted {
            let (text, line) = &raw.cells[at - 1];
            let Ok(all) = figures(text) else {
                break;
            };
            found.splice(0..0, all.into_iter().map(|figure| (figure, *line)));
            at -= 1;
        }
        let by_line = raw
            .cells
            .first()
            .is_some_and(|(text, _)| raw.label.starts_with(text.as_str()))
            && raw.cells.iter().all(|(_, line)| *line == raw.line);
        let label = if by_line {
            let words: Vec<&str> = raw.cells[..at]
                .iter()
                .map(|(text, _)| text.as_str())
                .collect();
            words.join(" ")
        } else {
            raw.label.clone()
        };
        counted(label, found, wanted)
    }
}

fn counted(
    label: String,
    found: Vec<(FigureToken, usize)>,
    wanted: usize,
) -> Result<(String, Vec<(FigureToken, usize)>), String> {
    if found.len() == wanted {
        return Ok((label, found));
    }
    Err(format!(
        "it has {} figures at its end, and the table has {wanted} columns; fix: correct columns, or take other rows with lines or only",
        found.len()
    ))
}

/// A label without its size.
fn bare(label: &str, bytes: u32) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    let text = bytes.to_string();
    let mut left = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == text {
            words.next_if(|next| matches!(next.to_lowercase().as_str(), "b" | "bytes" | "byte"));
        } else if word != format!("{text}B") {
            left.push(word);
        }
    }
    left.join(" ")
}

/// The figure of a claim out of the words of the page: `published = "<"` and words with `{published UNIT}`.
fn bound(table: &Table<'_>, running: &RunningText, pairs: &mut Vec<(String, String)>) -> Read<()> {
    let Some(words) = table.get("words") else {
        return Ok(());
    };
    pairs.retain(|(key, _)| key != "words");
    let (_, found) = running
        .find(&words.text()?)
        .map_err(|what| words.error(what))?;
    let Some(figure) = found.first() else {
        return Ok(());
    };
    let unit = figure.column.strip_prefix("published").map(str::trim);
    let unit =
        unit.ok_or_else(|| words.invalid("write {published UNIT} where the figure stands"))?;
    let relation = table.text("published")?.unwrap_or_default();
    let text = format!("{relation} {} {unit}", figure.token);
    pairs.retain(|(key, _)| key != "published");
    pairs.push(("published".to_owned(), quoted(text.trim())));
    Ok(())
}

/// A row whose figures are in sentences.
fn sentence(table: &Table<'_>, running: &RunningText) -> Read<TableText> {
    let known: Vec<&str> = kept().chain(["words", "published"]).collect();
    table.known_keys(&known)?;
    let name = table
        .need("name", "name the row for errors and claims")?
        .text()?;
    let keys = kept().filter(|key| *key != "name");
    let mut plan = TableText {
        keys: pairs(table, keys.map(str::to_owned)),
        ..TableText::default()
    };
    let mut tokens = Vec::new();
    let mut line = 0;
    if let Some(words) = table.get("words") {
        for pattern in words.entries() {
            let (at, found) = running
                .find(&pattern.text()?)
                .map_err(|what| pattern.error(what))?;
            line = if line == 0 { at } else { line };
            for figure in found {
                plan.columns.push(figure.column);
                tokens.push((figure.token, figure.line));
            }
        }
    }
    if let Some(published) = table.section("published")? {
        let keys: Vec<&str> = published.keys().collect();
        for key in keys {
            let Some(entry) = published.get(key) else {
                continue;
            };
            let figure: Quantity = entry.word()?;
            let printed = figure.to_string();
            let number = printed.strip_suffix(figure.unit.name).unwrap_or(&printed);
            let number = number.trim().replace(" to ", "..").replace(' ', "");
            plan.columns
                .push(format!("{key} {}", figure.unit.name).trim_end().to_owned());
            tokens.push((number, line));
        }
    }
    if tokens.is_empty() {
        return Err(table.error_here(
            "it has no figure; fix: write {METRIC UNIT} in its words where one stands, or published = { … }",
        ));
    }
    plan.keys.insert(0, ("name".to_owned(), quoted("{label}")));
    plan.rows.push(PlanRow {
        label: name,
        groups: vec![tokens],
    });
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glued_figures_are_split_by_their_digits() {
        assert_eq!(
            split("6665265.19%", &[0, 3, 2]).unwrap(),
            ["66", "652", "65.19"]
        );
        assert_eq!(
            split("149897497.35%", &[0, 3, 2]).unwrap(),
            ["1498", "974", "97.35"]
        );
        assert_eq!(split("x65265.19%", &[0, 3, 2]), None);
    }

    #[test]
    fn lost_points_are_restored() {
        assert_eq!(with_point("033", 2), "0.33");
        assert_eq!(with_point("1145", 2), "11.45");
        assert_eq!(with_point("0.2", 2), "0.2");
        assert_eq!(with_point("64", 2), "64");
        assert_eq!(bare("Rx PBUF 256 B", 256), "Rx PBUF");
        assert_eq!(bare("64 B", 64), "");
    }
}
