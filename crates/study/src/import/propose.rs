//! Proposes what the cells of a table are: layer, direction, size, load, metric and unit, from the words around them.

use std::collections::BTreeSet;

use wirelab_config::quoted;
use wirelab_wire::Size;

use super::figure::{FigureToken, figures};
use super::grid::{Grid, GridCell};
use super::parts::{Class, Column, Parts, classes, parts};
use super::plan::{PlanRow, TableText, token};
use super::words::{ColumnMeaning, LabelFacts, is_figure, said, short_rate, sized, words};
use super::{Asker, Facts, Question};
use crate::metric::Metric;
use crate::quantity::Dimension;
use crate::reader::MAX_ROWS;

/// The tables of a study that a grid gives, and the parts that are not read.
pub fn plans(
    grid: &Grid,
    facts: &Facts,
    asker: &mut dyn Asker,
    taken: &mut BTreeSet<String>,
    notes: &mut Vec<String>,
) -> Vec<TableText> {
    let Some(mut parts) = parts(grid) else {
        return Vec::new();
    };
    let metrics = parts
        .columns
        .iter()
        .any(|c| matches!(c.what, ColumnMeaning::Metric(_) | ColumnMeaning::Rate));
    if !metrics {
        let count = grid
            .rows
            .iter()
            .flatten()
            .filter(|cell| is_figure(&cell.text))
            .count();
        if count >= 6 {
            notes.push(format!(
                "line {}: a table with {count} figures is left out: its headings name no metric; fix: say what its columns have in a mapping file",
                grid.line()
            ));
        }
        return Vec::new();
    }
    if facts.of_networks && !of_network(&parts) {
        notes.push(format!(
            "line {}: a table is left out ({}): neither it nor its headings mention a network; fix: say what it has in a mapping file",
            grid.line(),
            grid.context.last().map_or("without a heading", String::as_str)
        ));
        return Vec::new();
    }
    units(&mut parts, asker);
    let mut drafts: Vec<Draft> = Vec::new();
    for class in classes(&parts) {
        for draft in of_class(&parts, &class, facts, asker, notes) {
            let same = |known: &&mut Draft| {
                known.groups == draft.groups
                    && known.plan.groups == draft.plan.groups
                    && known.plan.keys == draft.plan.keys
            };
            match drafts.iter_mut().find(same) {
                Some(known) => known.plan.join(draft.plan),
                None => drafts.push(draft),
            }
        }
    }
    let mut most = MAX_ROWS.saturating_sub(taken.len());
    for draft in &mut drafts {
        let (left, cut) = draft.plan.limit(most);
        most = left;
        if cut {
            notes.push(format!(
                "line {}: a study has at most {MAX_ROWS} rows, and the others are left out; fix: split the page",
                grid.line()
            ));
        }
    }
    drafts.retain(|draft| !draft.plan.is_empty());
    let named = drafts.into_iter().map(|mut draft| {
        let templates = templates(&draft, grid);
        draft.plan.name(&templates, &draft.groups, taken);
        draft.plan
    });
    named.collect()
}

/// Whether a table is about frames on a network, by its words; other tables of the page may be about disks or cameras.
pub fn of_network(parts: &Parts<'_>) -> bool {
    let heads = parts.columns.iter().map(|column| column.head.as_str());
    let rows = parts.body().iter().map(|row| parts.label(row));
    let labels: Vec<String> = rows.collect();
    let context = parts.grid.context.iter().map(String::as_str);
    let all: Vec<String> = heads
        .chain(labels.iter().map(String::as_str))
        .chain(context)
        .flat_map(words)
        .collect();
    parts.grid.iperf
        || all
            .iter()
            .any(|word| NETWORK.contains(&word.trim_end_matches('s')))
}

/// Words of tables about a network, without the plural s.
const NETWORK: [&str; 27] = [
    "udp", "tcp", "ethernet", "iperf", "iperf3", "netperf", "packet", "frame", "datagram", "rx",
    "tx", "pp", "kpp", "mpp", "mbp", "gbp", "ping", "lwip", "layer2", "l2", "mbit", "gbit", "kbit",
    "phy", "rtt", "port", "vlan",
];

