//! Resumes an interrupted plan: trials in its results file are not repeated.

use std::collections::{BTreeMap, VecDeque};

use wirelab_trial::format;
use wirelab_trial::{
    Cancel, Description, Environment, Node, NodeError, Observation, Part, Progress, ResultsFile,
    Retrying, SearchOutcome, Status, Trial, WarningCode,
};

use crate::busy;
use crate::part::{PartWork, PlannedPart};

/// Why a results file cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// It has no parts.
    #[error("it has no parts, so the end of its plan is unknown; fix: measure again with -o")]
    NoParts,
    /// Its parts are not contiguous.
    #[error(
        "its part '{0}' does not begin where the one before ends: the file was changed; fix: measure again with -o"
    )]
    Gap(String),
    /// Another node.
    #[error(
        "it holds results of {stored}, and {requested} was requested; fix: name {stored}, or measure again with -o"
    )]
    Node {
        /// The node of the file.
        stored: String,
        /// The node that was named.
        requested: String,
    },
    /// The node has changed since.
    #[error(
        "the node has changed since: its {key} was '{stored}' and is '{now}', so figures would not go together; fix: measure again with -o"
    )]
    Setup {
        /// The set-up key.
        key: String,
        /// As the file has it.
        stored: String,
        /// The value now.
        now: String,
    },
    /// Another tester.
    #[error(
        "it was measured by a tester with {stored}, and this one has {now}; fix: resume there, or measure again with -o"
    )]
    Tester {
        /// Kernel or CPU of the file.
        stored: String,
        /// This host's.
        now: String,
    },
    /// Another plan.
    #[error(
        "it is of another plan: {0}; fix: give the plan and options that made it, or measure again with -o"
    )]
    Plan(String),
}

/// The stored part of a plan: its parts in order, each with its observations.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    parts: VecDeque<StoredPart>,
}

/// A part that was begun.
#[derive(Clone, Debug)]
pub(crate) struct StoredPart {
    pub part: Part,
    pub observations: VecDeque<Observation>,
    /// Whether it is complete.
    pub finished: bool,
}

impl Stored {
    /// The contents of a results file, to resume its plan on this node and host.
    ///
    /// A listed trial that was cut short, or failed with the node, is repeated. So is the last trial of a search; a
    /// search has already repeated earlier failures.
    ///
    /// # Errors
    /// [`ResumeError`] says why the file does not match the node or the host.
    pub fn of(
        file: &ResultsFile,
        node: &Description,
        host: &Environment,
    ) -> Result<Stored, ResumeError> {
        same_tester(&file.environment, host)?;
        if file.parts.is_empty() {
            return Err(ResumeError::NoParts);
        }
        let mut end = 0;
        let mut parts = VecDeque::new();
        for (at, part) in file.parts.iter().enumerate() {
            let observations: VecDeque<Observation> = part.of(&file.observations).to_vec().into();
            if part.first != end || observations.len() as u64 != part.observations {
                return Err(ResumeError::Gap(part.name.clone()));
            }
            observations
                .iter()
                .try_for_each(|o| same_node(&o.node, node))?;
            end += part.observations;
            let ended = !file.interrupted || at + 1 < file.parts.len();
            let is_search = part.found.is_some() || part.refused.is_some();
            let has_hole = !is_search && observations.iter().any(is_cut);
            parts.push_back(StoredPart {
                part: part.clone(),
                observations,
                finished: ended && !has_hole,
            });
        }
        cut_back(&mut parts);
        Ok(Stored { parts })
    }

    /// Number of observations that need not be repeated.
    pub fn observations(&self) -> usize {
        self.parts.iter().map(|part| part.observations.len()).sum()
    }

    /// Number of complete parts.
    pub(crate) fn finished(&self) -> usize {
        self.parts.iter().filter(|part| part.finished).count()
    }

    /// Whether the plan has all stored parts, as far as known before they run.
    pub(crate) fn check(&self, planned: &[PlannedPart]) -> Result<(), ResumeError> {
        if self.parts.len() > planned.len() {
            return Err(ResumeError::Plan(format!(
                "it has {} and the plan {}",
                format::count(self.parts.len() as u64, "part"),
                planned.len()
            )));
        }
        self.parts
            .iter()
            .zip(planned)
            .try_for_each(|(stored, planned)| stored.check(planned))
    }

    pub(crate) fn next(&mut self) -> Option<StoredPart> {
        self.parts.pop_front()
    }
}

impl StoredPart {
    fn check(&self, planned: &PlannedPart) -> Result<(), ResumeError> {
        let other = |what: String| Err(ResumeError::Plan(what));
        let (name, planned_name) = (&self.part.name, &planned.name);
        if name != planned_name {
            return other(format!(
                "the plan has '{planned_name}' in place of its part '{name}'"
            ));
        }
        let changed = || other(format!("its part '{name}' requested something else"));
        match (&planned.what, &self.part.found) {
            (PartWork::Steps(steps), _) => {
                let stored = self.observations.iter().map(|o| &o.trial);
                let short = self.finished && self.observations.len() < steps.len();
                let planned_trials = steps.iter().map(|step| &step.trial);
                let more = self.observations.len() > steps.len();
                if short
                    || more
                    || stored
                        .zip(planned_trials)
                        .any(|(stored, planned)| stored != planned)
                {
                    return changed();
                }
            }
            (PartWork::Rates(of, search), Some(SearchOutcome::Rates(found))) => {
                if found.search != *search || found.trial != of.trial {
                    return changed();
                }
            }
            (PartWork::LossCurve(of, curve), Some(SearchOutcome::LossCurve(found))) => {
                if found.curve != *curve || found.trial != of.trial {
                    return changed();
                }
            }
            (PartWork::Bursts(of, search), Some(SearchOutcome::Bursts(found))) => {
                if found.search != *search || found.trial != of.trial {
                    return changed();
                }
            }
            (_, Some(_)) => return changed(),
            (_, None) => {}
        }
        Ok(())
    }
}

