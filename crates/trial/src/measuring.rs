//! The cost of measuring stages, and notes on how they were measured: facts of a run, beside its trials.

use serde::{Deserialize, Serialize};

use crate::load::Load;
use crate::stage::functions::CallPaths;

/// Facts of a run that measured stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Measuring {
    /// The same delay with the probes on and off, at each size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overheads: Vec<Overhead>,
    /// The cost of recording at each point, as the node measured it: on a warm node, and at the load of the trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<PointCost>,
    /// Further notes, one sentence each: where each part ran, and what was the same for compared paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Instructions by paths of calls, of a node that counts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub call_paths: Vec<CallPaths>,
}

impl Measuring {
    /// Appends the facts of another run. Paths of one stage are added up, so that a frame of both costs their mean.
    pub fn append(&mut self, more: Measuring) {
        self.overheads.extend(more.overheads);
        self.costs.extend(more.costs);
        self.notes.extend(more.notes);
        for paths in more.call_paths {
            match self
                .call_paths
                .iter_mut()
                .find(|own| own.is_of_the_stage(&paths))
            {
                Some(own) => own.add(paths),
                None => self.call_paths.push(paths),
            }
        }
    }
}

/// A delay that is visible from outside, with the probes on and off; both medians measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Overhead {
    /// The timed delay, e.g. `round trip`.
    pub what: String,
    /// The path of the frames through the node, in words.
    #[serde(rename = "way")]
    pub path: String,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Alternating runs with and without probes, each.
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

/// The load at which a cost was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CostLoad {
    /// In a separate trial, so fast that code, memory and stack of the probes stay in the caches between frames.
    Warm,
    /// In the trials whose stages are shown: at a low load everything leaves the caches between frames.
    Trial,
}

/// The cost of recording the time of a frame at one capture point; measured by the node itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointCost {
    /// The point with its direction, `in.stack`.
    pub point: String,
    /// The load type.
    pub at: CostLoad,
    /// The requested load.
    pub load: Load,
    /// Frames that passed per second; absent where the trial was run in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_per_s: Option<f64>,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// A quarter of the frames cost at most this, in ns. Like the others, this includes one reading of the clock.
    pub q1_ns: u64,
    /// The median, in ns.
    pub median_ns: u64,
    /// Three quarters of the frames cost at most this, in ns.
    pub q3_ns: u64,
    /// The median time of two clock readings with nothing between them, in ns: the clock's part of the other figures.
    pub clock_ns: u64,
}
