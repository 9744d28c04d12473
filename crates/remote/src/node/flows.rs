//! Runs the tester's side of a trial beside the control connection, until both have ended.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wirelab_control::client::ClientError;
use wirelab_control::message::Status;
use wirelab_control::value::State;
use wirelab_cores::prefer_this_thread;
use wirelab_socket::flow::{FlowProgress, Reception, Sent};
use wirelab_trial::{Cancel, Direction, Progress, Series};

use super::control::Control;
use super::plan::NodeTrial;
use crate::leaving::InterfaceEvents;

/// Time between checks of the tester's own side.
const LOOK: Duration = Duration::from_millis(5);
/// Time between requests for the node's status once the tester has sent everything.
const ASK: Duration = Duration::from_millis(50);
/// Time between these requests while the tester still sends.
const SELDOM: Duration = Duration::from_secs(1);
/// How long a node that answers may take to stop: the kernel of a slow host needs many seconds to detach programs from
/// its functions.
const LONGEST_TAIL: Duration = Duration::from_secs(60);
/// How long a node may take to stop after the user cancelled.
const CANCELLED_TAIL: Duration = Duration::from_secs(3);

/// The result of a piece of the tester's work.
#[derive(Debug, Default)]
pub struct WorkResult {
    /// The sender's result.
    pub sent: Option<Sent>,
    /// The result of the background's sender.
    pub background: Option<Sent>,
    /// The receiver's result.
    pub received: Option<Reception>,
    /// Its series.
    pub series: Vec<Series>,
    /// The path of the frames, where it is not simply a socket.
    pub path: Option<String>,
}

/// A piece of the tester's work, which ends when the flag is set.
pub type Work<'a> = Box<dyn FnOnce(&FlowProgress, &Cancel) -> io::Result<WorkResult> + Send + 'a>;

/// The tester's side of a trial.
#[derive(Default)]
pub struct Sides<'a> {
    /// Sends, and receives the echoes in an echo trial.
    pub send: Option<Work<'a>>,
    /// Receives what the node sends.
    pub receive: Option<Work<'a>>,
}

/// The result of a trial, as far as it went.
#[derive(Debug, Default)]
pub struct FlowsResult {
    /// The tester as sender.
    pub sending: WorkResult,
    /// The tester as receiver.
    pub receiving: WorkResult,
    /// The node's last status.
    pub status: Option<Status>,
    /// Why it is incomplete.
    pub trouble: Option<String>,
    /// Whether the node still answered at the end.
    pub answers: bool,
    /// Whether the user cancelled it.
    pub cancelled: bool,
    /// Sequence and time in ns at which frames of the node first arrived here, where that was watched.
    pub from_node: Vec<(u32, u64)>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Events of the tester's interface.
    pub left: InterfaceEvents,
}

impl FlowsResult {
    /// Frames that the tester emitted, those of a background too.
    pub fn emitted(&self) -> u64 {
        let sent = [&self.sending.sent, &self.sending.background];
        let sent = sent.into_iter().flatten();
        sent.map(|sent| sent.report.emitted_frames).sum()
    }
}

/// Runs the sides of a trial that the node has started.
pub fn run(
    control: &mut Control,
    number: u32,
    plan: &NodeTrial,
    sides: Sides<'_>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> FlowsResult {
    let (to_send, to_receive) = (Cancel::new(), Cancel::new());
    let (sending, receiving) = (FlowProgress::default(), FlowProgress::default());
    let sent_all = AtomicBool::new(sides.send.is_none());
    let mut result = FlowsResult {
        answers: true,
        ..FlowsResult::default()
    };
    std::thread::scope(|scope| {
        let receiver = sides.receive.map(|work| {
            let (live, flag) = (&receiving, &to_receive);
            scope.spawn(move || {
                prefer_this_thread(None);
                work(live, flag)
            })
        });
        let sender = sides.send.map(|work| {
            let (live, flag, over) = (&sending, &to_send, &sent_all);
            scope.spawn(move || {
                prefer_this_thread(plan.offer().pace.interval_ps());
                let did = work(live, flag);
                over.store(true, Ordering::Relaxed);
                did
            })
        });
        let watch = TrialWatch {
            number,
            plan,
            progress,
            cancel,
            sent_all: &sent_all,
        };
        watch.until_end(control, &mut result);
        to_send.cancel();
        let join = |thread: Option<std::thread::ScopedJoinHandle<'_, io::Result<WorkResult>>>| {
            let did = thread.map(|t| t.join());
            did.map(|d| d.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        };
        result.sending = keep(join(sender), &mut result.trouble);
        watch.stop(control, &mut result);
        to_receive.cancel();
        result.receiving = keep(join(receiver), &mut result.trouble);
    });
    result
}

/// Unpacks a result, and records the error that ended it early.
fn keep(did: Option<io::Result<WorkResult>>, trouble: &mut Option<String>) -> WorkResult {
    let mut did = match did {
        None => return WorkResult::default(),
        Some(Ok(did)) => did,
        Some(Err(error)) => {
            trouble.get_or_insert(format!("the tester's side failed: {error}"));
            return WorkResult::default();
        }
    };
    let sent = did.sent.as_mut().and_then(|sent| sent.failure.take());
    let received = did
        .received
        .as_mut()
        .and_then(|received| received.failure.take());
    for error in [sent, received].into_iter().flatten() {
        let what = match error.kind() {
            io::ErrorKind::ConnectionRefused => "no program listens on the node's port any more",
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                "the node broke the connection"
            }
            _ => "the flow ended early",
        };
        trouble.get_or_insert(format!("{what}: {error}"));
    }
    did
}

