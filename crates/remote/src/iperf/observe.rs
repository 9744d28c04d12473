//! From what iperf measured to an observation: our own counts, and what the peer reports, each as what it is.

use std::collections::BTreeMap;

use wirelab_iperf::v2::table::{Id, Row};
use wirelab_iperf::v2::{Generation, Leg, Sent, ServerReport, Trouble, UdpReceived};
use wirelab_trial::job::{self, CheckReport, FlowAsked, SendReport};
use wirelab_trial::{
    ClockKind, Counts, Description, Direction, Elapsed, Field, FlowObservation, NodeError,
    Observation, Spans, Status, TesterObservation, Unsupported, Warning,
};

use super::plan::Plan;
use super::run::Ran;
use crate::route::Route;

const NO_CONTENT: &str = "iperf checks no content, so its numbers are no counts of verified frames";
const PEER_SENDS: &str = "the peer is the sender, and says nothing of itself";

/// The observation of a test, or why there is none.
///
/// # Errors
/// [`NodeError`] where nothing was measured at all.
pub fn observation(
    plan: &Plan,
    ran: Ran,
    node: Description,
    route: &Route,
) -> Result<Observation, NodeError> {
    let layer = plan.trial.framing.layer;
    let fragmented = crate::path::fragmented(plan.datagram, layer, route.mtu());
    let mut about = About {
        plan,
        rows: &ran.outcome.rows,
        peer: node.name.clone(),
        fragmented: fragmented.is_some(),
        warnings: fragmented.into_iter().collect(),
    };
    let flows: Vec<FlowObservation> = ran
        .outcome
        .legs
        .iter()
        .filter_map(|(id, leg)| about.flow(*id, leg))
        .collect();
    let mut warnings = about.warnings;
    if let Some(trouble) = &ran.outcome.trouble {
        if flows.is_empty() || matches!(trouble, Trouble::Connect { .. }) {
            return Err(failure(trouble));
        }
    }
    if flows.is_empty() && !ran.cancelled {
        return Err(NodeError::Failed(format!(
            "{}: nothing was measured; is an iperf 2 server running there (iperf -s, with -u for UDP)?",
            node.name
        )));
    }
    if ran.on_our_connection {
        warnings.push(warning(
            "own-connection",
            "the peer could not open a connection back, so its traffic came on the tester's own (-R)",
            "nothing is wrong; without a firewall or NAT between, -r works too",
        ));
    }
    let slow = flows.iter().any(|flow| {
        let kept = flow.sender.value().and_then(|s| s.kept_rate.value());
        kept == Some(&false)
    });
    Ok(Observation {
        trial: plan.trial.clone(),
        sizes: plan.sizes,
        node,
        status: status(&ran),
        started_unix_ns: Field::measured(ran.started_unix_ns),
        flows,
        cpu_load: Field::absent(
            "an iperf peer tells no CPU load: 'wirelab node serve' there does, asked as node:HOST",
        ),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation {
            ceiling_frames_per_s: Field::absent("not measured in this run"),
            was_limit: match plan.frames_per_s {
                Some(_) => Field::measured(slow),
                None => Field::absent("needs the tester's ceiling"),
            },
        },
        warnings,
    })
}

fn status(ran: &Ran) -> Status {
    match &ran.outcome.trouble {
        _ if ran.cancelled => Status::Partial {
            why: "ended by the user; what was seen until then is kept".to_owned(),
        },
        Some(trouble) => Status::Partial {
            why: trouble.to_string(),
        },
        None if ran.outcome.legs.iter().any(|(_, leg)| is_cut(leg)) => Status::Partial {
            why: "the peer's traffic ended without its final datagram: it is gone, or what it sent last was lost"
                .to_owned(),
        },
        None => Status::Complete,
    }
}

fn is_cut(leg: &Leg) -> bool {
    matches!(leg, Leg::UdpReceived(udp) if !udp.finished)
}

