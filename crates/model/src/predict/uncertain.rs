//! The intervals of a prediction, from the uncertainty of the model's parameters.
//!
//! Each cause moves its parameters to both of their ends, and what that changes is added as of independent causes: the law
//! of propagation of JCGM 100:2008 (GUM), 5.1.2, with differences in place of derivatives. Parameters that were taken from
//! the same figures have these as common causes, so that their errors cancel where they did in the figures.

use wirelab_trial::{
    Cancel, Description, FlowIntervals, FlowObservation, Observation, Stated, Trial,
};

use super::alone;
use crate::file::{NodeFile, OWN};

/// Most causes of uncertainty that are looked at: each costs two predictions.
const MOST_CAUSES: usize = 32;

/// Puts intervals beside the figures of a prediction.
pub fn add(file: &NodeFile, trial: &Trial, of: &mut Observation, cancel: &Cancel) {
    let Ok(still) = file.instance(trial) else {
        return;
    };
    // What leaves the net of the trial as it is moves no figure.
    let is_same = |file: &NodeFile| file.instance(trial).is_ok_and(|net| net == still);
    let mut moved = moved(file);
    moved.retain(|both| !both.iter().all(is_same));
    let ends: Option<Vec<[Observation; 2]>> = moved
        .iter()
        .map(|[low, high]| {
            let one = |file: &NodeFile| alone(file, trial, Description::default(), cancel).ok();
            Some([one(low)?, one(high)?])
        })
        .collect();
    // Where an end of a parameter is no node, nothing is known of the interval.
    let Some(ends) = ends.filter(|ends| !ends.is_empty()) else {
        return;
    };
    for at in 0..of.flows.len() {
        let flow = &of.flows[at];
        let of_flow = |get: fn(&FlowObservation) -> Option<f64>| {
            interval(get(flow)?, &ends, |o| o.flows.get(at).and_then(get))
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
    }
    let busy = |o: &Observation| o.cpu_load.value().map(|load| load.busy_ratio);
    let load = busy(of).and_then(|value| interval(value, &ends, busy));
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

/// The file with each cause of uncertainty at its lower and at its upper end.
fn moved(file: &NodeFile) -> Vec<[NodeFile; 2]> {
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
        let mut file = file.clone();
        for (name, parameter) in &mut file.parameters {
            if owner.is_empty() || name == owner {
                let by = parameter.plus_minus.get(cause).copied().unwrap_or(0.0);
                parameter.value = (parameter.value + sign * by).max(0.0);
            }
        }
        file
    };
    causes.truncate(MOST_CAUSES);
    causes
        .into_iter()
        .map(|cause| [at(cause, -1.0), at(cause, 1.0)])
        .collect()
}

/// The interval of a figure; `None` where nothing moves it.
fn interval(
    value: f64,
    ends: &[[Observation; 2]],
    get: impl Fn(&Observation) -> Option<f64>,
) -> Option<Stated> {
    let (mut below, mut above, mut causes) = (0.0f64, 0.0f64, 0u32);
    for both in ends {
        let [low, high] = [get(&both[0])?, get(&both[1])?];
        let down = (value - low.min(high)).max(0.0);
        let up = (low.max(high) - value).max(0.0);
        below += down * down;
        above += up * up;
        causes += u32::from(down + up > 0.0);
    }
    (causes > 0).then(|| Stated::of_parameters(value - below.sqrt(), value + above.sqrt(), causes))
}
