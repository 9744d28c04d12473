//! Turns a test of iperf into an observation: wirelab's own counts, and the peer's report, each marked as such.

use std::collections::BTreeMap;

use wirelab_iperf::v2::{Amount, Generation, Leg, Sent, Trouble, UdpReceived};
use wirelab_trial::{
    Description, Direction, Field, FlowObservation, NodeError, Observation, Status,
    TesterObservation, TrialField, Warning, WarningCode,
};

use super::flow::FlowSource;
use super::plan::IperfTrial;
use super::run::TestResult;
use crate::leaving::InterfaceEvents;
use crate::route::Route;

/// Why there is no CPU load.
pub const NO_LOAD: &str =
    "an iperf peer reports no CPU load: run 'wirelab node serve' there and use node:HOST";

/// The observation of a test, or why there is none.
///
/// # Errors
/// [`NodeError`] where nothing was measured at all.
pub fn observation(
    plan: &IperfTrial,
    result: TestResult,
    left: &InterfaceEvents,
    node: Description,
    route: &Route,
) -> Result<Observation, NodeError> {
    let layer = plan.resolved.trial.framing.layer;
    let fragmented = crate::path::fragmented(plan.datagram, layer, route.mtu());
    let mut about = FlowSource {
        plan,
        rows: &result.outcome.rows,
        peer: node.name.clone(),
        fragmented: fragmented.is_some(),
        left,
        warnings: fragmented.into_iter().collect(),
    };
    let flows: Vec<FlowObservation> = result
        .outcome
        .legs
        .iter()
        .filter_map(|(id, leg)| about.flow(*id, leg))
        .collect();
    let mut warnings = about.warnings;
    if let Some(trouble) = &result.outcome.trouble {
        if flows.is_empty() || matches!(trouble, Trouble::Connect { .. }) {
            return Err(failure(trouble));
        }
    }
    if flows.is_empty() && !result.cancelled {
        return Err(NodeError::Failed(format!(
            "{}: nothing was measured; fix: start an iperf 2 server there (iperf -s, with -u for UDP)",
            node.name
        )));
    }
    if result.on_our_connection {
        warnings.push(Warning::new(
            WarningCode::OWN_CONNECTION,
            "the peer could not open a connection back, so its traffic used the tester's own (-R)",
            "nothing is wrong; without a firewall or NAT between, -r works too",
        ));
    }
    if plan.resolved.trial.dscp.is_some() && plan.resolved.node_sends() {
        warnings.push(Warning::new(
            WarningCode::PEER_MARK,
            "the code point of what the peer sent is not checked: iperf 2 before 2.1 marks nothing that it sends back, nor does iperf3 before 3.13 over IPv4 if it listens on both families",
            "start such an iperf3 with -B ADDRESS, or give --direction rx",
        ));
    }
    let slow = flows.iter().any(FlowObservation::sender_was_slow);
    let missed = flows.iter().any(FlowObservation::tester_dropped);
    let ended = ended(plan, &result);
    let mut observation = Observation {
        trial: plan.resolved.trial.clone(),
        sizes: plan.resolved.sizes,
        node,
        status: ended.status(),
        started_unix_ns: Field::measured(result.started_unix_ns),
        flows,
        cpu_load: Field::absent(NO_LOAD),
        busy_over_time: Vec::new(),
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

/// Makes a trial void because the peer failed.
pub fn fail(observation: &mut Observation, why: &str) {
    observation.make_void(why);
    let fix = "repair the peer, and repeat the trial: --resume repeats only such trials";
    let failed = Warning::new(WarningCode::NODE_FAILED, why.to_owned(), fix);
    observation.warnings.push(failed);
}

/// How a test ended.
#[derive(Debug, PartialEq)]
enum Ended {
    Whole,
    Cancelled,
    /// With figures that are valid for a part of it.
    Partial(String),
    /// Without any valid figure of the peer.
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

fn ended(plan: &IperfTrial, result: &TestResult) -> Ended {
    match &result.outcome.trouble {
        _ if result.cancelled => Ended::Cancelled,
        Some(Trouble::Gone { peer, source }) => Ended::Void(format!(
            "{peer} went away during the trial ({source}); fix: start its iperf server again"
        )),
        Some(trouble) if trouble.is_wrong_peer() => Ended::Void(trouble.to_string()),
        Some(trouble) => Ended::Partial(trouble.to_string()),
        None => {
            let mut legs = result.outcome.legs.iter();
            legs.find_map(|(_, leg)| cut(plan, leg))
                .unwrap_or(Ended::Whole)
        }
    }
}

/// If the peer saw less than this part of a flow, it was started or stopped during the trial.
const RECEIVED_SHARE: f64 = 0.75;
/// A pause of a host may hide this much of a flow, in s: less missing is tolerated.
const HOLD_S: f64 = 0.25;

/// Whether so much of a flow is missing, in s, that its peer was started or stopped during the trial.
fn is_cut(received_s: f64, whole_s: f64) -> bool {
    received_s < RECEIVED_SHARE * whole_s && whole_s - received_s > HOLD_S
}

/// Why a leg is not complete, as far as known.
fn cut(plan: &IperfTrial, leg: &Leg) -> Option<Ended> {
    // A leg that only requests traffic back is not a flow.
    if plan.resolved.trial.direction == Direction::Transmit && leg.is_sent() {
        return None;
    }
    let expected_s = plan.expected.map_or(0.0, |time| time.as_secs_f64());
    let by_time = matches!(plan.config.amount, Amount::Time { .. });
    match leg {
        Leg::UdpSent(sent) => too_short(plan, sent).map(Ended::Void),
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
        // An overloaded server may accept a stream and close it later without answering.
        Leg::TcpReceived { span, bytes: 0, .. } | Leg::TcpSent { span, bytes: 0, .. } => {
            Some(Ended::Void(format!(
                "no byte was transferred in {:.1} s; fix: check that the peer's iperf server is free, and restart it",
                span.seconds()
            )))
        }
        Leg::TcpReceived { span, bytes, .. } => {
            let (received_s, amount) = (span.seconds(), plan.config.amount);
            // The peer may begin late, but not after half of the time.
            let late = by_time && received_s < 0.5 * expected_s;
            match amount {
                Amount::Bytes(requested_bytes) if *bytes < requested_bytes => Some(stream_ended(received_s, *bytes)),
                Amount::Time { .. } if late && is_cut(received_s, expected_s) => {
                    Some(stream_ended(received_s, *bytes))
                }
                Amount::Time { .. } if late => Some(Ended::Partial(format!(
                    "the peer's stream took {received_s:.2} s of {expected_s:.2} s: one of the hosts was busy; fix: use longer trials"
                ))),
                _ => None,
            }
        }
        Leg::TcpSent { .. } => None,
        Leg::UdpReceived(_) => None,
    }
}

fn stream_ended(received_s: f64, bytes: u64) -> Ended {
    Ended::Void(format!(
        "the peer's stream ended after {received_s:.1} s and {bytes} bytes, before the trial did; fix: start its iperf server again"
    ))
}

/// Whether a peer stopped sending before the end of the trial; a peer that sent the requested amount at its own rate
/// did not.
fn ended_early(plan: &IperfTrial, udp: &UdpReceived, expected_s: f64) -> bool {
    let Some(rate) = plan.resolved.frames_per_s else {
        return is_cut(udp.span.seconds(), expected_s);
    };
    // The span from the first to the last datagram is one gap shorter than the trial.
    is_cut(udp.span.seconds(), expected_s - 1.0 / rate)
        && (udp.received.sent() as f64) < RECEIVED_SHARE * rate * expected_s
}

/// Why it is unknown what arrived of a flow.
fn too_short(plan: &IperfTrial, sent: &Sent) -> Option<String> {
    let Some(report) = &sent.report else {
        return Some(match sent.strange_answers {
            0 => "the peer sent no report, so it is unknown what arrived; fix: start an iperf server for UDP there (iperf -s -u). Some boards send no report and print it: add --console and --profile, or use node:HOST".to_owned(),
            _ => "the peer answered in an unknown layout; fix: use an iperf 2 server (iperf -s -u), or node:HOST".to_owned(),
        });
    };
    let (received_s, sent_s) = (
        report.duration_us as f64 / 1e6,
        sent.duration_ns as f64 / 1e9,
    );
    // A flow that this host stretched shows nothing about the peer.
    let whole_s = plan
        .expected
        .map_or(sent_s, |time| sent_s.min(time.as_secs_f64()));
    (is_cut(received_s, whole_s) && report.datagrams > 0).then(|| {
        format!(
            "the peer saw {received_s:.1} s of a flow of {sent_s:.1} s: it was started during the trial, or the path was down; fix: repeat the trial"
        )
    })
}

/// The error where nothing was measured.
pub fn failure(trouble: &Trouble) -> NodeError {
    match trouble {
        Trouble::Unsupported(why) => NodeError::unsupported(TrialField::Direction, *why),
        trouble => NodeError::Failed(trouble.to_string()),
    }
}

/// The name of a sender's generation in the set-up keys.
pub fn generation_name(generation: Generation) -> &'static str {
    match generation {
        Generation::Bare => "12-byte header (ESP-IDF, NuttX and similar)",
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

    fn planned(load: Load) -> IperfTrial {
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

    /// Of a hundred datagrams ten did not arrive; the tester dropped from `missed` to so many, and `either` of them.
    fn observed(plan: &IperfTrial, missed: u64, either: u64) -> Observation {
        let mut udp = UdpReceived::of(&Receiver::of(Generation::Bare, 0));
        udp.finished = true;
        udp.span.end_ns = udp.span.start_ns + 1_000_000_000;
        udp.received.datagrams = 90;
        udp.received.distinct = 90;
        udp.received.missed = missed;
        udp.received.lost_or_missed = either;
        udp.received.lost = 10 - missed - either;
        let result = TestResult {
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
            node_type: "iperf".to_owned(),
            capabilities: Capabilities::default(),
            setup: BTreeMap::new(),
            facts: None,
        };
        let route = Route::to(SocketAddr::from(([127, 0, 0, 1], 5001))).unwrap();
        observation(plan, result, &InterfaceEvents::default(), node, &route).unwrap()
    }

    fn tcp_received(received_ms: u64, bytes: u64) -> Leg {
        Leg::TcpReceived {
            transit: None,
            span: Span {
                start_ns: 0,
                end_ns: received_ms * 1_000_000,
            },
            bytes,
            reads: Reads::default(),
            held_up_ns: None,
            slices: Slices::default(),
        }
    }

    #[test]
    fn a_stream_over_which_no_byte_went_is_not_whole() {
        let plan = planned(Load::Max);
        assert_eq!(cut(&plan, &tcp_received(1000, 1)), None);
        let Some(Ended::Void(why)) = cut(&plan, &tcp_received(1000, 0)) else {
            panic!("a stream without a byte");
        };
        assert!(
            why.starts_with("no byte was transferred in 1.0 s; fix: "),
            "{why}"
        );
    }

    #[test]
    fn a_stream_that_a_busy_host_shortened_keeps_its_figures_and_is_partial() {
        for (whole_ms, received_ms, word) in [
            (1000, 400, "void"),
            (1000, 600, "whole"),
            (300, 100, "partial"),
            (300, 200, "whole"),
            (600, 200, "void"),
        ] {
            let mut plan = planned(Load::Max);
            plan.expected = Some(std::time::Duration::from_millis(whole_ms));
            let ended = match cut(&plan, &tcp_received(received_ms, 1000)) {
                Some(Ended::Void(_)) => "void",
                Some(Ended::Partial(why)) if why.contains("fix: ") => "partial",
                None => "whole",
                other => panic!("{other:?}"),
            };
            assert_eq!(ended, word, "{received_ms} of {whole_ms} ms");
        }
    }

    #[test]
    fn short_flows_are_cut_too_and_what_a_hold_takes_is_no_cut() {
        let flow = |received_ms: u64| {
            let mut udp = UdpReceived::of(&Receiver::of(Generation::Bare, 0));
            udp.finished = true;
            udp.span.end_ns = udp.span.start_ns + received_ms * 1_000_000;
            Leg::UdpReceived(Box::new(udp))
        };
        for (whole_ms, received_ms, is_void) in [
            (500, 240, true),
            (500, 260, false),
            (1000, 740, true),
            (1000, 760, false),
            (10_000, 7400, true),
        ] {
            let mut plan = planned(Load::Max);
            plan.expected = Some(std::time::Duration::from_millis(whole_ms));
            let ended = cut(&plan, &flow(received_ms));
            let void = matches!(&ended, Some(Ended::Void(why)) if why.contains("fix: "));
            assert_eq!(void, is_void, "{received_ms} of {whole_ms} ms: {ended:?}");
        }
        // Two datagrams of a second are half a second apart.
        let slow = planned(Load::FrameRate { frames_per_s: 2.0 });
        assert_eq!(cut(&slow, &flow(500)), None);
    }

    #[test]
    fn what_the_tester_dropped_of_a_peers_datagrams_is_its_limit_and_no_loss() {
        for load in [Load::Max, Load::FrameRate { frames_per_s: 1e4 }] {
            let plan = planned(load);
            for (missed, either, least, most) in [
                (10, 0, 0.0, None),
                (0, 10, 0.0, Some(0.1)),
                (3, 5, 0.02, Some(0.07)),
            ] {
                let observation = observed(&plan, missed, either);
                let flow = &observation.flows[0];
                assert_eq!(flow.loss_ratio.value(), Some(&least));
                assert_eq!(flow.loss_ratio_at_most, most);
                assert!(flow.tester_dropped());
                assert_eq!(
                    observation.tester.was_limit.value(),
                    Some(&true),
                    "{load:?}"
                );
                assert!(observation.warned(WarningCode::CHECKER_MISSED));
            }
            let observation = observed(&plan, 0, 0);
            assert!(!observation.flows[0].tester_dropped());
            assert_eq!(observation.flows[0].loss_ratio.value(), Some(&0.1));
            assert_ne!(
                observation.tester.was_limit.value(),
                Some(&true),
                "{load:?}"
            );
        }
    }
}
