//! Repeats trials that a host spoilt, and marks them void if none succeeds.

use std::time::{Duration, Instant};

use crate::counter::Counter;
use crate::description::Description;
use crate::field::Field;
use crate::load::Load;
use crate::node::{Cancel, Node, NodeError, Progress};
use crate::observation::{Observation, Warning};
use crate::trial::{Extent, Trial};
use crate::warning_code::WarningCode;

/// Most attempts of a trial that the tester's host spoils.
const MOST_ATTEMPTS: u64 = 3;
/// Short trials, which one late tick spoils, get more attempts while all attempts together take less than this.
const SHORT: Duration = Duration::from_secs(2);
/// Most attempts even then.
const MOST_SHORT_ATTEMPTS: u64 = 10;
/// After this many consecutive failed trials the host is always busy: each trial gets one attempt until one succeeds.
const HOPELESS: u32 = 3;
/// Repeats for a slightly missed rate take at most this part of the time of all trials, except the first ones.
const REPEATS_SHARE: u64 = 20;
/// Repeats of that kind that are always allowed.
const FREE_REPEATS: u64 = MOST_ATTEMPTS - 1;
/// If a node sends more at maximum load than the tester's queue holds, this share of what the tester received is
/// requested.
const LOWERED: f64 = 0.8;
/// Most such requests, each for less.
const MOST_LOWERED: u64 = 3;
/// Most doublings after that.
const MOST_RAISED: u64 = 4;
/// A node that reached this share of a load kept it.
const KEPT: f64 = 0.95;

/// A node whose trials are repeated where the tester's own host spoilt them, or the node's host, as far as the node
/// reports that. A trial without success is void, with the reason; figures of one that the node's host spoilt are
/// bounds. If the tester's own queue dropped what the node sent at maximum load, the trial is repeated at a lower load:
/// its figure is then a lower bound, with the tester as the limit. The counter [`Counter::ATTEMPTS`] holds the number of
/// attempts; a trial that a node ran together with another, and that already has that counter, is not repeated.
pub struct Retrying<'a> {
    node: &'a mut dyn Node,
    /// Time of all trials in ps, and of the repeats for slightly missed rates.
    requested_ps: u64,
    repeated_ps: u64,
    repeats: u64,
    /// Consecutive failed trials.
    in_vain: u32,
}

