//! What measuring stages cost, and what a reader must know of how they were taken: facts of a run, beside its trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts of a run that measured stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measuring {
    /// The same delay with the probes on and off, at each size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overheads: Vec<Overhead>,
    /// What else to know, a sentence each: where each part ran, and what was the same for ways that are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A delay that an outsider can see, with the probes on and with the probes off; both medians measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// What was timed, e.g. `round trip`.
    pub what: String,
    /// The way of the frames through the node, in words.
    pub way: String,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Alternating runs of each.
    pub runs: u32,
    /// Median of the runs with the probes on, in ns.
    pub on_ns: f64,
    /// Median of the runs with the probes off, in ns.
    pub off_ns: f64,
    /// Lower end of the 95 % interval of the difference, in ns.
    pub low_ns: f64,
    /// Upper end of the 95 % interval of the difference, in ns.
    pub high_ns: f64,
}
