//! The clock of a time. Times of different kinds never mix.

use serde::{Deserialize, Serialize};

/// The kind of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// Real time.
    Wall,
    /// Time of a simulation.
    Simulated,
    /// A count of instructions. Never converted into time; no throughput is taken from it.
    Instructions,
}

/// The owner of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The tester's.
    Tester,
    /// The node's.
    Node,
}

/// A clock: the size of a tick and its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clock {
    /// Its kind.
    pub kind: ClockKind,
    /// Picoseconds a tick; `None` for a clock that counts instructions.
    pub tick_ps: Option<u64>,
    /// Its smallest step, in ticks.
    pub resolution_ticks: u64,
    /// Its owner.
    pub owner: Owner,
}

impl Clock {
    /// The tester's own clock in nanoseconds (CLOCK_MONOTONIC).
    pub const TESTER_NS: Clock = Clock {
        kind: ClockKind::Wall,
        tick_ps: Some(1000),
        resolution_ticks: 1,
        owner: Owner::Tester,
    };
}
