//! One flow of a predicted trial: how many frames in what time.

use wirelab_trial::{
    Cancel, ClockKind, Direction, Elapsed, Extent, Field, FlowObservation, Kind, Layer, Spans,
    Trial,
};

use super::{EXACT_FRAMES, MOST_FRAMES, NO_FRAMES, SEED, Subject, reports};
use crate::build::{ChainInfo, Instance};
use crate::net::Net;
use crate::sim::Edge;
use crate::sim::{Ask, Firing, FrameTimes, KEPT_MAX, Run};
use crate::steady::Steady;

const PS_PER_S: f64 = 1e12;

/// What is asked of the simulation: as many frames as the trial has, as far as the bounds allow, and for each chain
/// the ends of its wire and of its last stage.
pub fn ask(instance: &Instance, steady: &Steady, cancel: &Cancel) -> Ask {
    // Every piece of work is kept.
    let all = KEPT_MAX as u64 / instance.net.stages.len().max(1) as u64;
    let most = MOST_FRAMES.min(all);
    let bound = if steady.exact {
        EXACT_FRAMES.min(all)
    } else {
        most
    };
    let frames = match instance.resolved.trial.extent {
        Extent::Frames { frames } => frames.min(bound),
        Extent::Time { time_ps } => {
            // Server reports need every frame of the trial.
            let bound = if reports::wanted(instance) {
                most
            } else {
                bound
            };
            let rate = instance
                .resolved
                .frames_per_s
                .unwrap_or_else(|| PS_PER_S / steady.period.ps().max(1.0));
            // A few more, so that the last interval is full.
            let all = (rate * time_ps as f64 / PS_PER_S).ceil() + 16.0;
            (all as u64).clamp(2, bound)
        }
    };
    Ask {
        seed: SEED,
        frames_kept: KEPT_MAX,
        firings_kept: KEPT_MAX,
        cancel: cancel.clone(),
        ..Ask::frames(&instance.net, frames)
    }
}

/// What happened to the frames of one chain, in order.
pub struct Times<'a> {
    /// Their pieces of work on the wire.
    pub wire: Vec<Firing>,
    /// Those that came to the end of the chain.
    pub done: &'a [FrameTimes],
}

impl Times<'_> {
    /// The times of a chain.
    pub fn of<'a>(run: &'a Run, info: &ChainInfo, chain: usize) -> Times<'a> {
        Times {
            wire: of_stage(run, info.wire).copied().collect(),
            done: &run.chains[chain].frames,
        }
    }
}

/// The pieces of work of a stage.
fn of_stage(run: &Run, stage: usize) -> impl Iterator<Item = &Firing> {
    run.firings.iter().filter(move |f| f.stage == stage)
}

/// The instants of a stage's edge, in ps.
pub fn instants(run: &Run, (stage, edge): (usize, Edge)) -> Vec<u64> {
    of_stage(run, stage)
        .map(|f| match edge {
            Edge::Start => f.start_ps,
            Edge::End => f.end_ps,
        })
        .collect()
}

