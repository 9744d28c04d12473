//! Transports for lines: TCP, UDP, and anything that reads and writes bytes.

mod stream;
mod tcp;
mod udp;

use std::io;
use std::time::{Duration, Instant};

pub use stream::StreamTransport;
pub(crate) use stream::write_patiently;
pub use tcp::TcpTransport;
pub use udp::UdpTransport;

use crate::line::MAX_LINE;

/// A transport to one node. Lines may be lost, repeated, reordered and damaged; the client handles that.
pub trait Transport {
    /// Send one line, with its line feed.
    ///
    /// # Errors
    /// Only errors that no repetition can fix.
    fn send(&mut self, line: &[u8]) -> io::Result<()>;

    /// Waits for one line until `deadline`, which is a time of [`Transport::now`]; returns its length, or `None` at the
    /// deadline.
    ///
    /// # Errors
    /// Only errors that no repetition can fix.
    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>>;

    /// Time since any fixed moment.
    fn now(&self) -> Duration;

    /// Whether no lower layer detects damaged bytes, so a line needs its checksum.
    fn needs_check(&self) -> bool;

    /// Whether a node cannot verify the sender's address, as over UDP: its first reply then has at most as many bytes
    /// as the request.
    fn is_forgeable(&self) -> bool {
        false
    }
}

impl<T: Transport + ?Sized> Transport for &mut T {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        (**self).send(line)
    }
    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        (**self).receive(line, deadline)
    }
    fn now(&self) -> Duration {
        (**self).now()
    }
    fn needs_check(&self) -> bool {
        (**self).needs_check()
    }
    fn is_forgeable(&self) -> bool {
        (**self).is_forgeable()
    }
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        (**self).send(line)
    }
    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        (**self).receive(line, deadline)
    }
    fn now(&self) -> Duration {
        (**self).now()
    }
    fn needs_check(&self) -> bool {
        (**self).needs_check()
    }
    fn is_forgeable(&self) -> bool {
        (**self).is_forgeable()
    }
}

/// Real time since its creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }
    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }
    /// Remaining time until `deadline`, `None` when it is reached.
    pub(crate) fn left(self, deadline: Duration) -> Option<Duration> {
        deadline
            .checked_sub(self.now())
            .filter(|left| !left.is_zero())
    }
}

/// Whether a read only timed out.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
