//! The search for the rates of several goals (RFC 9971), smaller loads first.

use wirelab_trial::search::{
    FIRST_STEP, Goal, GoalResult, Limit, MaxLoad, MaxLoadSource, Outcome, Search, SearchEnded,
    SearchResult,
};
use wirelab_trial::{Direction, Extent, Field, Kind, Load, Trial};

use super::asker::{Asker, SearchContext};
use super::classify::{Class, LoadRecord, LoadTrial};
use super::reading::CarriedLoad;
use super::refuse::{SearchError, check_search, check_trial};

/// The first load, as a share of the highest.
const FIRST_SHARE: f64 = 0.1;
/// The default smallest load, as a share of the highest.
const MIN_SHARE: f64 = 1e-3;
/// Rounding error of two logarithms that must not cause another trial.
const ROUNDING: f64 = 1e-9;

/// Finds the rate of each goal of `search` on a node.
///
/// `trial` is the offered trial, except load and extent: its load, unless it is `max`, is the highest of the search. No
/// load exceeds that, the link's rate, or the tester's own ceiling; where none of these is known, one trial at load
/// `max` is first. Loads are frames/s of each flow. Each result is within its goal's width if the loss does not fall
/// with increasing load; if it does, the smallest load with too much loss is the bound.
///
/// # Errors
/// [`SearchError`] where there is nothing to search. Later errors are in [`SearchResult::ended`], and the results until
/// then in the goals.
pub fn find_rates(
    context: SearchContext<'_>,
    trial: &Trial,
    search: &Search,
) -> Result<SearchResult, SearchError> {
    check_search(search)?;
    check_trial(trial)?;
    let sizes = trial.sizes()?;
    let limits = (search.max_trials, search.max_time_ps);
    let mut asker = Asker::new(context, "search", trial, sizes, limits);
    let requested = highest_requested(&asker, trial)?;
    let mut rates = Rates {
        loads: Vec::new(),
        per_goal: vec![0; search.goals.len()],
        range: None,
        path_set_max: false,
    };
    let ended = match highest(&mut asker, trial, search, requested) {
        Err(ended) => ended,
        Ok(max) => {
            let min = smallest(search, max.frames_per_s)?;
            asker.at_most_ps = at_most_ps(search, min, max.frames_per_s);
            rates.range = Some((min, max));
            rates.path_set_max = asker.records.last().is_some_and(|first| first.held_back);
            rates
                .all(&mut asker, search)
                .err()
                .unwrap_or(SearchEnded::Done)
        }
    };
    Ok(rates.result(asker, trial, search, ended))
}

/// The highest load that is known without a trial: the trial's, or the link's.
fn highest_requested(asker: &Asker, trial: &Trial) -> Result<Option<MaxLoad>, SearchError> {
    let (sizes, link) = (&asker.sizes, asker.link);
    let requested = trial.load.frames_per_s(sizes, trial.framing.layer, link)?;
    Ok(match (requested, link) {
        (Some(frames_per_s), _) => Some(MaxLoad {
            frames_per_s,
            set_by: MaxLoadSource::Asked,
        }),
        (None, Some(link)) => Some(MaxLoad {
            frames_per_s: link.frames_per_s(sizes),
            set_by: MaxLoadSource::Link,
        }),
        (None, None) => None,
    })
}

