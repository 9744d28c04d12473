//! One table of a study from columns with their keys: its groups, its columns, its rows and its other keys.

use wirelab_config::quoted;
use wirelab_trial::{Direction, Layer};
use wirelab_wire::Size;

use super::Facts;
use super::figure::{FigureToken, figures};
use super::grid::GridCell;
use super::parts::{Class, Column, Parts};
use super::plan::{PlanRow, TableText, token};
use super::words::{LabelFacts, said, short_rate, sized, words};
use crate::table::Forwarding;

/// Letters of a label: a name has the heading of its table and the group as well.
const LONGEST_LABEL: usize = 36;

/// A table before its rows have names.
pub struct Draft {
    pub plan: TableText,
    /// The names of its groups.
    pub groups: Vec<String>,
    pub layer: Layer,
}

/// A group, and its columns with their keys.
pub type Grouped<'p> = (Group, Vec<(String, &'p Column)>);

/// What a group of columns says, in terms of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub size: Option<(u32, Option<&'static str>)>,
    pub load: Option<(String, &'static str)>,
    pub direction: Option<Direction>,
    pub layer: Option<Layer>,
    pub point: Option<String>,
    pub datasheet: bool,
    /// The board, if each has its columns.
    pub node: Option<String>,
    pub link: Option<u64>,
    pub forwarding: Option<Forwarding>,
}

impl Group {
    /// What the headings of a column say that its rows do not: a row's own direction has priority over a heading such as
    /// "received".
    pub fn of(column: &Column, class: &Class, layer: Layer, direction: Direction) -> Group {
        let said = &column.said;
        Group {
            size: said.size,
            load: said.load.clone(),
            direction: said
                .direction
                .filter(|said| class.direction.is_none() && *said != direction),
            layer: said
                .layer
                .filter(|said| class.layer.is_none() && *said != layer),
            point: None,
            datasheet: said.datasheet,
            node: None,
            link: said.link,
            forwarding: said.forwarding.filter(|_| class.forwarding.is_none()),
        }
    }

    fn name(&self) -> String {
        let load = self.load.as_ref();
        let parts = [
            self.node.clone(),
            self.layer.map(|layer| layer.word().to_owned()),
            self.direction.map(|direction| direction.to_string()),
            self.size.map(|(bytes, _)| format!("{bytes} B")),
            load.map(|(token, unit)| format!("at {token} {unit}")),
            self.point.clone(),
            self.link.map(short_rate),
            self.forwarding.map(|forwarding| forwarding.to_string()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Its keys as TOML; `layer` is that of its table.
    fn keys(&self, layer: Layer) -> String {
        let text = |key: &str, value: String| format!("{key} = {}", quoted(&value));
        let name = self.name();
        let load = self.load.as_ref().map(|(token, unit)| {
            let prefix = unit.trim_end_matches("bit/s").trim_end_matches("pps");
            let end = if unit.ends_with("pps") { "pps" } else { "" };
            format!("{token}{prefix}{end}")
        });
        let size = |(bytes, word)| format!("{} = {bytes}", size_key(layer, word, bytes));
        let pairs = [
            (!name.is_empty()).then(|| text("name", name)),
            self.node.clone().map(|node| text("node", node)),
            self.layer.map(|own| text("layer", own.word().to_owned())),
            self.direction
                .map(|direction| text("direction", direction.to_string())),
            self.size.map(size),
            load.map(|load| text("load", load)),
            self.link.map(|link| text("rate", short_rate(link))),
            self.forwarding
                .map(|forwarding| text("forwarding", forwarding.to_string())),
            self.point.clone().map(|point| text("point", point)),
            self.datasheet.then(|| "datasheet = true".to_owned()),
        ];
        let pairs: Vec<String> = pairs.into_iter().flatten().collect();
        format!("{{ {} }}", pairs.join(", "))
    }
}

/// The key of a trial for a size that a page gives by a word.
pub fn size_key(layer: Layer, word: Option<&str>, bytes: u32) -> &'static str {
    match (layer, word) {
        (Layer::Ethernet, Some("frame")) => "frame",
        (Layer::Ethernet, Some("payload")) => "payload",
        // The sizes of RFC 2544 are of frames; up to a payload of 1500 a packet is what the driver gets.
        (Layer::Ethernet, _) if Size::RFC_2544_FRAMES.contains(&bytes) => "frame",
        (Layer::Ethernet, _) if bytes == 1500 => "payload",
        (Layer::Ethernet, _) if bytes < 60 => "payload",
        (Layer::Ethernet, _) => "length",
        (_, Some("frame")) => "frame",
        _ => "datagram",
    }
}

/// The default unit of a key whose heading has none.
fn default_unit(key: &str) -> Option<&'static str> {
    match key {
        "cpu_load" | "loss" | "efficiency" | "share_of_limit" => Some("%"),
        "frames_per_s" => Some("frames/s"),
        "datagram" | "frame" | "length" | "trial.payload" => Some("B"),
        "window" => Some("KiB"),
        _ => None,
    }
}

/// One table of a class: groups of the same columns.
pub struct ClassTable<'p, 'g> {
    pub parts: &'p Parts<'g>,
    pub class: &'p Class,
    pub layer: Layer,
    pub direction: Direction,
    /// The columns of conditions that all groups share.
    pub shared: &'p [(String, &'p Column)],
    pub groups: Vec<Grouped<'p>>,
}

