//! Proposes what the cells of a table are: layer, direction, size, load, metric and unit, from the words around them.

use std::collections::BTreeSet;

use wirelab_trial::{Direction, Layer};

use super::figure::figures;
use super::grid::{Grid, GridCell};
use super::grouped::{ClassTable, Draft, Group, Grouped, size_key};
use super::parts::{Class, Column, Parts, classes, parts};
use super::plan::TableText;
use super::words::{ColumnMeaning, is_figure, words};
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
    let is_metric = |c: &Column| matches!(c.what, ColumnMeaning::Metric(_) | ColumnMeaning::Rate);
    if !parts.columns.iter().any(is_metric) {
        let cells = grid.rows.iter().flatten();
        let count = cells.filter(|cell| is_figure(&cell.text)).count();
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

/// Asks what the words leave open, once for a class.
fn settled(class: &Class, parts: &Parts<'_>, asker: &mut dyn Asker) -> (Layer, Direction) {
    let shown = parts.grid.context.last().map_or("", String::as_str);
    let mut headed = parts.columns.iter();
    let layer = class
        .layer
        .or_else(|| headed.find_map(|column| column.said.layer));
    let layer = layer.unwrap_or_else(|| {
        let default = match parts.grid.iperf {
            true => Layer::TcpIpv4,
            false => Layer::Ethernet,
        };
        let word = asker.choose(&Question {
            about: format!(
                "line {} ({shown}): which layer do the figures count",
                parts.grid.line()
            ),
            choices: &["udp4", "tcp4", "ethernet"],
            default: default.word(),
        });
        Layer::of_word(word).unwrap_or(default)
    });
    let mut headed = parts.columns.iter();
    let direction = class
        .direction
        .or_else(|| headed.find_map(|column| column.said.direction));
    let direction = direction.unwrap_or_else(|| {
        let word = asker.choose(&Question {
            about: format!(
                "line {} ({shown}): in which direction do the frames go, as the node sees it",
                parts.grid.line()
            ),
            choices: &["transmit", "receive", "both", "echo"],
            default: "transmit",
        });
        word.parse().unwrap_or(Direction::Transmit)
    });
    (layer, direction)
}

/// What a column is called in a study: its keys, where it is one of figures or of conditions.
fn key_of(
    column: &Column,
    class: &Class,
    layer: Layer,
    direction: Direction,
    with_loss: bool,
    asker: &mut dyn Asker,
) -> Option<String> {
    let rate = |key: &str| Some(key.to_owned());
    match column.what {
        ColumnMeaning::Metric(Metric::Throughput) | ColumnMeaning::Rate
            if direction == Direction::Both && class.tags.is_empty() =>
        {
            match column.said.direction {
                Some(Direction::Receive) => rate("throughput_receive"),
                Some(Direction::Transmit) => rate("throughput_transmit"),
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
        ColumnMeaning::Rate if direction == Direction::Receive && layer.is_udp() && with_loss => {
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

fn of_class(
    parts: &Parts<'_>,
    class: &Class,
    facts: &Facts,
    asker: &mut dyn Asker,
    notes: &mut Vec<String>,
) -> Vec<Draft> {
    let (layer, direction) = settled(class, parts, asker);
    let count = |metric: ColumnMeaning| parts.columns.iter().filter(|c| c.what == metric).count();
    let with_loss = count(ColumnMeaning::Metric(Metric::Loss)) > 0;
    let mut shared: Vec<(String, &Column)> = Vec::new();
    let mut grouped: Vec<Grouped<'_>> = Vec::new();
    for column in &parts.columns {
        let Some(key) = key_of(column, class, layer, direction, with_loss, asker) else {
            continue;
        };
        let of_trial = matches!(
            column.what,
            ColumnMeaning::Size(_) | ColumnMeaning::Offered | ColumnMeaning::Window
        );
        let mut group = Group::of(column, class, layer, direction);
        group.node = board(column, parts);
        // Names that differ only in link or direction are one point.
        let is_point = column.what == ColumnMeaning::Metric(Metric::Latency)
            && count(column.what) > 1
            && group.link.is_none()
            && column.said.forwarding.is_none();
        group.point = is_point.then(|| point(&column.head));
        if of_trial && group.size.is_none() {
            shared.push((key, column));
            continue;
        }
        match grouped.iter_mut().find(|(known, _)| *known == group) {
            Some((_, columns)) if columns.iter().any(|(known, _)| *known == key) => {
                notes.push(format!(
                    "line {}: the column '{}' is left out: another one has the same figures; fix: say what it has in a mapping file",
                    parts.grid.line(),
                    column.head
                ));
            }
            Some((_, columns)) => columns.push((key, column)),
            None => grouped.push((group, vec![(key, column)])),
        }
    }
    let tables = by_columns(grouped).into_iter().filter_map(|groups| {
        let one = ClassTable {
            parts,
            class,
            layer,
            direction,
            shared: &shared,
            groups,
        };
        one.plan(facts, notes)
    });
    tables.collect()
}

/// The groups by table: those with the same columns are in one.
fn by_columns(grouped: Vec<Grouped<'_>>) -> Vec<Vec<Grouped<'_>>> {
    let keys = |columns: &[(String, &Column)]| -> Vec<(String, Option<&'static str>)> {
        columns.iter().map(|(k, c)| (k.clone(), c.unit)).collect()
    };
    let mut tables: Vec<Vec<Grouped<'_>>> = Vec::new();
    for (group, columns) in grouped {
        match tables
            .iter_mut()
            .find(|table| keys(&table[0].1) == keys(&columns))
        {
            Some(table) => table.push((group, columns)),
            None => tables.push(vec![(group, columns)]),
        }
    }
    tables
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
    // Tables that were joined have a column of it.
    let direction = plan.trial.iter().find(|(key, _)| key == "direction");
    let direction = direction.map_or("{direction}", |(_, value)| value.trim_matches('"'));
    let unnamed = plan.rows.iter().filter(|row| row.label.is_empty()).count();
    let prefix = match draft.layer {
        Layer::Ethernet => format!("Ethernet {direction}"),
        other => format!(
            "{} {direction}",
            other.word().trim_end_matches(['4', '6']).to_uppercase()
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
