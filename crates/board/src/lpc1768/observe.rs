//! Turns the results of board and tester into an observation.

use std::collections::BTreeMap;

use wirelab_control::node_report;
use wirelab_control::value::State;
use wirelab_trial::job::{self, CheckReport, FlowRequest, SendReport};
use wirelab_trial::{
    ClockKind, Counter, CounterKind, Counts, Description, Direction, Extent, Field,
    FlowObservation, Layer, Observation, Status, TesterObservation, Warning,
};
use wirelab_wire::LineRate;

use super::plan::{BoardTrial, FROM_NODE, LINK_BITS_PER_S, TO_NODE};
use super::run::{TrialResult, pulse_ps};
use super::traffic::simulated;

/// The parts of an observation.
pub struct Parts<'a> {
    pub plan: &'a BoardTrial,
    pub node: Description,
    pub result: TrialResult,
    pub started_unix_ns: u64,
    pub warnings: Vec<Warning>,
}

/// The observation of a trial.
pub fn observation(mut parts: Parts<'_>) -> Observation {
    let mut flows = Vec::new();
    match parts.plan.resolved.trial.direction {
        Direction::Echo => flows.push(parts.echo()),
        Direction::Receive => flows.push(parts.received()),
        Direction::Transmit => flows.push(parts.sent()),
        Direction::Both => flows.extend([parts.received(), parts.sent()]),
    }
    let status = parts.status(&flows);
    for note in std::mem::take(&mut parts.result.report.notes) {
        parts.warnings.push(Warning::of_node(note));
    }
    Observation {
        trial: parts.plan.resolved.trial.clone(),
        sizes: parts.plan.resolved.sizes,
        status,
        started_unix_ns: Field::measured(parts.started_unix_ns),
        flows,
        cpu_load: parts.result.report.load.clone(),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: parts.counters(),
        tester: TesterObservation::new(
            Field::absent("the tester takes no simulated time"),
            Field::measured(false),
        ),
        warnings: parts.warnings,
        node: parts.node,
    }
}

