//! Reads rows: the trial, and its conditions.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_config::trial::trial;
use wirelab_config::{Entry, FileError, Read, Table};
use wirelab_trial::{Direction, Extent, Trial};
use wirelab_wire::LineRate;

use super::{MAX_CELLS, MAX_PARTS, MAX_ROWS, name};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::{Cell, Role, Row, Study};

const ROW_KEYS: [&str; 11] = [
    "name",
    "trial",
    "published",
    "role",
    "reason",
    "node",
    "point",
    "interval",
    "set",
    "limit",
    "column",
];
const DEFAULT_KEYS: [&str; 7] = ["trial", "role", "reason", "node", "point", "set", "column"];
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

pub(super) fn rows(top: &Table<'_>, study: &mut Study) -> Read<()> {
    let defaults = top.section("defaults")?;
    if let Some(defaults) = &defaults {
        defaults.known_keys(&DEFAULT_KEYS)?;
        metric_tables(defaults)?;
    }
    let sections = top.sections("row")?;
    if sections.is_empty() {
        return Err(top.error(
            "row",
            "there is none: add a section [[row]] with a trial and its published figures",
        ));
    }
    if sections.len() > MAX_ROWS {
        return Err(sections[MAX_ROWS].error_here(format!(
            "at most {MAX_ROWS} rows are read: split the study into several files"
        )));
    }
    let mut names = BTreeSet::new();
    let mut cells = 0;
    for own in &sections {
        let keys = Keys {
            own,
            defaults: defaults.as_ref(),
        };
        let row = row(&keys, study)?;
        if !names.insert(row.name.clone()) {
            return Err(own.at_key("name", format!("another row is named '{}' too", row.name)));
        }
        cells += row.cells.len();
        if cells > MAX_CELLS {
            return Err(own.error_here(format!(
                "at most {MAX_CELLS} figures are read: split the study into several files"
            )));
        }
        study.rows.push(row);
    }
    Ok(())
}

fn row(keys: &Keys<'_>, study: &Study) -> Read<Row> {
    let own = keys.own;
    own.known_keys(&ROW_KEYS)?;
    let limit = own.get("limit").map_or(Ok(false), |e| e.flag())?;
    if limit {
        for key in OF_A_NODE {
            if let Some(entry) = own.get(key) {
                return Err(entry.error("a limit needs no node: leave the key out"));
            }
        }
    }
    let optional = |key| keys.get(key).map(|e| name(&e)).transpose();
    let mut row = Row {
        name: name(&own.need("name", "name the row for errors and claims")?)?,
        line: own.line(),
        node: optional("node")?,
        trial: trial_of(keys, study)?,
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
    if row.node.is_none() && study.node.is_empty() && !limit {
        return Err(own.error(
            "node",
            "its node is missing: write node = \"NAME\" at the top of the file",
        ));
    }
    if limit && row.trial.link().is_none() && study.link_bits_per_s.is_none() {
        return Err(own.error(
            "limit",
            "the link's rate is not known: write link = \"100M\" at the top of the file",
        ));
    }
    row.cells = cells(keys, &row)?;
    Ok(row)
}

fn trial_of(keys: &Keys<'_>, study: &Study) -> Read<Trial> {
    let shared = keys.defaults.map(|d| d.section("trial")).transpose()?;
    let shared = shared.flatten();
    let own = keys.own.section("trial")?;
    let (first, second) = match (&own, &shared) {
        (Some(own), shared) => (own, shared.as_ref()),
        (None, Some(shared)) => (shared, None),
        (None, None) => {
            return Err(keys.own.error(
                "trial",
                "it is missing: write e.g. trial = { layer = \"udp4\", datagram = 1470 }",
            ));
        }
    };
    let trial = trial(first, second)?;
    let link = trial
        .link()
        .or_else(|| study.link_bits_per_s.and_then(LineRate::new));
    let impossible = |what: String| {
        let entry = first.get("load").or_else(|| second?.get("load"));
        entry.map_or_else(|| first.error_here(&what), |e| e.error(&what))
    };
    // Only the node can judge a share of a link whose rate only it knows.
    if let (Some(link), Ok(sizes)) = (link, trial.sizes()) {
        trial
            .load
            .frames_per_s(&sizes, trial.framing.layer, Some(link))
            .map_err(|e| impossible(format!("{e}: lower the load, or correct the size or rate")))?;
    }
    Ok(trial)
}

fn settings(entry: Entry<'_>) -> Read<BTreeMap<String, String>> {
    let table = entry.table()?;
    let keys: Vec<&str> = table.keys().collect();
    if keys.len() > MAX_PARTS {
        return Err(entry.error(format!("at most {MAX_PARTS} settings are read")));
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
        return Err(entry.error("the row has no figure: write e.g. { time = \"7.10 ms\" }"));
    }
    for key in ["role", "reason"] {
        let Some(table) = keys.own.get(key).filter(Entry::is_table) else {
            continue;
        };
        for (metric, entry) in metrics_of(&table.table()?)? {
            if !metrics.iter().any(|(m, _)| *m == metric) {
                return Err(entry.error(format!("the row has no published {metric}")));
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
    };
    need_reason(role.as_ref(), cell.role, cell.reason.as_ref())?;
    Ok(cell)
}

/// A figure with the dimension of its metric.
pub(super) fn figure(entry: &Entry<'_>, metric: Metric, figure: Quantity) -> Read<Quantity> {
    let wanted = metric.dimension();
    if !figure.unit.dimension.compares_with(wanted) {
        return Err(entry.error(format!("{metric} is {}", wanted.in_words())));
    }
    if figure.number < 0.0 {
        return Err(entry.error(format!("{metric} is never below 0")));
    }
    Ok(figure)
}

/// A disputed or unpredictable figure must have a reason.
pub(super) fn need_reason(at: Option<&Entry<'_>>, role: Role, reason: Option<&String>) -> Read<()> {
    match at {
        Some(at) if reason.is_none() && matches!(role, Role::Disputed | Role::Unpredictable) => {
            Err(at.error(format!("{role} needs a reason: write reason = \"…\"")))
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
            "a link alone has no {metric}: it has {}",
            all.join(", ")
        ));
    }
    match metric {
        Metric::Frames | Metric::Data if !matches!(trial.extent, Extent::Frames { .. }) => {
            refuse("the trial names no number of frames: write frames = N in it")
        }
        Metric::ThroughputReceive | Metric::ThroughputTransmit | Metric::ThroughputSum
            if trial.direction != Direction::Both =>
        {
            refuse("the trial goes one way: write direction = \"both\" in it, or throughput here")
        }
        _ if row.interval.is_some() && !metric.is_of_an_interval() => {
            let all = Metric::ALL.iter().filter(|m| m.is_of_an_interval());
            let all: Vec<&str> = all.map(|m| m.name()).collect();
            refuse(&format!(
                "a report interval has no {metric}: it has {}",
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
