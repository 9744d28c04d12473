//! Makes the sockets of clients of both generations. Options are set before the connection, so that buffers and segment
//! sizes are part of the first offer.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt, setsockopt,
    socket, sockopt,
};

use crate::options::{RefusedOption, SocketOptions};

/// What the sockets need: buffers, and the other options.
#[derive(Clone, Copy)]
pub(crate) struct SocketNeeds<'a> {
    /// Bytes of both buffers (`-w`).
    pub(crate) window: Option<u32>,
    pub(crate) options: &'a SocketOptions,
}

impl SocketNeeds<'_> {
    /// All defaults.
    pub(crate) const DEFAULT: SocketNeeds<'static> = SocketNeeds {
        window: None,
        options: &SocketOptions::NONE,
    };
}

/// Why there is no socket.
#[derive(Debug)]
pub(crate) enum SocketError {
    /// The system refuses an option.
    Refused(RefusedOption),
    /// The socket cannot be made or connected.
    System(io::Error),
}

impl From<RefusedOption> for SocketError {
    fn from(refused: RefusedOption) -> SocketError {
        SocketError::Refused(refused)
    }
}

impl From<io::Error> for SocketError {
    fn from(error: io::Error) -> SocketError {
        SocketError::System(error)
    }
}

/// Requests kernel buffers of a size (`-w`); the kernel doubles it and has its own bounds.
pub(crate) fn set_window(socket: &impl AsFd, bytes: Option<u32>) {
    if let Some(bytes) = bytes {
        // If the kernel does not grant the size, the measurement still runs.
        let _ = setsockopt(socket, sockopt::RcvBuf, &(bytes as usize));
        let _ = setsockopt(socket, sockopt::SndBuf, &(bytes as usize));
    }
}

/// A TCP socket of the family of `address`, with all options set.
pub(crate) fn stream_socket(
    address: SocketAddr,
    flags: SockFlag,
    wanted: SocketNeeds<'_>,
) -> Result<OwnedFd, SocketError> {
    let fd = new_socket(address, SockType::Stream, flags)?;
    set_window(&fd, wanted.window);
    wanted.options.apply_stream(&fd, address.is_ipv6())?;
    // As the standard library does: lingering connections of an earlier run must not cause a refusal.
    setsockopt(&fd, sockopt::ReuseAddr, &true).map_err(io::Error::from)?;
    Ok(fd)
}

/// A TCP connection to `peer`, made within `limit`, of a client's stream number `index` (from 0).
pub(crate) fn connect_stream(
    peer: SocketAddr,
    index: u32,
    wanted: SocketNeeds<'_>,
    limit: Duration,
) -> Result<TcpStream, SocketError> {
    let fd = stream_socket(peer, SockFlag::SOCK_NONBLOCK, wanted)?;
    wanted.options.bind_client(&fd, peer, index)?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(peer)) {
        Err(nix::Error::EINPROGRESS) => wait_connected(&fd, limit)?,
        other => other.map_err(io::Error::from)?,
    }
    let stream = TcpStream::from(fd);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// The UDP socket of a client's stream number `index` (from 0), connected to `peer`.
pub(crate) fn connect_datagrams(
    peer: SocketAddr,
    index: u32,
    wanted: SocketNeeds<'_>,
) -> Result<UdpSocket, SocketError> {
    let socket = datagram_socket(peer, wanted)?;
    wanted.options.bind_client(&socket, peer, index)?;
    socket.connect(peer)?;
    Ok(socket)
}

/// A UDP socket of the family of `address`, with all options set.
fn datagram_socket(address: SocketAddr, wanted: SocketNeeds<'_>) -> Result<UdpSocket, SocketError> {
    let fd = new_socket(address, SockType::Datagram, SockFlag::empty())?;
    set_window(&fd, wanted.window);
    wanted.options.apply_datagram(&fd, address.is_ipv6())?;
    Ok(fd.into())
}

/// Binds a UDP socket to an address. A link-local address is available only after the device is chosen.
pub(crate) fn bind_datagrams(
    address: SocketAddr,
    wanted: SocketNeeds<'_>,
) -> Result<UdpSocket, SocketError> {
    let socket = datagram_socket(address, wanted)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address)).map_err(io::Error::from)?;
    Ok(socket)
}

fn new_socket(address: SocketAddr, kind: SockType, flags: SockFlag) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    Ok(socket(family, kind, flags | SockFlag::SOCK_CLOEXEC, None)?)
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
