//! What a trial is made of: one piece of work for each direction, each on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use wirelab_socket::flow::{Live, Seen, Sent};
use wirelab_trial::Cancel;

/// What a piece of work tells when it has ended.
#[derive(Debug)]
pub enum Told {
    /// It sent.
    Sent(Box<Sent>),
    /// It received.
    Seen(Box<Seen>),
    /// It sent back what it received.
    Echoed(Box<Seen>),
}

/// A piece of work: it runs until it is done or the flag is set, and keeps others informed meanwhile.
pub type Work = Box<dyn FnOnce(&Live, &Cancel) -> io::Result<Told> + Send>;

/// The work of a trial.
pub struct Plan {
    /// What the node sends by itself.
    pub send: Option<Work>,
    /// What it receives or sends back.
    pub receive: Option<Work>,
    /// After so many frames received, the receiver is done; without it, only when it is told.
    pub expected_frames: Option<u64>,
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
