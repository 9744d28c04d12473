//! From each leg of a test to the observation of a flow.

use std::collections::BTreeMap;

use wirelab_iperf::v2::table::{Id, Row};
use wirelab_iperf::v2::{Leg, Sent, ServerReport, UdpReceived};
use wirelab_trial::job::{self, CheckReport, FlowAsked, SendReport};
use wirelab_trial::{
    ClockKind, Counts, Direction, Elapsed, Field, FlowObservation, Spans, Warning,
};

use super::plan::Plan;

const NO_CONTENT: &str = "iperf checks no content, so its numbers are no counts of verified frames";
const PEER_SENDS: &str = "the peer is the sender, and says nothing of itself";

/// What flows are made with.
pub struct About<'a> {
    pub plan: &'a Plan,
    pub rows: &'a [Row],
    pub peer: String,
    pub fragmented: bool,
    pub warnings: Vec<Warning>,
}

impl About<'_> {
    /// The flow of a leg; `None` for the short one that only asks for traffic back.
    pub fn flow(&mut self, id: Id, leg: &Leg) -> Option<FlowObservation> {
        let direction = match leg {
            Leg::TcpSent { .. } | Leg::UdpSent(_) => Direction::Receive,
            Leg::TcpReceived { .. } | Leg::UdpReceived(_) => Direction::Transmit,
        };
        if self.plan.trial.direction == Direction::Transmit && direction == Direction::Receive {
            return None;
        }
        let mut flow = match leg {
            Leg::UdpSent(sent) => self.sent(sent),
            Leg::UdpReceived(udp) => self.received(udp),
            // Until the peer has read all, bytes lie in buffers, and are no throughput.
            Leg::TcpSent {
                span,
                bytes,
                read_ns,
                ..
            } => self.stream(
                direction,
                *bytes,
                read_ns.unwrap_or(span.end_ns).saturating_sub(span.start_ns),
            ),
            Leg::TcpReceived { span, bytes, .. } => {
                self.stream(direction, *bytes, span.end_ns.saturating_sub(span.start_ns))
            }
        };
        if matches!(leg, Leg::TcpSent { read_ns: None, .. }) {
            self.warnings.push(Warning::new(
                "buffered",
                "the peer did not end its side, so nobody can say when it had read all: what lay in buffers at the end is counted as sent",
                "ask a longer trial, in which buffers matter less",
            ));
        }
        let rows = self.rows.iter().filter(|row| row.id == id);
        intervals(&mut flow.counters, rows);
        Some(flow)
    }

    fn asked(&self, direction: Direction) -> FlowAsked {
        let tester = "tester".to_owned();
        let (from, to) = match direction {
            Direction::Transmit => (self.peer.clone(), tester),
            _ => (tester, self.peer.clone()),
        };
        FlowAsked {
            port: self.peer.clone(),
            direction,
            stream: 0,
            layer: self.plan.trial.framing.layer,
            sizes: self.plan.sizes,
            link: self.plan.link,
            frames_per_s: self.plan.frames_per_s,
            from,
            to,
            sender_path: "iperf".to_owned(),
            receiver_path: "iperf".to_owned(),
            ledger: None,
        }
    }

    /// A flow of which so many datagrams arrived in a time; the rest is for the caller to say.
    fn base(
        &self,
        direction: Direction,
        sent: &SendReport,
        arrived: u64,
        over_ns: u64,
    ) -> FlowObservation {
        let asked = self.asked(direction);
        let seen = CheckReport {
            counts: Counts {
                received_frames: arrived,
                ..Counts::default()
            },
            first: (arrived > 0).then_some((0, 0)),
            last: (arrived > 0).then_some((over_ns, arrived)),
            ..CheckReport::default()
        };
        let mut flow = job::flow_observation(&asked, sent, seen);
        flow.counts = Field::absent(NO_CONTENT);
        flow.jitter_ps = Field::absent("not measured");
        flow.loss_ratio = Field::absent("not measured");
        if arrived == 0 {
            flow.without_rates("nothing arrived");
        }
        if self.fragmented {
            let why = "the datagrams were fragmented, so a frame is not a datagram";
            flow.payload_bits_per_s = Field::absent(why);
            flow.link_bits_per_s = Field::absent(why);
            flow.efficiency = Field::absent(why);
        }
        flow
    }

    /// What we sent over UDP, with what the server says of it.
    fn sent(&mut self, sent: &Sent) -> FlowObservation {
        let report = send_report(sent);
        self.warnings.extend(job::below_rate(
            self.plan.frames_per_s,
            std::slice::from_ref(&report),
        ));
        if sent.refused > 0 {
            let text = format!(
                "the system had no room for {} datagrams, which never left",
                sent.refused
            );
            let way_out = "offer less: these datagrams are the tester's loss, not the node's";
            self.warnings
                .push(Warning::new("driver-refused", text, way_out));
        }
        let Some(server) = sent.report else {
            let mut flow = self.base(Direction::Receive, &report, 0, 0);
            flow.without_rates("the peer sent no report");
            self.warnings.push(no_report(sent));
            return flow;
        };
        let (lost, received) = of_report(&server, sent.datagrams);
        let over_ns = server.duration_us.saturating_mul(1000);
        let mut flow = self.base(Direction::Receive, &report, received, over_ns);
        if let (true, Field::Observed { value: sender, .. }) = (sent.segmented, &mut flow.sender) {
            sender.path = "iperf, segmented".to_owned();
        }
        if sent.datagrams > 0 {
            flow.loss_ratio = Field::measured(lost as f64 / sent.datagrams as f64);
        }
        flow.jitter_ps = Field::measured(server.jitter_us.saturating_mul(1_000_000));
        let counters = [
            ("reported_bytes", server.bytes),
            ("reported_datagrams", server.datagrams),
            ("reported_lost", server.lost),
            ("reported_out_of_order", server.out_of_order),
            (
                "reported_duration_ps",
                server.duration_us.saturating_mul(1_000_000),
            ),
            ("final_datagrams", u64::from(sent.final_tries)),
        ];
        put(&mut flow.counters, counters);
        if server.out_of_order > 0 {
            self.warnings.push(Warning::new(
                "reported-out-of-order",
                "the peer reports datagrams out of order; iperf takes each from the losses, so duplicates hide losses",
                "ask node:HOST, which tells duplicates from losses",
            ));
        }
        flow
    }

    /// What the peer sent over UDP, in our own counting.
    fn received(&mut self, udp: &UdpReceived) -> FlowObservation {
        let received = udp.received;
        let over_ns = udp.span.end_ns.saturating_sub(udp.span.start_ns);
        let mut flow = self.base(
            Direction::Transmit,
            &SendReport::default(),
            received.datagrams,
            over_ns,
        );
        flow.sender = Field::absent(PEER_SENDS);
        flow.sent_frames = match udp.finished {
            true => Field::measured(received.sent()),
            false => Field::absent("no final datagram came, so the peer's number is not known"),
        };
        if received.sent() > 0 {
            flow.loss_ratio = Field::measured(received.lost as f64 / received.sent() as f64);
        }
        flow.jitter_ps = Field::measured_or(
            udp.jitter_ps,
            "the peer writes no times into its datagrams, so their jitter is not known",
        );
        let counters = [
            ("received_bytes", received.bytes),
            ("received_datagrams", received.datagrams),
            ("distinct_datagrams", received.distinct),
            ("lost_datagrams", received.lost),
            ("duplicated_datagrams", received.duplicated),
            ("reordered_datagrams", received.reordered),
            ("too_late_datagrams", received.too_late),
            ("ignored_datagrams", received.ignored),
            ("unattributed_datagrams", udp.unattributed),
        ];
        put(&mut flow.counters, counters);
        for note in udp.notes() {
            let text = format!("{}: {note}", self.peer);
            self.warnings.push(Warning::new(
                "iperf-note",
                text,
                "the datagrams that it names are counted as it says; ask otherwise where it says how",
            ));
        }
        flow
    }

    /// A TCP stream, of which bytes alone are known.
    fn stream(&self, direction: Direction, bytes: u64, over_ns: u64) -> FlowObservation {
        let mut flow = self.base(direction, &SendReport::default(), 0, 0);
        flow.without_rates("TCP cuts its stream into segments of its own");
        flow.sent_frames = Field::absent("a TCP stream has no frames of its own");
        flow.loss_ratio = Field::absent("TCP sends again what was lost");
        flow.jitter_ps = Field::absent("a TCP stream has no datagrams");
        flow.sender = Field::absent("iperf tells nothing of a TCP sender");
        if over_ns > 0 && bytes > 0 {
            flow.goodput_bits_per_s = Field::measured(bytes as f64 * 8e9 / over_ns as f64);
            flow.elapsed = Field::measured(Elapsed {
                ps: over_ns.saturating_mul(1000),
                spans: Spans::Call,
                clock: ClockKind::Wall,
            });
        } else {
            flow.goodput_bits_per_s = Field::absent("no byte went over");
        }
        put(&mut flow.counters, [("stream_bytes", bytes)]);
        flow
    }
}

