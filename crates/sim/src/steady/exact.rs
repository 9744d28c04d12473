//! Decides whether the closed form equals the simulation, or is a bound.

use super::Reason;
use super::graph::Graph;
use crate::net::{Net, OnMissing, Trigger};

/// Effects that make the period a bound.
pub fn reasons(net: &Net, graph: &Graph, flows: &[usize]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for resource in 0..net.resources.len() {
        let holds = |stage: &usize| net.stages[*stage].resource == Some(resource);
        let stages: Vec<usize> = (0..net.stages.len()).filter(holds).collect();
        if stages.iter().any(|&stage| flows[stage] != flows[stages[0]]) {
            reasons.push(Reason::SharedByFlows(resource));
        } else if stages.len() > 1 && !take_turns(net, graph, &stages) {
            reasons.push(Reason::Shared(resource));
        }
    }
    for (index, stage) in net.stages.iter().enumerate() {
        match stage.trigger {
            Trigger::Tokens => {}
            Trigger::Paced { .. } | Trigger::Polled { .. } => reasons.push(Reason::Paced(index)),
            Trigger::Arrivals(_) => reasons.push(Reason::Arrivals(index)),
        }
        if stage.on_missing == OnMissing::Drop {
            reasons.push(Reason::Drops(index));
        }
    }
    reasons
}

/// Whether every two of the stages are on a circuit with one token, so that only one of them works at a time.
fn take_turns(net: &Net, graph: &Graph, stages: &[usize]) -> bool {
    let tokens = |place: usize| u128::from(net.places[place].tokens);
    let from: Vec<_> = stages
        .iter()
        .map(|&stage| graph.distances(net, stage, tokens))
        .collect();
    (0..stages.len()).all(|a| {
        (0..a).all(|b| match (from[a][stages[b]], from[b][stages[a]]) {
            (Some(there), Some(back)) => there + back == 1,
            _ => false,
        })
    })
}
