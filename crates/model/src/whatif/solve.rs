//! What a node does in one trial: the closed form where it is exact, else a short simulation.

use wirelab_trial::explanation::Basis;
use wirelab_trial::whatif::{PointLatency, WhatifFigures};
use wirelab_trial::{Layer, Trial};

use crate::build::{BuildError, Instance};
use crate::file::NodeFile;
use crate::net::Trigger;
use crate::predict;
use crate::sim::{Ask, FrameTimes, KEPT_MAX, Run, simulate};
use crate::steady::{Steady, steady_state};

use super::{latency, limit};

/// Seed of everything that scatters: the same for each change, so that they are compared like with like.
pub(crate) const SEED: u64 = 1;
/// Frames of each flow that are simulated: 64 buffers that fill at a hundredth of the load are full by then, and overload is seen.
const FRAMES: u64 = 16_384;

/// A net and what came of it.
#[derive(Debug)]
pub struct Solved {
    pub instance: Instance,
    pub steady: Steady,
    pub figures: WhatifFigures,
}

/// What `file` does in `trial`.
pub fn solve(file: &NodeFile, trial: &Trial) -> Result<Solved, BuildError> {
    let instance = file.instance(trial)?;
    let failed = |error: &dyn std::fmt::Display| BuildError::Model(error.to_string());
    let steady = steady_state(&instance.net).map_err(|e| failed(&e))?;
    let rates = if steady.exact {
        exactly(&instance, &steady)
    } else {
        let run = simulate(&instance.net, &ask(&instance)).map_err(|e| failed(&e))?;
        simulated(&instance, &run)
    };
    let points = latency::points(file, trial, &instance)?;
    let kind = |metric: &str, point: Option<&str>| predict::kind(file, trial, metric, point);
    let sizes = instance.resolved.sizes;
    let bytes = match (trial.framing.layer, sizes.datagram) {
        (Layer::Ethernet, _) | (_, None) => sizes.payload,
        (_, Some(datagram)) => datagram,
    };
    let figures = WhatifFigures {
        frames_per_s: rates.frames_per_s,
        bits_per_s: rates.frames_per_s * 8.0 * f64::from(bytes),
        kind: kind("time", None),
        loss_ratio: rates.loss_ratio,
        cpu_load_ratio: rates.cpu_load_ratio,
        cpu_load_kind: kind("cpu_load", None),
        latency: points
            .into_iter()
            .map(|(point, mean_ps)| PointLatency {
                kind: kind("latency", Some(&point)),
                point,
                mean_ps,
            })
            .collect(),
        basis: if steady.exact {
            Basis::ClosedForm
        } else {
            Basis::Simulation
        },
        limited_by: limit::words(&instance, &steady.critical),
    };
    Ok(Solved {
        instance,
        steady,
        figures,
    })
}

struct Rates {
    frames_per_s: f64,
    loss_ratio: f64,
    cpu_load_ratio: Option<f64>,
}

fn exactly(instance: &Instance, steady: &Steady) -> Rates {
    let of_chain = |chain: usize| {
        steady.chains[chain]
            .as_ref()
            .map_or(0.0, |c| c.period().per_s())
    };
    let chains = instance.chains.iter().enumerate();
    let load = cpu_load(instance, |resource| {
        let stages = chains.clone().flat_map(|(chain, info)| {
            let rate = of_chain(chain);
            info.stages.iter().map(move |stage| (*stage, rate))
        });
        let held =
            stages.filter(|(stage, _)| instance.net.stages[*stage].resource == Some(resource));
        held.map(|(stage, rate)| instance.net.stages[stage].cost_ps as f64 * rate / 1e12)
            .sum()
    });
    Rates {
        frames_per_s: chains.clone().map(|(chain, _)| of_chain(chain)).sum(),
        loss_ratio: 0.0,
        cpu_load_ratio: load,
    }
}

