//! Estimates the duration of a plan, for its progress and to keep the quick plan quick.

use std::collections::HashSet;

use wirelab_trial::search::{BurstSearch, LossCurve, Search};
use wirelab_trial::{Capabilities, Direction, Framing, Load, Sizes, Trial};
use wirelab_wire::LineRate;

use crate::ceiling::{CEILING_TIME_PS, RUNS};
use crate::matrix::{PlannedTrial, UNKNOWN_PS, trial_estimate_ps};
use crate::part::{PartWork, PlannedPart, Template, parts};
use crate::plan::Plan;

/// Ratio of the highest to the smallest load of a search, where neither is known: that of a search without limits.
const USUAL_RANGE: f64 = 1e3;

/// Largest ratio in the estimate.
const MOST_RANGE: f64 = 1e15;

/// The longest duration of a plan on a node, in ps: trials with their overhead, searches with the most trials allowed,
/// and the tester's own ceilings.
///
/// # Errors
/// [`ExpandError`](crate::ExpandError) where the plan has no possible trials.
pub fn plan_estimate_ps(
    plan: &Plan,
    capabilities: &Capabilities,
    overhead_ps: u64,
) -> Result<u64, crate::ExpandError> {
    let estimate = Estimate {
        link: capabilities.link_bits_per_s.and_then(LineRate::new),
        overhead_ps,
    };
    let parts = parts(plan, capabilities.ports)?;
    let all = parts.iter().map(|part| estimate.part_ps(part));
    let ceilings = (kinds_of_trials(&parts) * RUNS) as u64 * CEILING_TIME_PS;
    Ok(all.fold(ceilings, u64::saturating_add))
}

/// Number of trial types that need their own ceiling.
fn kinds_of_trials(parts: &[PlannedPart]) -> usize {
    let mut kinds: HashSet<(Framing, Sizes, Direction, u32)> = HashSet::new();
    for part in parts {
        let mut add = |trial: &Trial, sizes| {
            kinds.insert((trial.framing, sizes, trial.direction, trial.ports));
        };
        match &part.what {
            PartWork::Steps(steps) => steps.iter().for_each(|s| add(&s.trial, s.sizes)),
            PartWork::Rates(of, _)
            | PartWork::Around(of, ..)
            | PartWork::LossCurve(of, _)
            | PartWork::Bursts(of, _) => add(&of.trial, of.sizes),
        }
    }
    kinds.len()
}

/// Facts about the node that are known before the first trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub link: Option<LineRate>,
    pub overhead_ps: u64,
}

impl Estimate {
    /// The time of a trial with its warm-up.
    pub fn step_ps(&self, step: &PlannedTrial) -> u64 {
        let warm_up_ps = match step.warmup_ps {
            0 => 0,
            ps => ps.saturating_add(self.overhead_ps),
        };
        trial_estimate_ps(&step.trial, self.link)
            .unwrap_or(UNKNOWN_PS)
            .saturating_add(self.overhead_ps)
            .saturating_add(warm_up_ps)
    }

    /// The time of consecutive trials.
    pub fn steps_ps(&self, steps: &[PlannedTrial]) -> u64 {
        let each = steps.iter().map(|step| self.step_ps(step));
        each.fold(0, u64::saturating_add)
    }

    /// The longest time of a part.
    pub fn part_ps(&self, part: &PlannedPart) -> u64 {
        match &part.what {
            PartWork::Steps(steps) => self.steps_ps(steps),
            PartWork::Rates(template, search) => self.search_ps(template, search),
            PartWork::Around(_, shares, extent) => {
                let wirelab_trial::Extent::Time { time_ps } = extent else {
                    return UNKNOWN_PS;
                };
                let trial_ps = time_ps.saturating_add(self.overhead_ps);
                trial_ps.saturating_mul(shares.len() as u64)
            }
            PartWork::LossCurve(_, curve) => self.curve_ps(curve),
            PartWork::Bursts(template, bursts) => self.bursts_ps(template, bursts),
        }
    }

