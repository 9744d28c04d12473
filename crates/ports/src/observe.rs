//! From what senders and checkers report to an observation, every figure with its unit or its reason.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use wirelab_port::job::{CheckReport, SendReport};
use wirelab_trial::{
    ClockKind, Elapsed, Extent, Field, FlowObservation, Node, Observation, SenderObservation,
    Spans, Status, TesterObservation, Warning,
};

use crate::PortsNode;
use crate::flow::{FlowPlan, Plan};

/// A sender that achieves less than this share of the rate asked did not keep it.
const KEPT: f64 = 0.995;

/// What a run gave, flow by flow.
pub struct Ran {
    pub started: u64,
    pub sent: Vec<SendReport>,
    pub seen: Vec<CheckReport>,
    pub sender_path: &'static str,
    pub receiver_path: &'static str,
}

/// Nanoseconds since 1970.
pub fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64)
}

/// The observation of a trial that ran.
pub fn observation(
    node: &PortsNode,
    plan: &Plan,
    ran: Ran,
    cancelled: bool,
    mut warnings: Vec<Warning>,
) -> Observation {
    let mut flows = Vec::new();
    for ((flow, sent), seen) in plan.flows.iter().zip(&ran.sent).zip(&ran.seen) {
        let seen = seen.clone().with_sent(sent.sequences);
        warn(flow, sent, &seen, &mut warnings);
        flows.push(flow_observation(plan, flow, sent, seen, &ran));
    }
    warnings.extend(below_rate(plan, &ran.sent));
    let status = if cancelled {
        Status::Partial {
            why: "ended by the user; what was seen until then is kept".to_owned(),
        }
    } else {
        status(plan, &ran.sent)
    };
    let slow = flows.iter().any(|f| {
        f.sender
            .value()
            .is_some_and(|s| s.kept_rate.value() == Some(&false))
    });
    Observation {
        trial: plan.trial.clone(),
        sizes: plan.sizes,
        node: node.describe(),
        status,
        started_unix_ns: Field::measured(ran.started),
        flows,
        cpu_load: Field::absent("ports have no CPU of their own"),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation {
            ceiling_frames_per_s: Field::absent("not measured in this run"),
            was_limit: match plan.frames_per_s {
                Some(_) => Field::measured(slow),
                None => Field::absent("needs the tester's ceiling"),
            },
        },
        warnings,
    }
}

/// Whether the run reached its extent.
fn status(plan: &Plan, sent: &[SendReport]) -> Status {
    let Extent::Frames { frames } = plan.trial.extent else {
        return Status::Complete;
    };
    match plan
        .flows
        .iter()
        .zip(sent)
        .find(|(_, s)| s.sequences < frames)
    {
        None => Status::Complete,
        Some((flow, s)) => Status::Partial {
            why: format!("{} sent {} of {frames} frames", flow.from, s.sequences),
        },
    }
}

fn flow_observation(
    plan: &Plan,
    flow: &FlowPlan,
    sent: &SendReport,
    seen: CheckReport,
    ran: &Ran,
) -> FlowObservation {
    let rate = Field::measured_or(seen.frames_per_s(), "fewer than two timed frames arrived");
    let bits = |bytes: u64| rate.clone().map(|r| r * 8.0 * bytes as f64);
    let link_bytes = plan
        .link
        .map(|l| l.overhead)
        .unwrap_or_default()
        .link_bytes(&plan.sizes);
    let payload = bits(u64::from(plan.sizes.payload));
    let counts = seen.counts;
    let elapsed = rate.value().map(|r| Elapsed {
        ps: (counts.received_frames as f64 * 1e12 / r) as u64,
        spans: Spans::Wire,
        clock: ClockKind::Wall,
    });
    let mut counters = BTreeMap::new();
    if seen.missed_frames > 0 {
        counters.insert(
            "checker_missed_frames".to_owned(),
            Field::measured(seen.missed_frames),
        );
    }
    if plan.frames_per_s.is_none() && ran.sender_path == "xdp" {
        // A transmit time and a gap then stand for so many frames, see wirelab_port::xdp.
        let shared = Field::measured(wirelab_port::xdp::FRAMES_A_TIME);
        counters.insert("frames_that_share_a_transmit_time".to_owned(), shared);
    }
    FlowObservation {
        port: flow.port.to_string(),
        direction: flow.direction,
        stream: flow.job.stream,
        sent_frames: Field::measured(sent.sequences),
        counts: Field::measured(counts),
        elapsed: Field::measured_or(elapsed, "fewer than two timed frames arrived"),
        efficiency: match plan.link {
            Some(link) => payload.clone().map(|bits| bits / link.bits_per_s() as f64),
            None => Field::absent("the port has no link rate (give one with --rate)"),
        },
        payload_bits_per_s: payload,
        link_bits_per_s: bits(link_bytes),
        goodput_bits_per_s: match plan.sizes.datagram {
            Some(datagram) => bits(u64::from(datagram)),
            None => Field::absent("an Ethernet trial has no application data"),
        },
        frames_per_s: rate,
        loss_ratio: if sent.sequences > 0 {
            Field::measured(counts.lost_frames as f64 / sent.sequences as f64)
        } else {
            Field::absent("nothing was sent")
        },
        jitter_ps: Field::measured_or(
            seen.jitter_ns.map(|ns| ns * 1000),
            "needs every frame timed: not at maximum load",
        ),
        sender: Field::measured(sender_observation(plan, flow, sent, ran.sender_path)),
        receiver_path: ran.receiver_path.to_owned(),
        series: seen.series,
        counters,
    }
}

