//! How the times were recorded, and what recording costs.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_trial::format::{integer, micros};
use wirelab_trial::{
    Direction, Observation, Overhead, PointCost, PointCount, PointCounter, ResultsFile,
};

use super::sheet::{self, counters, dash};
use super::{frames, point_costs};
use crate::document::Block;
use crate::document::table::Head;

/// Set-up keys on how times were recorded, and their words for readers.
const TAKEN: [(&str, &str); 5] = [
    ("probes", "probe set"),
    ("probes_why", "why this set"),
    ("xdp", "XDP"),
    ("cpus", "the node's cores"),
    ("receive_cpus", "cores of its receive work"),
];
/// The kernel function of a capture point.
const FUNCTION: &str = "function.";
/// Counters of a capture point, and the names and units of their columns.
const OF_POINT: [(PointCount, &str, &str); 8] = [
    (PointCount::Cost, "median", "ns"),
    (PointCount::Taken, "taken", ""),
    (PointCount::Missed, "no room", ""),
    (PointCount::Unreadable, "unreadable", ""),
    (PointCount::Unmatched, "no time", ""),
    (PointCount::Dropped, "dropped", ""),
    (PointCount::Corrupt, "header corrupt", ""),
    (PointCount::Unseen, "unseen", ""),
];
/// The index of frames that passed when all records were used.
const NO_ROOM: usize = 2;

/// Sections on how times were recorded; empty if a file has nothing on it.
pub fn blocks(file: &ResultsFile) -> Vec<Block<'static>> {
    let mut out = taken(file);
    let costs = file.measuring.iter().flat_map(|m| m.costs.clone());
    let costs: Vec<PointCost> = costs.collect();
    out.extend(point_costs::blocks(&costs));
    out.extend(points(file, costs.is_empty()));
    let overheads = file.measuring.iter().flat_map(|m| &m.overheads);
    let overheads: Vec<&Overhead> = overheads.collect();
    if !overheads.is_empty() {
        out.push(Block::heading("What measuring costs"));
        out.push(overhead(&overheads));
        out.push(Block::Words(
            "The same delay with the probes on and off, in alternating runs; medians. An interval that \
             contains 0 means that no difference was seen."
                .to_owned(),
        ));
    }
    out.extend(frames::blocks(file));
    out
}

fn taken(file: &ResultsFile) -> Vec<Block<'static>> {
    let mut texts = BTreeSet::new();
    for o in &file.observations {
        for (key, name) in TAKEN {
            if let Some(text) = o.node.setup.get(key) {
                texts.insert((o.node.name.clone(), key, name, text.clone()));
            }
        }
    }
    if texts.is_empty() {
        return Vec::new();
    }
    let rank = |key: &str| TAKEN.iter().position(|(known, _)| *known == key);
    let mut rows: Vec<_> = texts.into_iter().collect();
    rows.sort_by_key(|(node, key, ..)| (node.clone(), rank(key)));
    let several = rows.iter().any(|row| row.0 != rows[0].0);
    let rows = rows.into_iter().map(|(node, _, name, text)| match several {
        true => vec![format!("{name} of {node}"), text],
        false => vec![name.to_owned(), text],
    });
    let heads = vec![("fact", false), ("as the node reports it", false)];
    vec![
        Block::heading("How the times were taken"),
        Block::sentences(heads, rows.collect()),
    ]
}

/// A direction and a capture point, in the order of the path.
type PointKey = (bool, usize, String);

/// The counters of one capture point.
#[derive(Default)]
struct PointCounts {
    counts: [Option<u64>; OF_POINT.len()],
    function: Option<String>,
}

/// The counters of each capture point; its cost only if no other table has it.
fn points(file: &ResultsFile, with_cost: bool) -> Vec<Block<'static>> {
    let found = point_counts(file);
    if found.is_empty() {
        return Vec::new();
    }
    let any = |at: &usize| found.values().any(|entry| entry.counts[*at] > Some(0));
    let first = usize::from(!with_cost);
    let shown = (first..OF_POINT.len()).filter(|at| *at <= NO_ROOM || any(at));
    let shown: Vec<usize> = shown.collect();
    let mut heads = vec![Head::text("capture point")];
    heads.extend(
        shown
            .iter()
            .map(|at| Head::number(OF_POINT[*at].1, OF_POINT[*at].2)),
    );
    heads.push(Head::text("taken in"));
    let rows = found.iter().map(|((sent, _, point), entry)| {
        let direction = if *sent { "sent" } else { "received" };
        let mut row = vec![format!("{direction}, {point}")];
        // A node leaves out counters that are 0.
        let none =
            |at: &usize| (*at == NO_ROOM && entry.counts[NO_ROOM - 1].is_some()).then_some(0);
        let figures = shown.iter().map(|at| entry.counts[*at].or(none(at)));
        row.extend(figures.map(|n| n.map_or_else(dash, integer)));
        row.push(entry.function.clone().unwrap_or_else(dash));
        row
    });
    let (heading, about) = match with_cost {
        true => (
            "What each capture point costs",
            "The time of one record, measured by the node itself. ",
        ),
        false => ("What each capture point saw", ""),
    };
    vec![
        Block::heading(heading.to_owned()),
        Block::sentences(heads, rows.collect()),
        Block::Words(format!(
            "{about}No room: frames that passed when the point's records were full; they are counted and have no time."
        )),
    ]
}

/// The counts of all trials added, the costs at their maximum.
fn point_counts(file: &ResultsFile) -> BTreeMap<PointKey, PointCounts> {
    let mut found: BTreeMap<PointKey, PointCounts> = BTreeMap::new();
    for o in &file.observations {
        for (direction, name, value) in counters(o) {
            let Some(PointCounter { count, place }) = PointCounter::of(name) else {
                continue;
            };
            let column = OF_POINT.iter().position(|(of, ..)| *of == count);
            let Some(at) = column else { continue };
            let sent = place.direction.unwrap_or(direction) == Direction::Transmit;
            let point = place.point;
            let key = (sent, sheet::rank(point, sent), point.to_owned());
            let entry = found.entry(key).or_default();
            let so_far = entry.counts[at].unwrap_or(0);
            entry.counts[at] = Some(match at {
                0 => so_far.max(value),
                _ => so_far.saturating_add(value),
            });
            let function = || function(o, sent, point);
            entry.function = entry.function.take().or_else(function);
        }
    }
    found
}

fn function(o: &Observation, sent: bool, point: &str) -> Option<String> {
    let direction = if sent { "out" } else { "in" };
    let key = [
        format!("{FUNCTION}{direction}.{point}"),
        format!("{FUNCTION}{point}"),
    ];
    key.iter().find_map(|key| o.node.setup.get(key)).cloned()
}

fn overhead(all: &[&Overhead]) -> Block<'static> {
    let heads = vec![
        Head::number("length", "B"),
        Head::number("on", "µs"),
        Head::number("off", "µs"),
        Head::number("difference (95 % interval)", "µs"),
        Head::text("of"),
    ];
    let us = |ns: f64| micros(ns * 1e3);
    let rows = all.iter().map(|o| {
        let difference = us(o.on_ns - o.off_ns);
        vec![
            integer(o.length_bytes.into()),
            us(o.on_ns),
            us(o.off_ns),
            format!("{difference} ({} to {})", us(o.low_ns), us(o.high_ns)),
            format!(
                "{}, {}, {} runs of each",
                o.what,
                o.path,
                integer(o.runs.into())
            ),
        ]
    });
    Block::sentences(heads, rows.collect())
}