/// Removes a trial that was cut short from the end, also from the end of a part after which no observation follows.
fn cut_back(parts: &mut VecDeque<StoredPart>) {
    while let Some(last) = parts.back_mut().filter(|last| !last.finished) {
        while last.observations.back().is_some_and(is_cut) {
            last.observations.pop_back();
        }
        let nothing = last.observations.is_empty();
        let before = parts.len().checked_sub(2).and_then(|at| parts.get_mut(at));
        match before.filter(|b| nothing && b.observations.back().is_some_and(is_cut)) {
            Some(before) => before.finished = false,
            None => return,
        }
        parts.pop_back();
    }
}

/// Whether an observation means that its trial must be repeated.
fn is_cut(observation: &Observation) -> bool {
    let failed = || observation.warned(WarningCode::NODE_FAILED);
    match observation.status {
        Status::Complete => false,
        Status::Partial { .. } => true,
        Status::Void { .. } => failed(),
    }
}

fn same_node(stored: &Description, now: &Description) -> Result<(), ResumeError> {
    if (&stored.name, &stored.node_type) != (&now.name, &now.node_type) {
        return Err(ResumeError::Node {
            stored: stored.name.clone(),
            requested: now.name.clone(),
        });
    }
    let value = |setup: &BTreeMap<String, String>, key: &str| {
        setup
            .get(key)
            .cloned()
            .unwrap_or_else(|| "not reported".to_owned())
    };
    let keys = stored.setup.keys().chain(now.setup.keys());
    for key in keys.filter(|key| !stored.is_made_anew(key)) {
        if stored.setup.get(key) != now.setup.get(key) {
            return Err(ResumeError::Setup {
                key: key.clone(),
                stored: value(&stored.setup, key),
                now: value(&now.setup, key),
            });
        }
    }
    Ok(())
}

fn same_tester(stored: &Environment, now: &Environment) -> Result<(), ResumeError> {
    for (stored, now) in [(&stored.kernel, &now.kernel), (&stored.cpu, &now.cpu)] {
        if let (Some(stored), Some(now)) = (stored.value(), now.value()) {
            if stored != now {
                return Err(ResumeError::Tester {
                    stored: stored.clone(),
                    now: now.clone(),
                });
            }
        }
    }
    Ok(())
}

/// A node that first answers with stored observations, in their order, and then with its own; trials that the tester's
/// own host disturbed are repeated.
pub(crate) struct Replay<'a> {
    node: Retrying<'a>,
    stored: VecDeque<Observation>,
    /// Whether failures among them are repeated in place.
    fills_holes: bool,
    /// Why the stored observations do not match the requested trials.
    pub other: Option<ResumeError>,
}

impl<'a> Replay<'a> {
    pub fn new(node: &'a mut dyn Node) -> Replay<'a> {
        Replay {
            node: Retrying::new(node),
            stored: VecDeque::new(),
            fills_holes: false,
            other: None,
        }
    }

    /// Answers with `stored` first. With `listed`, failed trials among them are repeated in place.
    pub fn answer_with(&mut self, stored: VecDeque<Observation>, listed: bool) {
        self.stored = stored;
        self.fills_holes = listed;
    }

    /// Whether a stored observation answers the next trial.
    pub fn answers_next(&self) -> bool {
        self.stored
            .front()
            .is_some_and(|next| !(self.fills_holes && is_cut(next)))
    }

    /// Whether a stored observation was never requested.
    pub fn is_left(&self) -> bool {
        !self.stored.is_empty()
    }
}

impl Node for Replay<'_> {
    fn describe(&self) -> Description {
        self.node.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        match self.stored.pop_front() {
            None => busy::beside(|| self.node.run(trial, progress, cancel)),
            // Only the slot of a failed trial is refilled; the others keep their position.
            Some(stored) if self.fills_holes && stored.trial == *trial && is_cut(&stored) => {
                busy::beside(|| self.node.run(trial, progress, cancel))
            }
            Some(stored) if stored.trial == *trial => Ok(stored),
            Some(stored) => {
                let words = |t: &Trial| {
                    let (unit, bytes) = (t.size.unit.name(), t.size.bytes);
                    format!("{} {unit} {bytes} at load {}", t.direction, t.load)
                };
                let what = format!(
                    "it holds {} where {} is requested",
                    words(&stored.trial),
                    words(trial)
                );
                self.stored.push_front(stored);
                let error = self.other.insert(ResumeError::Plan(what));
                Err(NodeError::BadTrial(error.to_string()))
            }
        }
    }

    fn warm_up(&mut self, trial: &Trial, cancel: &Cancel) -> Result<(), NodeError> {
        // A stored answer needs no warm node.
        match self.answers_next() {
            true => Ok(()),
            false => self.node.warm_up(trial, cancel),
        }
    }
}
