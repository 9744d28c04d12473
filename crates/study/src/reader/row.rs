//! Rows: the trial, and under which conditions it was run.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_config::trial::trial;
use wirelab_config::{Entry, FileError, Read, Table};
use wirelab_trial::Trial;
use wirelab_wire::LineRate;

use super::{MAX_CELLS, MAX_PARTS, MAX_ROWS, cells, name};
use crate::table::{Row, Study};

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
/// Of a row that no node is asked of, these would have no meaning.
const OF_A_NODE: [&str; 4] = ["node", "point", "interval", "set"];
/// Report intervals of a server that can be named: an hour of seconds.
const MAX_INTERVAL: u64 = 3_600;

/// A row's own keys, and those that all rows share.
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
        cells::metric_tables(defaults)?;
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
                return Err(entry.error("no node is asked of a limit: leave the key out"));
            }
        }
    }
    let optional = |key| keys.get(key).map(|e| name(&e)).transpose();
    let mut row = Row {
        name: name(&own.need("name", "name the row, so that errors and claims can")?)?,
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
            "nothing says which node it is asked of: write node = \"NAME\" at the top of the file",
        ));
    }
    if limit && row.trial.link().is_none() && study.link_bits_per_s.is_none() {
        return Err(own.error(
            "limit",
            "the link's rate is not known: write link = \"100M\" at the top of the file",
        ));
    }
    row.cells = cells::cells(keys, &row)?;
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
    // A share of a link whose rate only the node knows is the node's to judge.
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
