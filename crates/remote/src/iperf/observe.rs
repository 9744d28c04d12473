//! From what iperf measured to an observation: our own counts, and what the peer reports, each as what it is.

use std::collections::BTreeMap;

use wirelab_iperf::v2::{Amount, Generation, Leg, Sent, Trouble, UdpReceived};
use wirelab_trial::{
    Description, Direction, Field, FlowObservation, NodeError, Observation, Status,
    TesterObservation, Unsupported, Warning, WarningCode,
};

use super::flow::About;
use super::plan::Plan;
use super::run::Ran;
use crate::leaving::Left;
use crate::route::Route;

/// Why there is no CPU load.
pub const NO_LOAD: &str =
    "an iperf peer tells no CPU load: 'wirelab node serve' there does, asked as node:HOST";

/// The observation of a test, or why there is none.
///
/// # Errors
/// [`NodeError`] where nothing was measured at all.
pub fn observation(
    plan: &Plan,
    ran: Ran,
    left: &Left,
    node: Description,
    route: &Route,
) -> Result<Observation, NodeError> {
    let layer = plan.resolved.trial.framing.layer;
    let fragmented = crate::path::fragmented(plan.datagram, layer, route.mtu());
    let mut about = About {
        plan,
        rows: &ran.outcome.rows,
        peer: node.name.clone(),
        fragmented: fragmented.is_some(),
        left,
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
        warnings.push(Warning::new(
            WarningCode::OWN_CONNECTION,
            "the peer could not open a connection back, so its traffic came on the tester's own (-R)",
            "nothing is wrong; without a firewall or NAT between, -r works too",
        ));
    }
    if plan.resolved.trial.dscp.is_some() && plan.resolved.node_sends() {
        warnings.push(Warning::new(
            WarningCode::PEER_MARK,
            "nobody looks at the code point of what the peer sent: iperf 2 before 2.1 marks nothing that it sends back, nor does iperf3 before 3.13 over IPv4 if it listens on both families",
            "start such an iperf3 with -B ADDRESS, or ask --direction rx",
        ));
    }
    let slow = flows.iter().any(FlowObservation::sender_was_slow);
    let missed = flows.iter().any(FlowObservation::tester_dropped);
    let ended = ended(plan, &ran);
    let mut observation = Observation {
        trial: plan.resolved.trial.clone(),
        sizes: plan.resolved.sizes,
        node,
        status: ended.status(),
        started_unix_ns: Field::measured(ran.started_unix_ns),
        flows,
        cpu_load: Field::absent(NO_LOAD),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::of_trial(
            plan.resolved.frames_per_s.is_some() || missed,
            slow || missed,
        ),
        warnings,
    };
    if let Ended::Void(why) = &ended {
        fail(&mut observation, why);
    }
    Ok(observation)
}

/// Make a trial void in which the peer failed.
pub fn fail(observation: &mut Observation, why: &str) {
    observation.make_void(why);
    let way_out = "see to the peer, and ask the trial again: --resume does that alone";
    let failed = Warning::new(WarningCode::NODE_FAILED, why.to_owned(), way_out);
    observation.warnings.push(failed);
}

/// How a test ended.
#[derive(Debug, PartialEq)]
enum Ended {
    Whole,
    Cancelled,
    /// With figures that hold for a part of it.
    Partial(String),
    /// With nothing that could be read as a figure of the peer.
    Void(String),
}

impl Ended {
    fn status(&self) -> Status {
        match self {
            Ended::Whole => Status::Complete,
            Ended::Cancelled => Status::cancelled(),
            Ended::Partial(why) => Status::Partial { why: why.clone() },
            Ended::Void(why) => Status::Void { why: why.clone() },
        }
    }
}

fn ended(plan: &Plan, ran: &Ran) -> Ended {
    match &ran.outcome.trouble {
        _ if ran.cancelled => Ended::Cancelled,
        Some(Trouble::Gone { peer, source }) => Ended::Void(format!(
            "{peer} went away during the trial ({source}); fix: start its iperf server again"
        )),
        Some(trouble) if trouble.is_wrong_peer() => Ended::Void(trouble.to_string()),
        Some(trouble) => Ended::Partial(trouble.to_string()),
        None => {
            let mut legs = ran.outcome.legs.iter();
            legs.find_map(|(_, leg)| cut(plan, leg))
                .unwrap_or(Ended::Whole)
        }
    }
}

/// The part of a flow that its peer must have seen at least, or it came or went during the trial.
const SEEN: f64 = 0.75;
/// What a hold of a host may cut off, in s: less is missing of flows that are whole.
const HOLD_S: f64 = 0.25;

/// Whether so much is missing of a flow, in s, that its peer came or went during the trial.
fn is_cut(seen_s: f64, whole_s: f64) -> bool {
    seen_s < SEEN * whole_s && whole_s - seen_s > HOLD_S
}

