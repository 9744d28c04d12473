//! How the times were taken, what that cost, and what each way did with the frames.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_trial::format::{integer, time_f};
use wirelab_trial::{Direction, Observation, Overhead, PointCost, ResultsFile, stage, unseen};

use super::{point_costs, sheet};
use crate::explain::Block;

/// Set-up keys that say how times were taken, and what a reader calls them.
const TAKEN: [(&str, &str); 5] = [
    ("probes", "probe set"),
    ("probes_why", "why this set"),
    ("xdp", "XDP"),
    ("cpus", "the node's cores"),
    ("receive_cpus", "its receive work is on"),
];
/// The kernel function of a capture point.
const FUNCTION: &str = "function.";
/// What a capture point tells of itself, and the head of its column.
const OF_POINT: [(&str, &str); 8] = [
    ("probe_cost_ns.", "median ns"),
    ("probe_taken.", "taken"),
    ("probe_missed.", "no room"),
    ("probe_unreadable.", "unreadable"),
    ("probe_unmatched.", "no time"),
    ("probe_dropped.", "dropped"),
    ("probe_corrupt.", "header corrupt"),
    ("probe_unseen.", "unseen"),
];
/// Which of these are frames that passed when all records were taken.
const NO_ROOM: usize = 2;
/// Counters of other things that belong here.
const OF_WAY: [&str; 6] = [
    "fast_track_",
    "napi_",
    "background_",
    "reflected_",
    "xdp_",
    unseen::UNSEEN,
];

/// Sections on how times were taken; empty where a file tells nothing of it.
pub fn blocks(file: &ResultsFile) -> Vec<Block<'static>> {
    let mut out = taken(file);
    let costs = file.measuring.iter().flat_map(|m| m.costs.clone());
    let costs: Vec<PointCost> = costs.collect();
    out.extend(point_costs::blocks(&costs));
    out.extend(points(file, costs.is_empty()));
    let overheads = file.measuring.iter().flat_map(|m| &m.overheads);
    let overheads: Vec<&Overhead> = overheads.collect();
    if !overheads.is_empty() {
        out.push(Block::Heading("What measuring costs".to_owned()));
        out.push(overhead(&overheads));
        out.push(Block::Words(
            "The same with the probes on and with the probes off, in alternating runs; medians. An interval that \
             holds 0 says that no difference was seen."
                .to_owned(),
        ));
    }
    out.extend(frames(file));
    out
}

fn taken(file: &ResultsFile) -> Vec<Block<'static>> {
    let mut seen = BTreeSet::new();
    for o in &file.observations {
        for (key, name) in TAKEN {
            if let Some(text) = o.node.setup.get(key) {
                seen.insert((o.node.name.clone(), key, name, text.clone()));
            }
        }
    }
    if seen.is_empty() {
        return Vec::new();
    }
    let rank = |key: &str| TAKEN.iter().position(|(known, _)| *known == key);
    let mut rows: Vec<_> = seen.into_iter().collect();
    rows.sort_by_key(|(node, key, ..)| (node.clone(), rank(key)));
    let several = rows.iter().any(|row| row.0 != rows[0].0);
    let rows = rows.into_iter().map(|(node, _, name, text)| match several {
        true => vec![format!("{name} of {node}"), text],
        false => vec![name.to_owned(), text],
    });
    let heads = vec![("fact", false), ("as the node tells it", false)];
    vec![
        Block::Heading("How the times were taken".to_owned()),
        Block::Grid(heads, rows.collect()),
    ]
}

/// A direction and a capture point, in the order of the way.
type Place = (bool, usize, String);

/// What one capture point tells of itself.
#[derive(Default)]
struct Told {
    counts: [Option<u64>; OF_POINT.len()],
    function: Option<String>,
}

