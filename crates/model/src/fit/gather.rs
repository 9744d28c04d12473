//! Sorts the observations: what of each can be fitted, and what is left out and why.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_trial::stage::{Delay, every_delay_of};
use wirelab_trial::{
    Buffers, CpuLoad, Direction, Kind, Observation, Path, Probes, Rounding, Series, SeriesName,
    Status, Trial, Wait, format, stage,
};
use wirelab_wire::{Layer, LineRate};

use super::body::Body;
use super::figures::Report;
use super::{FitError, FitOptions, LeftOut, body};
use crate::intake::{HOST, is_round_trip, tester_was_limit, unusable, useless_load};

/// Most observations of one fit, which bounds the work.
pub(super) const MAX_OBSERVATIONS: usize = 5_000;
/// Most different series of one observation that are read.
const MAX_SERIES: usize = 64;
/// Largest plausible frames/s and bytes.
const MAX_FRAMES_PER_S: f64 = 1e12;
const MAX_BYTES: u32 = 1 << 20;

/// What observations must share to be explained by one path through the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathKey {
    /// 0 Ethernet, 4 and 6 UDP, 14 and 16 TCP: for the order only.
    order: u8,
    pub(super) receive: bool,
    buffers: u8,
    /// 0 is the stack, the default of a node.
    path: u8,
    /// Whether the application spins; by default it sleeps.
    pub(super) spins: bool,
}

impl PathKey {
    fn of(trial: &Trial, receive: bool) -> PathKey {
        let layer = trial.framing.layer;
        let order = Layer::ALL.iter().position(|l| *l == layer).unwrap_or(0) as u8;
        let buffers = BUFFERS.iter().position(|b| Some(*b) == trial.buffers);
        let path = trial
            .path
            .and_then(|path| PATHS.iter().position(|p| *p == path));
        PathKey {
            order,
            receive,
            buffers: buffers.map_or(0, |b| b as u8 + 1),
            path: path.map_or(0, |p| p as u8),
            spins: trial.wait == Some(Wait::Spin),
        }
    }

    /// The kernel path.
    pub(super) fn path(self) -> Path {
        PATHS[usize::from(self.path)]
    }

    /// How the application waits.
    pub(super) fn wait(self) -> Wait {
        if self.spins { Wait::Spin } else { Wait::Sleep }
    }

    /// The same key with another kernel path.
    pub(super) fn on(self, path: Path) -> PathKey {
        let at = PATHS.iter().position(|p| *p == path);
        PathKey {
            path: at.map_or(0, |at| at as u8),
            ..self
        }
    }

    /// The layer in the spelling of node files.
    pub(super) fn layer(self) -> &'static str {
        Layer::ALL[usize::from(self.order)].word()
    }

    /// `transmit` or `receive`.
    pub(super) fn direction(self) -> &'static str {
        if self.receive { "receive" } else { "transmit" }
    }

    /// How frame data reach the MAC, where the trial requested it.
    pub(super) fn buffers(self) -> Option<Buffers> {
        self.buffers.checked_sub(1).map(|b| BUFFERS[usize::from(b)])
    }

    /// A name for parameters and stages, e.g. `udp4-receive`.
    pub(super) fn name(self) -> String {
        let mut name = format!("{}-{}", self.layer(), self.direction());
        if let Some(buffers) = self.buffers() {
            name.push('-');
            name.push_str(&buffers.to_string());
        }
        if self.path() != Path::Stack {
            name.push('-');
            name.push_str(&self.path().to_string());
        }
        if self.spins {
            name.push_str("-spin");
        }
        name
    }

    /// The size that its costs count: the datagram, on Ethernet the length.
    pub(super) fn size(self) -> &'static str {
        match Layer::ALL[usize::from(self.order)] {
            Layer::Ethernet => "length",
            _ => "datagram",
        }
    }
}

/// The stack first, because it is the default of a trial.
const PATHS: [Path; 3] = [Path::Stack, Path::Driver, Path::FastTrack];
const BUFFERS: [Buffers; 5] = [
    Buffers::Prefilled,
    Buffers::Copied,
    Buffers::DmaCopied,
    Buffers::CopiedAhead,
    Buffers::InPlace,
];

