//! One flow of a predicted trial: how many frames in what time.

use std::collections::BTreeMap;

use wirelab_trial::{
    Cancel, Clock, ClockKind, Direction, Elapsed, Extent, Field, FlowObservation, Jitter, Kind,
    Layer, Load, NodeError, Owner, Series, SeriesBuilder, SeriesName, Spans, Trial,
};

use super::{EXACT_FRAMES, MOST_FRAMES, NO_FRAMES, SEED, Subject};
use crate::build::{BuildError, ChainInfo, Instance, Probe, Tool};
use crate::file::{CalibratedMetric, NodeFile};
use wirelab_sim::net::{Net, Trigger};
use wirelab_sim::sim::{
    Edge, EdgeTimer, Firing, FrameTimes, KEPT_MAX, SimRequest, SimResult, simulate,
};
use wirelab_sim::steady::Steady;

const PS_PER_S: f64 = 1e12;
/// Why a rate at full speed is absent.
pub(super) const UNLIMITED: &str = "the node file does not know what limits the rate of this path; fix: give a load below its limit";

/// What to simulate: as many frames as the trial has, within bounds, and for each chain the ends of its wire and of its
/// last stage.
pub fn ask(instance: &Instance, steady: &Steady, cancel: &Cancel) -> SimRequest {
    // Every firing is kept.
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
            let bound = if wanted(instance) { most } else { bound };
            let rate = instance
                .resolved
                .frames_per_s
                .unwrap_or_else(|| PS_PER_S / steady.period.ps().max(1.0));
            // A few more, so that the last interval is full.
            let all = (rate * time_ps as f64 / PS_PER_S).ceil() + 16.0;
            (all as u64).clamp(2, bound)
        }
    };
    SimRequest {
        seed: SEED,
        frames_kept: KEPT_MAX,
        firings_kept: KEPT_MAX,
        cancel: cancel.clone(),
        ..SimRequest::frames(&instance.net, frames)
    }
}

/// The simulated frames of one chain, in order.
pub struct Times<'a> {
    /// Their firings on the wire.
    pub wire: Vec<Firing>,
    /// Frames that reached the end of the chain.
    pub done: &'a [FrameTimes],
    /// Whether the node lost frames of the chain: it receives more than it serves.
    pub starves: bool,
}

impl Times<'_> {
    /// The times of a chain.
    pub fn of<'a>(run: &'a SimResult, info: &ChainInfo, chain: usize) -> Times<'a> {
        Times {
            wire: of_stage(run, info.wire).copied().collect(),
            done: &run.chains[chain].frames,
            starves: run.chains[chain].lost > 0,
        }
    }
}

/// The firings of a stage.
fn of_stage(run: &SimResult, stage: usize) -> impl Iterator<Item = &Firing> {
    run.firings.iter().filter(move |f| f.stage == stage)
}

