//! Wires without an interface: whole frames to and from one other end, such as an emulated board.
//!
//! [`UnixWire`] needs no privilege: each frame is a datagram between two Unix sockets.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};

use crate::tap::TapPort;

/// Most bytes of a frame that a wire carries: a jumbo frame of 9,000 bytes payload with two tags.
pub const MOST_BYTES: usize = 9_022;

/// A transport of whole frames, destination address first, without FCS.
pub trait FrameWire: Send + Sync {
    /// Send a frame; returns whether the other end had space for it.
    ///
    /// # Errors
    /// An error that a retry does not solve, e.g. that the other end is closed.
    fn send(&self, frame: &[u8]) -> io::Result<bool>;

    /// Wait for the next frame; returns its length in `buffer`, `None` if none arrived within `patience`. A longer
    /// frame is cut.
    ///
    /// # Errors
    /// An error that a retry does not solve.
    fn receive(&self, buffer: &mut [u8], patience: Duration) -> io::Result<Option<usize>>;
}

impl FrameWire for TapPort {
    fn send(&self, frame: &[u8]) -> io::Result<bool> {
        self.write_frame(frame).map(|()| true)
    }

    fn receive(&self, buffer: &mut [u8], patience: Duration) -> io::Result<Option<usize>> {
        self.read_frame(buffer, Some(patience))
    }
}

/// The longest wait of a sender for space at the other end.
const ROOM: Duration = Duration::from_millis(50);

/// A wire of two Unix datagram sockets, as QEMU's `-netdev dgram` uses.
#[derive(Debug)]
pub struct UnixWire {
    socket: UnixDatagram,
    /// The paths of both ends; none if they are only connected to each other.
    names: Option<(PathBuf, PathBuf)>,
}

impl UnixWire {
    /// Bind `own`, and send to `other`, which need not exist yet.
    ///
    /// # Errors
    /// The system's error, e.g. that `own` exists or is too long for a socket's path.
    pub fn bind(own: &Path, other: &Path) -> io::Result<UnixWire> {
        let socket = UnixDatagram::bind(own)?;
        socket.set_write_timeout(Some(ROOM))?;
        Ok(UnixWire {
            socket,
            names: Some((own.to_owned(), other.to_owned())),
        })
    }

    /// Both ends of a wire inside this process.
    ///
    /// # Errors
    /// The system's error, e.g. that there are too many open files.
    pub fn pair() -> io::Result<(UnixWire, UnixWire)> {
        let end = |socket: UnixDatagram| -> io::Result<UnixWire> {
            socket.set_write_timeout(Some(ROOM))?;
            Ok(UnixWire {
                socket,
                names: None,
            })
        };
        let (a, b) = UnixDatagram::pair()?;
        Ok((end(a)?, end(b)?))
    }
}

impl Drop for UnixWire {
    fn drop(&mut self) {
        if let Some((own, _)) = &self.names {
            // The folder's owner may have removed it already.
            let _ = std::fs::remove_file(own);
        }
    }
}

impl FrameWire for UnixWire {
    fn send(&self, frame: &[u8]) -> io::Result<bool> {
        let sent = match &self.names {
            Some((_, other)) => self.socket.send_to(frame, other),
            None => self.socket.send(frame),
        };
        match sent {
            Ok(_) => Ok(true),
            Err(e) if is_full(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn receive(&self, buffer: &mut [u8], patience: Duration) -> io::Result<Option<usize>> {
        let fd = self.socket.as_raw_fd();
        let mut waited = false;
        loop {
            match recv(fd, buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => return Ok(Some(length)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) if waited => return Ok(None),
                Err(Errno::EAGAIN) => {
                    let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
                    let mut ready = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
                    // An interrupted wait equals one that was too short.
                    let _ = poll(&mut ready, timeout);
                    waited = true;
                }
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// Whether the only error is that there was no space in time.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    ) || error.raw_os_error() == Some(libc::ENOBUFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_in_both_directions_and_an_end_that_is_gone_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let near = UnixWire::bind(&a, &b).unwrap();
        let far = UnixWire::bind(&b, &a).unwrap();
        let mut buffer = [0; 64];
        assert!(near.send(&[7; 60]).unwrap());
        let long = Duration::from_secs(5);
        assert_eq!(far.receive(&mut buffer, long).unwrap(), Some(60));
        assert_eq!(buffer[..60], [7; 60]);
        assert!(far.send(&[8; 80]).unwrap());
        assert_eq!(near.receive(&mut buffer, long).unwrap(), Some(64), "cut");
        assert_eq!(near.receive(&mut buffer, Duration::ZERO).unwrap(), None);
        drop(far);
        assert!(near.send(&[9; 60]).is_err());
    }

    #[test]
    fn a_full_queue_refuses_and_loses_nothing_that_it_took() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let near = UnixWire::bind(&a, &b).unwrap();
        let far = UnixWire::bind(&b, &a).unwrap();
        let mut taken = 0;
        while near.send(&[1; 1514]).unwrap() {
            taken += 1;
        }
        let mut buffer = [0; 1600];
        for _ in 0..taken {
            assert!(far.receive(&mut buffer, ROOM).unwrap().is_some());
        }
        assert_eq!(far.receive(&mut buffer, Duration::ZERO).unwrap(), None);
    }
}
