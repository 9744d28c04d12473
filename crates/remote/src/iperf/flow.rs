//! Turns each leg of a test into the observation of a flow.

use std::collections::BTreeMap;

use wirelab_iperf::v2::stream::Pace;
use wirelab_iperf::v2::table::{Id, Row};
use wirelab_iperf::v2::{Leg, Sent, UdpReceived};
use wirelab_trial::counter::Counter;
use wirelab_trial::format;
use wirelab_trial::job::{self, CheckReport, FlowRequest, SendReport};
use wirelab_trial::slices::Slices;
use wirelab_trial::{
    ClockKind, Counts, Direction, Elapsed, Field, FlowObservation, Holds, OverTime,
    SenderObservation, Spans, Warning, WarningCode,
};

use super::plan::IperfTrial;
use crate::leaving::InterfaceEvents;

const NO_CONTENT: &str =
    "iperf checks no content, so its numbers are not counts of verified frames";
const PEER_SENDS: &str = "the peer is the sender, and does not report this";

/// The data from which flows are made.
pub struct FlowSource<'a> {
    pub plan: &'a IperfTrial,
    pub rows: &'a [Row],
    pub peer: String,
    pub fragmented: bool,
    /// Events of the tester's interface.
    pub left: &'a InterfaceEvents,
    pub warnings: Vec<Warning>,
}