/// Frames/s by the sender's own frame times.
fn achieved(sent: &SendReport) -> Option<f64> {
    let span = sent
        .last_ns
        .checked_sub(sent.first_ns)
        .filter(|ns| *ns > 0)?;
    Some(sent.emitted_frames.saturating_sub(1) as f64 * 1e9 / span as f64)
}

fn kept(plan: &Plan, sent: &SendReport) -> Option<bool> {
    Some(achieved(sent)? >= KEPT * plan.frames_per_s?)
}

/// One warning for all senders of a trial that fell behind; each flow has its own figures.
fn below_rate(plan: &Plan, sent: &[SendReport]) -> Option<Warning> {
    let slow = sent.iter().filter(|s| kept(plan, s) == Some(false)).count();
    (slow > 0).then(|| Warning {
        code: "sender-below-rate".to_owned(),
        text: format!(
            "{slow} of {} senders did not keep the rate asked",
            sent.len()
        ),
        way_out: "free the host's processors of other work, offer less, or use fewer ports"
            .to_owned(),
    })
}

fn sender_observation(
    plan: &Plan,
    flow: &FlowPlan,
    sent: &SendReport,
    path: &str,
) -> SenderObservation {
    SenderObservation {
        path: path.to_owned(),
        asked_frames_per_s: Field::measured_or(plan.frames_per_s, "as fast as the sender can"),
        achieved_frames_per_s: Field::measured_or(achieved(sent), "fewer than two frames"),
        kept_rate: Field::measured_or(kept(plan, sent), "no rate was asked"),
        gap: if sent.gap.count > 0 {
            Field::measured(sent.gap.clone())
        } else {
            Field::absent("fewer than two frames")
        },
        slips: Field::measured(sent.slips),
        slipped_ps: Field::measured(sent.slipped_ns.saturating_mul(1000)),
        kernel_copied: Field::measured_or(sent.kernel_copied, "the driver does not say"),
        ledger: (!flow.job.faults.steps.is_empty())
            .then(|| flow.job.faults.ledger(sent.emitted_frames)),
    }
}

fn warn(flow: &FlowPlan, sent: &SendReport, seen: &CheckReport, warnings: &mut Vec<Warning>) {
    let mut push = |code: &str, text: String, way_out: &str| {
        warnings.push(Warning {
            code: code.to_owned(),
            text,
            way_out: way_out.to_owned(),
        });
    };
    if let Err(why) = seen.counts.check_identity(sent.sequences) {
        push(
            "identity",
            format!("{}: the counts do not add up: {why}", flow.to),
            "do not use these figures; report it",
        );
    }
    if sent.refused_frames > 0 {
        let text = format!(
            "{}: the driver refused {} frames",
            flow.from, sent.refused_frames
        );
        push(
            "driver-refused",
            text,
            "offer less, or a longer transmit queue",
        );
    }
    if seen.missed_frames > 0 {
        let text = format!(
            "{}: the checker's own queue overflowed; {} frames went by unseen",
            flow.to, seen.missed_frames
        );
        push(
            "checker-missed",
            text,
            "offer less: these frames are the tester's loss, not the node's",
        );
    }
    for note in &seen.notes {
        push("checker", format!("{}: {note}", flow.to), "see the text");
    }
    if let Some(ledger) =
        (!flow.job.faults.steps.is_empty()).then(|| flow.job.faults.ledger(sent.emitted_frames))
    {
        for (what, asked, counted) in ledger.differences(&seen.counts) {
            let text = format!("{}: {what}: injected {asked}, counted {counted}", flow.to);
            push(
                "ledger",
                text,
                "the path under test added or hid faults of its own",
            );
        }
    }
}
