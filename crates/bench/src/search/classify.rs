//! Decides whether a load meets a goal: the rules of RFC 9971 on the trials at that load.

use wirelab_trial::search::Goal;

/// The tester cannot offer a load if it was the limit in this many trials at that load, or in as many as the goal
/// requires if that is more.
pub(super) const TESTER_ATTEMPTS: u64 = 2;

/// If less than this share of the load arrives without loss, a queue held the rest. Clocks and timers explain a smaller
/// difference.
const ARRIVED_SHARE: f64 = 0.995;

/// A trial at a load, reduced to what goals use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LoadTrial {
    pub trial_ps: u64,
    pub loss_ratio: f64,
    /// The largest possible loss: frames that the tester may have dropped are in doubt.
    pub loss_ratio_at_most: f64,
    /// Frames/s that arrived, for the slowest flow.
    pub arrived_frames_per_s: Option<f64>,
    /// Whether the tester intended to offer more: loss may then be from its faster intervals and does not count.
    pub held_up: bool,
    /// The loss of the frames that were really sent, where the path held the sender back.
    pub held_back_at_loss: Option<f64>,
}

impl LoadTrial {
    /// Whether it is relevant to a goal.
    fn counts_for(&self, goal: &Goal) -> bool {
        (!self.held_up || self.loss_ratio <= goal.loss_ratio) && !self.is_in_doubt(goal)
    }

    /// Whether the tester's own drops make its result for the goal uncertain.
    fn is_in_doubt(&self, goal: &Goal) -> bool {
        self.loss_ratio <= goal.loss_ratio && self.loss_ratio_at_most > goal.loss_ratio
    }
}

/// All trials at one load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoadRecord {
    pub frames_per_s: f64,
    pub trials: Vec<LoadTrial>,
    /// Trials in which the tester was the limit.
    pub tester_limited: u64,
    /// The offered frames/s and the loss ratio of each of these trials that offered less than requested.
    pub offered_less: Vec<(f64, f64)>,
}

/// The class of a load for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Lower,
    Upper,
    /// The tester cannot offer it.
    TooFast,
    /// The tester offered less, and the node carried that: no bound, because the offered rate is another load.
    Passed,
    Undecided,
}

impl LoadRecord {
    pub fn new(frames_per_s: f64) -> LoadRecord {
        LoadRecord {
            frames_per_s,
            trials: Vec::new(),
            tester_limited: 0,
            offered_less: Vec::new(),
        }
    }

    /// RFC 9971, appendix on load classification: the load is decided when neither the best nor the worst possible
    /// result of the missing time would change the class.
    pub fn class(&self, goal: &Goal) -> Class {
        let sum = |long: bool, high: bool| {
            let those = |t: &&LoadTrial| {
                t.counts_for(goal)
                    && (t.trial_ps >= goal.final_trial_ps) == long
                    && (t.loss_ratio > goal.loss_ratio) == high
            };
            let times = self.trials.iter().filter(those);
            times.map(|t| t.trial_ps as f64).sum::<f64>()
        };
        let (long_low, long_high) = (sum(true, false), sum(true, true));
        // Short trials with loss count like long ones, unless short trials without loss compensate for them.
        let balance = sum(false, false) * goal.exceed_ratio / (1.0 - goal.exceed_ratio);
        let high = long_high + (sum(false, true) - balance).max(0.0);
        let whole = (high + long_low).max(goal.duration_sum_ps as f64);
        let allowed = whole * goal.exceed_ratio;
        let in_doubt = self.trials.iter().filter(|trial| trial.is_in_doubt(goal));
        let limited = self.tester_limited + in_doubt.count() as u64;
        if high > allowed {
            Class::Upper
        } else if whole - long_low <= allowed {
            Class::Lower
        } else if limited < TESTER_ATTEMPTS {
            Class::Undecided
        } else if whole - self.carried_less(goal).count() as f64 * goal.final_trial_ps as f64
            <= allowed
        {
            // The goal was met at the offered load, not at the requested one.
            Class::Passed
        } else if limited >= TESTER_ATTEMPTS.max(goal.trials_per_load()) {
            Class::TooFast
        } else {
            Class::Undecided
        }
    }

