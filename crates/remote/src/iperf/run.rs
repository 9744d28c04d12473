//! Runs a test of iperf: it can be cancelled, is watched, and is repeated in another mode where the peer cannot reach
//! the tester.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wirelab_iperf::v2::client_header::Mode;
use wirelab_iperf::v2::{Generation, Outcome, Trouble};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{Cancel, Progress};

use super::plan::IperfTrial;

/// Longest time between two checks whether the user cancelled.
const LOOK: Duration = Duration::from_millis(20);
/// Pause of a peer after a test over UDP, or one with traffic back. The server of iperf 2.1.8 waits for 250 ms of
/// silence after its report. It mistakes an earlier client for the old one, and then answers no client until it is
/// restarted (the distribution's client has the same problem).
pub const SETTLE: Duration = Duration::from_millis(400);
/// Pauses before a refused test is repeated: a server may be reopening its socket.
const AGAIN: [Duration; 2] = [SETTLE, SETTLE];

/// The result of a test.
pub struct TestResult {
    pub started_unix_ns: u64,
    pub outcome: Outcome,
    pub cancelled: bool,
    /// Whether the peer's traffic used the tester's own connection.
    pub on_our_connection: bool,
}

/// Runs the test of a plan. A peer that cannot open a connection back (behind a firewall, or without that mode) is
/// tried once more on the tester's own connection; `on_our_connection` is then set.
pub fn run(
    plan: &IperfTrial,
    on_our_connection: &mut bool,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> TestResult {
    let back_wanted =
        plan.config.mode == Mode::Tradeoff || (plan.config.mode == Mode::Dual && !plan.is_udp());
    if back_wanted && *on_our_connection {
        return patiently(&plan.on_our_connection(), true, progress, cancel);
    }
    let result = patiently(plan, false, progress, cancel);
    let nothing_back = matches!(result.outcome.trouble, Some(Trouble::NothingBack { .. }));
    if !back_wanted || !nothing_back || result.cancelled {
        return result;
    }
    std::thread::sleep(SETTLE);
    let again = patiently(&plan.on_our_connection(), true, progress, cancel);
    if again.outcome.trouble.is_some() {
        return result;
    }
    *on_our_connection = true;
    again
}

/// Runs the test, and repeats it where the peer was absent for a moment.
fn patiently(
    plan: &IperfTrial,
    on_our_connection: bool,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> TestResult {
    let mut result = once(plan, on_our_connection, progress, cancel);
    for pause in AGAIN {
        let refused = result.outcome.trouble.as_ref().is_some_and(is_refused);
        if !refused || result.cancelled || !plan.is_udp() {
            return result;
        }
        std::thread::sleep(pause);
        result = once(plan, on_our_connection, progress, cancel);
    }
    result
}

/// Checks that an iperf 2 server answers. Returns its generation if the answer shows it, or why there is no test.
pub fn make_sure(
    plan: &IperfTrial,
    cancel: &Cancel,
) -> Result<Option<Generation>, Box<TestResult>> {
    let started_unix_ns = unix_ns();
    let mut answered = plan.config.make_sure_of_iperf(cancel.flag());
    for pause in AGAIN {
        match &answered {
            Err(trouble) if is_refused(trouble) && plan.is_udp() => std::thread::sleep(pause),
            _ => break,
        }
        answered = plan.config.make_sure_of_iperf(cancel.flag());
    }
    answered.map_err(|trouble| {
        Box::new(TestResult {
            started_unix_ns,
            outcome: Outcome {
                trouble: Some(trouble),
                ..Outcome::default()
            },
            cancelled: cancel.is_cancelled(),
            on_our_connection: false,
        })
    })
}

fn is_refused(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Connect { source, .. }
        if source.kind() == std::io::ErrorKind::ConnectionRefused)
}

fn once(
    plan: &IperfTrial,
    on_our_connection: bool,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> TestResult {
    let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let started_unix_ns = unix_ns();
    let outcome = std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(plan, progress, cancel, &stop, &over));
        let outcome = plan.config.run(&stop, &|_| {});
        over.store(true, Ordering::Relaxed);
        watch
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome
    });
    TestResult {
        started_unix_ns,
        outcome,
        cancelled: cancel.is_cancelled(),
        on_our_connection,
    }
}

/// Shows the progress of the test, and ends it when the user cancels.
pub fn watch(
    plan: &IperfTrial,
    progress: &dyn Progress,
    cancel: &Cancel,
    stop: &AtomicBool,
    over: &AtomicBool,
) {
    let begun = Instant::now();
    while !over.load(Ordering::Relaxed) {
        if cancel.is_cancelled() {
            stop.store(true, Ordering::Relaxed);
        }
        if let Some(expected) = plan
            .expected
            .filter(|time| *time > Duration::from_millis(500))
        {
            let done = begun.elapsed().min(expected);
            let ms = |time: Duration| time.as_millis() as u64;
            progress.report(ms(done), ms(expected), "iperf");
        }
        std::thread::sleep(LOOK);
    }
}
