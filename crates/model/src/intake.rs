//! Decides which observations of peers on the network show something about the node.

use wirelab_trial::{CpuLoad, Observation, SeriesName, SeriesTimes, WarningCode};

/// A core this busy before a trial has other work, or waits by spinning: its load says nothing about the trial.
const BUSY_BEFORE: f64 = 0.9;

/// A set-up key that names the host and not the node type.
pub(crate) const HOST: &str = "host";

/// Why an observation shows nothing about the node; `None` if it does.
pub(crate) fn unusable(observation: &Observation) -> Option<&'static str> {
    // The figures of such a trial are not those of one frame.
    if observation.warned(WarningCode::FRAGMENTED) {
        Some("datagrams larger than the path's MTU: each was several frames")
    } else if observation.warned(WarningCode::NO_REPORT) {
        Some("the peer's report is missing, so the arrived frames are unknown")
    } else {
        None
    }
}

/// Whether a series spans both directions, so it is not the time of one stage.
pub(crate) fn is_round_trip(name: &SeriesName) -> bool {
    matches!(
        name.times(),
        Some(SeriesTimes::RoundTrip | SeriesTimes::TesterAlone)
    )
}

/// Whether the tester, not the node, limited the figures of an observation.
pub(crate) fn tester_was_limit(observation: &Observation) -> bool {
    observation.tester.was_limit.value() == Some(&true)
        || observation.warned(WarningCode::CHECKER_MISSED)
}

/// Why a CPU load says nothing about the node's work for a trial; `None` where it does.
pub(crate) fn useless_load(load: &CpuLoad) -> Option<&'static str> {
    if load.shared {
        Some("CPU load shared: tester and node had a core in common")
    } else if load
        .idle_baseline_ratio
        .is_some_and(|idle| idle >= BUSY_BEFORE)
    {
        Some(
            "CPU busy for 90 % and more before the trial: other work, or a node that waits by spinning",
        )
    } else {
        None
    }
}
