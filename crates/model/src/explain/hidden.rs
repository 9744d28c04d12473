//! Stages that are hidden: they work while the critical circuit works on another frame.

use wirelab_trial::explanation::{Hidden, StageBox, Timeline};
use wirelab_trial::format::time;

use super::solve::{Solved, of_first_port};
use super::words;
use crate::build::Instance;
use wirelab_sim::steady::CircuitKind;

/// A stage is hidden behind another one if they overlap for this share of its own time.
const OVERLAPS: f64 = 0.02;

/// Work outside the critical circuit, each with what hides it; stages of one resource are one entry.
pub(super) fn of(instance: &Instance, solved: &Solved, timeline: &Timeline) -> Vec<Hidden> {
    let limit = solved.circuit();
    if limit.is_none_or(|c| matches!(c.kind, CircuitKind::Offered(_))) {
        return Vec::new();
    }
    let net = &instance.net;
    let critical = solved.critical_stages();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for stage in of_first_port(instance) {
        if critical.contains(&stage) || net.stages[stage].cost_ps == 0 {
            continue;
        }
        let resource = net.stages[stage].resource;
        let together = |group: &&mut Vec<usize>| {
            resource.is_some() && net.stages[group[0]].resource == resource
        };
        match groups.iter_mut().find(together) {
            Some(group) => group.push(stage),
            None => groups.push(vec![stage]),
        }
    }
    let groups = groups.iter();
    groups
        .filter_map(|group| hidden(instance, solved, timeline, group))
        .collect()
}

fn hidden(
    instance: &Instance,
    solved: &Solved,
    timeline: &Timeline,
    group: &[usize],
) -> Option<Hidden> {
    let net = &instance.net;
    let names: Vec<String> = group.iter().map(|s| net.stages[*s].name.clone()).collect();
    let behind = behind(timeline, &names);
    if behind.is_empty() {
        return None;
    }
    let may_grow_ps = group.iter().filter_map(|s| solved.may_grow_ps(*s)).min();
    let alone = group.len() == 1;
    let grow = match may_grow_ps {
        Some(0) => ", and limits just as much".to_owned(),
        Some(ps) => {
            let together = if alone { "it" } else { "together they" };
            format!("; {together} may grow by {} before that limits", time(ps))
        }
        None => String::new(),
    };
    let subject = match group {
        [one] => format!("{} runs", words::stage(instance, *one)),
        all => {
            let sum: u64 = all.iter().map(|s| net.stages[*s].cost_ps).sum();
            let resource = net.stages[all[0]]
                .resource
                .map_or("", |r| &net.resources[r].name);
            format!(
                "{} ({} together, {resource}) run",
                names.join(", "),
                time(sum)
            )
        }
    };
    let others = behind.join(" and ");
    let works = if behind.len() == 1 { "works" } else { "work" };
    let words = format!("{subject} while {others} {works} on other frames{grow}.");
    Some(Hidden {
        stages: names,
        behind,
        may_grow_ps,
        words,
    })
}

/// Critical stages that work at the same time as `stages`, in the order of the timeline.
fn behind(timeline: &Timeline, stages: &[String]) -> Vec<String> {
    let boxes = || timeline.lanes.iter().flat_map(|lane| &lane.boxes);
    let own: Vec<&StageBox> = boxes().filter(|b| stages.contains(&b.stage)).collect();
    let took: u64 = own.iter().map(|b| b.end_ps - b.start_ps).sum();
    let mut overlaps: Vec<(String, u64)> = Vec::new();
    for other in boxes().filter(|b| b.critical) {
        let both = own.iter().map(|b| {
            let end = b.end_ps.min(other.end_ps);
            end.saturating_sub(b.start_ps.max(other.start_ps))
        });
        let both: u64 = both.sum();
        match overlaps.iter_mut().find(|(name, _)| *name == other.stage) {
            Some((_, sum)) => *sum += both,
            None => overlaps.push((other.stage.clone(), both)),
        }
    }
    let enough = |ps: u64| ps > 0 && ps as f64 >= OVERLAPS * took as f64;
    let overlaps = overlaps.into_iter().filter(|(_, ps)| enough(*ps));
    overlaps.map(|(name, _)| name).collect()
}
