//! A table of a study before it is written: the short form of [`crate::reader`], and its text.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_config::quoted;

use super::figure::FigureToken;
use crate::metric::Metric;
use crate::reader::filled;

/// A row: its label, and for each group the tokens with their lines.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRow {
    /// What the page calls it.
    pub label: String,
    /// The tokens of each group; empty where the group has no figure.
    pub groups: Vec<Vec<(String, usize)>>,
}

/// A `[[table]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableText {
    /// The comment above it.
    pub about: String,
    /// What all its trials have in common, as TOML.
    pub trial: Vec<(String, String)>,
    /// Its other keys with their values as TOML, beside columns, groups and rows.
    pub keys: Vec<(String, String)>,
    /// The columns as `KEY UNIT`.
    pub columns: Vec<String>,
    /// The groups as TOML; empty for a single group without keys.
    pub groups: Vec<String>,
    /// The rows.
    pub rows: Vec<PlanRow>,
}

impl PlanRow {
    fn text(&self, line: &mut usize) -> String {
        let mut cells = vec![quoted(&self.label)];
        for group in &self.groups {
            let mut words = Vec::new();
            for (token, at) in group {
                if at != line {
                    *line = *at;
                    words.push(format!("@{line}"));
                }
                words.push(token.clone());
            }
            cells.push(quoted(&words.join(" ")));
        }
        format!("[{}]", cells.join(", "))
    }
}

/// A token of a figure for a column of `unit`: with its own unit if that differs.
pub fn token(figure: &FigureToken, unit: Option<&str>) -> String {
    match figure.unit {
        Some(own) if Some(own) != unit && figure.token != "-" => format!("{}{own}", figure.token),
        _ => figure.token.clone(),
    }
}

impl TableText {
    /// Whether no row has a figure.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Leaves out rows beyond the number that the study still takes. Returns how many are left for others, and whether any
    /// was left out.
    pub fn limit(&mut self, most: usize) -> (usize, bool) {
        let mut left = most;
        let before = self.rows.len();
        self.rows.retain(|row| {
            let rows = row.groups.iter().filter(|group| !group.is_empty()).count();
            let fits = rows <= left;
            left = if fits { left - rows } else { 0 };
            fits
        });
        (left, self.rows.len() < before)
    }

    /// The number of published figures, without conditions of the trial.
    pub fn figures(&self) -> usize {
        let of = |column: &String| {
            let keys = column.split(' ').next().unwrap_or_default();
            keys.split('+')
                .filter(|key| key.parse::<Metric>().is_ok())
                .count()
        };
        let each: Vec<usize> = self.columns.iter().map(of).collect();
        let groups = self.rows.iter().flat_map(|row| &row.groups);
        let figures = groups.flat_map(|group| group.iter().zip(&each));
        let figures = figures.filter(|((token, _), _)| token != "-");
        figures.map(|(_, figures)| figures).sum()
    }

    /// Its text.
    pub fn text(&self) -> String {
        let mut text = String::from("[[table]]");
        if !self.about.is_empty() {
            let about: String = self
                .about
                .chars()
                .filter(|c| !c.is_control())
                .take(100)
                .collect();
            text.push_str(&format!(" # {about}"));
        }
        text.push('\n');
        let pairs: Vec<String> = self
            .trial
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let trial = (!pairs.is_empty())
            .then(|| ("trial".to_owned(), format!("{{ {} }}", pairs.join(", "))));
        for (key, value) in self.keys.iter().chain(&trial) {
            // The reader names rows by their labels.
            if key != "name" || value != "\"{label}\"" {
                text.push_str(&format!("{key:<7} = {value}\n"));
            }
        }
        let columns: Vec<String> = self.columns.iter().map(|c| quoted(c)).collect();
        text.push_str(&format!("columns = [{}]\n", columns.join(", ")));
        if !self.groups.is_empty() {
            text.push_str(&format!("groups  = [{}]\n", self.groups.join(", ")));
        }
        let mut line = 0;
        let rows: Vec<String> = self.rows.iter().map(|row| row.text(&mut line)).collect();
        text.push_str(&format!("rows    = [{}]\n", rows.join(",\n           ")));
        text
    }

    /// Appends the rows of another table with the same groups, with the columns of both.
    pub fn join(&mut self, mut other: TableText) {
        let (before, after) = (self.clone(), other.clone());
        for (own, theirs) in [(&mut *self, &after), (&mut other, &before)] {
            for (key, value) in own.trial.clone() {
                let same = theirs.trial.iter().any(|(k, v)| *k == key && *v == value);
                if !same {
                    own.add_column(&key, &value);
                }
            }
        }
        if self.columns != other.columns {
            self.split();
            other.split();
            let mut at = 0;
            for column in &other.columns {
                match self.columns.iter().position(|known| known == column) {
                    Some(known) => at = known + 1,
                    None => {
                        self.insert(at, column.clone());
                        at += 1;
                    }
                }
            }
            other.lay_out(&self.columns);
        }
        self.rows.extend(other.rows);
    }

