//! The counters of a trial and of its flows: one table of words, each with its meaning and source.

use crate::format::{decimal, integer, time};
use crate::named::named;
use crate::point_counter::PointCounter;

/// The subject of a counter, which decides its place in an observation and its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    /// The polls of a node's driver for received frames.
    Polls,
    /// A node's fast track for received frames.
    FastTrack,
    /// A node that turns frames around in its driver.
    Reflector,
    /// The flow beside that of the trial.
    Background,
    /// A checker's count of received frames: part of the counts of a flow.
    Verdict,
    /// Something else with a field in the observation.
    Held,
    /// A total of a node without a field.
    Total,
    /// A count of the tester, or of another source than a node's counters.
    Tester,
}

named! {
    /// A counter of a trial or of a flow. The tester puts `node_` before the words of a node's totals.
    Counter of CounterKind {
        "Linux nodes", CounterKind::Polls => {
            NAPI_POLLS = "napi_polls": "polls of the driver that brought frames";
            NAPI_MEAN = "napi_poll_frames_mean_milli": "frames of a poll of the driver, mean";
            NAPI_MEDIAN = "napi_poll_frames_median": "frames of a poll of the driver, median";
            NAPI_P99 = "napi_poll_frames_p99": "frames of a poll of the driver, p99";
            NAPI_MAX = "napi_poll_frames_max": "frames of a poll of the driver, most";
        }
        "Linux nodes", CounterKind::FastTrack => {
            FAST_TRACK_MATCHED = "fast_track_matched_frames": "frames that a rule matched";
            FAST_TRACK_RECEIVED = "fast_track_received_frames": "frames that the fast track took";
            FAST_TRACK_PASSED = "fast_track_passed_frames": "frames that the fast track passed to the stack";
            FAST_TRACK_NO_SOCKET = "fast_track_no_socket_frames": "frames that a rule matched, whose queue has no socket";
            FAST_TRACK_RING_FULL = "fast_track_ring_full_frames": "lost because the fast track's ring was full";
            FAST_TRACK_DROPPED = "fast_track_dropped_frames": "lost because the fast track's memory was in use";
        }
        "Linux nodes", CounterKind::Reflector => {
            REFLECTED = "reflected_frames": "turned around by the driver";
            NOT_REFLECTED = "not_reflected_frames": "not turned around by the driver";
        }
        "the tester, of a background", CounterKind::Background => {
            BACKGROUND_SENT = "background_sent_frames": "frames of the background sent";
            BACKGROUND_DUE = "background_due_frames": "frames of the background due meanwhile";
            BACKGROUND_LASTED = "background_lasted_ns": "the background lasted";
            BACKGROUND_RECEIVED = "background_received_frames": "frames of the background received";
            BACKGROUND_RECEIVED_BYTES = "background_received_bytes": "bytes of the background received";
            BACKGROUND_LOST = "background_lost_frames": "frames of the background lost";
            BACKGROUND_LOST_AT_MOST = "background_lost_frames_at_most": "frames of the background lost or never sent";
            BACKGROUND_REFUSED = "background_refused_frames": "frames of the background that did not leave";
            BACKGROUND_SLIPS = "background_sender_slips": "pauses of the background's sender";
        }
        "the tester", CounterKind::Tester => {
            DEPARTURE_UNKNOWN = "departure_unknown_frames": "frames lost, or dropped by the sender's interface";
            UNSEEN = "unseen_frames": "frames that passed a capture point without a record (the point with the most)";
            ATTEMPTS = "tester_attempts": "attempts of a trial until the tester's own host did not disturb one";
            SHARED_TIME = "frames_that_share_a_transmit_time": "frames of a flow at maximum load that share one transmit time";
        }
        "the tester", CounterKind::Total => {
            CHECKER_MISSED = "checker_missed_frames": "frames that the checker's own queue dropped for certain";
        }
        "the tester", CounterKind::Tester => {
            FOREIGN_RATE = "foreign_frames_per_s": "frames of other senders during the flow, per second";
        }
        "nodes over the node control protocol", CounterKind::Total => {
            SENT = "sent_frames": "sequences that the node used; of an echo the frames that it returned";
            SENT_BYTES = "sent_bytes": "bytes that the node sent";
            SENT_REFUSED = "sent_refused_frames": "frames that the queue of the node's driver did not take";
            SENT_SLIPS = "sent_slips": "pauses of the node's sender by its own host";
            SENT_SLIPPED = "sent_slipped_ns": "time of these pauses";
            SENT_HELD_UP = "sent_held_up_ns": "time in which the node's host held its sender up";
            SENT_BLOCKED = "sent_blocked_ns": "time in which the path took no more from the node";
            SENT_BURST = "sent_longest_burst_frames": "most frames that left the node back to back, to catch up";
            SENT_SEGMENTED = "sent_segmented": "1 where the node's system segmented datagrams late";
            RECEIVED_BYTES = "received_bytes": "bytes that the node or the peer received";
            INTERFACE_SENT = "interface_sent_frames": "frames sent at the node's interface, of all flows";
            INTERFACE_DROPPED = "interface_dropped_frames": "frames that the node's interface dropped before they left";
            INTERFACE_RECEIVED = "interface_received_frames": "frames received at the node's interface, of all flows";
        }
        "nodes over the node control protocol", CounterKind::Held => {
            SENT_FIRST = "sent_first_ns": "first frame sent, by the node's clock";
            SENT_LAST = "sent_last_ns": "last frame sent, by the node's clock";
            RECEIVED = "received_frames": "test frames that the node received";
            RECEIVED_FIRST = "received_first_ns": "first frame received, by the node's clock";
            RECEIVED_LAST = "received_last_ns": "last frame received, by the node's clock";
            RECEIVED_JITTER = "received_jitter_ns": "interarrival jitter at the node (RFC 3550)";
            RECEIVED_HELD_UP = "received_held_up_ns": "time in which the node's host held its receiver up";
            FOREIGN = "foreign_frames": "frames that do not belong to the test";
            OTHER_RUN = "other_run_frames": "frames of an earlier trial";
            VERIFIED = "verified_payload_bytes": "payload bytes compared and found correct";
            WATCHED = "watched_ns": "time over which the interface was watched";
            LOST = "lost_frames": "frames that the node counts as lost";
            LOAD_FROM = "load_from_ns": "time from the first frame to the first slice of the node's load";
        }
        "nodes over the node control protocol", CounterKind::Verdict => {
            GOOD = "good_frames": "frames with every byte correct";
            HEADER_CORRUPT = "header_corrupt_frames": "frames with a damaged test header";
            TRUNCATED = "truncated_frames": "frames that were cut short";
            STALE = "stale_frames": "frames whose payload is that of another sequence";
            CORRUPTED = "corrupted_frames": "frames with a damaged payload";
            DUPLICATED = "duplicated_frames": "frames received again";
            REORDERED = "reordered_frames": "frames received after a later one";
            REORDERING_EXTENT = "reordering_extent_frames": "largest distance over which a frame was reordered";
            TOO_LATE = "too_late_frames": "frames received too late to decide whether they are duplicates";
            DISTINCT = "distinct_sequences": "distinct sequences received";
        }
        "boards", CounterKind::Total => {
            RING_FULL = "ring_full_events": "how often the transmit ring of the MAC was full";
            NO_BUFFER = "no_buffer_frames": "frames for which the firmware had no buffer";
            LOOP_MISSED = "loop_missed_frames": "frames of a loopback that did not return";
            CAPTURE_POINT = "capture_point_ticks": "cost of a capture point itself";
            HEADER_TICKS = "header_ticks": "time to build headers, within that of the pin";
            COPY_TICKS = "copy_ticks": "time to copy, or to wait for the DMA that copies";
            WAIT_TICKS = "wait_ticks": "time in which the CPU only waited";
            OWN_SHARE = "own_transmit_share_ppm": "frame rate of a receive trial as a share of the node's own transmit";
            OWN_LENGTH = "own_transmit_length_bytes": "length of the frames of that transmit";
        }
        "boards", CounterKind::Tester => {
            PIN_ELAPSED = "pin_elapsed_ps": "length of the pulse of the pin";
            PIN_UNCERTAINTY = "pin_uncertainty_ps": "how far the sampling of a recording leaves that length open, up and down";
            WIRE_ELAPSED = "wire_elapsed_ps": "time of the same frames on the wire";
            BEFORE_EMULATOR = "dropped_before_emulator_frames": "frames that the emulator did not take in time";
        }
        "iperf peers", CounterKind::Tester => {
            REPORTED_BYTES = "reported_bytes": "bytes that the server reports";
            REPORTED_DATAGRAMS = "reported_datagrams": "datagrams that the server reports";
            REPORTED_LOST = "reported_lost": "datagrams that the server reports as lost";
            REPORTED_OUT_OF_ORDER = "reported_out_of_order": "datagrams that the server reports out of order";
            REPORTED_DURATION = "reported_duration_ps": "time that the server reports";
            FINAL_DATAGRAMS = "final_datagrams": "final datagrams until the server's report came";
            RECEIVED_DATAGRAMS = "received_datagrams": "datagrams received from the peer";
            DISTINCT_DATAGRAMS = "distinct_datagrams": "distinct datagrams of these";
            LOST_DATAGRAMS = "lost_datagrams": "datagrams lost for certain";
            LOST_OR_MISSED = "lost_or_missed_datagrams": "datagrams lost, or dropped by the tester's own queue";
            DUPLICATED_DATAGRAMS = "duplicated_datagrams": "datagrams received again";
            REORDERED_DATAGRAMS = "reordered_datagrams": "datagrams received after a later one";
            TOO_LATE_DATAGRAMS = "too_late_datagrams": "datagrams received too late to decide whether they are duplicates";
            IGNORED_DATAGRAMS = "ignored_datagrams": "datagrams that an iperf server counts but that do not belong to the flow";
            UNATTRIBUTED = "unattributed_datagrams": "datagrams whose flow is unknown";
            STREAM_BYTES = "stream_bytes": "bytes of a TCP stream";
            SERVER_CPU = "iperf3_server_process_cpu_ppm": "CPU time of the iperf3 server's process, of one core";
        }
        "consoles of boards", CounterKind::Tester => {
            CONSOLE_BYTES = "console_bytes": "bytes that the node's test program printed on its console";
            CONSOLE_DURATION = "console_duration_ps": "time that it printed";
            CONSOLE_RECEIVED = "console_received_datagrams": "datagrams that it printed as received";
            CONSOLE_LOST = "console_lost_datagrams": "datagrams that it printed as lost";
            CONSOLE_SENT = "console_sent_datagrams": "datagrams that it printed as sent";
            CONSOLE_OUT_OF_ORDER = "console_out_of_order": "datagrams that it printed as out of order";
        }
        "hardware in simulation", CounterKind::Tester => {
            SIMULATED_CLOCKS = "simulated_clocks": "clocks that were simulated";
            PERIOD_CLOCKS = "period_clocks": "set time from one frame to the next";
            FIRST_TO_LAST = "clocks_first_to_last": "clocks from the first frame to the last";
            BAD_FCS = "bad_fcs_frames": "frames with a wrong FCS";
            DAMAGED = "damaged_frames": "frames that the MAC found damaged";
            PROBE_SHORTEST = "probe_shortest_ticks": "shortest gap that the rate meter saw";
            PROBE_LAST = "probe_last_ticks": "last gap that it saw";
            PROBE_LONGEST = "probe_longest_ticks": "longest gap that it saw";
        }
        "hardware in simulation", CounterKind::Total => {
            MAC_DROPPED = "mac_dropped_frames": "good frames that the node's MAC dropped";
        }
    }
}

