//! What taking each point costs where the node is warm: short trials of their own behind those that were asked.

use wirelab_bench::costs::{point_costs, warm};
use wirelab_trial::{
    Cancel, CostLoad, Extent, Load, Node, Observation, PointCost, Size, SizeUnit, Trial,
};

use super::plan::{Ways, both_ways, framing};
use crate::args::StagesArgs;

/// The costs of each point, warm and in the trials that were run; why the first are missing goes into `notes`.
pub fn costs(
    node: &mut dyn Node,
    args: &StagesArgs,
    ways: &Ways,
    ran: &[Observation],
    notes: &mut Vec<String>,
    cancel: &Cancel,
) -> Vec<PointCost> {
    let asked = point_costs(ran, CostLoad::Trial);
    if asked.is_empty() {
        return asked;
    }
    let able = node.describe().capabilities;
    let mut all = Vec::new();
    for direction in both_ways(&able) {
        if cancel.is_cancelled() {
            break;
        }
        let size = Size::new(SizeUnit::Length, args.length[0]);
        let (load, extent) = (Load::Max, Extent::Frames { frames: 1 });
        let trial = Trial {
            wait: ways.waits.first().copied().flatten(),
            probes: Some(ways.probes),
            ..Trial::new(framing(&able), direction, size, load, extent)
        };
        let missing = match warm(node, &trial, cancel) {
            Ok(costs) if costs.is_empty() => "the trials for it tell none".to_owned(),
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
    all.extend(asked);
    all
}