    /// A value that all trials share becomes the first column.
    fn add_column(&mut self, key: &str, value: &str) {
        self.trial.retain(|(known, _)| known != key);
        let token = value.trim_matches('"').to_owned();
        let unit = if ["datagram", "frame", "length", "payload"].contains(&key) {
            " B"
        } else {
            ""
        };
        let key = if key == "payload" {
            "trial.payload"
        } else {
            key
        };
        self.columns.insert(0, format!("{key}{unit}"));
        for group in self.rows.iter_mut().flat_map(|row| &mut row.groups) {
            if let Some((_, line)) = group.first().cloned() {
                group.insert(0, (token.clone(), line));
            }
        }
    }

    /// Puts the tokens of each row into the order of other columns.
    fn lay_out(&mut self, columns: &[String]) {
        let own = std::mem::replace(&mut self.columns, columns.to_vec());
        for group in self.rows.iter_mut().flat_map(|row| &mut row.groups) {
            let Some((_, line)) = group.first().cloned() else {
                continue;
            };
            let token = |column: &String| {
                let at = own.iter().position(|known| known == column);
                let token = at.and_then(|at| group.get(at).cloned());
                token.unwrap_or_else(|| ("-".to_owned(), line))
            };
            *group = columns.iter().map(token).collect();
        }
    }

    /// Inserts an empty column.
    fn insert(&mut self, at: usize, column: String) {
        let at = at.min(self.columns.len());
        self.columns.insert(at, column);
        for group in self.rows.iter_mut().flat_map(|row| &mut row.groups) {
            let near = group.get(at.saturating_sub(1)).or(group.last());
            if let Some((_, line)) = near.cloned() {
                group.insert(at.min(group.len()), ("-".to_owned(), line));
            }
        }
    }

    /// Columns of two meanings become two columns.
    fn split(&mut self) {
        while let Some(at) = self.columns.iter().position(|column| column.contains('+')) {
            let (first, rest) = self.columns[at].split_once('+').unwrap_or_default();
            let unit = rest
                .split_once(' ')
                .map_or(String::new(), |(_, unit)| format!(" {unit}"));
            let (first, rest) = (format!("{first}{unit}"), rest.to_owned());
            self.columns[at] = first;
            self.columns.insert(at + 1, rest);
            for group in self.rows.iter_mut().flat_map(|row| &mut row.groups) {
                if let Some(token) = group.get(at).cloned() {
                    group.insert(at, token);
                }
            }
        }
    }

    /// The names that its rows get from a template, as far as the reader fills it.
    pub fn names(&self, template: &str, groups: &[String]) -> Vec<String> {
        let mut names = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            for (group, tokens) in row.groups.iter().enumerate() {
                if tokens.iter().all(|(token, _)| token == "-") {
                    continue;
                }
                let mut places = BTreeMap::new();
                for (column, (token, _)) in self.columns.iter().zip(tokens) {
                    let key = column.split(' ').next().unwrap_or_default();
                    for key in key.split('+') {
                        let key = key.strip_prefix("trial.").unwrap_or(key);
                        places.insert(key.to_owned(), token.clone());
                    }
                }
                let group = groups.get(group).cloned().unwrap_or_default();
                places.insert("label".to_owned(), row.label.clone());
                places.insert("group".to_owned(), group);
                places.insert("n".to_owned(), (at + 1).to_string());
                names.push(filled(template, &places));
            }
        }
        names
    }

    /// Chooses the first template whose names are new, and remembers them.
    pub fn name(&mut self, templates: &[String], groups: &[String], taken: &mut BTreeSet<String>) {
        let last = templates.last().cloned().unwrap_or_default();
        let is_new = |names: &[String]| {
            let mut distinct = BTreeSet::new();
            let fresh = |name: &String| {
                !name.is_empty()
                    && name.chars().count() <= 90
                    && !taken.contains(name)
                    && distinct.insert(name.clone())
            };
            names.iter().all(fresh)
        };
        let numbered = (1..50).map(|n| format!("{last} #{{n}}.{n}"));
        let mut all = templates.iter().cloned().chain(numbered);
        let chosen = all.find(|template| is_new(&self.names(template, groups)));
        let chosen = chosen.unwrap_or(last);
        taken.extend(self.names(&chosen, groups));
        self.keys.insert(0, ("name".to_owned(), quoted(&chosen)));
    }
}
