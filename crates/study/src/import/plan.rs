//! A table of a study before it is written: the short form of [`crate::reader`], and its text.

use std::collections::BTreeSet;

use wirelab_config::quoted;

use super::figure::Figure;

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
pub struct Plan {
    /// What stands above it as a comment.
    pub about: String,
    /// Its keys with their values as TOML, beside columns, groups and rows.
    pub keys: Vec<(String, String)>,
    /// The columns as `KEY UNIT`.
    pub columns: Vec<String>,
    /// The groups as TOML; empty where there is only one, which says nothing.
    pub groups: Vec<String>,
    /// The rows.
    pub rows: Vec<PlanRow>,
}

/// A token of a figure for a column of `unit`: with its own unit where that is another.
pub fn token(figure: &Figure, unit: Option<&str>) -> String {
    match figure.unit {
        Some(own) if Some(own) != unit && figure.token != "-" => format!("{}{own}", figure.token),
        _ => figure.token.clone(),
    }
}

impl Plan {
    /// Whether no row has a figure.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of figures.
    pub fn figures(&self) -> usize {
        let groups = self.rows.iter().flat_map(|row| &row.groups);
        groups.flatten().filter(|(token, _)| token != "-").count()
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
        for (key, value) in &self.keys {
            text.push_str(&format!("{key:<7} = {value}\n"));
        }
        let columns: Vec<String> = self.columns.iter().map(|c| quoted(c)).collect();
        text.push_str(&format!("columns = [{}]\n", columns.join(", ")));
        if !self.groups.is_empty() {
            text.push_str(&format!("groups  = [{}]\n", self.groups.join(", ")));
        }
        text.push_str("rows    = [\n");
        let mut line = 0;
        for row in &self.rows {
            let mut cells = vec![quoted(&row.label)];
            for group in &row.groups {
                let mut words = Vec::new();
                for (token, at) in group {
                    if *at != line {
                        line = *at;
                        words.push(format!("@{line}"));
                    }
                    words.push(token.clone());
                }
                cells.push(quoted(&words.join(" ")));
            }
            text.push_str(&format!("  [{}],\n", cells.join(", ")));
        }
        text.push_str("]\n");
        text
    }

    /// The sums that a table of latencies implies: a point named as the total is that of the others.
    pub fn sums(&self) -> Vec<String> {
        let total = |group: &String| {
            let name = group.to_lowercase();
            name.contains("point") && name.contains("total")
        };
        let Some(at) = self.groups.iter().position(total) else {
            return Vec::new();
        };
        let latency = self.columns.len() == 1 && self.columns[0].starts_with("latency ");
        if !latency || self.groups.len() < 3 {
            return Vec::new();
        }
        let name = self.keys.iter().find(|(key, _)| key == "name");
        let template = name.map_or("{label}", |(_, value)| value.trim_matches('"'));
        let points: Vec<String> = self.groups.iter().map(|group| group_name(group)).collect();
        let of = |row: &PlanRow| {
            if row
                .groups
                .iter()
                .any(|group| !matches!(group.as_slice(), [(token, _)] if token != "-"))
            {
                return None;
            }
            let one = Plan {
                rows: vec![row.clone()],
                ..self.clone()
            };
            let names = one.names(template, &points);
            let cell = |name: &String| quoted(&format!("{name}/latency"));
            let parts: Vec<String> = names
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != at)
                .map(|(_, n)| cell(n))
                .collect();
            Some(format!(
                "[[sum]]\ntotal = {}\nparts = [{}]\n",
                cell(&names[at]),
                parts.join(", ")
            ))
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// Sets a key.
    pub fn set(&mut self, key: &str, value: String) {
        match self.keys.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.keys.push((key.to_owned(), value)),
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
                let mut name = template.replace("{label}", &row.label);
                name = name.replace("{n}", &(at + 1).to_string());
                name = name.replace("{group}", groups.get(group).map_or("", String::as_str));
                for (column, (token, _)) in self.columns.iter().zip(tokens) {
                    let key = column.split(' ').next().unwrap_or_default();
                    for key in key.split('+') {
                        let key = key.strip_prefix("trial.").unwrap_or(key);
                        name = name.replace(&format!("{{{key}}}"), token);
                    }
                }
                names.push(name.trim().to_owned());
            }
        }
        names
    }

    /// Chooses the first template whose names are new, and remembers them.
    pub fn name(&mut self, templates: &[String], groups: &[String], taken: &mut BTreeSet<String>) {
        let last = templates.last().cloned().unwrap_or_default();
        let is_new = |names: &[String]| {
            let mut seen = BTreeSet::new();
            let fresh = |name: &String| {
                !name.is_empty()
                    && name.chars().count() <= 90
                    && !taken.contains(name)
                    && seen.insert(name.clone())
            };
            names.iter().all(fresh)
        };
        let numbered = (1..1000).map(|n| format!("{last} #{{n}}.{n}"));
        let mut all = templates.iter().cloned().chain(numbered);
        let chosen = all.find(|template| is_new(&self.names(template, groups)));
        let chosen = chosen.unwrap_or(last);
        taken.extend(self.names(&chosen, groups));
        self.keys.insert(0, ("name".to_owned(), quoted(&chosen)));
    }
}

/// The name in a group's TOML.
fn group_name(group: &str) -> String {
    let rest = group.split_once("name = \"").map_or("", |(_, rest)| rest);
    rest.split('"').next().unwrap_or_default().to_owned()
}
