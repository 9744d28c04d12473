//! A control connection on a socket: bytes that wait, and whether the peer is still there.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::test::TestError;

/// How long one look for bytes takes at most; also how late an interval may end.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// How long a peer may be silent where it is to speak.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Link {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> Result<Link, TestError> {
        let what = || TestError::io("the control connection");
        let peer = stream.peer_addr().map_err(what())?;
        stream.set_nonblocking(false).map_err(what())?;
        stream.set_nodelay(true).map_err(what())?;
        stream.set_read_timeout(Some(LOOK)).map_err(what())?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(what())?;
        Ok(Link { stream, peer })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), TestError> {
        let what = format!("writing to {}", self.peer);
        self.stream.write_all(bytes).map_err(TestError::io(what))
    }

    /// What came within [`LOOK`], perhaps nothing.
    pub(super) fn look(&mut self, during: &'static str) -> Result<Vec<u8>, TestError> {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(self.lost("closed the control connection", during)),
            Ok(len) => Ok(bytes[..len].to_vec()),
            Err(error) if is_wait(&error) => Ok(Vec::new()),
            Err(error) => Err(TestError::io(format!("reading from {}", self.peer))(error)),
        }
    }

    pub(super) const fn lost(&self, how: &'static str, during: &'static str) -> TestError {
        let peer = self.peer;
        TestError::Lost { peer, how, during }
    }
}

/// Whether a call is merely to be made again.
pub(super) fn is_wait(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
