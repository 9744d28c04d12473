//! The slowest circuit of each part of a net by policy iteration, in integers.
//!
//! A policy chooses for each stage one outgoing place, so it contains circuits. The slowest of them, with costs C and
//! tokens T, gives each place the weight cost · T - tokens · C, and each stage a value: the sum of weights along the
//! policy to that circuit. A place that would give its stage a higher value replaces the stage's choice. When none
//! does, no circuit has a positive weight, so none is slower than C over T.

use std::collections::VecDeque;

use super::graph::Graph;
use super::{Circuit, CircuitKind, Ratio64};
use crate::net::Net;

/// The slowest circuit of each part that has one.
pub fn slowest(net: &Net, graph: &Graph) -> Vec<Circuit> {
    graph
        .parts
        .iter()
        .filter_map(|part| slowest_of(net, graph, part))
        .collect()
}

fn slowest_of(net: &Net, graph: &Graph, part: &[usize]) -> Option<Circuit> {
    let mut policy: Vec<Option<usize>> = vec![None; net.stages.len()];
    for &stage in part {
        // A stage on no circuit is a part without an inner place.
        let place = graph.out[stage]
            .iter()
            .copied()
            .find(|&place| graph.inside(net, place))?;
        policy[stage] = Some(place);
    }
    loop {
        let circuit = slowest_of_policy(net, part, &policy)?;
        let values = values(net, graph, part, &mut policy, &circuit);
        if !improve(net, graph, part, &mut policy, &circuit, &values) {
            return Some(circuit);
        }
    }
}

/// The contribution of a place to the value of its stage.
pub fn weight(net: &Net, place: usize, period: Ratio64) -> i128 {
    let place = &net.places[place];
    let cost_ps = i128::from(net.stages[place.from].cost_ps);
    cost_ps * i128::from(period.tokens) - i128::from(place.tokens) * i128::from(period.cost_ps)
}

/// A circuit along places.
pub fn circuit(net: &Net, places: Vec<usize>) -> Circuit {
    let stages: Vec<usize> = places.iter().map(|&place| net.places[place].from).collect();
    Circuit {
        kind: CircuitKind::Places,
        cost_ps: stages.iter().map(|&stage| net.stages[stage].cost_ps).sum(),
        tokens: places
            .iter()
            .map(|&place| u64::from(net.places[place].tokens))
            .sum(),
        stages,
        places,
    }
}

fn slowest_of_policy(net: &Net, part: &[usize], policy: &[Option<usize>]) -> Option<Circuit> {
    let mut walk_of = vec![usize::MAX; net.stages.len()];
    let mut slowest: Option<Circuit> = None;
    for &start in part {
        let (mut stage, mut places) = (start, Vec::new());
        while walk_of[stage] == usize::MAX {
            walk_of[stage] = start;
            let place = policy[stage]?;
            places.push(place);
            stage = net.places[place].to;
        }
        // Only a walk that meets itself has closed a new circuit.
        if walk_of[stage] != start {
            continue;
        }
        let begin = places
            .iter()
            .position(|&place| net.places[place].from == stage)?;
        let mut round = places.split_off(begin);
        // Begins at the lowest stage, so that a circuit has one form.
        let lowest = (0..round.len()).min_by_key(|&index| net.places[round[index]].from)?;
        round.rotate_left(lowest);
        let found = circuit(net, round);
        if slowest
            .as_ref()
            .is_none_or(|slowest| found.period() > slowest.period())
        {
            slowest = Some(found);
        }
    }
    slowest
}

