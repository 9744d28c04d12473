//! Runs a plan on a node: trial after trial, each observation handed on at once.

use std::collections::BTreeMap;

use wirelab_trial::{
    Cancel, Description, Extent, FaultRates, Field, Found, Node, NodeError, Observation, Progress,
    Status, TesterObservation, Trial, Unsupported, Warning,
};
use wirelab_wire::LineRate;

use crate::ceiling::{CachedCeiling, Ceiling, judge};
use crate::matrix::{ExpandError, Step, estimate_ps, expand, step_estimate_ps};
use crate::plan::Plan;
use crate::progress::StepProgress;
use crate::results_writer::WriteError;

/// So many failures of the node in a row end the plan: it is gone, and will not come back by itself.
pub const FAILURES_IN_A_ROW: u32 = 3;

/// Where observations go, each as soon as it is there.
pub trait Sink {
    /// Keep the observation of a step.
    ///
    /// # Errors
    /// [`WriteError`] where it could not be kept; the plan then ends.
    fn take(&mut self, step: &Step, observation: Observation) -> Result<(), WriteError>;

    /// What is taken from now on belongs to the part of this name.
    fn begin_part(&mut self, _name: &str) {}

    /// What the search of the part found, or why it could not begin. Not called where trials were listed.
    fn end_part(&mut self, _result: Result<Found, String>) {}
}

impl Sink for Vec<Observation> {
    fn take(&mut self, _: &Step, observation: Observation) -> Result<(), WriteError> {
        self.push(observation);
        Ok(())
    }
}

/// How a plan ended.
#[derive(Debug)]
pub enum Ended {
    /// Every trial was asked.
    Done,
    /// Cancelled from outside.
    Interrupted,
    /// It has no trials that could be run.
    BadPlan(ExpandError),
    /// No further trial could have succeeded: a privilege is missing, or the node failed again and again.
    Failed(NodeError),
    /// The observations could not be kept.
    Unsaved(WriteError),
}

/// What came of a plan. Every trial that was asked is in one of the four counts.
#[derive(Debug)]
pub struct PlanOutcome {
    /// How it ended.
    pub ended: Ended,
    /// Trials that ran to their end.
    pub complete: u64,
    /// Trials that ended early.
    pub partial: u64,
    /// Trials without a result that can be used.
    pub void: u64,
    /// Trials that the node cannot do.
    pub unsupported: u64,
    /// Trials of the plan that were never asked.
    pub not_run: u64,
}

impl PlanOutcome {
    /// Whether every trial was asked and kept, whatever came of it.
    pub fn is_done(&self) -> bool {
        matches!(self.ended, Ended::Done)
    }
}

/// Run every trial of a plan on a node.
///
/// Before the first trial of each framing, size, direction and number of ports the tester's own ceiling is
/// taken. `progress` gets milliseconds of expected time: `done` of `total`, so the rest is the time left. A trial
/// that the node cannot do, or that failed, is kept as a void observation with the reason and a warning
/// (`unsupported`, `bad-trial`, `node-failed`), and the plan goes on.
pub fn run_plan(
    node: &mut dyn Node,
    plan: &Plan,
    ceiling: &mut dyn Ceiling,
    progress: &dyn Progress,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> PlanOutcome {
    let description = node.describe();
    let steps = match expand(plan, description.capabilities.ports) {
        Ok(steps) => steps,
        Err(error) => return PlanOutcome::of(0, Ended::BadPlan(error)),
    };
    let link = description
        .capabilities
        .link_bits_per_s
        .and_then(LineRate::new);
    // What no trial of the plan can be, whatever the node does, is found before the first.
    let bad = steps.iter().find_map(|step| {
        let link = step.trial.link().or(link);
        step.trial
            .load
            .frames_per_s(&step.sizes, step.trial.framing.layer, link)
            .err()
    });
    if let Some(error) = bad {
        return PlanOutcome::of(0, Ended::BadPlan(ExpandError::Load(error)));
    }
    let run = Run {
        total_ps: estimate_ps(&steps, link),
        link,
        description,
        node,
        ceiling: CachedCeiling::new(ceiling),
        progress,
        cancel,
        sink,
        before_ps: 0,
        failures: 0,
        outcome: PlanOutcome::of(steps.len(), Ended::Done),
    };
    run.all(&steps)
}

struct Run<'a> {
    node: &'a mut dyn Node,
    description: Description,
    link: Option<LineRate>,
    ceiling: CachedCeiling<'a>,
    progress: &'a dyn Progress,
    cancel: &'a Cancel,
    sink: &'a mut dyn Sink,
    before_ps: u64,
    total_ps: u64,
    failures: u32,
    outcome: PlanOutcome,
}

