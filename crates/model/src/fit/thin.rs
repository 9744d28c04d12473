//! The stages of one observation, with those that only few frames passed taken together.
//!
//! A point that is there for some frames alone tells of these: `copy` of an application that spins is the moment at
//! which it came back to its core, so that only frames have it that met an application without one.

use wirelab_trial::stage::{Delay, TO};

use super::body::Body;
use super::gather::{Capture, in_ns};

/// The stages in order; of those with less than half of the frames, all in a row become one.
pub(super) fn steps(delays: &[Delay]) -> Vec<Capture> {
    let steps: Vec<&Delay> = delays.iter().filter(|d| !d.figures.cumulated).collect();
    let most = steps.iter().map(|d| d.figures.count).max().unwrap_or(0);
    let is_thin = |d: &Delay| d.figures.count.saturating_mul(2) < most;
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

/// The stage from the first of some to the last: the difference of the medians up to both, or from both on.
fn together(
    delays: &[Delay],
    steps: &[&Delay],
    (first, last): (&Delay, &Delay),
) -> Option<Capture> {
    let (from, to) = (&first.figures.from, &last.figures.to);
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