/// Conditions that the label of each row gives, so that they are columns of their own.
#[derive(Clone, Copy)]
struct LabelColumns {
    size: bool,
    load: bool,
}

/// A token, and its line of the page.
type TokenAt = (String, usize);

impl ClassTable<'_, '_> {
    /// The table as text; `None` where no row has a figure.
    pub fn plan(&self, facts: &Facts, notes: &mut Vec<String>) -> Option<Draft> {
        let parts = self.parts;
        let rows = parts.body().iter();
        let rows: Vec<&Vec<GridCell>> =
            rows.filter(|row| parts.class(row) == *self.class).collect();
        let labels: Vec<LabelFacts> = rows.iter().map(|row| parts.said(row)).collect();
        let has = |wanted: &str| self.shared.iter().any(|(key, _)| key == wanted);
        let sizes = ["datagram", "frame", "length", "trial.payload"];
        let is_sized =
            sizes.into_iter().any(has) || self.groups.iter().any(|(group, _)| group.size.is_some());
        let of_labels = LabelColumns {
            size: !is_sized && labels.iter().all(|said| said.size.is_some()),
            load: !has("load") && labels.iter().all(|said| said.load.is_some()),
        };
        let mut plan = TableText {
            about: self.about(),
            columns: self.columns(of_labels, &labels[0]),
            ..TableText::default()
        };
        for (row, said) in rows.iter().zip(&labels) {
            let first = self.conditions(row, said, of_labels);
            let groups = self.groups.iter();
            let groups = groups.map(|(_, columns)| self.tokens(row, &first, columns, notes));
            let groups: Vec<Vec<TokenAt>> = groups.collect();
            if groups.iter().any(|group| !group.is_empty()) {
                plan.rows.push(PlanRow {
                    label: parts.label(row).chars().take(LONGEST_LABEL).collect(),
                    groups,
                });
            }
        }
        if plan.is_empty() {
            return None;
        }
        self.keys(&mut plan, facts, is_sized || of_labels.size);
        Some(Draft {
            plan,
            groups: self.groups.iter().map(|(group, _)| group.name()).collect(),
            layer: self.layer,
        })
    }

    /// The columns as `KEY UNIT`; `first` is what the label of the first row says.
    fn columns(&self, of_labels: LabelColumns, first: &LabelFacts) -> Vec<String> {
        let mut columns = Vec::new();
        if of_labels.size {
            let (bytes, word) = first.size.unwrap_or((0, None));
            let mut heads = self.parts.columns.iter();
            let word = word.or_else(|| heads.find_map(|c| sized(&words(&c.head))));
            let key = match size_key(self.layer, word, bytes) {
                "payload" => "trial.payload",
                other => other,
            };
            columns.push(format!("{key} B"));
        }
        if of_labels.load {
            let unit = first.load.as_ref().map_or("", |(_, unit)| unit);
            columns.push(format!("load {unit}"));
        }
        if self.parts.grid.iperf {
            columns.push("interval".to_owned());
        }
        for (key, column) in self.shared.iter().chain(&self.groups[0].1) {
            let unit = column.unit.or_else(|| default_unit(key)).unwrap_or("");
            let named = |key: &str| format!("{key} {unit}").trim_end().to_owned();
            if key == "tags" {
                columns.extend(self.class.tags.iter().map(|tag| {
                    let direction = said(tag).direction;
                    let direction = direction.map_or("sum".to_owned(), |d| d.to_string());
                    named(&format!("throughput_{direction}"))
                }));
            } else {
                columns.push(named(key));
            }
        }
        columns
    }

