//! The gain of each change to a node: every single change, and pairs of the five best, each found by solving the
//! changed model.

mod change;
mod solve;
mod why;

use std::cmp::Ordering;

use wirelab_trial::nearest::did_you_mean;
use wirelab_trial::whatif::{Aim, Change, ChangeKind, Gain, Untried, Whatif, WhatifFigures};
use wirelab_trial::{Load, Trial};

use crate::build::BuildError;
use crate::file::{NodeFile, SetError};
use change::Candidate;
pub(crate) use solve::{Delay, delay};
use solve::{Solved, solve};

/// Best single changes that are tried two at a time.
const BEST: usize = 5;
/// Gains below this many percent count as none: they are below the digits of any table and the resolution of a
/// simulation.
pub const LEAST_GAIN_PERCENT: f64 = 0.05;
/// Most assignments by the user.
pub const MAX_OWN: usize = 64;

/// What to try, and what to rank by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhatifOptions {
    /// Assignments by the user, in the syntax of `--set`; each is one more single change.
    pub own: Vec<String>,
    /// The criterion for the ranking. `None` chooses: latency where the path has capture points, else loss and CPU load
    /// where the trial gives a load, else throughput.
    pub aim: Option<Aim>,
    /// The capture point to rank by; by default the one with the longest path.
    pub point: Option<String>,
}

/// Why no change was tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhatifError {
    /// The node cannot do the trial.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// An invalid assignment.
    #[error(transparent)]
    Set(#[from] SetError),
    /// Too many assignments.
    #[error("{0} changes were given; fix: try at most {MAX_OWN} at once")]
    TooMany(usize),
    /// The path has no capture point.
    #[error("the path has no capture point, so it has no latency; fix: rank by throughput or load")]
    NoPoint,
    /// A point without a ranking by latency.
    #[error(
        "--point is of a ranking by latency, and this one is by {0}; fix: add --by latency, or leave --point out"
    )]
    PointOf(Aim),
    /// The path has no such capture point.
    #[error("the path has no capture point '{point}'; {}fix: choose one of {}",
        did_you_mean(point, points.iter().map(|known| &**known)), points.join(", "))]
    Point {
        /// The requested point.
        point: String,
        /// The points of the path.
        points: Vec<String>,
    },
}

/// The result of the unchanged `file` in `trial`: the baseline of [`whatif`].
///
/// # Errors
/// [`BuildError`] where the node cannot do the trial.
pub fn baseline(file: &NodeFile, trial: &Trial) -> Result<WhatifFigures, BuildError> {
    Ok(solve(file, trial)?.figures)
}

/// Tries every single change of `file` in `trial` and pairs of the five best, ranked by gain.
///
/// The figures of each change are those of the changed model: the closed form where it is exact, else a short
/// simulation with the same seed.
///
/// # Errors
/// [`WhatifError`] where the node cannot do the trial, or an assignment of the user is invalid. A change from the file
/// that does not fit the trial is listed with the reason.
pub fn whatif(
    file: &NodeFile,
    trial: &Trial,
    options: &WhatifOptions,
) -> Result<Whatif, WhatifError> {
    if options.own.len() > MAX_OWN {
        return Err(WhatifError::TooMany(options.own.len()));
    }
    for assignment in &options.own {
        file.clone().set(assignment)?;
    }
    let before = solve(file, trial)?;
    let aim = options
        .aim
        .unwrap_or_else(|| natural_aim(trial, &before.figures));
    let point = point(aim, options, &before.figures)?;
    let mut search = Search {
        file,
        trial,
        before: &before,
        aim,
        point: point.as_deref(),
        untried: Vec::new(),
    };
    let mut singles = Vec::new();
    for candidate in change::all(file, &before.instance, &options.own) {
        singles.extend(search.try_it(candidate));
    }
    singles.sort_by(rank);
    let mut pairs = Vec::new();
    let best: Vec<&Tried> = singles
        .iter()
        .take_while(|tried| gains(&tried.change))
        .take(BEST)
        .collect();
    for (at, one) in best.iter().enumerate() {
        for other in &best[at + 1..] {
            if let Some(both) = one.candidate.with(&other.candidate) {
                let tried = search.try_it(both);
                pairs.extend(tried.map(|tried| compared(tried, one, other)));
            }
        }
    }
    pairs.sort_by(rank);
    let changes = |tried: Vec<Tried>| tried.into_iter().map(|t| t.change).collect();
    Ok(Whatif {
        node: file.name.clone(),
        title: file.title.clone(),
        trial: trial.clone(),
        sizes: before.instance.resolved.sizes,
        aim,
        notes: notes(&before, aim),
        untried: search.untried,
        singles: changes(singles),
        pairs: changes(pairs),
        baseline: before.figures,
        point,
    })
}