/// What our own sender did.
fn send_report(sent: &Sent) -> SendReport {
    SendReport {
        emitted_frames: sent.datagrams.saturating_sub(sent.refused),
        sequences: sent.datagrams,
        first_ns: 0,
        // From the first datagram to the last: the sum of the gaps.
        last_ns: (sent.gaps.mean_ticks * sent.gaps.count as f64).round() as u64,
        gap: sent.gaps.clone(),
        slips: sent.slips,
        slipped_ns: sent.slipped_ns,
        refused_frames: sent.refused,
        kernel_copied: Some(true),
        call_ns: sent.duration_ns,
    }
}

/// Losses and arrivals of our datagrams by a server's report. Most servers count the final datagram as one more,
/// and one whose first final datagrams were lost books those as losses of data.
fn of_report(report: &ServerReport, sent: u64) -> (u64, u64) {
    let finals = report.datagrams.saturating_sub(sent);
    let lost = report
        .lost
        .saturating_sub(finals.saturating_sub(1))
        .min(sent);
    (lost, sent - lost)
}

fn no_report(sent: &Sent) -> Warning {
    let (why, way_out) = match sent.strange_answers {
        0 => (
            "sent no report",
            "the servers of some boards send none: read the board's own output, or ask node:HOST",
        ),
        _ => (
            "answered in no layout of iperf 2 that is known",
            "is that an iperf3 server, or none of iperf? Ask an iperf 2 server, or node:HOST",
        ),
    };
    Warning::new(
        "no-report",
        format!(
            "the peer {why} after {} final datagrams: {} datagrams were sent, and what arrived is not known",
            sent.final_tries, sent.datagrams
        ),
        way_out,
    )
}

