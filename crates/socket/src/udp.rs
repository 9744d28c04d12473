//! UDP flows of test frames: every datagram with its own sequence and content, every byte of it compared.
//!
//! A flow with a pace sends each datagram when it is due, by a call of its own, and catches up after a hold as
//! [`Pacer`](wirelab_trial::Pacer) says. A datagram that the system has no room for waits: it is no loss of the path.
//! Without a pace, datagrams go in batches, which the system cuts late where it can ([`segmented`](crate::Sent::segmented)).
//! All times are CLOCK_MONOTONIC, as in the test header. The kernel's stamps of arrivals (SO_TIMESTAMPNS) and
//! departures (SO_TIMESTAMPING) are CLOCK_REALTIME and are converted; one that does not fit between the times
//! around it, because somebody set the clock, is not used.

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

/// Longest wait of a system call before the flag that ends all is looked at.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// How long to leave a full queue alone that nobody tells of.
const NAP: Duration = Duration::from_micros(50);

/// Wait until a socket that was full may have room again, at most [`PATIENCE`].
pub fn wait_for_room(socket: &impl AsFd) {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    let patience = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::ZERO);
    let before = wirelab_trial::host_clock::now_ns();
    // Stamps of departures and a queue of the device that is full end a poll at once.
    let _ = poll(&mut fds, patience);
    if wirelab_trial::host_clock::now_ns().saturating_sub(before) < NAP.as_nanos() as u64 {
        std::thread::sleep(NAP);
    }
}

/// Whether an error only says that it was not the time.
pub(crate) fn is_not_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// Whether the system had no room for a datagram, which then did not leave.
pub(crate) fn is_full(error: &io::Error) -> bool {
    is_not_yet(error) || error.raw_os_error() == Some(libc::ENOBUFS)
}
