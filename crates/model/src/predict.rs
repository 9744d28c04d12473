//! Predicts a trial: the observation, with predicted figures.
//!
//! Rates of a net with a closed form are from its maximum cycle ratio; everything else is simulated, with the frames of
//! the trial or a bounded number, from which a longer trial is extrapolated at the same rate. Latency is that of one
//! frame at a time, unless the trial gives a load.

pub(crate) mod flow;
mod uncertain;

use std::collections::BTreeMap;

use wirelab_trial::{
    Cancel, CpuLoad, Description, Direction, Extent, Field, FlowObservation, Kind, Load, NodeError,
    Observation, Status, TesterObservation, Trial, Warning, WarningCode,
};

use crate::build::{Instance, choose};
use crate::file::{CalibratedMetric, Cost, NodeFile, Provenance};
use wirelab_sim::net::{OnMissing, Trigger};
use wirelab_sim::sim::{EdgeTimer, SimRequest, SimResult, simulate};
use wirelab_sim::steady::{Steady, steady_state};

/// Frames of each chain that are simulated where a closed form gives the rate.
pub const EXACT_FRAMES: u64 = 4_096;
/// Frames of each chain to simulate where the trial names no number.
pub const MOST_FRAMES: u64 = 65_536;
/// A node keeps up if it passes on this share of the frames that arrive and are not lost.
const KEEPS_UP: f64 = 0.98;
/// Seed of everything that scatters.
pub const SEED: u64 = 1;

/// Why figures of a real run are absent.
pub(crate) const NO_FRAMES: &str = "a model moves no frames";

/// Predicts `trial` on the node in `file`, with the intervals that the uncertainty of its parameters gives.
///
/// # Errors
/// [`NodeError`] where the node cannot do the trial, or its net cannot run.
pub fn predict(
    file: &NodeFile,
    trial: &Trial,
    node: Description,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    let mut observation = without_intervals(file, trial, node, cancel)?;
    uncertain::add(file, trial, &mut observation, cancel);
    Ok(observation)
}

/// As [`predict`], without intervals, which cost two predictions for each cause of uncertainty.
///
/// # Errors
/// As of [`predict`].
pub fn without_intervals(
    file: &NodeFile,
    trial: &Trial,
    node: Description,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    sampled(file, trial, node, flow::SAMPLES, cancel)
}

/// As [`without_intervals`], with this number of samples of each latency.
fn sampled(
    file: &NodeFile,
    trial: &Trial,
    node: Description,
    samples: u64,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    let instance = file.instance(trial)?;
    let failed = |why: &dyn std::fmt::Display| NodeError::Failed(format!("{}: {why}", file.name));
    let steady = steady_state(&instance.net).map_err(|e| failed(&e))?;
    let ask = flow::ask(&instance, &steady, cancel);
    let run = simulate(&instance.net, &ask).map_err(|e| failed(&e))?;
    let subject = Subject {
        file,
        trial,
        instance: &instance,
        steady: &steady,
        ask: &ask,
        run: &run,
    };
    let mut flows = Vec::new();
    for chain in 0..instance.chains.len() {
        flows.push(flow::flow(&subject, chain));
    }
    let piled_up = (0..flows.len()).filter_map(|chain| piled_up(&subject, chain, &flows[chain]));
    let ideal = (0..flows.len()).filter_map(|chain| ideal_server(&subject, chain));
    let warnings = warnings(&instance)
        .into_iter()
        .chain(piled_up)
        .chain(ideal)
        .collect();
    flow::add_latencies(&subject, &mut flows, samples, cancel).map_err(|e| failed(&e))?;
    Ok(Observation {
        trial: trial.clone(),
        sizes: instance.resolved.sizes,
        node,
        status: Status::Complete,
        started_unix_ns: Field::absent("a model runs in no time"),
        flows,
        cpu_load: cpu_load(&subject),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::new(
            Field::absent("a model needs no tester"),
            Field::absent("a model needs no tester"),
        ),
        warnings,
    })
}

/// A trial, its net, and its result.
pub(crate) struct Subject<'a> {
    pub file: &'a NodeFile,
    pub trial: &'a Trial,
    pub instance: &'a Instance,
    pub steady: &'a Steady,
    pub ask: &'a SimRequest,
    pub run: &'a SimResult,
}

impl Subject<'_> {
    /// Calibrated if the model was calibrated from this metric of this trial, else predicted.
    pub fn kind(&self, metric: CalibratedMetric, point: Option<&str>) -> Kind {
        kind(self.file, self.trial, metric, point)
    }

    /// Whether a watch only returns a figure of a document, so that nothing is computed: it spans one stage that waits
    /// for nothing and whose cost is constants with a source.
    pub fn is_quoted(&self, watch: &EdgeTimer) -> bool {
        let (from, to) = (watch.from, watch.to);
        let Some(stage) = (from.0 == to.0 && from.1 != to.1)
            .then(|| self.instance.net.stages.get(from.0))
            .flatten()
            .and_then(|stage| self.file.stages.get(&stage.name))
        else {
            return false;
        };
        let quoted = |cost: &Cost| match cost {
            Cost::Constant { parameter } => self
                .file
                .parameters
                .get(parameter)
                .is_some_and(|p| matches!(p.provenance, Provenance::Source(_))),
            _ => false,
        };
        let constant = stage.resource.is_none() && stage.spread.is_none() && stage.scale == 1.0;
        constant && !stage.cost.is_empty() && stage.cost.iter().all(quoted)
    }
}