impl FlowSource<'_> {
    /// The flow of a leg; `None` for the short one that only requests traffic back.
    pub fn flow(&mut self, id: Id, leg: &Leg) -> Option<FlowObservation> {
        let direction = match leg {
            Leg::TcpSent { .. } | Leg::UdpSent(_) => Direction::Receive,
            Leg::TcpReceived { .. } | Leg::UdpReceived(_) => Direction::Transmit,
        };
        if self.plan.resolved.trial.direction == Direction::Transmit
            && direction == Direction::Receive
        {
            return None;
        }
        let mut flow = match leg {
            Leg::UdpSent(sent) => self.sent(sent),
            Leg::UdpReceived(udp) => self.received(udp),
            // Until the peer has read everything, bytes are in buffers and are not throughput.
            Leg::TcpSent {
                span,
                bytes,
                read_ns,
                ..
            } => self.stream(
                direction,
                *bytes,
                read_ns.unwrap_or(span.end_ns).saturating_sub(span.start_ns),
                // When the peer read them is unknown.
                &Slices::default(),
            ),
            Leg::TcpReceived {
                span,
                bytes,
                slices,
                ..
            } => {
                let over_ns = span.end_ns.saturating_sub(span.start_ns);
                self.stream(direction, *bytes, over_ns, slices)
            }
        };
        match leg {
            Leg::TcpSent { pace, holds, .. } => {
                flow.sender = Field::measured(stream_sender(pace.as_deref(), *holds));
            }
            Leg::TcpReceived { held_up_ns, .. } => flow.checker_held_up_ps = held_up(*held_up_ns),
            _ => {}
        }
        if let Leg::TcpSent {
            stall: Some(stall), ..
        } = leg
        {
            let text = format!("{}: {}", self.peer, stall.note());
            let fix = "look at what the peer, or the path, did then; repeat the trial";
            self.warnings
                .push(Warning::new(WarningCode::STALLED, text, fix));
        }
        if matches!(leg, Leg::TcpSent { read_ns: None, .. }) {
            self.warnings.push(Warning::new(
                WarningCode::BUFFERED,
                "the peer did not close the connection, so it is unknown when it had read everything: bytes in buffers at the end count as sent",
                "use a longer trial, in which buffers matter less",
            ));
        }
        // The partial last interval would look like a whole one.
        let every = self.plan.config.interval;
        let own = |row: &&Row| row.id == id && row.is_whole(every);
        let rows = self.rows.iter().filter(own);
        intervals(&mut flow.counters, rows);
        Some(flow)
    }

    fn request(&self, direction: Direction) -> FlowRequest {
        let tester = "tester".to_owned();
        let (from, to) = match direction {
            Direction::Transmit => (self.peer.clone(), tester),
            _ => (tester, self.peer.clone()),
        };
        FlowRequest {
            port: self.peer.clone(),
            direction,
            stream: 0,
            layer: self.plan.resolved.trial.framing.layer,
            sizes: self.plan.resolved.sizes,
            link: self.plan.resolved.link,
            frames_per_s: self.plan.resolved.frames_per_s,
            from,
            to,
            sender_path: "iperf".to_owned(),
            receiver_path: "iperf".to_owned(),
            ledger: None,
        }
    }

    /// A flow with so many arrived datagrams in a time; the caller fills in the rest.
    fn base(
        &self,
        direction: Direction,
        sent: &SendReport,
        arrived: u64,
        over_ns: u64,
        slices: Slices,
    ) -> FlowObservation {
        let request = self.request(direction);
        let received = CheckReport {
            counts: Counts {
                received_frames: arrived,
                ..Counts::default()
            },
            first: (arrived > 0).then_some((0, 0)),
            last: (arrived > 0).then_some((over_ns, arrived)),
            slices,
            ..CheckReport::default()
        };
        let mut flow = job::flow_observation(&request, sent, received);
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
            flow.intervals.payload_bits_per_s = None;
            flow.intervals.link_bits_per_s = None;
        }
        flow
    }

    /// A flow that the tester sent over UDP, with the server's report.
    fn sent(&mut self, sent: &Sent) -> FlowObservation {
        let mut report = send_report(sent);
        let reported = sent.lost_and_arrived();
        let lost = reported.map_or(0, |(lost, _)| lost.saturating_sub(sent.refused));
        let either = self.left.take_from(&mut report, lost, sent.segmented);
        self.warnings.extend(job::below_rate(
            self.plan.resolved.frames_per_s,
            std::slice::from_ref(&report),
        ));
        if report.refused_frames > 0 {
            let text = format!(
                "the kernel's buffers did not take {} to send",
                format::count(report.refused_frames, "datagram")
            );
            let fix = "offer less: these datagrams are the tester's loss, not the node's";
            self.warnings
                .push(Warning::new(WarningCode::DRIVER_REFUSED, text, fix));
        }
        let Some((server, (lost, received))) = sent.report.zip(reported) else {
            let mut flow = self.base(Direction::Receive, &report, 0, 0, Slices::default());
            flow.without_rates("the peer sent no report");
            self.warnings.push(no_report(sent));
            return flow;
        };
        // Datagrams that were not sent are missing at the peer too.
        let left = report.emitted_frames;
        let lost = lost.saturating_sub(report.refused_frames);
        let over_ns = server.duration_us.saturating_mul(1000);
        // A server reports only sums.
        let untold = Slices::default();
        let mut flow = self.base(Direction::Receive, &report, received, over_ns, untold);
        if let (true, Field::Observed { value: sender, .. }) = (sent.segmented, &mut flow.sender) {
            sender.path = "iperf, segmented".to_owned();
        }
        if left > 0 {
            let share = |lost: u64| lost as f64 / left as f64;
            flow.loss_ratio = Field::measured(share(lost.saturating_sub(either)));
            flow.loss_ratio_at_most = (either > 0).then(|| share(lost));
        }
        if either > 0 {
            self.warnings.push(Warning::new(
                WarningCode::DEPARTED,
                format!(
                    "the tester's interface dropped frames, and {either} of the datagrams that the peer lost may be among them, so the loss is a range"
                ),
                "offer less, or stop other traffic by this interface",
            ));
        }
        self.tell_time(sent, over_ns);
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
                WarningCode::REPORTED_OUT_OF_ORDER,
                "the peer reports datagrams out of order; iperf subtracts each from the losses, so duplicates hide losses",
                "use node:HOST, which distinguishes duplicates from losses",
            ));
        }
        flow
    }

    /// Warns where the peer counted over another time than the sender's: then the arrived rate is not the offered rate
    /// minus losses.
    fn tell_time(&mut self, sent: &Sent, over_ns: u64) {
        for note in sent.mended.notes() {
            let text = format!("{}: {note}", self.peer);
            let fix = "where that matters, use a newer iperf 2 or node:HOST";
            self.warnings
                .push(Warning::new(WarningCode::IPERF_NOTE, text, fix));
        }
        if !sent.peer_took_longer() {
            return;
        }
        let s = |ns: u64| ns as f64 / 1e9;
        let text = format!(
            "{}: the peer counted over {:.3} s what was sent in {:.3} s, so its rate is lower than what was offered and not lost",
            self.peer,
            s(over_ns),
            s(sent.duration_ns)
        );
        let fix = "a queue on the path or in the peer delayed the datagrams: offer less, or use a longer trial";
        self.warnings
            .push(Warning::new(WarningCode::PEER_TIME, text, fix));
    }

    /// A flow that the peer sent over UDP, by wirelab's count.
    fn received(&mut self, udp: &UdpReceived) -> FlowObservation {
        let received = udp.received;
        let over_ns = udp.span.end_ns.saturating_sub(udp.span.start_ns);
        let mut flow = self.base(
            Direction::Transmit,
            &SendReport::default(),
            received.datagrams,
            over_ns,
            udp.slices.clone(),
        );
        flow.sender = Field::absent(PEER_SENDS);
        flow.sent_frames = match udp.finished {
            true => Field::measured(received.sent()),
            false => Field::absent("no final datagram arrived, so the peer's number is unknown"),
        };
        if received.sent() > 0 {
            let share = |lost: u64| lost as f64 / received.sent() as f64;
            let either = received.lost_or_missed;
            flow.loss_ratio = Field::measured(share(received.lost));
            flow.loss_ratio_at_most = (either > 0).then(|| share(received.lost + either));
            let counts = Counts {
                distinct_sequences: received.distinct,
                lost_frames: received.lost,
                lost_or_missed_frames: either,
                ..Counts::default()
            };
            flow.intervals.loss_ratio = udp.slices.of_loss(&counts, received.sent());
        }
        flow.checker_held_up_ps = held_up(udp.held_up_ns);
        if received.unseen_by_us() > 0 {
            let (least, most) = (received.missed, received.unseen_by_us());
            self.warnings.push(Warning::new(
                WarningCode::CHECKER_MISSED,
                format!(
                    "tester: its own queues overflowed; {least} to {most} datagrams were missed, and do not count as certain losses"
                ),
                "offer less: these datagrams are the tester's loss, not the node's",
            ));
        }
        flow.jitter_ps = Field::measured_or(
            udp.jitter_ps,
            "the peer writes no times into its datagrams, so their jitter is unknown",
        );
        let counters = [
            (Counter::CHECKER_MISSED.word(), received.missed),
            ("received_bytes", received.bytes),
            ("received_datagrams", received.datagrams),
            ("distinct_datagrams", received.distinct),
            ("lost_datagrams", received.lost),
            ("lost_or_missed_datagrams", received.lost_or_missed),
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
                WarningCode::IPERF_NOTE,
                text,
                "interpret the count as this note says; it names a fix where there is one",
            ));
        }
        flow
    }

    /// A TCP stream, of which only bytes are known.
    fn stream(
        &self,
        direction: Direction,
        bytes: u64,
        over_ns: u64,
        slices: &Slices,
    ) -> FlowObservation {
        let mut flow = self.base(direction, &SendReport::default(), 0, 0, Slices::default());
        flow.without_rates("TCP cuts its stream into segments of its own");
        flow.sent_frames = Field::absent("a TCP stream has no frames of its own");
        flow.loss_ratio = Field::absent("TCP retransmits lost data");
        flow.jitter_ps = Field::absent("a TCP stream has no datagrams");
        flow.sender = Field::absent(PEER_SENDS);
        if over_ns > 0 && bytes > 0 {
            let goodput = bytes as f64 * 8e9 / over_ns as f64;
            flow.goodput_bits_per_s = Field::measured(goodput);
            flow.intervals.goodput_bits_per_s = slices.of_rate(goodput);
            flow.over_time = OverTime::of_stream(slices);
            flow.elapsed = Field::measured(Elapsed {
                ps: over_ns.saturating_mul(1000),
                spans: Spans::Call,
                clock: ClockKind::Wall,
            });
        } else {
            flow.goodput_bits_per_s = Field::absent("no byte was transferred");
        }
        put(&mut flow.counters, [("stream_bytes", bytes)]);
        flow
    }
}

