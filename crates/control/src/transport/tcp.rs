//! Lines over TCP. A broken connection is replaced: sessions belong to addresses, not to connections.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{Stopwatch, StreamTransport, Transport};
use crate::line::MAX_LINE;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(3);
/// Longest single wait of a read, so that deadlines are met well enough.
const READ: Duration = Duration::from_millis(5);

/// A TCP connection to a node.
#[derive(Debug)]
pub struct TcpTransport {
    to: SocketAddr,
    stream: Option<StreamTransport<TcpStream>>,
    clock: Stopwatch,
}

impl TcpTransport {
    /// Connect.
    ///
    /// # Errors
    /// The error of connecting, e.g. refused.
    pub fn connect(to: SocketAddr) -> io::Result<TcpTransport> {
        let mut transport = TcpTransport {
            to,
            stream: None,
            clock: Stopwatch::start(),
        };
        transport.stream()?;
        Ok(transport)
    }

    /// Close the connection; the next line is sent on a new one.
    pub fn disconnect(&mut self) {
        self.stream = None;
    }

    fn stream(&mut self) -> io::Result<&mut StreamTransport<TcpStream>> {
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect_timeout(&self.to, CONNECT)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(READ))?;
                stream.set_write_timeout(Some(CONNECT))?;
                StreamTransport::new(stream)?
            }
        };
        Ok(self.stream.insert(stream))
    }
}

impl Transport for TcpTransport {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        if self.stream()?.send(line).is_err() {
            self.stream = None;
            self.stream()?.send(line)?;
        }
        Ok(())
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        // The stream measures time from its own creation.
        let Some(left) = self.clock.left(deadline) else {
            return Ok(None);
        };
        let stream = self.stream()?;
        let deadline = stream.now() + left;
        match stream.receive(line, deadline) {
            Ok(got) => Ok(got),
            Err(_) => {
                // The client repeats its request, on a new connection.
                self.stream = None;
                Ok(None)
            }
        }
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn needs_check(&self) -> bool {
        false
    }
}
