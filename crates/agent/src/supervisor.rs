//! Runs the work of one trial on its own thread until the trial ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wirelab_control::value::State;
use wirelab_cores::busy::now_ns;
use wirelab_socket::flow::{FlowProgress, Reception, Sent};

use crate::engine::{Leg, TrialWork, Work, WorkReport};
use crate::host::Host;
use crate::inside::{self, Inside, OneWay, RequestedPoints, TakenPoint, TraceResult};

/// Interval between two checks of the progress.
const LOOK: Duration = Duration::from_millis(5);
/// A receiver ends after this much silence, so frames in flight still count.
const QUIET: Duration = Duration::from_millis(20);
/// Longest wait for frames in flight.
const LONGEST_TAIL: Duration = Duration::from_millis(500);

/// The result of a trial.
#[derive(Debug, Default)]
pub struct TrialReport {
    /// How it ended.
    pub state: State,
    /// Why, if it failed.
    pub why: Option<String>,
    /// What was sent.
    pub sent: Option<Box<Sent>>,
    /// What was received.
    pub received: Option<Box<Reception>>,
    /// Frames that were sent back.
    pub echoed: Option<u64>,
    /// Other counters, by their names in the protocol.
    pub counters: Vec<(String, u64)>,
    /// The capture points.
    pub points: Vec<TakenPoint>,
    /// Notes for the reader of the result.
    pub note: Option<String>,
}

/// A trial that runs or has ended.
#[derive(Debug)]
pub struct Running {
    shared: Arc<SharedTrial>,
    /// Progress of sending, if the node sends.
    pub sending: Option<Arc<FlowProgress>>,
    /// Progress of receiving, if the node receives.
    pub receiving: Option<Arc<FlowProgress>>,
}

#[derive(Debug, Default)]
struct SharedTrial {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    /// The requested end state.
    end_state: Option<State>,
    result: Option<Arc<TrialReport>>,
}

impl SharedTrial {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Start the work; it ends after `limit` at the latest. `ended` runs after all work has ended and before the
    /// result is available, because readers of the result may need it.
    pub fn start(
        plan: TrialWork,
        limit: Duration,
        ended: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Running> {
        let live = |work: &Option<Work>| work.as_ref().map(|_| Arc::new(FlowProgress::default()));
        let (sending, receiving) = (live(&plan.send), live(&plan.receive));
        let leg = |name, work: Option<Work>, live: &Option<Arc<FlowProgress>>, sleeps_ps| {
            let both = work.zip(live.as_ref());
            both.map(|(work, live)| Leg::start(name, work, Arc::clone(live), sleeps_ps))
                .transpose()
        };
        // The receiver starts first, so that an immediate reply is not missed.
        let receive = leg("wirelab-receive", plan.receive, &receiving, None)?;
        let send = leg("wirelab-send", plan.send, &sending, plan.sleeps_ps)?;
        let shared = Arc::new(SharedTrial::default());
        let supervisor = Supervisor {
            shared: Arc::clone(&shared),
            send,
            receive,
            expected: plan.expected_frames,
            end: Instant::now() + limit,
            inside: plan.inside,
            wanted: plan.wanted,
            notes: plan.notes,
            host: plan.host,
        };
        std::thread::Builder::new()
            .name("wirelab-trial".to_owned())
            .spawn(move || {
                let shared = Arc::clone(&supervisor.shared);
                let result = supervisor.run();
                ended();
                shared.lock().result = Some(Arc::new(result));
                shared.changed.notify_all();
            })?;
        Ok(Running {
            shared,
            sending,
            receiving,
        })
    }

    /// Request the end; the first request sets the state.
    pub fn ask(&self, state: State) {
        self.shared.lock().end_state.get_or_insert(state);
        self.shared.changed.notify_all();
    }

    /// Wait for the end, at most this long.
    pub fn wait(&self, most: Duration) {
        let over = |inner: &mut Inner| inner.result.is_none();
        let _ = self
            .shared
            .changed
            .wait_timeout_while(self.shared.lock(), most, over);
    }

    /// The result, after the end.
    pub fn result(&self) -> Option<Arc<TrialReport>> {
        self.shared.lock().result.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ask(State::Stopped);
    }
}

struct Supervisor {
    shared: Arc<SharedTrial>,
    send: Option<Leg>,
    receive: Option<Leg>,
    expected: Option<u64>,
    end: Instant,
    inside: Option<Inside>,
    wanted: Option<RequestedPoints>,
    notes: Vec<String>,
    host: Option<Host>,
}

impl Supervisor {
    fn run(mut self) -> TrialReport {
        let state = self.until_end();
        if let Some(send) = &self.send {
            send.cancel();
        }
        if state != State::Abandoned {
            self.drain();
        }
        self.collect(state)
    }