/// Calibrated if the node file was calibrated from this metric of the trial, else predicted.
pub(crate) fn kind(
    file: &NodeFile,
    trial: &Trial,
    metric: CalibratedMetric,
    point: Option<&str>,
) -> Kind {
    let trial = &file.with_set(trial);
    let paths = |trial: &Trial| choose(file, trial).ok();
    let link = |trial: &Trial| {
        let own = file
            .link
            .as_ref()
            .and_then(|name| file.link_rate(name).ok());
        trial.link().or(own)
    };
    // At full speed a latency is that of one frame at a time, as in its calibration.
    let one_at_a_time = metric == CalibratedMetric::Latency && trial.load == Load::Max;
    let alike = |other: &Trial| {
        other.framing == trial.framing
            && other.direction == trial.direction
            // The same frame, in whichever unit its size was given.
            && other.sizes().is_ok_and(|sizes| trial.sizes() == Ok(sizes))
            && (other.load == trial.load || one_at_a_time)
            && other.ports == trial.ports
            && link(other) == link(trial)
            // The same buffers, whether named or chosen by default.
            && paths(other) == paths(trial)
    };
    let calibrated = file.is_as_read()
        && file.calibrations.values().any(|c| {
            c.trial.as_ref().is_some_and(alike)
                && c.metric == Some(metric)
                && (point.is_none() || c.point.is_none() || c.point.as_deref() == point)
        });
    if calibrated {
        Kind::Calibrated
    } else {
        Kind::Predicted
    }
}

/// The busy share of the CPU over the simulated time, added to the idle load.
fn cpu_load(subject: &Subject<'_>) -> Field<CpuLoad> {
    let kind = subject.kind(CalibratedMetric::CpuLoad, None);
    let value = |busy_ratio: f64, idle_baseline_ratio| Field::Observed {
        value: CpuLoad {
            busy_ratio: busy_ratio.min(1.0),
            idle_baseline_ratio: Some(idle_baseline_ratio),
            shared: false,
            interval: None,
        },
        kind,
    };
    let chains = &subject.instance.chains;
    if chains.iter().any(|c| c.limit_unknown && c.source.is_none()) {
        return Field::absent(flow::UNLIMITED);
    }
    if chains.iter().any(|c| c.busy_wait) {
        return value(1.0, 0.0);
    }
    let Some(load) = chains.iter().find_map(|c| c.load.as_ref()) else {
        return Field::absent("the model does not say which resource is the CPU on this path");
    };
    let busy = flow::busy_ratio(subject, load.resource);
    value(load.idle_ratio + busy, load.idle_ratio)
}

fn warnings(instance: &Instance) -> Vec<Warning> {
    let sent = instance.resolved.sizes.datagram.unwrap_or(0);
    let raised = instance.raised_from.map(|requested| Warning::new(WarningCode::DATAGRAM_RAISED, format!("the test tool sends datagrams of {sent} bytes where {requested} were requested"), format!(
            "read the figures as those of {sent}-byte datagrams, or set the tool's smallest datagram to 0 with --set"
        )));
    raised.into_iter().collect()
}

/// Warns where frames arrive faster than they leave and none is lost: the model has no limit for the queue.
fn piled_up(subject: &Subject<'_>, chain: usize, flow: &FlowObservation) -> Option<Warning> {
    let (trial, info) = (subject.trial, &subject.instance.chains[chain]);
    let from_outside = matches!(info.direction, Direction::Receive | Direction::Echo);
    // TCP holds its peer back, and a fixed number of frames ends.
    if !from_outside
        || trial.framing.layer.is_tcp()
        || matches!(trial.extent, Extent::Frames { .. })
    {
        return None;
    }
    let Trigger::Arrivals(arrivals) = subject.instance.net.stages[info.source?].trigger else {
        return None;
    };
    let lost = flow.loss_ratio.value().copied().unwrap_or(0.0);
    let (through, rate) = (
        arrivals.frames_per_s * (1.0 - lost),
        *flow.frames_per_s.value()?,
    );
    (rate < KEEPS_UP * through).then(|| Warning::new(WarningCode::PILES_UP, format!(
            "of {through:.0} frames/s that arrive and are not lost, {rate:.0} leave: the rest queue up where the model has no limit"
        ), format!(
            "read the loss as at least {:.2} % in a long run, or offer less",
            100.0 * (1.0 - rate / arrivals.frames_per_s)
        )))
}

/// Warns where a chain loses frames and the model lets no other work preempt the stage that serves them: it continues at
/// its highest rate, and a real node may not (J. Mogul, K. K. Ramakrishnan: Eliminating Receive Livelock in an
/// Interrupt-Driven Kernel, ACM TOCS 15 (3), 1997).
fn ideal_server(subject: &Subject<'_>, chain: usize) -> Option<Warning> {
    let net = &subject.instance.net;
    let stages = || {
        net.chains[chain]
            .stages
            .iter()
            .map(|stage| &net.stages[*stage])
    };
    if subject.run.chains[chain].lost == 0 {
        return None;
    }
    let starves = |at: usize| {
        let mut before = stages().take(at).filter(|stage| stage.resource.is_some());
        before.any(|first| {
            let mut behind = stages().skip(at);
            behind.any(|last| last.resource == first.resource && first.priority < last.priority)
        })
    };
    let mut all = stages().enumerate();
    let starves = all.any(|(at, stage)| stage.on_missing == OnMissing::Drop && starves(at));
    (!starves).then(|| {
        Warning::new(
            WarningCode::IDEAL_SERVER,
            "the model is an ideal server above saturation: it loses what it cannot serve, and continues at its highest rate",
            "read the rate and the loss as the best case; a stage of the interrupt's work with a lower priority before a \
             queue that drops models receive livelock (docs/nodes/README.md, Overload)",
        )
    })
}
