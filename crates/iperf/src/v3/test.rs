//! The result of a test, as one of its ends saw it.

use std::net::SocketAddr;

use thiserror::Error;
use wirelab_trial::system_error::system_fix;
use wirelab_trial::{Histogram, Holds};

use super::auth::{AuthError, NotAuthorized};
use super::control::{ControlError, Cookie};
use super::parameters::Parameters;
use super::receive::Received;
use super::results::{Results, ServerOutput, StreamResult, UNKNOWN_JITTER};
use crate::options::RefusedOption;
use crate::v2::progress::Stall;

/// One stream during an interval, or during the whole test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Application bytes sent or received; for a finished TCP stream without those that the peer did not acknowledge.
    pub bytes: u64,
    /// Datagrams sent, or the highest number received; 0 over TCP.
    pub packets: u64,
    /// What a UDP receiver saw; zeros at a sender and over TCP.
    pub received: Received,
}

impl StreamCounts {
    /// The difference to `before`; the jitter is the present one.
    #[must_use]
    pub fn since(&self, before: &StreamCounts) -> StreamCounts {
        let less = u64::saturating_sub;
        let (now, then) = (&self.received, &before.received);
        StreamCounts {
            bytes: less(self.bytes, before.bytes),
            packets: less(self.packets, before.packets),
            received: Received {
                bytes: less(now.bytes, then.bytes),
                datagrams: less(now.datagrams, then.datagrams),
                distinct: less(now.distinct, then.distinct),
                lost: less(now.lost, then.lost),
                lost_or_missed: less(now.lost_or_missed, then.lost_or_missed),
                duplicated: less(now.duplicated, then.duplicated),
                reordered: less(now.reordered, then.reordered),
                too_late: less(now.too_late, then.too_late),
                ignored: less(now.ignored, then.ignored),
                peer_packets: less(now.peer_packets, then.peer_packets),
                peer_lost: less(now.peer_lost, then.peer_lost),
                peer_out_of_order: less(now.peer_out_of_order, then.peer_out_of_order),
                jitter_ns: now.jitter_ns,
            },
        }
    }
}

/// A stream and its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Its number; see [`super::parameters::stream_id`].
    pub id: u32,
    /// Whether this end sends.
    pub sender: bool,
    /// Its local address.
    pub local: SocketAddr,
    /// Its remote address.
    pub remote: SocketAddr,
}

/// A test whose data begins to flow.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// Whether this end is the client.
    pub client: bool,
    /// The peer's end of the control connection.
    pub peer: SocketAddr,
    /// The identification of the test.
    pub cookie: Cookie,
    /// When data began to flow, in s since 1970.
    pub began_unix_s: u64,
    /// The requested test.
    pub parameters: &'a Parameters,
    /// The streams, in the order of their numbers.
    pub streams: &'a [Ends],
}