/// What each capture point tells of itself; what it costs, only where that stands nowhere else.
fn points(file: &ResultsFile, with_cost: bool) -> Vec<Block<'static>> {
    let found = told(file);
    if found.is_empty() {
        return Vec::new();
    }
    let any = |at: &usize| found.values().any(|told| told.counts[*at] > Some(0));
    let first = usize::from(!with_cost);
    let shown = (first..OF_POINT.len()).filter(|at| *at <= NO_ROOM || any(at));
    let shown: Vec<usize> = shown.collect();
    let mut heads = vec![("capture point", false)];
    heads.extend(shown.iter().map(|at| (OF_POINT[*at].1, true)));
    heads.push(("taken in", false));
    let rows = found.iter().map(|((sent, _, point), told)| {
        let way = if *sent { "sent" } else { "received" };
        let mut row = vec![format!("{way}, {point}")];
        // A node leaves out what it has none of.
        let none = |at: &usize| (*at == NO_ROOM && told.counts[NO_ROOM - 1].is_some()).then_some(0);
        let figures = shown.iter().map(|at| told.counts[*at].or(none(at)));
        row.extend(figures.map(|n| n.map_or_else(dash, integer)));
        row.push(told.function.clone().unwrap_or_else(dash));
        row
    });
    let (heading, about) = match with_cost {
        true => (
            "What each capture point costs",
            "The time of one record, as the node measured it itself. ",
        ),
        false => ("What each capture point saw", ""),
    };
    vec![
        Block::Heading(heading.to_owned()),
        Block::Grid(heads, rows.collect()),
        Block::Words(format!(
            "{about}No room: frames that passed when the point's records were full; they are counted and have no time."
        )),
    ]
}

/// The counts of all trials added, the costs at their largest.
fn told(file: &ResultsFile) -> BTreeMap<Place, Told> {
    let mut found: BTreeMap<Place, Told> = BTreeMap::new();
    for o in &file.observations {
        for (direction, name, value) in counters(o) {
            let known = OF_POINT
                .iter()
                .position(|(prefix, _)| name.starts_with(prefix));
            let Some(at) = known else { continue };
            let is_sent = direction == Direction::Transmit;
            let (sent, point) = place(&name[OF_POINT[at].0.len()..], is_sent);
            let key = (sent, sheet::rank(point, sent), point.to_owned());
            let told = found.entry(key).or_default();
            let so_far = told.counts[at].unwrap_or(0);
            told.counts[at] = Some(match at {
                0 => so_far.max(value),
                _ => so_far.saturating_add(value),
            });
            let function = || function(o, sent, point);
            told.function = told.function.take().or_else(function);
        }
    }
    found
}

/// Whether a point is of frames sent, and its name; where a counter does not say, the flow does.
pub(super) fn place(told: &str, flow_is_sent: bool) -> (bool, &str) {
    match (told.strip_prefix("in."), told.strip_prefix("out.")) {
        (Some(point), _) => (false, point),
        (_, Some(point)) => (true, point),
        _ => (flow_is_sent, told),
    }
}

pub(super) fn dash() -> String {
    "–".to_owned()
}

fn function(o: &Observation, sent: bool, point: &str) -> Option<String> {
    let way = if sent { "out" } else { "in" };
    let key = [
        format!("{FUNCTION}{way}.{point}"),
        format!("{FUNCTION}{point}"),
    ];
    key.iter().find_map(|key| o.node.setup.get(key)).cloned()
}

/// Counters of each flow of a trial and of the trial as a whole, each with its direction.
fn counters(o: &Observation) -> impl Iterator<Item = (Direction, &str, u64)> {
    let flows = o.flows.iter().map(|flow| (flow.direction, &flow.counters));
    let all = flows.chain([(o.trial.direction, &o.counters)]);
    let each = all.flat_map(|(direction, counters)| {
        let known = counters.iter();
        known.map(move |(name, value)| (direction, name.as_str(), value))
    });
    each.filter_map(|(direction, name, value)| Some((direction, name, *value.value()?)))
}