/// The instants of a stage's edge, in ps.
pub fn instants(run: &SimResult, (stage, edge): (usize, Edge)) -> Vec<u64> {
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
    let kind = subject.kind(CalibratedMetric::Time, None);
    let unknown = info.limit_unknown && info.source.is_none();
    let predicted = |value| match unknown {
        true => Field::absent(UNLIMITED),
        false => Field::Observed { value, kind },
    };
    let times = Times::of(subject.run, info, chain);
    let rate = frames_per_s(subject, chain, &times);
    let sizes = instance.resolved.sizes;
    let per_frame = |bytes: u64| predicted(rate * 8.0 * bytes as f64);
    let payload = rate * 8.0 * f64::from(sizes.payload);
    let efficiency = match instance.resolved.link {
        Some(link) => predicted(payload / link.bits_per_s() as f64),
        None => Field::absent("the link has no rate; fix: give it with --rate"),
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
        elapsed: match elapsed(subject, chain, &times, rate) {
            _ if unknown => Field::absent(UNLIMITED),
            None => Field::absent("no frame came to an end"),
            Some(value) => Field::Observed { value, kind },
        },
        frames_per_s: predicted(rate),
        payload_bits_per_s: predicted(payload),
        link_bits_per_s: per_frame(overhead.link_bytes(&sizes)),
        efficiency,
        goodput_bits_per_s: goodput,
        loss_ratio: loss(subject, chain),
        loss_ratio_at_most: None,
        intervals: wirelab_trial::FlowIntervals::default(),
        over_time: wirelab_trial::OverTime::default(),
        checker_held_up_ps: Field::absent("a model has no checker"),
        jitter_ps: jitter(subject, &times),
        sender: Field::absent(NO_FRAMES),
        receiver_path: "model".to_owned(),
        series: probes(subject, chain),
        counters: intervals(subject, &times).unwrap_or_default(),
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

/// Frames/s that pass: for a number of frames over their elapsed time, for a duration in the steady state.
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

/// Frames/s in the steady state: of the closed form, or of the frames that left in the second half of the time in which every
/// flow had frames to offer. After that, a flow that ended leaves its resources to the others.
fn steady_per_s(subject: &Subject<'_>, times: &Times<'_>) -> f64 {
    if is_closed(subject) {
        return subject.steady.period.per_s();
    }
    let run = subject.run;
    let until = run.offered_until_ps().unwrap_or(run.end_ps);
    let inside = |f: &&FrameTimes| f.end_ps > until / 2 && f.end_ps <= until;
    let mut done = times.done.iter().filter(inside);
    match (done.next(), done.clone().next_back()) {
        (Some(first), Some(last)) if last.end_ps > first.end_ps => {
            // A batch that ends at the first instant does not count: its work was before.
            let rest = done.filter(|f| f.end_ps > first.end_ps).count();
            rest as f64 * PS_PER_S / (last.end_ps - first.end_ps) as f64
        }
        // Frames left in the queues of a starved stage are served after the load ends.
        _ if times.starves => {
            let served = times.done.iter().filter(|f| f.end_ps <= until).count();
            served as f64 * PS_PER_S / until.max(1) as f64
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

/// Frames and time of the whole trial: the part that was not simulated continues at the steady rate.
fn stretched(subject: &Subject<'_>, times: &Times<'_>, span_ps: f64) -> (f64, f64) {
    let simulated = times.done.len() as f64;
    let (Extent::Frames { frames }, Some(Some(simulated_frames))) =
        (subject.trial.extent, subject.ask.frames.first().copied())
    else {
        return (simulated, span_ps);
    };
    let rest = frames.saturating_sub(simulated_frames) as f64 * simulated / simulated_frames as f64;
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
pub(crate) fn busy_while_offered(net: &Net, run: &SimResult, resource: usize) -> f64 {
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
    // A loss before the node is an input of the model, and is reported as given, even if 0.
    let is_given = subject.file.arrivals.lost_before.is_some()
        && subject.instance.resolved.frames_per_s.is_some()
        && subject.instance.chains[chain].direction == Direction::Receive;
    let kind = if is_given && run.lost == 0 {
        Kind::Calibrated
    } else {
        Kind::Predicted
    };
    Field::Observed { value, kind }
}

/// The spacing of frames that samplers measure, in whole ticks of their clocks.
fn probes(subject: &Subject<'_>, chain: usize) -> Vec<wirelab_trial::Series> {
    (0..subject.instance.chains[chain].probes.len())
        .filter_map(|probe| spacing(subject, chain, probe))
        .collect()
}

/// Frames whose latency is sampled: four times as many as in the Zynq document, so that all digits of the mean are
/// significant.
pub const SAMPLES: u64 = 2_048;

/// A model's clock: exact to the picosecond.
const CLOCK: Clock = Clock {
    kind: ClockKind::Simulated,
    tick_ps: Some(1),
    resolution_ticks: 1,
    owner: Owner::Node,
};

/// Adds to each flow the latency at each of its capture points, and the time of each stage from the end of the one
/// before, so that the stages add up.
///
/// # Errors
/// Where the net cannot run.
pub fn add_latencies(
    subject: &Subject<'_>,
    flows: &mut [FlowObservation],
    count: u64,
    cancel: &Cancel,
) -> Result<(), NodeError> {
    if subject.instance.chains.iter().all(|c| c.points.is_empty()) {
        return Ok(());
    }
    let alone = alone(subject.file, subject.trial, subject.instance, count)?;
    let instance = alone.as_ref().unwrap_or(subject.instance);
    let watches: Vec<Vec<(SeriesName, EdgeTimer)>> = instance
        .chains
        .iter()
        .map(|chain| watches(instance, chain))
        .collect();
    let ask = SimRequest {
        seed: SEED,
        watches: watches.iter().flatten().map(|w| w.1).collect(),
        cancel: cancel.clone(),
        ..SimRequest::frames(&instance.net, count)
    };
    let run =
        simulate(&instance.net, &ask).map_err(|error| NodeError::Failed(error.to_string()))?;
    let mut samples = run.samples.iter();
    for (flow, watches) in flows.iter_mut().zip(&watches) {
        for ((name, watch), samples) in watches.iter().zip(&mut samples) {
            let kind = match subject.is_quoted(watch) {
                true => Kind::Published,
                false => subject.kind(CalibratedMetric::Latency, Some(&name.to_string())),
            };
            let mut series = SeriesBuilder::new(name.clone(), CLOCK, SEED);
            samples.kept_ps.iter().for_each(|ps| series.push(*ps));
            flow.series.push(Series {
                kind,
                ..series.finish_without_intervals()
            });
        }
    }
    Ok(())
}

/// The net of the same trial with `frames` frames, one at a time; `None` where the trial gives a load.
pub(crate) fn alone(
    file: &NodeFile,
    trial: &Trial,
    instance: &Instance,
    frames: u64,
) -> Result<Option<Instance>, BuildError> {
    if trial.load != Load::Max {
        return Ok(None);
    }
    let stages = &instance.net.stages;
    let longest_ps: u64 = stages
        .iter()
        .map(|s| s.cost_ps + period_ps(s.trigger))
        .sum();
    // An uneven distance, so that frames meet a paced interrupt or a polling loop at every phase.
    let distance_ps = 4.0 * longest_ps as f64 * 1.013 + 1e6;
    let mut trial = trial.clone();
    trial.extent = Extent::Frames { frames };
    trial.load = Load::FrameRate {
        frames_per_s: 1e12 / distance_ps,
    };
    Ok(Some(file.instance(&trial)?))
}

/// The longest that a trigger lets a frame wait, in ps.
fn period_ps(trigger: Trigger) -> u64 {
    match trigger {
        Trigger::Paced { period_ps } | Trigger::Polled { period_ps } => period_ps,
        Trigger::Tokens | Trigger::Arrivals(_) => 0,
    }
}

/// Capture points first, then stages.
fn watches(instance: &Instance, chain: &ChainInfo) -> Vec<(SeriesName, EdgeTimer)> {
    let points = chain.points.iter().map(|point| {
        let watch = EdgeTimer {
            from: point.from,
            to: point.to,
        };
        (point.name.clone(), watch)
    });
    let sourceless: Vec<usize> = chain
        .stages
        .iter()
        .copied()
        .filter(|s| Some(*s) != chain.source)
        .collect();
    let stages = sourceless.iter().enumerate().map(|(at, stage)| {
        let from = match at.checked_sub(1) {
            Some(before) => (sourceless[before], Edge::End),
            None => (*stage, Edge::Start),
        };
        let name = &instance.net.stages[*stage].name;
        let to = (*stage, Edge::End);
        (
            SeriesName::Other(format!("stage {name}")),
            EdgeTimer { from, to },
        )
    });
    points.chain(stages).collect()
}

/// The spacing of frames that a sampler measures, in whole ticks of its clock.
pub fn spacing(subject: &Subject<'_>, chain: usize, probe: usize) -> Option<Series> {
    let what: &Probe = &subject.instance.chains[chain].probes[probe];
    let tick_ps = what.tick_ps.round().max(1.0) as u64;
    let clock = Clock {
        tick_ps: Some(tick_ps),
        ..CLOCK
    };
    let arrivals: Vec<u64> = instants(subject.run, what.at)
        .iter()
        .map(|ps| (*ps as f64 / what.tick_ps).floor() as u64)
        .collect();
    let mut series = SeriesBuilder::new(SeriesName::spacing(what.name.as_str()), clock, SEED);
    // The first half fills buffers.
    let steady = &arrivals[arrivals.len() / 2..];
    steady.windows(2).for_each(|w| series.push(w[1] - w[0]));
    (steady.len() > 1).then(|| Series {
        kind: Kind::Predicted,
        ..series.finish_without_intervals()
    })
}

/// Most intervals that are reported.
const MOST_INTERVALS: u64 = 99;

/// Whether the tool on the other end reports intervals of this trial.
pub fn wanted(instance: &Instance) -> bool {
    let udp = matches!(
        instance.resolved.trial.framing.layer,
        Layer::UdpIpv4 | Layer::UdpIpv6
    );
    udp && instance.resolved.trial.direction == Direction::Transmit
        && instance.tool.interval_ps.is_some()
}

/// Counters of each interval, by name: `interval_01_datagrams` (by their identifiers, as iperf counts),
/// `interval_01_lost`, `interval_01_bytes`, `interval_01_jitter_ps`; `None` where the tool reports none.
pub fn intervals(subject: &Subject<'_>, times: &Times<'_>) -> Option<BTreeMap<String, Field<u64>>> {
    let (instance, trial) = (subject.instance, subject.trial);
    let interval_ps = instance.tool.interval_ps.filter(|_| wanted(instance))?;
    let Extent::Time { time_ps } = trial.extent else {
        return None;
    };
    let datagram = u64::from(instance.resolved.sizes.datagram?);
    let first = times.wire.first()?.end_ps;
    let mut server = Server::new(&instance.tool);
    let mut counters = BTreeMap::new();
    let mut arrived = 0;
    for number in 1..=(time_ps / interval_ps).min(MOST_INTERVALS) {
        let end = first + number * interval_ps;
        let here = times.wire[arrived..].partition_point(|f| f.end_ps < end);
        if arrived + here == times.wire.len() {
            // The simulation ended in this interval; only full intervals are reported.
            break;
        }
        let before = server.highest_id;
        times.wire[arrived..arrived + here]
            .iter()
            .for_each(|f| server.take(f));
        arrived += here;
        let by_id = server.highest_id - before;
        let mut put = |what: &str, value: u64| {
            let name = format!("interval_{number:02}_{what}");
            let kind = Kind::Predicted;
            counters.insert(name, Field::Observed { value, kind });
        };
        put("datagrams", by_id);
        put("lost", by_id - here as u64);
        put("bytes", here as u64 * datagram);
        put("jitter_ps", server.jitter.ps().unwrap_or(0));
    }
    Some(counters)
}

/// The RFC 3550 jitter at the end of the flow, as the tool's server computes it.
pub fn jitter(subject: &Subject<'_>, times: &Times<'_>) -> Field<u64> {
    if !wanted(subject.instance) {
        return Field::absent("nothing in the model reports it on this path");
    }
    let mut server = Server::new(&subject.instance.tool);
    times.wire.iter().for_each(|f| server.take(f));
    match server.jitter.ps() {
        Some(value) => Field::Observed {
            value,
            kind: Kind::Predicted,
        },
        None => Field::absent("no datagram arrived"),
    }
}

/// An iperf server that counts by identifiers from 0.
struct Server<'a> {
    tool: &'a Tool,
    /// Highest identifier so far, plus 1.
    highest_id: u64,
    jitter: Jitter,
}

impl Server<'_> {
    fn new(tool: &Tool) -> Server<'_> {
        Server {
            tool,
            highest_id: 0,
            jitter: Jitter::new(),
        }
    }

    /// Takes a datagram off the wire. A sender without timestamps leaves the field 0, so the server takes the spacing
    /// of datagrams for a change of their transit time.
    fn take(&mut self, datagram: &Firing) {
        self.highest_id = self.tool.first_id + datagram.frame.unwrap_or(0) + 1;
        let sent_ns = if self.tool.timestamps {
            datagram.start_ps / 1000
        } else {
            0
        };
        self.jitter.observe(sent_ns, datagram.end_ps / 1000);
    }
}
