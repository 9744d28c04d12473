//! Back-to-back frames after RFC 9004: parameters and results of the search.

use serde::{Deserialize, Serialize};
use wirelab_wire::Sizes;

use super::rates::{SearchEnded, TrialRecord};
use crate::field::Field;
use crate::trial::Trial;

/// Fewest repeats of RFC 9004.
pub const MIN_REPEATS: u32 = 50;
/// Most repeats.
pub const MAX_REPEATS: u32 = 1_000;

/// Parameters of the search for bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BurstSearch {
    /// How often the longest burst is searched, [`MIN_REPEATS`] to [`MAX_REPEATS`].
    pub repeats: u32,
    /// Longest burst, as its time at line rate in ps (RFC 2544, 26.4: 2 s).
    pub longest_ps: u64,
    /// Resolution of the burst length, in frames, at least 1.
    pub resolution_frames: u64,
    /// Most bursts of all repeats together.
    pub max_trials: u64,
    /// Most time of all bursts together at line rate, in ps.
    pub max_time_ps: u64,
}

impl BurstSearch {
    /// 50 repeats, bursts of up to 2 s, each found to the frame.
    pub const fn rfc9004() -> BurstSearch {
        BurstSearch {
            repeats: MIN_REPEATS,
            longest_ps: 2_000_000_000_000,
            resolution_frames: 1,
            max_trials: 10_000,
            max_time_ps: 3_600_000_000_000_000,
        }
    }

    /// Most bursts of one repeat up to `longest_frames`: 2 + 2·⌈log₂ longest⌉, up and back down. Bursts without a
    /// result are additional.
    pub const fn most_trials_per_repeat(longest_frames: u64) -> u64 {
        2 + 2 * (u64::BITS - longest_frames.leading_zeros()) as u64
    }
}

/// The longest burst without loss in one repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Burst {
    /// Frames; 0 where even one was lost.
    pub frames: u64,
    /// Whether it was the longest allowed, so that the node may take longer ones.
    pub at_longest: bool,
}

/// The lengths of the longest bursts of all repeats, as RFC 9004 reports them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BurstLengths {
    /// Repeats.
    pub repeats: u32,
    /// Average in frames.
    pub mean_frames: f64,
    /// Shortest in frames.
    pub min_frames: u64,
    /// Longest in frames.
    pub max_frames: u64,
    /// Standard deviation of the sample (n − 1) in frames.
    pub stddev_frames: f64,
}

/// Why no burst was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Screened {
    /// Throughput is line rate: a burst of any length passes, and its length shows no buffer (RFC 9004).
    ThroughputIsLineRate,
}

/// The result of a search for bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BurstResult {
    /// The node's name.
    pub node: String,
    /// The given trial; its load and extent are replaced.
    pub trial: Trial,
    /// All four sizes of its frames.
    pub sizes: Sizes,
    /// The parameters of the search.
    pub search: BurstSearch,
    /// Line rate in frames/s of each flow.
    pub max_frames_per_s: f64,
    /// Given throughput of each flow, in frames/s.
    pub throughput_frames_per_s: f64,
    /// Longest burst allowed, in frames.
    pub longest_frames: u64,
    /// Why no burst was sent, if none was.
    pub screened: Option<Screened>,
    /// The longest burst of each repeat, in their order.
    pub bursts: Vec<Burst>,
    /// Statistics of their lengths; absent with fewer repeats than requested.
    pub lengths: Field<BurstLengths>,
    /// Implied buffer time in ps: average burst / line rate (RFC 9004).
    pub implied_buffer_time_ps: Field<u64>,
    /// Corrected buffer time in ps: implied · (line rate − throughput) / line rate (RFC 9004), which excludes frames
    /// that were served while the burst arrived.
    pub corrected_buffer_time_ps: Field<u64>,
    /// Every burst, in order.
    pub trials: Vec<TrialRecord>,
    /// Time of all bursts at line rate, in ps.
    pub asked_ps: u64,
    /// How it ended.
    pub ended: SearchEnded,
}
