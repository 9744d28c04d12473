//! Runs listed trials, and those around a rate that was found.

use std::collections::BTreeMap;

use wirelab_trial::system_error::what_and_fix;
use wirelab_trial::{
    Description, Extent, FaultRates, Field, Node, NodeError, Observation, Progress, Sizes, Status,
    TesterObservation, Trial, Unsupported, Warning, WarningCode,
};

use crate::matrix::PlannedTrial;
use crate::progress::StepProgress;
use crate::run::{Ended, FAILURES_IN_A_ROW, Run};

impl Run<'_> {
    /// Runs the trials one after another.
    pub(crate) fn steps(&mut self, steps: &[PlannedTrial]) -> Result<(), Ended> {
        let mut left_ps = self.estimate.steps_ps(steps);
        for step in steps {
            if self.cancel.is_cancelled() {
                return Err(Ended::Interrupted);
            }
            self.one(step, left_ps)?;
            left_ps = left_ps.saturating_sub(self.estimate.step_ps(step));
        }
        Ok(())
    }

    /// Runs a trial; it and the following ones of its part are expected to take `left_ps`.
    fn one(&mut self, step: &PlannedTrial, left_ps: u64) -> Result<(), Ended> {
        self.number += 1;
        let step_ps = self.estimate.step_ps(step);
        let total_ps = self.before_ps.saturating_add(left_ps);
        let total_ps = total_ps.saturating_add(self.after_ps);
        let label = format!("trial {} of {}", self.number, self.listed);
        let progress = StepProgress::new(self.progress, self.before_ps, step_ps, total_ps, label);
        self.before_ps = self.before_ps.saturating_add(step_ps);
        // A stored observation already has its ceiling.
        if !self.node.answers_next() {
            progress.report(0, 1, "the tester's own ceiling");
            self.ceiling.fresh(&step.trial, step.sizes);
        }
        if self.cancel.is_cancelled() {
            return Err(Ended::Interrupted);
        }
        let observed = self.warm_up(step, &progress).and_then(|()| {
            if self.cancel.is_cancelled() {
                return Ok(None);
            }
            let mut observation = self.node.run(&step.trial, &progress, self.cancel)?;
            self.ceiling.judge(&mut observation);
            Ok(Some(observation))
        });
        let (observation, fatal) = match observed {
            Ok(None) => return Err(Ended::Interrupted),
            Ok(Some(observation)) => {
                self.failures = 0;
                (observation, None)
            }
            // The stored observation does not match the plan, so the run ends and keeps nothing.
            Err(_) if self.node.other.is_some() => return Err(Ended::Interrupted),
            // It failed because it was cancelled: there is nothing to keep.
            Err(NodeError::Failed(_)) if self.cancel.is_cancelled() => {
                return Err(Ended::Interrupted);
            }
            Err(error) => self.without_observation(step, error)?,
        };
        self.outcome.count(&observation);
        let early = observation.status != Status::Complete;
        self.sink.take(step, observation).map_err(Ended::Unsaved)?;
        match fatal {
            // The cancelled trial may have been the last one.
            _ if early && self.cancel.is_cancelled() => Err(Ended::Interrupted),
            Some(error) => Err(Ended::Failed(error)),
            None => Ok(()),
        }
    }

    /// The unrecorded trial before a recorded one, if requested.
    fn warm_up(&mut self, step: &PlannedTrial, progress: &dyn Progress) -> Result<(), NodeError> {
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
        self.node.warm_up(&trial, self.cancel).map_err(in_warm_up)
    }

    /// A void observation with the reason, and the error if it must end the plan.
    fn without_observation(
        &mut self,
        step: &PlannedTrial,
        error: NodeError,
    ) -> Result<(Observation, Option<NodeError>), Ended> {
        // The node did nothing, so there is nothing to keep.
        if matches!(error, NodeError::Privilege(_)) && !self.datasheet {
            return Err(Ended::Failed(error));
        }
        let fatal = if matches!(error, NodeError::Failed(_)) {
            self.failures += 1;
            self.failures >= FAILURES_IN_A_ROW || u64::from(self.failures) >= self.listed
        } else {
            false
        };
        let observation = void(&step.trial, step.sizes, self.description.clone(), &error);
        Ok((observation, fatal.then_some(error)))
    }
}

fn in_warm_up(error: NodeError) -> NodeError {
    match error {
        NodeError::Unsupported(Unsupported { field, why }) => NodeError::Unsupported(Unsupported {
            field,
            why: format!("in the warm-up: {why}"),
        }),
        NodeError::BadTrial(why) => NodeError::BadTrial(format!("in the warm-up: {why}")),
        NodeError::Failed(why) => NodeError::Failed(format!("in the warm-up: {why}")),
        NodeError::Privilege(why) => NodeError::Privilege(why),
    }
}

/// The observation of a trial without result: why, and what to do.
pub(crate) fn void(
    trial: &Trial,
    sizes: Sizes,
    node: Description,
    error: &NodeError,
) -> Observation {
    let (code, usual) = match error {
        NodeError::Privilege(_) => (
            WarningCode::UNSUPPORTED,
            "grant it, or do without these figures",
        ),
        NodeError::Unsupported(_) => (
            WarningCode::UNSUPPORTED,
            "take it out of the plan, or use another node",
        ),
        NodeError::BadTrial(_) => (WarningCode::BAD_TRIAL, "change the trial as the text says"),
        NodeError::Failed(_) => (
            WarningCode::NODE_FAILED,
            "repair the node and run the plan again",
        ),
    };
    let why = error.to_string();
    let (what, fix) = what_and_fix(&why);
    let fix = fix.unwrap_or(usual);
    let not_begun = "the trial did not begin";
    Observation {
        trial: trial.clone(),
        sizes,
        node,
        status: Status::Void { why: why.clone() },
        started_unix_ns: Field::absent(not_begun),
        flows: Vec::new(),
        cpu_load: Field::absent(not_begun),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::new(Field::absent(not_begun), Field::absent(not_begun)),
        warnings: vec![Warning::new(code, what, fix)],
    }
}
