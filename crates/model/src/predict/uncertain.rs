//! The intervals of a prediction, from the uncertainty of the model's parameters.
//!
//! Each cause moves its parameters to both of their ends, and the changes are added as independent causes: the law
//! of propagation of JCGM 100:2008 (GUM), 5.1.2, with differences in place of derivatives. Parameters that were taken from
//! the same figures share these causes, so that their errors cancel if they cancelled in the figures.

use wirelab_trial::{
    Cancel, Description, FlowIntervals, FlowObservation, Observation, PercentileIntervals, Stated,
    Trial,
};

use super::sampled;
use crate::file::{Kind, NodeFile, OWN, Unit};

/// Samples of each latency at the ends of a cause: differences need fewer digits than the mean.
const SAMPLES: u64 = 256;
/// Most causes of uncertainty of one trial: each costs two predictions.
const MOST_CAUSES: usize = 32;

/// Puts intervals beside the figures of a prediction.
pub fn add(file: &NodeFile, trial: &Trial, of: &mut Observation, cancel: &Cancel) {
    let Ok(still) = file.instance(trial) else {
        return;
    };
    // A parameter that does not change the trial's net changes no figure.
    let is_same = |end: &End| {
        let there = end.file.instance(&end.trial);
        there.is_ok_and(|there| (&there.net, &there.chains) == (&still.net, &still.chains))
    };
    let mut moved = moved(file, trial);
    moved.retain(|both| !both.iter().all(is_same));
    // Some causes alone would give an interval that is too narrow.
    if moved.len() > MOST_CAUSES {
        return;
    }
    if moved.is_empty() {
        return;
    }
    let one = |file: &NodeFile, trial: &Trial| {
        sampled(file, trial, Description::default(), SAMPLES, cancel).ok()
    };
    let at = |end: &End| one(&end.file, &end.trial);
    let both = |both: &[End; 2]| {
        Some(Ends {
            observations: [at(&both[0])?, at(&both[1])?],
            cut: [both[0].cut, both[1].cut],
        })
    };
    let ends: Option<Vec<Ends>> = moved.iter().map(both).collect();
    // If an end of a parameter gives no valid node, the interval is unknown.
    let (Some(centre), Some(ends)) = (one(file, trial), ends) else {
        return;
    };
    let interval = |value: f64, get: &dyn Fn(&Observation) -> Option<f64>| {
        interval(value, &centre, &ends, get)
    };
    for at in 0..of.flows.len() {
        let flow = &of.flows[at];
        let of_flow = |get: fn(&FlowObservation) -> Option<f64>| {
            interval(get(flow)?, &|o| o.flows.get(at).and_then(get))
        };
        let rate = of_flow(|flow| flow.frames_per_s.value().copied());
        let loss = of_flow(|flow| flow.loss_ratio.value().copied());
        let per_frame = |of: Option<&f64>| Some(rate?.times(of? / flow.frames_per_s.value()?));
        of.flows[at].intervals = FlowIntervals {
            frames_per_s: rate,
            payload_bits_per_s: per_frame(flow.payload_bits_per_s.value()),
            link_bits_per_s: per_frame(flow.link_bits_per_s.value()),
            goodput_bits_per_s: per_frame(flow.goodput_bits_per_s.value()),
            loss_ratio: loss.map(shared),
        };
        for series in 0..of.flows[at].series.len() {
            let found = |percent: f64| {
                let get = |o: &Observation| {
                    let ticks = o.flows.get(at)?.series.get(series)?.percentile(percent)?;
                    Some(ticks as f64)
                };
                interval(get(of)?, &get)
            };
            of.flows[at].series[series].intervals = PercentileIntervals {
                p50_ticks: found(50.0),
                p90_ticks: found(90.0),
                p99_ticks: found(99.0),
                p99_9_ticks: found(99.9),
            };
        }
    }
    let busy = |o: &Observation| o.cpu_load.value().map(|load| load.busy_ratio);
    let load = busy(of).and_then(|value| interval(value, &busy));
    if let wirelab_trial::Field::Observed { value, .. } = &mut of.cpu_load {
        value.interval = load.map(shared);
    }
}

/// A share ends at 1.
fn shared(of: Stated) -> Stated {
    Stated {
        high: of.high.min(1.0),
        ..of
    }
}

/// A file with a cause of uncertainty at one of its ends.
struct End {
    file: NodeFile,
    trial: Trial,
    /// Whether a parameter was cut at 0 there, or a share at 1.
    cut: bool,
}

/// What the node does at both ends of a cause.
struct Ends {
    observations: [Observation; 2],
    cut: [bool; 2],
}

/// The file with each cause of uncertainty at its lower and at its upper end.
fn moved(file: &NodeFile, trial: &Trial) -> Vec<[End; 2]> {
    let mut causes: Vec<(&str, &str)> = Vec::new();
    for (name, parameter) in &file.parameters {
        for cause in parameter.plus_minus.keys() {
            let one = match cause.as_str() {
                OWN => (name.as_str(), OWN),
                cause => ("", cause),
            };
            if !causes.contains(&one) {
                causes.push(one);
            }
        }
    }
    let at = |(owner, cause): (&str, &str), sign: f64| {
        let (mut file, mut trial, mut cut) = (file.clone(), trial.clone(), false);
        for (name, parameter) in &mut file.parameters {
            if owner.is_empty() || name == owner {
                let by = parameter.plus_minus.get(cause).copied().unwrap_or(0.0);
                let value = parameter.value + sign * by;
                // A link rate of the trial moves with the parameter of the link's rate.
                if by != 0.0 && file.link.as_ref() == Some(name) {
                    let rate = |bits: u64| (bits as f64 * value / parameter.value).round() as u64;
                    trial.link_bits_per_s = trial.link_bits_per_s.map(rate);
                }
                let most = most(parameter.unit);
                cut |= !(0.0..=most).contains(&value);
                parameter.value = value.clamp(0.0, most);
            }
        }
        End { file, trial, cut }
    };
    causes
        .into_iter()
        .map(|cause| [at(cause, -1.0), at(cause, 1.0)])
        .collect()
}

/// The largest value in a unit.
fn most(unit: Unit) -> f64 {
    match unit.kind {
        Kind::Ratio => 1.0 / unit.factor,
        _ => f64::INFINITY,
    }
}

/// The interval of a figure; `None` if nothing moves it. A clipped parameter says nothing about the figure's
/// scatter, so the cause's other end counts for both.
fn interval(
    value: f64,
    centre: &Observation,
    ends: &[Ends],
    get: impl Fn(&Observation) -> Option<f64>,
) -> Option<Stated> {
    let middle = get(centre)?;
    let (mut below, mut above, mut causes) = (0.0f64, 0.0f64, 0u32);
    for both in ends {
        let off = |at: usize| Some(get(&both.observations[at])? - middle);
        let (low, high) = match both.cut {
            [true, false] => (-off(1)?, off(1)?),
            [false, true] => (off(0)?, -off(0)?),
            _ => (off(0)?, off(1)?),
        };
        let down = (-low.min(high)).max(0.0);
        let up = low.max(high).max(0.0);
        below += down * down;
        above += up * up;
        causes += u32::from(down + up > 0.0);
    }
    (causes > 0).then(|| Stated::of_parameters(value - below.sqrt(), value + above.sqrt(), causes))
}
