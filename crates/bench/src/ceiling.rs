//! The tester measures itself first: its own ceiling, and whether it, and not the node, was the limit of a trial.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use wirelab_trial::{
    Direction, Extent, Field, FlowObservation, Framing, Kind, Load, Observation, Sizes, Status,
    Trial, Warning, WarningCode,
};
use wirelab_wire::LineRate;

/// Beside a node the tester is slower than alone by at most this share.
const BESIDE_A_NODE: f64 = 0.05;
/// Within this share of its ceiling the tester may have been the limit, however well the runs agree. On one host,
/// ceilings measured minutes apart differed by up to 9 %, although the runs of each agreed within 1 %.
pub const LEAST_MARGIN: f64 = 0.1;
/// A rate further below the ceiling than this share is far from it, however much the runs differ.
pub const MOST_MARGIN: f64 = 0.25;
/// Runs of the tester against itself. The best is the ceiling, because a run can be too slow but never too fast.
pub const RUNS: usize = 3;
/// An older ceiling is measured again, because other work of the host has changed.
const MOST_AGE: Duration = Duration::from_secs(60);
/// From this share of the link's rate on, the link was the limit.
pub const AT_LINK_RATE: f64 = 0.995;
/// Time of each run of the tester alone, in ps; an implementation may use another.
pub const CEILING_TIME_PS: u64 = 100_000_000_000;

/// The tester's rate against itself, and its uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Frames/s of one flow: the best of the runs, or why it is unknown.
    pub frames_per_s: Field<f64>,
    /// How much slower the second best run was, relative to the best; or all runs, relative to the rate of a trial.
    pub spread_ratio: f64,
    /// When the runs were made; `None` for an earlier process, as in a resumed file.
    pub taken: Option<Instant>,
}

impl Bound {
    fn absent(why: &str) -> Bound {
        Bound {
            frames_per_s: Field::absent(why),
            spread_ratio: 0.0,
            taken: Some(Instant::now()),
        }
    }

    /// Whether it is valid for the host's present state. An unknown ceiling stays unknown.
    fn is_fresh(&self) -> bool {
        let near = |taken: Instant| taken.elapsed() <= MOST_AGE;
        self.frames_per_s.value().is_none() || self.taken.is_some_and(near)
    }

    /// The best of several runs. One disturbed run leaves the two best unchanged.
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
            taken: Some(Instant::now()),
        }
    }

    /// The combination of two bounds, taken one after the other.
    fn and(self, later: Bound) -> Bound {
        match (self.frames_per_s.value(), later.frames_per_s.value()) {
            (Some(a), Some(b)) if a >= b => self,
            (_, None) => self,
            _ => later,
        }
    }

    /// Raises the bound to the rate of a trial: the runs were disturbed by more than they differ.
    fn raised_to(self, reached: f64) -> Bound {
        let best = self.frames_per_s.value().copied().unwrap_or(reached);
        Bound {
            frames_per_s: Field::measured(reached),
            spread_ratio: self.spread_ratio.max(1.0 - best / reached),
            ..self
        }
    }

    fn is_below(&self, reached: Option<f64>) -> bool {
        let known = self.frames_per_s.value().zip(reached);
        known.is_some_and(|(known, reached)| *known < reached)
    }

    /// The tester may have been the limit of a rate within this share of the ceiling.
    fn margin_ratio(&self) -> f64 {
        (BESIDE_A_NODE + self.spread_ratio).clamp(LEAST_MARGIN, MOST_MARGIN)
    }
}

/// A source of the tester's rate against itself. Any `FnMut(&Trial) -> Field<f64>` is one.
pub trait Ceiling {
    /// Frames/s of one flow that the tester reaches in one run of this trial against itself with all its flows, or why
    /// that is unknown.
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

/// No ceiling, with the reason, e.g. `a model needs no tester`.
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

/// Measures a [`Ceiling`] for each framing, size, direction and number of ports, and again when it is too old.
pub struct CachedCeiling<'a> {
    inner: &'a mut dyn Ceiling,
    known: HashMap<Key, Bound>,
    /// Ceilings of trials that are answered from a file.
    stored: HashMap<Key, Bound>,
}

