//! How much a stage may grow before it limits as well.

use super::circuits::share_ps;
use super::graph::Graph;
use super::howard::weight;
use super::{Circuit, CircuitKind, Ratio64};
use crate::net::Net;

/// For each stage its slack in ps; `None` where it is on no circuit.
///
/// A circuit with costs C and T tokens can take up to period · T, so a stage may grow by the least period · T - C over
/// the circuits through it.
pub fn slack_ps(
    net: &Net,
    graph: &Graph,
    period: Ratio64,
    batches: &[Option<u64>],
    circuits: &[Circuit],
) -> Vec<Option<u64>> {
    let mut slack = of_places(net, graph, period);
    for circuit in circuits
        .iter()
        .filter(|circuit| matches!(circuit.kind, CircuitKind::Resource(_)))
    {
        let spare =
            u128::from(period.cost_ps) - u128::from(circuit.cost_ps) * u128::from(period.tokens);
        for &stage in &circuit.stages {
            let Some(batch) = batches[stage] else {
                continue;
            };
            // The share of a batch is rounded down, so its remainder may be used first.
            let rounded = net.stages[stage].cost_ps - share_ps(net, stage, batches) * batch;
            let own = (spare * u128::from(batch) / u128::from(period.tokens))
                .saturating_sub(u128::from(rounded));
            let own = u64::try_from(own).unwrap_or(u64::MAX);
            slack[stage] = Some(slack[stage].map_or(own, |other| other.min(own)));
        }
    }
    slack
}

fn of_places(net: &Net, graph: &Graph, period: Ratio64) -> Vec<Option<u64>> {
    let highest = highest_values(net, graph, period);
    // No circuit has a positive weight, so no length is negative. The lengths of a circuit add up to its spare time.
    let length = |place: usize| {
        let (from, to) = (net.places[place].from, net.places[place].to);
        (highest[from] - weight(net, place, period) - highest[to]).unsigned_abs()
    };
    let of_stage = |stage: usize| {
        let spare = graph.distances(net, stage, length)[stage]?;
        Some(u64::try_from(spare / u128::from(period.tokens)).unwrap_or(u64::MAX))
    };
    (0..net.stages.len()).map(of_stage).collect()
}

/// For each stage the highest sum of weights on any path from it within its part.
fn highest_values(net: &Net, graph: &Graph, period: Ratio64) -> Vec<i128> {
    let mut highest = vec![0i128; net.stages.len()];
    let inside: Vec<usize> = (0..net.places.len())
        .filter(|&place| graph.inside(net, place))
        .collect();
    // A path without a circuit has fewer places than there are stages.
    for _ in 0..net.stages.len() {
        let mut changed = false;
        for &place in &inside {
            let value = weight(net, place, period) + highest[net.places[place].to];
            let from = net.places[place].from;
            if value > highest[from] {
                (highest[from], changed) = (value, true);
            }
        }
        if !changed {
            break;
        }
    }
    highest
}
