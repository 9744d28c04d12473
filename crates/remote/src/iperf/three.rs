//! An iperf3 server as a node, `iperf3:HOST[:PORT]`: its tests are mapped to those of iperf 2, so that both have the
//! same plan and observation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirelab_iperf::v2::{Outcome, Rate};
use wirelab_iperf::v3::{
    Client, ControlError, Parameters, StreamOutcome, StreamResult, TestError, TestOutcome,
};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{
    Accepts, Cancel, Description, Direction, Extent, Field, FlowObservation, NodeError,
    Observation, Progress, Status, Trial, TrialField, Warning, WarningCode,
};

use super::plan::{self, IperfTrial};
use super::{observe, run};
use crate::leaving::InterfaceEvents;
use crate::route::Route;

mod legs;

use legs::{jitter_s, leg, rows, tail, theirs};

/// Pauses before a busy server is tried again. Between two tests it does not listen for a moment.
const AGAIN: [Duration; 4] = [
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(6),
];
/// CPU time of the server process, in millionths of one core.
const SERVER_CPU: &str = "iperf3_server_process_cpu_ppm";
/// Why there is no CPU load.
const NO_LOAD: &str = "an iperf3 server reports only the CPU time of its own process (counter iperf3_server_process_cpu_ppm): for the load of the node run 'wirelab node serve' there and use node:HOST";

/// What an iperf3 server supports of a trial: the same as iperf 2, without echo.
pub fn accepts(trial: &Trial) -> Accepts<'static> {
    const DIRECTIONS: [Direction; 3] = [Direction::Transmit, Direction::Receive, Direction::Both];
    const NO_ECHO: (TrialField, &str) = (
        TrialField::Direction,
        "an iperf3 server returns no data; fix: start iperf 2.1.8 there and use iperf:HOST, or run 'wirelab node serve' there and use node:HOST",
    );
    match trial.direction {
        Direction::Echo => Accepts {
            directions: &DIRECTIONS,
            reasons: &[NO_ECHO],
            ..plan::accepts(trial)
        },
        _ => plan::accepts(trial),
    }
}

/// The test of a plan, in whole seconds, as iperf3 requires.
///
/// # Errors
/// [`NodeError::Unsupported`] where a peer would have to send a number of datagrams as fast as it can.
pub fn parameters(plan: &IperfTrial) -> Result<Parameters, NodeError> {
    let udp = plan.is_udp();
    let base = match udp {
        true => Parameters::udp(),
        false => Parameters::default(),
    };
    let mut parameters = Parameters {
        length_bytes: plan.config.length_bytes.unwrap_or(base.length_bytes),
        rate_bit_s: match (plan.resolved.frames_per_s, plan.config.rate) {
            (Some(_), Rate::BitsPerS(bits)) => bits,
            _ => 0,
        },
        reverse: plan.resolved.trial.direction == Direction::Transmit,
        bidirectional: plan.resolved.trial.direction == Direction::Both,
        ..base
    };
    let whole = |seconds: f64| (seconds.ceil() as u64).max(1);
    match (plan.resolved.trial.extent, plan.resolved.frames_per_s) {
        (Extent::Time { time_ps }, _) => parameters.seconds = whole(time_ps as f64 / 1e12),
        (Extent::Frames { frames }, _) if !udp => {
            (parameters.seconds, parameters.bytes) =
                (0, frames.saturating_mul(u64::from(plan.datagram)));
        }
        (Extent::Frames { frames }, _) if plan.resolved.trial.direction == Direction::Receive => {
            (parameters.seconds, parameters.blocks) = (0, frames);
        }
        // With losses, a fixed number of datagrams would never arrive.
        (Extent::Frames { frames }, Some(rate)) => parameters.seconds = whole(frames as f64 / rate),
        (Extent::Frames { .. }, None) => {
            let why = "an iperf3 server that sends as fast as it can ends only by time; fix: give a time instead of frames";
            return Err(NodeError::unsupported(TrialField::Extent, why));
        }
    }
    parameters.check().map_err(NodeError::bad)?;
    Ok(parameters)
}

