//! An iperf3 server as a node, `iperf3:HOST[:PORT]`: its tests become those of iperf 2, so that both are planned and told
//! alike.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirelab_iperf::v2::enhanced::Reads;
use wirelab_iperf::v2::intervals::Span;
use wirelab_iperf::v2::receive::Received;
use wirelab_iperf::v2::report::ServerReport;
use wirelab_iperf::v2::sent::Mended;
use wirelab_iperf::v2::stream::Pace;
use wirelab_iperf::v2::table::{Datagrams, Id, Row};
use wirelab_iperf::v2::{Generation, Leg, Outcome as Told, Rate, Receiver, Sent, UdpReceived};
use wirelab_iperf::v3::{
    Client, ControlError, Outcome, Parameters, StreamOutcome, StreamResult, TestError,
};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::slices::Slices;
use wirelab_trial::{
    Cancel, Description, Direction, Extent, Field, FlowObservation, NodeError, Observation,
    Progress, Status, Trial, Warning,
};

use super::plan::Plan;
use super::{observe, run};
use crate::leaving::Left;
use crate::route::Route;

/// The port of iperf3.
pub const PORT: u16 = wirelab_iperf::v3::DEFAULT_PORT;
/// Pauses before a busy server is asked again. Between two tests it does not listen for a moment.
const AGAIN: [Duration; 4] = [
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(6),
];
/// What a server tells of its processor, in millionths of one.
const SERVER_CPU: &str = "iperf3_server_process_cpu_ppm";
/// Why there is no CPU load.
const NO_LOAD: &str = "an iperf3 server tells the processor time of its own process alone (counter iperf3_server_process_cpu_ppm): 'wirelab node serve' there tells the load of the node, asked as node:HOST";

/// What iperf3 cannot do, and iperf 2 can.
pub fn check_asked(trial: &Trial) -> Result<(), NodeError> {
    if trial.direction == Direction::Echo {
        let why = "an iperf3 server sends nothing back of what came: start iperf 2.1.8 there and ask iperf:HOST, or run \
                   'wirelab node serve' there and ask node:HOST";
        return Err(NodeError::unsupported("direction", why));
    }
    Ok(())
}

/// The test of a plan, in whole seconds, as iperf3 takes them.
///
/// # Errors
/// [`NodeError::Unsupported`] where a peer would have to send a number of datagrams as fast as it can.
pub fn parameters(plan: &Plan) -> Result<Parameters, NodeError> {
    let udp = plan.is_udp();
    let base = match udp {
        true => Parameters::udp(),
        false => Parameters::default(),
    };
    let mut asked = Parameters {
        length_bytes: plan.config.length_bytes.unwrap_or(base.length_bytes),
        rate_bit_s: match (plan.frames_per_s, plan.config.rate) {
            (Some(_), Rate::BitsPerS(bits)) => bits,
            _ => 0,
        },
        reverse: plan.trial.direction == Direction::Transmit,
        bidirectional: plan.trial.direction == Direction::Both,
        ..base
    };
    let whole = |seconds: f64| (seconds.ceil() as u64).max(1);
    match (plan.trial.extent, plan.frames_per_s) {
        (Extent::Time { time_ps }, _) => asked.seconds = whole(time_ps as f64 / 1e12),
        (Extent::Frames { frames }, _) if !udp => {
            (asked.seconds, asked.bytes) = (0, frames.saturating_mul(u64::from(plan.datagram)));
        }
        (Extent::Frames { frames }, _) if plan.trial.direction == Direction::Receive => {
            (asked.seconds, asked.blocks) = (0, frames);
        }
        // A number of datagrams of which some are lost would never have come.
        (Extent::Frames { frames }, Some(rate)) => asked.seconds = whole(frames as f64 / rate),
        (Extent::Frames { .. }, None) => {
            let why = "an iperf3 server that sends as fast as it can ends by time alone: give a time in place of frames";
            return Err(NodeError::unsupported("extent", why));
        }
    }
    asked.check().map_err(NodeError::bad)?;
    Ok(asked)
}

