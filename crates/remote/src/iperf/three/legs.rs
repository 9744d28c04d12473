//! Maps the streams of an iperf3 test to legs and lines of iperf 2.

use wirelab_iperf::v2::enhanced::Reads;
use wirelab_iperf::v2::intervals::Span;
use wirelab_iperf::v2::receive::Received;
use wirelab_iperf::v2::report::ServerReport;
use wirelab_iperf::v2::sent::Mended;
use wirelab_iperf::v2::stream::Pace;
use wirelab_iperf::v2::table::{Datagrams, Id, Row};
use wirelab_iperf::v2::{Generation, Leg, Receiver, Sent, UdpReceived};
use wirelab_iperf::v3::{StreamOutcome, StreamResult, TestOutcome};
use wirelab_trial::slices::Slices;

use crate::iperf::plan::IperfTrial;

/// The server's report of a stream.
pub(super) fn theirs<'a>(
    outcome: &'a TestOutcome,
    stream: &StreamOutcome,
) -> Option<&'a StreamResult> {
    let results = outcome.peer_results.as_ref()?;
    results.stream(stream.ends.id)
}

/// Datagrams sent after the last one that the server counted.
pub(super) const fn tail(stream: &StreamOutcome, theirs: &StreamResult) -> u64 {
    stream
        .counted
        .packets
        .saturating_sub(theirs.counted_packets())
}

/// The jitter in s at the receiver of a stream, where it is possible in this test.
pub(super) fn jitter_s(outcome: &TestOutcome, stream: &StreamOutcome) -> Option<f64> {
    let seconds = outcome.elapsed_ns as f64 / 1e9;
    if stream.ends.sender {
        return theirs(outcome, stream)?.jitter_within(seconds);
    }
    let own_s = stream.counted.received.jitter_ns as f64 / 1e9;
    Some(own_s).filter(|s| *s <= seconds)
}

/// The stream of a direction.
const fn id_of(stream: &StreamOutcome) -> Id {
    match stream.ends.sender {
        true => Id::Stream(1),
        false => Id::Back(1),
    }
}

/// The lines of all intervals, by the tester's own count.
pub(super) fn rows(plan: &IperfTrial, outcome: &TestOutcome) -> Vec<Row> {
    let every_ns = u64::try_from(plan.config.interval.as_nanos()).unwrap_or(u64::MAX);
    let lines = outcome.intervals.iter().flat_map(|interval| {
        let streams = outcome.streams.iter().zip(&interval.streams);
        streams.map(|(stream, (before, now))| {
            let added = now.since(before);
            let received = added.received;
            // An interval may end a few ms late, and the next is then shorter: both count as whole.
            let length_ns = interval.end_ns - interval.start_ns;
            let length_ns = match length_ns > every_ns / 10 * 9 {
                true => length_ns.max(every_ns),
                false => length_ns,
            };
            let start_s = interval.start_ns as f64 / 1e9;
            let end_s = start_s + length_ns as f64 / 1e9;
            Row {
                bytes: added.bytes,
                datagrams: (plan.is_udp() && !stream.ends.sender).then(|| Datagrams {
                    jitter_ms: received.jitter_ns as f64 / 1e6,
                    jitter_ps: Some(received.jitter_ns.saturating_mul(1000)),
                    received: received.datagrams,
                    lost: received.lost,
                    total: received.distinct + received.lost + received.lost_or_missed,
                    out_of_order: received.reordered,
                }),
                ..Row::new(id_of(stream), start_s, end_s)
            }
        })
    });
    lines.collect()
}

/// A stream as a leg of iperf 2.
pub(super) fn leg(plan: &IperfTrial, outcome: &TestOutcome, stream: &StreamOutcome) -> (Id, Leg) {
    let span = Span {
        start_ns: 0,
        end_ns: stream.end_ns,
    };
    let leg = match (plan.is_udp(), stream.ends.sender) {
        (true, true) => Leg::UdpSent(Box::new(udp_sent(plan, outcome, stream))),
        (true, false) => Leg::UdpReceived(Box::new(udp_received(outcome, stream))),
        (false, true) => tcp_sent(plan, outcome, stream, span),
        (false, false) => Leg::TcpReceived {
            span,
            bytes: stream.counted.bytes,
            reads: Reads::default(),
            transit: None,
            held_up_ns: Some(stream.holds.held_ns),
            slices: Slices::default(),
        },
    };
    (id_of(stream), leg)
}

/// A stream to the server as the server read it, in its own time; without its report, as the tester wrote it.
fn tcp_sent(plan: &IperfTrial, outcome: &TestOutcome, stream: &StreamOutcome, span: Span) -> Leg {
    let theirs = theirs(outcome, stream).filter(|theirs| theirs.end_s > 0.0);
    Leg::TcpSent {
        span,
        bytes: theirs.map_or(stream.counted.bytes, |theirs| theirs.bytes),
        writes: 0,
        read_ns: theirs.map(|theirs| (theirs.end_s * 1e9) as u64),
        stall: stream.stall,
        pace: plan.resolved.frames_per_s.map(|_| {
            Box::new(Pace {
                slips: stream.slips,
                slipped_ns: stream.slipped_ns,
                longest_burst: stream.longest_burst.unwrap_or(1),
                gaps: stream.gaps.clone().unwrap_or_default(),
            })
        }),
        holds: stream.holds,
        retransmits: stream.retransmits,
    }
}

fn udp_sent(plan: &IperfTrial, outcome: &TestOutcome, stream: &StreamOutcome) -> Sent {
    let report = theirs(outcome, stream).map(|theirs| ServerReport {
        bytes: theirs.bytes,
        duration_us: (theirs.end_s.max(0.0) * 1e6) as u64,
        // Datagrams that it did not count did not arrive, as far as it reports.
        lost: theirs.counted_errors().saturating_add(tail(stream, theirs)),
        out_of_order: 0,
        datagrams: stream.counted.packets,
        jitter_us: jitter_s(outcome, stream).map_or(0, |s| (s * 1e6) as u64),
        transit: None,
    });
    Sent {
        rate: plan.config.rate,
        datagram_bytes: plan.datagram,
        mtu_bytes: None,
        fragments: 1,
        datagrams: stream.counted.packets,
        bytes: stream.counted.bytes,
        duration_ns: stream.end_ns,
        report,
        server: None,
        mended: Mended::default(),
        strange_answers: 0,
        refused: 0,
        final_tries: 0,
        segmented: stream.segmented,
        slips: stream.slips,
        slipped_ns: stream.slipped_ns,
        longest_burst: stream.longest_burst,
        holds: stream.holds,
        gaps: stream.gaps.clone().unwrap_or_default(),
    }
}

fn udp_received(outcome: &TestOutcome, stream: &StreamOutcome) -> UdpReceived {
    let received = stream.counted.received;
    let jitter_s = jitter_s(outcome, stream).unwrap_or(0.0);
    UdpReceived {
        span: Span {
            start_ns: 0,
            end_ns: stream.last_ns,
        },
        received: Received {
            bytes: received.bytes,
            datagrams: received.datagrams,
            distinct: received.distinct,
            lost: received.lost,
            lost_or_missed: received.lost_or_missed,
            missed: 0,
            duplicated: received.duplicated,
            reordered: received.reordered,
            too_late: received.too_late,
            ignored: received.ignored,
        },
        jitter_ps: Some((jitter_s * 1e12) as u64),
        held_up_ns: Some(stream.holds.held_ns),
        finished: outcome.peer_results.is_some(),
        ..UdpReceived::of(&Receiver::of(Generation::Wide, 0))
    }
}