/// Asks for the units that neither headings nor figures have, once for a table and kind of figure.
fn units(parts: &mut Parts<'_>, asker: &mut dyn Asker) {
    let line = parts.grid.line();
    let mut known: Vec<(Dimension, &'static str)> = Vec::new();
    for at in 0..parts.columns.len() {
        let column = &parts.columns[at];
        let dimension = match column.what {
            ColumnMeaning::Rate | ColumnMeaning::Offered => Dimension::Rate,
            ColumnMeaning::Metric(metric) => metric.dimension(),
            _ => continue,
        };
        let choices: &'static [&'static str] = match dimension {
            Dimension::Rate => &["Mbit/s", "kbit/s", "Gbit/s", "MB/s", "kB/s"],
            Dimension::Time => &["us", "ms", "ns", "s"],
            _ => continue,
        };
        let bare = |cell: &GridCell| {
            let found = figures(&cell.text).unwrap_or_default();
            found.iter().any(|f| f.unit.is_none() && f.token != "-")
        };
        let lacks = parts
            .body()
            .iter()
            .filter_map(|row| row.get(column.at))
            .any(bare);
        if column.unit.is_some() || !lacks {
            continue;
        }
        let unit = match known.iter().find(|(of, _)| *of == dimension) {
            Some((_, unit)) => unit,
            None => asker.choose(&Question {
                about: format!("line {line}: which unit has '{}'", column.own),
                choices,
                default: choices[0],
            }),
        };
        known.push((dimension, unit));
        parts.columns[at].unit = Some(unit);
    }
}

/// Letters of a label: a name has the heading of its table and the group as well.
const LONGEST_LABEL: usize = 36;

/// A table before its rows have names.
struct Draft {
    plan: TableText,
    /// The names of its groups.
    groups: Vec<String>,
    layer: &'static str,
}

/// A group, and its columns with their keys.
type Grouped<'p> = (Group, Vec<(String, &'p Column)>);

/// What a group of columns says, in terms of a study.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    name: String,
    size: Option<(u32, Option<&'static str>)>,
    load: Option<(String, &'static str)>,
    direction: Option<&'static str>,
    layer: Option<&'static str>,
    point: Option<String>,
    datasheet: bool,
    /// The board, if each has its columns.
    node: Option<String>,
    link: Option<u64>,
    forwarding: Option<&'static str>,
}

/// Asks what the words leave open, once for a class.
fn settled(
    class: &Class,
    parts: &Parts<'_>,
    asker: &mut dyn Asker,
) -> (&'static str, &'static str) {
    let shown = parts.grid.context.last().map_or("", String::as_str);
    let headed =
        |f: fn(&LabelFacts) -> Option<&'static str>| parts.columns.iter().find_map(|c| f(&c.said));
    let layer = class.layer.or_else(|| headed(|said| said.layer));
    let layer = layer.unwrap_or_else(|| {
        asker.choose(&Question {
            about: format!(
                "line {} ({shown}): which layer do the figures count",
                parts.grid.line()
            ),
            choices: &["udp4", "tcp4", "ethernet"],
            default: if parts.grid.iperf { "tcp4" } else { "ethernet" },
        })
    });
    let direction = class.direction.or_else(|| headed(|said| said.direction));
    let direction = direction.unwrap_or_else(|| {
        asker.choose(&Question {
            about: format!(
                "line {} ({shown}): in which direction do the frames go, as the node sees it",
                parts.grid.line()
            ),
            choices: &["transmit", "receive", "both", "echo"],
            default: "transmit",
        })
    });
    (layer, direction)
}

/// The key of a trial for a size that a page gives by a word.
fn size_key(layer: &str, word: Option<&str>, bytes: u32) -> &'static str {
    match (layer, word) {
        ("ethernet", Some("frame")) => "frame",
        ("ethernet", Some("payload")) => "payload",
        // The sizes of RFC 2544 are of frames; up to a payload of 1500 a packet is what the driver gets.
        ("ethernet", _) if Size::RFC_2544_FRAMES.contains(&bytes) => "frame",
        ("ethernet", _) if bytes == 1500 => "payload",
        ("ethernet", _) if bytes < 60 => "payload",
        ("ethernet", _) => "length",
        (_, Some("frame")) => "frame",
        _ => "datagram",
    }
}

