//! The tester measures itself first: its own ceiling, and whether it, not the node, was the limit of a trial.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use wirelab_trial::{
    Direction, Extent, FaultRates, Field, FlowObservation, Framing, Kind, Load, Observation, Sizes,
    Status, Trial, Warning,
};
use wirelab_wire::LineRate;

/// The tester beside a node is slower than alone by no more than this share: so near to its ceiling it may have been the
/// limit.
pub const LEAST_MARGIN: f64 = 0.05;
/// Runs of the tester against itself, of which the best is the ceiling: a run can only be too slow, never too fast.
pub const RUNS: usize = 3;
/// A ceiling that was taken longer ago is taken again: what the host does beside has changed.
const MOST_AGE: Duration = Duration::from_secs(60);
/// From this share of the link's rate on, the link was the limit, and nobody else.
pub const AT_LINK_RATE: f64 = 0.995;
/// Time asked of the tester alone in each run, in ps; a provider may take another.
pub const CEILING_TIME_PS: u64 = 100_000_000_000;

/// How fast the tester is against itself, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Frames/s of one flow: the best of the runs, or why it is not known.
    pub frames_per_s: Field<f64>,
    /// By what share of the best the second best run was slower.
    pub spread_ratio: f64,
}

impl Bound {
    fn absent(why: &str) -> Bound {
        Bound {
            frames_per_s: Field::absent(why),
            spread_ratio: 0.0,
        }
    }

    /// The best of several runs. A single run that was held up leaves the two best as they are.
    fn of(mut run: impl FnMut() -> Field<f64>) -> Bound {
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            match run() {
                Field::Observed { value, .. } if value.is_finite() && value > 0.0 => {
                    runs.push(value)
                }
                Field::Observed { .. } => return Bound::absent("its runs gave no rate"),
                Field::Absent { absent } if runs.is_empty() => return Bound::absent(&absent),
                Field::Absent { .. } => {}
            }
        }
        runs.sort_by(|a, b| b.total_cmp(a));
        let second = runs.get(1).unwrap_or(&runs[0]);
        Bound {
            frames_per_s: Field::measured(runs[0]),
            spread_ratio: 1.0 - second / runs[0],
        }
    }

    /// Both, taken one after the other.
    fn and(self, later: Bound) -> Bound {
        match (self.frames_per_s.value(), later.frames_per_s.value()) {
            (Some(a), Some(b)) if a >= b => self,
            (_, None) => self,
            _ => later,
        }
    }

    /// Share of the ceiling from which on the tester may have been the limit, less than 1.
    fn margin_ratio(&self) -> f64 {
        (LEAST_MARGIN + self.spread_ratio).min(0.5)
    }
}

/// Something that knows how fast the tester is against itself. Any `FnMut(&Trial) -> Field<f64>` is one.
pub trait Ceiling {
    /// Frames/s of one flow that the tester reaches in one run against itself when asked this trial with all its
    /// flows, or why that is not known.
    fn frames_per_s(&mut self, trial: &Trial) -> Field<f64>;

    /// The best of [`RUNS`] runs.
    fn bound(&mut self, trial: &Trial) -> Bound {
        Bound::of(|| self.frames_per_s(trial))
    }
}

impl<F: FnMut(&Trial) -> Field<f64>> Ceiling for F {
    fn frames_per_s(&mut self, trial: &Trial) -> Field<f64> {
        self(trial)
    }
}

/// No ceiling, and the reason for it, e.g. `a model needs no tester`.
#[derive(Clone, Debug)]
pub struct NoCeiling(pub String);

impl Ceiling for NoCeiling {
    fn frames_per_s(&mut self, _: &Trial) -> Field<f64> {
        Field::absent(self.0.clone())
    }
}

type Key = (Framing, Sizes, Direction, u32);

fn key(trial: &Trial, sizes: Sizes) -> Key {
    (trial.framing, sizes, trial.direction, trial.ports)
}

/// What is known of the tester for one framing, size, direction and number of ports.
#[derive(Clone, Debug)]
struct Known {
    bound: Bound,
    taken: Instant,
    /// Whether the last trial at maximum load was at the ceiling.
    at_ceiling: Option<bool>,
}

