//! A table of a file: its keys, its sections, and where it stands.

use std::fmt::Display;
use std::ops::Range;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::entry::Entry;
use crate::error::{FileError, Read};

/// The text, and what turns a place in it into a line and a column.
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

/// A table, what it is called, and where it stands.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    name: Rc<str>,
    span: Range<usize>,
}

/// Read a text as TOML and hand its top table to `with`. `file` is the name that errors give.
///
/// # Errors
/// [`FileError::At`] where the text is no TOML, and whatever `with` refuses.
pub fn read<T>(text: &str, file: &str, with: impl FnOnce(&Table<'_>) -> Read<T>) -> Read<T> {
    let source = Source { file, text };
    let document = DeTable::parse(text)
        .map_err(|e| source.error(e.span().unwrap_or(0..0), "TOML", e.message()))?;
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

    /// Where in the text it begins, in bytes.
    pub fn place(&self) -> usize {
        self.span.start
    }

    /// Line of its header, counted from 1.
    pub fn line(&self) -> usize {
        self.source.place(self.span.start).0
    }

    /// Its keys, in the order of the alphabet.
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

    /// The value under a key that must be there.
    ///
    /// # Errors
    /// Where it is not; `way_out` says what to write.
    pub fn need(&self, key: &str, way_out: &str) -> Read<Entry<'a>> {
        self.get(key)
            .ok_or_else(|| self.error(key, format!("it is missing: {way_out}")))
    }

    /// The text under a key, if it is there.
    ///
    /// # Errors
    /// Where it is no text.
    pub fn text(&self, key: &str) -> Read<Option<String>> {
        self.get(key).map(|e| e.text()).transpose()
    }

    /// The table under a key, if it is there.
    ///
    /// # Errors
    /// Where it is none.
    pub fn section(&self, key: &str) -> Read<Option<Table<'a>>> {
        self.get(key).map(|e| e.table()).transpose()
    }

    /// The tables under a key that is written as `[[key]]`.
    ///
    /// # Errors
    /// Where it is written otherwise.
    pub fn sections(&self, key: &str) -> Read<Vec<Table<'a>>> {
        let Some(entry) = self.get(key) else {
            return Ok(Vec::new());
        };
        let wrong = || {
            let field = qualified(&self.name, key);
            entry.error(format!(
                "write each {key} as a section of its own: [[{field}]]"
            ))
        };
        if !entry.is_list() {
            return Err(wrong());
        }
        let all = entry.entries().into_iter();
        all.map(|e| e.table().map_err(|_| wrong())).collect()
    }

    /// The tables under a key that is written as `[key.NAME]`, with their names.
    ///
    /// # Errors
    /// Where it is written otherwise.
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

    /// Refuse keys that are not known, with the nearest one that is.
    ///
    /// # Errors
    /// At the first key that is not known.
    pub fn known_keys(&self, known: &[&str]) -> Read<()> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let meant = did_you_mean(name, known.iter().copied());
            let what = format!("no such key: {meant}The keys here are {}", known.join(", "));
            let field = qualified(&self.name, head(name));
            return Err(self.source.error(key.span(), &field, what));
        }
        Ok(())
    }

    /// An error at the table's header about a key that is not there.
    pub fn error(&self, key: &str, what: impl Display) -> FileError {
        self.source
            .error(self.span.clone(), &qualified(&self.name, key), what)
    }

    /// An error at the table's header.
    pub fn error_here(&self, what: impl Display) -> FileError {
        self.source.error(self.span.clone(), &self.name, what)
    }

    /// An error at a key, or at the header where it is not there.
    pub fn at_key(&self, key: &str, what: impl Display) -> FileError {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.source.error(span, &qualified(&self.name, key), what)
    }
}

pub(crate) fn as_table<'a>(value: &'a Spanned<DeValue<'a>>) -> Option<&'a DeTable<'a>> {
    value.get_ref().as_table()
}

/// `did you mean 'x'? ` where one of the known words is near, or nothing.
pub fn did_you_mean<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> String {
    known
        .map(|k| (strsim::damerau_levenshtein(k, head(word)), k))
        .min()
        .filter(|(distance, k)| *distance <= k.len().div_ceil(3).max(2))
        .map_or(String::new(), |(_, k)| format!("did you mean '{k}'? "))
}

/// The first 64 characters: a hostile key may be long.
fn head(name: &str) -> &str {
    let end = name.char_indices().nth(64).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

fn qualified(table: &str, key: &str) -> String {
    let key = head(key);
    if table.is_empty() {
        key.to_owned()
    } else {
        format!("{table}.{key}")
    }
}