/// What a test gave.
pub struct Ran {
    started_unix_ns: u64,
    outcome: Result<Outcome, TestError>,
    cancelled: bool,
}

const fn had_a_word(outcome: &Result<Outcome, TestError>) -> bool {
    matches!(outcome, Err(TestError::Control { .. }))
}

fn is_busy(outcome: &Result<Outcome, TestError>) -> bool {
    match outcome {
        Err(TestError::Control { source, .. }) => {
            matches!(source, ControlError::Busy | ControlError::TurnedAway)
        }
        Err(TestError::Connect { source, .. }) => {
            source.kind() == std::io::ErrorKind::ConnectionRefused
        }
        _ => false,
    }
}

/// Run the test of a plan, after a rest where the server is busy.
pub fn ask(plan: &Plan, asked: Parameters, progress: &dyn Progress, cancel: &Cancel) -> Ran {
    let client = Client {
        sending: plan.config.sending,
        interval: plan.config.interval,
        ..Client::new(plan.config.server, asked)
    };
    let once = || {
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| run::watch(plan, progress, cancel, &stop, &over));
            let outcome = client.run(cancel);
            over.store(true, Ordering::Relaxed);
            watch
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome
        })
    };
    let mut started_unix_ns = unix_ns();
    let mut outcome = once();
    for pause in AGAIN {
        // Where nothing says that it is busy for a second, there is no server between two tests.
        let gone = !matches!(
            &outcome,
            Err(TestError::Control {
                source: ControlError::Busy,
                ..
            })
        ) && pause > AGAIN[1];
        if !is_busy(&outcome) || gone || cancel.is_cancelled() {
            break;
        }
        std::thread::sleep(pause);
        let again_unix_ns = unix_ns();
        let again = once();
        if had_a_word(&outcome) && matches!(again, Err(TestError::Connect { .. })) {
            // What was there said more than what is gone: an iperf 2 server may end of iperf3's words.
            break;
        }
        (started_unix_ns, outcome) = (again_unix_ns, again);
    }
    Ran {
        started_unix_ns,
        outcome,
        cancelled: cancel.is_cancelled(),
    }
}

/// The observation of a test, or why there is none.
///
/// # Errors
/// [`NodeError::Failed`] where nothing was measured, and not for a server that is only busy.
pub fn observation(
    plan: &Plan,
    ran: Ran,
    left: &Left,
    node: Description,
    route: &Route,
) -> Result<Observation, NodeError> {
    let told = |legs, rows, cancelled| run::Ran {
        started_unix_ns: ran.started_unix_ns,
        outcome: Told {
            legs,
            rows,
            ..Told::default()
        },
        cancelled,
        on_our_connection: false,
    };
    let outcome = match ran.outcome {
        Ok(outcome) => outcome,
        Err(TestError::Cancelled) => {
            return observe::observation(
                plan,
                told(Vec::new(), Vec::new(), true),
                left,
                node,
                route,
            );
        }
        Err(TestError::Control { peer, source }) if is_refusal(&source) => {
            let mut void =
                observe::observation(plan, told(Vec::new(), Vec::new(), true), left, node, route)?;
            void.make_void(&format!("{peer}: {source}"));
            return Ok(void);
        }
        Err(error) => return Err(failure(plan, &error)),
    };
    let legs = outcome
        .streams
        .iter()
        .map(|stream| leg(plan, &outcome, stream));
    let ran = told(legs.collect(), rows(plan, &outcome), ran.cancelled);
    let mut observation = observe::observation(plan, ran, left, node, route)?;
    finish(plan, &outcome, &mut observation);
    Ok(observation)
}

const fn is_refusal(source: &ControlError) -> bool {
    matches!(source, ControlError::Busy | ControlError::TurnedAway)
}