/// Asks a [`Ceiling`] for each framing, size, direction and number of ports, again where that was a while ago.
pub struct CachedCeiling<'a> {
    inner: &'a mut dyn Ceiling,
    known: HashMap<Key, Known>,
}

impl<'a> CachedCeiling<'a> {
    /// Nothing known yet.
    pub fn new(inner: &'a mut dyn Ceiling) -> CachedCeiling<'a> {
        CachedCeiling {
            inner,
            known: HashMap::new(),
        }
    }

    /// The ceiling for trials like this one, measured now if it is not known yet or too old.
    pub fn bound_of(&mut self, trial: &Trial, sizes: Sizes) -> Bound {
        self.fresh(trial, sizes).bound.clone()
    }

    fn fresh(&mut self, trial: &Trial, sizes: Sizes) -> &mut Known {
        let (inner, key) = (&mut self.inner, key(trial, sizes));
        let known = self.known.entry(key).or_insert_with(|| Known {
            bound: inner.bound(&unbounded(trial)),
            taken: Instant::now(),
            at_ceiling: None,
        });
        if known.taken.elapsed() > MOST_AGE && known.bound.frames_per_s.value().is_some() {
            known.bound = inner.bound(&unbounded(trial));
            known.taken = Instant::now();
        }
        known
    }

    /// Take the ceiling of a trial that was asked before for known.
    pub fn learn(&mut self, observation: &Observation) {
        let tester = &observation.tester;
        if tester.ceiling_frames_per_s.value().is_some() {
            let key = key(&observation.trial, observation.sizes);
            self.known.entry(key).or_insert_with(|| Known {
                bound: Bound {
                    frames_per_s: tester.ceiling_frames_per_s.clone(),
                    spread_ratio: tester.ceiling_spread_ratio.value().copied().unwrap_or(0.0),
                },
                taken: Instant::now(),
                at_ceiling: None,
            });
        }
    }

    /// Write the ceiling into an observation, and judge whether the tester was the limit where the node did not.
    ///
    /// A trial that was faster than the ceiling shows that its runs were held up: they are made again, and what the
    /// trial itself reached is the least that the ceiling can be.
    pub fn judge(&mut self, observation: &mut Observation) {
        if observation.tester.ceiling_frames_per_s.value().is_none() {
            let (trial, sizes) = (observation.trial.clone(), observation.sizes);
            let mut bound = self.bound_of(&trial, sizes);
            let reached = fastest(observation);
            let beyond = |bound: &Bound| {
                let known = bound.frames_per_s.value();
                known
                    .zip(reached)
                    .is_some_and(|(known, reached)| reached > *known)
            };
            if beyond(&bound) {
                bound = bound.and(self.inner.bound(&unbounded(&trial)));
            }
            if let (true, Some(reached)) = (beyond(&bound), reached) {
                bound.frames_per_s = Field::measured(reached);
            }
            let margin = bound.margin_ratio();
            let tester = &mut observation.tester;
            tester.ceiling_spread_ratio = bound.frames_per_s.clone().map(|_| bound.spread_ratio);
            tester.ceiling_margin_ratio = bound.frames_per_s.clone().map(|_| margin);
            tester.ceiling_frames_per_s = bound.frames_per_s.clone();
            self.fresh(&trial, sizes).bound = bound;
        }
        if observation.tester.was_limit.value().is_none() {
            let key = key(&observation.trial, observation.sizes);
            let known = self.known.get_mut(&key);
            let before = known.as_ref().and_then(|known| known.at_ceiling);
            observation.tester.was_limit = was_limit(observation, before);
            let dropped = observation
                .flows
                .iter()
                .any(FlowObservation::tester_dropped);
            if let (Some(known), Load::Max, false) = (known, observation.trial.load, dropped) {
                known.at_ceiling = observation.tester.was_limit.value().copied();
            }
        }
        let warning = warning(observation);
        // What was observed before an interrupt was judged then.
        if let Some(warning) = warning.filter(|w| !observation.warnings.contains(w)) {
            observation.warnings.push(warning);
        }
    }
}

impl Ceiling for CachedCeiling<'_> {
    fn frames_per_s(&mut self, trial: &Trial) -> Field<f64> {
        self.bound(trial).frames_per_s
    }