fn failure(trouble: &Trouble) -> NodeError {
    match trouble {
        Trouble::Unsupported(why) => Unsupported {
            field: "direction",
            why: (*why).to_owned(),
        }
        .into(),
        trouble => NodeError::Failed(trouble.to_string()),
    }
}

fn warning(code: &str, text: impl Into<String>, way_out: &str) -> Warning {
    Warning {
        code: code.to_owned(),
        text: text.into(),
        way_out: way_out.to_owned(),
    }
}

/// What flows are made with.
struct About<'a> {
    plan: &'a Plan,
    rows: &'a [Row],
    peer: String,
    fragmented: bool,
    warnings: Vec<Warning>,
}

impl About<'_> {
    /// The flow of a leg; `None` for the short one that only asks for traffic back.
    fn flow(&mut self, id: Id, leg: &Leg) -> Option<FlowObservation> {
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
            self.warnings.push(warning(
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
            no_rates(&mut flow, "nothing arrived");
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
        let Some(server) = sent.report else {
            let mut flow = self.base(Direction::Receive, &report, 0, 0);
            no_rates(&mut flow, "the peer sent no report");
            self.warnings.push(no_report(sent));
            return flow;
        };
        let (lost, received) = of_report(&server, sent.datagrams);
        let over_ns = server.duration_us.saturating_mul(1000);
        let mut flow = self.base(Direction::Receive, &report, received, over_ns);
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
            self.warnings.push(warning(
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
            self.warnings.push(warning(
                "iperf-note",
                text,
                "nothing is wrong; see the text",
            ));
        }
        flow
    }

    /// A TCP stream, of which bytes alone are known.
    fn stream(&self, direction: Direction, bytes: u64, over_ns: u64) -> FlowObservation {
        let mut flow = self.base(direction, &SendReport::default(), 0, 0);
        no_rates(&mut flow, "TCP cuts its stream into segments of its own");
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
        emitted_frames: sent.datagrams,
        sequences: sent.datagrams,
        first_ns: 0,
        // From the first datagram to the last: the sum of the gaps.
        last_ns: (sent.gaps.mean_ticks * sent.gaps.count as f64).round() as u64,
        gap: sent.gaps.clone(),
        slips: sent.slips,
        slipped_ns: sent.slipped_ns,
        refused_frames: 0,
        kernel_copied: Some(true),
        call_ns: sent.duration_ns,
    }
}

/// Losses and arrivals of our datagrams by a server's report. Most servers count the final datagram as one more,
/// and one whose first final datagrams were lost books those as losses of data.
pub(super) fn of_report(report: &ServerReport, sent: u64) -> (u64, u64) {
    let finals = report.datagrams.saturating_sub(sent);
    let lost = report
        .lost
        .saturating_sub(finals.saturating_sub(1))
        .min(sent);
    (lost, sent - lost)
}

fn no_report(sent: &Sent) -> Warning {
    warning(
        "no-report",
        format!(
            "the peer sent no report after {} final datagrams: {} datagrams were sent, and what arrived is not known",
            sent.final_tries, sent.datagrams
        ),
        "the servers of some boards send none: read the board's own output, or ask node:HOST",
    )
}

fn no_rates(flow: &mut FlowObservation, why: &str) {
    flow.frames_per_s = Field::absent(why);
    flow.payload_bits_per_s = Field::absent(why);
    flow.link_bits_per_s = Field::absent(why);
    flow.efficiency = Field::absent(why);
    flow.goodput_bits_per_s = Field::absent(why);
    flow.elapsed = Field::absent(why);
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

/// How a sender's generation is called in the set-up keys.
pub fn generation_name(generation: Generation) -> &'static str {
    match generation {
        Generation::Bare => "12-byte header (ESP-IDF, NuttX and like)",
        Generation::V205 => "iperf 2.0.5 to 2.0.12",
        Generation::Wide | Generation::WideBare => "iperf 2.0.13 or later",
        Generation::SmallTripTimes => "iperf 2.1 or later, with trip times",
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
