//! Trials of buffers: a few frames, sent many times; median and spread, and void if any frame was bad.

use std::sync::atomic::Ordering;

use wirelab_port::packet::{self, SendOptions};
use wirelab_port::xdp;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::{
    Cancel, Clock, ClockKind, Elapsed, Extent, Field, FixedSeries, NodeError, Observation,
    Progress, SeriesBuilder, Spans, Summary, Warning,
};

use crate::PortsNode;
use crate::checker::{AnyChecker, FramePath};
use crate::flow::{FlowPlan, PortsTrial, interface_error};
use crate::observe::{self, RunResult};
use crate::run;
use crate::settle;
use crate::watch::PortStates;

/// Warm-up runs, which do not count: caches and clocks of an idle host are cold, which would slow the first type.
const WARM_UP_RUNS: u64 = 20;

/// Run the trial as often as the options say.
pub fn run(
    node: &PortsNode,
    plan: &PortsTrial,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    let Extent::Frames { frames } = plan.resolved.trial.extent else {
        let text = "a trial of buffers counts frames; fix: give --frames, e.g. --frames 50";
        return Err(NodeError::BadTrial(text.to_owned()));
    };
    let [flow] = &plan.flows[..] else {
        let text = "a trial of buffers has one sender; fix: use one port and --direction tx or rx";
        return Err(NodeError::BadTrial(text.to_owned()));
    };
    let runs = u64::from(node.options.buffer_runs.max(1));
    let started = wirelab_trial::host_clock::unix_ns();
    let (mut times_ns, mut warnings, mut last, mut void) = (Vec::new(), Vec::new(), None, None);
    let mut kept = KeptBetweenRuns::default();
    settle::announce(&plan.flows);
    let _neighbours = settle::resolve(&plan.flows, cancel);
    let warm_up = (runs / 10).min(WARM_UP_RUNS);
    for _ in 0..warm_up {
        one_run(node, plan, started, &mut kept, &mut warnings, cancel)?;
    }
    let watch = PortStates::of_flows(&plan.flows).map_err(interface_error)?;
    // If a link was lost, that is why a run failed.
    let because = |error: NodeError| match watch.fault() {
        Some(why) => NodeError::Failed(format!("{why}: {error}")),
        None => error,
    };
    for n in 0..runs {
        progress.report(n, runs, "buffers");
        let result =
            one_run(node, plan, started, &mut kept, &mut warnings, cancel).map_err(because)?;
        // An interrupted run counts neither as a run nor as an error.
        if cancel.is_cancelled() {
            break;
        }
        let wrong = what_went_wrong(flow, &result, frames);
        match (wrong, wire_time_ns(&result.received[0], frames)) {
            (None, Some(ns)) => times_ns.push(ns),
            (wrong, _) => {
                let wrong = wrong.unwrap_or_else(|| "fewer than two timed frames arrived".into());
                void = Some(format!("run {} of {runs}: {wrong}", n + 1));
            }
        }
        last = Some(result);
        if void.is_some() {
            break;
        }
    }
    let result = last.ok_or_else(|| {
        NodeError::Failed(
            "the trial was ended before its first run was complete; fix: let it run longer"
                .to_owned(),
        )
    })?;
    let cancelled = cancel.is_cancelled();
    let mut observation = observe::observation(node, plan, result, cancelled, warnings);
    observation.started_unix_ns = Field::measured(started);
    match watch.fault().or(void) {
        Some(why) => observation.make_void(&why),
        None => summarise(&mut observation, &times_ns, frames, plan),
    }
    Ok(observation)
}

/// What was wrong with a run, in words; `None` if every frame left and arrived once, in order, intact.
fn what_went_wrong(flow: &FlowPlan, result: &RunResult, frames: u64) -> Option<String> {
    let (sent, undeparted) = (&result.sent[0], result.undeparted[0]);
    let left = sent.sequences_left(result.received[0].counts.distinct_sequences);
    let mut received = result.received[0].clone();
    received.missed.at_most = received.missed.at_most.saturating_add(undeparted);
    let counts = received.with_sent(left).counts;
    let (from, to) = (&flow.from, &flow.to);
    let refused = [(
        sent.refused_frames,
        format!("did not leave {from}, whose queue or driver dropped them"),
    )];
    let unclear = match undeparted {
        0 => format!("were lost, or dropped by this host before {to}'s checker saw them"),
        _ => format!("were lost, or dropped by a queue of {from} or {to}"),
    };
    let of_checker = [
        (counts.lost_frames, "were lost".to_owned()),
        (counts.lost_or_missed_frames, unclear),
        (
            counts.missed_frames,
            format!("were dropped by this host before {to}'s checker saw them"),
        ),
        (
            counts.header_corrupt_frames,
            "had a damaged header".to_owned(),
        ),
        (counts.truncated_frames, "were cut".to_owned()),
        (
            counts.stale_frames,
            "had the content of another frame".to_owned(),
        ),
        (counts.corrupted_frames, "had a wrong byte".to_owned()),
        (counts.duplicated_frames, "arrived twice".to_owned()),
        (counts.reordered_frames, "arrived out of order".to_owned()),
        (counts.too_late_frames, "arrived too late".to_owned()),
    ];
    let reasons: Vec<_> = refused
        .iter()
        .chain(&of_checker)
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} of {frames} frames {what}"))
        .collect();
    let whole = counts.is_clean() && counts.received_frames == frames;
    match reasons.is_empty() {
        true if whole => None,
        true => Some(format!(
            "{} of {frames} frames arrived, or their slots were out of order",
            counts.received_frames
        )),
        false => Some(reasons.join(", ")),
    }
}