fn natural_aim(trial: &Trial, figures: &WhatifFigures) -> Aim {
    if !figures.latency.is_empty() {
        Aim::Latency
    } else if trial.load == Load::Max {
        Aim::Throughput
    } else {
        Aim::Load
    }
}

fn point(
    aim: Aim,
    options: &WhatifOptions,
    figures: &WhatifFigures,
) -> Result<Option<String>, WhatifError> {
    if aim != Aim::Latency {
        return match options.point {
            Some(_) => Err(WhatifError::PointOf(aim)),
            None => Ok(None),
        };
    }
    let points: Vec<String> = figures.latency.iter().map(|l| l.point.clone()).collect();
    let longest = figures
        .latency
        .iter()
        .max_by(|a, b| a.mean_ps.total_cmp(&b.mean_ps));
    match (&options.point, longest) {
        (_, None) => Err(WhatifError::NoPoint),
        (Some(point), _) if !points.contains(point) => Err(WhatifError::Point {
            point: point.clone(),
            points,
        }),
        (Some(point), _) => Ok(Some(point.clone())),
        (None, Some(longest)) => Ok(Some(longest.point.clone())),
    }
}

fn notes(before: &Solved, aim: Aim) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(requested), Some(sent)) = (
        before.instance.raised_from,
        before.instance.resolved.sizes.datagram,
    ) {
        notes.push(format!(
            "The test tool sends datagrams of {sent} bytes where {requested} were requested."
        ));
    }
    if !before.steady.exact && aim != Aim::Latency {
        notes.push(
            "Rates are from a short simulation with one seed for all changes: differences far below 1 % are not significant."
                .to_owned(),
        );
    }
    notes
}

/// A change that was tried.
struct Tried {
    candidate: Candidate,
    change: Change,
    /// Its rank among changes with the same gain: easier changes come first.
    order: usize,
}

struct Search<'a> {
    file: &'a NodeFile,
    trial: &'a Trial,
    before: &'a Solved,
    aim: Aim,
    point: Option<&'a str>,
    untried: Vec<Untried>,
}