/// One observation, as far as it can be fitted. Its flows are summed.
#[derive(Clone, Debug)]
pub(super) struct FitPoint {
    pub(super) key: PathKey,
    /// The size that costs count: datagram, on Ethernet length.
    pub(super) bytes: f64,
    /// The requested size and load, for a reader.
    pub(super) label: String,
    /// Frames/s that arrived, all flows, where known.
    pub(super) frames_per_s: Option<f64>,
    /// Frames/s that were offered, all flows, where known.
    pub(super) offered_frames_per_s: Option<f64>,
    /// Frames/s the link carries on all flows, where its rate is known.
    pub(super) line_frames_per_s: Option<f64>,
    pub(super) flows: usize,
    /// Whether frames were counted, not computed from bytes and a requested size.
    pub(super) counted: bool,
    /// Whether maximum load was requested.
    pub(super) max_load: bool,
    pub(super) tester_was_limit: bool,
    /// Share of frames lost, where known.
    pub(super) loss_ratio: Option<f64>,
    /// Whether more may have been lost: the tester's own queue may have dropped frames.
    pub(super) loss_is_a_range: bool,
    pub(super) sent_frames: Option<u64>,
    pub(super) load: Option<CpuLoad>,
    pub(super) series: Vec<CapturedSeries>,
    /// The requested trial.
    pub(super) trial: Trial,
    /// Median of the frames' own times between driver and application in ns, where every frame has every stage.
    pub(super) inside_ns: Option<f64>,
    /// How far rounding may have moved the figures.
    pub(super) rounding: Rounding,
}

/// A captured series.
#[derive(Clone, Debug)]
pub(super) struct CapturedSeries {
    pub(super) name: SeriesName,
    pub(super) mean_ns: f64,
    pub(super) sigma_ns: f64,
    pub(super) samples: u64,
    /// The body of its samples, where its name is that of a stage.
    pub(super) body: Option<Body>,
    /// Whether a document printed it.
    pub(super) printed: bool,
}

/// Everything that can be fitted.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) points: Vec<FitPoint>,
    pub(super) setup: BTreeMap<String, String>,
    pub(super) node: String,
    /// Most ports and largest frame of the trials.
    pub(super) ports: u32,
    pub(super) max_frame_bytes: u32,
    pub(super) link_bits_per_s: Option<u64>,
    /// Reasons for leaving something out, each with its count.
    pub(super) left_out: BTreeMap<String, usize>,
    /// Observations with a figure that was not measured.
    pub(super) not_measured: usize,
}

impl Gathered {
    /// Adds the link of a trial, and the set-up of its node.
    fn add_setting(&mut self, o: &Observation, link: Option<LineRate>) {
        self.link_bits_per_s = self.link_bits_per_s.or(link.map(LineRate::bits_per_s));
        self.ports = self.ports.max(o.trial.ports);
        self.max_frame_bytes = self.max_frame_bytes.max(o.sizes.frame);
        for (key, value) in o.node.setup.iter().filter(|(key, _)| *key != HOST) {
            self.setup
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        let kinds = o.flows.iter().map(|f| f.frames_per_s.kind());
        if kinds
            .chain([o.cpu_load.kind()])
            .flatten()
            .any(|k| k != Kind::Measured)
        {
            self.not_measured += 1;
        }
    }

    pub(super) fn leave_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }
}

/// Sorts observations into what can be fitted and what cannot.
///
/// # Errors
/// [`FitError`] where there are too many, or they are of several nodes and none was chosen.
pub(super) fn gather(
    observations: &[Observation],
    options: &FitOptions,
) -> Result<Gathered, FitError> {
    if observations.len() > MAX_OBSERVATIONS {
        return Err(FitError::TooMany {
            have: observations.len(),
            most: MAX_OBSERVATIONS,
        });
    }
    let chosen = |o: &&Observation| options.node.as_ref().is_none_or(|n| *n == o.node.name);
    let of_node: Vec<&Observation> = observations.iter().filter(chosen).collect();
    let mut names: Vec<&str> = of_node.iter().map(|o| o.node.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > 1 {
        return Err(FitError::SeveralNodes {
            names: names.iter().take(8).map(|n| (*n).to_owned()).collect(),
        });
    }
    let mut gathered = Gathered {
        node: names.first().copied().unwrap_or_default().to_owned(),
        ..Gathered::default()
    };
    let rounding = rounding_of(observations, options, chosen);
    for ((observation, thin), rounding) in of_node.iter().zip(thin(&of_node)).zip(rounding) {
        match point(observation, &thin, &mut gathered) {
            Ok(point) => gathered.points.push(FitPoint { rounding, ..point }),
            Err(why) => gathered.leave_out(why),
        }
    }
    Ok(gathered)
}

/// The rounding of each observation that is fitted.
fn rounding_of<'a>(
    observations: &'a [Observation],
    options: &'a FitOptions,
    chosen: impl Fn(&&Observation) -> bool + 'a,
) -> impl Iterator<Item = Rounding> + 'a {
    let given = options
        .rounding
        .iter()
        .copied()
        .chain(std::iter::repeat(Rounding::default()));
    let each = observations.iter().zip(given);
    each.filter(move |(o, _)| chosen(o))
        .map(|(_, rounding)| rounding)
}

