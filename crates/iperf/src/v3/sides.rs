//! Each stream as its sender and its receiver saw it: our own figures beside those that the peer told, and no jitter
//! that cannot be.

use super::results::{StreamResult, UNKNOWN_JITTER};
use super::test::{Counted, Interval, Outcome, StreamOutcome};

/// One stream: our own figures and, where it told any, the peer's.
pub(super) struct Both {
    pub(super) id: u32,
    /// Whether our end sends.
    pub(super) sender: bool,
    pub(super) sent: Option<StreamResult>,
    pub(super) received: Option<StreamResult>,
    pub(super) out_of_order: u64,
}

/// All streams, in the order of their numbers.
pub(super) fn both_sides(outcome: &Outcome) -> Vec<Both> {
    let ours = outcome.results().streams;
    let streams = outcome.streams.iter().zip(ours);
    streams
        .map(|(stream, ours)| both(outcome, stream, ours))
        .collect()
}

fn both(outcome: &Outcome, stream: &StreamOutcome, ours: StreamResult) -> Both {
    let told = outcome.peer_results.as_ref();
    let theirs = told
        .and_then(|results| results.stream(stream.ends.id))
        .cloned()
        .map(|mut theirs| {
            // Versions before 3.2 do not tell their time.
            if theirs.end_s <= theirs.start_s {
                theirs.end_s = outcome.elapsed_ns as f64 / 1e9;
            }
            // Versions before 3.13 count what was sent in the omitted start as well, but not its bytes.
            let asked = &outcome.parameters;
            if asked.omit_seconds > 0 && theirs.omitted_packets == 0 && !stream.ends.sender {
                theirs.packets = theirs.bytes / u64::from(asked.length_bytes.max(1));
            }
            theirs
        });
    let (sent, mut received) = if stream.ends.sender {
        (Some(ours), theirs)
    } else {
        (theirs, Some(without_missed(stream, ours)))
    };
    if let Some(received) = &mut received {
        let possible = received.jitter_within(outcome.longest_s());
        received.jitter_s = possible.unwrap_or(UNKNOWN_JITTER);
    }
    Both {
        id: stream.ends.id,
        sender: stream.ends.sender,
        sent,
        received,
        out_of_order: stream.counted.received.peer_out_of_order,
    }
}

/// Our own figures as they are shown: what our own queues may have dropped is no loss. The peer is told iperf3's count.
fn without_missed(stream: &StreamOutcome, ours: StreamResult) -> StreamResult {
    let omitted = stream.omitted.received.shown_lost();
    StreamResult {
        errors: stream.counted.received.shown_lost().saturating_add(omitted),
        omitted_errors: omitted,
        ..ours
    }
}

/// The mean jitter in s of streams that our end receives, at the end of an interval; `None` where one has none that
/// can be.
pub(super) fn jitter_of(
    pairs: &[(Counted, Counted)],
    interval: &Interval,
    omit_seconds: u64,
) -> Option<f64> {
    let most_ns = interval
        .end_ns
        .saturating_add(omit_seconds.saturating_mul(1_000_000_000));
    let each = pairs.iter().map(|(_, now)| now.received.jitter_ns);
    let known: Option<Vec<u64>> = each.map(|ns| (ns <= most_ns).then_some(ns)).collect();
    let known = known?;
    let sum_ns: f64 = known.iter().map(|ns| *ns as f64).sum();
    Some(sum_ns / 1e9 / known.len().max(1) as f64)
}

/// What a reader must know of the jitters that are shown as unknown.
pub(super) fn jitter_notes(outcome: &Outcome) -> Vec<String> {
    let seconds = outcome.longest_s();
    let theirs = outcome.peer_results.as_ref();
    let notes = outcome.results().streams.into_iter().zip(&outcome.streams);
    let notes = notes.filter_map(|(ours, stream)| {
        let (who, told) = match stream.ends.sender {
            true => ("the peer tells", theirs?.stream(stream.ends.id)?.clone()),
            false => ("the sender's times give", ours),
        };
        if !outcome.parameters.udp || told.jitter_within(seconds).is_some() {
            return None;
        }
        let what = match told.jitter_s {
            UNKNOWN_JITTER => "a jitter that is no number".to_owned(),
            told_s => format!("a jitter of {told_s:.3e} s, which no test of {seconds:.1} s can have"),
        };
        Some(format!(
            "stream {}: {who} {what}: it is unknown; iperf3 before 3.8, such as 3.1.3, takes the difference between two clocks for jitter",
            stream.ends.id
        ))
    });
    notes.collect()
}

/// All streams together, as their senders (`sent`) or their receivers saw them; the jitter is the mean, and unknown
/// where one is.
pub(super) fn sum_of(streams: &[&Both], sent: bool) -> StreamResult {
    let side = |stream: &&Both| match sent {
        true => stream.sent.clone(),
        false => stream.received.clone(),
    };
    let results: Vec<StreamResult> = streams.iter().filter_map(side).collect();
    let add = |get: fn(&StreamResult) -> u64| results.iter().map(get).fold(0, u64::saturating_add);
    let again = results.iter().map(|r| r.retransmits).sum::<Option<u64>>();
    StreamResult {
        id: 0,
        bytes: add(|r| r.bytes),
        retransmits: again.filter(|_| !results.is_empty()),
        jitter_s: match results.iter().any(|r| r.jitter_s == UNKNOWN_JITTER) {
            true => UNKNOWN_JITTER,
            false => results.iter().map(|r| r.jitter_s).sum::<f64>() / results.len().max(1) as f64,
        },
        errors: add(|r| r.errors),
        packets: add(|r| r.packets),
        omitted_errors: add(|r| r.omitted_errors),
        omitted_packets: add(|r| r.omitted_packets),
        start_s: 0.0,
        end_s: results.iter().map(|r| r.end_s).fold(0.0, f64::max),
    }
}
