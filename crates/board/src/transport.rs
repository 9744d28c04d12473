//! The control protocol over a board's UART, and over anything else while the board lives.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use wirelab_control::line::MAX_LINE;
use wirelab_control::transport::{StreamTransport, Transport};

use crate::qemu::Liveness;

/// Longest single wait of a read, so that deadlines are met well enough.
const READ: Duration = Duration::from_millis(2);

/// A transport that fails when its board ends, so that no caller waits for an answer of a dead board.
#[derive(Debug)]
pub struct Watched<T> {
    inner: T,
    life: Liveness,
}

impl<T> Watched<T> {
    /// Watches `life` beside `inner`.
    pub fn new(inner: T, life: Liveness) -> Watched<T> {
        Watched { inner, life }
    }

    fn check(&self) -> io::Result<()> {
        match self.life.ended() {
            None => Ok(()),
            Some(how) => Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                format!("the board's emulator has ended ({how})"),
            )),
        }
    }
}

impl Watched<StreamTransport<UnixStream>> {
    /// A board's UART, through its Unix socket.
    ///
    /// # Errors
    /// The error of connecting.
    pub fn uart(socket: &Path, life: Liveness) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(READ))?;
        stream.set_write_timeout(Some(READ))?;
        Ok(Watched::new(StreamTransport::new(stream)?, life))
    }
}

impl<T: Transport> Transport for Watched<T> {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.check()?;
        self.inner.send(line)
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        /// Time between checks whether the board is alive.
        const LOOK: Duration = Duration::from_millis(50);
        loop {
            let now = self.inner.now();
            let until = deadline.min(now + LOOK);
            if let Some(length) = self.inner.receive(line, until)? {
                return Ok(Some(length));
            }
            self.check()?;
            if until >= deadline {
                return Ok(None);
            }
        }
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn needs_check(&self) -> bool {
        self.inner.needs_check()
    }
}
