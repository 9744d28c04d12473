//! The steady state of an instance, in closed form where that is exact, else from the simulation.

use wirelab_trial::explanation::{Basis, Timeline};
use wirelab_trial::format;

use super::ExplainError;
use super::play::{self, Played};
use crate::build::Instance;
use wirelab_sim::steady::{Circuit, CircuitKind, Reason, Steady, steady_state};

/// The simulation reaches the bound of the closed form if it is this near.
const REACHES: f64 = 0.01;

/// An instance solved.
pub(super) struct Solved {
    /// Where the rate comes from.
    pub basis: Basis,
    /// Frames/s of the first flow.
    pub frames_per_s: f64,
    /// Share of its frames that are lost in the node.
    pub loss_ratio: f64,
    /// Share of its frames that never reach the node.
    pub lost_before_ratio: f64,
    steady: Steady,
    played: Option<Played>,
    /// Whether the rate equals that of the closed form.
    reaches: bool,
}

/// What an instance is solved for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A rate.
    Rate,
    /// The name of the limit.
    Limit,
    /// A picture, which is simulated even where the closed form is exact.
    Picture,
}

/// Solves an instance.
pub(super) fn solve(instance: &Instance, purpose: Purpose) -> Result<Solved, ExplainError> {
    let net = &instance.net;
    let steady = steady_state(net)?;
    let frames = match purpose {
        Purpose::Rate => play::FEW_FRAMES,
        // As many for both, so that both name the same limit.
        Purpose::Limit | Purpose::Picture => play::FRAMES,
    };
    let played = match steady.exact && purpose != Purpose::Picture {
        true => None,
        false => Some(play::play(net, frames)?),
    };
    let own = steady
        .chains
        .first()
        .and_then(Option::as_ref)
        .unwrap_or(&steady.critical);
    let bound = own.period().per_s();
    let (mut frames_per_s, mut loss_ratio, mut lost_before_ratio) = (bound, 0.0, 0.0);
    if let Some(played) = played.as_ref().filter(|_| !steady.exact) {
        let of = |all: &[f64]| all.first().copied().unwrap_or(0.0);
        // The bound is exact, but a sample of frames may look faster.
        frames_per_s = of(&played.frames_per_s).min(bound);
        loss_ratio = of(&played.loss_ratio);
        lost_before_ratio = of(&played.lost_before_ratio);
    }
    let basis = if steady.exact {
        Basis::ClosedForm
    } else {
        Basis::Simulation
    };
    let reaches = frames_per_s >= bound * (1.0 - REACHES);
    Ok(Solved {
        basis,
        frames_per_s,
        loss_ratio,
        lost_before_ratio,
        steady,
        played,
        reaches,
    })
}

impl Solved {
    /// Time between two frames of the first flow on average.
    pub fn period_ps(&self) -> f64 {
        if self.frames_per_s > 0.0 {
            1e12 / self.frames_per_s
        } else {
            0.0
        }
    }

    /// The slowest circuit of the first flow, where the rate is its rate.
    pub fn circuit(&self) -> Option<&Circuit> {
        self.bound().filter(|_| self.reaches)
    }

    /// The slowest circuit of the first flow, whether or not the rate reaches it.
    pub fn bound(&self) -> Option<&Circuit> {
        self.steady.chains.first()?.as_ref()
    }

    /// Stages on the slowest circuits of all flows; empty where nothing in the node limits.
    pub fn critical_stages(&self) -> Vec<usize> {
        if !self.reaches {
            return Vec::new();
        }
        let circuits = self.steady.chains.iter().flatten();
        let own = circuits.filter(|c| !matches!(c.kind, CircuitKind::Offered(_)));
        own.flat_map(|c| c.stages.iter().copied()).collect()
    }

    /// Faster circuits of the first flow's own stages, slowest first.
    pub fn further_circuits(&self, instance: &Instance) -> Vec<&Circuit> {
        let own = of_first_port(instance);
        let limit = self.bound();
        let mut out: Vec<&Circuit> = Vec::new();
        for circuit in &self.steady.circuits {
            let is_own = circuit.stages.iter().any(|stage| own.contains(stage));
            let known = limit.is_some_and(|l| l == circuit || l.period() < circuit.period());
            // A resource and places may give the same stages with the same time: one of them is listed.
            let again = out.iter().chain(&limit).any(|c| {
                c.period() == circuit.period()
                    && circuit.stages.iter().all(|s| c.stages.contains(s))
            });
            let offered = matches!(circuit.kind, CircuitKind::Offered(_));
            if is_own && !known && !again && !offered && circuit.cost_ps > 0 {
                out.push(circuit);
            }
        }
        out
    }

    /// How much a stage may grow before it limits.
    pub fn may_grow_ps(&self, stage: usize) -> Option<u64> {
        self.steady
            .slack_ps
            .get(stage)
            .copied()
            .flatten()
            .filter(|_| self.reaches)
    }