fn failure(plan: &Plan, error: &TestError) -> NodeError {
    let way = match (error, plan.trial.direction) {
        (
            TestError::Control {
                source: ControlError::UnknownState(_) | ControlError::Silent,
                ..
            },
            _,
        ) => "; where an iperf 2 server runs, use iperf:HOST",
        (TestError::Control { .. } | TestError::Lost { .. }, Direction::Both) => {
            "; fix: both directions at once need iperf3 3.7 or later there, so ask rx and tx"
        }
        _ => "",
    };
    NodeError::Failed(format!("{error}{way}"))
}

/// What is not of iperf 2 in an observation.
fn finish(plan: &Plan, outcome: &Outcome, observation: &mut Observation) {
    if let (Some(why), false) = (&outcome.failure, observation.status == Status::cancelled()) {
        observation.status = Status::Partial { why: why.clone() };
    }
    observation.cpu_load = Field::absent(NO_LOAD);
    if let Some(theirs) = &outcome.peer_results {
        let ppm = (theirs.cpu_percent[0] * 1e4).round().max(0.0) as u64;
        let counters = &mut observation.counters;
        counters.insert(SERVER_CPU.to_owned(), Field::measured(ppm));
    }
    let seconds = outcome.parameters.seconds;
    let asked_s = match plan.trial.extent {
        Extent::Time { time_ps } => Some(time_ps as f64 / 1e12),
        Extent::Frames { frames } => plan.frames_per_s.map(|rate| frames as f64 / rate),
    };
    if let Some(asked_s) = asked_s.filter(|s| seconds > 0 && *s != seconds as f64) {
        observation.warnings.push(Warning::new(
            "whole-seconds",
            format!(
                "iperf3 takes whole seconds: the trial took {seconds} s, and not {asked_s:.3} s"
            ),
            "nothing is wrong; ask for whole seconds",
        ));
    }
    for note in outcome.notes() {
        let way_out = "update the iperf3 of the peer where the jitter matters";
        observation
            .warnings
            .push(Warning::new("iperf-note", note, way_out));
    }
    let mut tails = Vec::new();
    for flow in &mut observation.flows {
        let sender = flow.direction == Direction::Receive;
        let mut streams = outcome.streams.iter();
        let Some(stream) = streams.find(|stream| stream.ends.sender == sender) else {
            continue;
        };
        if plan.is_udp() && jitter_s(outcome, stream).is_none() {
            flow.jitter_ps = Field::absent("what was told is no jitter that a trial can have");
        }
        let told = theirs(outcome, stream).filter(|_| plan.is_udp() && sender);
        if let Some(theirs) = told {
            tails.push((tail(stream, theirs), stream.counted.packets));
            as_told(flow, stream, theirs);
        }
    }
    for (tail, sent) in tails.into_iter().filter(|(tail, _)| *tail > 0) {
        if tail > sent / 2 && observation.status == Status::Complete {
            let why = format!(
                "the server counted {} of {sent} datagrams: it was too slow, or stopped",
                sent - tail
            );
            observation.status = Status::Partial { why };
        }
        observation.warnings.push(Warning::new(
            "untold-end",
            format!(
                "the server stopped counting before the last {tail} of {sent} datagrams, which are in no loss: nobody says whether they arrived"
            ),
            "ask for a longer trial, or offer less; node:HOST counts to the end",
        ));
    }
}

/// The loss is that of the datagrams which the server counted, and so are the counters.
fn as_told(flow: &mut FlowObservation, stream: &StreamOutcome, theirs: &StreamResult) {
    let counted = stream.counted.packets - tail(stream, theirs);
    // What was dropped on the way out is taken from the losses already.
    if let (Some(all), true) = (flow.loss_ratio.value().copied(), counted > 0) {
        let sent = stream.counted.packets as f64;
        let lost = (all * sent).round() as u64;
        let lost = lost.saturating_sub(tail(stream, theirs));
        flow.loss_ratio = Field::measured(lost as f64 / counted as f64);
    }
    let told = [
        ("reported_lost", theirs.counted_errors()),
        ("reported_datagrams", theirs.counted_packets()),
    ];
    for (name, value) in told {
        let value = Field::measured(value);
        flow.counters.insert(name.to_owned(), value);
    }
    // iperf3 has none of these.
    flow.counters.remove("final_datagrams");
    flow.counters.remove("reported_out_of_order");
}

