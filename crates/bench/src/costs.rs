//! The cost of recording at a capture point: from the counters of trials, and from separate trials at a load that keeps
//! the node warm.

use wirelab_trial::{
    Cancel, CostLoad, Extent, Field, Load, Node, NodeError, Observation, PointCost, PointCount,
    PointCounter, Probes, Size, SizeUnit, Trial, pooled,
};

use crate::stages::{self, PathRequest};

/// A load that keeps a node warm, in frames/s.
const WARM_FRAMES_PER_S: f64 = 20_000.0;
/// Attempts where the tester or the node falls behind.
const ATTEMPTS: u32 = 3;
/// Frames of such a trial: each eighth is measured, and their quartiles must be stable.
const FRAMES: u64 = 4096;
/// Sufficient share of the load.
const KEPT: f64 = 0.9;

/// The point costs in trials, each point once: from the first trial with probes that has it.
pub fn point_costs(observations: &[Observation], at: CostLoad) -> Vec<PointCost> {
    let mut found: Vec<PointCost> = Vec::new();
    for whole in pooled(observations) {
        if whole.trial.probes == Some(Probes::Off) {
            continue;
        }
        for cost in of_trial(&whole, at) {
            if found.iter().all(|known| known.point != cost.point) {
                found.push(cost);
            }
        }
    }
    found
}

fn of_trial(whole: &Observation, at: CostLoad) -> Vec<PointCost> {
    let flows = whole.flows.iter().map(|flow| &flow.counters);
    let rates = whole.flows.iter().map(|flow| flow.frames_per_s.value());
    let frames_per_s = rates.flatten().copied().reduce(f64::min);
    let all = || std::iter::once(&whole.counters).chain(flows.clone());
    let value = |name: String| all().find_map(|c| c.get(&name).and_then(Field::value).copied());
    let names = all().flat_map(|counters| counters.keys());
    let points = names.filter_map(|name| PointCounter::of(name));
    let points = points.filter(|of| of.count == PointCount::Cost);
    let cost = |PointCounter { place, .. }| {
        let of = |count| value(PointCounter { count, place }.to_string());
        Some(PointCost {
            point: place.to_string(),
            at,
            load: whole.trial.load,
            frames_per_s,
            length_bytes: whole.sizes.length,
            q1_ns: of(PointCount::CostQ1)?,
            median_ns: of(PointCount::Cost)?,
            q3_ns: of(PointCount::CostQ3)?,
            clock_ns: of(PointCount::Clock)?,
        })
    };
    points.filter_map(cost).collect()
}

/// Repeats a trial at a load that keeps the node warm, and returns its point costs, from the attempt with the highest
/// frame rate, which each cost states. Empty where no attempt has a cost.
///
/// # Errors
/// [`NodeError`] where the node returns no observation.
pub fn warm(
    node: &mut dyn Node,
    trial: &Trial,
    cancel: &Cancel,
) -> Result<Vec<PointCost>, NodeError> {
    let short = Trial {
        load: Load::FrameRate {
            frames_per_s: WARM_FRAMES_PER_S,
        },
        extent: Extent::Frames { frames: FRAMES },
        ..trial.clone()
    };
    let rate = |costs: &[PointCost]| costs.iter().find_map(|cost| cost.frames_per_s);
    let mut best: Vec<PointCost> = Vec::new();
    for _ in 0..ATTEMPTS {
        let observation = node.run(&short, &(), cancel)?;
        let costs = point_costs(&[observation], CostLoad::Warm);
        if rate(&costs) > rate(&best) {
            best = costs;
        }
        if cancel.is_cancelled() || rate(&best) >= Some(KEPT * WARM_FRAMES_PER_S) {
            break;
        }
    }
    Ok(best)
}

/// The costs of each point, warm and in the trials of the run. If the warm costs are missing, `notes` gets the reason.
pub fn all(
    node: &mut dyn Node,
    length_bytes: u32,
    paths: &PathRequest,
    observations: &[Observation],
    notes: &mut Vec<String>,
    cancel: &Cancel,
) -> Vec<PointCost> {
    let trial_costs = point_costs(observations, CostLoad::Trial);
    if trial_costs.is_empty() {
        return trial_costs;
    }
    let able = node.describe().capabilities;
    let mut all = Vec::new();
    for direction in stages::both_directions(&able) {
        if cancel.is_cancelled() {
            break;
        }
        let size = Size::new(SizeUnit::Length, length_bytes);
        let (load, extent) = (Load::Max, Extent::Frames { frames: 1 });
        let trial = Trial {
            wait: paths.waits.first().copied().flatten(),
            probes: Some(paths.probes),
            ..Trial::new(stages::framing(&able), direction, size, load, extent)
        };
        let missing = match warm(node, &trial, cancel) {
            Ok(costs) if costs.is_empty() => "the trials for it show none".to_owned(),
            Ok(costs) => {
                all.extend(costs);
                continue;
            }
            Err(error) => error.to_string(),
        };
        notes.push(format!(
            "no cost of capture points on a warm node, {direction}: {missing}"
        ));
    }
    all.extend(trial_costs);
    all
}
