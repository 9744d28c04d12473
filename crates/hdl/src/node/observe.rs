//! From what the registers said to an observation, every figure with its unit or its reason.

use std::collections::BTreeMap;

use wirelab_trial::job::{self, CheckReport, FlowAsked, SendReport};
use wirelab_trial::{
    ClockKind, Description, Elapsed, Field, FlowObservation, Histogram, Observation, Spans, Status,
    TesterObservation, Warning,
};

use super::plan::{FlowPlan, Plan};
use super::run::{Came, Ran};
use crate::CLOCK_PS;

/// ns of a tick of the probe.
const PROBE_NS: u64 = 10;

/// The observation of a trial.
pub fn observation(plan: &Plan, node: Description, ran: Ran, started_unix_ns: u64) -> Observation {
    let mut warnings = Vec::new();
    let mut sent = Vec::new();
    let flows = plan.flows.iter().zip(&ran.came).map(|(flow, came)| {
        let asked = asked(plan, flow, came);
        let (left, seen) = (left(came), seen(came));
        warnings.extend(job::flow_warnings(&asked, &left, &seen));
        warnings.extend(doubts(flow, came));
        let observed = observed(plan, came, job::flow_observation(&asked, &left, seen));
        sent.push(left);
        observed
    });
    let flows: Vec<FlowObservation> = flows.collect();
    warnings.extend(job::below_rate(plan.frames_per_s, &sent));
    Observation {
        trial: plan.trial.clone(),
        sizes: plan.sizes,
        node,
        status: status(plan, &ran),
        started_unix_ns: Field::measured(started_unix_ns),
        flows,
        cpu_load: Field::absent("generator and checker are hardware: no CPU takes part"),
        series: Vec::new(),
        counters: BTreeMap::from([("simulated_clocks".to_owned(), Field::measured(ran.clocks))]),
        tester: TesterObservation {
            ceiling_frames_per_s: Field::absent("the tester takes no simulated time"),
            was_limit: Field::measured(false),
        },
        warnings,
    }
}

fn name(port: usize) -> String {
    format!("port {port}")
}

fn asked(plan: &Plan, flow: &FlowPlan, came: &Came) -> FlowAsked {
    let own = match flow.direction {
        wirelab_trial::Direction::Receive => flow.to,
        _ => flow.from,
    };
    FlowAsked {
        port: name(own),
        direction: flow.direction,
        stream: flow.from as u8,
        layer: plan.trial.framing.layer,
        sizes: plan.sizes,
        link: Some(plan.link),
        frames_per_s: plan.frames_per_s,
        from: name(flow.from),
        to: name(flow.to),
        sender_path: "packet_generator".to_owned(),
        receiver_path: "packet_checker".to_owned(),
        ledger: plan
            .fault
            .map(|fault| fault.ledger(came.sent.sequences, came.sent.injected)),
    }
}

/// What the sender did; its time is that of the probe at the MAC's input, to a tick of it.
fn left(came: &Came) -> SendReport {
    let rate = &came.sent.rate;
    SendReport {
        emitted_frames: came.sent.frames,
        sequences: came.sent.sequences,
        first_ns: 0,
        last_ns: rate.total * PROBE_NS,
        gap: came
            .spacing
            .as_ref()
            .map_or_else(Histogram::default, |spacing| spacing.histogram.clone()),
        ..SendReport::default()
    }
}

/// What the checker saw. Its own count of losses is left out: what was sent after the last that came, only the sender
/// knows.
fn seen(came: &Came) -> CheckReport {
    let mut counts = came.seen.counts;
    counts.lost_frames = 0;
    let frames = counts.received_frames;
    let times = came.seen.times_ns.filter(|_| frames > 0);
    CheckReport {
        counts,
        first: times.map(|(first, _)| (first, 0)),
        last: times.map(|(_, last)| (last, frames - 1)),
        ..CheckReport::default()
    }
}

