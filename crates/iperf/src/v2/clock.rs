//! The wall clock, only for timestamps of datagrams: durations, jitter and pacing use a clock that never steps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A wall clock: the time since 1970. It is read once for each flow, at its start.
pub type Wall = fn() -> Duration;

/// The host's wall clock.
pub fn system() -> Duration {
    // A clock before 1970 is as wrong as one at 1970.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
