//! A series of ticks with its clock: raw up to 65,536 samples, beyond that a histogram and a reservoir.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// Raw samples kept of each series.
pub const RAW_SAMPLES: usize = 65_536;

/// A histogram of ticks: which values (to the resolution of its buckets) occurred how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// Picoseconds a tick; `None` where ticks are instructions.
    pub tick_ps: Option<u64>,
    /// Highest value of each bucket that is not empty, and its count, ascending.
    pub buckets: Vec<(u64, u64)>,
    /// Samples.
    pub count: u64,
    /// Smallest sample in ticks.
    pub min_ticks: u64,
    /// Largest sample in ticks.
    pub max_ticks: u64,
    /// Mean in ticks.
    pub mean_ticks: f64,
    /// Standard deviation in ticks.
    pub stddev_ticks: f64,
}

/// A series: raw samples in order of arrival, or histogram and reservoir.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What was measured, e.g. `latency` or a stage's name.
    pub name: String,
    /// The clock of its ticks.
    pub clock: Clock,
    /// Raw samples in ticks: all of them, or a seeded reservoir where `sampled` is set.
    pub raw_ticks: Vec<u64>,
    /// Whether `raw_ticks` is a reservoir of a longer series.
    pub sampled: bool,
    /// All samples.
    pub histogram: Histogram,
}
