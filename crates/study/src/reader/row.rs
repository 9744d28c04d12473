//! Reads one row: the trial, and its conditions.

use std::collections::BTreeMap;

use wirelab_config::trial::published;
use wirelab_config::{Entry, FileError, Read, Table};
use wirelab_trial::{Direction, Extent, Size, Trial};

use super::{MAX_PARTS, name, too_many};
use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity};
use crate::table::{Cell, Role, Row};

/// Keys that a row may have, and a table for its rows.
pub(crate) const OF_ROWS: [&str; 11] = [
    "role",
    "reason",
    "node",
    "point",
    "interval",
    "set",
    "limit",
    "column",
    "window",
    "forwarding",
    "datasheet",
];
pub(super) const DEFAULT_KEYS: [&str; 7] =
    ["trial", "role", "reason", "node", "point", "set", "column"];
/// Keys without meaning in a row that needs no node.
const OF_A_NODE: [&str; 4] = ["node", "point", "interval", "set"];
/// Most report intervals of a server: an hour of seconds.
const MAX_INTERVAL: u64 = 3_600;

/// A row's own keys, and the common ones of all rows.
pub(super) struct Keys<'a> {
    pub own: &'a Table<'a>,
    pub defaults: Option<&'a Table<'a>>,
}

impl<'a> Keys<'a> {
    fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.own.get(key).or_else(|| self.defaults?.get(key))
    }
}

pub(super) fn row(keys: &Keys<'_>) -> Read<Row> {
    let own = keys.own;
    own.known_keys(&[&["name", "trial", "published"][..], &OF_ROWS].concat())?;
    let limit = own.get("limit").map_or(Ok(false), |e| e.flag())?;
    if limit {
        for key in OF_A_NODE {
            if let Some(entry) = own.get(key) {
                return Err(entry.error("a limit needs no node; fix: leave the key out"));
            }
        }
    }
    let optional = |key| keys.get(key).map(|e| name(&e)).transpose();
    let (trial, size) = trial_of(keys)?;
    let mut row = Row {
        name: name(&own.need("name", "name the row for errors and claims")?)?,
        line: own.line(),
        node: optional("node")?,
        trial,
        size_known: size.is_some(),
        window: own.get("window").map(window).transpose()?,
        forwarding: own.get("forwarding").map(|e| e.word()).transpose()?,
        datasheet: own.get("datasheet").map_or(Ok(false), |e| e.flag())?,
        point: optional("point")?,
        interval: own
            .get("interval")
            .map(|e| e.whole(1, MAX_INTERVAL).map(|n| n as u32))
            .transpose()?,
        set: keys.get("set").map_or(Ok(BTreeMap::new()), settings)?,
        limit,
        column: optional("column")?,
        cells: Vec::new(),
    };
    row.cells = cells(keys, &row)?;
    Ok(row)
}

fn window(entry: Entry<'_>) -> Read<Quantity> {
    let window: Quantity = entry.word()?;
    if window.unit.dimension != Dimension::Bytes || window.number <= 0.0 {
        return Err(entry.invalid("write an amount of data, e.g. \"64 KiB\""));
    }
    Ok(window)
}

/// The trial as printed. The audit reports loads that no link carries and sizes that no frame has.
fn trial_of(keys: &Keys<'_>) -> Read<(Trial, Option<Size>)> {
    let shared = keys.defaults.map(|d| d.section("trial")).transpose()?;
    let shared = shared.flatten();
    let own = keys.own.section("trial")?;
    match (&own, &shared) {
        (Some(own), shared) => published(own, shared.as_ref()),
        (None, Some(shared)) => published(shared, None),
        (None, None) => Err(keys.own.error(
            "trial",
            "it is missing; fix: write e.g. trial = { layer = \"udp4\", datagram = 1470 }",
        )),
    }
}

fn settings(entry: Entry<'_>) -> Read<BTreeMap<String, String>> {
    let table = entry.table()?;
    let keys: Vec<&str> = table.keys().collect();
    if keys.len() > MAX_PARTS {
        return Err(entry.error(too_many(MAX_PARTS)));
    }
    keys.into_iter()
        .filter_map(|key| table.get(key).map(|value| (key, value)))
        .map(|(key, value)| -> Result<_, FileError> { Ok((key.to_owned(), name(&value)?)) })
        .collect()
}

pub(super) fn cells(keys: &Keys<'_>, row: &Row) -> Read<Vec<Cell>> {
    let entry = keys.own.need(
        "published",
        "write the printed figures, e.g. published = { time = \"7.10 ms\" }",
    )?;
    let published = entry.table()?;
    let metrics = metrics_of(&published)?;
    if metrics.is_empty() {
        return Err(entry.error("the row has no figure; fix: write e.g. { time = \"7.10 ms\" }"));
    }
    for key in ["role", "reason"] {
        let Some(table) = keys.own.get(key).filter(Entry::is_table) else {
            continue;
        };
        for (metric, entry) in metrics_of(&table.table()?)? {
            if !metrics.iter().any(|(m, _)| *m == metric) {
                return Err(entry.error(format!(
                    "the row has no published {metric}; fix: add its figure, or leave this out"
                )));
            }
        }
    }
    let cells = metrics.iter();
    cells
        .map(|(metric, entry)| cell(keys, row, *metric, entry))
        .collect()
}