/// The name of a counter, if it has a row.
pub fn words(name: &str) -> Option<&'static str> {
    Counter::of(name).map(Counter::meaning)
}

/// Whether a node's counter is one of an observation's totals. A name without a row is the node's own, unless it has a
/// place.
pub fn is_total(name: &str) -> bool {
    match Counter::of(name) {
        Some(known) => known.kind() == CounterKind::Total,
        None => !name.contains('.'),
    }
}

/// Counters whose values over several trials are not added: times of a clock, costs, shares, means and similar figures.
const LEVELS: [Counter; 28] = [
    Counter::NAPI_MEAN,
    Counter::NAPI_MEDIAN,
    Counter::NAPI_P99,
    Counter::NAPI_MAX,
    Counter::SENT_HELD_UP,
    Counter::SENT_BLOCKED,
    Counter::SENT_FIRST,
    Counter::SENT_LAST,
    Counter::RECEIVED_FIRST,
    Counter::RECEIVED_LAST,
    Counter::RECEIVED_JITTER,
    Counter::RECEIVED_HELD_UP,
    Counter::WATCHED,
    Counter::LOAD_FROM,
    Counter::CAPTURE_POINT,
    Counter::HEADER_TICKS,
    Counter::COPY_TICKS,
    Counter::WAIT_TICKS,
    Counter::OWN_SHARE,
    Counter::PIN_ELAPSED,
    Counter::PIN_UNCERTAINTY,
    Counter::WIRE_ELAPSED,
    Counter::REPORTED_DURATION,
    Counter::SERVER_CPU,
    Counter::CONSOLE_DURATION,
    Counter::PROBE_SHORTEST,
    Counter::PROBE_LAST,
    Counter::PROBE_LONGEST,
];

