//! Circuits that never move.

use crate::net::{Net, Place};

/// A circuit without a token, in words: none of its stages could ever start.
pub(super) fn dead_circuit(net: &Net) -> Option<String> {
    let mut empty: Vec<Vec<&Place>> = vec![Vec::new(); net.stages.len()];
    // Stages that can start, one after the other; what is left over hangs on a circuit.
    let mut waiting = vec![0usize; net.stages.len()];
    for place in net.places.iter().filter(|place| place.tokens == 0) {
        empty[place.from].push(place);
        waiting[place.to] += 1;
    }
    let mut ready: Vec<usize> = (0..waiting.len())
        .filter(|stage| waiting[*stage] == 0)
        .collect();
    while let Some(stage) = ready.pop() {
        for place in &empty[stage] {
            waiting[place.to] -= 1;
            if waiting[place.to] == 0 {
                ready.push(place.to);
            }
        }
    }
    let stuck: Vec<&Place> = empty
        .into_iter()
        .flatten()
        .filter(|place| waiting[place.from] > 0)
        .collect();
    // Back from any such stage by places that never fill, until a stage comes again.
    let mut at = waiting.iter().position(|n| *n > 0)?;
    let mut way: Vec<usize> = Vec::new();
    while !way.contains(&at) {
        way.push(at);
        at = stuck.iter().find(|place| place.to == at)?.from;
    }
    let mut circuit: Vec<usize> = way.into_iter().skip_while(|stage| *stage != at).collect();
    circuit.push(at);
    circuit.reverse();
    let room = circuit.windows(2).find_map(|pair| {
        stuck
            .iter()
            .find(|p| !p.carries_frames && (p.from, p.to) == (pair[0], pair[1]))
    });
    let names: Vec<&str> = circuit
        .iter()
        .map(|stage| net.stages[*stage].name.as_str())
        .collect();
    let way_out = room.map_or(String::new(), |room| {
        format!(": give '{}' a token", room.name)
    });
    Some(format!(
        "deadlock: the circuit {} has no token, so none of its stages ever starts{way_out}",
        names.join(" -> ")
    ))
}
