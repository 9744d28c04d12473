//! Frame counts of each path: sent, lost, duplicated, out of order, and the node's counters.

use std::collections::BTreeMap;

use wirelab_trial::counter::{Counter, CounterKind};
use wirelab_trial::format::integer;
use wirelab_trial::{Direction, Kind, Observation, ResultsFile, counter, stage};

use super::sheet::{self, counters, dash};
use crate::document::Block;
use crate::loss::{self, Loss};

/// Whether this section has a counter.
fn is_of_path(name: &str) -> bool {
    Counter::of(name).is_some_and(|known| match known.kind() {
        CounterKind::FastTrack
        | CounterKind::Polls
        | CounterKind::Background
        | CounterKind::Reflector => true,
        _ => known == Counter::UNSEEN,
    })
}

/// Sent, lost, duplicated and out of order; `None` if a trial lacks the count.
type Sums = [Option<Loss<u64>>; 4];

/// Path and direction, then the rank and the name of a counter.
type CounterKey = (String, String, usize, String);

/// The frame counts of each path, for all lengths together, and the node's counters.
pub fn blocks(file: &ResultsFile) -> Vec<Block<'static>> {
    let staged = |o: &&Observation| {
        let mut series = o.flows.iter().flat_map(|f| &f.series);
        // A prediction has no sent frames.
        series.any(|s| stage::is_stage(s) && s.kind != Kind::Predicted)
    };
    let trials: Vec<&Observation> = file.observations.iter().filter(staged).collect();
    if trials.is_empty() {
        return Vec::new();
    }
    let flows = || trials.iter().flat_map(|o| &o.flows);
    let kinds = flows().flat_map(|f| [f.counts.kind(), f.sent_frames.kind()]);
    let of = Kind::weakest(kinds.flatten()).map_or_else(String::new, |kind| format!(" ({kind})"));
    let mut out = vec![Block::heading(format!("Frame counts{of}"))];
    out.extend(became(&trials));
    out.extend(node_counted(&trials));
    out
}

fn became(trials: &[&Observation]) -> Vec<Block<'static>> {
    let known = |frames| Loss::new(frames, None);
    let mut sums: Vec<((String, Direction), Sums)> = Vec::new();
    for o in trials {
        for flow in &o.flows {
            let key = (sheet::options(o), flow.direction);
            let counts = flow.counts.value();
            let these = [
                flow.sent_frames.value().copied().map(known),
                counts.map(loss::frames),
                counts.map(|c| known(c.duplicated_frames)),
                counts.map(|c| known(c.reordered_frames)),
            ];
            match sums.iter_mut().find(|(known, _)| *known == key) {
                Some((_, sum)) => {
                    for (sum, more) in sum.iter_mut().zip(these) {
                        *sum = sum.zip(more).map(|(a, b)| a.plus(b));
                    }
                }
                None => sums.push((key, these)),
            }
        }
    }
    let heads = vec![
        ("direction", false),
        ("sent", true),
        ("lost", true),
        ("duplicated", true),
        ("out of order", true),
        ("path", false),
    ];
    let in_doubt = sums.iter().flat_map(|(_, sum)| sum).flatten();
    let in_doubt = in_doubt.filter_map(|of| of.at_most()).next();
    let note = in_doubt.map(|_| Block::Words(format!("Of frames lost: {}.", loss::NOTE)));
    let rows = sums.into_iter().map(|((path, direction), sum)| {
        let figures = sum.map(|n| n.map_or_else(dash, |n| n.show(integer)));
        let ends = [direction.to_string()].into_iter().chain(figures);
        ends.chain([path]).collect()
    });
    let grid = Block::sentences(heads, rows.collect());
    [grid].into_iter().chain(note).collect()
}

fn node_counted(trials: &[&Observation]) -> Option<Block<'static>> {
    let mut counted: BTreeMap<CounterKey, u64> = BTreeMap::new();
    for o in trials {
        for (direction, name, value) in counters(o).filter(|(_, name, _)| is_of_path(name)) {
            let (path, direction) = (sheet::options(o), direction.to_string());
            let key = (path, direction, counter::rank(name), name.to_owned());
            let sum = counted.entry(key).or_default();
            *sum = match counter::is_added(name) {
                true => sum.saturating_add(value),
                // Of medians and the like the largest is shown.
                false => value.max(*sum),
            };
        }
    }
    let heads = vec![
        ("direction", false),
        ("count", true),
        ("counted by the node", false),
        ("path", false),
    ];
    let row = |((path, direction, _, name), value): (&CounterKey, &u64)| {
        let words = counter::words(name).map_or_else(|| name.replace('_', " "), str::to_owned);
        let count = counter::shown(name, *value);
        vec![direction.clone(), count, words, path.clone()]
    };
    (!counted.is_empty()).then(|| Block::sentences(heads, counted.iter().map(row).collect()))
}
