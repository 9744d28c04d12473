//! What observations of peers in the network say of the node, and which say nothing of it.

use wirelab_trial::Observation;

/// Warnings of a trial whose figures are not the node's own, and why.
const UNUSABLE: [(&str, &str); 2] = [
    (
        "fragmented",
        "datagrams larger than the path's MTU: each was several frames",
    ),
    (
        "no-report",
        "the peer's report never came, so that what arrived is not known",
    ),
];

/// A set-up key that names the host and not the kind of node.
pub(crate) const HOST: &str = "host";

/// The series of round trips, and of the tester's round trips to itself: neither is a stage of the node.
pub(crate) const ROUND_TRIP: &str = "round trip";
/// See [`ROUND_TRIP`].
const FLOOR: &str = "tester's floor";

/// Why nothing can be learned of the node from an observation; `None` where something can.
pub(crate) fn unusable(observation: &Observation) -> Option<&'static str> {
    let has = |code: &str| observation.warnings.iter().any(|w| w.code == code);
    let found = UNUSABLE.iter().find(|(code, _)| has(code));
    found.map(|(_, why)| *why)
}

/// Whether a series is of the way there and back, which is no time of one stage.
pub(crate) fn is_round_trip(name: &str) -> bool {
    name.starts_with(ROUND_TRIP) || name == FLOOR
}
