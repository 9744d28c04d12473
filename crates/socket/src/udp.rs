//! UDP flows of test frames: every datagram has its own sequence and content, and every byte of it is compared.
//!
//! A flow with a pace sends each datagram when it is due, by a separate call, and catches up after a pause as
//! [`Pacer`](wirelab_trial::Pacer) says. A datagram for which the system has no space waits: it is not a loss of the
//! path. Without a pace, datagrams go in batches, which the system segments if it can
//! ([`segmented`](crate::Sent::segmented)). All times are CLOCK_MONOTONIC, as in the test header. The kernel's stamps
//! of arrivals (SO_TIMESTAMPNS) and departures (SO_TIMESTAMPING) are CLOCK_REALTIME and are converted. One that does
//! not fit the times around it, because the clock was set, is not used.

mod beside;
mod drops;
mod receive;
mod send;

pub use beside::Background;
pub use drops::{Dropped, Drops};
pub use receive::{Ready, Source, enlarge_queue, prepare, receive, receive_from};
pub use send::{is_second, send, send_beside};

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Longest wait of a system call before a check of the cancel flag.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// How long to wait for a full queue that gives no event.
const NAP: Duration = Duration::from_micros(50);

/// Wait until a full socket may have space again, at most [`PATIENCE`].
pub fn wait_for_room(socket: &impl AsFd) {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    let patience = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::ZERO);
    let before = wirelab_trial::host_clock::now_ns();
    // Stamps of departures and a full queue of the device end a poll at once.
    let _ = poll(&mut fds, patience);
    if wirelab_trial::host_clock::now_ns().saturating_sub(before) < NAP.as_nanos() as u64 {
        std::thread::sleep(NAP);
    }
}

/// Whether an error is only a timeout.
pub(crate) fn is_not_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// Whether the system had no space for a datagram, which then did not leave.
pub(crate) fn is_full(error: &io::Error) -> bool {
    is_not_yet(error) || error.raw_os_error() == Some(libc::ENOBUFS)
}