impl<'a> Retrying<'a> {
    /// No trial ran yet.
    pub fn new(node: &'a mut dyn Node) -> Retrying<'a> {
        Retrying {
            node,
            requested_ps: 0,
            repeated_ps: 0,
            repeats: 0,
            in_vain: 0,
        }
    }

    /// Whether a disturbed trial is worth another attempt.
    fn may_ask_again(&self, attempts: u64, begun: Instant) -> bool {
        let most = match begun.elapsed() < SHORT {
            true => MOST_SHORT_ATTEMPTS,
            false => MOST_ATTEMPTS,
        };
        self.in_vain < HOPELESS && attempts < most
    }

    /// Repeats a trial at maximum load, of which the tester's queue dropped frames, at a load that the tester can
    /// receive; returns the same observation where that does not succeed.
    fn lowered(
        &mut self,
        trial: &Trial,
        dropped: Observation,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> (Observation, u64) {
        let mut taken = dropped.slowest_frames_per_s();
        for attempt in 1..=MOST_LOWERED {
            let Some(rate) = taken.map(|rate| rate * LOWERED).filter(|rate| *rate > 0.0) else {
                return (dropped, attempt - 1);
            };
            // A node that sends only at maximum load keeps that observation.
            let Ok(observed) = self.at(rate, trial, progress, cancel) else {
                return (dropped, attempt - 1);
            };
            if cancel.is_cancelled() || observed.tester_held_up().is_some() {
                return (dropped, attempt);
            }
            if observed.arrived_whole() {
                // If more was dropped before, that is the bound.
                let most = if attempt == 1 { MOST_RAISED } else { 0 };
                let (observed, raised) =
                    self.raised((observed, rate), most, trial, progress, cancel);
                return (observed, attempt + raised);
            }
            taken = observed.slowest_frames_per_s();
        }
        (dropped, MOST_LOWERED)
    }

    /// At overload the tester's queue takes less than at a steady load, possibly far less. So the load is doubled until the
    /// queue drops again, or the node sends no more.
    fn raised(
        &mut self,
        (mut best, mut rate): (Observation, f64),
        most: u64,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> (Observation, u64) {
        let mut attempts = 0;
        while attempts < most && best.slowest_frames_per_s() >= Some(rate * KEPT) {
            let Ok(observed) = self.at(2.0 * rate, trial, progress, cancel) else {
                break;
            };
            attempts += 1;
            if cancel.is_cancelled()
                || observed.tester_held_up().is_some()
                || !observed.arrived_whole()
            {
                break;
            }
            (best, rate) = (observed, 2.0 * rate);
        }
        best.trial = trial.clone();
        best.tester.was_limit = Field::measured(true);
        best.warnings.push(lowered_load(rate));
        (best, attempts)
    }

    fn at(
        &mut self,
        frames_per_s: f64,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let at_rate = Trial {
            load: Load::FrameRate { frames_per_s },
            ..trial.clone()
        };
        self.node.run(&at_rate, progress, cancel)
    }

    /// Whether a slightly missed rate is worth another attempt of `trial_ps`.
    fn may_repeat(&mut self, attempts: u64, trial_ps: u64) -> bool {
        let after = self.repeated_ps.saturating_add(trial_ps);
        let allowed = self.repeats < FREE_REPEATS || after <= self.requested_ps / REPEATS_SHARE;
        let again = attempts < MOST_ATTEMPTS && allowed;
        if again {
            self.repeats += 1;
            self.repeated_ps = after;
        }
        again
    }
}

impl Node for Retrying<'_> {
    fn describe(&self) -> Description {
        self.node.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let begun = Instant::now();
        let mut attempts = 0;
        loop {
            let since = Instant::now();
            let mut observation = self.node.run(trial, progress, cancel)?;
            attempts += 1;
            let trial_ps = match trial.extent {
                Extent::Time { time_ps } => time_ps,
                Extent::Frames { .. } => ps(since.elapsed()),
            };
            let held = observation.tester_held_up();
            let spoilt = held.is_some() || observation.node_held_up().is_some();
            let own = observation.counters.contains_key(Counter::ATTEMPTS.word())
                || cancel.is_cancelled();
            let dropped = held.is_none() && !own && observation.dropped_arrivals();
            let again = match spoilt {
                _ if own => false,
                true => self.may_ask_again(attempts, begun),
                false => {
                    let missed = observation.missed_its_rate();
                    let worth = missed || (dropped && trial.load != Load::Max);
                    worth && self.may_repeat(attempts, trial_ps)
                }
            };
            if again {
                continue;
            }
            if dropped && trial.load == Load::Max {
                let (observed, lowered) = self.lowered(trial, observation, progress, cancel);
                observation = observed;
                attempts += lowered;
            }
            self.requested_ps = self.requested_ps.saturating_add(trial_ps);
            if attempts > 1 {
                let counted = Field::measured(attempts);
                observation
                    .counters
                    .insert(Counter::ATTEMPTS.word().to_owned(), counted);
            }
            self.in_vain = match spoilt {
                true => self.in_vain.saturating_add(1),
                false => 0,
            };
            // If a node reports that its own host paused it, its figures are bounds, and say so.
            if let Some(why) = held {
                give_up(&mut observation, &why, attempts);
            }
            return Ok(observation);
        }
    }

    fn warm_up(&mut self, trial: &Trial, cancel: &Cancel) -> Result<(), NodeError> {
        self.node.warm_up(trial, cancel)
    }
}

fn lowered_load(frames_per_s: f64) -> Warning {
    let rate = crate::format::decimal(frames_per_s, 0);
    Warning::new(
        WarningCode::TESTER_LOWERED_LOAD,
        format!(
            "the tester's own queue dropped frames at maximum load, so {rate} frames/s were requested from the node instead: it may be faster"
        ),
        "measure from a faster host, or free this one's processors of other work",
    )
}

fn give_up(observation: &mut Observation, why: &str, attempts: u64) {
    let times = match attempts {
        1 => "in its only attempt".to_owned(),
        n => format!("in the last of {n} attempts"),
    };
    let why = format!("{why}, {times}");
    observation.make_void(&why);
    observation.tester.was_limit = Field::measured(true);
    observation.warnings.push(Warning::new(
        WarningCode::TESTER_HELD_UP,
        why,
        "free the host's processors of other work, or measure from another host",
    ));
}

fn ps(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().saturating_mul(1_000)).unwrap_or(u64::MAX)
}