/// Whether the trial shows the time of receiving, and not that of transmitting; the error says why it shows neither.
fn is_of_receiver(o: &Observation) -> Result<bool, String> {
    match o.status {
        Status::Complete => {}
        Status::Partial { .. } => return Err("partial: the trial ended early".to_owned()),
        Status::Void { .. } => return Err("void: the trial has no usable figures".to_owned()),
    }
    if let Some(why) = unusable(o) {
        return Err(why.to_owned());
    }
    if !o.trial.faults.is_clean() {
        return Err("the sender made faults on purpose".to_owned());
    }
    if o.trial.background.is_some() {
        return Err("other traffic beside the flow: the times include its effect".to_owned());
    }
    match o.trial.direction {
        Direction::Transmit => Ok(false),
        Direction::Receive => Ok(true),
        both => Err(format!(
            "direction {both}: only transmit and receive are fitted"
        )),
    }
}

fn point(
    o: &Observation,
    thin: &SparseStages,
    gathered: &mut Gathered,
) -> Result<FitPoint, String> {
    let receive = is_of_receiver(o)?;
    let bytes = o.sizes.datagram.unwrap_or(o.sizes.length);
    if bytes == 0 || bytes > MAX_BYTES {
        return Err(format!("a size of 0, or of more than {MAX_BYTES} bytes"));
    }
    let frames_per_s = total_frames_per_s(o)?;
    let delays = delays(o);
    let series = series(o, &delays, thin);
    if frames_per_s.is_none() && series.is_empty() {
        return Err("neither frames/s nor a series of times".to_owned());
    }
    let bits_per_s = o
        .trial
        .link_bits_per_s
        .or(o.node.capabilities.link_bits_per_s);
    let link = bits_per_s.and_then(LineRate::new);
    if o.flows
        .iter()
        .any(|f| f.loss_ratio.value().is_some_and(|l| !is_share(*l)))
    {
        return Err("a loss ratio outside 0 to 1".to_owned());
    }
    gathered.add_setting(o, link);
    let named = series.iter().any(|c| c.body.is_some());
    let load = match cpu_load(o, gathered) {
        Some(_) if named => {
            gathered.leave_out(
                "CPU load of a trial that took stages: the cost of taking them is in it",
            );
            None
        }
        load => load,
    };
    let flows = o.flows.len();
    Ok(FitPoint {
        key: PathKey::of(&o.trial, receive),
        bytes: f64::from(bytes),
        label: format!("{bytes} B at {}", o.trial.load),
        frames_per_s,
        offered_frames_per_s: offered(o, link),
        line_frames_per_s: link.map(|l| l.frames_per_s(&o.sizes) * flows as f64),
        flows,
        counted: o.trial.framing.layer == Layer::Ethernet
            || o.flows.iter().all(|f| f.counts.value().is_some()),
        max_load: o.trial.load == wirelab_trial::Load::Max,
        tester_was_limit: tester_was_limit(o),
        loss_ratio: loss_ratio(o),
        loss_is_a_range: o.flows.iter().any(|f| f.loss_ratio_at_most.is_some()),
        sent_frames: o
            .flows
            .iter()
            .map(|f| f.sent_frames.value().copied())
            .sum::<Option<u64>>(),
        load,
        series,
        inside_ns: body::inside_ns(&delays, receive),
        trial: o.trial.clone(),
        rounding: Rounding::default(),
    })
}

/// Frames/s that the sender achieved, else the requested ones.
fn offered(o: &Observation, link: Option<LineRate>) -> Option<f64> {
    let requested = o
        .trial
        .load
        .frames_per_s(&o.sizes, o.trial.framing.layer, link);
    let requested = requested.ok().flatten();
    let of = |f: &wirelab_trial::FlowObservation| {
        let sender = f.sender.value();
        sender
            .and_then(|s| s.achieved_frames_per_s.value().copied())
            .or(requested)
    };
    let total: f64 = o.flows.iter().map(of).sum::<Option<f64>>()?;
    (total > 0.0 && total <= MAX_FRAMES_PER_S).then_some(total)
}