/// The flow of one chain.
pub fn flow(subject: &Subject<'_>, chain: usize) -> FlowObservation {
    let (instance, info) = (subject.instance, &subject.instance.chains[chain]);
    let kind = subject.kind("time", None);
    let seen = |value| Field::Observed { value, kind };
    let times = Times::of(subject.run, info, chain);
    let rate = frames_per_s(subject, chain, &times);
    let sizes = instance.resolved.sizes;
    let per_frame = |bytes: u64| seen(rate * 8.0 * bytes as f64);
    let payload = rate * 8.0 * f64::from(sizes.payload);
    let efficiency = match instance.resolved.link {
        Some(link) => seen(payload / link.bits_per_s() as f64),
        None => Field::absent("the link has no rate: give it with --rate"),
    };
    let goodput = match (instance.resolved.trial.framing.layer, sizes.datagram) {
        (Layer::Ethernet, _) | (_, None) => {
            Field::absent("an Ethernet trial has no application data")
        }
        (_, Some(datagram)) => per_frame(datagram.into()),
    };
    let overhead = instance
        .resolved
        .link
        .map(|l| l.overhead)
        .unwrap_or_default();
    FlowObservation {
        port: format!("port{}", info.port - 1),
        direction: match info.direction {
            Direction::Receive => Direction::Receive,
            _ => Direction::Transmit,
        },
        stream: chain.min(255) as u8,
        sent_frames: sent(&instance.resolved.trial),
        counts: Field::absent(NO_FRAMES),
        elapsed: elapsed(subject, chain, &times, rate).map_or_else(
            || Field::absent("no frame came to an end"),
            |value| Field::Observed { value, kind },
        ),
        frames_per_s: seen(rate),
        payload_bits_per_s: seen(payload),
        link_bits_per_s: per_frame(overhead.link_bytes(&sizes)),
        efficiency,
        goodput_bits_per_s: goodput,
        loss_ratio: loss(subject, chain),
        loss_ratio_at_most: None,
        intervals: wirelab_trial::FlowIntervals::default(),
        checker_held_up_ps: Field::absent("a model has no checker"),
        jitter_ps: reports::jitter(subject, &times),
        sender: Field::absent(NO_FRAMES),
        receiver_path: "model".to_owned(),
        series: probes(subject, chain),
        counters: reports::intervals(subject, &times).unwrap_or_default(),
    }
}

fn sent(trial: &Trial) -> Field<u64> {
    match trial.extent {
        Extent::Frames { frames } => Field::Observed {
            value: frames,
            kind: Kind::Predicted,
        },
        Extent::Time { .. } => Field::absent(NO_FRAMES),
    }
}

/// Frames/s that get through: of a number of frames over their elapsed time, of a trial of some time in the steady
/// state.
fn frames_per_s(subject: &Subject<'_>, chain: usize, times: &Times<'_>) -> f64 {
    if let (Extent::Frames { .. }, Some(span)) = (
        subject.trial.extent,
        simulated_span_ps(&subject.instance.chains[chain], times),
    ) {
        let (frames, span) = stretched(subject, times, span);
        return frames * PS_PER_S / span;
    }
    steady_per_s(subject, times)
}

/// Frames/s in the steady state: the closed form, or what left in the second half of the time in which every flow had
/// frames to offer. Later a flow that is done leaves its share to the others.
fn steady_per_s(subject: &Subject<'_>, times: &Times<'_>) -> f64 {
    if is_closed(subject) {
        return subject.steady.period.per_s();
    }
    let run = subject.run;
    let until = run.offered_until_ps().unwrap_or(run.end_ps);
    let inside = |f: &&FrameTimes| f.end_ps > until / 2 && f.end_ps <= until;
    let mut seen = times.done.iter().filter(inside);
    match (seen.next(), seen.clone().next_back()) {
        (Some(first), Some(last)) if last.end_ps > first.end_ps => {
            // Of a batch that ends at the first instant none counts: its time lies before.
            let rest = seen.filter(|f| f.end_ps > first.end_ps).count();
            rest as f64 * PS_PER_S / (last.end_ps - first.end_ps) as f64
        }
        // Too few frames for a second half.
        _ => match (times.done.first(), times.done.last()) {
            (Some(first), Some(last)) if last.end_ps > first.end_ps => {
                (times.done.len() - 1) as f64 * PS_PER_S / (last.end_ps - first.end_ps) as f64
            }
            _ => 0.0,
        },
    }
}

/// Whether the closed form alone gives the rate.
fn is_closed(subject: &Subject<'_>) -> bool {
    subject.steady.exact && subject.instance.resolved.frames_per_s.is_none()
}

/// The time of the simulated frames as the path spans it.
fn simulated_span_ps(info: &ChainInfo, times: &Times<'_>) -> Option<f64> {
    let from = match info.spans {
        Spans::Wire => times.wire.first()?.start_ps,
        Spans::Pin | Spans::Call => 0,
    };
    let to = match info.spans {
        Spans::Wire => times.wire.last()?.end_ps,
        Spans::Pin | Spans::Call => times.done.last()?.end_ps,
    };
    (to > from).then(|| (to - from) as f64)
}

