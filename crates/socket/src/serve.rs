//! Frames one by one, as most applications receive them: one system call for each frame, the application's own time
//! of each, asleep or spinning, and a second socket whose datagrams are counted and dropped.
//!
//! One loop ([`run`]) serves frames on every path to a node's application, so that the paths can be compared. For
//! load there is [`crate::udp`], which takes all waiting datagrams with one call.

mod beside;
mod send;
mod udp;

pub use beside::{CountingSocket, DatagramCounts};
pub use send::{send, spin_until};
pub use udp::{UdpEcho, UdpInlet};

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wirelab_trial::job::{CheckReport, Judge};
use wirelab_trial::{Cancel, Wait};
use wirelab_wire::{Flags, Header, Verdict};

use crate::flow::{FlowProgress, MOST_CAPTURES};
use crate::udp::is_not_yet;

/// The longest sleep of the loop before a check of the cancel flag.
pub const PATIENCE: Duration = Duration::from_millis(20);
/// Empty rounds of a spinning loop before a check of the flag.
const LOOKS: u32 = 256;

/// The application's time of one frame, in ns of CLOCK_MONOTONIC: after the call that returned it, or before the call
/// that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicationTime {
    /// Sequence number in the test header.
    pub sequence: u32,
    /// Transmit time in the frame, of its sender's clock, modulo 2⁴⁸; absent if it has none.
    pub wire_ns: Option<u64>,
    /// When the application had it.
    pub application_ns: u64,
}

/// A source of frames.
pub trait Inlet {
    /// Sleep until a frame or something `beside` is there, at most [`PATIENCE`].
    fn sleep(&self, beside: BorrowedFd<'_>);

    /// Take the waiting frames and show each to `watching`; returns their number. With `sleep`, wait up to
    /// [`PATIENCE`] for the first.
    ///
    /// # Errors
    /// The system's error; none waiting is [`io::ErrorKind::WouldBlock`] or 0.
    fn take(&mut self, sleep: bool, watching: &mut Watching<'_>) -> io::Result<usize>;
}

/// The state of the flow so far.
pub struct Watching<'a> {
    judge: Judge,
    live: &'a FlowProgress,
    bytes: u64,
    wanted: usize,
    passed: Vec<ApplicationTime>,
}

/// The result.
#[derive(Debug, Default)]
pub struct Served {
    /// Counts and times.
    pub report: CheckReport,
    /// The application's times of the first frames, as many as requested.
    pub passed: Vec<ApplicationTime>,
    /// The error that ended it early. The results until then are kept.
    pub failure: Option<io::Error>,
}

impl<'a> Watching<'a> {
    /// An empty state; the application's times of the first `captures` frames are recorded.
    pub fn new(captures: u32, live: &'a FlowProgress) -> Watching<'a> {
        let wanted = captures.min(MOST_CAPTURES) as usize;
        Watching {
            judge: Judge::new(None, 1),
            live,
            bytes: 0,
            wanted,
            passed: Vec::with_capacity(wanted),
        }
    }

    /// A frame that the application had at `now_ns`: its verdict, its payload bytes, and the bytes that the
    /// application got.
    #[inline]
    pub fn frame(&mut self, verdict: Verdict, payload_bytes: u64, bytes: u64, now_ns: u64) {
        if !self.judge.take(verdict, payload_bytes, Some(now_ns)) {
            return;
        }
        self.bytes += bytes;
        if let (true, Verdict::Good(header)) = (self.passed.len() < self.wanted, verdict) {
            self.passed.push(ApplicationTime {
                sequence: header.sequence,
                wire_ns: carried_ns(&header),
                application_ns: now_ns,
            });
        }
        self.live.tell(self.judge.received(), self.bytes, now_ns);
    }

    /// The result, when no more frames follow.
    pub fn finish(self, failure: Option<io::Error>) -> Served {
        Served {
            report: self.judge.finish_apart(),
            passed: self.passed,
            failure,
        }
    }
}

/// The transmit time in a frame, if its sender and not this node recorded it.
fn carried_ns(header: &Header) -> Option<u64> {
    let theirs =
        header.flags.contains(Flags::TIME_VALID) && !header.flags.contains(Flags::NODE_CLOCK);
    theirs.then_some(header.time_ns)
}

/// Serve an inlet, and a second socket beside it, until `cancel` is set; returns the error that ended it early.
pub fn run(
    inlet: &mut dyn Inlet,
    wait: Wait,
    mut beside: Option<&mut CountingSocket>,
    watching: &mut Watching<'_>,
    cancel: &Cancel,
) -> Option<io::Error> {
    let alone = beside.is_none();
    let mut looks = 0u32;
    loop {
        if let (Wait::Sleep, Some(beside)) = (wait, beside.as_deref()) {
            inlet.sleep(beside.fd());
        }
        let mut arrived = match inlet.take(wait == Wait::Sleep && alone, watching) {
            Ok(frames) => frames,
            Err(error) if is_not_yet(&error) => 0,
            // An ICMP message about a datagram sent on the same socket; the sender gets it too.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => 0,
            Err(error) => return Some(error),
        };
        if let Some(beside) = beside.as_deref_mut() {
            arrived += beside.take();
        }
        looks = if arrived > 0 {
            0
        } else {
            looks.wrapping_add(1)
        };
        if (wait == Wait::Sleep || looks % LOOKS == 0) && cancel.is_cancelled() {
            return None;
        }
    }
}

/// Sleep until something is there, at most [`PATIENCE`].
pub fn sleep<'a>(fds: impl IntoIterator<Item = BorrowedFd<'a>>) {
    let watched = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut all: Vec<PollFd<'_>> = fds.into_iter().map(watched).collect();
    let timeout = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::ZERO);
    // The following calls return the same error.
    let _ = poll(&mut all, timeout);
}