/// What is wrong with a figure, worded so that equal faults give equal texts.
fn odd(x: f64, most: f64) -> String {
    match x {
        _ if x.is_nan() => "is not a number".to_owned(),
        _ if x.is_infinite() => "is infinite".to_owned(),
        _ if x <= 0.0 => "is not above 0".to_owned(),
        _ => format!("is above {most}"),
    }
}

fn is_share(x: f64) -> bool {
    (0.0..=1.0).contains(&x)
}

/// Frames/s of all flows together; `None` where one of them has none.
fn total_frames_per_s(o: &Observation) -> Result<Option<f64>, String> {
    let mut total = 0.0;
    for flow in &o.flows {
        let goodput = flow.goodput_bits_per_s.value();
        let rate = match (flow.frames_per_s.value(), goodput, o.sizes.datagram) {
            (Some(rate), _, _) => *rate,
            // A peer that counts only bytes: iperf reports application bits.
            (None, Some(bits), Some(datagram)) => bits / 8.0 / f64::from(datagram),
            _ => return Ok(None),
        };
        if !(rate > 0.0 && rate <= MAX_FRAMES_PER_S) {
            return Err(format!("frames/s {}", odd(rate, MAX_FRAMES_PER_S)));
        }
        total += rate;
    }
    Ok((!o.flows.is_empty()).then_some(total))
}

fn cpu_load(o: &Observation, gathered: &mut Gathered) -> Option<CpuLoad> {
    let load = *o.cpu_load.value()?;
    if let Some(why) = useless_load(&load) {
        gathered.leave_out(why);
        return None;
    }
    if !is_share(load.busy_ratio) {
        gathered.leave_out(format!("CPU load busy_ratio {}", odd(load.busy_ratio, 1.0)));
        return None;
    }
    Some(load)
}

fn loss_ratio(o: &Observation) -> Option<f64> {
    let of = |f: &wirelab_trial::FlowObservation| {
        f.loss_ratio.value().copied().or_else(|| {
            let lost = f.counts.value()?.lost_frames as f64;
            let sent = *f.sent_frames.value()? as f64;
            (sent > 0.0).then_some((lost / sent).min(1.0))
        })
    };
    let ratios: Option<Vec<f64>> = o.flows.iter().map(of).collect();
    ratios.map(|r| r.iter().sum::<f64>() / r.len() as f64)
}

/// Stages first, then series of other names.
fn series(o: &Observation, delays: &[Delay], thin: &SparseStages) -> Vec<CapturedSeries> {
    let all = o
        .series
        .iter()
        .chain(o.flows.iter().flat_map(|f| &f.series));
    let others = all.filter(|s| !stage::is_stage(s) && is_time(s));
    let mut all = steps(delays, thin);
    all.extend(others.filter_map(in_ns));
    all.truncate(MAX_SERIES);
    all
}

/// The stages whose times an observation has, and sums of several stages; empty for a trial without probes, which only shows
/// the cost of the probes.
fn delays(o: &Observation) -> Vec<Delay> {
    match o.trial.probes {
        Some(Probes::Off) => Vec::new(),
        _ => stage::every_delay_of(o),
    }
}

/// Whether a series is the time of a frame, not of a whole run and not the spacing at a probe.
fn is_time(series: &Series) -> bool {
    !series.is_of_runs() && series.probe().is_none() && !is_round_trip(&series.name)
}

pub(super) fn in_ns(series: &Series) -> Option<CapturedSeries> {
    let tick_ns = series.clock.tick_ps? as f64 / 1e3;
    let h = &series.histogram;
    let (mean_ns, sigma_ns) = (h.mean_ticks * tick_ns, h.stddev_ticks * tick_ns);
    let sound = mean_ns.is_finite() && mean_ns > 0.0 && sigma_ns.is_finite() && sigma_ns >= 0.0;
    (sound && h.count > 0).then(|| CapturedSeries {
        name: series.name.clone(),
        mean_ns,
        sigma_ns,
        samples: h.count,
        printed: series.kind == Kind::Published,
        // A printed mean has no samples to separate its body from its tail.
        body: series
            .points()
            .filter(|_| series.kind != Kind::Published)
            .and_then(|_| Body::of(series)),
    })
}

