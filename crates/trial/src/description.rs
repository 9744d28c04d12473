//! What a node says about itself, and what can be requested from it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wirelab_wire::Layer;

use crate::facts::Facts;
use crate::node_path::Path;
use crate::trial::{Buffers, Direction};

/// The set-up key of a model with parameters that were chosen after published figures were seen: their names, each with
/// these figures.
pub const CHOSEN_AFTER: &str = "chosen_after";

/// The trials that a node supports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Capabilities {
    /// Layers it can send or receive.
    pub layers: Vec<Layer>,
    /// Directions, as the node sees them.
    pub directions: Vec<Direction>,
    /// Kinds of buffers.
    pub buffers: Vec<Buffers>,
    /// Paths through the node; empty where none can be chosen.
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

/// How a node describes itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Description {
    /// Its name on the command line, e.g. `lab:4`.
    pub name: String,
    /// Its node type; those of `lab:` are `ports`.
    #[serde(rename = "kind")]
    pub node_type: String,
    /// The trials that it supports.
    pub capabilities: Capabilities,
    /// Set-up keys: core, clock, memory, cache, interface, offloads, buffers, stack and other facts.
    pub setup: BTreeMap<String, String>,
    /// What holds for each node of its type; absent in files of wirelab 0.2 and before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
}

impl Description {
    /// What holds for each node of its type.
    pub fn facts(&self) -> Cow<'_, Facts> {
        match &self.facts {
            Some(facts) => Cow::Borrowed(facts),
            None => Cow::Owned(Facts::before_they_were_stored(&self.name, &self.node_type)),
        }
    }

    /// Whether both ends of its flows are ports of the tester, which sends and checks everything itself.
    pub fn is_testers_own(&self) -> bool {
        self.facts().is_testers_own
    }

    /// Whether its figures are computed, and nothing was sent.
    pub fn is_computed(&self) -> bool {
        self.facts().is_computed
    }

    /// Whether a set-up key names something that is made for each run: the interfaces of a lab.
    pub fn is_made_anew(&self, key: &str) -> bool {
        self.facts().made_anew.iter().any(|made| made == key)
    }
}