/// Why a leg is not whole, as far as it can be told.
fn cut(plan: &Plan, leg: &Leg) -> Option<Ended> {
    // What only asks for traffic back is no flow.
    if plan.resolved.trial.direction == Direction::Transmit && leg.is_sent() {
        return None;
    }
    let expected_s = plan.expected.map_or(0.0, |time| time.as_secs_f64());
    let by_time = matches!(plan.config.amount, Amount::Time { .. });
    match leg {
        Leg::UdpSent(sent) => not_seen(plan, sent).map(Ended::Void),
        Leg::UdpReceived(udp) if by_time && ended_early(plan, udp, expected_s) => {
            Some(Ended::Void(format!(
                "the peer's traffic ended after {:.1} s of {expected_s:.1} s; fix: start its iperf server again",
                udp.span.seconds()
            )))
        }
        Leg::UdpReceived(udp) if !udp.finished => Some(Ended::Partial(
            "the peer's traffic ended without its final datagram: it is gone, or what it sent last was lost"
                .to_owned(),
        )),
        // A server that is overloaded may take a stream and close it later without a word.
        Leg::TcpReceived { span, bytes: 0, .. } | Leg::TcpSent { span, bytes: 0, .. } => {
            Some(Ended::Void(format!(
                "no byte went over in {:.1} s; fix: is the peer's iperf server free? Start it again",
                span.seconds()
            )))
        }
        Leg::TcpReceived { span, bytes, .. } => {
            let short = match plan.config.amount {
                Amount::Bytes(asked) => *bytes < asked,
                // The peer may begin late; half of the time is too late for that.
                Amount::Time { .. } => span.seconds() < 0.5 * expected_s,
            };
            short.then(|| {
                Ended::Void(format!(
                    "the peer's stream ended after {:.1} s and {bytes} bytes, before the trial did; fix: start its iperf server again",
                    span.seconds()
                ))
            })
        }
        Leg::TcpSent { .. } => None,
        Leg::UdpReceived(_) => None,
    }
}

/// Whether a peer stopped to send before the trial was over: one that sent what was asked, at its own pace, did not.
fn ended_early(plan: &Plan, udp: &UdpReceived, expected_s: f64) -> bool {
    let Some(rate) = plan.resolved.frames_per_s else {
        return is_cut(udp.span.seconds(), expected_s);
    };
    // From the first datagram to the last it is a gap shorter than the trial.
    is_cut(udp.span.seconds(), expected_s - 1.0 / rate)
        && (udp.received.sent() as f64) < SEEN * rate * expected_s
}

/// Why nobody knows what arrived of a flow.
fn not_seen(plan: &Plan, sent: &Sent) -> Option<String> {
    let Some(report) = &sent.report else {
        return Some(match sent.strange_answers {
            0 => "the peer sent no report, so that nobody knows what arrived; fix: is an iperf server running there for UDP (iperf -s -u)? Some boards send none: read their own output, or ask node:HOST".to_owned(),
            _ => "the peer answered in no layout of iperf 2 that is known; fix: ask an iperf 2 server (iperf -s -u), or node:HOST".to_owned(),
        });
    };
    let (seen_s, sent_s) = (
        report.duration_us as f64 / 1e6,
        sent.duration_ns as f64 / 1e9,
    );
    // A flow that this host drew out shows nothing of the peer.
    let whole_s = plan
        .expected
        .map_or(sent_s, |time| sent_s.min(time.as_secs_f64()));
    (is_cut(seen_s, whole_s) && report.datagrams > 0).then(|| {
        format!(
            "the peer saw {seen_s:.1} s of a flow of {sent_s:.1} s: it was started during the trial, or the path was down; fix: ask the trial again"
        )
    })
}

/// Why nothing was measured.
pub fn failure(trouble: &Trouble) -> NodeError {
    match trouble {
        Trouble::Unsupported(why) => Unsupported {
            field: "direction",
            why: (*why).to_owned(),
        }
        .into(),
        trouble => NodeError::Failed(trouble.to_string()),
    }
}

