//! Reads the short form of a table: `[[table]]` with columns, groups and rows of tokens, and `[[note]]` with remarks
//! on single rows of it.
//!
//! Each row of each group is written as a `[[row]]` and read by [`super::row`]: the short form can say nothing that
//! the long one cannot.

use std::cell::Cell as Flag;
use std::collections::BTreeMap;

use wirelab_config::trial::TRIAL_KEYS;
use wirelab_config::{Entry, FileError, Read, Table, quoted, read};
use wirelab_trial::nearest::unknown;

use super::row::{Keys, OF_ROWS, row};
use super::{MAX_CLAIMS, list, too_many};
use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity};
use crate::table::{CellName, Row, Sum};

/// Keys of a table beside those of its rows.
const TABLE_KEYS: [&str; 6] = ["name", "total", "columns", "groups", "rows", "trial"];
/// Keys of rows whose text may have placeholders.
const FILLED: [&str; 4] = ["node", "point", "set", "column"];
/// Keys of a row that a column may give.
const OF_COLUMNS: [&str; 4] = ["point", "node", "interval", "window"];
const NOTE_KEYS: [&str; 11] = [
    "rows",
    "trial",
    "role",
    "reason",
    "node",
    "point",
    "interval",
    "set",
    "column",
    "window",
    "datasheet",
];
/// A token for a figure that the page does not have.
const NONE: &str = "-";

/// Remarks on single rows of tables.
pub(super) struct Note<'a> {
    names: Vec<Entry<'a>>,
    own: Table<'a>,
    used: Flag<bool>,
}

pub(super) fn notes<'a>(top: &Table<'a>) -> Read<Vec<Note<'a>>> {
    let sections = top.sections("note")?;
    if let Some(section) = sections.get(MAX_CLAIMS) {
        return Err(section.error_here(too_many(MAX_CLAIMS)));
    }
    let of = |own: Table<'a>| {
        own.known_keys(&NOTE_KEYS)?;
        let names = own.need(
            "rows",
            "name the rows that it is about, e.g. [\"UDP RX *\"]",
        )?;
        let names = names.entries();
        for name in &names {
            name.text()?;
        }
        Ok(Note {
            names,
            own,
            used: Flag::new(false),
        })
    };
    sections.into_iter().map(of).collect()
}

impl Note<'_> {
    /// Whether it applies to a row of that name; `*` stands for any text.
    fn is_about(&self, name: &str) -> bool {
        let matches = |entry: &Entry<'_>| entry.text().is_ok_and(|wanted| fits(&wanted, name));
        let about = self.names.iter().any(matches);
        self.used.set(self.used.get() || about);
        about
    }

    /// A note that applies to no row has a wrong name.
    pub(super) fn unused(&self) -> Option<FileError> {
        (!self.used.get()).then(|| {
            self.own.at_key(
                "rows",
                "no row of a [[table]] has such a name; fix: correct it, or leave the note out",
            )
        })
    }
}

/// Whether `pattern`, in which `*` stands for any text, is the whole of `text`.
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A column: what its figures are, and their unit.
struct Column {
    keys: Vec<String>,
    unit: String,
}

/// Reads `KEY+KEY UNIT`.
fn column(entry: &Entry<'_>) -> Read<Column> {
    let text = entry.text()?;
    let (keys, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let keys: Vec<String> = keys.split('+').map(str::to_owned).collect();
    for key in &keys {
        if of_trial(key).is_some() || OF_COLUMNS.contains(&key.as_str()) {
            continue;
        }
        key.parse::<Metric>().map_err(|_| {
            let metrics = Metric::ALL.iter().map(|metric| metric.name());
            let known = metrics.chain(TRIAL_KEYS).chain(OF_COLUMNS);
            entry.error(unknown("metric or key of a trial", key, known))
        })?;
    }
    let unit = unit.trim().to_owned();
    Ok(Column { keys, unit })
}

/// The key of a trial that a column gives: `trial.payload`, or `load` where no metric has that name.
fn of_trial(key: &str) -> Option<&str> {
    if let Some(key) = key.strip_prefix("trial.") {
        return TRIAL_KEYS.contains(&key).then_some(key);
    }
    let metric = key.parse::<Metric>().is_ok();
    (!metric && TRIAL_KEYS.contains(&key)).then_some(key)
}

/// What all rows of a table, or of one of its groups, have in common.
struct Common<'a> {
    name: String,
    trial: BTreeMap<String, String>,
    keys: BTreeMap<&'static str, Entry<'a>>,
}