impl<'a> CachedCeiling<'a> {
    /// A cache without entries.
    pub fn new(inner: &'a mut dyn Ceiling) -> CachedCeiling<'a> {
        CachedCeiling {
            inner,
            known: HashMap::new(),
            stored: HashMap::new(),
        }
    }

    /// The ceiling for trials like this one: first that of the file, so that a search requests the same loads again;
    /// else measured now if it is unknown or too old.
    pub fn bound_of(&mut self, trial: &Trial, sizes: Sizes) -> Bound {
        let stored = self.stored.remove(&key(trial, sizes));
        stored.unwrap_or_else(|| self.fresh(trial, sizes))
    }

    /// The ceiling for a trial that runs now.
    pub(crate) fn fresh(&mut self, trial: &Trial, sizes: Sizes) -> Bound {
        let key = key(trial, sizes);
        if let Some(known) = self.known.get(&key).filter(|known| known.is_fresh()) {
            return known.clone();
        }
        let taken = self.inner.bound(&trial.unbounded(CEILING_TIME_PS));
        self.known.insert(key, taken.clone());
        taken
    }

    /// The resumed part holds these observations: its search begins with the ceiling of the first. Trials that are
    /// repeated get a new ceiling.
    pub fn replay<'o>(&mut self, observations: impl IntoIterator<Item = &'o Observation>) {
        self.stored.clear();
        for observation in observations {
            let tester = &observation.tester;
            if tester.ceiling_frames_per_s.value().is_none() {
                continue;
            }
            let key = key(&observation.trial, observation.sizes);
            self.stored.entry(key).or_insert_with(|| Bound {
                frames_per_s: tester.ceiling_frames_per_s.clone(),
                spread_ratio: tester.ceiling_spread_ratio.value().copied().unwrap_or(0.0),
                taken: None,
            });
        }
    }

