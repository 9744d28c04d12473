//! The tester measures itself first: its own ceiling, and whether it, not the node, was the limit of a trial.

use std::collections::HashMap;

use wirelab_trial::{
    Direction, Extent, FaultRates, Field, Framing, Kind, Load, Observation, Sizes, Trial, Warning,
};
use wirelab_wire::LineRate;

/// From this share of its own ceiling on, the tester may have been the limit.
pub const NEAR_CEILING: f64 = 0.95;
/// From this share of the link's rate on, the link was the limit, and nobody else.
pub const AT_LINK_RATE: f64 = 0.995;
/// Time asked of the tester alone, in ps; a provider may take another.
pub const CEILING_TIME_PS: u64 = 200_000_000_000;

/// Something that knows how fast the tester is against itself. Any `FnMut(&Trial) -> Field<f64>` is one.
pub trait Ceiling {
    /// Frames/s of one flow that the tester reaches against itself when asked this trial with all its flows,
    /// or why that is not known.
    fn frames_per_s(&mut self, trial: &Trial) -> Field<f64>;
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

/// Asks a [`Ceiling`] once for each framing, size, direction and number of ports.
pub struct CachedCeiling<'a> {
    inner: &'a mut dyn Ceiling,
    known: HashMap<(Framing, Sizes, Direction, u32), Field<f64>>,
}

impl<'a> CachedCeiling<'a> {
    /// Nothing known yet.
    pub fn new(inner: &'a mut dyn Ceiling) -> CachedCeiling<'a> {
        CachedCeiling {
            inner,
            known: HashMap::new(),
        }
    }

    /// The ceiling for trials like this one, measured now if it is not known yet.
    pub fn frames_per_s(&mut self, trial: &Trial, sizes: Sizes) -> Field<f64> {
        let key = (trial.framing, sizes, trial.direction, trial.ports);
        self.known
            .entry(key)
            .or_insert_with(|| self.inner.frames_per_s(&unbounded(trial)))
            .clone()
    }
}

impl CachedCeiling<'_> {
    /// Take the ceiling of a trial that was asked before for known.
    pub fn learn(&mut self, observation: &Observation) {
        let (trial, ceiling) = (&observation.trial, &observation.tester.ceiling_frames_per_s);
        if ceiling.value().is_some() {
            let key = (
                trial.framing,
                observation.sizes,
                trial.direction,
                trial.ports,
            );
            self.known.entry(key).or_insert_with(|| ceiling.clone());
        }
    }
}

impl Ceiling for CachedCeiling<'_> {
    fn frames_per_s(&mut self, trial: &Trial) -> Field<f64> {
        match trial.sizes() {
            Ok(sizes) => CachedCeiling::frames_per_s(self, trial, sizes),
            Err(error) => Field::absent(error.to_string()),
        }
    }
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

/// Write the ceiling into an observation, and judge whether the tester was the limit where the node did not.
pub fn judge(observation: &mut Observation, ceiling: Field<f64>) {
    if observation.tester.ceiling_frames_per_s.value().is_none() {
        observation.tester.ceiling_frames_per_s = ceiling;
    }
    if observation.tester.was_limit.value().is_none() {
        observation.tester.was_limit = was_limit(observation);
    }
    let warning = warning(observation);
    // What was observed before an interrupt was judged then.
    if let Some(warning) = warning.filter(|w| !observation.warnings.contains(w)) {
        observation.warnings.push(warning);
    }
}

/// Whether the tester was the limit of what was seen.
///
/// A tester that sends (the node receives or sends back) and could not keep the rate was; so was one whose own queue
/// dropped frames that had arrived, and one that ran at maximum load at [`NEAR_CEILING`] of its own ceiling or above,
/// unless the flow filled the link.
pub fn was_limit(observation: &Observation) -> Field<bool> {
    let trial = &observation.trial;
    let rates = || observation.flows.iter().map(|flow| &flow.frames_per_s);
    if rates().any(|r| r.value().is_some()) && rates().all(|r| r.kind() != Some(Kind::Measured)) {
        return Field::absent("no tester took part: nothing was measured");
    }
    let below_rate = observation.flows.iter().any(|flow| {
        let kept = flow
            .sender
            .value()
            .and_then(|s| s.kept_rate.value().copied());
        flow.direction != Direction::Transmit && kept == Some(false)
    });
    let mut counts = observation.flows.iter().filter_map(|f| f.counts.value());
    if below_rate || counts.any(|c| c.missed_frames > 0) {
        return Field::measured(true);
    }
    if trial.load != Load::Max {
        return Field::measured(false);
    }
    let fastest = rates().filter_map(|r| r.value().copied()).reduce(f64::max);
    let Some(fastest) = fastest else {
        return Field::absent("no rate was seen");
    };
    let carrier = observation.node.capabilities.link_bits_per_s;
    let link = trial.link().or(carrier.and_then(LineRate::new));
    if link.is_some_and(|l| fastest >= AT_LINK_RATE * l.frames_per_s(&observation.sizes)) {
        return Field::measured(false);
    }
    match &observation.tester.ceiling_frames_per_s {
        Field::Observed { value, .. } => Field::measured(fastest >= NEAR_CEILING * value),
        Field::Absent { absent } => Field::absent(format!("the tester's ceiling: {absent}")),
    }
}

fn warning(observation: &Observation) -> Option<Warning> {
    let limited = observation.tester.was_limit.value() == Some(&true);
    // A sender below its rate has been named by the node that saw it.
    if !limited || observation.trial.load != Load::Max {
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
