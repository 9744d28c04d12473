//! The steady state of a net in closed form: its period, what limits it, and how much each stage may grow.
//!
//! A net is a marked graph, so every circuit of places keeps its number of tokens, and no stage on it can fire more
//! often than its tokens over its costs. Likewise the stages of a resource cannot fire more often than one over the sum
//! of their costs. The slowest circuit gives the period: maximum cycle ratio, found by policy iteration (J.
//! Cochet-Terrasson et al., Numerical computation of spectral elements in max-plus algebra, 1998; F. Baccelli et al.,
//! Synchronization and Linearity, 1992, chapter 3) in integers, so that rounding decides nothing.
//!
//! [`Steady::reasons`] names the effects that this form leaves out. With a reason, the period is a bound that the simulation
//! cannot beat, and only the simulation gives the rate:
//! - stages that compete for one resource may make each other wait. Stages on a circuit of one token never do;
//! - a resource that several unconnected flows share is counted as if all of them fired equally often;
//! - a paced or polled stage with the period P on a circuit of T tokens passes at most T of them in P, and its cost
//!   on its resource is shared by as many;
//! - frames that arrive from outside bound the rate by the offered load, and dropped ones do not count.
//!
//! The period is that of the slowest stage; earlier stages that nothing holds back fire more often.

mod circuits;
mod exact;
mod graph;
mod howard;
mod slack;

use crate::net::{Net, NetError, Trigger};
use graph::Graph;

/// Costs over tokens: a time for each frame, in ps, as an exact fraction.
#[derive(Clone, Copy, Debug)]
pub struct Ratio64 {
    /// Costs of a circuit in ps.
    pub cost_ps: u64,
    /// Its tokens, at least 1.
    pub tokens: u64,
}

impl Ratio64 {
    /// The time for one frame in ps.
    pub fn ps(&self) -> f64 {
        self.cost_ps as f64 / self.tokens as f64
    }

    /// Frames/s; infinite where the time is 0.
    pub fn per_s(&self) -> f64 {
        self.tokens as f64 * 1e12 / self.cost_ps as f64
    }
}

impl Ord for Ratio64 {
    fn cmp(&self, other: &Ratio64) -> std::cmp::Ordering {
        let scaled = |one: &Ratio64, by: &Ratio64| u128::from(one.cost_ps) * u128::from(by.tokens);
        scaled(self, other).cmp(&scaled(other, self))
    }
}

impl PartialOrd for Ratio64 {
    fn partial_cmp(&self, other: &Ratio64) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio64 {
    fn eq(&self, other: &Ratio64) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ratio64 {}

/// What makes a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitKind {
    /// The stages of a resource (its index), one at a time.
    Resource(usize),
    /// Places that lead back to where they began.
    Places,
    /// The period of a paced or polled stage (its index): all tokens that return to it in one period.
    Pacing(usize),
    /// Frames that arrive at a stage (its index) from outside, no faster than they are offered.
    Offered(usize),
}

/// A bound on the rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// What makes it.
    pub kind: CircuitKind,
    /// Indices of its stages, in order.
    pub stages: Vec<usize>,
    /// Indices of its places; the first leads from the first stage to the second. Empty for a resource or a load.
    pub places: Vec<usize>,
    /// Sum of its costs in ps, or its period.
    pub cost_ps: u64,
    /// Its tokens.
    pub tokens: u64,
}

impl Circuit {
    /// The time it takes for each frame.
    pub fn period(&self) -> Ratio64 {
        Ratio64 {
            cost_ps: self.cost_ps,
            tokens: self.tokens,
        }
    }
}

/// Why the period is a bound and not the result of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Stages of one flow compete for a resource (its index).
    Shared(usize),
    /// Flows that no place connects share a resource (its index).
    SharedByFlows(usize),
    /// A stage (its index) is paced or polled.
    Paced(usize),
    /// Frames arrive at a stage (its index) from outside.
    Arrivals(usize),
    /// A stage (its index) drops frames.
    Drops(usize),
}

/// The steady state of a net.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Time between two firings of the slowest stage.
    pub period: Ratio64,
    /// The circuit with that period. Of equally slow circuits, a resource comes before places, and shorter ones first.
    pub critical: Circuit,
    /// Circuits from slowest to fastest: of each used resource, each pacing, each load, and of places.
    pub circuits: Vec<Circuit>,
    /// Whether `circuits` holds every simple circuit of places; if not, only the slowest of each part of the net.
    pub all_circuits: bool,
    /// For each stage by how many ps its cost can grow before it limits as well: 0 on a critical circuit, `None` for a
    /// stage on no circuit.
    pub slack_ps: Vec<Option<u64>>,
    /// For each chain the slowest circuit of its own flow, as if it were alone; `None` where nothing limits it.
    pub chains: Vec<Option<Circuit>>,
    /// Whether a simulation gives this period exactly, i.e. there are no reasons.
    pub exact: bool,
    /// Effects that make it a bound.
    pub reasons: Vec<Reason>,
}

/// The steady state of a net.
///
/// # Errors
/// [`NetError`] where the net cannot run, or nothing limits its rate.
pub fn steady_state(net: &Net) -> Result<Steady, NetError> {
    net.check()?;
    let graph = Graph::new(net);
    let batches = circuits::largest_batches(net, &graph);
    let flows = graph.flows(net);
    let (mut places, all_circuits) = match circuits::simple(net, &graph) {
        Some(all) => (all, true),
        None => (howard::slowest(net, &graph), false),
    };
    let mut circuits = circuits::of_resources(net, &batches, |_| true);
    circuits.extend(circuits::of_triggers(net, &batches));
    circuits.append(&mut places);
    // The sort is stable, so resources stay before places.
    circuits.sort_by(|a, b| {
        b.period()
            .cmp(&a.period())
            .then(a.places.len().cmp(&b.places.len()))
    });
    let critical = circuits.first().ok_or_else(|| unlimited(net))?.clone();
    let period = critical.period();
    let reasons = exact::reasons(net, &graph, &flows);
    let chains = net.chains.iter().map(|chain| {
        let flow = flows[chain.stages[0]];
        let own = circuits::of_resources(net, &batches, |stage| flows[stage] == flow);
        let connected = circuits
            .iter()
            .filter(|circuit| !matches!(circuit.kind, CircuitKind::Resource(_)));
        let connected =
            connected.filter(|circuit| circuit.stages.iter().any(|&stage| flows[stage] == flow));
        own.into_iter()
            .chain(connected.cloned())
            .reduce(|a, b| if b.period() > a.period() { b } else { a })
    });
    Ok(Steady {
        period,
        chains: chains.collect(),
        slack_ps: slack::slack_ps(net, &graph, period, &batches, &circuits),
        critical,
        all_circuits,
        circuits,
        exact: reasons.is_empty(),
        reasons,
    })
}

fn unlimited(net: &Net) -> NetError {
    let sources = net.chains.iter().map(|chain| &net.stages[chain.stages[0]]);
    let stage = sources
        .clone()
        .find(|stage| !matches!(stage.trigger, Trigger::Arrivals(_)));
    NetError::Unlimited(stage.map_or_else(|| "?".into(), |stage| stage.name.clone()))
}
