//! Runs a plan on a node, part by part, and passes each observation on immediately.

use wirelab_trial::search::SearchResult;
use wirelab_trial::{
    Cancel, Description, Node, NodeError, Observation, Progress, ResultsFile, SearchOutcome,
    Status, WarningCode,
};
use wirelab_wire::LineRate;

use crate::ceiling::{CachedCeiling, Ceiling};
use crate::estimate::Estimate;
use crate::matrix::{ExpandError, PlannedTrial};
use crate::part::{PartWork, PlannedPart, parts};
use crate::plan::Plan;
use crate::progress::TimeLeft;
use crate::resume::{Replay, ResumeError, Stored, StoredPart};
use crate::save::WriteError;

/// A plan ends after this many consecutive failures of the node, which is then gone.
pub const FAILURES_IN_A_ROW: u32 = 3;

/// Receives each observation as soon as it exists.
pub trait Sink {
    /// Keeps the observation of a step.
    ///
    /// # Errors
    /// [`WriteError`] where it could not be kept; the plan then ends.
    fn take(&mut self, step: &PlannedTrial, observation: Observation) -> Result<(), WriteError>;

    /// Later observations belong to the part with this name.
    fn begin_part(&mut self, _name: &str) {}

    /// The result of the part's search, or why it could not begin. Not called for listed trials.
    fn end_part(&mut self, _result: Result<SearchOutcome, String>) {}
}

impl Sink for Vec<Observation> {
    fn take(&mut self, _: &PlannedTrial, observation: Observation) -> Result<(), WriteError> {
        self.push(observation);
        Ok(())
    }
}

/// How a plan ended.
#[derive(Debug)]
pub enum Ended {
    /// Every trial ran.
    Done,
    /// Cancelled from outside.
    Interrupted,
    /// It has no possible trials.
    BadPlan(ExpandError),
    /// The stored results do not belong to the plan.
    BadResume(ResumeError),
    /// No further trial could succeed: a privilege is missing, or the node failed repeatedly.
    Failed(NodeError),
    /// The observations could not be written.
    Unsaved(WriteError),
}

/// The result of a plan. Every listed trial is in one of the first five counts, every begun search in one of the last
/// three or in `unsupported`.
#[derive(Debug)]
pub struct PlanOutcome {
    /// How it ended.
    pub ended: Ended,
    /// Complete listed trials.
    pub complete: u64,
    /// Listed trials that ended early.
    pub partial: u64,
    /// Listed trials without a usable result.
    pub void: u64,
    /// Listed trials and searches that the node cannot do.
    pub unsupported: u64,
    /// Listed trials of the plan that never ran.
    pub not_run: u64,
    /// Searches that ended normally or at one of their limits.
    pub searched: u64,
    /// Searches that failed.
    pub search_failed: u64,
    /// Searches that could not begin, e.g. bursts without a link rate.
    pub search_refused: u64,
}

/// The results of a plan, and how it ended.
pub struct PlanResult {
    /// The results.
    pub file: ResultsFile,
    /// How the plan ended.
    pub outcome: PlanOutcome,
}

impl PlanResult {
    /// Appends the result of another plan, or of the same plan on another node. This plan must have ended normally.
    pub fn join(&mut self, next: PlanResult) {
        self.file.append(next.file);
        self.outcome.add(next.outcome);
    }
}

impl PlanOutcome {
    /// Whether every trial ran and was kept, whatever its result.
    pub fn is_done(&self) -> bool {
        matches!(self.ended, Ended::Done)
    }

    /// Whether the node can do nothing of what the plan requests.
    pub const fn is_unsupported(&self) -> bool {
        let begun = self.complete + self.partial + self.void + self.searched + self.search_failed;
        self.unsupported > 0 && begun == 0
    }

    /// Adds the result of a plan that ran after this one, which had ended normally.
    pub fn add(&mut self, next: PlanOutcome) {
        self.ended = next.ended;
        self.complete += next.complete;
        self.partial += next.partial;
        self.void += next.void;
        self.unsupported += next.unsupported;
        self.not_run += next.not_run;
        self.searched += next.searched;
        self.search_failed += next.search_failed;
        self.search_refused += next.search_refused;
    }

    pub(crate) fn of(trials: u64, ended: Ended) -> PlanOutcome {
        PlanOutcome {
            ended,
            complete: 0,
            partial: 0,
            void: 0,
            unsupported: 0,
            not_run: trials,
            searched: 0,
            search_failed: 0,
            search_refused: 0,
        }
    }

    pub(crate) fn count(&mut self, observation: &Observation) {
        self.not_run -= 1;
        let unsupported = observation.warned(WarningCode::UNSUPPORTED);
        match observation.status {
            Status::Complete => self.complete += 1,
            Status::Partial { .. } => self.partial += 1,
            Status::Void { .. } if unsupported => self.unsupported += 1,
            Status::Void { .. } => self.void += 1,
        }
    }
}