    /// Whether it fails the goal because the path takes no more, not because of loss.
    pub fn is_beyond_the_path(&self, goal: &Goal) -> bool {
        let mut losses = self.trials.iter().filter_map(|t| t.held_back_at_loss);
        losses.any(|loss| loss <= goal.loss_ratio)
    }

    /// Whether the only failure is that the path took less than the requested load.
    pub fn fails_by_the_path_alone(&self, goal: &Goal) -> bool {
        let fails = |t: &&LoadTrial| t.counts_for(goal) && t.loss_ratio > goal.loss_ratio;
        let mut failing = self.trials.iter().filter(fails);
        failing.all(|t| {
            t.held_back_at_loss
                .is_some_and(|loss| loss <= goal.loss_ratio)
        })
    }

    /// The frames/s that were offered instead of this load, and that the node carried.
    pub fn carried_less(&self, goal: &Goal) -> impl Iterator<Item = f64> {
        let loss_ratio = goal.loss_ratio;
        let offered = self.offered_less.iter();
        offered.filter_map(move |(offered, loss)| (*loss <= loss_ratio).then_some(*offered))
    }

    /// Full trials of the goal at this load.
    pub fn full_trials<'a>(&'a self, goal: &'a Goal) -> impl Iterator<Item = &'a LoadTrial> {
        let full = |t: &&LoadTrial| t.trial_ps >= goal.final_trial_ps && t.counts_for(goal);
        self.trials.iter().filter(full)
    }