/// The highest load of the search; a trial may be needed to find it.
fn highest(
    asker: &mut Asker,
    trial: &Trial,
    search: &Search,
    requested: Option<MaxLoad>,
) -> Result<MaxLoad, SearchEnded> {
    let ceiling = asker.tester_ceiling();
    let ceiling = ceiling.value().filter(|c| c.is_finite() && **c > 0.0);
    let ceiling = ceiling.map(|frames_per_s| MaxLoad {
        frames_per_s: *frames_per_s,
        set_by: MaxLoadSource::TesterCeiling,
    });
    // If both are equal the link is named, because no tester could offer more.
    let known = match (requested, ceiling) {
        (Some(requested), Some(ceiling)) if ceiling.frames_per_s < requested.frames_per_s => {
            Some(ceiling)
        }
        (requested, ceiling) => requested.or(ceiling),
    };
    if let Some(known) = known {
        return Ok(known);
    }
    let first_ps = search.goals.first().map_or(0, |g| g.final_trial_ps);
    let time_ps = search
        .preliminary_trial_ps
        .unwrap_or(first_ps)
        .min(first_ps);
    let reading = asker.ask(Load::Max, Extent::Time { time_ps }, time_ps)?;
    match reading
        .sent_frames_per_s
        .filter(|r| r.is_finite() && *r > 0.0)
    {
        Some(frames_per_s) => Ok(MaxLoad {
            frames_per_s,
            set_by: MaxLoadSource::MaxTrial,
        }),
        None => Err(SearchEnded::Failed {
            why: format!(
                "no rate was measured at load max ({} {}), so the highest load is unknown; fix: give one with --load or --rate, or with the key load or rate in a plan",
                trial.direction, trial.size.bytes
            ),
        }),
    }
}

/// The smallest load of the search, large enough that the shortest trial holds a frame.
fn smallest(search: &Search, max: f64) -> Result<f64, SearchError> {
    let times = search.goals.iter().map(|g| g.final_trial_ps);
    let shortest_ps = times.chain(search.preliminary_trial_ps).min().unwrap_or(1);
    let one_frame = 1e12 / shortest_ps as f64;
    let min = search.min_load_frames_per_s.unwrap_or(max * MIN_SHARE);
    let min = min.max(one_frame);
    if min < max {
        Ok(min)
    } else {
        Err(SearchError::NoRange { min, max })
    }
}

fn at_most_ps(search: &Search, min: f64, max: f64) -> u64 {
    let phases = search.phases();
    let longest = |at: &usize| search.goals[*at].final_trial_ps;
    let longest_ps = phases.iter().map(|(at, _)| longest(at)).max().unwrap_or(0);
    longest_ps
        .saturating_mul(search.most_trials(min, max).min(search.max_trials))
        .saturating_add(search.warmup_ps)
        .min(search.max_time_ps)
}

struct Rates {
    /// Every load so far, smallest first.
    loads: Vec<LoadRecord>,
    /// Number of trials for each goal.
    per_goal: Vec<u64>,
    range: Option<(f64, MaxLoad)>,
    /// Whether the path held the sender back at load `max`, which defines the highest load.
    path_set_max: bool,
}

/// The loads that enclose the rate of a goal, as far as known.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    lower: Option<&'a LoadRecord>,
    upper: Option<(&'a LoadRecord, Class)>,
    not_monotone: bool,
}

impl Bounds<'_> {
    /// Whether both are known and further apart than the goal allows.
    fn are_wide(&self, goal: &Goal) -> bool {
        let apart = self.lower.zip(self.upper);
        apart.is_some_and(|(lower, (upper, _))| {
            let apart = (upper.frames_per_s / lower.frames_per_s).ln();
            apart > goal.log_width() * (1.0 + ROUNDING)
        })
    }
}

impl Rates {
    fn all(&mut self, asker: &mut Asker, search: &Search) -> Result<(), SearchEnded> {
        let Some((min, max)) = self.range else {
            return Ok(());
        };
        let max = max.frames_per_s;
        if search.warmup_ps > 0 {
            asker.warm_up(rate(min), search.warmup_ps)?;
        }
        let mut hint = (max * FIRST_SHARE).max(min);
        let mut step = FIRST_STEP;
        for (at, phases) in search.phases() {
            for goal in &phases {
                self.follow(asker, goal, at, (min, max), (hint, step))?;
                let bounds = self.bounds(goal);
                hint = bounds.lower.map_or(min, |load| load.frames_per_s);
                // The next bound is close, if long trials behave like short ones.
                step = goal.log_width().min(FIRST_STEP);
            }
        }
        Ok(())
    }