    fn bound(&mut self, trial: &Trial) -> Bound {
        match trial.sizes() {
            Ok(sizes) => self.bound_of(trial, sizes),
            Err(error) => Bound::absent(&error.to_string()),
        }
    }
}

/// Frames/s of the fastest flow, where they were measured.
fn fastest(observation: &Observation) -> Option<f64> {
    let rates = observation.flows.iter().map(|flow| &flow.frames_per_s);
    let measured = rates.filter(|rate| rate.kind() == Some(Kind::Measured));
    measured
        .filter_map(|rate| rate.value().copied())
        .reduce(f64::max)
}

/// The same trial with nothing that holds the tester back, and no way through a node: neither load, link rate,
/// buffers, faults nor background.
fn unbounded(trial: &Trial) -> Trial {
    Trial {
        load: Load::Max,
        extent: Extent::Time {
            time_ps: CEILING_TIME_PS,
        },
        link_bits_per_s: None,
        buffers: None,
        faults: FaultRates::default(),
        path: None,
        wait: None,
        rule: None,
        background: None,
        probes: None,
        ..trial.clone()
    }
}

/// Whether the tester was the limit of what was seen.
///
/// A tester that sends (the node receives or sends back) and could not keep the rate was; so was one whose own queue
/// dropped frames that had arrived, and one that ran at maximum load within the margin of its own ceiling, unless the
/// flow filled the link. Where a trial like it was at the ceiling `before`, or was not, the margin is half as much again,
/// or half: equal trials get one verdict.
fn was_limit(observation: &Observation, before: Option<bool>) -> Field<bool> {
    let trial = &observation.trial;
    let rates = || observation.flows.iter().map(|flow| &flow.frames_per_s);
    if rates().any(|r| r.value().is_some())
        && rates().all(|r| !r.kind().is_some_and(Kind::was_seen))
    {
        return Field::absent("no tester took part: nothing was measured");
    }
    let slow =
        |flow: &FlowObservation| flow.direction != Direction::Transmit && flow.sender_was_slow();
    let spoilt = |flow: &FlowObservation| slow(flow) || flow.tester_dropped();
    if observation.flows.iter().any(spoilt) {
        return Field::measured(true);
    }
    if trial.load != Load::Max {
        return Field::measured(false);
    }
    let Some(fastest) = fastest(observation) else {
        return Field::absent("no rate was seen");
    };
    let carrier = observation.node.capabilities.link_bits_per_s;
    let link = trial.link().or(carrier.and_then(LineRate::new));
    if link.is_some_and(|l| fastest >= AT_LINK_RATE * l.frames_per_s(&observation.sizes)) {
        return Field::measured(false);
    }
    match &observation.tester.ceiling_frames_per_s {
        Field::Observed { value, .. } => {
            let margin = observation.tester.ceiling_margin_ratio.value();
            let sticky = match before {
                Some(true) => 1.5,
                Some(false) => 0.5,
                None => 1.0,
            };
            let margin = sticky * margin.copied().unwrap_or(LEAST_MARGIN);
            Field::measured(fastest >= (1.0 - margin) * value)
        }
        Field::Absent { absent } => Field::absent(format!("the tester's ceiling: {absent}")),
    }
}

fn warning(observation: &Observation) -> Option<Warning> {
    let limited = observation.tester.was_limit.value() == Some(&true);
    // A sender below its rate, or held up, has been named where that was seen.
    let void = matches!(observation.status, Status::Void { .. });
    if !limited || void || observation.trial.load != Load::Max {
        return None;
    }
    Some(Warning {
        code: "tester-was-limit".to_owned(),
        // The figure stands in the results; without it the same warning of many trials is shown once.
        text: "the tester was at its own ceiling, so the node may be faster than this".to_owned(),
        way_out: "use a faster host, fewer ports at once or larger frames; wirelab selftest shows what this host can do"
            .to_owned(),
    })
}
