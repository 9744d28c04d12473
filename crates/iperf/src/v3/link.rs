//! A control connection on a socket: buffered bytes, and detection of a lost peer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

use super::test::TestError;
use crate::connecting::{SocketError, SocketNeeds, connect_datagrams, connect_stream};
use crate::options::SocketOptions;
use crate::sending::is_wait;

/// Longest time of one check for bytes, and so the largest delay of an interval's end.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// How long a peer may be silent when it must send.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct ControlLink {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// The local end.
    pub(super) local: SocketAddr,
}

impl ControlLink {
    pub(super) fn new(stream: TcpStream) -> Result<ControlLink, TestError> {
        let what = || TestError::io("the control connection");
        let peer = stream.peer_addr().map_err(what())?;
        stream.set_nonblocking(false).map_err(what())?;
        stream.set_nodelay(true).map_err(what())?;
        keep_alive(&stream).map_err(|error| what()(error.into()))?;
        stream.set_read_timeout(Some(LOOK)).map_err(what())?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(what())?;
        let local = stream.local_addr().map_err(what())?;
        Ok(ControlLink {
            stream,
            peer,
            local,
        })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), TestError> {
        let what = format!("writing to {}", self.peer);
        self.stream.write_all(bytes).map_err(TestError::io(what))
    }

    /// Bytes received within [`LOOK`], perhaps none.
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

/// Lets the system probe a silent peer's host: after 10 s, then every 5 s, and gives up after three probes.
fn keep_alive(stream: &TcpStream) -> nix::Result<()> {
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &10)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &5)?;
    setsockopt(stream, sockopt::TcpKeepCount, &3)
}

/// The options of sockets; buffers of 0 bytes keep the system's default.
pub(super) const fn wanted(window_bytes: u32, options: &SocketOptions) -> SocketNeeds<'_> {
    let window = match window_bytes {
        0 => None,
        bytes => Some(bytes),
    };
    SocketNeeds { window, options }
}

/// Connects stream number `index` (from 0) over TCP within `limit`.
pub(super) fn connect(
    to: SocketAddr,
    index: u32,
    wanted: SocketNeeds<'_>,
    limit: Duration,
) -> Result<TcpStream, TestError> {
    connect_stream(to, index, wanted, limit).map_err(|error| match error {
        SocketError::Refused(option) => TestError::Refused(option),
        SocketError::System(source) => TestError::Connect { peer: to, source },
    })
}

/// The UDP socket of stream number `index` (from 0), connected to `to`.
pub(super) fn connect_udp(
    to: SocketAddr,
    index: u32,
    wanted: SocketNeeds<'_>,
) -> Result<UdpSocket, TestError> {
    connect_datagrams(to, index, wanted).map_err(|error| match error {
        SocketError::Refused(option) => TestError::Refused(option),
        SocketError::System(source) => TestError::io(format!("opening a stream to {to}"))(source),
    })
}