    /// Frames/s that arrived in the worst full trial that the exceed ratio leaves: load · (1 − loss) (RFC 9971). If the
    /// arrived rate is clearly lower, it is used: a queue then held the rest, and released it after the trial.
    pub fn conditional_throughput(&self, goal: &Goal) -> f64 {
        let through = |trial: &LoadTrial| {
            let offered = self.frames_per_s * (1.0 - trial.loss_ratio);
            let arrived = trial.arrived_frames_per_s;
            let queued = arrived.filter(|rate| *rate < ARRIVED_SHARE * offered);
            (queued.unwrap_or(offered), trial.trial_ps as f64)
        };
        let mut trials: Vec<(f64, f64)> = self.full_trials(goal).map(through).collect();
        trials.sort_by(|a, b| b.0.total_cmp(&a.0));
        let time: f64 = trials.iter().map(|(_, ps)| ps).sum();
        let mut left = time.max(goal.duration_sum_ps as f64) * (1.0 - goal.exceed_ratio);
        let mut worst = 0.0;
        for (through, ps) in trials {
            worst = through;
            left -= ps;
            if left <= 0.0 {
                break;
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record_of(trials: &[(u64, f64)]) -> LoadRecord {
        LoadRecord {
            trials: trials
                .iter()
                .map(|&(trial_ps, loss_ratio)| LoadTrial {
                    trial_ps,
                    loss_ratio,
                    loss_ratio_at_most: loss_ratio,
                    arrived_frames_per_s: None,
                    held_up: false,
                    held_back_at_loss: None,
                })
                .collect(),
            ..LoadRecord::new(1000.0)
        }
    }

    /// ETSI TST009: two trials, of which one may lose.
    fn tst009() -> Goal {
        Goal {
            duration_sum_ps: 120,
            exceed_ratio: 0.5,
            ..Goal::no_loss(60)
        }
    }

    /// The example search of RFC 9971: its points and goals. In the last two points it prints "Lower Bound" for the
    /// fourth goal beside ratios of 42.9 and 27.3 %, which are above that goal's 20 %; its code says upper bound.
    #[test]
    fn the_example_of_the_rfc_is_classified_by_its_code() {
        let goal = |trial, sum, loss_ratio, exceed_ratio| Goal {
            final_trial_ps: trial,
            duration_sum_ps: sum,
            loss_ratio,
            exceed_ratio,
            width_ratio: 0.005,
        };
        let goals = [
            goal(60, 60, 0.0, 0.0),
            goal(60, 120, 0.0, 0.5),
            goal(1, 120, 0.005, 0.5),
            goal(60, 60, 0.005, 0.2),
        ];
        use Class::{Lower as L, Undecided as N, Upper as U};
        // Trials added at a point: number, length and loss.
        let points = [
            ((59, 1, 0.0), [N, N, N, N]),
            ((1, 1, 0.01), [U, N, N, N]),
            ((59, 1, 0.01), [U, N, N, U]),
            ((1, 1, 0.0), [U, N, L, U]),
            ((1, 60, 0.001), [U, N, L, U]),
            ((1, 60, 0.0), [U, L, L, U]),
        ];
        let mut load = record_of(&[]);
        for (point, (added, classes)) in points.into_iter().enumerate() {
            let (count, trial_ps, loss_ratio) = added;
            let trial = LoadTrial {
                trial_ps,
                loss_ratio,
                loss_ratio_at_most: loss_ratio,
                arrived_frames_per_s: None,
                held_up: false,
                held_back_at_loss: None,
            };
            load.trials.extend(vec![trial; count]);
            let got = [0, 1, 2, 3].map(|at| load.class(&goals[at]));
            assert_eq!(got, classes, "point {}", point + 1);
        }
        let through = [1, 2, 3].map(|at| load.conditional_throughput(&goals[at]));
        assert_eq!(through, [1000.0, 1000.0, 999.0]);
    }

    #[test]
    fn one_loss_decides_at_no_exceed_ratio() {
        let goal = Goal::no_loss(60);
        for (trials, class) in [
            (&[][..], Class::Undecided),
            (&[(60, 0.0)], Class::Lower),
            (&[(60, 0.1)], Class::Upper),
            (&[(1, 0.1)], Class::Upper),
            (&[(1, 0.0)], Class::Undecided),
            (&[(60, 0.0), (60, 0.1)], Class::Upper),
        ] {
            assert_eq!(record_of(trials).class(&goal), class, "{trials:?}");
        }
    }

    #[test]
    fn half_of_the_time_may_lose_where_the_goal_says_so() {
        for (trials, class) in [
            (&[(60, 0.1)][..], Class::Undecided),
            (&[(60, 0.0)], Class::Lower),
            (&[(60, 0.1), (60, 0.0)], Class::Lower),
            (&[(60, 0.1), (60, 0.1)], Class::Upper),
            // Short trials with and without loss compensate for each other.
            (&[(10, 0.1), (10, 0.0)], Class::Undecided),
            (&[(40, 0.1), (10, 0.0), (60, 0.1)], Class::Upper),
        ] {
            assert_eq!(record_of(trials).class(&tst009()), class, "{trials:?}");
        }
    }

    #[test]
    fn the_result_is_what_arrived_in_the_worst_trial_that_counts() {
        assert_eq!(
            record_of(&[(60, 0.25)]).conditional_throughput(&Goal::at_loss(0.3, 60)),
            750.0
        );
        let both = record_of(&[(60, 0.5), (60, 0.0)]);
        assert_eq!(both.conditional_throughput(&tst009()), 1000.0);
        let goal = Goal {
            exceed_ratio: 0.4,
            ..tst009()
        };
        assert_eq!(both.conditional_throughput(&goal), 500.0);
    }

    #[test]
    fn a_tester_that_failed_once_is_asked_again() {
        let mut load = record_of(&[]);
        load.tester_limited = 1;
        assert_eq!(load.class(&tst009()), Class::Undecided);
        load.tester_limited = TESTER_ATTEMPTS;
        assert_eq!(load.class(&tst009()), Class::TooFast);
    }

    #[test]
    fn a_tester_that_offered_less_passes_a_load_once_that_meets_the_goal() {
        let most_of_three = Goal {
            duration_sum_ps: 180,
            exceed_ratio: 0.5,
            ..Goal::no_loss(60)
        };
        for (offered, class) in [
            (&[(400.0, 0.0)][..], Class::Undecided),
            (&[(400.0, 0.0), (300.0, 0.0)], Class::Passed),
            // The loss may be from the tester's faster intervals, so the trial is repeated.
            (&[(400.0, 0.1), (300.0, 0.0)], Class::Undecided),
            (&[(400.0, 0.1), (300.0, 0.0), (500.0, 0.0)], Class::Passed),
            (&[(400.0, 0.1), (300.0, 0.0), (500.0, 0.1)], Class::TooFast),
        ] {
            let mut load = record_of(&[]);
            load.offered_less = offered.to_vec();
            load.tester_limited = offered.len() as u64;
            assert_eq!(load.class(&most_of_three), class, "{offered:?}");
        }
    }
}