/// What the registers tell beside the flow's own figures.
fn observed(plan: &Plan, came: &Came, mut flow: FlowObservation) -> FlowObservation {
    let (sent, seen) = (&came.sent, &came.seen);
    let frames = seen.counts.received_frames;
    let times = seen
        .times_ns
        .filter(|(first, last)| frames > 1 && last > first);
    if let Some((first, last)) = times {
        // Integers: simulated time has no last digit to lose.
        let ps = u128::from(last - first) * 1000 * u128::from(frames) / u128::from(frames - 1);
        flow.elapsed = Field::measured(Elapsed {
            ps: u64::try_from(ps).unwrap_or(u64::MAX),
            spans: Spans::Wire,
            clock: ClockKind::Simulated,
        });
        let clocks = Field::measured((last - first) * 1000 / CLOCK_PS);
        flow.counters
            .insert("clocks_first_to_last".to_owned(), clocks);
    }
    flow.series.extend(came.spacing.clone());
    let mut count = |name: &str, value| {
        flow.counters
            .insert(name.to_owned(), Field::measured(value));
    };
    count("period_clocks", plan.period_clocks);
    count("bad_fcs_frames", seen.bad_fcs);
    count("damaged_frames", seen.damaged);
    if sent.rate.periods > 0 {
        count("probe_shortest_ticks", sent.rate.shortest);
        count("probe_last_ticks", sent.rate.last);
        count("probe_longest_ticks", sent.rate.longest);
    }
    flow
}

/// What speaks against the figures of a flow.
fn doubts(flow: &FlowPlan, came: &Came) -> Vec<Warning> {
    let (sent, seen) = (&came.sent, &came.seen);
    let (from, to) = (name(flow.from), name(flow.to));
    let mut warnings = Vec::new();
    let mut warn = |code: &str, text: String, way_out: &str| {
        warnings.push(Warning::new(code, text, way_out));
    };
    let report = "do not use these figures; report it";
    for (port, sticky) in [(&from, &sent.sticky), (&to, &seen.sticky)] {
        if !sticky.is_empty() {
            let text = format!("{port}: sticky bits are set: {}", sticky.join(", "));
            warn(
                "sticky",
                text,
                "docs/blocks/ethernet_port.md says what each of them means",
            );
        }
    }
    if sent.mac_frames != seen.mac_frames {
        let text = format!(
            "{} frames left {from} and {} arrived at {to}, through a cable that loses none",
            sent.mac_frames, seen.mac_frames
        );
        warn("identity", text, report);
    }
    // The checker counts what is missing in the middle, the sender knows the end.
    let behind = sent.sequences.saturating_sub(seen.next_sequence);
    let distinct = seen.counts.distinct_sequences;
    if seen.counts.lost_frames + behind + distinct != sent.sequences && distinct > 0 {
        let text = format!(
            "{to}: the checker counts {} lost and {distinct} distinct, and {behind} were sent behind these: that is not \
             {}",
            seen.counts.lost_frames, sent.sequences
        );
        warn("identity", text, report);
    }
    if came.missed_periods > 0 {
        let text = format!(
            "{from}: {} intervals of the probe were not read in time and are not in the series",
            came.missed_periods
        );
        warn(
            "probe",
            text,
            "shortest, longest and total are of all intervals",
        );
    }
    if seen.counts.reordered_frames > 0 {
        let text = format!("{to}: the checker does not count how far frames were reordered");
        warn(
            "reordering-extent",
            text,
            "the extent is shown as 0 and means nothing",
        );
    }
    warnings
}

fn status(plan: &Plan, ran: &Ran) -> Status {
    if ran.cancelled {
        return Status::cancelled();
    }
    if ran.stuck {
        return Status::Partial {
            why: format!(
                "a generator had not sent its {} frames after {} clocks",
                plan.frames, ran.clocks
            ),
        };
    }
    let wrapped = ran.came.iter().any(|came| {
        let all = came.sent.sticky.iter().chain(&came.seen.sticky);
        all.into_iter()
            .any(|name| name.ends_with("overflow") || name.ends_with("underrun"))
    });
    match wrapped {
        true => Status::Void {
            why: "a counter wrapped around, or the MAC was not given a byte in time (see the warnings)".to_owned(),
        },
        false => Status::Complete,
    }
}