    /// Tries loads until the bounds of a goal are within its width, or no load is left.
    fn follow(
        &mut self,
        asker: &mut Asker,
        goal: &Goal,
        at: usize,
        range: (f64, f64),
        (hint, mut step): (f64, f64),
    ) -> Result<(), SearchEnded> {
        while let Some((load, grew)) = self.next(goal, range, hint, step) {
            if grew {
                step *= 2.0;
            }
            while self.class(load, goal) == Class::Undecided {
                let time_ps = goal.final_trial_ps;
                let before = asker.records.len();
                let reading = asker.ask(rate(load), Extent::Time { time_ps }, time_ps);
                self.per_goal[at] += (asker.records.len() - before) as u64;
                let reading = reading?;
                let load_trial = LoadTrial {
                    trial_ps: time_ps,
                    loss_ratio: reading.loss.ratio,
                    loss_ratio_at_most: reading.loss.at_most,
                    arrived_frames_per_s: reading.arrived_frames_per_s,
                    held_up: reading.tester_was_limit,
                    held_back_at_loss: reading.held_back.then_some(reading.loss_of_sent.ratio),
                };
                let within = |taken: &CarriedLoad| (range.0..load).contains(&taken.frames_per_s);
                if let Some(taken) = reading.taken.filter(within) {
                    // The rate that the path took instead of the load is a load of its own. More loss than a goal
                    // allows does not fail it, because it may be caused by a sender that pushes against the path.
                    self.at(taken.frames_per_s).trials.push(LoadTrial {
                        loss_ratio: taken.loss_at_most,
                        loss_ratio_at_most: taken.loss_at_most,
                        held_up: true,
                        held_back_at_loss: None,
                        ..load_trial
                    });
                }
                if !reading.tester_was_limit {
                    self.at(load).trials.push(load_trial);
                    continue;
                }
                self.at(load).tester_limited += 1;
                let offered = reading.sent_frames_per_s;
                if let Some(offered) = offered.filter(|sent| (range.0..load).contains(sent)) {
                    self.offered_less(goal, load, offered, load_trial);
                }
            }
        }
        Ok(())
    }

    /// A trial in which the tester offered less than the load. If the node carried the offered rate, it also carries
    /// any lower one. So for each earlier such trial at this load with another rate, the lower of both rates gets one
    /// more trial. Loss shows nothing, because it may be from the faster intervals between two pauses of the tester.
    fn offered_less(&mut self, goal: &Goal, load: f64, offered: f64, load_trial: LoadTrial) {
        let before: Vec<f64> = self.at(load).carried_less(goal).collect();
        self.at(load)
            .offered_less
            .push((offered, load_trial.loss_ratio));
        if load_trial.loss_ratio > goal.loss_ratio {
            return;
        }
        self.at(offered).trials.push(load_trial);
        for other in before {
            match other.total_cmp(&offered) {
                std::cmp::Ordering::Less => self.at(other).trials.push(load_trial),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => self.at(offered).trials.push(load_trial),
            }
        }
    }

    /// The next load for a goal, and whether it is a step beyond the known loads.
    fn next(
        &self,
        goal: &Goal,
        (min, max): (f64, f64),
        hint: f64,
        step: f64,
    ) -> Option<(f64, bool)> {
        let bounds = self.bounds(goal);
        let upper = bounds.upper.map(|(load, _)| load.frames_per_s);
        let next = match (bounds.lower.map(|load| load.frames_per_s), upper) {
            (None, None) => Some((hint, false)),
            (None, Some(upper)) if upper <= min => None,
            (None, Some(upper)) if hint < upper => Some((hint, false)),
            (None, Some(upper)) => Some(((upper * (-step).exp()).max(min), true)),
            (Some(lower), None) if lower >= max => None,
            (Some(lower), None) => {
                // Beyond the loads that are decided already.
                let mut step = step;
                while self.is_decided((lower * step.exp()).min(max), goal)
                    && lower * step.exp() < max
                {
                    step *= 2.0;
                }
                Some(((lower * step.exp()).min(max), true))
            }
            (Some(lower), Some(upper)) => {
                // If the tester was paused at the middle, a load beside it may work.
                let between = |share: f64| lower * (upper / lower).powf(share);
                let mut places = [0.5, 0.35, 0.65].map(between).into_iter();
                let new = places.find(|load| !self.is_passed(*load, goal));
                new.filter(|_| bounds.are_wide(goal))
                    .map(|load| (load, false))
            }
        };
        // A load that is already decided shows nothing new.
        next.filter(|(load, _)| !self.is_decided(*load, goal))
    }

