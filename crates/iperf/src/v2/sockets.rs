//! How sockets are made: buffers before a connection or a listener is, so that they take part in its window.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt, listen,
    setsockopt, socket, sockopt,
};

use wirelab_socket::lengthen_queue;

use super::outcome::Trouble;

/// How long what was written may stay unacknowledged in ms: a peer that is gone without a word is noticed then.
const UNACKNOWLEDGED_MS: u32 = 10_000;
/// Receive buffer of UDP sockets in bytes: the usual 208 KiB hold some 270 short datagrams, and a tester that was not
/// run for a moment would take its own losses for the node's.
const DEEP_BYTES: u32 = 8 << 20;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Ask for buffers of a size in the kernel (`-w`), which doubles and bounds it as it likes.
pub(super) fn set_window(socket: &impl AsFd, bytes: Option<u32>) {
    if let Some(bytes) = bytes {
        // A size that the kernel does not grant is no reason not to measure.
        let _ = setsockopt(socket, sockopt::RcvBuf, &(bytes as usize));
        let _ = setsockopt(socket, sockopt::SndBuf, &(bytes as usize));
    }
}

/// A UDP socket on an address, with a deep receive buffer unless another is asked.
pub(super) fn bind_udp(address: SocketAddr, window: Option<u32>) -> Result<UdpSocket, Trouble> {
    let bound = UdpSocket::bind(address).map_err(|source| Trouble::Bind { address, source })?;
    set_window(&bound, window);
    if window.is_none() {
        lengthen_queue(&bound, DEEP_BYTES);
    }
    Ok(bound)
}

/// A TCP listener on an address.
pub(super) fn listen_tcp(address: SocketAddr, window: Option<u32>) -> Result<TcpListener, Trouble> {
    let make = || -> io::Result<TcpListener> {
        let fd = stream_socket(address, SockFlag::SOCK_CLOEXEC, window)?;
        // As the standard library does: connections of an earlier run that still linger are no reason to refuse.
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        bind(fd.as_raw_fd(), &SockaddrStorage::from(address))?;
        listen(&fd, Backlog::new(BACKLOG)?)?;
        Ok(fd.into())
    };
    make().map_err(|source| Trouble::Bind { address, source })
}

/// A TCP connection to `peer`, made within `limit`.
pub(super) fn connect_tcp(
    peer: SocketAddr,
    window: Option<u32>,
    limit: Duration,
) -> io::Result<TcpStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = stream_socket(peer, flags, window)?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(peer)) {
        Err(nix::Error::EINPROGRESS) => wait_connected(&fd, limit)?,
        other => other?,
    }
    let stream = TcpStream::from(fd);
    stream.set_nonblocking(false)?;
    notice_silence(&stream);
    Ok(stream)
}

/// Let a connection fail where what was written is not acknowledged for too long.
pub(super) fn notice_silence(stream: &TcpStream) {
    // Without it a test only ends later.
    let _ = setsockopt(stream, sockopt::TcpUserTimeout, &UNACKNOWLEDGED_MS);
}

fn stream_socket(peer: SocketAddr, flags: SockFlag, window: Option<u32>) -> io::Result<OwnedFd> {
    let family = match peer {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let fd = socket(family, SockType::Stream, flags, None)?;
    set_window(&fd, window);
    Ok(fd)
}

fn wait_connected(fd: &OwnedFd, limit: Duration) -> io::Result<()> {
    let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    let mut wait = [PollFd::new(fd.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut wait, limit)? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    match getsockopt(fd, sockopt::SocketError)? {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn buffers_are_set_before_the_connection() {
        let window = Some(30_000);
        let listener = listen_tcp(([127, 0, 0, 1], 0).into(), window).unwrap();
        let peer = listener.local_addr().unwrap();
        let mut stream = connect_tcp(peer, window, Duration::from_secs(5)).unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        for socket in [&stream, &accepted] {
            // The kernel doubles what is asked (socket(7)).
            assert_eq!(getsockopt(socket, sockopt::RcvBuf).unwrap(), 60_000);
        }
        stream.write_all(b"x").unwrap();
        accepted.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let taken = listen_tcp(([127, 0, 0, 1], 0).into(), None).unwrap();
        let address = taken.local_addr().unwrap();
        let error = listen_tcp(address, None).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("cannot listen on {address}")),
            "{error}"
        );
        drop(taken);
        let error = connect_tcp(address, None, Duration::from_secs(5)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
