//! Latency at capture points, the time of each stage, and what samplers see.

use wirelab_trial::{
    Cancel, Clock, ClockKind, Extent, FlowObservation, Kind, Load, NodeError, Owner,
    PercentileIntervals, Series, SeriesBuilder, Trial,
};

use super::{SEED, Subject, flow};
use crate::build::{BuildError, ChainInfo, Instance, Probe};
use crate::file::NodeFile;
use crate::net::Trigger;
use crate::sim::{Ask, Edge, Watch, simulate};

/// Frames whose latency is taken: four times as many as in the Zynq document, so that the mean is good to its digits.
pub const SAMPLES: u64 = 2_048;

/// A model's clock: exact to the picosecond.
const CLOCK: Clock = Clock {
    kind: ClockKind::Simulated,
    tick_ps: Some(1),
    resolution_ticks: 1,
    owner: Owner::Node,
};

/// Add to each flow the latency at each of its capture points, and the time of each of its stages from the end of the
/// one before, so that they add up.
///
/// # Errors
/// Where the net does not move.
pub fn add(
    subject: &Subject<'_>,
    flows: &mut [FlowObservation],
    cancel: &Cancel,
) -> Result<(), NodeError> {
    if subject.instance.chains.iter().all(|c| c.points.is_empty()) {
        return Ok(());
    }
    let alone = alone(subject.file, subject.trial, subject.instance, SAMPLES)?;
    let instance = alone.as_ref().unwrap_or(subject.instance);
    let watches: Vec<Vec<(String, Watch)>> = instance
        .chains
        .iter()
        .map(|chain| watches(instance, chain))
        .collect();
    let ask = Ask {
        seed: SEED,
        watches: watches.iter().flatten().map(|w| w.1).collect(),
        cancel: cancel.clone(),
        ..Ask::frames(&instance.net, SAMPLES)
    };
    let run =
        simulate(&instance.net, &ask).map_err(|error| NodeError::Failed(error.to_string()))?;
    let mut samples = run.samples.iter();
    for (flow, watches) in flows.iter_mut().zip(&watches) {
        for ((name, watch), samples) in watches.iter().zip(&mut samples) {
            let kind = match subject.is_quoted(watch) {
                true => Kind::Published,
                false => subject.kind("latency", Some(name)),
            };
            let mut series = SeriesBuilder::new(name.clone(), CLOCK, SEED);
            samples.kept_ps.iter().for_each(|ps| series.push(*ps));
            flow.series.push(Series {
                kind,
                intervals: PercentileIntervals::default(),
                ..series.finish()
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
fn watches(instance: &Instance, chain: &ChainInfo) -> Vec<(String, Watch)> {
    let points = chain.points.iter().map(|point| {
        let watch = Watch {
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
        (format!("stage {name}"), Watch { from, to })
    });
    points.chain(stages).collect()
}

/// The spacing of frames that a sampler sees, in whole ticks of its clock.
pub fn spacing(subject: &Subject<'_>, chain: usize, probe: usize) -> Option<Series> {
    let what: &Probe = &subject.instance.chains[chain].probes[probe];
    let tick_ps = what.tick_ps.round().max(1.0) as u64;
    let clock = Clock {
        tick_ps: Some(tick_ps),
        ..CLOCK
    };
    let seen: Vec<u64> = flow::instants(subject.run, what.at)
        .iter()
        .map(|ps| (*ps as f64 / what.tick_ps).floor() as u64)
        .collect();
    let mut series = SeriesBuilder::new(format!("spacing: {}", what.name), clock, SEED);
    // The first half fills buffers.
    let steady = &seen[seen.len() / 2..];
    steady.windows(2).for_each(|w| series.push(w[1] - w[0]));
    let kind = subject.kind("spacing", Some(&what.name));
    (steady.len() > 1).then(|| Series {
        kind,
        intervals: PercentileIntervals::default(),
        ..series.finish()
    })
}
