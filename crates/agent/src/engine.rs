//! The work of a trial: one thread for each direction.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use wirelab_cores::prefer_this_thread;
use wirelab_socket::flow::{FlowProgress, Reception, Sent};
use wirelab_socket::serve::ApplicationTime;
use wirelab_trial::Cancel;

use crate::host::Host;
use crate::inside::{Inside, RequestedPoints};

/// The result of the work in one direction.
#[derive(Debug, Default)]
pub struct WorkReport {
    /// What it sent.
    pub sent: Option<Box<Sent>>,
    /// What it received, for a receiver or an echo.
    pub received: Option<Box<Reception>>,
    /// How many of the received frames an echo sent back.
    pub echoed: Option<u64>,
    /// The application's times of received frames.
    pub passed_in: Vec<ApplicationTime>,
    /// The application's times of sent frames.
    pub passed_out: Vec<ApplicationTime>,
    /// Other counters, by their names in the protocol.
    pub counters: Vec<(&'static str, u64)>,
}

impl WorkReport {
    /// Report of a sender.
    pub fn sent(sent: Sent) -> WorkReport {
        WorkReport {
            sent: Some(Box::new(sent)),
            ..WorkReport::default()
        }
    }

    /// Report of a receiver.
    pub fn received(received: Reception) -> WorkReport {
        WorkReport {
            received: Some(Box::new(received)),
            ..WorkReport::default()
        }
    }

    /// Report of an echo.
    pub fn echoed(received: Reception) -> WorkReport {
        WorkReport {
            echoed: Some(received.sent_back_frames),
            ..WorkReport::received(received)
        }
    }

    /// Add the result of the other direction.
    pub fn join(&mut self, other: WorkReport) {
        self.sent = self.sent.take().or(other.sent);
        self.received = self.received.take().or(other.received);
        self.echoed = self.echoed.or(other.echoed);
        self.passed_in.extend(other.passed_in);
        self.passed_out.extend(other.passed_out);
        self.counters.extend(other.counters);
    }

    /// Take the error that ended it early.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        let sent = self.sent.as_mut().and_then(|sent| sent.failure.take());
        let received = self
            .received
            .as_mut()
            .and_then(|received| received.failure.take());
        sent.or(received)
    }
}

/// Work of one direction: it runs until it is done or cancelled, and keeps its counters current.
pub type Work = Box<dyn FnOnce(&FlowProgress, &Cancel) -> io::Result<WorkReport> + Send>;

/// The work of a trial.
#[derive(Default)]
pub struct TrialWork {
    /// What the node sends on its own, not as an echo.
    pub send: Option<Work>,
    /// What it receives or sends back.
    pub receive: Option<Work>,
    /// Received frames after which the receiver is done; `None`: it ends when it is cancelled.
    pub expected_frames: Option<u64>,
    /// The kernel's tracer.
    pub inside: Option<Inside>,
    /// The requested capture points.
    pub wanted: Option<RequestedPoints>,
    /// Notes for the reader of the result.
    pub notes: Vec<String>,
    /// Time between two frames in ps, for a sender that sleeps between them.
    pub sleeps_ps: Option<u64>,
    /// The watch of the host's counters.
    pub host: Option<Host>,
}

/// Work of one direction on its thread.
pub struct Leg {
    pub live: Arc<FlowProgress>,
    cancel: Cancel,
    thread: Option<JoinHandle<io::Result<WorkReport>>>,
}

impl Leg {
    /// Start work with priority over other work of the host. `sleeps_ps` is the sleep between two frames, if there is
    /// one.
    pub fn start(
        name: &str,
        work: Work,
        live: Arc<FlowProgress>,
        sleeps_ps: Option<u64>,
    ) -> io::Result<Leg> {
        let cancel = Cancel::new();
        let (leg_live, flag) = (Arc::clone(&live), cancel.clone());
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                prefer_this_thread(sleeps_ps);
                work(&leg_live, &flag)
            })?;
        Ok(Leg {
            live,
            cancel,
            thread: Some(thread),
        })
    }

    /// Request its end.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Wait for its end and return its result.
    pub fn finish(mut self) -> io::Result<WorkReport> {
        let ended = self.thread.take().map(JoinHandle::join);
        let died = || io::Error::other("the thread of the trial died; this is a bug in wirelab");
        ended.and_then(Result::ok).unwrap_or_else(|| Err(died()))
    }

    /// Frames so far, and the time of the last.
    pub fn progress(&self) -> (u64, u64) {
        let frames = self.live.frames.load(Ordering::Relaxed);
        (frames, self.live.last_ns.load(Ordering::Relaxed))
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy and nice value of the calling thread, as the kernel shows them (proc_pid_stat(5)).
    fn priority() -> (String, String) {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<&str> = text
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        (fields[38].to_owned(), fields[16].to_owned())
    }

    #[test]
    fn the_work_of_a_trial_goes_before_other_work_as_far_as_that_is_permitted() {
        for sleeps_ps in [None, Some(1_000_000_000)] {
            let permitted = std::thread::spawn(move || {
                prefer_this_thread(sleeps_ps);
                priority()
            });
            let (send, receive) = std::sync::mpsc::channel();
            let work: Work = Box::new(move |_, _| {
                send.send(priority()).unwrap();
                Ok(WorkReport::default())
            });
            let leg = Leg::start("test", work, Arc::default(), sleeps_ps).unwrap();
            leg.finish().unwrap();
            assert_eq!(receive.recv().unwrap(), permitted.join().unwrap());
        }
    }
}
