//! Circuits in words.

use wirelab_trial::explanation;
use wirelab_trial::format::{self, time, time_f};

use crate::build::Instance;
use wirelab_sim::steady::{Circuit, CircuitKind};

/// A circuit as reports show it.
pub(super) fn circuit(instance: &Instance, circuit: &Circuit) -> explanation::Circuit {
    let net = &instance.net;
    explanation::Circuit {
        stages: circuit
            .stages
            .iter()
            .map(|s| net.stages[*s].name.clone())
            .collect(),
        cost_ps: circuit.cost_ps,
        tokens: circuit.tokens,
        period_ps: circuit.period().ps(),
        closed_by: closed_by(instance, circuit),
        words: words(instance, circuit),
    }
}

/// What makes a circuit, with the names of the node file.
pub(super) fn closed_by(instance: &Instance, circuit: &Circuit) -> String {
    let net = &instance.net;
    match circuit.kind {
        CircuitKind::Resource(r) => net.resources[r].name.clone(),
        CircuitKind::Pacing(s) | CircuitKind::Offered(s) => net.stages[s].name.clone(),
        CircuitKind::Places => {
            let rooms: Vec<&str> = rooms(instance, circuit)
                .map(|p| net.places[p].name.as_str())
                .collect();
            rooms.join(" and ")
        }
    }
}

/// The rooms of a circuit (places without frames), in order.
pub(super) fn rooms<'a>(
    instance: &'a Instance,
    circuit: &'a Circuit,
) -> impl Iterator<Item = usize> + 'a {
    circuit
        .places
        .iter()
        .copied()
        .filter(|p| !instance.net.places[*p].carries_frames)
}

/// A stage with its time and what it holds, e.g. `copy (83.8 µs, cpu)`.
pub(super) fn stage(instance: &Instance, index: usize) -> String {
    let stage = &instance.net.stages[index];
    match stage.resource {
        // A resource with the stage's own name adds nothing.
        Some(r) if instance.net.resources[r].name != stage.name => {
            format!(
                "{} ({}, {})",
                stage.name,
                time(stage.cost_ps),
                instance.net.resources[r].name
            )
        }
        _ => format!("{} ({})", stage.name, time(stage.cost_ps)),
    }
}

/// Names and times of the stages with a cost.
pub(super) fn stages(instance: &Instance, stages: &[usize]) -> Vec<String> {
    let costly = stages
        .iter()
        .filter(|s| instance.net.stages[**s].cost_ps > 0);
    costly.map(|s| stage(instance, *s)).collect()
}

/// `1 frame`, `2 frames`.
pub(super) fn frames(count: u64) -> String {
    format::count(count, "frame")
}

/// Which frame each frame waits for, in a circuit of so many tokens.
pub(super) fn waits_for(tokens: u64) -> String {
    match tokens {
        1 => "each frame waits for the one before it".to_owned(),
        2 => "each frame waits for the second before it".to_owned(),
        3 => "each frame waits for the third before it".to_owned(),
        n => {
            let ending = match (n % 10, n % 100) {
                (1, rest) if rest != 11 => "st",
                (2, rest) if rest != 12 => "nd",
                (3, rest) if rest != 13 => "rd",
                _ => "th",
            };
            format!("each frame waits for the {n}{ending} before it")
        }
    }
}

fn words(instance: &Instance, circuit: &Circuit) -> String {
    let net = &instance.net;
    let period = time_f(circuit.period().ps());
    match circuit.kind {
        CircuitKind::Resource(r) => {
            let name = &net.resources[r].name;
            let costly = circuit.stages.iter().map(|s| &net.stages[*s]);
            let times: Vec<String> = costly
                .filter(|s| s.cost_ps > 0)
                .map(|s| format!("{} ({})", s.name, time(s.cost_ps)))
                .collect();
            match times.len() {
                0 | 1 => format!("{name} alone: {period} a frame"),
                _ => format!(
                    "{name}, one stage at a time: {}: {period} a frame",
                    times.join(" + ")
                ),
            }
        }
        CircuitKind::Places => format!(
            "{}: {} → back, {} in it ({}): {period} a frame",
            waits_for(circuit.tokens),
            stages(instance, &circuit.stages).join(" → "),
            frames(circuit.tokens),
            closed_by(instance, circuit),
        ),
        CircuitKind::Pacing(s) => format!(
            "{} starts at most once in {} and takes at most {} then: {period} a frame",
            net.stages[s].name,
            time(circuit.cost_ps),
            frames(circuit.tokens),
        ),
        CircuitKind::Offered(_) => format!("a frame is offered every {period}"),
    }
}