/// Resources that a run leaves to the next, because the kernel takes longer to make them than a run lasts.
#[derive(Default)]
struct KeptBetweenRuns {
    checker: Option<xdp::Checker>,
    ring: packet::KeptRing,
}

fn one_run(
    node: &PortsNode,
    plan: &PortsTrial,
    started: u64,
    kept: &mut KeptBetweenRuns,
    warnings: &mut Vec<Warning>,
    cancel: &Cancel,
) -> Result<RunResult, NodeError> {
    let checker = match kept.checker.take() {
        Some(checker) => {
            checker.reset();
            node.sent_since_ns.store(now_ns(), Ordering::Relaxed);
            AnyChecker::Xdp(checker)
        }
        None => run::start_checkers(node, &plan.flows, warnings)?.remove(0),
    };
    let recorders = match checker {
        AnyChecker::Xdp(_) => run::start_recorders(node, &plan.flows)?,
        AnyChecker::Packet(_) => Vec::new(),
    };
    let flow = &plan.flows[0];
    let options = SendOptions {
        cpu: run::processors().first().copied(),
    };
    let watch = PortStates::start(&[&flow.from]).map_err(interface_error)?;
    let mut sent = packet::send_again(&flow.from, &flow.job, &options, cancel, &mut kept.ring)?;
    run::drain_short(&checker, sent.emitted_frames);
    run::finish_recorders(recorders, &plan.flows, warnings)?;
    let receiver_path = AnyChecker::path(&checker);
    let received = match checker {
        AnyChecker::Xdp(checker) => {
            let received = checker.report();
            kept.checker = Some(checker);
            received
        }
        other => other.finish()?,
    };
    let unseen = sent.unseen(&received);
    let undeparted = watch.reconcile(&flow.from, &mut sent, unseen);
    Ok(RunResult {
        started,
        sent: vec![sent],
        received: vec![received],
        undeparted: vec![undeparted],
        broke_off: None,
        sender_path: FramePath::Packet,
        receiver_path: Some(receiver_path),
    })
}

/// From the arrival times: (t_last − t_first)·N/(N−1).
fn wire_time_ns(received: &wirelab_port::job::CheckReport, frames: u64) -> Option<u64> {
    let ((t0, n0), (t1, n1)) = (received.first?, received.last?);
    (n1 > n0).then(|| (t1 - t0) * frames / (n1 - n0))
}

/// Replace a single run's figures by median and spread of all runs.
fn summarise(observation: &mut Observation, times_ns: &[u64], frames: u64, plan: &PortsTrial) {
    let seconds: Vec<f64> = times_ns.iter().map(|ns| *ns as f64 * 1e-9).collect();
    let Some(summary) = Summary::of(&seconds, 0.95) else {
        return;
    };
    let mut series = SeriesBuilder::new(FixedSeries::RUN_TIMES, Clock::TESTER_NS, 1);
    times_ns.iter().for_each(|ns| series.push(*ns));
    observation.series.push(series.finish());
    let rate = frames as f64 / summary.median;
    let flow = &mut observation.flows[0];
    flow.intervals.without_rates();
    flow.elapsed = Field::measured(Elapsed {
        ps: (summary.median * 1e12) as u64,
        spans: Spans::Wire,
        clock: ClockKind::Wall,
    });
    flow.frames_per_s = Field::measured(rate);
    flow.payload_bits_per_s = Field::measured(rate * 8.0 * f64::from(plan.resolved.sizes.payload));
    let link_bytes = plan
        .resolved
        .link
        .map(|l| l.overhead)
        .unwrap_or_default()
        .link_bytes(&plan.resolved.sizes);
    flow.link_bits_per_s = Field::measured(rate * 8.0 * link_bytes as f64);
    if let Some(link) = plan.resolved.link {
        flow.efficiency = Field::measured(
            rate * 8.0 * f64::from(plan.resolved.sizes.payload) / link.bits_per_s() as f64,
        );
    }
}