    /// Writes the ceiling into an observation, and decides whether the tester was the limit if the node did not.
    ///
    /// A trial that was faster than the ceiling shows that its runs were disturbed: they are repeated, and the trial's
    /// rate is the least that the ceiling can be. A trial shorter than a run does not show that, because a queue may
    /// have absorbed it.
    pub fn judge(&mut self, observation: &mut Observation) {
        if observation.tester.ceiling_frames_per_s.value().is_none() {
            let (trial, sizes) = (&observation.trial, observation.sizes);
            let mut bound = self.fresh(trial, sizes);
            let (reached, sustained) = (reached(observation), is_sustained(observation));
            if sustained && bound.is_below(reached) {
                bound = bound.and(self.inner.bound(&trial.unbounded(CEILING_TIME_PS)));
            }
            if let Some(reached) = reached.filter(|_| bound.is_below(reached)) {
                bound = bound.raised_to(reached);
            }
            if sustained {
                self.known.insert(key(trial, sizes), bound.clone());
            }
            let tester = &mut observation.tester;
            let known = |ratio: f64| bound.frames_per_s.clone().map(|_| ratio);
            tester.ceiling_spread_ratio = known(bound.spread_ratio);
            tester.ceiling_margin_ratio = known(bound.margin_ratio());
            tester.ceiling_frames_per_s = bound.frames_per_s;
        }
        let void = matches!(observation.status, Status::Void { .. });
        if !void && observation.tester.was_limit.value().is_none() {
            observation.tester.was_limit = was_limit(observation);
        }
        let warning = warning(observation);
        // Observations from before an interrupt were judged then.
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

/// Frames/s of a flow that arrived, where measured. A stream of an iperf peer has no frames; its bytes count as frames
/// of the trial's size, as in a ceiling.
fn arrived(flow: &FlowObservation, sizes: &Sizes) -> Option<f64> {
    let datagram = sizes.datagram.filter(|bytes| *bytes > 0);
    let bits = datagram.map(|bytes| 8.0 * f64::from(bytes));
    let of_stream = || Some(measured(&flow.goodput_bits_per_s)? / bits?);
    measured(&flow.frames_per_s).or_else(of_stream)
}

fn measured(rate: &Field<f64>) -> Option<f64> {
    let rate = (rate.kind() == Some(Kind::Measured)).then(|| rate.value().copied());
    rate.flatten()
}

/// Frames/s of the fastest flow that arrived.
fn fastest(observation: &Observation) -> Option<f64> {
    let flows = observation.flows.iter();
    let rates = flows.filter_map(|flow| arrived(flow, &observation.sizes));
    rates.reduce(f64::max)
}

/// Frames/s that the tester reached with any flow: the arrived rate or its own sent rate, wherever frames were lost.
fn reached(observation: &Observation) -> Option<f64> {
    let own = |flow: &&FlowObservation| observation.tester_sends(flow);
    let senders = observation.flows.iter().filter(own);
    let senders = senders.filter_map(|flow| flow.sender.value());
    let sent = senders.filter_map(|sender| measured(&sender.achieved_frames_per_s));
    sent.chain(fastest(observation)).reduce(f64::max)
}

/// Whether a trial lasted as long as a run of the ceiling.
fn is_sustained(observation: &Observation) -> bool {
    let own = |flow: &FlowObservation| {
        let sent = *flow.sent_frames.value()? as f64;
        let rate = measured(&flow.sender.value()?.achieved_frames_per_s)?;
        Some((sent / rate * 1e12) as u64)
    };
    let lasted = |flow: &FlowObservation| flow.elapsed.value().map(|e| e.ps).or_else(|| own(flow));
    match observation.trial.extent {
        Extent::Time { time_ps } => time_ps >= CEILING_TIME_PS,
        Extent::Frames { .. } => {
            let lasted = observation.flows.iter().filter_map(lasted);
            lasted.max().is_some_and(|ps| ps >= CEILING_TIME_PS)
        }
    }
}

/// Whether the tester was the limit of a result.
///
/// A tester that sends (the node receives or echoes) was the limit if it fell behind the rate. It also was if its own
/// queue dropped frames that had arrived, or if it ran at maximum load within the margin of its own ceiling, unless the
/// flow filled the link. Within the margin it was the limit, or may have been. Earlier verdicts have no influence, so
/// the same trial gets the same verdict in another run and in a resumed file.
fn was_limit(observation: &Observation) -> Field<bool> {
    let trial = &observation.trial;
    let rates = || observation.flows.iter().map(|flow| &flow.frames_per_s);
    if rates().any(|r| r.value().is_some())
        && rates().all(|r| !r.kind().is_some_and(Kind::is_of_node))
    {
        return Field::absent("no tester took part: nothing was measured");
    }
    let fed = |flow: &FlowObservation| flow.direction != Direction::Transmit;
    let slow = |flow: &FlowObservation| fed(flow) && flow.sender_was_slow();
    let spoilt = |flow: &FlowObservation| slow(flow) || flow.tester_dropped();
    if observation.flows.iter().any(spoilt) {
        return Field::measured(true);
    }
    if trial.load != Load::Max {
        return Field::measured(false);
    }
    let Some(fastest) = fastest(observation) else {
        return Field::absent(why_no_rate(observation));
    };
    let carrier = observation.node.capabilities.link_bits_per_s;
    let link = trial.link().or(carrier.and_then(LineRate::new));
    if link.is_some_and(|l| fastest >= AT_LINK_RATE * l.frames_per_s(&observation.sizes)) {
        return Field::measured(false);
    }
    match &observation.tester.ceiling_frames_per_s {
        Field::Observed { value, .. } => {
            let margin = observation.tester.ceiling_margin_ratio.value();
            let margin = margin.copied().unwrap_or(LEAST_MARGIN);
            Field::measured(fastest >= (1.0 - margin) * value)
        }
        Field::Absent { absent } => Field::absent(format!("the tester's ceiling: {absent}")),
    }
}

/// Why no rate of the trial can be compared with the tester's ceiling.
fn why_no_rate(observation: &Observation) -> String {
    let rate = observation.flows.first().map(|flow| &flow.frames_per_s);
    match rate {
        None => "the trial has no flow, so no rate is known".to_owned(),
        Some(Field::Absent { absent }) => {
            format!("no rate to compare with the tester's ceiling: {absent}")
        }
        Some(Field::Observed { kind, .. }) => {
            format!("the rate is {kind}, which is not compared with a measured ceiling")
        }
    }
}

fn warning(observation: &Observation) -> Option<Warning> {
    let limited = observation.tester.was_limit.value() == Some(&true);
    // A sender that fell behind or was paused has its own warning.
    let void = matches!(observation.status, Status::Void { .. });
    if !limited || void || observation.trial.load != Load::Max {
        return None;
    }
    Some(Warning::new(
        WarningCode::TESTER_WAS_LIMIT, // The figure is in the results; without it here, the same warning of many trials is shown once.
        "the tester was at its own ceiling, so the node may be faster than this",
        "use a faster host, fewer ports at once or larger frames; wirelab selftest shows what this host can do",
    ))
}