/// Watches a trial.
struct TrialWatch<'a> {
    number: u32,
    plan: &'a NodeTrial,
    progress: &'a dyn Progress,
    cancel: &'a Cancel,
    sent_all: &'a AtomicBool,
}

impl TrialWatch<'_> {
    /// Waits until both sides have ended, the node no longer answers, or the user cancels.
    fn until_end(&self, control: &mut Control, result: &mut FlowsResult) {
        let begun = Instant::now();
        let keep_alive = Duration::from_millis(u64::from(control.identity().idle_ms) / 4);
        let (mut last_request, mut before, mut quiet) = (Instant::now(), None, 0);
        loop {
            if self.cancel.is_cancelled() {
                result.cancelled = true;
                return;
            }
            self.show(begun);
            let sent_all = self.sent_all.load(Ordering::Relaxed);
            if sent_all && !self.must_wait() {
                return;
            }
            // A request costs the node time during the measurement, so requests are rare while the tester sends.
            let often = if sent_all { ASK } else { SELDOM };
            if last_request.elapsed() >= often.min(keep_alive.max(ASK)) {
                last_request = Instant::now();
                if !self.ask(control, result) || self.is_over(result, sent_all) {
                    return;
                }
                let now = result.status.as_ref().map(|s| (s.tx_frames, s.rx_frames));
                quiet = if sent_all && now == before {
                    quiet + 1
                } else {
                    0
                };
                before = now;
                if quiet >= self.most_quiet() {
                    return;
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Whether the node still works when the tester has sent everything. A stream has data in its buffers.
    fn must_wait(&self) -> bool {
        self.plan.resolved.node_sends() || self.plan.resolved.trial.framing.layer.is_tcp()
    }

    fn is_over(&self, result: &FlowsResult, sent_all: bool) -> bool {
        match result.status.as_ref().map(|status| status.state) {
            None | Some(State::Running) => false,
            // It has everything that was requested, so further frames are in excess.
            Some(State::Done) => sent_all,
            Some(_) => true,
        }
    }

    /// Checks without progress after which the tester no longer waits for the node.
    fn most_quiet(&self) -> u32 {
        match self.plan.resolved.trial.direction {
            // It ends on its own, possibly with less than one frame between two checks.
            Direction::Transmit => u32::MAX,
            _ if self.plan.resolved.trial.framing.layer.is_tcp() => 100,
            _ => 4,
        }
    }

    /// Requests the node's status; returns whether it answered.
    fn ask(&self, control: &mut Control, result: &mut FlowsResult) -> bool {
        let answer = control.status(Some(self.number));
        self.heard(answer, result)
    }

    /// Ends the trial on the node, and waits until it has ended.
    fn stop(&self, control: &mut Control, result: &mut FlowsResult) {
        if !result.answers {
            return;
        }
        let answer = control.stop(self.number);
        let since = Instant::now();
        let mut on = self.heard(answer, result);
        while on
            && result
                .status
                .as_ref()
                .is_some_and(|s| s.state == State::Running)
            && since.elapsed() < self.longest_tail()
        {
            std::thread::sleep(4 * LOOK);
            on = self.ask(control, result);
        }
        let Some(status) = &result.status else { return };
        let why = match status.state {
            State::Failed => "the node failed",
            State::Abandoned => {
                "the node ended the trial, because it received nothing from the tester"
            }
            State::Running => "the node does not end the trial",
            State::Idle => "the node has forgotten the trial",
            State::Done | State::Stopped => return,
        };
        let more = status.why.as_ref().map(|w| format!(": {w}"));
        result
            .trouble
            .get_or_insert(format!("{why}{}", more.unwrap_or_default()));
    }

    fn longest_tail(&self) -> Duration {
        match self.cancel.is_cancelled() {
            true => CANCELLED_TAIL,
            false => LONGEST_TAIL,
        }
    }

    fn heard(&self, answer: Result<Status, ClientError>, result: &mut FlowsResult) -> bool {
        match answer {
            Ok(status) if status.trial == self.number => {
                result.status = Some(status);
                true
            }
            Ok(_) => self.lost("the node runs another trial now", result),
            Err(error) => self.lost(&format!("the node no longer answers: {error}"), result),
        }
    }

    fn lost(&self, why: &str, result: &mut FlowsResult) -> bool {
        result.answers = false;
        result.trouble.get_or_insert(format!(
            "{why}; what the tester measured until then is kept"
        ));
        false
    }

    fn show(&self, begun: Instant) {
        const MS_PS: u64 = 1_000_000_000;
        if let Some(ps) = self
            .plan
            .resolved
            .expected_ps()
            .filter(|ps| *ps > 500 * MS_PS)
        {
            let done = begun.elapsed().as_millis() as u64;
            let total = ps / MS_PS;
            self.progress.report(done.min(total), total, "the node");
        }
    }
}