/// How a sender's generation is called in the set-up keys.
pub fn generation_name(generation: Generation) -> &'static str {
    match generation {
        Generation::Bare => "12-byte header (ESP-IDF, NuttX and like)",
        Generation::V205 => "iperf 2.0.5 to 2.0.9",
        Generation::V2010 => "iperf 2.0.10 to 2.0.12",
        Generation::V2013 => "iperf 2.0.13",
        Generation::Wide | Generation::WideBare => "iperf 2.1 or later",
        Generation::SmallTripTimes => "iperf 2.1 or later, with trip times",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use wirelab_iperf::v2::Outcome;
    use wirelab_iperf::v2::Receiver;
    use wirelab_iperf::v2::enhanced::Reads;
    use wirelab_iperf::v2::intervals::Span;
    use wirelab_iperf::v2::table::Id;
    use wirelab_trial::slices::Slices;
    use wirelab_trial::{Capabilities, Extent, Framing, Layer, Load, Size, SizeUnit, Trial};

    fn asked(load: Load) -> Plan {
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let size = Size::new(SizeUnit::Datagram, 1000);
        let extent = Extent::Time {
            time_ps: 1_000_000_000_000,
        };
        let trial = Trial::new(framing, Direction::Transmit, size, load, extent);
        let server = SocketAddr::from(([127, 0, 0, 1], 5001));
        crate::iperf::plan::plan(&trial, server, None).unwrap()
    }

    /// Of a hundred datagrams ten never came, and the tester dropped from `missed` to so many and `either` of them.
    fn seen(plan: &Plan, missed: u64, either: u64) -> Observation {
        let mut udp = UdpReceived::of(&Receiver::of(Generation::Bare, 0));
        udp.finished = true;
        udp.span.end_ns = udp.span.start_ns + 1_000_000_000;
        udp.received.datagrams = 90;
        udp.received.distinct = 90;
        udp.received.missed = missed;
        udp.received.lost_or_missed = either;
        udp.received.lost = 10 - missed - either;
        let ran = Ran {
            started_unix_ns: 0,
            outcome: Outcome {
                legs: vec![(Id::Back(1), Leg::UdpReceived(Box::new(udp)))],
                ..Outcome::default()
            },
            cancelled: false,
            on_our_connection: false,
        };
        let node = Description {
            name: "iperf:127.0.0.1".to_owned(),
            kind: "iperf".to_owned(),
            capabilities: Capabilities::default(),
            setup: BTreeMap::new(),
        };
        let route = Route::to(SocketAddr::from(([127, 0, 0, 1], 5001))).unwrap();
        observation(plan, ran, &Left::default(), node, &route).unwrap()
    }

    #[test]
    fn a_stream_over_which_no_byte_went_is_not_whole() {
        let plan = asked(Load::Max);
        let received = |bytes| Leg::TcpReceived {
            transit: None,
            span: Span {
                start_ns: 0,
                end_ns: 1_000_000_000,
            },
            bytes,
            reads: Reads::default(),
            held_up_ns: None,
            slices: Slices::default(),
        };
        assert_eq!(cut(&plan, &received(1)), None);
        let Some(Ended::Void(why)) = cut(&plan, &received(0)) else {
            panic!("a stream without a byte");
        };
        assert!(
            why.starts_with("no byte went over in 1.0 s; fix: "),
            "{why}"
        );
    }

    #[test]
    fn short_flows_are_cut_too_and_what_a_hold_takes_is_no_cut() {
        let flow = |seen_ms: u64| {
            let mut udp = UdpReceived::of(&Receiver::of(Generation::Bare, 0));
            udp.finished = true;
            udp.span.end_ns = udp.span.start_ns + seen_ms * 1_000_000;
            Leg::UdpReceived(Box::new(udp))
        };
        for (whole_ms, seen_ms, is_void) in [
            (500, 240, true),
            (500, 260, false),
            (1000, 740, true),
            (1000, 760, false),
            (10_000, 7400, true),
        ] {
            let mut plan = asked(Load::Max);
            plan.expected = Some(std::time::Duration::from_millis(whole_ms));
            let ended = cut(&plan, &flow(seen_ms));
            let void = matches!(&ended, Some(Ended::Void(why)) if why.contains("fix: "));
            assert_eq!(void, is_void, "{seen_ms} of {whole_ms} ms: {ended:?}");
        }
        // Two datagrams of a second are half a second apart.
        let slow = asked(Load::FrameRate { frames_per_s: 2.0 });
        assert_eq!(cut(&slow, &flow(500)), None);
    }

    #[test]
    fn what_the_tester_dropped_of_a_peers_datagrams_is_its_limit_and_no_loss() {
        for load in [Load::Max, Load::FrameRate { frames_per_s: 1e4 }] {
            let plan = asked(load);
            for (missed, either, least, most) in [
                (10, 0, 0.0, None),
                (0, 10, 0.0, Some(0.1)),
                (3, 5, 0.02, Some(0.07)),
            ] {
                let seen = seen(&plan, missed, either);
                let flow = &seen.flows[0];
                assert_eq!(flow.loss_ratio.value(), Some(&least));
                assert_eq!(flow.loss_ratio_at_most, most);
                assert!(flow.tester_dropped());
                assert_eq!(seen.tester.was_limit.value(), Some(&true), "{load:?}");
                assert!(seen.warned(WarningCode::CHECKER_MISSED));
            }
            let seen = seen(&plan, 0, 0);
            assert!(!seen.flows[0].tester_dropped());
            assert_eq!(seen.flows[0].loss_ratio.value(), Some(&0.1));
            assert_ne!(seen.tester.was_limit.value(), Some(&true), "{load:?}");
        }
    }
}
