//! Explains why a change gains nothing, or costs something.

use std::collections::BTreeMap;

use wirelab_trial::format;
use wirelab_trial::whatif::{Aim, ChangeKind};

use crate::build::{ChainInfo, LatencySpan};
use crate::file::Edge;
use wirelab_sim::net::Stage;
use wirelab_sim::steady::CircuitKind;

use super::change::Candidate;
use super::solve::Solved;

/// A clause: why `after` is no better than `before`, or worse where `worse`.
pub fn words(
    aim: Aim,
    point: Option<&str>,
    candidate: &Candidate,
    before: &Solved,
    after: &Solved,
    worse: bool,
) -> String {
    let changed = changed_stages(before, after);
    if worse {
        return match costs(before, after) {
            Some(costs) => costs,
            None => format!("it costs: then limited by {}", after.figures.limited_by),
        };
    }
    match aim {
        Aim::Latency => latency(point, candidate, before, &changed),
        Aim::Throughput => throughput(candidate, before, after, &changed),
        Aim::Load => load(candidate, before, &changed),
    }
}

/// Stages of the unchanged net that the change makes faster or slower, replaces, or leaves out. They are identified by
/// name, because an alternative may move all indices.
fn changed_stages(before: &Solved, after: &Solved) -> Vec<usize> {
    let alike = |old: &Stage, new: &Stage| {
        let resource = |solved: &Solved, stage: &Stage| {
            let net = &solved.instance.net;
            stage.resource.map(|r| net.resources[r].name.clone())
        };
        (&old.name, old.cost_ps, old.trigger, old.spread)
            == (&new.name, new.cost_ps, new.trigger, new.spread)
            && resource(before, old) == resource(after, new)
    };
    let new = &after.instance.net.stages;
    let old = before.instance.net.stages.iter().enumerate();
    old.filter(|(_, old)| !new.iter().any(|new| alike(old, new)))
        .map(|(at, _)| at)
        .collect()
}

/// The costs of stages that replace others.
fn costs(before: &Solved, after: &Solved) -> Option<String> {
    let by_name = |solved: &Solved| -> BTreeMap<String, u64> {
        let stages = solved.instance.net.stages.iter();
        stages
            .map(|stage: &Stage| (stage.name.clone(), stage.cost_ps))
            .collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let sum = |from: &BTreeMap<String, u64>, without: &BTreeMap<String, u64>| {
        let only: Vec<(&str, u64)> = from
            .iter()
            .filter(|(name, cost)| without.get(*name) != Some(*cost))
            .map(|(name, cost)| (name.as_str(), *cost))
            .collect();
        let names: Vec<&str> = only.iter().map(|(name, _)| *name).collect();
        let take = if names.len() == 1 { "takes" } else { "take" };
        let total: u64 = only.iter().map(|(_, cost)| cost).sum();
        (names.join(" and "), take, total)
    };
    let ((added, take, new_ps), (removed, _, old_ps)) = (sum(&new, &old), sum(&old, &new));
    if added.is_empty() || new_ps <= old_ps {
        return None;
    }
    let new_time = format::time(new_ps);
    Some(if removed.is_empty() {
        format!("{added} {take} {new_time} on top")
    } else {
        format!(
            "{added} {take} {new_time}; {removed} took {}",
            format::time(old_ps)
        )
    })
}

fn latency(
    point: Option<&str>,
    candidate: &Candidate,
    before: &Solved,
    changed: &[usize],
) -> String {
    let chains = &before.instance.chains;
    let between = chains.iter().any(|chain| {
        let points = chain
            .points
            .iter()
            .filter(|p| Some(p.name.to_string().as_str()) == point);
        let mut stages = points.flat_map(|p| between(chain, p));
        stages.any(|stage| changed.contains(&stage))
    });
    let point = point.unwrap_or_default();
    if candidate.kind == ChangeKind::Token {
        return "a frame that is alone never waits".to_owned();
    }
    if between {
        return format!("the time to {point} is waiting, not work");
    }
    format!("it changes no stage on the path to {point}")
}

/// Stages that lie entirely within a capture point's time.
fn between<'a>(chain: &'a ChainInfo, point: &LatencySpan) -> impl Iterator<Item = usize> + use<'a> {
    let at = |stage| chain.stages.iter().position(|s| *s == stage);
    let range = match (at(point.from.0), at(point.to.0)) {
        (Some(from), Some(to)) => {
            let from = from + usize::from(point.from.1 == Edge::End);
            let to = to + usize::from(point.to.1 == Edge::End);
            from.min(to)..to
        }
        _ => 0..0,
    };
    chain.stages[range].iter().copied()
}

fn throughput(candidate: &Candidate, before: &Solved, after: &Solved, changed: &[usize]) -> String {
    let limit = &before.figures.limited_by;
    let critical = &before.steady.critical;
    if let CircuitKind::Offered(_) = critical.kind {
        return "no more frames are offered".to_owned();
    }
    if candidate.kind == ChangeKind::Token {
        return format!("limited by {limit}; one more frame only waits longer");
    }
    if changed.iter().any(|stage| critical.stages.contains(stage)) {
        return format!("then limited by {} just the same", after.figures.limited_by);
    }
    let least = changed
        .iter()
        .filter_map(|stage| before.steady.slack_ps[*stage])
        .min();
    match least {
        Some(slack) if before.steady.exact && slack > 0 => {
            format!(
                "hidden behind the limit ({limit}); it could even take {} longer",
                format::time(slack)
            )
        }
        _ => format!("hidden behind the limit ({limit})"),
    }
}

fn load(candidate: &Candidate, before: &Solved, changed: &[usize]) -> String {
    if before.instance.chains.iter().any(|chain| chain.busy_wait) {
        return "the CPU polls while it waits, so it is always busy".to_owned();
    }
    if candidate.kind == ChangeKind::Token {
        return if before.figures.loss_ratio > 0.0 {
            let limit = &before.figures.limited_by;
            format!("limited by {limit}; one more only fills up later")
        } else {
            "nothing is lost, and the CPU's work for a frame is unchanged".to_owned()
        };
    }
    let cpu = before.instance.chains.iter().find_map(|c| c.load.as_ref());
    let stages = &before.instance.net.stages;
    let Some(cpu) = cpu else {
        return "the model does not say which resource is the CPU".to_owned();
    };
    let on_cpu = |stage: &usize| stages[*stage].resource == Some(cpu.resource);
    if changed.iter().any(on_cpu) {
        return "its share of the CPU's work is too small to show".to_owned();
    }
    "it is not work of the CPU".to_owned()
}