/// The CPU load: what the idle node has, and the share of time its resource is held.
fn cpu_load(instance: &Instance, busy_ratio: impl Fn(usize) -> f64) -> Option<f64> {
    if instance.chains.iter().any(|chain| chain.busy_wait) {
        return Some(1.0);
    }
    let load = instance.chains.iter().find_map(|c| c.load.as_ref())?;
    Some((load.idle_ratio + busy_ratio(load.resource)).min(1.0))
}

fn ask(instance: &Instance) -> Ask {
    // Rings must fill up, and bursts come often enough, before a steady state is seen.
    Ask {
        seed: SEED,
        frames_kept: FRAMES as usize,
        firings_kept: KEPT_MAX,
        ..Ask::frames(&instance.net, FRAMES)
    }
}

/// Rates of the second half of the simulated time, in which every flow still goes on.
fn simulated(instance: &Instance, run: &Run) -> Rates {
    let ends = run
        .chains
        .iter()
        .map(|chain| chain.last_end_ps.unwrap_or(0));
    let until = ends.filter(|end| *end > 0).min().unwrap_or(0);
    let (mut rate, mut offered, mut lost) = (0.0, 0.0, 0.0);
    for (chain, info) in run.chains.iter().zip(&instance.chains) {
        let half = chain.offered / 2;
        let seen = chain.frames.iter().filter(|frame| frame.id >= half).count() as f64;
        let sent = (chain.offered - half) as f64;
        let loss_ratio = if sent > 0.0 {
            (1.0 - seen / sent).max(0.0)
        } else {
            0.0
        };
        let arriving = info
            .source
            .and_then(|stage| match instance.net.stages[stage].trigger {
                Trigger::Arrivals(arrivals) => Some(arrivals.frames_per_s),
                _ => None,
            });
        let through = match arriving {
            // Frames that pile up without loss come out slower than they come in.
            Some(arriving) => {
                (arriving * (1.0 - loss_ratio)).min(held_back(&chain.frames, until, arriving))
            }
            None => slope_per_s(&chain.frames, until),
        };
        rate += through;
        offered += sent;
        lost += loss_ratio * sent;
    }
    Rates {
        frames_per_s: rate,
        loss_ratio: if offered > 0.0 { lost / offered } else { 0.0 },
        cpu_load_ratio: cpu_load(instance, |resource| {
            predict::flow::busy_while_offered(&instance.net, run, resource)
        }),
    }
}

/// The rate at which frames leave, where that is clearly less than the rate at which they arrive; else infinite.
fn held_back(frames: &[FrameTimes], until: u64, arriving_per_s: f64) -> f64 {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return f64::INFINITY;
    };
    let delay = |frame: &FrameTimes| frame.end_ps.saturating_sub(frame.start_ps) as f64;
    // The last frame waits for a tenth of the whole time longer than the first.
    let grew = delay(last) - delay(first) > 0.1 * frames.len() as f64 * 1e12 / arriving_per_s;
    if grew {
        slope_per_s(frames, until)
    } else {
        f64::INFINITY
    }
}

/// Frames/s that leave in the second half before `until`: the least-squares line through their ends, so that frames
/// that leave in batches do not blur it.
fn slope_per_s(frames: &[FrameTimes], until: u64) -> f64 {
    let inside: Vec<f64> = frames
        .iter()
        .map(|frame| frame.end_ps)
        .filter(|end| (until / 2..=until).contains(end))
        .map(|end| end as f64)
        .collect();
    let n = inside.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean_end = inside.iter().sum::<f64>() / n;
    let mean_at = (n - 1.0) / 2.0;
    let (mut product, mut square) = (0.0, 0.0);
    for (at, end) in inside.iter().enumerate() {
        let at = at as f64 - mean_at;
        product += at * (end - mean_end);
        square += at * at;
    }
    if product > 0.0 {
        1e12 * square / product
    } else {
        0.0
    }
}