/// Whether the values of several trials are added. For a counter without a row, which is a node's own, its name decides:
/// it ends with its unit (`spec/node-control.md`).
pub fn is_added(name: &str) -> bool {
    let of_node = name.strip_prefix("node_").unwrap_or(name);
    match (Counter::of(of_node), PointCounter::of(of_node)) {
        (Some(known), _) => !LEVELS.contains(&known),
        (None, Some(point)) => !point.count.is_time(),
        (None, None) => !is_level_by_name(of_node),
    }
}

/// Whether a name, or a part of it before a point, ends like that of a time, a share or one figure of many.
fn is_level_by_name(name: &str) -> bool {
    const ENDS: [&str; 8] = [
        "_ns", "_ps", "_ticks", "_milli", "_ppm", "_median", "_p99", "_max",
    ];
    let is_one = |piece: &str| ENDS.iter().any(|end| piece.ends_with(end));
    name.split('.').any(is_one)
}

/// The place of a counter among those with a row, for a list in the order of a frame's path.
pub fn rank(name: &str) -> usize {
    let place = Counter::ALL.iter().position(|known| known.word() == name);
    place.unwrap_or(Counter::ALL.len())
}

/// A counter's value for a reader: times with their unit, thousandths converted. The end of the name decides.
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
        assert_eq!(
            words("fast_track_matched_frames"),
            Some("frames that a rule matched")
        );
        assert_eq!(words("fast_track"), None);
        let total = ["sent_frames", "ring_full_events", "mac_runts"];
        assert!(total.iter().all(|name| is_total(name)));
        let other = ["good_frames", "napi_polls", "slice_ns.00", "sent_last_ns"];
        assert!(!other.iter().any(|name| is_total(name)));
        assert!(
            rank("napi_polls") < rank("unseen_frames") && rank("unseen_frames") < rank("another")
        );
        assert_eq!(shown("napi_poll_frames_mean_milli", 2_250), "2.25");
        assert_eq!(
            shown("background_lasted_ns", 1_500_000),
            time(1_500_000_000)
        );
        assert_eq!(shown("napi_polls", 7_680), "7,680");
    }

    #[test]
    fn what_counts_is_added_and_what_has_a_unit_is_not() {
        // A row that is added although its name says otherwise must be here.
        let sums = [Counter::SENT_SLIPPED, Counter::BACKGROUND_LASTED];
        for counter in Counter::ALL {
            let level = is_level_by_name(counter.word()) && !sums.contains(counter);
            assert_eq!(is_added(counter.word()), !level, "{counter:?}");
        }
        for (name, added) in [
            ("node_sent_slipped_ns", true),
            ("node_sent_held_up_ns", false),
            ("probe_taken.in.driver", true),
            ("probe_cost_q1_ns.in.driver", false),
            ("mac_runts", true),
            ("node_own_share_ppm", false),
            ("slice_ns.00", false),
        ] {
            assert_eq!(is_added(name), added, "{name}");
        }
    }

    #[test]
    fn no_two_counters_have_the_same_words() {
        for of in [Counter::word, Counter::meaning] {
            let mut all: Vec<&str> = Counter::ALL.iter().copied().map(of).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), Counter::ALL.len());
        }
    }
}
