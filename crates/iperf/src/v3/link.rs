//! A control connection on a socket: bytes that wait, and whether the peer is still there.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, getsockopt, setsockopt, socket, sockopt,
};

use super::test::TestError;
use crate::sending::is_wait;

/// How long one look for bytes takes at most; also how late an interval may end.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// How long a peer may be silent where it is to speak.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Link {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// Our end.
    pub(super) local: SocketAddr,
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> Result<Link, TestError> {
        let what = || TestError::io("the control connection");
        let peer = stream.peer_addr().map_err(what())?;
        stream.set_nonblocking(false).map_err(what())?;
        stream.set_nodelay(true).map_err(what())?;
        keep_alive(&stream).map_err(|error| what()(error.into()))?;
        stream.set_read_timeout(Some(LOOK)).map_err(what())?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(what())?;
        let local = stream.local_addr().map_err(what())?;
        Ok(Link {
            stream,
            peer,
            local,
        })
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

/// Have the system look whether the peer's host is still there while nothing is said: after 10 s, then every 5 s, and
/// give it up after three looks.
fn keep_alive(stream: &TcpStream) -> nix::Result<()> {
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &10)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &5)?;
    setsockopt(stream, sockopt::TcpKeepCount, &3)
}

/// Ask for buffers of a size in the kernel (`-w`), which doubles and bounds it as it likes; 0 leaves them alone.
pub(super) fn set_buffers(socket: &impl AsFd, bytes: u32) {
    if bytes > 0 {
        // A size that the kernel does not grant is no reason not to measure.
        let _ = setsockopt(socket, sockopt::RcvBuf, &(bytes as usize));
        let _ = setsockopt(socket, sockopt::SndBuf, &(bytes as usize));
    }
}

/// Connect, with buffers of a size asked for before: the window that is offered first depends on them.
pub(super) fn connect(to: SocketAddr, window_bytes: u32) -> io::Result<TcpStream> {
    if window_bytes == 0 {
        return TcpStream::connect_timeout(&to, PATIENCE);
    }
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let made = socket(family, SockType::Stream, flags, None)?;
    set_buffers(&made, window_bytes);
    match nix::sys::socket::connect(made.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let wait = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
    if poll(&mut [PollFd::new(made.as_fd(), PollFlags::POLLOUT)], wait)? == 0 {
        return Err(ErrorKind::TimedOut.into());
    }
    match getsockopt(&made, sockopt::SocketError)? {
        0 => {}
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    let stream = TcpStream::from(made);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
