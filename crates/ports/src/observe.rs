//! From the reports of senders and checkers to an observation, every figure with its unit or its reason.

use std::collections::BTreeMap;

use wirelab_port::job::{CheckReport, SendReport};
use wirelab_trial::counter::Counter;
use wirelab_trial::format;
use wirelab_trial::job::{self, FlowRequest};
use wirelab_trial::{
    Extent, Field, FlowObservation, Node, Observation, Status, TesterObservation, Warning,
    WarningCode,
};

use crate::PortsNode;
use crate::checker::FramePath;
use crate::flow::{FlowPlan, PortsTrial};

/// The result of a run, flow by flow.
pub struct RunResult {
    pub started: u64,
    pub sent: Vec<SendReport>,
    pub received: Vec<CheckReport>,
    /// Frames of each flow that may have been lost, or never left their port.
    pub undeparted: Vec<u64>,
    /// Why sending ended early, in words, if it did.
    pub broke_off: Option<String>,
    pub sender_path: FramePath,
    /// None where nothing was received.
    pub receiver_path: Option<FramePath>,
}

/// The observation of a finished trial.
pub fn observation(
    node: &PortsNode,
    plan: &PortsTrial,
    result: RunResult,
    cancelled: bool,
    mut warnings: Vec<Warning>,
) -> Observation {
    let mut flows = Vec::new();
    for (i, flow) in plan.flows.iter().enumerate() {
        let (sent, mut received) = (&result.sent[i], result.received[i].clone());
        let request = requested(plan, flow, sent, &result);
        warnings.extend(job::flow_warnings(&request, sent, &received));
        let undeparted = result.undeparted[i];
        warnings.extend((undeparted > 0).then(|| departure_unknown(flow, undeparted)));
        received.missed.at_most = received.missed.at_most.saturating_add(undeparted);
        let mut flow = job::flow_observation(&request, sent, received);
        if undeparted > 0 {
            let unknown = Field::measured(undeparted);
            flow.counters
                .insert(Counter::DEPARTURE_UNKNOWN.word().to_owned(), unknown);
        }
        if plan.resolved.frames_per_s.is_none() && result.sender_path == FramePath::Xdp {
            // A transmit time and a gap then stand for this many frames, see wirelab_port::xdp.
            let shared = Field::measured(wirelab_port::xdp::FRAMES_A_TIME);
            flow.counters
                .insert(Counter::SHARED_TIME.word().to_owned(), shared);
        }
        if result.receiver_path == Some(FramePath::Xdp) {
            let why = "the checker runs in the kernel's receive path, without a thread that could be paused; frames for which \
                       the host was too late were dropped, and are counted separately from losses";
            flow.checker_held_up_ps = Field::absent(why);
        }
        flows.push(flow);
    }
    warnings.extend(job::below_rate(plan.resolved.frames_per_s, &result.sent));
    let status = if cancelled {
        Status::cancelled()
    } else {
        status(plan, &result)
    };
    let slow = flows.iter().any(FlowObservation::sender_was_slow);
    Observation {
        trial: plan.resolved.trial.clone(),
        sizes: plan.resolved.sizes,
        node: node.describe(),
        status,
        started_unix_ns: Field::measured(result.started),
        flows,
        cpu_load: Field::absent("ports have no CPU of their own"),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::of_trial(plan.resolved.frames_per_s.is_some(), slow),
        warnings,
    }
}

fn departure_unknown(flow: &FlowPlan, frames: u64) -> Warning {
    let from = &flow.from;
    let text = format!(
        "{from}: the queue or the driver of the interface dropped {frames} frames that may be the flow's, so the loss is a range"
    );
    let fix = "lower the load, or stop other senders on that interface";
    Warning::new(WarningCode::DEPARTURE_UNKNOWN, text, fix)
}

/// Whether the run reached its extent.
fn status(plan: &PortsTrial, result: &RunResult) -> Status {
    if let Some(why) = result.broke_off.clone() {
        return Status::Partial { why };
    }
    let Extent::Frames { frames } = plan.resolved.trial.extent else {
        return Status::Complete;
    };
    match plan
        .flows
        .iter()
        .zip(&result.sent)
        .find(|(_, s)| s.sequences < frames)
    {
        None => Status::Complete,
        Some((flow, s)) => Status::Partial {
            why: format!(
                "{} sent {} of {}",
                flow.from,
                s.sequences,
                format::count(frames, "frame")
            ),
        },
    }
}

/// The planned values of a flow, and its paths.
fn requested(
    plan: &PortsTrial,
    flow: &FlowPlan,
    sent: &SendReport,
    result: &RunResult,
) -> FlowRequest {
    FlowRequest {
        port: flow.port.to_string(),
        direction: flow.direction,
        stream: flow.job.stream,
        layer: plan.resolved.trial.framing.layer,
        sizes: plan.resolved.sizes,
        link: plan.resolved.link,
        frames_per_s: plan.resolved.frames_per_s,
        from: flow.from.to_string(),
        to: flow.to.to_string(),
        sender_path: result.sender_path.word().to_owned(),
        receiver_path: result
            .receiver_path
            .map_or("none", FramePath::word)
            .to_owned(),
        ledger: (!flow.job.faults.steps.is_empty()).then(|| {
            flow.job
                .faults
                .ledger(sent.emitted_frames + sent.refused_frames)
        }),
    }
}
