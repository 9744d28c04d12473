//! Turns both sides' results into an observation: each flow by its receiver's counts and its sender's number.

use wirelab_control::message::Status as Last;
use wirelab_control::node_report::{self, NodeReport};
use wirelab_control::slices;
use wirelab_trial::counter::{self, Counter, CounterKind};
use wirelab_trial::job::{self, CheckReport, FlowRequest, SendReport};
use wirelab_trial::{
    ClockKind, CpuLoad, Description, Direction, Field, FlowObservation, Observation, PointCounter,
    Status, TesterObservation, Warning, WarningCode, unseen,
};

use super::background;
use super::flows::FlowsResult;
use super::plan::{FROM_NODE, NodeTrial, TO_NODE};
use super::tester_cores;
use crate::leaving::InterfaceEvents;

const NOT_REPORTED: &str = "the node did not report how many frames it sent";

/// The parts of an observation.
pub struct Parts<'a> {
    pub plan: &'a NodeTrial,
    /// The name of the frames' path.
    pub path: &'static str,
    pub node: Description,
    pub result: FlowsResult,
    pub report: NodeReport,
    pub started_unix_ns: u64,
    /// The idle baseline of an earlier trial, if any.
    pub earlier_idle_ratio: Option<f64>,
    /// Why tester and node may share cores.
    pub shared: Option<String>,
    pub warnings: Vec<Warning>,
}

/// The observation of a complete or partial trial.
pub fn observation(mut parts: Parts<'_>) -> Observation {
    let mut flows = Vec::new();
    if parts.plan.resolved.tester_sends() {
        flows.push(match parts.plan.resolved.trial.direction {
            Direction::Echo => parts.echo(),
            _ => parts.node_received(),
        });
    }
    if parts.plan.resolved.node_sends() {
        flows.push(parts.node_sent());
    }
    let cpu_load = parts.cpu_load();
    let notes = std::mem::take(&mut parts.report.notes);
    for note in notes {
        parts.warnings.push(Warning::of_node(note));
    }
    let slow = flows
        .iter()
        .any(|flow| flow.direction != Direction::Transmit && flow.sender_was_slow());
    let missed = flows.iter().any(FlowObservation::tester_dropped);
    let counters = parts
        .report
        .counters
        .iter()
        .filter(|(name, _)| counter::is_total(name));
    let counters = counters
        .map(|(name, value)| (format!("node_{name}"), Field::measured(*value)))
        .collect();
    let background = parts.result.sending.background.take();
    parts.tell_foreign(&mut flows, background.as_ref().map(|sent| &sent.report));
    let mut observation = Observation {
        trial: parts.plan.resolved.trial.clone(),
        sizes: parts.plan.resolved.sizes,
        node: parts.node,
        status: status(&parts.result),
        started_unix_ns: Field::measured(parts.started_unix_ns),
        flows,
        cpu_load,
        busy_over_time: slices::reported_load(&parts.report.counters)
            .into_iter()
            .collect(),
        series: Vec::new(),
        counters,
        // Drops of the tester's own queue are significant at maximum load too.
        tester: TesterObservation::of_trial(
            missed || parts.plan.resolved.frames_per_s.is_some(),
            missed || slow,
        ),
        warnings: parts.warnings,
    };
    if let Some(planned) = &parts.plan.background {
        let counters = &parts.report.counters;
        let own = observation
            .flows
            .iter()
            .find_map(|flow| flow.counts.value());
        let left = parts
            .result
            .left
            .beside(own.map_or(0, |c| c.distinct_sequences));
        background::tell(
            &mut observation,
            planned.frames_per_s,
            background.as_ref(),
            counters,
            &left,
        );
    }
    if let Some(why) = observation.node_held_up() {
        let text = format!("{why}: an idle node may be faster and lose less");
        let fix = "end the other work on the node and measure again";
        let warning = Warning::new(WarningCode::NODE_BUSY, text, fix);
        observation.warnings.push(warning);
    }
    observation
}

fn status(result: &FlowsResult) -> Status {
    match &result.trouble {
        _ if result.cancelled => Status::cancelled(),
        Some(why) => Status::Partial { why: why.clone() },
        None => Status::Complete,
    }
}

/// Whether the counter belongs to programs that watch a flow inside the node, or move it past the stack.
fn is_inside(name: &str, direction: Direction) -> bool {
    if let Some(PointCounter { place, .. }) = PointCounter::of(name) {
        return direction == Direction::Echo || place.direction.is_none_or(|own| own == direction);
    }
    match Counter::of(name).map(Counter::kind) {
        Some(CounterKind::Polls | CounterKind::FastTrack) => direction != Direction::Transmit,
        Some(CounterKind::Reflector) => true,
        _ => false,
    }
}