fn common<'a>(table: &Table<'a>) -> Read<Common<'a>> {
    let trial = match table.section("trial")? {
        Some(trial) => pairs(&trial),
        None => BTreeMap::new(),
    };
    Ok(Common {
        name: table.text("name")?.unwrap_or_default(),
        trial,
        keys: OF_ROWS
            .into_iter()
            .filter_map(|key| Some((key, table.get(key)?)))
            .collect(),
    })
}

fn pairs(table: &Table<'_>) -> BTreeMap<String, String> {
    let pairs = table.keys();
    pairs
        .filter_map(|key| Some((key.to_owned(), table.get(key)?.to_toml())))
        .collect()
}

/// A group: `{ name = "…", datagram = 64 }`, with keys of a trial and of a row.
fn group<'a>(entry: &Entry<'a>) -> Read<Common<'a>> {
    let table = entry.table()?;
    let of_rows = OF_ROWS.into_iter().chain(["trial", "name"]);
    let known: Vec<&str> = of_rows.chain(TRIAL_KEYS).collect();
    table.known_keys(&known)?;
    let mut group = common(&table)?;
    let of_trial = TRIAL_KEYS.into_iter();
    group.trial.extend(of_trial.filter_map(|key| {
        let value = table.get(key)?.to_toml();
        Some((key.to_owned(), value))
    }));
    Ok(group)
}

/// Takes a row; its first argument makes an error with the row's position.
pub(super) type RowSink<'a> = dyn FnMut(&dyn Fn(String) -> FileError, Row) -> Read<()> + 'a;

/// What all rows of a `[[table]]` share.
struct Matrix<'t> {
    columns: Vec<Column>,
    groups: Vec<Common<'t>>,
    shared: Common<'t>,
    total: Option<(usize, Metric)>,
}

impl<'t> Matrix<'t> {
    fn of(table: &Table<'t>) -> Read<Matrix<'t>> {
        let columns = table.need(
            "columns",
            "write what each column has, e.g. [\"load M\", \"cpu_load %\"]",
        )?;
        let columns: Vec<Column> = list(&columns)?.iter().map(column).collect::<Read<_>>()?;
        let groups: Vec<Common<'_>> = match table.get("groups") {
            Some(groups) => list(&groups)?.iter().map(group).collect::<Read<_>>()?,
            None => vec![Common {
                name: String::new(),
                trial: BTreeMap::new(),
                keys: BTreeMap::new(),
            }],
        };
        let total = table.get("total");
        Ok(Matrix {
            total: total.map(|e| total_of(&e, &groups, &columns)).transpose()?,
            shared: common(table)?,
            columns,
            groups,
        })
    }

    /// The label of a line, and the cells of its groups.
    fn cells(&self, line: &Entry<'t>) -> Read<(String, Vec<Entry<'t>>)> {
        let mut cells = match line.is_list() {
            true => line.entries(),
            false => Vec::new(),
        };
        let wanted = self.groups.len();
        if cells.len() != wanted + 1 {
            return Err(line.invalid(format!(
                "write a name and the figures of {wanted} group{}, each in quotes",
                if wanted == 1 { "" } else { "s" }
            )));
        }
        Ok((label(&cells.remove(0))?, cells))
    }
}