    /// Wait for the end of the trial; returns its state.
    fn until_end(&self) -> State {
        loop {
            let inner = self.shared.lock();
            let end_state = inner.end_state;
            if let Some(state) = end_state {
                return state;
            }
            let _ = self.shared.changed.wait_timeout(inner, LOOK);
            if self.is_done() {
                return State::Done;
            }
            if Instant::now() >= self.end {
                return State::Stopped;
            }
        }
    }

    /// Whether all work is complete.
    fn is_done(&self) -> bool {
        let sent = self.send.as_ref().is_none_or(Leg::is_over);
        let received = self.receive.as_ref().is_none_or(|leg| {
            leg.is_over()
                || self
                    .expected
                    .is_some_and(|frames| leg.progress().0 >= frames)
        });
        sent && received
    }

    /// Let the receiver take frames in flight.
    fn drain(&self) {
        let Some(receive) = &self.receive else { return };
        let drain_from_ns = now_ns();
        let over = |now: u64| {
            let quiet = now.saturating_sub(receive.progress().1.max(drain_from_ns));
            quiet >= QUIET.as_nanos() as u64
                || now.saturating_sub(drain_from_ns) >= LONGEST_TAIL.as_nanos() as u64
        };
        while !receive.is_over() && !over(now_ns()) {
            std::thread::sleep(LOOK);
        }
    }

    fn collect(&mut self, state: State) -> TrialReport {
        let mut result = TrialReport {
            state,
            ..TrialReport::default()
        };
        let mut all = WorkReport::default();
        let named = |(name, value): (&str, u64)| (name.to_owned(), value);
        for leg in [self.receive.take(), self.send.take()]
            .into_iter()
            .flatten()
        {
            leg.cancel();
            let failure = match leg.finish() {
                Ok(mut report) => {
                    let failure = report.take_failure();
                    all.join(report);
                    failure
                }
                Err(error) => Some(error),
            };
            if let Some(error) = failure {
                result.why.get_or_insert(error.to_string());
                // After a stop, the peer may be gone already; that is not a failure.
                if state == State::Done {
                    result.state = State::Failed;
                }
            }
        }
        let emitted = all
            .sent
            .as_ref()
            .map_or(0, |sent| sent.report.emitted_frames);
        let found = self.host.take().map(|host| host.end(emitted));
        let found = found.unwrap_or_default();
        result
            .counters
            .extend(found.counters.into_iter().map(named));
        if let Some(received) = &mut all.received {
            received.report.without_interrupts(found.interrupts_ns);
        }
        // Nothing stays attached after the trial.
        let traced = self.inside.take().map(Inside::finish).unwrap_or_default();
        self.add_points(&mut result, &all, traced);
        result.counters.extend(all.counters.drain(..).map(named));
        (result.sent, result.received, result.echoed) = (all.sent, all.received, all.echoed);
        result
    }

    fn add_points(&mut self, result: &mut TrialReport, all: &WorkReport, traced: TraceResult) {
        if let Some(wanted) = &self.wanted {
            let received = all.received.as_deref();
            let received = OneWay {
                frames: received.map_or(0, |received| received.report.counts.received_frames),
                times: &traced.received,
                passed: &all.passed_in,
                captures: received.map_or(&[], |received| &received.captures),
            };
            let sent = OneWay {
                frames: all.echoed.unwrap_or_else(|| {
                    let sent = all.sent.as_deref();
                    sent.map_or(0, |sent| sent.report.emitted_frames)
                }),
                times: &traced.sent,
                passed: &all.passed_out,
                captures: all.sent.as_deref().map_or(&[], |sent| &sent.captures),
            };
            result.points = inside::collect(wanted, received, sent);
        }
        result.counters.extend(traced.counters);
        self.notes.extend(traced.notes);
        result.note = (!self.notes.is_empty()).then(|| self.notes.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn the_end_is_reported_after_what_follows_from_it_is_done() {
        let (ending, is_ending) = sync_channel(0);
        let (go_on, may_go_on) = sync_channel(0);
        let ended = move || {
            ending.send(()).unwrap();
            may_go_on.recv().unwrap();
        };
        let limit = Duration::from_secs(60);
        let running = Running::start(TrialWork::default(), limit, ended).unwrap();
        is_ending.recv().unwrap();
        assert!(running.result().is_none());
        go_on.send(()).unwrap();
        running.wait(limit);
        let result = running.result().expect("it has ended");
        assert!(matches!(result.state, State::Done), "{result:?}");
    }
}
