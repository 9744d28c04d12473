//! UDP flows of test frames: every datagram with its own sequence and content, every byte of it compared.
//!
//! A flow with a pace sends each datagram when it is due, by a call of its own, and never catches up after a
//! pause. Without a pace, datagrams go in batches, which the system cuts late where it can ([`segmented`](crate::Sent::segmented)).
//! All times are CLOCK_MONOTONIC, as in the test header. The kernel's stamps of arrivals (SO_TIMESTAMPNS) and
//! departures (SO_TIMESTAMPING) are CLOCK_REALTIME and are converted; one that does not fit between the times
//! around it, because somebody set the clock, is not used.

mod beside;
pub(crate) mod drops;
mod receive;
mod send;

pub use beside::Background;
pub(crate) use receive::enlarge_queue;
pub use receive::{prepare, receive};
pub use send::{is_second, send, send_beside};

use std::io;
use std::time::Duration;

/// Longest wait of a system call before the flag that ends all is looked at.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

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