    /// The tokens of a row before those of its groups.
    fn conditions(
        &self,
        row: &[GridCell],
        said: &LabelFacts,
        of_labels: LabelColumns,
    ) -> Vec<TokenAt> {
        let line = row.first().map_or(0, |cell| cell.line);
        let size = of_labels.size.then(|| {
            let size = said.size.map(|(bytes, _)| bytes.to_string());
            size.unwrap_or_default()
        });
        let load = of_labels.load.then(|| {
            let load = said.load.as_ref().map(|(token, _)| token.clone());
            load.unwrap_or_default()
        });
        let interval = self.parts.grid.iperf.then(|| {
            let number = super::iperf::number(&self.parts.label(row));
            number.map_or("-".to_owned(), |n| n.to_string())
        });
        let tokens = [size, load, interval].into_iter().flatten();
        tokens.map(|token| (token, line)).collect()
    }

    fn about(&self) -> String {
        let line = self.parts.grid.line();
        match self
            .parts
            .grid
            .context
            .last()
            .filter(|text| !text.is_empty())
        {
            Some(context) => format!("{context}, line {line}"),
            None => format!("line {line}"),
        }
    }

    /// The tokens of a row for one group; empty where it has no figure of a metric.
    fn tokens(
        &self,
        row: &[GridCell],
        first: &[TokenAt],
        columns: &[(String, &Column)],
        notes: &mut Vec<String>,
    ) -> Vec<TokenAt> {
        let mut tokens = first.to_vec();
        let mut any = false;
        for (at, (key, column)) in self.shared.iter().chain(columns).enumerate() {
            let empty = GridCell::default();
            let cell = row.get(column.at).unwrap_or(&empty);
            let wanted = if key == "tags" {
                self.class.tags.len()
            } else {
                1
            };
            let found = match figures(&cell.text) {
                Ok(found) if found.len() == wanted => found,
                _ => {
                    notes.push(format!(
                        "line {}: '{}' below '{}' is left out: it is not read as a figure",
                        cell.line,
                        cell.text.chars().take(60).collect::<String>(),
                        column.head
                    ));
                    vec![FigureToken::none(); wanted]
                }
            };
            let unit = column.unit.or_else(|| default_unit(key));
            any |= at >= self.shared.len() && found.iter().any(|f| f.token != "-");
            tokens.extend(found.iter().map(|figure| (token(figure, unit), cell.line)));
        }
        if any { tokens } else { Vec::new() }
    }

    /// Adds the trial, the groups and the other keys of the table.
    fn keys(&self, plan: &mut TableText, facts: &Facts, is_sized: bool) {
        let mut trial = |key: &str, value: String| plan.trial.push((key.to_owned(), value));
        trial("layer", quoted(self.layer.word()));
        trial("direction", quoted(&self.direction.to_string()));
        let context = &self.parts.context;
        let size = context
            .size
            .or_else(|| facts.size_at(self.parts.grid.line()));
        match size {
            _ if is_sized => {}
            // TCP fills its segments, whatever the application writes.
            _ if self.layer.is_tcp() => trial("datagram", "1460".to_owned()),
            Some((bytes, word)) => trial(size_key(self.layer, word, bytes), bytes.to_string()),
            None => {}
        }
        if let (true, Some((token, unit))) = (self.parts.grid.iperf, &context.load) {
            trial("load", quoted(&format!("{token}{unit}")));
        }
        let mut key = |key: &str, value: &str| plan.keys.push((key.to_owned(), quoted(value)));
        if let Some(forwarding) = self.class.forwarding {
            key("forwarding", &forwarding.to_string());
        }
        let groups = || self.groups.iter().map(|(group, _)| group);
        if groups().all(|group| *group == Group::default()) {
            return;
        }
        plan.groups = groups().map(|group| group.keys(self.layer)).collect();
        // A point that is named as the total is the sum of the others.
        let is_total = |group: &&Group| {
            let point = group.point.as_ref();
            point.is_some_and(|point| point.to_lowercase().contains("total"))
        };
        let mut totals = groups().filter(is_total);
        if let (Some(total), None, 3..) = (totals.next(), totals.next(), self.groups.len()) {
            key("total", &total.name());
        }
    }
}