/// An event of a running test.
#[derive(Debug)]
pub enum TestEvent<'a> {
    /// Data begins to flow.
    Began(Beginning<'a>),
    /// A line of `-i` for each stream.
    Interval(&'a Interval),
    /// At a server: a client was refused.
    Refused {
        /// The client.
        peer: SocketAddr,
        /// The reason, which the client does not learn.
        why: &'a NotAuthorized,
    },
    /// At a server: the test is over, and the client requests the output of this end.
    OutputRequested {
        /// Its result.
        outcome: &'a TestOutcome,
        /// Where to put the output; nothing is sent without it.
        output: &'a mut Option<ServerOutput>,
    },
}

/// Receives the events of a running test.
pub type EventSink<'a> = &'a mut dyn FnMut(TestEvent<'_>);

/// The streams between two checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its start, in ns after the test began; where a start is omitted, both it and the test after it begin at 0.
    pub start_ns: u64,
    /// Its end, in ns after the test began.
    pub end_ns: u64,
    /// Whether it belongs to the omitted start.
    pub omitted: bool,
    /// Each stream's counts at its start and at its end.
    pub streams: Vec<(StreamCounts, StreamCounts)>,
}

/// The result of one stream.
#[derive(Clone, Debug)]
pub struct StreamOutcome {
    /// Its ends.
    pub ends: Ends,
    /// All that was counted.
    pub counted: StreamCounts,
    /// The counts of the omitted start.
    pub omitted: StreamCounts,
    /// Its end, in ns after the test began: when sending stopped, over TCP when the peer had everything, or when the
    /// last byte arrived. A test of a time ends no earlier than that time, unless it was stopped.
    pub end_ns: u64,
    /// When its last byte was sent or arrived, in ns after the test began.
    pub last_ns: u64,
    /// The gaps from one write to the next, in ticks of 1 ns; at a sender alone.
    pub gaps: Option<Histogram>,
    /// How often a paced sender was so late that its schedule moved. More than 0: the sender fell behind.
    pub slips: u64,
    /// The total of these moves, in ns: time in which nothing was offered.
    pub slipped_ns: u64,
    /// Most datagrams or writes sent back to back to catch up after a pause; `None` at full rate and at a receiver.
    pub longest_burst: Option<u64>,
    /// Pauses by this host of a receiver or of a sender at full rate, and time of back-pressure.
    pub holds: Holds,
    /// Whether the system got many datagrams in one piece, which the kernel or the device segments; on a veth pair they
    /// are never segmented.
    pub segmented: bool,
    /// TCP's congestion control at this end; `None` over UDP.
    pub congestion: Option<String>,
    /// TCP segments that this end retransmitted; `None` at a receiver, over UDP, and where a start is omitted.
    pub retransmits: Option<u64>,
    /// The longest pause in which the peer took none of the data written over TCP, if long enough to report.
    pub stall: Option<Stall>,
    /// The pause at the end, where it was most of the stream: the peer does not read.
    pub unread: Option<Stall>,
}

/// A test in which data flowed.
#[derive(Clone, Debug)]
pub struct TestOutcome {
    /// Whether this end was the client.
    pub client: bool,
    /// The requested test.
    pub parameters: Parameters,
    /// The identification of the test.
    pub cookie: Cookie,
    /// The peer's end of the control connection.
    pub peer: SocketAddr,
    /// When data began to flow, in s since 1970.
    pub began_unix_s: u64,
    /// How long data flowed, in ns.
    pub elapsed_ns: u64,
    /// The streams.
    pub streams: Vec<StreamOutcome>,
    /// The lines of `-i`.
    pub intervals: Vec<Interval>,
    /// Busy share of a CPU in percent, of this process: total, user, system.
    pub cpu_percent: [f64; 3],
    /// The peer's results; `None` where it was lost before it sent them.
    pub peer_results: Option<Results>,
    /// Why the test did not end normally; what was measured before is kept.
    pub failure: Option<String>,
}

impl TestOutcome {
    /// Whether this end sends on any stream.
    pub fn sends(&self) -> bool {
        self.streams.iter().any(|stream| stream.ends.sender)
    }

    /// The duration of the test including the omitted start, in s: no jitter is longer.
    pub(super) fn longest_s(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9 + self.parameters.omit_seconds as f64
    }

    /// TCP's congestion control at this end; `None` over UDP.
    pub fn congestion(&self) -> Option<String> {
        self.streams.first()?.congestion.clone()
    }

    /// The server's own output, where this end requested it and the server sent it.
    pub fn server_output(&self) -> Option<&ServerOutput> {
        let peer_results = self.peer_results.as_ref().filter(|_| self.client)?;
        peer_results
            .server_output
            .as_ref()
            .filter(|_| self.parameters.server_output)
    }

    /// Notes for the reader of the figures: a line for each.
    pub fn notes(&self) -> Vec<String> {
        let stalls = self.streams.iter().filter_map(|stream| {
            let note = stream.stall?.note();
            Some(format!("stream {}: {note}", stream.ends.id))
        });
        self.jitter_notes().into_iter().chain(stalls).collect()
    }

    /// The part of [`TestOutcome::notes`] about jitters.
    pub fn jitter_notes(&self) -> Vec<String> {
        jitter_notes(self)
    }

    /// Why a test gives no figures: its peer accepts a stream and does not read it.
    pub(super) fn not_read(&self) -> Option<String> {
        let unread = self.streams.iter().find_map(|stream| stream.unread)?;
        Some(format!(
            "{} takes streams and does not read them: it took nothing for the last {:.1} s; fix: start an iperf3 server there (iperf3 -s), or end what blocks it",
            self.peer,
            unread.lasted_ns as f64 / 1e9
        ))
    }

    /// The results that this end sends to the peer.
    pub fn results(&self) -> Results {
        let streams = self.streams.iter().map(|stream| StreamResult {
            id: stream.ends.id,
            bytes: stream.counted.bytes,
            retransmits: stream.retransmits,
            jitter_s: stream.counted.received.jitter_ns as f64 / 1e9,
            errors: stream.counted.received.peer_lost + stream.omitted.received.peer_lost,
            packets: stream.counted.packets + stream.omitted.packets,
            omitted_errors: stream.omitted.received.peer_lost,
            omitted_packets: stream.omitted.packets,
            start_s: 0.0,
            end_s: stream.end_ns as f64 / 1e9,
        });
        Results {
            cpu_percent: self.cpu_percent,
            has_retransmits: self
                .sends()
                .then(|| self.streams.iter().any(|s| s.retransmits.is_some())),
            congestion: self.congestion(),
            server_output: None,
            streams: streams.collect(),
        }
    }
}

/// Why there is no outcome.
#[derive(Debug, Error)]
pub enum TestError {
    /// No connection.
    #[error("cannot reach {peer}: {source}; fix: start an iperf3 server there (iperf3 -s)")]
    Connect {
        /// The peer.
        peer: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The address is not available.
    #[error(
        "cannot listen on {address}: {source}; fix: give an address of this host, and a port that is free"
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system refuses an option of a socket.
    #[error(transparent)]
    Refused(#[from] RefusedOption),
    /// The system refused.
    #[error("{what}: {source}; fix: {}", system_fix(source))]
    Io {
        /// The attempted action, and with which peer.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The peer refused or failed.
    #[error("{peer}: {source}")]
    Control {
        /// The peer.
        peer: SocketAddr,
        /// The error.
        source: ControlError,
    },
    /// The peer stopped talking before data flowed.
    #[error("{peer} {how} while {during}; fix: start its iperf3 again")]
    Lost {
        /// The peer.
        peer: SocketAddr,
        /// Whether it closed the connection or fell silent.
        how: &'static str,
        /// The present phase.
        during: &'static str,
    },
    /// The credentials cannot be sent to the server.
    #[error("{0}")]
    Credentials(AuthError),
    /// A request that this end does not support.
    #[error("{0}; fix: correct that option")]
    Unsupported(String),
    /// The caller cancelled.
    #[error("stopped before data flowed")]
    Cancelled,
}

impl TestError {
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> TestError {
        let what = what.into();
        |source| TestError::Io { what, source }
    }
}

/// One stream: wirelab's figures and, where it reported any, the peer's.
pub(super) struct StreamResults {
    pub(super) id: u32,
    /// Whether this end sends.
    pub(super) sender: bool,
    pub(super) sent: Option<StreamResult>,
    pub(super) received: Option<StreamResult>,
    pub(super) out_of_order: u64,
}

/// All streams, in the order of their numbers.
pub(super) fn both_sides(outcome: &TestOutcome) -> Vec<StreamResults> {
    let ours = outcome.results().streams;
    let streams = outcome.streams.iter().zip(ours);
    streams
        .map(|(stream, ours)| both(outcome, stream, ours))
        .collect()
}

fn both(outcome: &TestOutcome, stream: &StreamOutcome, ours: StreamResult) -> StreamResults {
    let peer_results = outcome.peer_results.as_ref();
    let theirs = peer_results
        .and_then(|results| results.stream(stream.ends.id))
        .cloned()
        .map(|mut theirs| {
            // Versions before 3.2 do not report their time.
            if theirs.end_s <= theirs.start_s {
                theirs.end_s = outcome.elapsed_ns as f64 / 1e9;
            }
            // Versions before 3.13 also count the datagrams of the omitted start, but not its bytes.
            let parameters = &outcome.parameters;
            if parameters.omit_seconds > 0 && theirs.omitted_packets == 0 && !stream.ends.sender {
                theirs.packets = theirs.bytes / u64::from(parameters.length_bytes.max(1));
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
    StreamResults {
        id: stream.ends.id,
        sender: stream.ends.sender,
        sent,
        received,
        out_of_order: stream.counted.received.peer_out_of_order,
    }
}

/// Wirelab's figures as shown: possible drops by its own queues are not losses. The peer gets iperf3's count.
fn without_missed(stream: &StreamOutcome, ours: StreamResult) -> StreamResult {
    let omitted = stream.omitted.received.shown_lost();
    StreamResult {
        errors: stream.counted.received.shown_lost().saturating_add(omitted),
        omitted_errors: omitted,
        ..ours
    }
}

/// The mean jitter in s of received streams at the end of an interval; `None` where a stream has no valid one.
pub(super) fn jitter_of(
    pairs: &[(StreamCounts, StreamCounts)],
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

/// Notes about jitters that are shown as unknown.
pub(super) fn jitter_notes(outcome: &TestOutcome) -> Vec<String> {
    let seconds = outcome.longest_s();
    let theirs = outcome.peer_results.as_ref();
    let notes = outcome.results().streams.into_iter().zip(&outcome.streams);
    let notes = notes.filter_map(|(ours, stream)| {
        let (who, result) = match stream.ends.sender {
            true => ("the peer reports", theirs?.stream(stream.ends.id)?.clone()),
            false => ("the sender's times give", ours),
        };
        if !outcome.parameters.udp || result.jitter_within(seconds).is_some() {
            return None;
        }
        let what = match result.jitter_s {
            UNKNOWN_JITTER => "a jitter that is no number".to_owned(),
            jitter_s => format!("a jitter of {jitter_s:.3e} s, which no test of {seconds:.1} s can have"),
        };
        Some(format!(
            "stream {}: {who} {what}: it is unknown; iperf3 before 3.8, such as 3.1.3, takes the difference between two clocks for jitter",
            stream.ends.id
        ))
    });
    notes.collect()
}

/// All streams together, as their senders (`sent`) or their receivers counted them; the jitter is the mean, and unknown
/// if any is.
pub(super) fn sum_of(streams: &[&StreamResults], sent: bool) -> StreamResult {
    let side = |stream: &&StreamResults| match sent {
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
