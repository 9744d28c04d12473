//! Anything that can run a trial: what it says of itself, how it runs one, how it declines.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelab_wire::Layer;

use crate::observation::Observation;
use crate::trial::{Buffers, Direction, Trial};
use crate::way::Path;

/// What a node can be asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Layers it can send or receive.
    pub layers: Vec<Layer>,
    /// Directions, as the node sees them.
    pub directions: Vec<Direction>,
    /// Kinds of buffers.
    pub buffers: Vec<Buffers>,
    /// Ways through the node; empty where none can be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Path>,
    /// Number of ports.
    pub ports: u32,
    /// Smallest frame in bytes with FCS.
    pub min_frame_bytes: u32,
    /// Largest frame in bytes with FCS.
    pub max_frame_bytes: u32,
    /// Link rate in bit/s where there is a carrier with one.
    pub link_bits_per_s: Option<u64>,
}

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// How it is named on the command line, e.g. `lab:4`.
    pub name: String,
    /// Its kind: `ports`, `iperf`, `node`, `board`, `hdl` or `model`.
    pub kind: String,
    /// What it can be asked.
    pub capabilities: Capabilities,
    /// Set-up keys: core, clock, memory, cache, interface, offloads, buffers, stack and what else is known.
    pub setup: BTreeMap<String, String>,
}

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
}
