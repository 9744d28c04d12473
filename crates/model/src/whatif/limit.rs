//! Names what limits, in a few words.

use crate::build::Instance;
use wirelab_sim::steady::{Circuit, CircuitKind};

/// A circuit in a few words: a resource or tokens with their stages, a pace, or the load.
pub fn words(instance: &Instance, circuit: &Circuit) -> String {
    let net = &instance.net;
    match circuit.kind {
        CircuitKind::Resource(resource) => {
            let name = &net.resources[resource].name;
            let stages: Vec<&str> = circuit.names(net);
            if stages.len() == 1 && stages[0] == name {
                return name.clone();
            }
            format!("{name} ({})", stages.join(", "))
        }
        CircuitKind::Places => {
            let rooms = circuit.places.iter().map(|place| &net.places[*place]);
            let rooms: Vec<String> = rooms
                .filter(|place| !place.carries_frames)
                .map(|place| format!("{} ({})", place.name, place.tokens))
                .collect();
            let stages = circuit
                .stages
                .iter()
                .map(|stage| net.stages[*stage].name.as_str());
            let stages: Vec<&str> = stages.collect();
            format!("{}: {}", rooms.join(", "), stages.join(" -> "))
        }
        CircuitKind::Pacing(stage) => format!("the pace of {}", net.stages[stage].name),
        CircuitKind::Offered(_) => match instance.resolved.frames_per_s {
            Some(_) => "the offered load".to_owned(),
            None => "the line rate at which frames arrive".to_owned(),
        },
    }
}