/// Frames and time of the whole trial: what was not simulated goes on at the steady rate.
fn stretched(subject: &Subject<'_>, times: &Times<'_>, span_ps: f64) -> (f64, f64) {
    let simulated = times.done.len() as f64;
    let (Extent::Frames { frames }, Some(Some(asked))) =
        (subject.trial.extent, subject.ask.frames.first().copied())
    else {
        return (simulated, span_ps);
    };
    let rest = frames.saturating_sub(asked) as f64 * simulated / asked as f64;
    if rest == 0.0 {
        return (simulated, span_ps);
    }
    (
        simulated + rest,
        span_ps + rest * PS_PER_S / steady_per_s(subject, times),
    )
}

fn elapsed(subject: &Subject<'_>, chain: usize, times: &Times<'_>, rate: f64) -> Option<Elapsed> {
    let info = &subject.instance.chains[chain];
    let span = simulated_span_ps(info, times)?;
    let ps = match subject.trial.extent {
        Extent::Frames { .. } => stretched(subject, times, span).1,
        Extent::Time { time_ps } if rate > 0.0 => time_ps as f64,
        Extent::Time { .. } => return None,
    };
    Some(Elapsed {
        ps: ps.round() as u64,
        spans: info.spans,
        clock: ClockKind::Simulated,
    })
}

/// The share of time in which a resource was busy in a simulation whose firings were kept, in the second half of the
/// time in which every flow had frames to offer, 0 to 1.
pub(crate) fn busy_while_offered(net: &Net, run: &Run, resource: usize) -> f64 {
    let until = match run.offered_until_ps().unwrap_or(run.end_ps) {
        0 => run.end_ps.max(1),
        until => until,
    };
    // The first half fills rings and meets the first paced interrupt.
    let from = until / 2;
    let inside = |f: &Firing| f.end_ps.min(until).saturating_sub(f.start_ps.max(from));
    let holds = |f: &&Firing| net.stages[f.stage].resource == Some(resource);
    let busy_ps: u64 = run.firings.iter().filter(holds).map(inside).sum();
    busy_ps as f64 / (until - from) as f64
}

/// The share of time in which a resource was busy while every flow had frames to offer, 0 to 1.
pub fn busy_ratio(subject: &Subject<'_>, resource: usize) -> f64 {
    let net = &subject.instance.net;
    let holds = |stage: usize| net.stages[stage].resource == Some(resource);
    if is_closed(subject) {
        let costs = net.stages.iter().enumerate().filter(|(at, _)| holds(*at));
        let sum: u64 = costs.map(|(_, stage)| stage.cost_ps).sum();
        return sum as f64 / subject.steady.period.ps();
    }
    busy_while_offered(net, subject.run, resource)
}

fn loss(subject: &Subject<'_>, chain: usize) -> Field<f64> {
    let run = &subject.run.chains[chain];
    let lost = run.lost + run.lost_before;
    let value = lost as f64 / (run.done + lost).max(1) as f64;
    // What never reached the node was given to the model, and comes back as given, be it nothing.
    let asked = subject.file.arrivals.lost_before.is_some()
        && subject.instance.resolved.frames_per_s.is_some()
        && subject.instance.chains[chain].direction == Direction::Receive;
    let kind = if asked && run.lost == 0 {
        Kind::Calibrated
    } else {
        subject.kind("loss", None)
    };
    Field::Observed { value, kind }
}

/// What samplers see: the spacing of frames in whole ticks of their clocks.
fn probes(subject: &Subject<'_>, chain: usize) -> Vec<wirelab_trial::Series> {
    (0..subject.instance.chains[chain].probes.len())
        .filter_map(|probe| super::latency::spacing(subject, chain, probe))
        .collect()
}
