//! The goals and limits of a search, and its highest cost.

use std::f64::consts::LN_2;

use serde::{Deserialize, Serialize};

/// First step from load to load on a logarithmic scale, where nothing is known: a factor of 2.
pub const FIRST_STEP: f64 = LN_2;
/// Smallest width of a goal: a load is kept within 0.5 %, so a smaller width would have no meaning.
pub const MIN_WIDTH_RATIO: f64 = 1e-4;

/// A search goal (RFC 9971). A load meets it when, over trials of `final_trial_ps` that last `duration_sum_ps`
/// together, at most the share `exceed_ratio` of the time was in trials that lost more than `loss_ratio`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Length of a full trial, in ps.
    pub final_trial_ps: u64,
    /// Time of full trials, in ps, after which a load is decided; at least `final_trial_ps`.
    pub duration_sum_ps: u64,
    /// Largest share of lost frames, at least 0 and less than 1.
    pub loss_ratio: f64,
    /// Share of the time in which trials may lose more, at least 0 and less than 1.
    pub exceed_ratio: f64,
    /// Largest distance of the bounds: (upper − lower) / upper, at least [`MIN_WIDTH_RATIO`] and less than 1.
    pub width_ratio: f64,
}

impl Goal {
    /// No loss at all, within 0.5 %, in one trial of `trial_ps`.
    pub const fn no_loss(trial_ps: u64) -> Goal {
        Goal {
            final_trial_ps: trial_ps,
            duration_sum_ps: trial_ps,
            loss_ratio: 0.0,
            exceed_ratio: 0.0,
            width_ratio: 0.005,
        }
    }

    /// A loss of at most `loss_ratio` in one trial of `trial_ps`. RFC 9971 advises a width that is not below the
    /// loss ratio, so it is the larger of the loss ratio and 0.5 %.
    pub const fn at_loss(loss_ratio: f64, trial_ps: u64) -> Goal {
        Goal {
            loss_ratio,
            width_ratio: loss_ratio.max(0.005),
            ..Goal::no_loss(trial_ps)
        }
    }

    /// Width on a logarithmic scale, on which each halving of an interval costs one load.
    pub fn log_width(&self) -> f64 {
        -(-self.width_ratio).ln_1p()
    }

    /// Full trials after which a load is decided.
    pub const fn trials_per_load(&self) -> u64 {
        self.duration_sum_ps.div_ceil(self.final_trial_ps)
    }
}

/// Goals, and the limits of the search for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The goals; handled from the smallest loss ratio up, because that has the smallest loads.
    pub goals: Vec<Goal>,
    /// Length of the short trials before the full ones, in ps; `None` for full trials only.
    pub preliminary_trial_ps: Option<u64>,
    /// Smallest load on each flow, in frames/s; `None` for a thousandth of the highest.
    pub min_load_frames_per_s: Option<f64>,
    /// Length of one unrecorded trial at the smallest load before all others, in ps; 0 for none.
    pub warmup_ps: u64,
    /// Most trials, without the warm-up.
    pub max_trials: u64,
    /// Most requested time of all trials together, including the warm-up, in ps.
    pub max_time_ps: u64,
}

impl Search {
    /// A search for `goals` with only full trials, no warm-up, at most 1,000 trials and an hour.
    pub const fn new(goals: Vec<Goal>) -> Search {
        Search {
            goals,
            preliminary_trial_ps: None,
            min_load_frames_per_s: None,
            warmup_ps: 0,
            max_trials: 1_000,
            max_time_ps: 3_600_000_000_000_000,
        }
    }

    /// Throughput at no loss and the rate at a loss of at most 2.5 %, each in one trial of `trial_ps`, after short
    /// trials of a tenth of it and a warm-up of the same length.
    pub fn usual(trial_ps: u64) -> Search {
        let short_ps = trial_ps / 10;
        Search {
            preliminary_trial_ps: (short_ps > 0).then_some(short_ps),
            warmup_ps: short_ps,
            ..Search::new(vec![
                Goal::no_loss(trial_ps),
                Goal::at_loss(0.025, trial_ps),
            ])
        }
    }

    /// Most trials that the search can need between these two loads: for each goal (and its short trials) 2 + ⌈log₂(1 +
    /// L/s)⌉ + ⌈log₂(L/g)⌉ loads, L = ln(max/min), g the goal's logarithmic width −ln(1 − width), s the smaller of g
    /// and ln 2; times twice the full trials of a load, because the tester may fall behind in as many. Trials without a
    /// result are additional; [`Search::max_trials`] counts them too.
    pub fn most_trials(&self, min_frames_per_s: f64, max_frames_per_s: f64) -> u64 {
        let range = (max_frames_per_s / min_frames_per_s).ln().max(0.0);
        let loads = |goal: &Goal| {
            let width = goal.log_width();
            let out = (1.0 + range / width.min(FIRST_STEP)).log2();
            let halvings = (range / width).log2().max(0.0);
            2 + out.ceil() as u64 + halvings.ceil() as u64
        };
        self.phases()
            .iter()
            .flat_map(|(_, phases)| phases)
            .map(|goal| loads(goal) * 2 * goal.trials_per_load())
            .sum()
    }

    /// Each goal's index with its phases, in the order of execution: short trials, then its own.
    pub fn phases(&self) -> Vec<(usize, Vec<Goal>)> {
        let mut order: Vec<usize> = (0..self.goals.len()).collect();
        order.sort_by(|a, b| {
            let loss = |at: &usize| self.goals[*at].loss_ratio;
            loss(a).total_cmp(&loss(b))
        });
        let phases = |at: usize| {
            let goal = &self.goals[at];
            let short = self
                .preliminary_trial_ps
                .filter(|short_ps| *short_ps < goal.final_trial_ps)
                .map(|short_ps| Goal {
                    final_trial_ps: short_ps,
                    duration_sum_ps: short_ps,
                    ..goal.clone()
                });
            short.into_iter().chain([goal.clone()]).collect()
        };
        order.into_iter().map(|at| (at, phases(at))).collect()
    }
}