/// Values of a part's stages. Stages whose choices lead to another circuit are redirected to the slowest.
fn values(
    net: &Net,
    graph: &Graph,
    part: &[usize],
    policy: &mut [Option<usize>],
    circuit: &Circuit,
) -> Vec<Option<i128>> {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); net.stages.len()];
    for &stage in part {
        for &place in graph.out[stage]
            .iter()
            .filter(|&&place| graph.inside(net, place))
        {
            into[net.places[place].to].push(place);
        }
    }
    let mut values = vec![None; net.stages.len()];
    values[circuit.stages[0]] = Some(0);
    for chosen_only in [true, false] {
        let mut open: VecDeque<usize> = part
            .iter()
            .copied()
            .filter(|&stage| values[stage].is_some())
            .collect();
        while let Some(stage) = open.pop_front() {
            for &place in &into[stage] {
                let from = net.places[place].from;
                if values[from].is_some() || chosen_only && policy[from] != Some(place) {
                    continue;
                }
                policy[from] = Some(place);
                values[from] =
                    values[stage].map(|value| value + weight(net, place, circuit.period()));
                open.push_back(from);
            }
        }
    }
    values
}

fn improve(
    net: &Net,
    graph: &Graph,
    part: &[usize],
    policy: &mut [Option<usize>],
    circuit: &Circuit,
    values: &[Option<i128>],
) -> bool {
    let mut improved = false;
    for &stage in part {
        let mut best = values[stage];
        for &place in graph.out[stage]
            .iter()
            .filter(|&&place| graph.inside(net, place))
        {
            let value = values[net.places[place].to]
                .map(|value| value + weight(net, place, circuit.period()));
            if value > best {
                (best, policy[stage], improved) = (value, Some(place), true);
            }
        }
    }
    improved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Place, Stage};
    use crate::steady::circuits::simple;
    use wirelab_statistics::random::SplitMix64;

    #[test]
    fn policies_find_the_slowest_of_all_circuits() {
        let (mut compared, mut parted) = (0, 0);
        for seed in 0..2000 {
            let mut rng = SplitMix64::new(seed);
            let count = 2 + rng.below(6);
            // Places back and within a stage have tokens, those forward may have none, so no circuit is empty.
            let place = |_| {
                let (from, to) = (rng.below(count) as usize, rng.below(count) as usize);
                Place::room("", from, to, u32::from(to <= from) + rng.below(3) as u32)
            };
            let places: Vec<Place> = (0..count * 2).map(place).collect();
            let stages = (0..count).map(|_| Stage::new("", rng.below(20))).collect();
            let net = Net {
                stages,
                places,
                ..Net::default()
            };
            let graph = Graph::new(&net);
            let Some(all) = simple(&net, &graph) else {
                continue;
            };
            let parts = slowest(&net, &graph);
            let part_of = |circuit: &Circuit| graph.part[circuit.stages[0]];
            for found in &parts {
                let slowest = all
                    .iter()
                    .filter(|one| part_of(one) == part_of(found))
                    .map(Circuit::period)
                    .max();
                assert_eq!(Some(found.period()), slowest, "seed {seed}");
            }
            let parts_with_circuits: std::collections::BTreeSet<_> =
                all.iter().map(part_of).collect();
            assert_eq!(parts.len(), parts_with_circuits.len(), "seed {seed}");
            compared += parts.len();
            parted += usize::from(parts.len() > 1);
        }
        assert!(compared > 2000 && parted > 100, "{compared} {parted}");
    }

    #[test]
    fn a_large_net_is_solved_as_well() {
        // One ring of as many stages as a net may have.
        let count = crate::net::MAX_ITEMS;
        let stages: Vec<Stage> = (0..count)
            .map(|index| Stage::new("", index as u64 % 7))
            .collect();
        let mut places: Vec<Place> = (0..count - 1)
            .map(|from| Place::room("", from, from + 1, 0))
            .collect();
        places.push(Place::room("", count - 1, 0, 2));
        let net = Net {
            stages,
            places,
            ..Net::default()
        };
        let found = slowest(&net, &Graph::new(&net));
        let costs: u64 = net.stages.iter().map(|stage| stage.cost_ps).sum();
        assert_eq!(
            found[0].period(),
            Ratio64 {
                cost_ps: costs,
                tokens: 2
            }
        );
    }
}
