//! What measuring stages cost, and what a reader must know of how they were taken: facts of a run, beside its trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::Load;

/// Facts of a run that measured stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measuring {
    /// The same delay with the probes on and off, at each size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overheads: Vec<Overhead>,
    /// What taking each point costs, as the node measured it itself: where it is warm, and at the load of the trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<PointCost>,
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

/// At which load a cost was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostLoad {
    /// In a trial of its own, so fast that code, memory and stack of the probes stay in the caches between frames.
    Warm,
    /// In the trials whose stages are shown: at a low load all of that leaves the caches from frame to frame.
    Trial,
}

/// What taking the time of a frame at one capture point costs; measured by the node itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointCost {
    /// The point with its way, `in.stack`.
    pub point: String,
    /// Which of both it is.
    pub at: CostLoad,
    /// The load that was asked.
    pub load: Load,
    /// Frames that passed in a second; absent where the trial was run in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_per_s: Option<f64>,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// A quarter of the frames cost no more, in ns. As the others, this holds one reading of the clock.
    pub q1_ns: u64,
    /// The median, in ns.
    pub median_ns: u64,
    /// Three quarters of the frames cost no more, in ns.
    pub q3_ns: u64,
    /// What two readings of the clock give there with nothing between them, in ns at the median: how much of the other
    /// figures is the clock.
    pub clock_ns: u64,
}
