//! What an observation shows a search: the loss, its cause, and the carried load.

use wirelab_trial::{Direction, Field, FlowObservation, Kind, Observation, Status};

/// A sender that reaches this share of the requested rate kept it, as in
/// [`kept_rate`](wirelab_trial::SenderObservation::kept_rate).
const KEPT_SHARE: f64 = 0.995;

/// The share of frames that was certainly lost, and the largest possible share: the two differ by drops of the tester.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Loss {
    pub ratio: f64,
    pub at_most: f64,
}

impl Loss {
    fn max(self, other: Loss) -> Loss {
        Loss {
            ratio: self.ratio.max(other.ratio),
            at_most: self.at_most.max(other.at_most),
        }
    }

    /// Whether it is uncertain, because the tester may have dropped some frames.
    pub fn is_in_doubt(self) -> bool {
        self.ratio < self.at_most
    }

    /// Whether the loss is within a share; `None` where that is in doubt.
    pub fn is_within(self, loss_ratio: f64) -> Option<bool> {
        match self.ratio <= loss_ratio {
            true if self.at_most > loss_ratio => None,
            within => Some(within),
        }
    }
}

/// A load that the path carried in place of the requested one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CarriedLoad {
    pub frames_per_s: f64,
    /// The largest share of it that may have been lost.
    pub loss_at_most: f64,
}

/// What a trial shows about the node.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrialReading {
    /// Relative to the requested frames, including frames that were not sent or that the path did not take.
    pub loss: Loss,
    /// The loss without frames that the path did not take; they were never sent.
    pub loss_of_sent: Loss,
    pub held_back: bool,
    /// The load that the path took where it held a sender back; `None` if the flows together do not show it.
    pub taken: Option<CarriedLoad>,
    /// Frames/s sent, of the slowest and of the fastest flow.
    pub sent_frames_per_s: Option<f64>,
    pub most_sent_frames_per_s: Option<f64>,
    /// Frames/s that arrived, for the slowest flow.
    pub arrived_frames_per_s: Option<f64>,
    pub tester_was_limit: bool,
    pub kind: Kind,
}

impl TrialReading {
    /// The load of each flow, where the path held all flows back equally: the loss then belongs to that load.
    pub fn held_back_at(&self) -> Option<f64> {
        let slowest = self.sent_frames_per_s.filter(|_| self.held_back)?;
        let most = self.most_sent_frames_per_s?;
        (slowest >= KEPT_SHARE * most).then_some(slowest)
    }

    fn add(&mut self, flow: &OfFlow) {
        self.held_back |= flow.held_back || flow.waited;
        self.loss = self.loss.max(flow.loss);
        self.loss_of_sent = self.loss_of_sent.max(flow.loss_of_sent);
        self.tester_was_limit |= !flow.nodes_own && flow.below;
        // The slowest flow limits the load of all flows together.
        let slowest = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::min);
        if flow.held_back {
            let before = self.taken.map(|taken| taken.frames_per_s);
            self.taken = slowest(before, flow.carried).map(|frames_per_s| CarriedLoad {
                frames_per_s,
                loss_at_most: 0.0,
            });
        }
        self.sent_frames_per_s = slowest(self.sent_frames_per_s, flow.sent);
        let most = self.most_sent_frames_per_s.into_iter().chain(flow.sent);
        self.most_sent_frames_per_s = most.reduce(f64::max);
    }
}

/// What an observation shows about the node, or why it shows nothing.
pub(super) fn reading(
    observation: &Observation,
    requested: Option<f64>,
) -> Result<TrialReading, String> {
    match &observation.status {
        Status::Complete => {}
        Status::Partial { why } | Status::Void { why } => return Err(why.clone()),
    }
    let first = observation.flows.first();
    let first = first.ok_or("the observation has no flow")?;
    let mut reading = TrialReading {
        loss: Loss::default(),
        loss_of_sent: Loss::default(),
        held_back: false,
        taken: None,
        sent_frames_per_s: None,
        most_sent_frames_per_s: None,
        arrived_frames_per_s: observation.slowest_frames_per_s(),
        // Drops by the tester make the loss a range; that alone does not make it the limit of a step.
        tester_was_limit: observation.tester.was_limit.value() == Some(&true)
            && !observation
                .flows
                .iter()
                .any(FlowObservation::tester_dropped),
        kind: first.loss_ratio.kind().unwrap_or(Kind::Measured),
    };
    let mut all_offered = true;
    for flow in &observation.flows {
        let of = OfFlow::new(flow, requested)?;
        reading.kind = flow
            .loss_ratio
            .kind()
            .and_then(|kind| reading.kind.joined(kind))
            .ok_or("the losses of its flows are of different kinds")?;
        reading.add(&of);
        all_offered &= of.held_back || !of.below;
    }
    let loss_at_most = reading.loss_of_sent.at_most;
    // At the rate of the flow that was held back, the losses of faster flows are unknown.
    let tells = all_offered && (loss_at_most == 0.0 || reading.held_back_at().is_some());
    reading.taken = reading.taken.filter(|_| tells).map(|taken| CarriedLoad {
        loss_at_most,
        ..taken
    });
    Ok(reading)
}

