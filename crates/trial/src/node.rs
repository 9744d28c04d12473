//! Everything that can run a trial: how it describes itself, runs a trial, and refuses one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::Transcript;
use crate::description::Description;
use crate::field::Field;
use crate::observation::{Observation, Status, Warning};
use crate::stage::functions::CallPaths;
use crate::trial::{Trial, TrialField};

/// A part of the trial that the node cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", .field.map_or(String::new(), |field| format!("{}: ", field.name())))]
pub struct Unsupported {
    /// The field of the trial; `None` where the node can run no trial, or lacks something else.
    pub field: Option<TrialField>,
    /// Why not, and the fix: what can be requested instead.
    pub why: String,
}

impl Unsupported {
    /// A refusal of `field`: why not, and the fix.
    pub fn of(field: impl Into<Option<TrialField>>, why: impl Into<String>) -> Unsupported {
        Unsupported {
            field: field.into(),
            why: why.into(),
        }
    }
}

/// Why there is no observation.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The node cannot do the trial.
    #[error("unsupported by this node: {0}")]
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
    /// The error that the node cannot do what the trial requests in `field`: why not, and what can be requested
    /// instead.
    pub fn unsupported(field: impl Into<Option<TrialField>>, why: impl Into<String>) -> NodeError {
        Unsupported::of(field, why).into()
    }

    /// The error that the trial contradicts itself or a limit, from another error.
    pub fn bad(error: impl std::fmt::Display) -> NodeError {
        NodeError::BadTrial(error.to_string())
    }
}

/// Set from outside to end a running trial early; what was measured so far is kept.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Cancel {
        Cancel::default()
    }
    /// Requests that every trial that watches this flag ends.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// The flag itself, for code that needs a plain one.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
    /// Whether the trial should end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Receives the progress of a running trial.
pub trait Progress: Sync {
    /// `done` of `total` steps, and the present activity in words.
    fn report(&self, done: u64, total: u64, what: &str);
}

/// Progress without a receiver.
impl Progress for () {
    fn report(&self, _: u64, _: u64, _: &str) {}
}

/// The result of a trial whose node had this trouble meanwhile, e.g. its process ended: the observation is partial, and a
/// failure names the trouble first.
///
/// # Errors
/// Those of the trial.
pub fn with_trouble(
    observed: Result<Observation, NodeError>,
    trouble: Option<String>,
) -> Result<Observation, NodeError> {
    match (observed, trouble) {
        (Ok(mut observation), Some(why)) => {
            observation.status = Status::Partial { why };
            Ok(observation)
        }
        (Err(NodeError::Failed(text)), Some(why)) => {
            Err(NodeError::Failed(format!("{why}; {text}")))
        }
        (observed, _) => observed,
    }
}

/// Frames/s of one flow that the tester reaches against itself in one run of this trial with all its flows; or why that
/// is unknown.
pub type TesterCeiling = Box<dyn FnMut(&Trial) -> Field<f64>>;

/// How many frames' times a node keeps at its capture points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// In one trial; for more, several trials are run.
    pub of_a_trial: u64,
    /// In total, where that is limited.
    pub in_all: Option<u64>,
}

/// The source of a node's stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageSource {
    /// Its own capture points by its own clock, if any.
    Timed,
    /// The same, inside a Linux kernel that traces itself.
    Traced,
    /// Counts of instructions, of both directions in one trial.
    Counted,
    /// Capture units beside the CPU in simulated time, of both directions in one trial.
    Simulated,
}

/// What is measured: Linux ports, an iperf peer, a board, HDL in simulation, or a model.
pub trait Node {
    /// How it describes itself.
    fn describe(&self) -> Description;

    /// Runs one trial to its end or until `cancel` is set.
    ///
    /// # Errors
    /// [`NodeError`] where nothing was observed; a trial that began always returns an observation.
    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError>;

    /// Runs a trial without using its figures, so that caches and clocks are those of a working node.
    ///
    /// # Errors
    /// As [`Node::run`].
    fn warm_up(&mut self, trial: &Trial, cancel: &Cancel) -> Result<(), NodeError> {
        self.run(trial, &(), cancel).map(drop)
    }

    /// Time that a trial takes in addition to the time of its frames, in ps, measured with a margin: connections and
    /// reports of a remote peer, threads and rings of ports.
    fn overhead_ps(&self) -> u64 {
        0
    }

    /// The tester's own ceiling for this node's traffic. It is measured between trials, without the node.
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

    /// The source of its stages.
    fn stages(&self) -> StageSource {
        StageSource::Timed
    }

    /// From now on, writes every frame that arrives at it or at the tester into a new pcapng file.
    ///
    /// # Errors
    /// [`NodeError`] where its frames are not between ports, or the file cannot be made.
    fn start_capture(&mut self, _: &std::path::Path) -> Result<(), NodeError> {
        Err(NodeError::bad(
            "--capture takes frames between ports; fix: measure lab:N, ports:… or hdl:N with it",
        ))
    }

    /// Ends the file, and returns its number of frames; `None` where none was begun.
    ///
    /// # Errors
    /// [`NodeError`] where it cannot be written.
    fn end_capture(&mut self) -> Result<Option<u64>, NodeError> {
        Ok(None)
    }

    /// Known limitations of its figures, before anything is sent.
    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    /// Instructions by paths of calls in the trials so far, of a node that counts them.
    fn call_paths(&mut self) -> Vec<CallPaths> {
        Vec::new()
    }

    /// What it cannot do in its environment, in its own words.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// The transcript of its console, if it has one.
    fn transcript(&self) -> Option<Transcript> {
        None
    }

    /// From now on, lets another program repeat suitable measurements, once for each layer and direction.
    fn hear_second_opinion(&mut self) {}
}