fn overhead(all: &[&Overhead]) -> Block<'static> {
    let heads = vec![
        ("length", true),
        ("on", true),
        ("off", true),
        ("difference (95 % interval)", true),
        ("of", false),
    ];
    let ns = |ns: f64| match ns < 0.0 {
        true => format!("−{}", time_f(-ns * 1e3)),
        false => time_f(ns * 1e3),
    };
    let rows = all.iter().map(|o| {
        let difference = ns(o.on_ns - o.off_ns);
        vec![
            integer(o.length_bytes.into()),
            ns(o.on_ns),
            ns(o.off_ns),
            format!("{difference} ({} to {})", ns(o.low_ns), ns(o.high_ns)),
            format!(
                "{}, {}, {} runs of each",
                o.what,
                o.way,
                integer(o.runs.into())
            ),
        ]
    });
    Block::Grid(heads, rows.collect())
}

/// Whether the counts of several trials are added; of medians and the like the largest is shown.
fn adds_up(name: &str) -> bool {
    let single = ["_mean", "_median", "_p99", "_max"];
    !single.iter().any(|part| name.contains(part))
}

/// Sent, lost, twice there and out of order; `None` where it is not known of every trial.
type Sums = [Option<u64>; 4];

/// What became of the frames of each way, all lengths together, and what the node counted of them.
fn frames(file: &ResultsFile) -> Vec<Block<'static>> {
    let staged = |o: &&Observation| {
        let mut series = o.flows.iter().flat_map(|f| &f.series);
        series.any(stage::is_stage)
    };
    let trials: Vec<&Observation> = file.observations.iter().filter(staged).collect();
    if trials.is_empty() {
        return Vec::new();
    }
    let mut out = vec![
        Block::Heading("What became of the frames".to_owned()),
        became(&trials),
    ];
    out.extend(node_counted(&trials));
    out
}

fn became(trials: &[&Observation]) -> Block<'static> {
    let mut sums: Vec<((String, Direction), Sums)> = Vec::new();
    for o in trials {
        for flow in &o.flows {
            let key = (sheet::words(o), flow.direction);
            let counts = flow.counts.value();
            let these = [
                flow.sent_frames.value().copied(),
                counts.map(|c| c.lost_frames),
                counts.map(|c| c.duplicated_frames),
                counts.map(|c| c.reordered_frames),
            ];
            match sums.iter_mut().find(|(known, _)| *known == key) {
                Some((_, sum)) => {
                    for (sum, more) in sum.iter_mut().zip(these) {
                        *sum = sum.zip(more).map(|(a, b)| a.saturating_add(b));
                    }
                }
                None => sums.push((key, these)),
            }
        }
    }
    let rows = sums.into_iter().map(|((way, direction), sum)| {
        let figures = sum.map(|n| n.map_or_else(dash, integer));
        let ends = [direction.to_string()].into_iter().chain(figures);
        ends.chain([way]).collect()
    });
    let heads = vec![
        ("direction", false),
        ("sent", true),
        ("lost", true),
        ("duplicated", true),
        ("out of order", true),
        ("way", false),
    ];
    Block::Grid(heads, rows.collect())
}

fn node_counted(trials: &[&Observation]) -> Option<Block<'static>> {
    let mut counted: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    let known = |name: &str| OF_WAY.iter().any(|prefix| name.starts_with(prefix));
    for o in trials {
        for (direction, name, value) in counters(o).filter(|(_, name, _)| known(name)) {
            let key = (sheet::words(o), direction.to_string(), name.to_owned());
            let sum = counted.entry(key).or_default();
            *sum = match adds_up(name) {
                true => sum.saturating_add(value),
                false => value.max(*sum),
            };
        }
    }
    let mut lines: Vec<((&str, &str), Vec<String>)> = Vec::new();
    for ((way, direction, name), value) in &counted {
        let text = format!("{} {}", name.replace('_', " "), integer(*value));
        match lines.last_mut() {
            Some((key, texts)) if *key == (way, direction) => texts.push(text),
            _ => lines.push(((way, direction), vec![text])),
        }
    }
    let lines = lines
        .iter()
        .map(|((way, direction), texts)| format!("{direction}, {way}: {}", texts.join("; ")));
    (!counted.is_empty()).then(|| Block::List(lines.collect()))
}