fn cell(keys: &Keys<'_>, row: &Row, metric: Metric, entry: &Entry<'_>) -> Read<Cell> {
    let printed = entry.text()?.parse().map_err(|e: String| entry.error(e))?;
    let published = figure(entry, metric, printed)?;
    fits(entry, row, metric)?;
    let role = of_metric(keys, "role", metric)?;
    let reason = of_metric(keys, "reason", metric)?;
    let cell = Cell {
        metric,
        published,
        role: role.as_ref().map_or(Ok(Role::HeldOut), |e| e.word())?,
        reason: reason.map(|e| e.text()).transpose()?,
        line: entry.line(),
        source_line: None,
    };
    need_reason(role.as_ref(), cell.role, cell.reason.as_ref())?;
    Ok(cell)
}

/// A figure with the dimension of its metric.
pub(super) fn figure(entry: &Entry<'_>, metric: Metric, figure: Quantity) -> Read<Quantity> {
    let wanted = metric.dimension();
    if !figure.unit.dimension.compares_with(wanted) {
        return Err(entry.error(format!(
            "{metric} has another unit; fix: write {}",
            wanted.in_words()
        )));
    }
    Ok(figure)
}

/// A disputed or unpredictable figure must have a reason.
pub(super) fn need_reason(at: Option<&Entry<'_>>, role: Role, reason: Option<&String>) -> Read<()> {
    match at {
        Some(at) if reason.is_none() && matches!(role, Role::Disputed | Role::Unpredictable) => {
            Err(at.error(format!("{role} needs a reason; fix: write reason = \"…\"")))
        }
        _ => Ok(()),
    }
}

/// Refuses a metric that the row's trial cannot have.
fn fits(entry: &Entry<'_>, row: &Row, metric: Metric) -> Read<()> {
    let trial = &row.trial;
    let refuse = |why: &str| -> Result<(), FileError> { Err(entry.error(why)) };
    if row.limit && !metric.is_of_a_link() {
        let all = Metric::ALL.iter().filter(|m| m.is_of_a_link());
        let all: Vec<&str> = all.map(|m| m.name()).collect();
        return refuse(&format!(
            "a link alone has no {metric}; fix: write one of {}",
            all.join(", ")
        ));
    }
    match metric {
        Metric::Frames | Metric::Data if !matches!(trial.extent, Extent::Frames { .. }) => {
            refuse("the trial names no number of frames; fix: write frames = N in it")
        }
        Metric::ThroughputReceive | Metric::ThroughputTransmit | Metric::ThroughputSum
            if trial.direction != Direction::Both =>
        {
            refuse(
                "the trial has one direction; fix: write direction = \"both\" in it, or throughput here",
            )
        }
        _ if row.interval.is_some() && !metric.is_of_an_interval() => {
            let all = Metric::ALL.iter().filter(|m| m.is_of_an_interval());
            let all: Vec<&str> = all.map(|m| m.name()).collect();
            refuse(&format!(
                "a report interval has no {metric}; fix: write one of {}",
                all.join(", ")
            ))
        }
        _ => Ok(()),
    }
}

/// The value of a row for one metric, else that of all rows: one word for all metrics, or a table of them.
fn of_metric<'a>(keys: &Keys<'a>, key: &str, metric: Metric) -> Read<Option<Entry<'a>>> {
    for table in [Some(keys.own), keys.defaults].into_iter().flatten() {
        let found = match table.get(key) {
            Some(entry) if entry.is_table() => entry.table()?.get(metric.name()),
            entry => entry,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Checks the metrics of roles and reasons that all rows share.
pub(super) fn metric_tables(defaults: &Table<'_>) -> Read<()> {
    for key in ["role", "reason"] {
        if let Some(entry) = defaults.get(key).filter(Entry::is_table) {
            metrics_of(&entry.table()?)?;
        }
    }
    Ok(())
}

/// The keys of a table as metrics, in the order of [`Metric::ALL`].
fn metrics_of<'a>(table: &Table<'a>) -> Read<Vec<(Metric, Entry<'a>)>> {
    let mut metrics = Vec::new();
    for key in table.keys() {
        let metric = key.parse().map_err(|e: String| table.at_key(key, e))?;
        metrics.extend(table.get(key).map(|entry| (metric, entry)));
    }
    metrics.sort_by_key(|(metric, _)| *metric);
    Ok(metrics)
}
