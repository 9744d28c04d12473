//! What a reader calls the counters of a trial that tell what became of its frames inside a node.

use crate::format::{decimal, integer, time};

/// How often a trial was asked until the tester's own host had not spoilt it (see [`crate::retry`]). A node type that
/// counts it is not asked again.
pub const ATTEMPTS: &str = "tester_attempts";

/// Frames of a flow at maximum load that have one transmit time together: each of its gaps is this share of the time
/// between two of those.
pub const SHARED_TIME: &str = "frames_that_share_a_transmit_time";

/// How many frames of a flow the checker's own queue dropped for certain, where it looks.
pub const CHECKER_MISSED: &str = "checker_missed_frames";

/// Frames of a flow from a node of which nobody knows whether they were lost or never left the node's interface.
pub const DEPARTURE_UNKNOWN: &str = "departure_unknown_frames";

/// Frames that some capture point of a flow did not see, beside `probe_unseen.WAY.POINT` of each point.
pub const UNSEEN: &str = "unseen_frames";

/// Counters and their words, in the order of a frame's way.
const WORDS: [(&str, &str); 24] = [
    ("napi_polls", "polls of the driver that brought frames"),
    (
        "napi_poll_frames_mean_milli",
        "frames of a poll of the driver, mean",
    ),
    (
        "napi_poll_frames_median",
        "frames of a poll of the driver, median",
    ),
    (
        "napi_poll_frames_p99",
        "frames of a poll of the driver, 99 %",
    ),
    (
        "napi_poll_frames_max",
        "frames of a poll of the driver, most",
    ),
    ("fast_track_matched_frames", "wanted by a rule"),
    ("fast_track_received_frames", "taken by the fast track"),
    ("fast_track_passed_frames", "passed to the stack"),
    (
        "fast_track_no_socket_frames",
        "wanted by a rule, but their queue has no socket",
    ),
    (
        "fast_track_ring_full_frames",
        "lost because the fast track's ring was full",
    ),
    (
        "fast_track_dropped_frames",
        "lost because the fast track's memory was in use",
    ),
    ("reflected_frames", "turned around by the driver"),
    ("not_reflected_frames", "not turned around by the driver"),
    ("background_sent_frames", "frames of the background sent"),
    (
        "background_due_frames",
        "frames of the background due meanwhile",
    ),
    ("background_lasted_ns", "the background lasted"),
    (
        "background_received_frames",
        "frames of the background received",
    ),
    (
        "background_received_bytes",
        "bytes of the background received",
    ),
    ("background_lost_frames", "frames of the background lost"),
    (
        "background_lost_frames_at_most",
        "frames of the background lost or never sent",
    ),
    (
        "background_refused_frames",
        "frames of the background that did not leave",
    ),
    (
        DEPARTURE_UNKNOWN,
        "frames lost, or dropped by the sender's interface",
    ),
    (
        "background_sender_slips",
        "pauses of the background's sender",
    ),
    (
        UNSEEN,
        "passed a capture point without a program being run (most of one point)",
    ),
];

/// What a counter is called, as far as it has words.
pub fn words(name: &str) -> Option<&'static str> {
    let mut all = WORDS.iter();
    all.find(|(known, _)| *known == name)
        .map(|(_, words)| *words)
}

/// The place of a counter among those that have words, for a list in the order of a frame's way.
pub fn rank(name: &str) -> usize {
    let place = WORDS.iter().position(|(known, _)| *known == name);
    place.unwrap_or(WORDS.len())
}

/// A counter's value as a reader wants it: times with their unit, thousandths as what they are of. The name's end says
/// which it is.
pub fn shown(name: &str, value: u64) -> String {
    const NS_PS: u64 = 1_000;
    match name {
        _ if name.ends_with("_milli") => decimal(value as f64 / 1e3, 2),
        _ if name.ends_with("_ns") => time(value.saturating_mul(NS_PS)),
        _ => integer(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_words_and_values_have_units() {
        assert_eq!(words("fast_track_matched_frames"), Some("wanted by a rule"));
        assert_eq!(words("fast_track"), None);
        assert!(rank("napi_polls") < rank(UNSEEN) && rank(UNSEEN) < rank("another"));
        assert_eq!(shown("napi_poll_frames_mean_milli", 2_250), "2.25");
        assert_eq!(
            shown("background_lasted_ns", 1_500_000),
            time(1_500_000_000)
        );
        assert_eq!(shown("napi_polls", 7_680), "7,680");
    }

    #[test]
    fn no_two_counters_have_the_same_words() {
        let mut all = WORDS.map(|(_, words)| words).to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), WORDS.len());
    }
}