fn theirs<'a>(outcome: &'a Outcome, stream: &StreamOutcome) -> Option<&'a StreamResult> {
    let results = outcome.peer_results.as_ref()?;
    results.stream(stream.ends.id)
}

/// Datagrams that were sent after the last one that the server counted.
const fn tail(stream: &StreamOutcome, theirs: &StreamResult) -> u64 {
    stream
        .counted
        .packets
        .saturating_sub(theirs.counted_packets())
}

/// The jitter in s at the receiver of a stream, where it is one that the test can have.
fn jitter_s(outcome: &Outcome, stream: &StreamOutcome) -> Option<f64> {
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

/// The lines of all intervals, as our end counted.
fn rows(plan: &Plan, outcome: &Outcome) -> Vec<Row> {
    let every_ns = u64::try_from(plan.config.interval.as_nanos()).unwrap_or(u64::MAX);
    let lines = outcome.intervals.iter().flat_map(|interval| {
        let streams = outcome.streams.iter().zip(&interval.streams);
        streams.map(|(stream, (before, now))| {
            let added = now.since(before);
            let seen = added.received;
            // An interval is closed a few ms late, and the next is as much shorter: both are whole.
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
                    jitter_ms: seen.jitter_ns as f64 / 1e6,
                    jitter_ps: Some(seen.jitter_ns.saturating_mul(1000)),
                    received: seen.datagrams,
                    lost: seen.lost,
                    total: seen.distinct + seen.lost + seen.lost_or_missed,
                    out_of_order: seen.reordered,
                }),
                ..Row::new(id_of(stream), start_s, end_s)
            }
        })
    });
    lines.collect()
}

fn leg(plan: &Plan, outcome: &Outcome, stream: &StreamOutcome) -> (Id, Leg) {
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

/// What a server read of a stream, in its own time; what we wrote where it did not tell.
fn tcp_sent(plan: &Plan, outcome: &Outcome, stream: &StreamOutcome, span: Span) -> Leg {
    let theirs = theirs(outcome, stream).filter(|theirs| theirs.end_s > 0.0);
    Leg::TcpSent {
        span,
        bytes: theirs.map_or(stream.counted.bytes, |theirs| theirs.bytes),
        writes: 0,
        read_ns: theirs.map(|theirs| (theirs.end_s * 1e9) as u64),
        stall: None,
        pace: plan.frames_per_s.map(|_| {
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

fn udp_sent(plan: &Plan, outcome: &Outcome, stream: &StreamOutcome) -> Sent {
    let report = theirs(outcome, stream).map(|theirs| ServerReport {
        bytes: theirs.bytes,
        duration_us: (theirs.end_s.max(0.0) * 1e6) as u64,
        // What it did not count did not arrive, as far as it tells.
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

fn udp_received(outcome: &Outcome, stream: &StreamOutcome) -> UdpReceived {
    let seen = stream.counted.received;
    let jitter_s = jitter_s(outcome, stream).unwrap_or(0.0);
    UdpReceived {
        span: Span {
            start_ns: 0,
            end_ns: stream.end_ns,
        },
        received: Received {
            bytes: seen.bytes,
            datagrams: seen.datagrams,
            distinct: seen.distinct,
            lost: seen.lost,
            lost_or_missed: seen.lost_or_missed,
            missed: 0,
            duplicated: seen.duplicated,
            reordered: seen.reordered,
            too_late: seen.too_late,
            ignored: seen.ignored,
        },
        jitter_ps: Some((jitter_s * 1e12) as u64),
        held_up_ns: Some(stream.holds.held_ns),
        finished: outcome.peer_results.is_some(),
        ..UdpReceived::of(&Receiver::of(Generation::Wide, 0))
    }
}
