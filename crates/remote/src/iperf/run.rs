//! Runs a test of iperf: cancelled from outside, watched, and tried the other way where the peer cannot reach us.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wirelab_iperf::v2::client_header::Mode;
use wirelab_iperf::v2::{Outcome, Trouble};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{Cancel, Progress};

use super::plan::Plan;

/// Longest wait between two looks at the user's wish to end.
const LOOK: Duration = Duration::from_millis(20);
/// How long a peer is left alone after a test over UDP, or one with traffic back. The server of iperf 2.1.8 waits for 250 ms of silence after its
/// report; a client that comes sooner is mistaken for the old one, and the server answers nobody any more until it is
/// started again (seen with the distribution's client too).
pub const SETTLE: Duration = Duration::from_millis(400);
/// Pauses before a refused test is tried again: a server may be between two sockets.
const AGAIN: [Duration; 2] = [SETTLE, SETTLE];

/// What a test gave.
pub struct Ran {
    pub started_unix_ns: u64,
    pub outcome: Outcome,
    pub cancelled: bool,
    /// Whether the peer's traffic came on our own connection.
    pub on_our_connection: bool,
}

/// Run the test of a plan. A peer that cannot open a connection back (it stands behind a firewall, or its iperf
/// does not know how) is asked once more on our own connection; `on_our_connection` is set when that is known.
pub fn run(
    plan: &Plan,
    on_our_connection: &mut bool,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Ran {
    let back_wanted =
        plan.config.mode == Mode::Tradeoff || (plan.config.mode == Mode::Dual && !plan.is_udp());
    if back_wanted && *on_our_connection {
        return patiently(&plan.on_our_connection(), true, progress, cancel);
    }
    let ran = patiently(plan, false, progress, cancel);
    let nothing_back = matches!(ran.outcome.trouble, Some(Trouble::NothingBack { .. }));
    if !back_wanted || !nothing_back || ran.cancelled {
        return ran;
    }
    std::thread::sleep(SETTLE);
    let again = patiently(&plan.on_our_connection(), true, progress, cancel);
    if again.outcome.trouble.is_some() {
        return ran;
    }
    *on_our_connection = true;
    again
}

/// Run the test, again where the peer was not there for a moment.
fn patiently(
    plan: &Plan,
    on_our_connection: bool,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Ran {
    let mut ran = once(plan, on_our_connection, progress, cancel);
    for pause in AGAIN {
        let refused = matches!(&ran.outcome.trouble, Some(Trouble::Connect { source, .. })
            if source.kind() == std::io::ErrorKind::ConnectionRefused);
        if !refused || ran.cancelled || !plan.is_udp() {
            return ran;
        }
        std::thread::sleep(pause);
        ran = once(plan, on_our_connection, progress, cancel);
    }
    ran
}

fn once(plan: &Plan, on_our_connection: bool, progress: &dyn Progress, cancel: &Cancel) -> Ran {
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
    Ran {
        started_unix_ns,
        outcome,
        cancelled: cancel.is_cancelled(),
        on_our_connection,
    }
}

/// Show how far the test is, and end it when the user wants it.
pub fn watch(
    plan: &Plan,
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