/// Reads the rows of one `[[table]]` and gives each to `take`. An error in one row does not hide other rows.
pub(super) fn rows(
    table: &Table<'_>,
    defaults: Option<&Table<'_>>,
    notes: &[Note<'_>],
    wrong: &mut Vec<FileError>,
    sums: &mut Vec<Sum>,
    take: &mut RowSink<'_>,
) -> Read<()> {
    table.known_keys(&[&TABLE_KEYS[..], &OF_ROWS].concat())?;
    let matrix = Matrix::of(table)?;
    let lines = table.need("rows", "write each row as [\"name\", \"figures\"]")?;
    if !lines.is_list() {
        return Err(lines.invalid("write a list of rows: [[\"name\", \"figures\"], …]"));
    }
    let mut source_line = None;
    for (at, line) in lines.entries().iter().enumerate() {
        let (label, cells) = match matrix.cells(line) {
            Ok(read) => read,
            Err(error) => {
                wrong.push(error);
                continue;
            }
        };
        let mut names = Vec::new();
        for (group, cell) in matrix.groups.iter().zip(&cells) {
            let one = MatrixRow {
                shared: &matrix.shared,
                group,
                columns: &matrix.columns,
                label: &label,
                number: at + 1,
                cell,
            };
            let taken = match one.read(defaults, notes, &mut source_line) {
                Ok(Some(row)) => {
                    names.push(row.name.clone());
                    take(&|what| cell.error(what), row)
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            wrong.extend(taken.err());
        }
        if let Some((at, metric)) = matrix.total.filter(|_| names.len() == cells.len()) {
            let cell = |row: String| CellName { row, metric };
            let total = cell(names.remove(at));
            let parts = names.into_iter().map(cell).collect();
            sums.push(Sum {
                line: line.line(),
                total,
                parts,
            });
        }
    }
    Ok(())
}

/// The group that is the sum of the others, and the one metric of the table.
fn total_of(entry: &Entry<'_>, groups: &[Common<'_>], columns: &[Column]) -> Read<(usize, Metric)> {
    let name = entry.text()?;
    let at = groups.iter().position(|group| group.name == name);
    let at = at.ok_or_else(|| {
        entry.error("no group of the table has this name; fix: write the name of one")
    })?;
    let keys = columns.iter().flat_map(|column| &column.keys);
    let mut metrics = keys.filter_map(|key| key.parse::<Metric>().ok());
    match (metrics.next(), metrics.next(), groups.len()) {
        (Some(metric), None, 3..) => Ok((at, metric)),
        _ => Err(entry.error(
            "a total needs two other groups, and a table of one metric; fix: write a [[sum]] instead",
        )),
    }
}

/// A label may be empty, unlike other texts.
fn label(entry: &Entry<'_>) -> Read<String> {
    if entry.is_text() {
        Ok(entry.text().unwrap_or_default())
    } else {
        entry.text()
    }
}

/// One row of one group.
struct MatrixRow<'a> {
    shared: &'a Common<'a>,
    group: &'a Common<'a>,
    columns: &'a [Column],
    label: &'a str,
    number: usize,
    cell: &'a Entry<'a>,
}

/// A figure or a condition, with the line of the page that it stands in.
struct Token<'a> {
    text: &'a str,
    line: Option<usize>,
}

/// The tokens of a row, and the line of the page that the last one stands in.
fn tokens<'a>(cell: &Entry<'_>, text: &'a str, line: &mut Option<usize>) -> Read<Vec<Token<'a>>> {
    let mut tokens = Vec::new();
    for word in text.split_whitespace() {
        match word.strip_prefix('@') {
            Some(number) => {
                let number = number.parse().ok().filter(|n| *n > 0);
                *line = Some(number.ok_or_else(|| {
                    cell.invalid("write the line of the page after @ as a number, e.g. @132")
                })?);
            }
            None => tokens.push(Token {
                text: word,
                line: *line,
            }),
        }
    }
    Ok(tokens)
}

/// Pairs as an inline table.
fn inline(pairs: Vec<String>) -> String {
    format!("{{ {} }}", pairs.join(", "))
}

/// A row as a section of its own.
fn section(
    name: &str,
    trial: &BTreeMap<String, String>,
    keys: &BTreeMap<&str, String>,
    published: &[(&str, String)],
) -> String {
    let mut text = format!("[row]\nname = {}\n", quoted(name));
    if !trial.is_empty() {
        let pairs = trial.iter().map(|(key, value)| format!("{key} = {value}"));
        text.push_str(&format!("trial = {}\n", inline(pairs.collect())));
    }
    for (key, value) in keys {
        text.push_str(&format!("{key} = {value}\n"));
    }
    let figures = published.iter();
    let figures = figures.map(|(metric, figure)| format!("{metric} = {figure}"));
    text.push_str(&format!("published = {}\n", inline(figures.collect())));
    text
}