impl Parts<'_> {
    fn request(&self, direction: Direction) -> FlowRequest {
        let (node, tester) = (self.node.name.clone(), "tester".to_owned());
        let from_node = direction == Direction::Transmit;
        let (from, to) = match direction {
            Direction::Transmit => (node.clone(), tester),
            Direction::Echo => (tester.clone(), tester),
            _ => (tester, node.clone()),
        };
        let faults = &self.plan.faults;
        let emitted = self.result.offered.emitted_frames;
        let faulty = !from_node && !self.plan.resolved.trial.faults.is_clean();
        FlowRequest {
            port: node,
            direction,
            stream: if from_node { FROM_NODE } else { TO_NODE },
            layer: Layer::Ethernet,
            sizes: self.plan.resolved.sizes,
            link: self.plan.resolved.link,
            frames_per_s: self.plan.resolved.frames_per_s,
            from,
            to,
            sender_path: "emulated wire".to_owned(),
            receiver_path: match direction {
                Direction::Receive => "node".to_owned(),
                _ => "emulated wire".to_owned(),
            },
            ledger: faulty.then(|| faults.ledger(emitted)),
        }
    }

    fn flow(
        &mut self,
        direction: Direction,
        sent: &SendReport,
        received: CheckReport,
    ) -> FlowObservation {
        let request = self.request(direction);
        self.warnings
            .extend(job::flow_warnings(&request, sent, &received));
        let mut flow = job::flow_observation(&request, sent, received);
        if let Field::Observed { value, .. } = &mut flow.elapsed {
            value.clock = ClockKind::Simulated;
        }
        let stages = self.result.report.stages_of(flow.stream).into_iter();
        flow.series.extend(stages.map(simulated));
        flow
    }

    /// What the board sent and the tester's checker saw. Rates are those of the pin, as in the application note.
    fn sent(&mut self) -> FlowObservation {
        let mut sent = std::mem::take(&mut self.result.sent);
        let received = std::mem::take(&mut self.result.received);
        let sent_frames = self.result.report.counters.get("sent_frames").copied();
        sent.sequences = sent_frames
            .or(self.result.status.tx_frames)
            .unwrap_or(self.result.left.0);
        let frames = received.counts.received_frames;
        let mut flow = self.flow(Direction::Transmit, &sent, received);
        let pulse = pulse_ps(&self.result.edges).filter(|ps| *ps > 0);
        for (name, ps) in [
            (Counter::PIN_ELAPSED, pulse),
            (Counter::WIRE_ELAPSED, self.result.wire_ps),
        ] {
            let field = Field::measured_or(ps, "nothing was sent");
            flow.counters.insert(name.word().to_owned(), field);
        }
        if let Some(ps) = pulse {
            let sizes = &self.plan.resolved.sizes;
            let link = LineRate::new(LINK_BITS_PER_S);
            flow.take_pin(ps, ClockKind::Simulated, frames, sizes, link);
        }
        flow
    }

    /// What the tester sent and the board received, by the board's count.
    fn received(&mut self) -> FlowObservation {
        let sent = self.result.offered.clone();
        let counted = node_report::counts(&self.result.report.counters);
        let (counts, missing) = match counted {
            Ok(counts) => (counts, None),
            Err(name) => (Counts::default(), Some(name)),
        };
        let span = match self.plan.resolved.trial.direction {
            // The pin is high from the first frame of the flow to the last, as the firmware processes them: never for
            // less time than they took on the wire.
            Direction::Receive => {
                let offered_ps = sent.last_ns.saturating_sub(sent.first_ns) * 1000;
                pulse_ps(&self.result.edges).map(|ps| ps.max(offered_ps))
            }
            _ => None,
        };
        let last = counts.received_frames.saturating_sub(1);
        let mut checked = node_report::report(&self.result.report.counters, counts, None);
        if let Some(ps) = span.filter(|ps| *ps > 0 && last > 0) {
            (checked.first, checked.last) = (Some((0, 0)), Some((ps / 1000, last)));
        }
        let mut flow = self.flow(Direction::Receive, &sent, checked);
        if let Some(name) = missing {
            let why = format!("the board does not count {name}");
            flow.counts = Field::absent(&why);
            flow.loss_ratio = Field::absent(&why);
            flow.without_rates(&why);
        }
        flow
    }

    /// What came back.
    fn echo(&mut self) -> FlowObservation {
        let sent = self.result.offered.clone();
        let received = std::mem::take(&mut self.result.received);
        self.flow(Direction::Echo, &sent, received)
    }

    /// A run of frames counts only if every one was captured and right, as in the application note.
    fn status(&self, flows: &[FlowObservation]) -> Status {
        let result = &self.result;
        if result.cancelled {
            return Status::cancelled();
        }
        if result.status.state == State::Failed {
            let why = result.status.why.clone().unwrap_or_default();
            return Status::Partial {
                why: format!("the firmware could not continue: {why}"),
            };
        }
        let sends = flows.iter().find(|f| f.direction == Direction::Transmit);
        let Some(Field::Observed { value: counts, .. }) = sends.map(|flow| &flow.counts) else {
            return Status::Complete;
        };
        let requested = match self.plan.resolved.trial.extent {
            Extent::Frames { frames } => frames,
            Extent::Time { .. } => counts.received_frames,
        };
        let good = counts.good_frames;
        if good == requested && counts.is_clean() && result.left.1 == 0 {
            return Status::Complete;
        }
        Status::Void {
            why: format!(
                "{good} of {requested} frames were captured and right, {} had a wrong FCS: a run counts only if all are",
                result.left.1
            ),
        }
    }

    fn counters(&self) -> BTreeMap<String, Field<u64>> {
        let reported = self.result.report.counters.iter();
        let named = reported
            .filter(|(name, _)| Counter::of(name).map(Counter::kind) != Some(CounterKind::Verdict));
        let mut all: BTreeMap<String, Field<u64>> = named
            .map(|(name, value)| (format!("node_{name}"), Field::measured(*value)))
            .collect();
        let instructions = Field::measured(self.result.instructions);
        all.insert("node_instructions".to_owned(), instructions);
        all
    }
}