    /// Whether the tester was paused so near to a load that trying it would show nothing new.
    fn is_passed(&self, load: f64, goal: &Goal) -> bool {
        let near = |record: &&LoadRecord| {
            let apart = (record.frames_per_s / load).ln().abs();
            apart < goal.log_width() / 2.0
        };
        let mut near = self.loads.iter().filter(near);
        near.any(|record| record.class(goal) == Class::Passed)
    }

    fn is_decided(&self, load: f64, goal: &Goal) -> bool {
        self.class(load, goal) != Class::Undecided
    }

    /// The relevant bounds (RFC 9971): the smallest load that fails, and the largest below it that does not.
    fn bounds(&self, goal: &Goal) -> Bounds<'_> {
        let mut bounds = Bounds {
            lower: None,
            upper: None,
            not_monotone: false,
        };
        let carried = self.loads.iter().rev();
        let mut carried = carried.filter(|load| load.class(goal) == Class::Lower);
        let highest = carried.next().map_or(0.0, |load| load.frames_per_s);
        for load in &self.loads {
            match load.class(goal) {
                // A tester that offered more at another time was paused here, and a path that took more took less.
                Class::TooFast if load.frames_per_s < highest => {}
                Class::Upper
                    if load.frames_per_s < highest && load.fails_by_the_path_alone(goal) => {}
                Class::Lower if bounds.upper.is_none() => bounds.lower = Some(load),
                Class::Lower => bounds.not_monotone = true,
                class @ (Class::Upper | Class::TooFast) if bounds.upper.is_none() => {
                    bounds.upper = Some((load, class));
                }
                _ => {}
            }
        }
        bounds
    }

    fn place(&self, load: f64) -> Result<usize, usize> {
        self.loads
            .binary_search_by(|record| record.frames_per_s.total_cmp(&load))
    }

    fn class(&self, load: f64, goal: &Goal) -> Class {
        let place = self.place(load);
        place.map_or(Class::Undecided, |at| self.loads[at].class(goal))
    }

    fn at(&mut self, load: f64) -> &mut LoadRecord {
        let at = self.place(load).unwrap_or_else(|at| {
            self.loads.insert(at, LoadRecord::new(load));
            at
        });
        &mut self.loads[at]
    }

    fn result(
        self,
        asker: Asker,
        trial: &Trial,
        search: &Search,
        ended: SearchEnded,
    ) -> SearchResult {
        let goals = search.goals.iter().zip(&self.per_goal);
        let goals = goals.map(|(goal, trials)| self.goal(&asker, trial, goal, *trials));
        SearchResult {
            goals: goals.collect(),
            node: asker.description.name,
            trial: trial.clone(),
            sizes: asker.sizes,
            search: search.clone(),
            min_load_frames_per_s: self.range.map(|(min, _)| min),
            max_load: self.range.map(|(_, max)| max),
            trials: asker.records,
            asked_ps: asker.requested_ps,
            ended,
        }
    }

    fn goal(&self, asker: &Asker, trial: &Trial, goal: &Goal, trials: u64) -> GoalResult {
        let bounds = self.bounds(goal);
        let kind = asker.kind.unwrap_or(Kind::Measured);
        let figure = |value: Option<f64>, why: &str| match value {
            Some(value) => Field::Observed { value, kind },
            None => Field::absent(why),
        };
        let (outcome, limit) = self.outcome(goal, bounds, trial.direction);
        let lower = bounds.lower.map(|load| load.frames_per_s);
        let upper = bounds.upper.map(|(load, _)| load.frames_per_s);
        let through = bounds.lower.map(|load| load.conditional_throughput(goal));
        let through = match outcome {
            // The rate is somewhere between the bounds, and a number would look exact.
            Outcome::Unfinished if limit.is_some() => Field::absent(
                "the host paused the tester at each load between the bounds: free a core, or raise the width",
            ),
            Outcome::Unfinished => Field::absent("the search ended before: the bounds are known"),
            _ => figure(through, "no load is known to meet the goal"),
        };
        let bits = |bytes: u32| through.clone().map(|r| r * 8.0 * f64::from(bytes));
        GoalResult {
            goal: goal.clone(),
            outcome,
            limited_by: limit.map_or_else(
                || Field::absent("the rate was not found"),
                |value| Field::Observed { value, kind },
            ),
            relevant_lower_bound_frames_per_s: figure(lower, "no load is known to meet the goal"),
            relevant_upper_bound_frames_per_s: figure(upper, "no load is known to fail the goal"),
            width_ratio: figure(
                lower
                    .zip(upper)
                    .map(|(lower, upper)| (upper - lower) / upper),
                "it takes both bounds",
            ),
            conditional_throughput_payload_bits_per_s: bits(asker.sizes.payload),
            conditional_throughput_goodput_bits_per_s: match asker.sizes.datagram {
                Some(datagram) => bits(datagram),
                None => Field::absent("an Ethernet trial"),
            },
            conditional_throughput_frames_per_s: through,
            lower_bound_trials: bounds
                .lower
                .map_or(0, |l| l.full_trials(goal).count() as u64),
            trials,
            not_monotone: bounds.not_monotone,
        }
    }

    fn outcome(&self, goal: &Goal, b: Bounds, direction: Direction) -> (Outcome, Option<Limit>) {
        let Some((min, max)) = self.range else {
            return (Outcome::Unfinished, None);
        };
        // Hint and step matter only at the ends, where the last load is decisive.
        let range = (min, max.frames_per_s);
        let done = self.next(goal, range, min, f64::INFINITY).is_none();
        match (b.lower, b.upper) {
            _ if !done => (Outcome::Unfinished, None),
            (None, Some((_, Class::TooFast))) => (Outcome::TesterTooSlow, None),
            (None, _) => (Outcome::NoLowerBound, None),
            // Above the lower bound there is no result: a rate that the node carries, and no bracket.
            (Some(_), Some((_, Class::TooFast))) => (Outcome::Found, Some(Limit::Tester)),
            // The tester offered no load between what the node carries and what it does not carry.
            _ if b.are_wide(goal) => (Outcome::Unfinished, Some(Limit::Tester)),
            (Some(_), Some((load, _))) if load.is_beyond_the_path(goal) => {
                (Outcome::Found, Some(Limit::Path))
            }
            (Some(_), Some(_)) => (Outcome::Found, Some(Limit::Node)),
            (Some(load), None) => {
                let all_offered = load.frames_per_s >= max.frames_per_s;
                let limit = match (max.set_by, direction) {
                    _ if !all_offered => Limit::Tester,
                    (MaxLoadSource::Link, _) => Limit::Link,
                    (MaxLoadSource::Asked, _) => Limit::Asked,
                    (MaxLoadSource::MaxTrial, _) if self.path_set_max => Limit::Path,
                    // The node itself sent as fast as it could.
                    (MaxLoadSource::MaxTrial, Direction::Transmit) => Limit::Node,
                    (MaxLoadSource::MaxTrial | MaxLoadSource::TesterCeiling, _) => Limit::Tester,
                };
                (Outcome::Found, Some(limit))
            }
        }
    }
}

const fn rate(frames_per_s: f64) -> Load {
    Load::FrameRate { frames_per_s }
}