/// The report of the tester's own sender.
pub fn send_report(sent: &Sent) -> SendReport {
    SendReport {
        emitted_frames: sent.datagrams.saturating_sub(sent.refused),
        sequences: sent.datagrams,
        first_ns: 0,
        // The time from the first to the last datagram is the sum of the gaps.
        last_ns: (sent.gaps.mean_ticks * sent.gaps.count as f64).round() as u64,
        gap: sent.gaps.clone(),
        // Without a rate there is no schedule to slip.
        slips: sent.slips + sent.holds.count,
        slipped_ns: sent.slipped_ns + sent.holds.held_ns,
        blocked_ns: Some(sent.holds.blocked_ns),
        longest_burst_frames: sent.longest_burst,
        refused_frames: sent.refused,
        kernel_copied: Some(true),
        call_ns: sent.duration_ns,
    }
}

/// The report of the tester's own sender of a stream: its writes are not frames, so it has no frame rate.
fn stream_sender(pace: Option<&Pace>, holds: Holds) -> SenderObservation {
    const NO_FRAMES: &str = "a TCP stream has no frames of its own";
    const NO_RATE: &str = "no rate was requested";
    let slipped_ns = pace.map_or(holds.held_ns, |pace| pace.slipped_ns);
    SenderObservation {
        path: "iperf".to_owned(),
        asked_frames_per_s: Field::absent(NO_FRAMES),
        achieved_frames_per_s: Field::absent(NO_FRAMES),
        kept_rate: Field::measured_or(pace.map(|pace| pace.slips == 0), NO_RATE),
        gap: Field::measured_or(pace.map(|pace| pace.gaps.clone()), NO_RATE),
        slips: Field::measured(pace.map_or(holds.count, |pace| pace.slips)),
        slipped_ps: Field::measured(slipped_ns.saturating_mul(1000)),
        blocked_ps: Field::measured(holds.blocked_ns.saturating_mul(1000)),
        longest_burst_frames: Field::measured_or(pace.map(|pace| pace.longest_burst), NO_RATE),
        kernel_copied: Field::measured(true),
        ledger: None,
    }
}

fn held_up(ns: Option<u64>) -> Field<u64> {
    Field::measured_or(
        ns.map(|ns| ns.saturating_mul(1000)),
        "the receiver does not watch its clock",
    )
}

fn no_report(sent: &Sent) -> Warning {
    let (why, fix) = match sent.strange_answers {
        0 => (
            "sent no report",
            "the servers of some boards send none and print it: add --console and --profile, or use node:HOST",
        ),
        _ => (
            "answered in an unknown layout",
            "check whether it is an iperf3 server or another program; use an iperf 2 server, or node:HOST",
        ),
    };
    Warning::new(
        WarningCode::NO_REPORT,
        format!(
            "the peer {why} after {}: of {} sent it is unknown how many arrived",
            format::count(sent.final_tries.into(), "final datagram"),
            format::count(sent.datagrams, "datagram")
        ),
        fix,
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
