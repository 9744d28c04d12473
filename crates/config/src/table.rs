//! A table of a file with its keys, sections and position; and one value of it, and how it is read.

use std::fmt::Display;
use std::ops::Range;
use std::rc::Rc;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wirelab_trial::nearest::{did_you_mean, head, unknown};
use wirelab_trial::{Background, Layer};

use crate::error::{FileError, Read};
use crate::units::{HIGHEST_RATE, parse_duration_ps, parse_percent, parse_rate};

/// The text, and the conversion of a position into line and column.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    pub(crate) fn error(&self, span: Range<usize>, field: &str, what: impl Display) -> FileError {
        let (line, column) = self.place(span.start);
        FileError::At {
            file: self.file.to_owned(),
            line,
            column,
            field: field.to_owned(),
            what: what.to_string(),
        }
    }

    /// Line and column, counted from 1.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }
}

/// A table with its name and position.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    name: Rc<str>,
    span: Range<usize>,
}

/// Parse a text as TOML and pass its top table to `with`. `file` is its name in errors.
///
/// # Errors
/// [`FileError::At`] if the text is not TOML, and the errors of `with`.
pub fn read<T>(text: &str, file: &str, with: impl FnOnce(&Table<'_>) -> Read<T>) -> Read<T> {
    let source = Source { file, text };
    let document = DeTable::parse(text).map_err(|e| {
        let what = format!(
            "{}; fix: write TOML, e.g. key = \"value\", and each key once",
            e.message()
        );
        source.error(e.span().unwrap_or(0..0), "TOML", what)
    })?;
    with(&Table {
        source: &source,
        table: document.get_ref(),
        name: Rc::from(""),
        span: 0..0,
    })
}

impl<'a> Table<'a> {
    pub(crate) fn new(
        source: &'a Source<'a>,
        table: &'a DeTable<'a>,
        name: String,
        span: Range<usize>,
    ) -> Table<'a> {
        Table {
            source,
            table,
            name: Rc::from(name),
            span,
        }
    }

    /// Its name, e.g. `matrix` or `parameter.gap`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Offset of its start in the text, in bytes.
    pub fn place(&self) -> usize {
        self.span.start
    }

    /// Line of its header, counted from 1.
    pub fn line(&self) -> usize {
        self.source.place(self.span.start).0
    }

    /// Its keys, in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.table.keys().map(|key| key.get_ref().as_ref())
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(Entry::new(
            self.source,
            value,
            qualified(&self.name, key.get_ref()),
        ))
    }

    /// The value of a required key.
    ///
    /// # Errors
    /// If it is missing; `fix` says what to write.
    pub fn need(&self, key: &str, fix: &str) -> Read<Entry<'a>> {
        self.get(key)
            .ok_or_else(|| self.error(key, format!("it is missing; fix: {fix}")))
    }

    /// The text of a key, if present.
    ///
    /// # Errors
    /// If it is not a text.
    pub fn text(&self, key: &str) -> Read<Option<String>> {
        self.get(key).map(|e| e.text()).transpose()
    }

    /// The table of a key, if present.
    ///
    /// # Errors
    /// If it is not a table.
    pub fn section(&self, key: &str) -> Read<Option<Table<'a>>> {
        self.get(key).map(|e| e.table()).transpose()
    }

    /// The tables of a key that is written as `[[key]]`.
    ///
    /// # Errors
    /// If it is written otherwise.
    pub fn sections(&self, key: &str) -> Read<Vec<Table<'a>>> {
        let Some(entry) = self.get(key) else {
            return Ok(Vec::new());
        };
        let wrong = || {
            let field = qualified(&self.name, key);
            entry.error(format!(
                "it is not a list of sections; fix: write each {key} as a section of its own, [[{field}]]"
            ))
        };
        if !entry.is_list() {
            return Err(wrong());
        }
        let all = entry.entries().into_iter();
        all.map(|e| e.table().map_err(|_| wrong())).collect()
    }

    /// The tables of a key that is written as `[key.NAME]`, with their names.
    ///
    /// # Errors
    /// If it is written otherwise.
    pub fn named(&self, key: &str) -> Read<Vec<(String, Table<'a>)>> {
        let Some(group) = self.section(key)? else {
            return Ok(Vec::new());
        };
        let names = group.keys();
        names
            .map(|name| {
                let entry = group.get(name).expect("the key was just listed");
                Ok((name.to_owned(), entry.table()?))
            })
            .collect()
    }

    /// Refuse unknown keys, and suggest the nearest known one.
    ///
    /// # Errors
    /// At the first unknown key.
    pub fn known_keys(&self, known: &[&str]) -> Read<()> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let meant = did_you_mean(name, known.iter().copied());
            let what = format!("no such key; {meant}fix: write one of {}", known.join(", "));
            let field = qualified(&self.name, head(name));
            return Err(self.source.error(key.span(), &field, what));
        }
        Ok(())
    }

    /// An error at the table's header about a missing key.
    pub fn error(&self, key: &str, what: impl Display) -> FileError {
        self.source
            .error(self.span.clone(), &qualified(&self.name, key), what)
    }

    /// An error at the table's header.
    pub fn error_here(&self, what: impl Display) -> FileError {
        self.source.error(self.span.clone(), &self.name, what)
    }

    /// An error at a key, or at the header if the key is missing.
    pub fn at_key(&self, key: &str, what: impl Display) -> FileError {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.source.error(span, &qualified(&self.name, key), what)
    }
}

