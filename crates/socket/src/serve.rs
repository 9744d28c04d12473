//! Frames one by one, as most applications take them: one system call a frame, the application's own time of each,
//! asleep or spinning, and a second socket beside whose datagrams are counted and dropped.
//!
//! Whatever way frames come to a node's application, it is served by one loop ([`run`]), so that ways can be compared.
//! [`crate::udp`] is for load instead: it takes as many datagrams with a call as there are.

mod beside;
mod send;
mod udp;

pub use beside::{Beside, Counted};
pub use send::{send, spin_until};
pub use udp::{UdpEcho, UdpInlet};

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wirelab_trial::job::{CheckReport, Judge};
use wirelab_trial::{Cancel, Wait};
use wirelab_wire::{Flags, Header, Verdict};

use crate::flow::{Live, MOST_CAPTURES};
use crate::udp::is_not_yet;

/// How long the loop sleeps at most before it looks at the flag that ends all.
pub const PATIENCE: Duration = Duration::from_millis(20);
/// Turns of a spinning loop that found nothing, after which it looks at the flag.
const LOOKS: u32 = 256;

/// The application's time of one frame, in ns of CLOCK_MONOTONIC: after the call that gave it, or before the one that
/// sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Sequence number in the test header.
    pub sequence: u32,
    /// Transmit time that the frame carries, of its sender's clock, modulo 2⁴⁸; absent where it carries none.
    pub wire_ns: Option<u64>,
    /// When the application had it.
    pub application_ns: u64,
}

/// Where frames come from.
pub trait Inlet {
    /// Sleep until a frame or something `beside` is there, but no longer than [`PATIENCE`].
    fn sleep(&self, beside: BorrowedFd<'_>);

    /// Take what is there and show each frame to `watching`; how many there were. With `sleep`, wait for the first as
    /// long as [`PATIENCE`].
    ///
    /// # Errors
    /// What the system says; nothing there is [`io::ErrorKind::WouldBlock`] or 0.
    fn take(&mut self, sleep: bool, watching: &mut Watching<'_>) -> io::Result<usize>;
}

/// What is known of the frames so far.
pub struct Watching<'a> {
    judge: Judge,
    live: &'a Live,
    bytes: u64,
    wanted: usize,
    passed: Vec<Passed>,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Served {
    /// Counts and times.
    pub report: CheckReport,
    /// The application's times of the first frames, as many as were wanted.
    pub passed: Vec<Passed>,
    /// What ended it early. What was seen until then is kept.
    pub failure: Option<io::Error>,
}

impl<'a> Watching<'a> {
    /// Nothing seen yet; the application's times are wanted of the first `captures` frames.
    pub fn new(captures: u32, live: &'a Live) -> Watching<'a> {
        let wanted = captures.min(MOST_CAPTURES) as usize;
        Watching {
            judge: Judge::new(None, 1),
            live,
            bytes: 0,
            wanted,
            passed: Vec::with_capacity(wanted),
        }
    }

    /// A frame that the application had at `now_ns`: what it is, its payload as the design counts it, and the bytes
    /// that the application got.
    #[inline]
    pub fn frame(&mut self, verdict: Verdict, payload_bytes: u64, bytes: u64, now_ns: u64) {
        if !self.judge.take(verdict, payload_bytes, Some(now_ns)) {
            return;
        }
        self.bytes += bytes;
        if let (true, Verdict::Good(header)) = (self.passed.len() < self.wanted, verdict) {
            self.passed.push(Passed {
                sequence: header.sequence,
                wire_ns: carried_ns(&header),
                application_ns: now_ns,
            });
        }
        self.live.tell(self.judge.received(), self.bytes, now_ns);
    }

    /// What was seen, when nothing more comes.
    pub fn finish(self, failure: Option<io::Error>) -> Served {
        Served {
            report: self.judge.finish_apart(),
            passed: self.passed,
            failure,
        }
    }
}

/// The transmit time that a frame carries, where its sender, not this node, took it.
fn carried_ns(header: &Header) -> Option<u64> {
    let theirs =
        header.flags.contains(Flags::TIME_VALID) && !header.flags.contains(Flags::NODE_CLOCK);
    theirs.then_some(header.time_ns)
}

/// Serve an inlet, and a second socket beside, until `cancel` is set; what ended it early.
pub fn run(
    inlet: &mut dyn Inlet,
    wait: Wait,
    mut beside: Option<&mut Beside>,
    watching: &mut Watching<'_>,
    cancel: &Cancel,
) -> Option<io::Error> {
    let alone = beside.is_none();
    let mut looks = 0u32;
    loop {
        if let (Wait::Sleep, Some(beside)) = (wait, beside.as_deref()) {
            inlet.sleep(beside.fd());
        }
        let mut came = match inlet.take(wait == Wait::Sleep && alone, watching) {
            Ok(frames) => frames,
            Err(error) if is_not_yet(&error) => 0,
            // An ICMP message about what was sent on the same socket: its sender is told too.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => 0,
            Err(error) => return Some(error),
        };
        if let Some(beside) = beside.as_deref_mut() {
            came += beside.take();
        }
        looks = if came > 0 { 0 } else { looks.wrapping_add(1) };
        if (wait == Wait::Sleep || looks % LOOKS == 0) && cancel.is_cancelled() {
            return None;
        }
    }
}

/// Sleep until something is there, but no longer than [`PATIENCE`].
pub fn sleep<'a>(fds: impl IntoIterator<Item = BorrowedFd<'a>>) {
    let watched = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut all: Vec<PollFd<'_>> = fds.into_iter().map(watched).collect();
    let timeout = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::ZERO);
    // Whatever it says, the calls that follow say it too.
    let _ = poll(&mut all, timeout);
}