impl Gathered {
    /// What was left out, for the reader.
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        let each = self.left_out.iter().map(|(why, count)| LeftOut {
            why: why.clone(),
            count: *count,
        });
        each.collect()
    }

    /// The available data, for a refusal.
    pub(super) fn in_words(&self, observations: usize, report: &Report) -> String {
        let mut parts = vec![format!(
            "{}, {} of them usable",
            format::count(observations as u64, "observation"),
            self.points.len()
        )];
        parts.extend(report.too_few.iter().cloned());
        parts.extend(
            self.left_out
                .iter()
                .map(|(why, n)| format!("left out {n}: {why}")),
        );
        parts.join("; ")
    }
}

/// The points where a stage begins and ends.
type StageEnds = (String, String);

/// The stages that few frames of a trial have.
pub(super) type SparseStages = BTreeSet<StageEnds>;

/// For each observation the stages that less than half of its trial's frames have, counted over all of its blocks, so
/// that blocks of one trial have the same stages.
pub(super) fn thin(observations: &[&Observation]) -> Vec<SparseStages> {
    let mut groups: Vec<(&Observation, BTreeMap<StageEnds, u64>)> = Vec::new();
    let mut group_of = Vec::new();
    for o in observations {
        let at = groups.iter().position(|(first, _)| first.trial == o.trial);
        let at = at.unwrap_or(groups.len());
        if at == groups.len() {
            groups.push((o, BTreeMap::new()));
        }
        for delay in every_delay_of(o).iter().filter(|d| !d.figures.cumulated) {
            let sum = groups[at].1.entry(ends(delay)).or_default();
            *sum = sum.saturating_add(delay.figures.count);
        }
        group_of.push(at);
    }
    let thin = |counts: &BTreeMap<StageEnds, u64>| -> SparseStages {
        let most = counts.values().copied().max().unwrap_or(0);
        let few = counts.iter().filter(|(_, n)| n.saturating_mul(2) < most);
        few.map(|(ends, _)| ends.clone()).collect()
    };
    let all: Vec<SparseStages> = groups.iter().map(|(_, counts)| thin(counts)).collect();
    group_of.into_iter().map(|at| all[at].clone()).collect()
}

fn ends(delay: &Delay) -> StageEnds {
    (delay.figures.from.clone(), delay.figures.to.clone())
}

/// The stages in order; consecutive thin ones become one.
pub(super) fn steps(delays: &[Delay], thin: &SparseStages) -> Vec<CapturedSeries> {
    let steps: Vec<&Delay> = delays.iter().filter(|d| !d.figures.cumulated).collect();
    let is_thin = |d: &Delay| thin.contains(&ends(d));
    let mut out = Vec::new();
    for run in steps.chunk_by(|a, b| is_thin(a) && is_thin(b)) {
        match run {
            [first, .., last] | [first @ last] if is_thin(first) => {
                out.extend(together(delays, &steps, (first, last)));
            }
            _ => out.extend(run.iter().filter_map(|d| in_ns(&d.series))),
        }
    }
    out
}

/// The time of consecutive stages together, from `first` to `last`: measured for each frame, else the difference of medians,
/// from a common beginning or to a common end.
fn together(
    delays: &[Delay],
    steps: &[&Delay],
    (first, last): (&Delay, &Delay),
) -> Option<CapturedSeries> {
    let (from, to) = (&first.figures.from, &last.figures.to);
    let is_it = |d: &&Delay| (&d.figures.from, &d.figures.to) == (from, to) && d.figures.cumulated;
    if let Some(taken) = delays.iter().find(is_it) {
        return in_ns(&taken.series);
    }
    let (begin, end) = (&steps.first()?.figures.from, &steps.last()?.figures.to);
    let median_ns = |from: &String, to: &String| -> Option<f64> {
        if from == to {
            return Some(0.0);
        }
        let is = |d: &&Delay| (&d.figures.from, &d.figures.to) == (from, to);
        let found = delays.iter().find(is)?;
        Some(found.figures.median_ticks as f64 * found.figures.tick_ps? as f64 / 1e3)
    };
    let up_to = || Some(median_ns(begin, to)? - median_ns(begin, from)?);
    let from_on = || Some(median_ns(from, end)? - median_ns(to, end)?);
    let median_ns = up_to().or_else(from_on)?.max(0.0);
    Some(CapturedSeries {
        name: SeriesName::stage(from.as_str(), to.as_str()),
        mean_ns: median_ns,
        sigma_ns: 0.0,
        samples: first.figures.count,
        printed: false,
        body: Some(Body {
            median_ns,
            sigma_ns: 0.0,
            stderr: None,
            tail: 0,
            kept: 0,
        }),
    })
}