impl Parts<'_> {
    fn warn(&mut self, code: WarningCode, text: String, fix: &str) {
        self.warnings.push(Warning::new(code, text, fix));
    }

    fn request(&self, direction: Direction) -> FlowRequest {
        let (node, tester) = (self.node.name.clone(), "tester".to_owned());
        let plain = self.path;
        let path = |segmented: bool| match segmented {
            true => "socket, segmented",
            false => plain,
        };
        let segmented = self
            .result
            .sending
            .sent
            .as_ref()
            .is_some_and(|s| s.segmented);
        let node_segmented = self.counter("sent_segmented").is_some_and(|n| n > 0);
        let (from, to, sender_path, receiver_path) = match direction {
            Direction::Transmit => (node.clone(), tester, path(node_segmented), plain),
            Direction::Echo => (tester.clone(), tester, path(segmented), plain),
            _ => (tester, node.clone(), path(segmented), "node"),
        };
        FlowRequest {
            port: node,
            direction,
            stream: match direction {
                Direction::Transmit => FROM_NODE,
                _ => TO_NODE,
            },
            layer: self.plan.resolved.trial.framing.layer,
            sizes: self.plan.resolved.sizes,
            link: self.plan.resolved.link,
            frames_per_s: self.plan.resolved.frames_per_s,
            from,
            to,
            sender_path: sender_path.to_owned(),
            receiver_path: receiver_path.to_owned(),
            ledger: None,
        }
    }

    fn counter(&self, name: &str) -> Option<u64> {
        self.report.counters.get(name).copied()
    }

    /// The observation of a flow with both ends known, its stages, and its warnings. Of the missing frames, up to
    /// `either` more may not have left the sender's interface.
    fn flow(
        &mut self,
        request: &FlowRequest,
        sent: &SendReport,
        mut received: CheckReport,
        either: u64,
    ) -> FlowObservation {
        self.warnings
            .extend(job::flow_warnings(request, sent, &received));
        let either = either.min(sent.unseen(&received));
        if either > 0 {
            let from = &request.from;
            let text = format!(
                "{from}: the queue or the driver of the interface dropped frames, of which {either} may be the flow's, so the loss is a range"
            );
            let fix = "offer less, or stop other traffic by that interface";
            self.warn(WarningCode::DEPARTURE_UNKNOWN, text, fix);
        }
        received.missed.at_most = received.missed.at_most.saturating_add(either);
        let mut flow = job::flow_observation(request, sent, received);
        if either > 0 && flow.direction == Direction::Transmit {
            let unknown = Field::measured(either);
            flow.counters
                .insert(Counter::DEPARTURE_UNKNOWN.word().to_owned(), unknown);
        }
        flow.series.extend(self.report.stages_of(flow.stream));
        let inside = self
            .report
            .counters
            .iter()
            .filter(|(name, _)| is_inside(name, flow.direction));
        let inside = inside.map(|(name, value)| (name.clone(), Field::measured(*value)));
        flow.counters.extend(inside);
        let arrived = flow.counts.value().map_or(0, |c| c.distinct_sequences);
        // With two paths not every frame passes every point: the points' own counts are valid.
        let arrived = if self.plan.turns.is_some() {
            0
        } else {
            arrived
        };
        for direction in [Direction::Receive, Direction::Transmit] {
            let warning = unseen::count(&mut flow.counters, direction, arrived);
            self.warnings.extend(warning);
        }
        flow
    }

    /// The flow from the tester to the node.
    fn node_received(&mut self) -> FlowObservation {
        let request = self.request(Direction::Receive);
        let sent = self.result.sending.sent.take().unwrap_or_default();
        let (mut sent, segmented) = (sent.report, sent.segmented);
        let counts = match node_report::counts(&self.report.counters) {
            Ok(counts) => counts,
            Err(missing) => {
                self.tell_slow(&sent);
                let received = CheckReport::default();
                let mut flow = job::flow_observation(&request, &sent, received);
                let why = match self.report.counters.is_empty() {
                    true => "the node did not report what it received".to_owned(),
                    false => format!("the node does not count {missing}"),
                };
                without_receiver(&mut flow, &why);
                return flow;
            }
        };
        let span = span_ps(self.result.status.as_ref());
        let received = node_report::report(&self.report.counters, counts, span);
        let either = self.reconcile(&mut sent, &received, segmented);
        self.tell_slow(&sent);
        self.flow(&request, &sent, received, either)
    }

    /// Frames that the tester's own interface dropped were neither sent nor lost, as far as known.
    fn reconcile(&self, sent: &mut SendReport, received: &CheckReport, segmented: bool) -> u64 {
        let background = self.counter("background_received_frames").unwrap_or(0);
        let left = self.result.left.beside(background);
        left.take_from(sent, sent.unseen(received), segmented)
    }

    /// Reports foreign frames at the interfaces of the receivers of UDP and Ethernet flows. The packets of a stream are
    /// not known.
    fn tell_foreign(&mut self, flows: &mut [FlowObservation], background: Option<&SendReport>) {
        if self.plan.resolved.trial.framing.layer.is_tcp() {
            return;
        }
        let node = InterfaceEvents::of_node(&self.report.counters);
        for flow in flows {
            let Some(sent) = flow.sent_frames.value().copied() else {
                continue;
            };
            let beside = background.map_or(0, |sent| sent.sequences);
            let (left, to, own) = match flow.direction {
                Direction::Receive => (&node, &self.node.name, sent.saturating_add(beside)),
                _ => (&self.result.left, &"tester".to_owned(), sent),
            };
            let received = flow.counts.value().map_or(0, |c| c.received_frames);
            let Some(rate) = left.foreign_per_s(own.max(received)) else {
                continue;
            };
            let text = format!(
                "{to}: {rate} foreign frames/s arrived beside the flow; they share its link, its node and the tester's queues"
            );
            flow.counters
                .insert("foreign_frames_per_s".to_owned(), Field::measured(rate));
            let of_flow = flow.frames_per_s.value().copied().unwrap_or(0.0);
            let known = self
                .warnings
                .iter()
                .any(|w| w.is(WarningCode::FOREIGN_TRAFFIC));
            if rate as f64 * 100.0 > of_flow && !known {
                let fix = "stop their sender, or measure on a separate link";
                self.warnings
                    .push(Warning::new(WarningCode::FOREIGN_TRAFFIC, text, fix));
            }
        }
    }

    fn tell_slow(&mut self, sent: &SendReport) {
        let slow = job::below_rate(self.plan.resolved.frames_per_s, std::slice::from_ref(sent));
        self.warnings.extend(slow);
    }

    /// The flow from the node to the tester.
    fn node_sent(&mut self) -> FlowObservation {
        let mut request = self.request(Direction::Transmit);
        // A card's clock is named, as that of an echo is.
        let path = self.result.receiving.path.take();
        request.receiver_path = path.unwrap_or(request.receiver_path);
        let received = self
            .result
            .receiving
            .received
            .take()
            .unwrap_or_default()
            .report;
        let Some(sequences) = self.counter("sent_frames") else {
            let counts = received.counts;
            let mut flow = job::flow_observation(&request, &SendReport::default(), received);
            flow.sent_frames = Field::absent(NOT_REPORTED);
            flow.loss_ratio = Field::absent(NOT_REPORTED);
            flow.counts = Field::absent(format!("{NOT_REPORTED}, so the loss is unknown"));
            flow.sender = Field::absent("the node did not report how it sent");
            for (name, value) in [
                ("received_frames", counts.received_frames),
                ("good_frames", counts.good_frames),
                ("distinct_sequences", counts.distinct_sequences),
                ("duplicated_frames", counts.duplicated_frames),
            ] {
                flow.counters
                    .insert(name.to_owned(), Field::measured(value));
            }
            return flow;
        };
        let refused = self.counter("sent_refused_frames").unwrap_or(0);
        let mut sent = SendReport {
            emitted_frames: sequences.saturating_sub(refused),
            sequences,
            first_ns: self.counter("sent_first_ns").unwrap_or(0),
            last_ns: self.counter("sent_last_ns").unwrap_or(0),
            slips: self.counter("sent_slips").unwrap_or(0),
            slipped_ns: self.counter("sent_slipped_ns").unwrap_or(0),
            refused_frames: refused,
            blocked_ns: self.counter("sent_blocked_ns"),
            longest_burst_frames: self.counter("sent_longest_burst_frames"),
            ..SendReport::default()
        };
        // Frames that the node's own interface dropped, e.g. because the ring at its other end was full, were neither
        // sent nor lost.
        let segmented = self.counter("sent_segmented").is_some_and(|n| n > 0);
        let unseen = sent.unseen(&received);
        let left = InterfaceEvents::of_node(&self.report.counters);
        let either = left.take_from(&mut sent, unseen, segmented);
        let slow = job::below_rate(self.plan.resolved.frames_per_s, std::slice::from_ref(&sent));
        let held_ms = self.counter("sent_held_up_ns").unwrap_or(0) / 1_000_000;
        self.warnings.extend(slow.map(|warning| Warning {
            text: "the node's sender fell behind the requested rate".to_owned(),
            fix: match held_ms {
                0 => "nothing is wrong with the tester: the node sends no faster".to_owned(),
                ms => format!(
                    "end the other work on the node, whose host paused its sender for {ms} ms, and measure again"
                ),
            },
            ..warning
        }));
        let mut flow = self.flow(&request, &sent, received, either);
        if let Field::Observed { value: sender, .. } = &mut flow.sender {
            sender.gap = Field::absent("the node reports no gaps");
            sender.kernel_copied = Field::absent("the node does not say");
            if self.counter("sent_slips").is_none() {
                sender.slips = Field::absent("the node does not count them");
                sender.slipped_ps = Field::absent("the node does not count them");
            }
        }
        flow
    }

    /// The flow of echoes.
    fn echo(&mut self) -> FlowObservation {
        let mut request = self.request(Direction::Echo);
        let mut did = std::mem::take(&mut self.result.sending);
        self.result.sending.background = did.background.take();
        request.receiver_path = did.path.unwrap_or(request.receiver_path);
        let sent = did.sent.unwrap_or_default();
        let (mut sent, segmented) = (sent.report, sent.segmented);
        let received = did.received.unwrap_or_default().report;
        let either = self.reconcile(&mut sent, &received, segmented);
        // The node's own interface may have dropped echoes.
        let dropped = self.counter("interface_dropped_frames").unwrap_or(0);
        let either = either.saturating_add(dropped);
        self.tell_slow(&sent);
        let mut flow = self.flow(&request, &sent, received, either);
        flow.series.splice(0..0, did.series);
        for name in ["received_frames", "sent_frames"] {
            if let Some(value) = self.counter(name) {
                let name = format!("node_{name}");
                flow.counters.insert(name, Field::measured(value));
            }
        }
        flow
    }

    fn cpu_load(&mut self) -> Field<CpuLoad> {
        let load = std::mem::replace(&mut self.report.load, Field::absent(""));
        let Field::Observed {
            value: mut load,
            kind,
        } = load
        else {
            return load;
        };
        match (load.idle_baseline_ratio, self.earlier_idle_ratio) {
            (Some(_), _) => {}
            (None, Some(ratio)) => {
                load.idle_baseline_ratio = Some(ratio);
                let text = "the node was not idle long enough before the trial: its idle baseline is from an earlier trial";
                let fix = "nothing is wrong; a pause between trials gives each its own baseline";
                self.warn(WarningCode::EARLIER_IDLE_BASELINE, text.to_owned(), fix);
            }
            (None, None) => {
                let text = "the node has no idle baseline, so its CPU load includes its other work";
                let fix = "leave the node idle before the trial";
                self.warn(WarningCode::NO_IDLE_BASELINE, text.to_owned(), fix);
            }
        }
        let why = match (&self.shared, load.shared) {
            (Some(why), _) => Some(why.clone()),
            (None, true) => Some("the node says so".to_owned()),
            (None, false) => None,
        };
        load.shared = why.is_some();
        if load.was_busy_before() {
            let text = "the node's cores were busy before the trial, with other work or because it waits by spinning: an idle node may be faster and lose less";
            let fix = "end the other work on the node and measure again";
            self.warn(WarningCode::NODE_BUSY, text.to_owned(), fix);
        }
        self.warnings
            .extend(why.map(|why| tester_cores::warning(&why)));
        Field::Observed { value: load, kind }
    }
}

/// Marks everything about the receiver as unknown.
fn without_receiver(flow: &mut FlowObservation, why: &str) {
    flow.counts = Field::absent(why);
    flow.loss_ratio = Field::absent(why);
    flow.jitter_ps = Field::absent(why);
    flow.without_rates(why);
}

/// The duration of the trial by the node's clock. A count of instructions is not a time.
fn span_ps(status: Option<&Last>) -> Option<u64> {
    let status = status?;
    match status.clock? {
        ClockKind::Instructions => None,
        _ => status.elapsed_ticks?.checked_mul(status.tick_ps?),
    }
}