/// What one flow of a trial shows.
struct OfFlow {
    loss: Loss,
    loss_of_sent: Loss,
    sent: Option<f64>,
    carried: Option<f64>,
    held_back: bool,
    /// Whether its sender waited for the path in a trial at maximum load.
    waited: bool,
    below: bool,
    /// Whether the node or the path causes a lower rate than requested.
    nodes_own: bool,
}

impl OfFlow {
    fn new(flow: &FlowObservation, requested: Option<f64>) -> Result<OfFlow, String> {
        let lost = lost_ratio(flow)?;
        let real = Loss {
            ratio: lost,
            at_most: lost_at_most(flow, lost),
        };
        let (sent, below) = (sent_rate(flow, lost), below_rate(flow, lost, requested));
        let held_back = flow.was_held_back();
        let nodes_own = flow.direction == Direction::Transmit || held_back;
        let of_requested = |lost: f64| match sent.zip(requested) {
            // A node that sends less than requested does not carry the load either, nor does a path that takes less.
            Some((sent, requested)) if nodes_own && below && sent < requested => {
                1.0 - (1.0 - lost) * sent / requested
            }
            _ => lost,
        };
        let loss = Loss {
            ratio: of_requested(real.ratio),
            at_most: of_requested(real.at_most),
        };
        Ok(OfFlow {
            loss,
            loss_of_sent: if held_back { real } else { loss },
            carried: carried(flow, sent, lost),
            sent,
            held_back,
            waited: requested.is_none() && flow.waited_for_the_path(),
            below,
            nodes_own,
        })
    }
}

/// Share of the sent frames that did not arrive.
fn lost_ratio(flow: &FlowObservation) -> Result<f64, String> {
    let port = &flow.port;
    if flow.sent_frames.value() == Some(&0) {
        return Err(format!(
            "port {port}: no frame was sent, so none could be lost"
        ));
    }
    match &flow.loss_ratio {
        Field::Observed { value, .. } if (0.0..=1.0).contains(value) => Ok(*value),
        Field::Observed { value, .. } => Err(format!("port {port}: {value} is not a loss ratio")),
        Field::Absent { absent } => Err(format!("port {port}: no loss: {absent}")),
    }
}

/// The largest share that may have been lost: sent frames that were not seen.
fn lost_at_most(flow: &FlowObservation, lost: f64) -> f64 {
    let sent = flow.sent_frames.value().copied().unwrap_or(0) as f64;
    let dropped = flow.counts.value().map_or(0, |c| {
        c.missed_frames.saturating_add(c.lost_or_missed_frames)
    });
    let dropped = if sent > 0.0 {
        dropped as f64 / sent
    } else {
        0.0
    };
    let ratio = flow.loss_ratio_at_most.unwrap_or(lost).max(lost + dropped);
    ratio.clamp(lost, 1.0)
}

/// Frames/s of a flow that the path took, with its loss: frames in its queues at the end were sent but not carried yet.
fn carried(flow: &FlowObservation, sent: Option<f64>, lost: f64) -> Option<f64> {
    let arrived = flow.frames_per_s.value().filter(|_| lost < 1.0);
    let arrived = arrived.map(|rate| rate / (1.0 - lost));
    match (sent, arrived) {
        (Some(sent), Some(arrived)) => Some(sent.min(arrived)),
        (sent, arrived) => sent.or(arrived),
    }
}

/// Frames/s sent: by the sender's report, or without one, what arrived plus what was lost.
fn sent_rate(flow: &FlowObservation, lost: f64) -> Option<f64> {
    let arrived = flow.frames_per_s.value().filter(|_| lost < 1.0);
    achieved(flow).or(arrived.map(|rate| rate / (1.0 - lost)))
}

/// Whether the sender fell behind the rate. For a node without such a report (e.g. a model) the arrived rate decides;
/// for a tester without one nothing is assumed.
fn below_rate(flow: &FlowObservation, lost: f64, requested: Option<f64>) -> bool {
    let kept = flow.sender.value().and_then(|s| s.kept_rate.value());
    let sent = match flow.direction {
        Direction::Transmit => sent_rate(flow, lost),
        _ => achieved(flow),
    };
    let short = sent
        .zip(requested)
        .is_some_and(|(sent, requested)| sent < KEPT_SHARE * requested);
    kept.map_or(short, |kept| !kept)
}

fn achieved(flow: &FlowObservation) -> Option<f64> {
    let sender = flow.sender.value();
    sender.and_then(|s| s.achieved_frames_per_s.value().copied())
}
