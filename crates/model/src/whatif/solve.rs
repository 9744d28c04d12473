//! Solves one trial: in closed form where that is exact, else by a short simulation.

use wirelab_trial::explanation::Basis;
use wirelab_trial::whatif::{PointLatency, WhatifFigures};
use wirelab_trial::{Direction, Layer, Load, Trial};

use crate::build::{BuildError, ChainInfo, Instance, LatencySpan};
use crate::explain;
use crate::file::{CalibratedMetric, Edge, NodeFile};
use crate::predict;
use crate::predict::flow::alone;
use wirelab_sim::net::{Net, Spread, Trigger};
use wirelab_sim::sim::{EdgeTimer, FrameTimes, KEPT_MAX, SimRequest, SimResult, simulate};
use wirelab_sim::steady::{Steady, steady_state};

/// Seed of the random numbers, the same for each change, so that comparisons are fair.
pub(crate) const SEED: u64 = 1;
/// Simulated frames of each flow: enough to fill 64 buffers at a hundredth of the load and to show overload.
const FRAMES: u64 = 16_384;

/// A net and its result.
#[derive(Debug)]
pub struct Solved {
    pub instance: Instance,
    pub steady: Steady,
    pub figures: WhatifFigures,
}

/// Solves `trial` on `file`.
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
    let points = points(file, trial, &instance)?;
    let kind = |metric, point: Option<&str>| predict::kind(file, trial, metric, point);
    let sizes = instance.resolved.sizes;
    let bytes = match (trial.framing.layer, sizes.datagram) {
        (Layer::Ethernet, _) | (_, None) => sizes.payload,
        (_, Some(datagram)) => datagram,
    };
    let figures = WhatifFigures {
        frames_per_s: rates.frames_per_s,
        bits_per_s: rates.frames_per_s * 8.0 * f64::from(bytes),
        kind: kind(CalibratedMetric::Time, None),
        loss_ratio: rates.loss_ratio,
        cpu_load_ratio: rates.cpu_load_ratio,
        cpu_load_kind: kind(CalibratedMetric::CpuLoad, None),
        latency: points
            .into_iter()
            .map(|(point, mean_ps)| PointLatency {
                kind: kind(CalibratedMetric::Latency, Some(&point)),
                point,
                mean_ps,
            })
            .collect(),
        basis: if steady.exact {
            Basis::ClosedForm
        } else {
            Basis::Simulation
        },
        limited_by: explain::limited_by(&instance).map_err(|e| failed(&e))?,
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

/// The CPU load: the idle load, plus the share of time in which its resource is held.
fn cpu_load(instance: &Instance, busy_ratio: impl Fn(usize) -> f64) -> Option<f64> {
    if instance.chains.iter().any(|chain| chain.busy_wait) {
        return Some(1.0);
    }
    let load = instance.chains.iter().find_map(|c| c.load.as_ref())?;
    Some((load.idle_ratio + busy_ratio(load.resource)).min(1.0))
}

fn ask(instance: &Instance) -> SimRequest {
    // The steady state begins only after rings have filled and several bursts have arrived.
    SimRequest {
        seed: SEED,
        frames_kept: FRAMES as usize,
        firings_kept: KEPT_MAX,
        ..SimRequest::frames(&instance.net, FRAMES)
    }
}

/// Rates of the second half of the simulated time in which every flow is active.
fn simulated(instance: &Instance, run: &SimResult) -> Rates {
    let ends = run
        .chains
        .iter()
        .map(|chain| chain.last_end_ps.unwrap_or(0));
    let until = ends.filter(|end| *end > 0).min().unwrap_or(0);
    let (mut rate, mut offered, mut lost) = (0.0, 0.0, 0.0);
    for (chain, info) in run.chains.iter().zip(&instance.chains) {
        let half = chain.offered / 2;
        let arrived = chain.frames.iter().filter(|frame| frame.id >= half).count() as f64;
        let sent = (chain.offered - half) as f64;
        let loss_ratio = if sent > 0.0 {
            (1.0 - arrived / sent).max(0.0)
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
            // Frames that queue up without loss leave more slowly than they arrive.
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

/// The rate at which frames leave, where that is clearly less than their arrival rate; else infinite.
fn held_back(frames: &[FrameTimes], until: u64, arriving_per_s: f64) -> f64 {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return f64::INFINITY;
    };
    let delay = |frame: &FrameTimes| frame.end_ps.saturating_sub(frame.start_ps) as f64;
    // The last frame waits longer than the first by a tenth of the whole time.
    let grew = delay(last) - delay(first) > 0.1 * frames.len() as f64 * 1e12 / arriving_per_s;
    if grew {
        slope_per_s(frames, until)
    } else {
        f64::INFINITY
    }
}

/// Frames/s that leave in the second half before `until`: the slope of the least-squares line through their ends, so
/// that batches do not blur it.
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

/// Frames whose latency is sampled where it scatters, as in the Zynq document.
const SAMPLES: u64 = 512;
/// Sampled frames if all are alike.
const ALIKE: u64 = 2;

/// A mean time, and the two instants that it spans.
pub(crate) struct Delay {
    pub mean_ps: f64,
    pub span: String,
}

/// The mean at each capture point of `instance`, by name; points of several ports are pooled.
pub fn points(
    file: &NodeFile,
    trial: &Trial,
    instance: &Instance,
) -> Result<Vec<(String, f64)>, BuildError> {
    if instance.chains.iter().all(|chain| chain.points.is_empty()) {
        return Ok(Vec::new());
    }
    let alone = alone(file, trial, instance, SAMPLES)?;
    let instance = alone.as_ref().unwrap_or(instance);
    let points: Vec<&LatencySpan> = instance.chains.iter().flat_map(|c| &c.points).collect();
    let ends = points.iter().map(|point| (point.from, point.to));
    let means = means(instance, ends.collect(), trial)?;
    let mut out: Vec<(String, f64)> = Vec::new();
    for (point, mean) in points.iter().zip(means) {
        let name = point.name.to_string();
        if out.iter().all(|(known, _)| *known != name) {
            out.extend(mean.map(|mean| (name, mean)));
        }
    }
    Ok(out)
}

/// The node's own time for one frame at a time: the longest of the capture points without the wire, else all stages
/// after the wire (receive) or before it (transmit).
///
/// # Errors
/// As [`NodeFile::instance`].
pub(crate) fn delay(file: &NodeFile, trial: &Trial) -> Result<Delay, BuildError> {
    let instance = file.instance(trial)?;
    let instance = alone(file, trial, &instance, SAMPLES)?.unwrap_or(instance);
    let Some(chain) = instance.chains.first() else {
        return Err(BuildError::Model("the net has no chain".to_owned()));
    };
    let mut spans: Vec<_> = chain
        .points
        .iter()
        .filter(|point| leaves_wire_out(chain, point))
        .map(|point| {
            (
                format!("capture point {}", point.name),
                point.from,
                point.to,
            )
        })
        .collect();
    if spans.is_empty() {
        let own: Vec<usize> = chain
            .stages
            .iter()
            .copied()
            .filter(|stage| Some(*stage) != chain.source)
            .collect();
        let name = |stage: usize| &instance.net.stages[stage].name;
        let (first, last) = (own[0], own[own.len() - 1]);
        spans.push(if trial.direction == Direction::Transmit {
            (
                format!("{} start to {} start", name(first), name(chain.wire)),
                (first, Edge::Start),
                (chain.wire, Edge::Start),
            )
        } else {
            (
                format!("{} end to {} end", name(chain.wire), name(last)),
                (chain.wire, Edge::End),
                (last, Edge::End),
            )
        });
    }
    let means = means(
        &instance,
        spans.iter().map(|(_, from, to)| (*from, *to)).collect(),
        trial,
    )?;
    let found = spans.into_iter().zip(means);
    let longest = found
        .filter_map(|((span, ..), mean)| {
            Some(Delay {
                mean_ps: mean?,
                span,
            })
        })
        .max_by(|a, b| a.mean_ps.total_cmp(&b.mean_ps));
    longest.ok_or_else(|| {
        BuildError::Model(
            "no frame passed the model; fix: lower the load, or give its rooms more tokens"
                .to_owned(),
        )
    })
}

/// Whether a point's time excludes the wire.
fn leaves_wire_out(chain: &ChainInfo, point: &LatencySpan) -> bool {
    let position = |(stage, edge): (usize, Edge)| {
        let at = chain.stages.iter().position(|s| *s == stage).unwrap_or(0);
        2 * at + usize::from(edge == Edge::End)
    };
    let wire = (
        position((chain.wire, Edge::Start)),
        position((chain.wire, Edge::End)),
    );
    position(point.to) <= wire.0 || position(point.from) >= wire.1
}

type Ends = ((usize, Edge), (usize, Edge));

fn means(
    instance: &Instance,
    spans: Vec<Ends>,
    trial: &Trial,
) -> Result<Vec<Option<f64>>, BuildError> {
    let alike = trial.load == Load::Max && all_alike(&instance.net);
    let ask = SimRequest {
        seed: SEED,
        watches: spans
            .into_iter()
            .map(|(from, to)| EdgeTimer { from, to })
            .collect(),
        ..SimRequest::frames(&instance.net, if alike { ALIKE } else { SAMPLES })
    };
    let run =
        simulate(&instance.net, &ask).map_err(|error| BuildError::Model(error.to_string()))?;
    let mean = |kept: &Vec<u64>| {
        let sum: f64 = kept.iter().map(|ps| *ps as f64).sum();
        (!kept.is_empty()).then(|| sum / kept.len() as f64)
    };
    Ok(run.samples.iter().map(|s| mean(&s.kept_ps)).collect())
}

/// Whether all frames that are alone take the same time.
fn all_alike(net: &Net) -> bool {
    net.stages.iter().all(|stage| {
        stage.spread == Spread::None
            && !matches!(
                stage.trigger,
                Trigger::Paced { .. } | Trigger::Polled { .. }
            )
    })
}
