//! Summarizes repeated trials: mean with its confidence interval, median and spread, for each figure and direction.

use std::collections::HashMap;

use wirelab_trial::{Direction, Field, FlowObservation, Kind, Observation, Status, Summary, Trial};

/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// All observations of one trial on one node.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialSummary {
    /// The requested trial.
    pub trial: Trial,
    /// The node's name.
    pub node: String,
    /// Number of its observations.
    pub observations: usize,
    /// Number of complete ones; only these are in the figures.
    pub complete: usize,
    /// Transmit and receive separately, as the node sees them.
    pub directions: Vec<DirectionSummary>,
}

/// The figures of all flows of one direction together, over the repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionSummary {
    /// As the node sees it.
    pub direction: Direction,
    /// Frames/s that arrived, the sum of the flows.
    pub frames_per_s: Field<Summary>,
    /// Payload bits per second, the sum of the flows.
    pub payload_bits_per_s: Field<Summary>,
    /// Link bits per second, the sum of the flows.
    pub link_bits_per_s: Field<Summary>,
    /// Application bits per second, the sum of the flows.
    pub goodput_bits_per_s: Field<Summary>,
    /// Share of the link that is payload, 0 to 1, the smallest of the flows.
    pub efficiency: Field<Summary>,
    /// Share of sent sequences that were lost, 0 to 1, the largest of the flows.
    pub loss_ratio: Field<Summary>,
    /// RFC 3550 jitter in ps, the largest of the flows.
    pub jitter_ps: Field<Summary>,
}

/// Summaries of observations grouped by equal trial and node, in the order of their first appearance.
pub fn summaries(observations: &[Observation]) -> Vec<TrialSummary> {
    let mut groups: Vec<Vec<&Observation>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for observation in observations {
        // A trial holds f64, which cannot be a key; its debug text is unique.
        let key = format!("{:?} {:?}", observation.node.name, observation.trial);
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(observation),
            None => groups.push(vec![observation]),
        }
    }
    groups.iter().filter_map(|group| summary(group)).collect()
}

fn summary(group: &[&Observation]) -> Option<TrialSummary> {
    let first = group.first()?;
    let complete: Vec<&Observation> = group
        .iter()
        .filter(|o| o.status == Status::Complete)
        .copied()
        .collect();
    let directions = [
        Direction::Transmit,
        Direction::Receive,
        Direction::Both,
        Direction::Echo,
    ]
    .into_iter()
    .filter_map(|direction| direction_summary(&complete, direction))
    .collect();
    Some(TrialSummary {
        trial: first.trial.clone(),
        node: first.node.name.clone(),
        observations: group.len(),
        complete: complete.len(),
        directions,
    })
}

fn direction_summary(complete: &[&Observation], direction: Direction) -> Option<DirectionSummary> {
    let repeats: Vec<Vec<&FlowObservation>> = complete
        .iter()
        .map(|o| {
            o.flows
                .iter()
                .filter(|f| f.direction == direction)
                .collect()
        })
        .collect();
    if repeats.iter().all(Vec::is_empty) {
        return None;
    }
    let add = |a: f64, b: f64| a + b;
    Some(DirectionSummary {
        direction,
        frames_per_s: figure(&repeats, |f| f.frames_per_s.clone(), add),
        payload_bits_per_s: figure(&repeats, |f| f.payload_bits_per_s.clone(), add),
        link_bits_per_s: figure(&repeats, |f| f.link_bits_per_s.clone(), add),
        goodput_bits_per_s: figure(&repeats, |f| f.goodput_bits_per_s.clone(), add),
        efficiency: figure(&repeats, |f| f.efficiency.clone(), f64::min),
        loss_ratio: figure(&repeats, |f| f.loss_ratio.clone(), f64::max),
        jitter_ps: figure(
            &repeats,
            |f| f.jitter_ps.clone().map(|ps| ps as f64),
            f64::max,
        ),
    })
}

/// One figure: combined over the flows of each repeat, then summarized over the repeats. It is absent if any flow of
/// any repeat lacks it, because a mean over the others would be another quantity.
fn figure(
    repeats: &[Vec<&FlowObservation>],
    of: impl Fn(&FlowObservation) -> Field<f64>,
    join: impl Fn(f64, f64) -> f64,
) -> Field<Summary> {
    let mut kind: Option<Kind> = None;
    let mut figures = Vec::new();
    for flows in repeats {
        let mut joined: Option<f64> = None;
        for flow in flows {
            match of(flow) {
                Field::Absent { absent } => return Field::Absent { absent },
                Field::Observed { kind: this, .. } if kind.is_some_and(|k| k != this) => {
                    return Field::absent("its repeats are of different kinds");
                }
                Field::Observed { value, kind: this } => {
                    kind = Some(this);
                    joined = Some(joined.map_or(value, |sum| join(sum, value)));
                }
            }
        }
        match joined {
            Some(value) => figures.push(value),
            None => return Field::absent("a repeat has no flow of this direction"),
        }
    }
    match (Summary::of(&figures, CONFIDENCE), kind) {
        (Some(value), Some(kind)) => Field::Observed { value, kind },
        _ => Field::absent("a figure of a repeat is not finite"),
    }
}