    /// Mean time a frame waits before a stage, from the simulation.
    pub fn waits_ps(&self, stage: usize) -> Option<f64> {
        let played = self
            .played
            .as_ref()
            .filter(|_| self.basis == Basis::Simulation)?;
        played.waits_ps.get(stage).copied().flatten()
    }

    /// Cost of a stage for each frame that leaves the node; frames of a batch share it.
    pub fn cost_a_frame_ps(&self, instance: &Instance, stage: usize) -> f64 {
        match &self.played {
            Some(played) if self.basis == Basis::Simulation => played.cost_a_frame_ps[stage],
            _ => instance.net.stages[stage].cost_ps as f64,
        }
    }

    /// Share of the time that a stage works.
    pub fn share_ratio(&self, instance: &Instance, stage: usize) -> f64 {
        match &self.played {
            Some(played) if self.basis == Basis::Simulation => played.share_ratio[stage],
            _ => instance.net.stages[stage].cost_ps as f64 / self.period_ps().max(1.0),
        }
    }

    /// Share of the time that a resource is held.
    pub fn busy_ratio(&self, instance: &Instance, resource: usize) -> f64 {
        if let Some(played) = self
            .played
            .as_ref()
            .filter(|_| self.basis == Basis::Simulation)
        {
            return played.busy_ratio[resource];
        }
        let stages = instance
            .net
            .stages
            .iter()
            .filter(|s| s.resource == Some(resource));
        let held: u64 = stages.map(|s| s.cost_ps).sum();
        (held as f64 / self.period_ps().max(1.0)).min(1.0)
    }

    /// Stages where frames are lost, most lost frames first.
    pub fn lost_at(&self) -> Vec<usize> {
        let lost = self
            .played
            .iter()
            .flat_map(|p| p.lost_at.iter().enumerate());
        lost.filter(|(_, n)| **n > 0)
            .map(|(stage, _)| stage)
            .collect()
    }

    /// Two periods.
    pub fn timeline(&self, instance: &Instance, critical: &[usize]) -> Timeline {
        let first = of_first_port(instance)
            .into_iter()
            .find(|s| instance.net.stages[*s].cost_ps > 0);
        let begin = critical
            .iter()
            .copied()
            .find(|s| instance.net.stages[*s].cost_ps > 0);
        match &self.played {
            Some(played) => {
                let anchor = begin.or(first).unwrap_or(0);
                play::timeline(instance, played, self.period_ps(), critical, anchor)
            }
            None => Timeline {
                start_ps: 0,
                end_ps: 0,
                period_ps: self.period_ps(),
                lanes: Vec::new(),
            },
        }
    }

    /// Notes on how it was solved.
    pub fn notes(&self, instance: &Instance) -> Vec<String> {
        let mut out = Vec::new();
        if self.lost_before_ratio > 0.0 {
            let share = format::percent(self.lost_before_ratio);
            out.push(format!(
                "{share} % of the frames never reach the node: they are lost on the tester's side."
            ));
        }
        if let Some(bound) = self
            .bound()
            .filter(|_| !self.reaches && self.loss_ratio == 0.0)
        {
            let names = &instance.net;
            let why: Vec<String> = self
                .steady
                .reasons
                .iter()
                .filter_map(|r| reason(names, r))
                .collect();
            out.push(format!(
                "The closed form allows a frame every {}; the simulation does not reach it{}.",
                format::time_f(bound.period().ps()),
                if why.is_empty() {
                    String::new()
                } else {
                    format!(", because {}", why.join(" and "))
                }
            ));
        }
        out
    }
}

fn reason(net: &wirelab_sim::net::Net, reason: &Reason) -> Option<String> {
    match *reason {
        Reason::Shared(r) | Reason::SharedByFlows(r) => Some(format!(
            "stages wait for one another at {}",
            net.resources[r].name
        )),
        Reason::Paced(s) => Some(format!("{} starts only now and then", net.stages[s].name)),
        Reason::Arrivals(_) => None,
        Reason::Drops(s) => Some(format!("{} drops frames", net.stages[s].name)),
    }
}

/// Stages of the first port's chains, in the order in which a frame meets them.
pub(super) fn of_first_port(instance: &Instance) -> Vec<usize> {
    let first = instance.chains.iter().filter(|c| c.port <= 1);
    first.flat_map(|c| c.stages.iter().copied()).collect()
}

/// Resources of the first port's chains, in the order in which a frame meets them.
pub(super) fn resources_of_first_port(instance: &Instance) -> Vec<usize> {
    let mut out = Vec::new();
    for stage in of_first_port(instance) {
        if let Some(resource) = instance.net.stages[stage].resource {
            if !out.contains(&resource) {
                out.push(resource);
            }
        }
    }
    out
}