    fn search_ps(&self, template: &Template, search: &Search) -> u64 {
        let (trial, sizes) = (&template.trial, &template.sizes);
        let link = trial.link().or(self.link);
        let requested = trial.load.frames_per_s(sizes, trial.framing.layer, link);
        let carried = link.map(|link| link.frames_per_s(sizes));
        let highest = requested.ok().flatten().or(carried);
        let range = match highest.zip(search.min_load_frames_per_s) {
            // A plan may name a load too low for any trial; the search then uses a larger one.
            Some((max, min)) => (max / min).clamp(1.0, MOST_RANGE),
            None => USUAL_RANGE,
        };
        // One more where a trial at load max must find the highest load.
        let most = search.most_trials(1.0, range).saturating_add(1);
        let trials = most.min(search.max_trials);
        let longest = search.goals.iter().map(|goal| goal.final_trial_ps).max();
        let trials_ps = longest.unwrap_or(0).saturating_mul(trials);
        let overhead_ps = self.overhead_ps.saturating_mul(trials.saturating_add(1));
        let requested_ps = trials_ps.saturating_add(search.warmup_ps);
        requested_ps
            .min(search.max_time_ps)
            .saturating_add(overhead_ps)
    }

    fn curve_ps(&self, curve: &LossCurve) -> u64 {
        let steps = (100.0 / curve.step_percent).ceil() as u64;
        let requested_ps = curve.trial_ps.saturating_mul(steps).min(curve.max_time_ps);
        requested_ps.saturating_add(self.overhead_ps.saturating_mul(steps))
    }

    /// A typical burst is a hundredth of the longest; the bound would be hours.
    fn bursts_ps(&self, template: &Template, search: &BurstSearch) -> u64 {
        let link = template.trial.link().or(self.link);
        let longest = link.map_or(1.0, |link| {
            link.frames_per_s(&template.sizes) * search.longest_ps as f64 / 1e12
        });
        let bursts = BurstSearch::most_trials_per_repeat(longest as u64)
            .saturating_mul(u64::from(search.repeats))
            .min(search.max_trials);
        let burst_ps = (search.longest_ps / 100).saturating_add(self.overhead_ps);
        bursts.saturating_mul(burst_ps)
    }
}

/// The load near a rate that was found, as a plan writes it: application bits per second on UDP and link bits on
/// Ethernet, rounded to two significant digits. If that exceeds the link's rate, it is the whole link.
pub(crate) fn load_near(frames_per_s: f64, template: &Template, link: Option<LineRate>) -> Load {
    let (trial, sizes) = (&template.trial, &template.sizes);
    let overhead = trial
        .link()
        .or(link)
        .map(|l| l.overhead)
        .unwrap_or_default();
    let bytes = sizes.datagram.map_or(overhead.link_bytes(sizes), u64::from);
    let bits_per_s = two_digits(frames_per_s * 8.0 * bytes as f64);
    let load = Load::BitRate { bits_per_s };
    let link = trial.link().or(link);
    match load.frames_per_s(sizes, trial.framing.layer, link) {
        Ok(_) => load,
        Err(_) => Load::LinkShare { percent: 100.0 },
    }
}

/// A rate of at least 1 bit/s rounded to two significant digits.
fn two_digits(rate: f64) -> f64 {
    let digits = rate.max(1.0).log10().floor() as i32 - 1;
    if digits <= 0 {
        return rate.round().max(1.0);
    }
    let unit = 10f64.powi(digits);
    (rate / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_to_two_digits() {
        for (rate, rounded) in [
            (7_349_112.0, 7_300_000.0),
            (99_600_000.0, 100_000_000.0),
            (12_500.0, 13_000.0),
            (94.4, 94.0),
            (0.2, 1.0),
            (950e6, 950e6),
        ] {
            assert_eq!(two_digits(rate), rounded, "{rate}");
        }
    }
}