fn put<const N: usize>(counters: &mut BTreeMap<String, Field<u64>>, values: [(&str, u64); N]) {
    for (name, value) in values {
        counters.insert(name.to_owned(), Field::measured(value));
    }
}

/// `interval_NN_…` for each line of iperf's table.
fn intervals<'a>(counters: &mut BTreeMap<String, Field<u64>>, rows: impl Iterator<Item = &'a Row>) {
    for (n, row) in rows.take(99).enumerate() {
        let mut keep = |what: &str, value: u64| {
            counters.insert(
                format!("interval_{:02}_{what}", n + 1),
                Field::measured(value),
            );
        };
        keep("bytes", row.bytes);
        if let Some(datagrams) = row.datagrams {
            keep("datagrams", datagrams.total);
            keep("lost", datagrams.lost);
            keep("jitter_ps", (datagrams.jitter_ms * 1e9).max(0.0) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(datagrams: u64, lost: u64) -> ServerReport {
        ServerReport {
            datagrams,
            lost,
            ..ServerReport::default()
        }
    }

    #[test]
    fn the_final_datagrams_are_no_losses() {
        assert_eq!(of_report(&report(101, 0), 100), (0, 100));
        assert_eq!(of_report(&report(101, 7), 100), (7, 93));
        // Two final datagrams were lost; a client of 2.1.8 counts on.
        assert_eq!(of_report(&report(103, 9), 100), (7, 93));
        // A server that does not count the final datagram.
        assert_eq!(of_report(&report(100, 7), 100), (7, 93));
        // Hostile.
        assert_eq!(
            of_report(&report(u64::MAX, u64::MAX), 100).1,
            100 - of_report(&report(u64::MAX, u64::MAX), 100).0
        );
        assert_eq!(of_report(&report(0, u64::MAX), 100), (100, 0));
    }
}
