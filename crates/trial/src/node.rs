//! Anything that can run a trial: what it says of itself, how it runs one, how it declines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::description::Description;
use crate::field::Field;
use crate::observation::{Observation, Warning};
use crate::trial::Trial;

/// What the trial asked that the node cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct Unsupported {
    /// The field of the trial.
    pub field: &'static str,
    /// Why not, and what can be asked instead.
    pub why: String,
}

/// Why there is no observation at all.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The node cannot do what was asked.
    #[error("this node cannot do that: {0}")]
    Unsupported(#[from] Unsupported),
    /// The trial contradicts itself or a limit.
    #[error("{0}")]
    BadTrial(String),
    /// A privilege is missing; the text names it and the command that grants it.
    #[error("{0}")]
    Privilege(String),
    /// The node or the tester failed; the text names the thing and the fix.
    #[error("{0}")]
    Failed(String),
}

impl NodeError {
    /// What the trial asked in `field` the node cannot do: why not, and what can be asked instead.
    pub fn unsupported(field: &'static str, why: impl Into<String>) -> NodeError {
        let why = why.into();
        NodeError::Unsupported(Unsupported { field, why })
    }

    /// The trial contradicts itself or a limit, as another error says.
    pub fn bad(error: impl std::fmt::Display) -> NodeError {
        NodeError::BadTrial(error.to_string())
    }
}

/// Set from outside to end a running trial early; what was seen so far is kept.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that nobody has set yet.
    pub fn new() -> Cancel {
        Cancel::default()
    }
    /// Ask every trial that watches this flag to end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// The flag itself, for what watches a plain one.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
    /// Whether the trial should end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Where a running trial tells how far it is.
pub trait Progress: Sync {
    /// `done` of `total` steps, and in words what is going on.
    fn report(&self, done: u64, total: u64, what: &str);
}

/// Progress that nobody watches.
impl Progress for () {
    fn report(&self, _: u64, _: u64, _: &str) {}
}

/// Frames/s of one flow that the tester reaches against itself in one run, when asked this trial with all its flows; or why
/// that is not known.
pub type TesterCeiling = Box<dyn FnMut(&Trial) -> Field<f64>>;

/// Frames of a trial whose times at its capture points a node keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Of one trial; more are asked in several trials.
    pub of_a_trial: u64,
    /// In all, where that is few.
    pub in_all: Option<u64>,
}

/// What the stages of a node are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageSource {
    /// Its own capture points by its own clock, as far as it has any.
    Timed,
    /// The same, inside a Linux kernel that traces itself.
    Traced,
    /// Counts of instructions, of both directions in one trial.
    Counted,
    /// Capture units beside the CPU in simulated time, of both directions in one trial.
    Simulated,
}

/// A device under test: Linux ports, an iperf peer, a board, HDL in simulation, or a model on paper.
pub trait Node {
    /// What it is and can do.
    fn describe(&self) -> Description;

    /// Run one trial to its end or until `cancel` is set.
    ///
    /// # Errors
    /// [`NodeError`] where nothing was observed; a trial that began always gives an observation.
    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError>;

    /// Run a trial of which nobody wants the figures, so that caches and clocks are those of a node at work.
    ///
    /// # Errors
    /// As [`Node::run`].
    fn warm_up(&mut self, trial: &Trial, cancel: &Cancel) -> Result<(), NodeError> {
        self.run(trial, &(), cancel).map(drop)
    }

    /// What a trial takes beside the time in which frames are offered, in ps, from tries with room to spare: connections and
    /// reports of a peer across a network, threads and rings of ports.
    fn overhead_ps(&self) -> u64 {
        0
    }

    /// What the tester itself can do with this node's traffic. It is asked between trials, apart from the node.
    fn tester_ceiling(&self) -> TesterCeiling {
        Box::new(|_| Field::absent("the tester takes no simulated time"))
    }

    /// How many frames its capture points keep.
    fn capture_limits(&self) -> CaptureLimits {
        CaptureLimits {
            of_a_trial: u64::MAX,
            in_all: None,
        }
    }

    /// What its stages are taken from.
    fn stages(&self) -> StageSource {
        StageSource::Timed
    }

    /// Write every frame that arrives at it or at the tester into a new pcapng file from now on.
    ///
    /// # Errors
    /// [`NodeError`] where its frames are not between ports, or the file cannot be made.
    fn start_capture(&mut self, _: &std::path::Path) -> Result<(), NodeError> {
        Err(NodeError::bad(
            "--capture takes frames between ports: measure lab:N, ports:… or hdl:N with it",
        ))
    }

    /// End the file, and say how many frames it has; `None` where none was begun.
    ///
    /// # Errors
    /// [`NodeError`] where it cannot be written.
    fn end_capture(&mut self) -> Result<Option<u64>, NodeError> {
        Ok(None)
    }

    /// What figures of it will not be of, known before anything is sent.
    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    /// What it lacks in the place where it runs, in its own words.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Have another program measure the same from now on where one can, once for each layer and direction.
    fn hear_second_opinion(&mut self) {}
}