/// The result of a test.
pub struct TestResult {
    started_unix_ns: u64,
    outcome: Result<TestOutcome, TestError>,
    cancelled: bool,
}

const fn had_a_word(outcome: &Result<TestOutcome, TestError>) -> bool {
    matches!(outcome, Err(TestError::Control { .. }))
}

fn is_busy(outcome: &Result<TestOutcome, TestError>) -> bool {
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

/// Runs the test of a plan, and waits where the server is busy.
pub fn ask(
    plan: &IperfTrial,
    parameters: Parameters,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> TestResult {
    let client = Client {
        sending: plan.config.sending,
        interval: plan.config.interval,
        options: plan.config.options,
        ..Client::new(plan.config.server, parameters)
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
        // If the server does not report itself busy for a second, it is not between two tests but absent.
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
            // The first answer says more than later ones: iperf3's bytes may end an iperf 2 server.
            break;
        }
        (started_unix_ns, outcome) = (again_unix_ns, again);
    }
    TestResult {
        started_unix_ns,
        outcome,
        cancelled: cancel.is_cancelled(),
    }
}

/// The observation of a test, or why there is none.
///
/// # Errors
/// [`NodeError::Failed`] where nothing was measured, except for a busy server.
pub fn observation(
    plan: &IperfTrial,
    result: TestResult,
    left: &InterfaceEvents,
    node: Description,
    route: &Route,
) -> Result<Observation, NodeError> {
    let as_result = |legs, rows, cancelled| run::TestResult {
        started_unix_ns: result.started_unix_ns,
        outcome: Outcome {
            legs,
            rows,
            ..Outcome::default()
        },
        cancelled,
        on_our_connection: false,
    };
    let outcome = match result.outcome {
        Ok(outcome) => outcome,
        Err(TestError::Cancelled) => {
            return observe::observation(
                plan,
                as_result(Vec::new(), Vec::new(), true),
                left,
                node,
                route,
            );
        }
        Err(TestError::Control { peer, source }) if is_refusal(&source) => {
            let mut void = observe::observation(
                plan,
                as_result(Vec::new(), Vec::new(), true),
                left,
                node,
                route,
            )?;
            observe::fail(&mut void, &format!("{peer}: {source}"));
            return Ok(void);
        }
        Err(error) => return Err(failure(plan, &error)),
    };
    let legs = outcome
        .streams
        .iter()
        .map(|stream| leg(plan, &outcome, stream));
    let result = as_result(legs.collect(), rows(plan, &outcome), result.cancelled);
    let mut observation = observe::observation(plan, result, left, node, route)?;
    finish(plan, &outcome, &mut observation);
    Ok(observation)
}

const fn is_refusal(source: &ControlError) -> bool {
    matches!(source, ControlError::Busy | ControlError::TurnedAway)
}

fn failure(plan: &IperfTrial, error: &TestError) -> NodeError {
    let hint = match (error, plan.resolved.trial.direction) {
        (
            TestError::Control {
                source: ControlError::UnknownState(_) | ControlError::Silent,
                ..
            },
            _,
        ) => "; where an iperf 2 server runs, use iperf:HOST",
        (TestError::Control { .. } | TestError::Lost { .. }, Direction::Both) => {
            "; fix: both directions at once need iperf3 3.7 or later there, so use rx and tx"
        }
        _ => "",
    };
    NodeError::Failed(format!("{error}{hint}"))
}

/// Adds to an observation what iperf 2 does not have.
fn finish(plan: &IperfTrial, outcome: &TestOutcome, observation: &mut Observation) {
    observation.cpu_load = Field::absent(NO_LOAD);
    if let Some(theirs) = &outcome.peer_results {
        let ppm = (theirs.cpu_percent[0] * 1e4).round().max(0.0) as u64;
        let counters = &mut observation.counters;
        counters.insert(SERVER_CPU.to_owned(), Field::measured(ppm));
    }
    for flow in &mut observation.flows {
        let sender = flow.direction == Direction::Receive;
        let mut streams = outcome.streams.iter();
        let stream = streams.find(|stream| stream.ends.sender == sender);
        if let Some(stream) = stream.filter(|_| plan.is_udp()) {
            if jitter_s(outcome, stream).is_none() {
                flow.jitter_ps = Field::absent("the reported jitter is impossible in this trial");
            }
            if let Some(theirs) = theirs(outcome, stream).filter(|_| sender) {
                as_reported(flow, stream, theirs);
            }
        }
    }
    let warnings = warnings(plan, outcome);
    observation.warnings.extend(warnings);
    let over = matches!(observation.status, Status::Void { .. })
        || observation.status == Status::cancelled();
    if let Some(why) = failed(plan, outcome).filter(|_| !over) {
        observe::fail(observation, &why);
    }
}

/// How many datagrams the tester's stream of a direction sent after the last one that the server counted, and how many
/// in all.
fn untold(plan: &IperfTrial, outcome: &TestOutcome) -> Option<(u64, u64)> {
    let mut streams = outcome.streams.iter();
    let stream = streams.find(|stream| stream.ends.sender && plan.is_udp())?;
    let tail = tail(stream, theirs(outcome, stream)?);
    (tail > 0).then_some((tail, stream.counted.packets))
}

/// Why a test shows nothing about the peer.
fn failed(plan: &IperfTrial, outcome: &TestOutcome) -> Option<String> {
    if let Some(why) = &outcome.failure {
        return Some(why.clone());
    }
    let (_, sent) = untold(plan, outcome).filter(|(tail, sent)| *tail > sent / 2)?;
    Some(format!(
        "the server counted less than half of {sent} datagrams; fix: stop other work there, or offer less"
    ))
}

/// Warnings in addition to those of iperf 2.
fn warnings(plan: &IperfTrial, outcome: &TestOutcome) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |code, text, fix| warnings.push(Warning::new(code, text, fix));
    let seconds = outcome.parameters.seconds;
    let requested_s = match plan.resolved.trial.extent {
        Extent::Time { time_ps } => Some(time_ps as f64 / 1e12),
        Extent::Frames { frames } => plan.resolved.frames_per_s.map(|rate| frames as f64 / rate),
    };
    if let Some(requested_s) = requested_s.filter(|s| seconds > 0 && *s != seconds as f64) {
        let text = format!(
            "iperf3 takes whole seconds: the trial took {seconds} s, and not {requested_s:.3} s"
        );
        warn(
            WarningCode::WHOLE_SECONDS,
            text,
            "nothing is wrong; request whole seconds",
        );
    }
    for note in outcome.jitter_notes() {
        let fix = "update the iperf3 of the peer where the jitter matters";
        warn(WarningCode::IPERF_NOTE, note, fix);
    }
    if let Some((tail, sent)) = untold(plan, outcome) {
        let text = format!(
            "the server stopped counting before the last {tail} of {sent} datagrams; whether they arrived is unknown, and they do not count as lost"
        );
        let fix = "use a longer trial, or offer less; node:HOST counts to the end";
        warn(WarningCode::UNTOLD_END, text, fix);
    }
    warnings
}

/// The loss and the counters are of the datagrams that the server counted.
fn as_reported(flow: &mut FlowObservation, stream: &StreamOutcome, theirs: &StreamResult) {
    let counted = stream.counted.packets - tail(stream, theirs);
    // Datagrams dropped on leaving are already excluded from the losses.
    if let (Some(all), true) = (flow.loss_ratio.value().copied(), counted > 0) {
        let sent = stream.counted.packets as f64;
        let lost = (all * sent).round() as u64;
        let lost = lost.saturating_sub(tail(stream, theirs));
        flow.loss_ratio = Field::measured(lost as f64 / counted as f64);
    }
    let reported = [
        ("reported_lost", theirs.counted_errors()),
        ("reported_datagrams", theirs.counted_packets()),
    ];
    for (name, value) in reported {
        let value = Field::measured(value);
        flow.counters.insert(name.to_owned(), value);
    }
    // iperf3 has none of these.
    flow.counters.remove("final_datagrams");
    flow.counters.remove("reported_out_of_order");
}
