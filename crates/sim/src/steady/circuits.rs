//! The circuits of a net: of places, of resources, of triggers.

use super::graph::Graph;
use super::howard::circuit;
use super::{Circuit, CircuitKind};
use crate::net::{Arrivals, Net, Trigger};

/// With more circuits of places than this, only the slowest are listed.
const CIRCUITS_MAX: usize = 200;
/// Steps after which the search gives up.
const STEPS_MAX: usize = 20_000;

/// Every simple circuit of places; `None` where there are too many.
pub fn simple(net: &Net, graph: &Graph) -> Option<Vec<Circuit>> {
    let (mut found, mut steps) = (Vec::new(), 0);
    let mut on_path = vec![false; net.stages.len()];
    for start in 0..net.stages.len() {
        // All circuits through stages below the start are known already.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        let mut places: Vec<usize> = Vec::new();
        on_path[start] = true;
        while let Some((stage, taken)) = path.last_mut() {
            let Some(&place) = graph.out[*stage].get(*taken) else {
                on_path[*stage] = false;
                path.pop();
                places.pop();
                continue;
            };
            *taken += 1;
            steps += 1;
            if steps > STEPS_MAX {
                return None;
            }
            let to = net.places[place].to;
            if to == start {
                found.push(circuit(
                    net,
                    places.iter().copied().chain([place]).collect(),
                ));
                if found.len() > CIRCUITS_MAX {
                    return None;
                }
            } else if to > start && !on_path[to] && graph.inside(net, place) {
                on_path[to] = true;
                path.push((to, 0));
                places.push(place);
            }
        }
    }
    Some(found)
}

/// For each paced or polled stage the most tokens it can ever take at once: the fewest on a circuit through it; `None`
/// where no circuit limits them. 1 for all other stages.
pub fn largest_batches(net: &Net, graph: &Graph) -> Vec<Option<u64>> {
    let batch = |(index, trigger)| match trigger {
        Trigger::Tokens | Trigger::Arrivals(_) => Some(1),
        Trigger::Paced { .. } | Trigger::Polled { .. } if is_source(net, index) => Some(1),
        Trigger::Paced { .. } | Trigger::Polled { .. } => {
            let tokens = |place: usize| u128::from(net.places[place].tokens);
            graph.distances(net, index, tokens)[index].map(|tokens| tokens as u64)
        }
    };
    net.stages
        .iter()
        .map(|stage| stage.trigger)
        .enumerate()
        .map(batch)
        .collect()
}

/// Whether a stage makes the frames of a chain.
fn is_source(net: &Net, stage: usize) -> bool {
    net.chains.iter().any(|chain| chain.stages[0] == stage)
        && !net
            .places
            .iter()
            .any(|place| place.to == stage && place.carries_frames)
}

/// The time of a resource that a stage takes for each frame, in ps: its cost, divided by the most it takes at once.
pub fn share_ps(net: &Net, stage: usize, batches: &[Option<u64>]) -> u64 {
    batches[stage].map_or(0, |batch| net.stages[stage].cost_ps / batch)
}

/// The circuit of each resource, with those of its stages that `counts` selects.
pub fn of_resources(
    net: &Net,
    batches: &[Option<u64>],
    counts: impl Fn(usize) -> bool,
) -> Vec<Circuit> {
    let mut stages = vec![Vec::new(); net.resources.len()];
    for (index, stage) in net
        .stages
        .iter()
        .enumerate()
        .filter(|(index, _)| counts(*index))
    {
        stage
            .resource
            .into_iter()
            .for_each(|resource| stages[resource].push(index));
    }
    let used = stages
        .into_iter()
        .enumerate()
        .filter(|(_, stages)| !stages.is_empty());
    used.map(|(resource, stages)| Circuit {
        kind: CircuitKind::Resource(resource),
        cost_ps: stages
            .iter()
            .map(|&stage| share_ps(net, stage, batches))
            .sum(),
        tokens: 1,
        stages,
        places: Vec::new(),
    })
    .collect()
}

/// Bounds by paced and polled stages and by arrivals.
pub fn of_triggers(net: &Net, batches: &[Option<u64>]) -> Vec<Circuit> {
    let of_stage = |(index, trigger): (usize, Trigger)| {
        let (kind, cost_ps, tokens) = match trigger {
            Trigger::Tokens => return None,
            Trigger::Paced { period_ps } | Trigger::Polled { period_ps } => {
                (CircuitKind::Pacing(index), period_ps, batches[index]?)
            }
            Trigger::Arrivals(arrivals) => {
                let (cost_ps, tokens) = offered(&arrivals)?;
                (CircuitKind::Offered(index), cost_ps, tokens)
            }
        };
        Some(Circuit {
            kind,
            stages: vec![index],
            places: Vec::new(),
            cost_ps,
            tokens,
        })
    };
    net.stages
        .iter()
        .map(|stage| stage.trigger)
        .enumerate()
        .filter_map(of_stage)
        .collect()
}

/// Time and frames of a load, without the frames lost before the node; `None` where all are lost.
fn offered(arrivals: &Arrivals) -> Option<(u64, u64)> {
    let reaching_per_s = arrivals.frames_per_s * (1.0 - arrivals.lost_before_ratio);
    // As many frames as keep the time within 64 bits; whole rates are then exact.
    let frames = if reaching_per_s.fract() == 0.0 {
        reaching_per_s
    } else {
        (reaching_per_s * 1e3).clamp(1.0, 1e6)
    };
    let time_ps = frames * 1e12 / reaching_per_s;
    (reaching_per_s > 0.0 && time_ps < 1e19).then(|| (time_ps.round() as u64, frames as u64))
}