/// What a column is called in a study: its keys, where it is one of figures or of conditions.
fn key_of(
    column: &Column,
    class: &Class,
    layer: &str,
    direction: &str,
    with_loss: bool,
    asker: &mut dyn Asker,
) -> Option<String> {
    let rate = |key: &str| Some(key.to_owned());
    match column.what {
        ColumnMeaning::Metric(Metric::Throughput) | ColumnMeaning::Rate
            if direction == "both" && class.tags.is_empty() =>
        {
            match column.said.direction {
                Some("receive") => rate("throughput_receive"),
                Some("transmit") => rate("throughput_transmit"),
                _ => rate("throughput_sum"),
            }
        }
        ColumnMeaning::Metric(metric) => rate(metric.name()),
        ColumnMeaning::Offered => rate("load"),
        ColumnMeaning::Size(word) => {
            let key = size_key(layer, word, column.first);
            rate(if key == "payload" {
                "trial.payload"
            } else {
                key
            })
        }
        ColumnMeaning::Window => rate("window"),
        ColumnMeaning::Interval | ColumnMeaning::Words | ColumnMeaning::Unknown => None,
        ColumnMeaning::Rate if !class.tags.is_empty() => Some("tags".to_owned()),
        ColumnMeaning::Rate if direction == "receive" && layer.starts_with("udp") && with_loss => {
            let default = if class.max { "load+throughput" } else { "load" };
            let answer = asker.choose(&Question {
                about: format!(
                    "'{}' of {}: was this rate offered to the node or carried by it",
                    column.own,
                    if class.max {
                        "the largest UDP receive rates"
                    } else {
                        "UDP receive rows with a loss"
                    }
                ),
                choices: &["load", "throughput", "load+throughput"],
                default,
            });
            rate(answer)
        }
        ColumnMeaning::Rate => rate("throughput"),
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

fn of_class(
    parts: &Parts<'_>,
    class: &Class,
    facts: &Facts,
    asker: &mut dyn Asker,
    notes: &mut Vec<String>,
) -> Vec<Draft> {
    let (layer, direction) = settled(class, parts, asker);
    let with_loss = parts
        .columns
        .iter()
        .any(|c| c.what == ColumnMeaning::Metric(Metric::Loss));
    let mut shared: Vec<(String, &Column)> = Vec::new();
    let mut grouped: Vec<Grouped<'_>> = Vec::new();
    let same = |metric: ColumnMeaning| parts.columns.iter().filter(|c| c.what == metric).count();
    for column in &parts.columns {
        let Some(key) = key_of(column, class, layer, direction, with_loss, asker) else {
            continue;
        };
        let of_trial = matches!(
            column.what,
            ColumnMeaning::Size(_) | ColumnMeaning::Offered | ColumnMeaning::Window
        );
        let latency =
            matches!(column.what, ColumnMeaning::Metric(Metric::Latency)) && same(column.what) > 1;
        let group = Group {
            name: String::new(),
            size: column.said.size,
            load: column.said.load.clone(),
            // A row's own direction has priority over a heading such as "received".
            direction: column
                .said
                .direction
                .filter(|said| class.direction.is_none() && *said != direction),
            layer: column
                .said
                .layer
                .filter(|said| class.layer.is_none() && *said != layer),
            // Names that differ only in link or direction are one point.
            point: (latency && column.said.link.is_none() && column.said.forwarding.is_none())
                .then(|| point(&column.head)),
            datasheet: column.said.datasheet,
            node: board(column, parts),
            link: column.said.link,
            forwarding: column
                .said
                .forwarding
                .filter(|_| class.forwarding.is_none()),
        };
        if of_trial && group.size.is_none() {
            shared.push((key, column));
            continue;
        }
        let known = grouped.iter().find(|(known, _)| *known == group);
        if known.is_some_and(|(_, columns)| columns.iter().any(|(known, _)| *known == key)) {
            notes.push(format!(
                "line {}: the column '{}' is left out: another one has the same figures; fix: say what it has in a mapping file",
                parts.grid.line(),
                column.head
            ));
            continue;
        }
        match grouped.iter_mut().find(|(known, _)| *known == group) {
            Some((_, columns)) => columns.push((key, column)),
            None => grouped.push((group, vec![(key, column)])),
        }
    }
    // Groups with the same columns are one table.
    let mut tables: Vec<Vec<Grouped<'_>>> = Vec::new();
    for (mut group, columns) in grouped {
        group.name = group_name(&group);
        let keys = |columns: &[(String, &Column)]| {
            columns
                .iter()
                .map(|(k, c)| (k.clone(), c.unit))
                .collect::<Vec<_>>()
        };
        match tables
            .iter_mut()
            .find(|table| keys(&table[0].1) == keys(&columns))
        {
            Some(table) => table.push((group, columns)),
            None => tables.push(vec![(group, columns)]),
        }
    }
    let mut plans = Vec::new();
    for table in tables {
        let one = Table {
            parts,
            class,
            layer,
            direction,
            shared: &shared,
            groups: table,
        };
        plans.extend(one.plan(facts, notes));
    }
    plans
}

/// The board that a heading such as `am62xx-evm: CPU load` names, if other columns have the same figure of another board.
fn board(column: &Column, parts: &Parts<'_>) -> Option<String> {
    let split = |column: &Column| {
        let (board, what) = column.own.split_once(": ")?;
        let plain = !board.is_empty() && !board.contains(['(', '[']) && board.len() <= 60;
        plain.then(|| (board.trim().to_owned(), what.trim().to_owned()))
    };
    let (name, what) = split(column)?;
    let others = parts.columns.iter().filter_map(split);
    let mut others = others.filter(|(board, other)| *other == what && *board != name);
    others.next().map(|_| name)
}

/// The name of a capture point: a heading without the words that all latencies share.
fn point(head: &str) -> String {
    let cut = head.split(['(', '[']).next().unwrap_or(head);
    let plain: Vec<&str> = cut
        .split_whitespace()
        .filter(|word| {
            !matches!(
                word.to_lowercase().as_str(),
                "latency" | "value" | "values" | "delay"
            )
        })
        .collect();
    let name = plain.join(" ");
    let name = if name.is_empty() {
        head.to_owned()
    } else {
        name
    };
    name.chars().take(60).collect()
}

fn group_name(group: &Group) -> String {
    let size = group.size.map(|(bytes, _)| format!("{bytes} B"));
    let load = group
        .load
        .as_ref()
        .map(|(token, unit)| format!("at {token} {unit}"));
    let parts = [
        group.node.clone(),
        group.layer.map(str::to_owned),
        group.direction.map(str::to_owned),
        size,
        load,
        group.point.clone(),
        group.link.map(short_rate),
        group.forwarding.map(str::to_owned),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// One table of a class: groups of the same columns.
struct Table<'p, 'g> {
    parts: &'p Parts<'g>,
    class: &'p Class,
    layer: &'static str,
    direction: &'static str,
    shared: &'p [(String, &'p Column)],
    groups: Vec<Grouped<'p>>,
}

impl Table<'_, '_> {
    fn plan(&self, facts: &Facts, notes: &mut Vec<String>) -> Option<Draft> {
        let parts = self.parts;
        let rows: Vec<&Vec<GridCell>> = parts
            .body()
            .iter()
            .filter(|row| parts.class(row) == *self.class)
            .collect();
        let of_rows: Vec<LabelFacts> = rows.iter().map(|row| parts.said(row)).collect();
        let layer = self.layer;
        // A size or load that the label of each row gives is a column of its own.
        let each = |f: &dyn Fn(&LabelFacts) -> bool| of_rows.iter().all(f);
        let has = |wanted: &str| self.shared.iter().any(|(key, _)| key == wanted);
        let any_size = ["datagram", "frame", "length", "trial.payload"]
            .iter()
            .any(|key| has(key));
        let group_size = self.groups.iter().any(|(group, _)| group.size.is_some());
        let size_of_rows = !any_size && !group_size && each(&|said| said.size.is_some());
        let load_of_rows = !has("load") && each(&|said| said.load.is_some());
        let mut plan = TableText {
            about: self.about(),
            ..TableText::default()
        };
        let key = |word: Option<&str>, bytes: u32| match size_key(layer, word, bytes) {
            "payload" => "trial.payload",
            other => other,
        };
        if size_of_rows {
            let first = of_rows[0].size.unwrap_or((0, None));
            let word = first
                .1
                .or_else(|| parts.columns.iter().find_map(|c| sized(&words(&c.head))));
            plan.columns.push(format!("{} B", key(word, first.0)));
        }
        if load_of_rows {
            let unit = of_rows[0].load.as_ref().map_or("", |(_, unit)| unit);
            plan.columns.push(format!("load {unit}"));
        }
        if parts.grid.iperf {
            plan.columns.push("interval".to_owned());
        }
        for (key, column) in self.shared.iter().chain(&self.groups[0].1) {
            let unit = column.unit.or_else(|| default_unit(key)).unwrap_or("");
            if key == "tags" {
                plan.columns.extend(self.class.tags.iter().map(|tag| {
                    let direction = said(tag).direction.unwrap_or("sum");
                    format!("throughput_{direction} {unit}")
                        .trim_end()
                        .to_owned()
                }));
            } else {
                plan.columns
                    .push(format!("{key} {unit}").trim_end().to_owned());
            }
        }
        for (row, of_row) in rows.iter().zip(&of_rows) {
            let line = row.first().map_or(0, |cell| cell.line);
            let mut first: Vec<(String, usize)> = Vec::new();
            if size_of_rows {
                first.push((
                    of_row
                        .size
                        .map_or_else(String::new, |(bytes, _)| bytes.to_string()),
                    line,
                ));
            }
            if load_of_rows {
                let load = of_row.load.as_ref();
                first.push((
                    load.map_or_else(String::new, |(token, _)| token.clone()),
                    line,
                ));
            }
            if parts.grid.iperf {
                let number = super::iperf::number(&parts.label(row));
                first.push((number.map_or("-".to_owned(), |n| n.to_string()), line));
            }
            let groups = self
                .groups
                .iter()
                .map(|(_, columns)| self.tokens(row, &first, columns, notes));
            let groups: Vec<Vec<(String, usize)>> = groups.collect();
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
        let sized_already = size_of_rows || any_size || group_size;
        self.keys(&mut plan, facts, sized_already);
        let names = self.groups.iter().map(|(group, _)| group.name.clone());
        Some(Draft {
            plan,
            groups: names.collect(),
            layer,
        })
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
        first: &[(String, usize)],
        columns: &[(String, &Column)],
        notes: &mut Vec<String>,
    ) -> Vec<(String, usize)> {
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
    fn keys(&self, plan: &mut TableText, facts: &Facts, sized_already: bool) {
        plan.trial.push(("layer".to_owned(), quoted(self.layer)));
        plan.trial
            .push(("direction".to_owned(), quoted(self.direction)));
        let context = &self.parts.context;
        if !sized_already {
            let size = context
                .size
                .or_else(|| facts.size_at(self.parts.grid.line()));
            let tcp = self.layer.starts_with("tcp");
            let size = match size {
                Some((bytes, word)) if !tcp => Some((size_key(self.layer, word, bytes), bytes)),
                // TCP fills its segments, whatever the application writes.
                _ if tcp => Some(("datagram", 1460)),
                _ => None,
            };
            let size = size.map(|(key, bytes)| (key.to_owned(), bytes.to_string()));
            plan.trial.extend(size);
        }
        if let (true, Some((token, unit))) = (self.parts.grid.iperf, &context.load) {
            plan.trial
                .push(("load".to_owned(), quoted(&format!("{token}{unit}"))));
        }
        if let Some(forwarding) = self.class.forwarding {
            plan.keys
                .push(("forwarding".to_owned(), quoted(forwarding)));
        }
        let said = self
            .groups
            .iter()
            .any(|(group, _)| *group != Group::default());
        if !said {
            return;
        }
        for (group, _) in &self.groups {
            let mut pairs = Vec::new();
            if !group.name.is_empty() {
                pairs.push(format!("name = {}", quoted(&group.name)));
            }
            if let Some(node) = &group.node {
                pairs.push(format!("node = {}", quoted(node)));
            }
            if let Some(layer) = group.layer {
                pairs.push(format!("layer = {}", quoted(layer)));
            }
            if let Some(direction) = group.direction {
                pairs.push(format!("direction = {}", quoted(direction)));
            }
            if let Some((bytes, word)) = group.size {
                pairs.push(format!("{} = {bytes}", size_key(self.layer, word, bytes)));
            }
            if let Some((token, unit)) = &group.load {
                let prefix = unit.trim_end_matches("bit/s").trim_end_matches("pps");
                let end = if unit.ends_with("pps") { "pps" } else { "" };
                pairs.push(format!(
                    "load = {}",
                    quoted(&format!("{token}{prefix}{end}"))
                ));
            }
            if let Some(link) = group.link {
                pairs.push(format!("rate = {}", quoted(&short_rate(link))));
            }
            if let Some(forwarding) = group.forwarding {
                pairs.push(format!("forwarding = {}", quoted(forwarding)));
            }
            if let Some(point) = &group.point {
                pairs.push(format!("point = {}", quoted(point)));
            }
            if group.datasheet {
                pairs.push("datasheet = true".to_owned());
            }
            plan.groups.push(format!("{{ {} }}", pairs.join(", ")));
        }
        // A point that is named as the total is the sum of the others.
        let is_total = |group: &&Group| {
            let point = group.point.as_ref();
            point.is_some_and(|point| point.to_lowercase().contains("total"))
        };
        let mut totals = self.groups.iter().map(|(group, _)| group).filter(is_total);
        if let (Some(total), None, 3..) = (totals.next(), totals.next(), self.groups.len()) {
            plan.keys.push(("total".to_owned(), quoted(&total.name)));
        }
    }
}

/// Names for the rows of a table, the shortest first.
fn templates(draft: &Draft, grid: &Grid) -> Vec<String> {
    let plan = &draft.plan;
    let key = |wanted: &str| {
        plan.columns.iter().find_map(|column| {
            let (keys, unit) = column.split_once(' ').unwrap_or((column, ""));
            let found = keys.split('+').any(|key| key == wanted);
            let wanted = wanted.strip_prefix("trial.").unwrap_or(wanted);
            found.then(|| format!("{{{wanted}}} {unit}").trim_end().to_owned())
        })
    };
    let direction = plan.trial.iter().find(|(key, _)| key == "direction");
    let direction = direction.map_or("{direction}", |(_, value)| value.trim_matches('"'));
    let unnamed = plan.rows.iter().filter(|row| row.label.is_empty()).count();
    let prefix = match draft.layer {
        "ethernet" => format!("Ethernet {direction}"),
        other => format!(
            "{} {direction}",
            other.trim_end_matches(['4', '6']).to_uppercase()
        ),
    };
    let label = match unnamed {
        0 => "{label}".to_owned(),
        all if all == plan.rows.len() => prefix,
        _ => format!("{prefix} {{label}}"),
    };
    let grouped = draft.groups.iter().any(|name| !name.is_empty());
    let base = if grouped {
        format!("{label}, {{group}}")
    } else {
        label
    };
    let sizes = ["datagram", "frame", "length", "trial.payload"];
    let size = sizes
        .into_iter()
        .find_map(key)
        .map(|size| format!("[ {size}]"));
    let load = key("load").map(|load| format!("[ at {load}]"));
    let window = key("window").map(|window| format!("[ window {window}]"));
    let mut templates = vec![base.clone()];
    let mut longer = base;
    for more in [size, load, window].into_iter().flatten() {
        longer.push_str(&more);
        templates.push(longer.clone());
    }
    if let Some(context) = grid.context.last().filter(|text| !text.is_empty()) {
        let plain = context
            .chars()
            .filter(|c| !matches!(c, '{' | '}' | '[' | ']'));
        templates.push(format!("{}: {longer}", plain.take(40).collect::<String>()));
    }
    templates
}