impl Run<'_> {
    fn all(mut self, steps: &[Step]) -> PlanOutcome {
        for (index, step) in steps.iter().enumerate() {
            if self.cancel.is_cancelled() {
                self.outcome.ended = Ended::Interrupted;
                break;
            }
            if let Err(ended) = self.one(step, index + 1, steps.len()) {
                self.outcome.ended = ended;
                break;
            }
        }
        self.outcome
    }

    fn one(&mut self, step: &Step, number: usize, of: usize) -> Result<(), Ended> {
        let step_ps = step_estimate_ps(step, self.link);
        let label = format!("trial {number} of {of}");
        let progress =
            StepProgress::new(self.progress, self.before_ps, step_ps, self.total_ps, label);
        self.before_ps = self.before_ps.saturating_add(step_ps);
        progress.report(0, 1, "the tester's own ceiling");
        let ceiling = self.ceiling.frames_per_s(&step.trial, step.sizes);
        if self.cancel.is_cancelled() {
            return Err(Ended::Interrupted);
        }
        let ran = self.warm_up(step, &progress).and_then(|()| {
            if self.cancel.is_cancelled() {
                return Ok(None);
            }
            let observation = self.node.run(&step.trial, &progress, self.cancel)?;
            Ok(Some(observation))
        });
        let (observation, fatal) = match ran {
            Ok(None) => return Err(Ended::Interrupted),
            Ok(Some(mut observation)) => {
                self.failures = 0;
                judge(&mut observation, ceiling);
                (observation, None)
            }
            Err(error) => self.without_observation(step, error, of)?,
        };
        self.outcome.count(&observation);
        let early = observation.status != Status::Complete;
        self.sink.take(step, observation).map_err(Ended::Unsaved)?;
        match fatal {
            // The last trial may have been the one that was cancelled.
            _ if early && self.cancel.is_cancelled() => Err(Ended::Interrupted),
            Some(error) => Err(Ended::Failed(error)),
            None => Ok(()),
        }
    }

    /// The unrecorded trial before a recorded one, where one is asked.
    fn warm_up(&mut self, step: &Step, progress: &dyn Progress) -> Result<(), NodeError> {
        if step.warmup_ps == 0 {
            return Ok(());
        }
        let trial = Trial {
            extent: Extent::Time {
                time_ps: step.warmup_ps,
            },
            faults: FaultRates::default(),
            ..step.trial.clone()
        };
        progress.report(0, 1, "warm-up");
        self.node
            .run(&trial, &(), self.cancel)
            .map(drop)
            .map_err(in_warm_up)
    }

    /// The observation that says why there is none, and the error where the plan must end with it.
    fn without_observation(
        &mut self,
        step: &Step,
        error: NodeError,
        of: usize,
    ) -> Result<(Observation, Option<NodeError>), Ended> {
        let (code, way_out) = match &error {
            // Nothing was asked of the node, so there is nothing to keep.
            NodeError::Privilege(_) => return Err(Ended::Failed(error)),
            NodeError::Unsupported(_) => {
                (UNSUPPORTED, "take it out of the plan, or ask another node")
            }
            NodeError::BadTrial(_) => ("bad-trial", "change the trial as the text says"),
            NodeError::Failed(_) => ("node-failed", "see to the node and run the plan again"),
        };
        let fatal = if matches!(error, NodeError::Failed(_)) {
            self.failures += 1;
            self.failures >= FAILURES_IN_A_ROW || u64::from(self.failures) >= of as u64
        } else {
            false
        };
        let observation = void(step, self.description.clone(), &error, code, way_out);
        Ok((observation, fatal.then_some(error)))
    }
}

/// The code of the warning in the observation of a trial that the node cannot do.
pub const UNSUPPORTED: &str = "unsupported";

fn in_warm_up(error: NodeError) -> NodeError {
    match error {
        NodeError::Unsupported(Unsupported { field, why }) => NodeError::Unsupported(Unsupported {
            field,
            why: format!("{why} (in the warm-up)"),
        }),
        NodeError::BadTrial(why) => NodeError::BadTrial(format!("{why} (in the warm-up)")),
        NodeError::Failed(why) => NodeError::Failed(format!("{why} (in the warm-up)")),
        NodeError::Privilege(why) => NodeError::Privilege(why),
    }
}

fn void(
    step: &Step,
    node: Description,
    error: &NodeError,
    code: &str,
    way_out: &str,
) -> Observation {
    Observation {
        trial: step.trial.clone(),
        sizes: step.sizes,
        node,
        status: Status::Void {
            why: error.to_string(),
        },
        started_unix_ns: Field::absent("the trial did not begin"),
        flows: Vec::new(),
        cpu_load: Field::absent("the trial did not begin"),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation {
            ceiling_frames_per_s: Field::absent("the trial did not begin"),
            was_limit: Field::absent("the trial did not begin"),
        },
        warnings: vec![Warning {
            code: code.to_owned(),
            text: error.to_string(),
            way_out: way_out.to_owned(),
        }],
    }
}

impl PlanOutcome {
    fn of(trials: usize, ended: Ended) -> PlanOutcome {
        PlanOutcome {
            ended,
            complete: 0,
            partial: 0,
            void: 0,
            unsupported: 0,
            not_run: trials as u64,
        }
    }

    fn count(&mut self, observation: &Observation) {
        self.not_run -= 1;
        let unsupported = observation.warnings.iter().any(|w| w.code == UNSUPPORTED);
        match observation.status {
            Status::Complete => self.complete += 1,
            Status::Partial { .. } => self.partial += 1,
            Status::Void { .. } if unsupported => self.unsupported += 1,
            Status::Void { .. } => self.void += 1,
        }
    }
}