/// Runs every part of a plan on a node.
///
/// Before the first trial of each framing, size, direction and number of ports the tester's own ceiling is measured.
/// `progress` gets milliseconds of expected time, `done` of `total`, so the difference is the remaining time; the total
/// shrinks where a search needs fewer trials than allowed. A trial that the node cannot do, or that failed, is kept as
/// a void observation with the reason and a warning (`unsupported`, `bad-trial`, `node-failed`), and the plan
/// continues. In a datasheet, a missing privilege is handled in the same way.
pub fn run_plan(
    node: &mut dyn Node,
    plan: &Plan,
    ceiling: &mut dyn Ceiling,
    progress: &dyn Progress,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> PlanOutcome {
    resume_plan(
        node,
        plan,
        Stored::default(),
        ceiling,
        progress,
        cancel,
        sink,
    )
}

/// Resumes a stored plan: complete parts are taken as they are. The part that was cut short runs again with its
/// observations as the first answers, so that a search continues where it was. The sink gets all observations, stored
/// ones first.
pub fn resume_plan(
    node: &mut dyn Node,
    plan: &Plan,
    stored: Stored,
    ceiling: &mut dyn Ceiling,
    progress: &dyn Progress,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> PlanOutcome {
    let description = node.describe();
    let parts = match parts(plan, description.capabilities.ports) {
        Ok(parts) => parts,
        Err(error) => return PlanOutcome::of(0, Ended::BadPlan(error)),
    };
    let link = description
        .capabilities
        .link_bits_per_s
        .and_then(LineRate::new);
    if let Err(error) = possible(&parts, link) {
        return PlanOutcome::of(0, Ended::BadPlan(error));
    }
    if let Err(error) = stored.check(&parts) {
        return PlanOutcome::of(0, Ended::BadResume(error));
    }
    let ceiling = CachedCeiling::new(ceiling);
    let listed = parts.iter().map(PlannedPart::trials).sum();
    let progress = TimeLeft::new(progress);
    let run = Run {
        estimate: Estimate {
            link,
            overhead_ps: node.overhead_ps(),
        },
        datasheet: plan.datasheet,
        description,
        node: Replay::new(node),
        ceiling,
        progress: &progress,
        cancel,
        sink,
        found: Vec::new(),
        before_ps: 0,
        after_ps: 0,
        number: 0,
        listed,
        failures: 0,
        outcome: PlanOutcome::of(listed, Ended::Done),
    };
    run.all(&parts, stored)
}

/// Finds listed trials that no node can run, before the first trial.
fn possible(parts: &[PlannedPart], link: Option<LineRate>) -> Result<(), ExpandError> {
    for step in parts.iter().flat_map(PlannedPart::steps) {
        let (trial, link) = (&step.trial, step.trial.link().or(link));
        let layer = trial.framing.layer;
        trial.load.frames_per_s(&step.sizes, layer, link)?;
    }
    Ok(())
}

/// A plan that is running.
pub(crate) struct Run<'a> {
    pub node: Replay<'a>,
    pub description: Description,
    pub datasheet: bool,
    pub estimate: Estimate,
    pub ceiling: CachedCeiling<'a>,
    pub progress: &'a dyn Progress,
    pub cancel: &'a Cancel,
    pub sink: &'a mut dyn Sink,
    /// The results of rate searches.
    pub found: Vec<SearchResult>,
    /// Time of the finished trials, and expected time of the parts after this one.
    pub before_ps: u64,
    pub after_ps: u64,
    /// Number of listed trials so far, and in all.
    pub number: u64,
    pub listed: u64,
    pub failures: u32,
    pub outcome: PlanOutcome,
}

impl Run<'_> {
    fn all(mut self, parts: &[PlannedPart], mut stored: Stored) -> PlanOutcome {
        let mut left_ps: Vec<u64> = parts.iter().map(|p| self.estimate.part_ps(p)).collect();
        // Stored parts take no time.
        left_ps
            .iter_mut()
            .take(stored.finished())
            .for_each(|ps| *ps = 0);
        for (at, part) in parts.iter().enumerate() {
            if self.cancel.is_cancelled() {
                self.outcome.ended = Ended::Interrupted;
                break;
            }
            let after = left_ps[at + 1..].iter();
            self.after_ps = after.fold(0, |sum, ps| sum.saturating_add(*ps));
            self.sink.begin_part(&part.name);
            let done = match stored.next() {
                Some(stored) if stored.finished => self.take(part, stored),
                Some(stored) => self.go_on(part, stored),
                None => self.part(part),
            };
            if let Err(ended) = done {
                self.outcome.ended = ended;
                break;
            }
        }
        self.outcome
    }

    fn part(&mut self, part: &PlannedPart) -> Result<(), Ended> {
        match &part.what {
            PartWork::Steps(steps) => self.steps(steps),
            _ => self.search(part),
        }
    }

    /// A part that is already complete.
    fn take(&mut self, part: &PlannedPart, stored: StoredPart) -> Result<(), Ended> {
        let steps = part.steps();
        for (at, observation) in stored.observations.into_iter().enumerate() {
            if self.outcome.not_run > 0 && part.trials() > 0 {
                self.outcome.count(&observation);
                self.number += 1;
            }
            let step = match steps.get(at) {
                Some(step) => step.clone(),
                None => PlannedTrial::of(&part.name, at, &observation),
            };
            self.sink.take(&step, observation).map_err(Ended::Unsaved)?;
        }
        if let Some(found) = stored.part.found {
            return self.keep(found);
        } else if let Some(why) = stored.part.refused {
            self.outcome.search_refused += 1;
            self.sink.end_part(Err(why));
        }
        Ok(())
    }

    /// A part that was interrupted.
    fn go_on(&mut self, part: &PlannedPart, stored: StoredPart) -> Result<(), Ended> {
        self.ceiling.replay(&stored.observations);
        let listed = matches!(part.what, PartWork::Steps(_));
        self.node.answer_with(stored.observations, listed);
        let done = self.part(part);
        self.ceiling.replay([]);
        let left = self.node.is_left() && !self.cancel.is_cancelled();
        match self.node.other.take() {
            Some(other) => Err(Ended::BadResume(other)),
            None if left => Err(Ended::BadResume(ResumeError::Plan(format!(
                "its part '{}' holds more trials than the plan has",
                part.name
            )))),
            None => done,
        }
    }
}
