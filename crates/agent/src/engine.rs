//! What a trial is made of: one piece of work for each direction, each on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use wirelab_socket::flow::{Live, Seen, Sent};
use wirelab_socket::serve::Passed;
use wirelab_trial::Cancel;

use crate::inside::{Inside, Wanted};

/// What a piece of work tells when it has ended.
#[derive(Debug, Default)]
pub struct Told {
    /// What it sent.
    pub sent: Option<Box<Sent>>,
    /// What it received.
    pub seen: Option<Box<Seen>>,
    /// How many of these it sent back, where it does that.
    pub echoed: Option<u64>,
    /// The application's times of frames received.
    pub passed_in: Vec<Passed>,
    /// The application's times of frames sent.
    pub passed_out: Vec<Passed>,
    /// Counters beside those of the frames, by the names of the protocol.
    pub counters: Vec<(&'static str, u64)>,
}

impl Told {
    /// It sent.
    pub fn sent(sent: Sent) -> Told {
        Told {
            sent: Some(Box::new(sent)),
            ..Told::default()
        }
    }

    /// It received.
    pub fn seen(seen: Seen) -> Told {
        Told {
            seen: Some(Box::new(seen)),
            ..Told::default()
        }
    }

    /// It sent back what it received.
    pub fn echoed(seen: Seen) -> Told {
        Told {
            echoed: Some(seen.sent_back_frames),
            ..Told::seen(seen)
        }
    }

    /// Take over what another piece of work tells.
    pub fn join(&mut self, other: Told) {
        self.sent = self.sent.take().or(other.sent);
        self.seen = self.seen.take().or(other.seen);
        self.echoed = self.echoed.or(other.echoed);
        self.passed_in.extend(other.passed_in);
        self.passed_out.extend(other.passed_out);
        self.counters.extend(other.counters);
    }

    /// What ended it early.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        let sent = self.sent.as_mut().and_then(|sent| sent.failure.take());
        let seen = self.seen.as_mut().and_then(|seen| seen.failure.take());
        sent.or(seen)
    }
}

/// A piece of work: it runs until it is done or the flag is set, and keeps others informed meanwhile.
pub type Work = Box<dyn FnOnce(&Live, &Cancel) -> io::Result<Told> + Send>;

/// The work of a trial.
#[derive(Default)]
pub struct Plan {
    /// What the node sends by itself.
    pub send: Option<Work>,
    /// What it receives or sends back.
    pub receive: Option<Work>,
    /// After so many frames received, the receiver is done; without it, only when it is told.
    pub expected_frames: Option<u64>,
    /// What looks into the kernel meanwhile.
    pub inside: Option<Inside>,
    /// Which capture points are wanted.
    pub wanted: Option<Wanted>,
    /// What a reader must know of it.
    pub notes: Vec<String>,
}

/// A piece of work on its thread.
pub struct Leg {
    pub live: Arc<Live>,
    cancel: Cancel,
    thread: Option<JoinHandle<io::Result<Told>>>,
}

impl Leg {
    /// Start a piece of work.
    pub fn start(name: &str, work: Work, live: Arc<Live>) -> io::Result<Leg> {
        let cancel = Cancel::new();
        let (told, flag) = (Arc::clone(&live), cancel.clone());
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&told, &flag))?;
        Ok(Leg {
            live,
            cancel,
            thread: Some(thread),
        })
    }

    /// Ask it to end.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Wait for its end and take what it tells.
    pub fn finish(mut self) -> io::Result<Told> {
        let ended = self.thread.take().map(JoinHandle::join);
        let died = || io::Error::other("the thread of the trial died; this is a bug of wirelab");
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
