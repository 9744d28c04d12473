//! The places as edges: successors of stages, stages on common circuits, and flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::net::Net;

/// Stages as nodes, places as edges.
pub struct Graph {
    /// For each stage the places that leave it.
    pub out: Vec<Vec<usize>>,
    /// For each stage its strongly connected part of the net.
    pub part: Vec<usize>,
    /// The stages of each part.
    pub parts: Vec<Vec<usize>>,
}

impl Graph {
    /// The graph of a checked net.
    pub fn new(net: &Net) -> Graph {
        let count = net.stages.len();
        let (mut out, mut into) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (index, place) in net.places.iter().enumerate() {
            out[place.from].push(index);
            into[place.to].push(place.from);
        }
        let (part, parts) = parts(net, &out, &into);
        Graph { out, part, parts }
    }

    /// Whether a place is within a part, so that circuits may use it.
    pub fn inside(&self, net: &Net, place: usize) -> bool {
        self.part[net.places[place].from] == self.part[net.places[place].to]
    }

    /// The shortest distance from the end of `from` to the end of each stage within its part, with a `length` for each place.
    /// The distance to `from` itself is that of the shortest circuit.
    pub fn distances(
        &self,
        net: &Net,
        from: usize,
        length: impl Fn(usize) -> u128,
    ) -> Vec<Option<u128>> {
        let mut found = vec![None; net.stages.len()];
        let mut open = BinaryHeap::from([Reverse((0u128, from))]);
        let mut begun = false;
        while let Some(Reverse((so_far, stage))) = open.pop() {
            if begun && found[stage].is_some() {
                continue;
            }
            if begun {
                found[stage] = Some(so_far);
            }
            // A circuit that reached its beginning ends.
            if begun && stage == from {
                continue;
            }
            begun = true;
            for &place in self.out[stage]
                .iter()
                .filter(|&&place| self.inside(net, place))
            {
                let to = net.places[place].to;
                if found[to].is_none() {
                    open.push(Reverse((so_far + length(place), to)));
                }
            }
        }
        found
    }

    /// For each stage the number of its flow: stages that places or a chain connect.
    pub fn flows(&self, net: &Net) -> Vec<usize> {
        let mut root: Vec<usize> = (0..net.stages.len()).collect();
        let chained = net
            .chains
            .iter()
            .flat_map(|chain| chain.stages.windows(2).map(|two| (two[0], two[1])));
        for (a, b) in net
            .places
            .iter()
            .map(|place| (place.from, place.to))
            .chain(chained)
        {
            let (a, b) = (find(&mut root, a), find(&mut root, b));
            root[a.max(b)] = a.min(b);
        }
        (0..root.len())
            .map(|stage| find(&mut root, stage))
            .collect()
    }
}

fn find(root: &mut [usize], mut stage: usize) -> usize {
    while root[stage] != stage {
        root[stage] = root[root[stage]];
        stage = root[stage];
    }
    stage
}

/// Strongly connected parts (Kosaraju): walks against the edges, in the reverse order of the first walk's ends.
fn parts(net: &Net, out: &[Vec<usize>], into: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    const NO_PART: usize = usize::MAX;
    let mut part = vec![NO_PART; out.len()];
    let mut parts = Vec::new();
    for &start in ends_of_walk(net, out).iter().rev() {
        if part[start] != NO_PART {
            continue;
        }
        let (number, mut members, mut open) = (parts.len(), Vec::new(), vec![start]);
        part[start] = number;
        while let Some(stage) = open.pop() {
            members.push(stage);
            for &before in &into[stage] {
                if part[before] == NO_PART {
                    part[before] = number;
                    open.push(before);
                }
            }
        }
        members.sort_unstable();
        parts.push(members);
    }
    (part, parts)
}

fn ends_of_walk(net: &Net, out: &[Vec<usize>]) -> Vec<usize> {
    let (mut visited, mut ends) = (vec![false; out.len()], Vec::new());
    for start in 0..out.len() {
        let mut path = Vec::new();
        if !std::mem::replace(&mut visited[start], true) {
            path.push((start, 0));
        }
        while let Some((stage, taken)) = path.last_mut() {
            let Some(&place) = out[*stage].get(*taken) else {
                ends.push(*stage);
                path.pop();
                continue;
            };
            *taken += 1;
            let to = net.places[place].to;
            if !std::mem::replace(&mut visited[to], true) {
                path.push((to, 0));
            }
        }
    }
    ends
}
