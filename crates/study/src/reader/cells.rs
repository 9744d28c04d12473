//! The printed figures of a row, with what each is used for.

use wirelab_config::{Entry, FileError, Read, Table};
use wirelab_trial::{Direction, Extent};

use super::row::Keys;
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::{Cell, Role, Row};

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

/// A figure that has the dimension of its metric.
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

/// A figure that is disputed or cannot be predicted says why.
pub(super) fn need_reason(at: Option<&Entry<'_>>, role: Role, reason: Option<&String>) -> Read<()> {
    match at {
        Some(at) if reason.is_none() && matches!(role, Role::Disputed | Role::Unpredictable) => {
            Err(at.error(format!("{role} needs a reason: write reason = \"…\"")))
        }
        _ => Ok(()),
    }
}

/// Refuse a metric that the row's trial cannot have.
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

/// What a row says of one metric, else what all rows share: one word for all metrics, or a table of them.
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

/// Check the metrics that roles and reasons shared by all rows are given for.
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
