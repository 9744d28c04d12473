//! Explains the speed of a model: the critical circuit, what is hidden behind it, the next limit, two periods as a
//! picture, and the packet roofline.
//!
//! Where the closed form is exact, it is the explanation. Where frames are lost, paced or polled, or stages compete,
//! the rate is from the simulation, and the circuit of the closed form is named only if the simulation reaches it.

mod hidden;
mod laws;
mod limit;
mod lone;
mod play;
mod results;
mod roofline;
mod searches;
mod solve;
mod stages;
mod words;

use wirelab_trial::explanation::{Basis, Explanation, ResourceUse, StageShare};
use wirelab_trial::{Kind, Trial};

use crate::build::{BuildError, Instance};
use crate::file::{CalibratedMetric, NodeFile};
use crate::predict;
use solve::{Purpose, Solved};
use wirelab_sim::net::NetError;
use wirelab_sim::sim::SimError;
use wirelab_sim::steady::CircuitKind;

pub use results::{explain_results, on_link};
pub use searches::explain_file;

/// Most circuits named as next limits.
const NEXT: usize = 3;

/// Why a trial on a node cannot be explained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExplainError {
    /// The node cannot run the trial.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The net has no steady state.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The net cannot be simulated.
    #[error(transparent)]
    Sim(#[from] SimError),
}

/// Explains the result of `trial` on the node.
///
/// # Errors
/// [`ExplainError`] where the node cannot run the trial, or has no steady state.
pub fn explain(file: &NodeFile, trial: &Trial) -> Result<Explanation, ExplainError> {
    let instance = file.instance(trial)?;
    let solved = solve::solve(&instance, Purpose::Picture)?;
    let roofline = roofline::roofline(file, trial)?;
    let critical = solved.critical_stages();
    let timeline = solved.timeline(&instance, &critical);
    let unit = roofline::unit(trial.framing);
    let mut limit = limit::of(&instance, &solved, &roofline);
    limit.because.extend(lone::of_model(&instance));
    let of_link = instance
        .resolved
        .link
        .map(|link| solved.frames_per_s / link.frames_per_s(&instance.resolved.sizes));
    Ok(Explanation {
        node: file.name.clone(),
        title: file.title.clone(),
        trial: trial.clone(),
        sizes: instance.resolved.sizes,
        basis: solved.basis,
        kind: kind(file, &instance),
        period_ps: solved.period_ps(),
        frames_per_s: solved.frames_per_s,
        bits_per_s: solved.frames_per_s
            * 8.0
            * f64::from(roofline::bytes(&instance.resolved.sizes, unit)),
        link_use_ratio: of_link,
        loss_ratio: solved.loss_ratio,
        limit,
        circuit: solved
            .circuit()
            .filter(|c| !matches!(c.kind, CircuitKind::Offered(_)))
            .map(|c| words::circuit(&instance, c)),
        next: next(&instance, &solved),
        stages: shares(file, &instance, &solved, &critical),
        resources: uses(&instance, &solved),
        hidden: hidden::of(&instance, &solved, &timeline),
        notes: notes(file, &instance, &solved),
        timeline,
        roofline,
    })
}

/// The figures of a trial that a roofline uses.
struct Brief {
    /// Frames/s of the first flow.
    pub frames_per_s: f64,
    /// Predicted or calibrated.
    pub kind: Kind,
    /// What limits, in few words.
    pub limited_by: String,
}

/// The rate of an instance and what limits it.
fn brief(file: &NodeFile, instance: &Instance) -> Result<Brief, ExplainError> {
    let solved = solve::solve(instance, Purpose::Rate)?;
    let mut limited_by = limit::brief(instance, &solved);
    if solved.loss_ratio > 0.0 {
        let percent = wirelab_trial::format::percent(solved.loss_ratio);
        limited_by.push_str(&format!(" ({percent} %)"));
    }
    Ok(Brief {
        frames_per_s: solved.frames_per_s,
        kind: kind(file, instance),
        limited_by,
    })
}

/// What limits an instance, in the words of its explanation.
pub(crate) fn limited_by(instance: &Instance) -> Result<String, ExplainError> {
    let solved = solve::solve(instance, Purpose::Limit)?;
    Ok(limit::brief(instance, &solved))
}

/// Calibrated if the node file was calibrated from the time of this very trial.
fn kind(file: &NodeFile, instance: &Instance) -> Kind {
    predict::kind(file, &instance.resolved.trial, CalibratedMetric::Time, None)
}

fn next(instance: &Instance, solved: &Solved) -> Vec<wirelab_trial::explanation::Circuit> {
    let circuits = solved.further_circuits(instance);
    circuits
        .into_iter()
        .take(NEXT)
        .map(|c| words::circuit(instance, c))
        .collect()
}

fn shares(
    file: &NodeFile,
    instance: &Instance,
    solved: &Solved,
    critical: &[usize],
) -> Vec<StageShare> {
    let net = &instance.net;
    let stages = solve::of_first_port(instance);
    let share = |stage: usize| {
        let of = &net.stages[stage];
        StageShare {
            name: of.name.clone(),
            resource: of.resource.map(|r| net.resources[r].name.clone()),
            cost_ps: of.cost_ps,
            share_ratio: solved.share_ratio(instance, stage),
            critical: critical.contains(&stage),
            may_grow_ps: solved.may_grow_ps(stage),
            waits_ps: solved.waits_ps(stage),
            terms: stages::terms(file, instance, stage),
        }
    };
    let real = |stage: &usize| {
        instance
            .origins
            .get(*stage)
            .is_some_and(|o| o.stage.is_some())
    };
    stages.into_iter().filter(real).map(share).collect()
}

fn uses(instance: &Instance, solved: &Solved) -> Vec<ResourceUse> {
    let used = solve::resources_of_first_port(instance);
    used.into_iter()
        .map(|resource| ResourceUse {
            name: instance.net.resources[resource].name.clone(),
            busy_ratio: solved.busy_ratio(instance, resource),
        })
        .collect()
}

fn notes(file: &NodeFile, instance: &Instance, solved: &Solved) -> Vec<String> {
    let mut out = Vec::new();
    if let (Some(requested), Some(sent)) = (instance.raised_from, instance.resolved.sizes.datagram)
    {
        out.push(format!(
            "The test tool sends datagrams of at least {sent} B: the requested {requested} B are {sent} B on the wire."
        ));
    }
    out.extend(solved.notes(instance));
    if instance.resolved.trial.ports > 1 {
        out.push(
            "The ports are identical: the stages, resources and lanes shown are those of the first.".to_owned(),
        );
    }
    for chain in instance.chains.iter().take(1) {
        if chain.busy_wait {
            out.push("The CPU polls while it waits, so its load is always 100 %.".to_owned());
        } else if let Some(load) = chain.load.as_ref().filter(|load| load.idle_ratio > 0.0) {
            let idle = wirelab_trial::format::percent(load.idle_ratio);
            out.push(format!(
                "The idle load of the node, {idle} %, is added to the load of its stages."
            ));
        }
    }
    let of_load = predict::kind(
        file,
        &instance.resolved.trial,
        CalibratedMetric::CpuLoad,
        None,
    );
    if of_load == Kind::Calibrated {
        out.push(
            "The CPU's load in this trial is a figure that the node was calibrated from."
                .to_owned(),
        );
    }
    if !file.changes.is_empty() {
        out.push(format!("Changed by hand: {}.", file.changes.join(", ")));
    }
    if solved.basis == Basis::Simulation {
        out.push("Rates, shares and waits are from the simulation in its steady state.".to_owned());
    }
    out
}
