//! The stages of one observation, with those that only few frames passed taken together.
//!
//! A point that is there for some frames alone tells of these: `copy` of an application that spins is the moment at
//! which it came back to its core, so that only frames have it that met an application without one.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_trial::Observation;
use wirelab_trial::stage::{Delay, TO, every_delay_of};

use super::body::Body;
use super::gather::{Capture, in_ns};

/// Names of the stages that few frames of a trial have.
pub(super) type Thin = BTreeSet<String>;

/// For each observation the stages that less than half of its trial's frames have, of all of its blocks: what is the
/// same way has the same stages in each.
pub(super) fn thin(observations: &[&Observation]) -> Vec<Thin> {
    let mut groups: Vec<(&Observation, BTreeMap<String, u64>)> = Vec::new();
    let mut group_of = Vec::new();
    for o in observations {
        let at = groups.iter().position(|(first, _)| first.trial == o.trial);
        let at = at.unwrap_or(groups.len());
        if at == groups.len() {
            groups.push((o, BTreeMap::new()));
        }
        for delay in every_delay_of(o).iter().filter(|d| !d.figures.cumulated) {
            let sum = groups[at].1.entry(name(delay)).or_default();
            *sum = sum.saturating_add(delay.figures.count);
        }
        group_of.push(at);
    }
    let thin = |counts: &BTreeMap<String, u64>| -> Thin {
        let most = counts.values().copied().max().unwrap_or(0);
        let few = counts.iter().filter(|(_, n)| n.saturating_mul(2) < most);
        few.map(|(name, _)| name.clone()).collect()
    };
    let all: Vec<Thin> = groups.iter().map(|(_, counts)| thin(counts)).collect();
    group_of.into_iter().map(|at| all[at].clone()).collect()
}

fn name(delay: &Delay) -> String {
    format!("{}{TO}{}", delay.figures.from, delay.figures.to)
}

/// The stages in order; those that are thin, all in a row, become one.
pub(super) fn steps(delays: &[Delay], thin: &Thin) -> Vec<Capture> {
    let steps: Vec<&Delay> = delays.iter().filter(|d| !d.figures.cumulated).collect();
    let is_thin = |d: &Delay| thin.contains(&name(d));
    let mut out = Vec::new();
    for run in steps.chunk_by(|a, b| is_thin(a) && is_thin(b)) {
        match run {
            [first, .., last] | [first @ last] if is_thin(first) => {
                out.extend(together(delays, &steps, (first, last)));
            }
            _ => out.extend(run.iter().filter_map(|d| in_ns(&d.series))),
        }
    }
    out
}

/// The stage from the first of some to the last: as it was taken of each frame, else the difference of the medians up
/// to both, or from both on.
fn together(
    delays: &[Delay],
    steps: &[&Delay],
    (first, last): (&Delay, &Delay),
) -> Option<Capture> {
    let (from, to) = (&first.figures.from, &last.figures.to);
    let is_it = |d: &&Delay| (&d.figures.from, &d.figures.to) == (from, to) && d.figures.cumulated;
    if let Some(taken) = delays.iter().find(is_it) {
        return in_ns(&taken.series);
    }
    let (begin, end) = (&steps.first()?.figures.from, &steps.last()?.figures.to);
    let median_ns = |from: &String, to: &String| -> Option<f64> {
        if from == to {
            return Some(0.0);
        }
        let is = |d: &&Delay| (&d.figures.from, &d.figures.to) == (from, to);
        let found = delays.iter().find(is)?;
        Some(found.figures.median_ticks as f64 * found.figures.tick_ps? as f64 / 1e3)
    };
    let up_to = || Some(median_ns(begin, to)? - median_ns(begin, from)?);
    let from_on = || Some(median_ns(from, end)? - median_ns(to, end)?);
    let median_ns = up_to().or_else(from_on)?.max(0.0);
    Some(Capture {
        name: format!("{from}{TO}{to}"),
        mean_ns: median_ns,
        sigma_ns: 0.0,
        samples: first.figures.count,
        body: Some(Body {
            median_ns,
            sigma_ns: 0.0,
            stderr: None,
            tail: 0,
            kept: 0,
        }),
    })
}