impl Search<'_> {
    /// Makes the change and solves the model again; `None` where it does not fit the trial.
    fn try_it(&mut self, candidate: Candidate) -> Option<Tried> {
        let solved = candidate
            .apply(self.file)
            .map_err(|error| error.to_string())
            .and_then(|file| solve(&file, self.trial).map_err(|error| error.to_string()));
        let after = match solved {
            Ok(after) => after,
            Err(why) => {
                self.untried.push(Untried {
                    what: candidate.what,
                    why,
                });
                return None;
            }
        };
        if unchanged(self.before, &after) && candidate.kind != ChangeKind::Own {
            self.untried.push(Untried {
                what: candidate.what,
                why: "it affects nothing on this trial's path".to_owned(),
            });
            return None;
        }
        let (gain, percent) = self.gain(&after.figures);
        let worse = percent <= -LEAST_GAIN_PERCENT;
        let why_not = (percent < LEAST_GAIN_PERCENT)
            .then(|| why::words(self.aim, self.point, &candidate, self.before, &after, worse));
        let change = Change {
            kind: candidate.kind,
            what: candidate.what.clone(),
            set: candidate.set.clone(),
            gain,
            gain_percent: percent,
            after: after.figures,
            why_not,
        };
        let order = effort(candidate.kind);
        Some(Tried {
            candidate,
            change,
            order,
        })
    }

    /// The gained figure, and its change in percent.
    fn gain(&self, after: &WhatifFigures) -> (Gain, f64) {
        let before = &self.before.figures;
        let less = |before: f64, after: f64| {
            let percent = 100.0 * (before - after) / before;
            // Differences by rounding count as equal.
            if before > 0.0 && percent.abs() > 1e-9 {
                percent
            } else {
                0.0
            }
        };
        match self.aim {
            Aim::Throughput => (
                Gain::FramesPerS,
                0.0 - less(before.frames_per_s, after.frames_per_s),
            ),
            Aim::Latency => {
                let mean = |figures: &WhatifFigures| {
                    let found = figures
                        .latency
                        .iter()
                        .find(|l| Some(l.point.as_str()) == self.point);
                    found.map_or(0.0, |latency| latency.mean_ps)
                };
                (Gain::Latency, less(mean(before), mean(after)))
            }
            // A loss that a change adds where there was none is in points.
            Aim::Load if before.loss_ratio == 0.0 && after.loss_ratio > 0.0 => {
                (Gain::Loss, -100.0 * after.loss_ratio)
            }
            Aim::Load if less(before.loss_ratio, after.loss_ratio).abs() >= LEAST_GAIN_PERCENT => {
                (Gain::Loss, less(before.loss_ratio, after.loss_ratio))
            }
            Aim::Load => {
                let load = |figures: &WhatifFigures| figures.cpu_load_ratio.unwrap_or(0.0);
                (Gain::CpuLoad, less(load(before), load(after)))
            }
        }
    }
}

/// Whether a change left the trial's net unchanged.
fn unchanged(before: &Solved, after: &Solved) -> bool {
    let loads = |solved: &Solved| -> Vec<_> {
        solved
            .instance
            .chains
            .iter()
            .map(|c| c.load.clone())
            .collect()
    };
    before.instance.net == after.instance.net && loads(before) == loads(after)
}

fn gains(change: &Change) -> bool {
    change.gain_percent >= LEAST_GAIN_PERCENT
}

/// How invasive a change is, to rank changes with the same gain.
fn effort(kind: ChangeKind) -> usize {
    match kind {
        ChangeKind::Own => 0,
        ChangeKind::Token => 1,
        ChangeKind::Alternative => 2,
        ChangeKind::Clock => 3,
        ChangeKind::Stage => 4,
        ChangeKind::Pair => 5,
    }
}

/// Best first: less loss before less load, then by gain, then by effort.
fn rank(a: &Tried, b: &Tried) -> Ordering {
    by_gain(&a.change, &b.change).then(a.order.cmp(&b.order))
}

fn by_gain(a: &Change, b: &Change) -> Ordering {
    // Gains that differ by less than a millionth of a percent are equal.
    let key = |change: &Change| {
        let loss = change.gain == Gain::Loss && gains(change);
        (loss, (change.gain_percent * 1e6).round())
    };
    let ((loss_a, gain_a), (loss_b, gain_b)) = (key(a), key(b));
    // Without any loss, less load is better.
    let load = |change: &Change| match change.after.cpu_load_ratio {
        Some(load) if change.gain == Gain::Loss => (load * 1e4).round(),
        _ => 0.0,
    };
    loss_b
        .cmp(&loss_a)
        .then(gain_b.total_cmp(&gain_a))
        .then(load(a).total_cmp(&load(b)))
}

/// Notes on a pair that it gains no more than the better of its two changes.
fn compared(mut pair: Tried, one: &Tried, other: &Tried) -> Tried {
    let better = if rank(one, other) == Ordering::Greater {
        other
    } else {
        one
    };
    let (both, alone) = (&pair.change, &better.change);
    let near =
        both.gain == alone.gain && both.gain_percent < alone.gain_percent + LEAST_GAIN_PERCENT;
    let better_still = both.gain == Gain::Loss && by_gain(both, alone) == Ordering::Less;
    if near && !better_still {
        pair.change.why_not = Some(format!("no more than '{}' alone", alone.what));
    }
    pair
}