/// A text in quotes, as TOML.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn key_of(key: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !key.is_empty() && key.bytes().all(bare) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

fn toml_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => n.to_string(),
            Err(_) => n.as_str().to_owned(),
        },
        DeValue::Float(n) => n.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(values) => {
            let values: Vec<String> = values.iter().map(|v| toml_of(v.get_ref())).collect();
            format!("[{}]", values.join(", "))
        }
        DeValue::Table(table) => {
            let pairs = table.iter();
            let pairs = pairs.map(|(key, value)| {
                format!("{} = {}", key_of(key.get_ref()), toml_of(value.get_ref()))
            });
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

pub(crate) fn as_table<'a>(value: &'a Spanned<DeValue<'a>>) -> Option<&'a DeTable<'a>> {
    value.get_ref().as_table()
}

fn qualified(table: &str, key: &str) -> String {
    let key = head(key);
    if table.is_empty() {
        key.to_owned()
    } else {
        format!("{table}.{key}")
    }
}

/// Most values of a list.
pub const MAX_LIST: usize = 10_000;

/// A value and its key.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    source: &'a Source<'a>,
    value: &'a Spanned<DeValue<'a>>,
    field: Rc<str>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(
        source: &'a Source<'a>,
        value: &'a Spanned<DeValue<'a>>,
        field: String,
    ) -> Entry<'a> {
        Entry {
            source,
            value,
            field: Rc::from(field),
        }
    }

    /// Its line, counted from 1.
    pub fn line(&self) -> usize {
        self.source.place(self.value.span().start).0
    }

    /// An error at this value.
    pub fn error(&self, what: impl Display) -> FileError {
        self.source.error(self.value.span(), &self.field, what)
    }

    /// An error: this value does not suit its key. `fix` says what to write, e.g. `write true or false`.
    pub fn invalid(&self, fix: impl Display) -> FileError {
        let value = self.to_toml();
        self.error(format!("invalid value {}; fix: {fix}", head(&value)))
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// The value as TOML on one line, for a text that is put together of several values.
    pub fn to_toml(&self) -> String {
        toml_of(self.value.get_ref())
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// The values of a list, or the one value.
    pub fn entries(&self) -> Vec<Entry<'a>> {
        match self.value.get_ref() {
            DeValue::Array(values) => values
                .iter()
                .map(|value| Entry {
                    value,
                    ..self.clone()
                })
                .collect(),
            _ => vec![self.clone()],
        }
    }

    /// One value or a list of different ones; `twice` is the fix for a repeated one.
    ///
    /// # Errors
    /// If a value cannot be read or is in the list twice, or if the list is empty or too long.
    pub fn list<T: PartialEq>(
        &self,
        twice: &str,
        read: impl Fn(&Entry<'a>) -> Read<T>,
    ) -> Read<Vec<T>> {
        let entries = self.entries();
        // It also keeps the search for repeated values short.
        if entries.len() > MAX_LIST {
            let count = entries.len();
            return Err(self.error(format!(
                "{count} values are too many; fix: write at most {MAX_LIST}"
            )));
        }
        let mut list = Vec::new();
        for entry in entries {
            let item = read(&entry)?;
            if list.contains(&item) {
                return Err(entry.error(format!("it is in the list twice; fix: {twice}")));
            }
            list.push(item);
        }
        if list.is_empty() {
            return Err(self.error("the list is empty; fix: write a value, or leave the key out"));
        }
        Ok(list)
    }

    /// Its table.
    ///
    /// # Errors
    /// If it is not a table.
    pub fn table(&self) -> Read<Table<'a>> {
        let table = as_table(self.value)
            .ok_or_else(|| self.invalid("write a table, e.g. { key = \"value\" }"))?;
        let (name, span) = (self.field.to_string(), self.value.span());
        Ok(Table::new(self.source, table, name, span))
    }

    /// A text that is not empty.
    ///
    /// # Errors
    /// If it is not one.
    pub fn text(&self) -> Read<String> {
        match self.value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.to_string()),
            _ => Err(self.invalid("write a text in quotes")),
        }
    }

    /// A word of the command line, parsed by its type.
    ///
    /// # Errors
    /// If it is not one; the text is the type's.
    pub fn word<T: FromStr<Err: Display>>(&self) -> Read<T> {
        let DeValue::String(text) = self.value.get_ref() else {
            return Err(self.invalid("write it in quotes, as on the command line"));
        };
        text.parse().map_err(|e| self.error(e))
    }

    /// One of a fixed set of words, each with its value; `what` says what they are.
    ///
    /// # Errors
    /// If it is none of them, with the nearest.
    pub fn one_of<T: Clone>(&self, what: &str, known: &[(&str, T)]) -> Read<T> {
        let text = self.text()?;
        let found = known.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| value.clone()).ok_or_else(|| {
            let words = known.iter().map(|(word, _)| *word);
            self.error(unknown(what, &text, words))
        })
    }

    /// The second traffic of the trial, as on the command line; `none` for nothing.
    ///
    /// # Errors
    /// If it is neither; the text is the type's.
    pub fn background(&self) -> Read<Option<Background>> {
        match self.value.get_ref() {
            DeValue::String(text) if text == "none" => Ok(None),
            _ => self.word().map(Some),
        }
    }

    /// A layer: `ethernet`, `udp4`, `udp6`, `tcp4` or `tcp6`.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn layer(&self) -> Read<Layer> {
        self.one_of("layer", &Layer::ALL.map(|layer| (layer.word(), layer)))
    }

    /// A whole number from `min` to `max`.
    ///
    /// # Errors
    /// If it is not one.
    pub fn whole(&self, min: u64, max: u64) -> Read<u64> {
        self.value
            .get_ref()
            .as_integer()
            .and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok())
            .filter(|n| (min..=max).contains(n))
            .ok_or_else(|| self.invalid(format!("write a whole number from {min} to {max}")))
    }

    /// A finite number.
    ///
    /// # Errors
    /// If it is not one.
    pub fn number(&self) -> Read<f64> {
        self.any_number()
            .filter(|n| n.is_finite())
            .ok_or_else(|| self.invalid("write a number, e.g. 4.5"))
    }

    fn any_number(&self) -> Option<f64> {
        match self.value.get_ref() {
            DeValue::Float(n) => n.as_str().parse().ok(),
            DeValue::Integer(n) => n.as_str().parse().ok(),
            _ => None,
        }
    }

    /// A probability.
    ///
    /// # Errors
    /// If it is not a number from 0 to 1.
    pub fn probability(&self) -> Read<f64> {
        self.any_number()
            .filter(|n| (0.0..=1.0).contains(n))
            .ok_or_else(|| self.invalid("write a probability from 0 to 1, e.g. 1e-5"))
    }

    /// A share in percent, as a ratio: `"2.5 %"` is 0.025.
    ///
    /// # Errors
    /// If it is not a share, or not from `least` to `most` percent.
    pub fn percent(&self, least: f64, most: f64) -> Read<f64> {
        let text = self.value.get_ref().as_str();
        text.and_then(parse_percent)
            .filter(|ratio| (least..=most).contains(&(ratio * 100.0)))
            .ok_or_else(|| {
                self.invalid(format!(
                    "write a share from {least} to {most} percent in quotes, e.g. \"2.5 %\""
                ))
            })
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn flag(&self) -> Read<bool> {
        self.value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.invalid("write true or false"))
    }

    /// A duration in ps.
    ///
    /// # Errors
    /// If it is not one.
    pub fn duration(&self) -> Read<u64> {
        match self.value.get_ref().as_str() {
            Some(text) => parse_duration_ps(text).map_err(|e| self.error(e)),
            None => Err(self.invalid("write a duration in quotes, e.g. \"200ms\"")),
        }
    }

    /// A rate in bit/s.
    ///
    /// # Errors
    /// If it is not one.
    pub fn rate(&self) -> Read<u64> {
        match self.value.get_ref() {
            DeValue::String(text) => parse_rate(text).map_err(|e| self.error(e)),
            DeValue::Integer(_) => self.whole(1, HIGHEST_RATE),
            _ => Err(self.invalid("write bit/s, e.g. \"100M\"")),
        }
    }
}