impl MatrixRow<'_> {
    fn read(
        &self,
        defaults: Option<&Table<'_>>,
        notes: &[Note<'_>],
        source_line: &mut Option<usize>,
    ) -> Read<Option<Row>> {
        if !self.cell.is_text() {
            return Err(self.cell.invalid("write the figures of a row in quotes"));
        }
        let text = self.cell.text().unwrap_or_default();
        let tokens = tokens(self.cell, &text, source_line)?;
        if tokens.is_empty() || tokens.iter().all(|token| token.text == NONE) {
            return Ok(None);
        }
        if tokens.len() != self.columns.len() {
            return Err(self.cell.error(format!(
                "{} figures stand here, and the table has {} columns; fix: write {NONE} for one that the page does not have",
                tokens.len(),
                self.columns.len()
            )));
        }
        let (name, written) = self.written(&tokens, notes)?;
        let read = read(&written, "", |top| {
            let own = top.need("row", "write it")?.table()?;
            row(&Keys {
                own: &own,
                defaults,
            })
        });
        let mut row = read.map_err(|error| {
            let what = match error {
                FileError::At { field, what, .. } => format!("{field}: {what}"),
                other => other.to_string(),
            };
            let name: String = name.chars().take(60).collect();
            self.cell.error(format!("row '{name}': {what}"))
        })?;
        row.line = self.cell.line();
        for cell in &mut row.cells {
            cell.line = row.line;
            let of = self.columns.iter().zip(&tokens);
            let mut of =
                of.filter(|(column, _)| column.keys.iter().any(|k| k == cell.metric.name()));
            cell.source_line = of.next().and_then(|(_, token)| token.line);
        }
        Ok(Some(row))
    }

    /// The row's name, and the row as a section of its own.
    fn written(&self, tokens: &[Token<'_>], notes: &[Note<'_>]) -> Read<(String, String)> {
        let mut trial = self.shared.trial.clone();
        trial.extend(self.group.trial.clone());
        let mut keys = BTreeMap::new();
        let mut published = Vec::new();
        for (column, token) in self.columns.iter().zip(tokens) {
            if token.text == NONE {
                continue;
            }
            for key in &column.keys {
                if let Some(key) = of_trial(key) {
                    let value = value(key, token.text, &column.unit, true);
                    trial.insert(key.to_owned(), value);
                    continue;
                }
                let of_column = OF_COLUMNS.contains(&key.as_str());
                let value = value(key, token.text, &column.unit, of_column);
                if of_column {
                    keys.insert(key.as_str(), value);
                } else {
                    published.push((key.as_str(), value));
                }
            }
        }
        let places = self.places(tokens, &trial);
        let template = match self.shared.name.as_str() {
            "" => "{label}",
            template => template,
        };
        let name = filled(template, &places);
        let about: Vec<&Note<'_>> = notes.iter().filter(|note| note.is_about(&name)).collect();
        for common in [self.shared, self.group] {
            for (key, entry) in &common.keys {
                if !["role", "reason"].contains(key) {
                    keys.insert(key, self.of_key(key, entry, &places));
                }
            }
        }
        for note in &about {
            if let Some(of_note) = note.own.section("trial")? {
                trial.extend(pairs(&of_note));
            }
            for key in NOTE_KEYS
                .iter()
                .filter(|key| !["rows", "trial", "role", "reason"].contains(key))
            {
                if let Some(entry) = note.own.get(key) {
                    keys.insert(key, self.of_key(key, &entry, &places));
                }
            }
        }
        for key in ["role", "reason"] {
            if let Some(value) = self.of_metrics(key, &about, &published) {
                keys.insert(key, value);
            }
        }
        Ok((name.clone(), section(&name, &trial, &keys, &published)))
    }

    /// The role or the reason of each figure that has one, as TOML; the last note about the row has priority.
    fn of_metrics(
        &self,
        key: &str,
        about: &[&Note<'_>],
        published: &[(&str, String)],
    ) -> Option<String> {
        let of = |(metric, _): &(&str, String)| {
            let mut notes = about.iter().rev();
            let own = notes.find_map(|note| of_metric(&note.own.get(key)?, metric));
            let shared = || {
                let keys = self.group.keys.get(key).or(self.shared.keys.get(key));
                of_metric(keys?, metric)
            };
            Some(format!("{metric} = {}", own.or_else(shared)?))
        };
        let all: Vec<String> = published.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| inline(all))
    }

    /// A key's value as TOML, with its placeholders filled.
    fn of_key(&self, key: &str, entry: &Entry<'_>, places: &BTreeMap<String, String>) -> String {
        if !FILLED.contains(&key) {
            return entry.to_toml();
        }
        if let (true, Ok(text)) = (entry.is_text(), entry.text()) {
            return quoted(&filled(&text, places));
        }
        let Ok(table) = entry.table() else {
            return entry.to_toml();
        };
        let pairs = table.keys().filter_map(|key| {
            let value = table.get(key)?;
            let value = match value.text() {
                Ok(text) => quoted(&filled(&text, places)),
                Err(_) => value.to_toml(),
            };
            Some(format!("{} = {value}", quoted(key)))
        });
        format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
    }

    /// The values of the placeholders `{…}` in names.
    fn places(
        &self,
        tokens: &[Token<'_>],
        trial: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut places: BTreeMap<String, String> = trial
            .iter()
            .map(|(key, value)| (key.clone(), value.trim_matches('"').to_owned()))
            .collect();
        for (column, token) in self.columns.iter().zip(tokens) {
            for key in &column.keys {
                let key = key.strip_prefix("trial.").unwrap_or(key);
                places.insert(key.to_owned(), token.text.to_owned());
            }
        }
        places.insert("label".to_owned(), self.label.to_owned());
        places.insert("group".to_owned(), self.group.name.clone());
        places.insert("n".to_owned(), self.number.to_string());
        places
    }
}

/// The value of a role or reason for one metric: one for all, or one of a table by metric.
fn of_metric(entry: &Entry<'_>, metric: &str) -> Option<String> {
    if !entry.is_table() {
        return Some(entry.to_toml());
    }
    let table = entry.table().ok()?;
    Some(table.get(metric)?.to_toml())
}

/// `{label}` and the like replaced; other text is unchanged. A part in square brackets is left out if the row
/// has no figure for a placeholder in it.
pub fn filled(template: &str, places: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((part, after)) = after.split_once(']').filter(|(part, _)| part.contains('{'))
        else {
            text.push_str(before);
            text.push('[');
            rest = after;
            continue;
        };
        text.push_str(before);
        let lacks = |(key, token): (&String, &String)| {
            token == NONE && part.contains(&format!("{{{key}}}"))
        };
        if !places.iter().any(lacks) {
            text.push_str(part);
        }
        rest = after;
    }
    text.push_str(rest);
    let template = text;
    let mut text = String::new();
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        match after.split_once('}') {
            Some((key, after)) if places.contains_key(key) => {
                text.push_str(&places[key]);
                rest = after;
            }
            _ => {
                text.push('{');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    // Empty parts leave no gap.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Keys of a trial whose value is a number.
const NUMBERS: [&str; 8] = [
    "frame", "length", "payload", "datagram", "ports", "frames", "vlan", "interval",
];

/// A token as TOML, as the value of `key`.
fn value(key: &str, token: &str, unit: &str, of_trial: bool) -> String {
    if of_trial && NUMBERS.contains(&key) {
        let is_number =
            !token.is_empty() && token.len() < 16 && token.bytes().all(|b| b.is_ascii_digit());
        return if is_number {
            token
                .trim_start_matches('0')
                .parse::<u64>()
                .unwrap_or(0)
                .to_string()
        } else {
            quoted(token)
        };
    }
    let own_unit = token.contains(|c: char| c.is_alphabetic() && c != '_') || token.ends_with('%');
    let text = if own_unit || unit.is_empty() {
        token.to_owned()
    } else {
        format!("{token} {unit}")
    };
    if key != "load" {
        return quoted(&text);
    }
    // A load has the units of a trial; any rate of a table is one too.
    let rate = text.parse::<Quantity>().ok();
    let rate = rate.filter(|q| q.number > 0.0);
    quoted(&match rate.map(|q| (q.unit.dimension, q.base())) {
        Some((Dimension::Rate, bits)) => format!("{bits}bit/s"),
        Some((Dimension::FrameRate, frames)) => format!("{frames}pps"),
        _ => text.replace(' ', ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(fits("UDP RX *", "UDP RX 64 B"));
        assert!(fits("*64*", "UDP RX 64 B"));
        assert!(fits("a", "a"));
        assert!(fits("*", ""));
        assert!(!fits("a*b*c", "abx"));
        assert!(!fits("UDP RX", "UDP RX 64 B"));
        assert!(!fits("a*ab", "ab"));
    }

    #[test]
    fn tokens_become_values_of_their_keys() {
        assert_eq!(value("datagram", "064", "B", true), "64");
        assert_eq!(value("load", "5", "Mbit/s", true), "\"5000000bit/s\"");
        assert_eq!(value("load", "95", "%", true), "\"95%\"");
        assert_eq!(value("load", "max", "Mbit/s", true), "\"max\"");
        assert_eq!(value("latency", "5..7", "us", false), "\"5..7 us\"");
        assert_eq!(value("cpu_load", "37%", "%", false), "\"37%\"");
    }
}
