//! The sockets of iperf 2, on top of those of both generations: listeners, deep queues, and detection of silent peers.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::socket::{Backlog, SockFlag, SockaddrStorage, bind, listen, setsockopt, sockopt};
use wirelab_socket::lengthen_queue;

use super::outcome::Trouble;
pub(super) use crate::connecting::SocketNeeds;
use crate::connecting::{
    SocketError, bind_datagrams, connect_datagrams, connect_stream, stream_socket,
};

/// How long written data may stay unacknowledged in ms, after which a silent peer is detected as gone.
const UNACKNOWLEDGED_MS: u32 = 10_000;
/// Receive buffer of UDP sockets in bytes: the usual 208 KiB hold some 270 short datagrams, so a short pause of the
/// tester would look like losses of the node.
const DEEP_BYTES: u32 = 8 << 20;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

impl SocketError {
    /// The error for a socket towards `peer`.
    fn towards(self, peer: SocketAddr) -> Trouble {
        match self {
            SocketError::Refused(option) => Trouble::Refused(option),
            SocketError::System(source) => Trouble::Connect { peer, source },
        }
    }

    /// The error for a socket on `address`.
    fn on(self, address: SocketAddr) -> Trouble {
        match self {
            SocketError::Refused(option) => Trouble::Refused(option),
            SocketError::System(source) => Trouble::Bind { address, source },
        }
    }
}

/// A UDP socket on an address, with a deep receive buffer unless another size is requested.
pub(super) fn bind_udp(address: SocketAddr, wanted: SocketNeeds<'_>) -> Result<UdpSocket, Trouble> {
    let bound = bind_datagrams(address, wanted).map_err(|error| error.on(address))?;
    Ok(deep(bound, wanted))
}

/// The UDP socket of a client's stream number `index` (from 0), connected to `peer`.
pub(super) fn connect_udp(
    peer: SocketAddr,
    index: u32,
    wanted: SocketNeeds<'_>,
) -> Result<UdpSocket, Trouble> {
    let socket = connect_datagrams(peer, index, wanted).map_err(|error| error.towards(peer))?;
    Ok(deep(socket, wanted))
}

fn deep(socket: UdpSocket, wanted: SocketNeeds<'_>) -> UdpSocket {
    if wanted.window.is_none() {
        lengthen_queue(&socket, DEEP_BYTES);
    }
    socket
}

/// A TCP listener on an address; connections inherit its options.
pub(super) fn listen_tcp(
    address: SocketAddr,
    wanted: SocketNeeds<'_>,
) -> Result<TcpListener, Trouble> {
    let made = stream_socket(address, SockFlag::empty(), wanted);
    let fd = made.map_err(|error| error.on(address))?;
    let listens = bind(fd.as_raw_fd(), &SockaddrStorage::from(address))
        .and_then(|()| listen(&fd, Backlog::new(BACKLOG)?));
    listens.map_err(|error| SocketError::System(error.into()).on(address))?;
    Ok(fd.into())
}

/// A TCP connection to `peer`, made within `limit`, of a client's stream number `index` (from 0).
pub(super) fn connect_tcp(
    peer: SocketAddr,
    index: u32,
    wanted: SocketNeeds<'_>,
    limit: Duration,
) -> Result<TcpStream, Trouble> {
    let made = connect_stream(peer, index, wanted, limit);
    let stream = made.map_err(|error| error.towards(peer))?;
    notice_silence(&stream);
    Ok(stream)
}

/// Lets a connection fail where written data is not acknowledged for too long.
pub(super) fn notice_silence(stream: &TcpStream) {
    // On failure a test only ends later.
    let _ = setsockopt(stream, sockopt::TcpUserTimeout, &UNACKNOWLEDGED_MS);
}

/// The local address of a flow: if the socket is bound to all addresses, the address from which answers to `peer` are
/// sent.
pub(super) fn local_towards(socket: &UdpSocket, peer: SocketAddr) -> io::Result<SocketAddr> {
    let bound = socket.local_addr()?;
    if !bound.ip().is_unspecified() {
        return Ok(bound);
    }
    // Connecting a UDP socket only queries the route.
    let asks = UdpSocket::bind((bound.ip(), 0))?;
    asks.connect(peer)?;
    Ok(SocketAddr::new(asks.local_addr()?.ip(), bound.port()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use nix::sys::socket::getsockopt;

    use super::*;
    use crate::options::SocketOptions;

    #[test]
    fn buffers_are_set_before_the_connection() {
        let wanted = SocketNeeds {
            window: Some(30_000),
            ..SocketNeeds::DEFAULT
        };
        let listener = listen_tcp(([127, 0, 0, 1], 0).into(), wanted).unwrap();
        let peer = listener.local_addr().unwrap();
        let mut stream = connect_tcp(peer, 0, wanted, Duration::from_secs(5)).unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        for socket in [&stream, &accepted] {
            // The kernel doubles the requested size (socket(7)).
            assert_eq!(getsockopt(socket, sockopt::RcvBuf).unwrap(), 60_000);
        }
        stream.write_all(b"x").unwrap();
        accepted.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn a_client_sends_from_the_address_and_port_that_were_chosen() {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let options = SocketOptions {
            address: Some([127, 0, 0, 1].into()),
            port,
            tos: Some(0x28),
            ..SocketOptions::NONE
        };
        let wanted = SocketNeeds {
            options: &options,
            ..SocketNeeds::DEFAULT
        };
        let listener = listen_tcp(([127, 0, 0, 1], 0).into(), wanted).unwrap();
        let peer = listener.local_addr().unwrap();
        let stream = connect_tcp(peer, 0, wanted, Duration::from_secs(5)).unwrap();
        assert_eq!(stream.local_addr().unwrap().port(), port);
        let (accepted, from) = listener.accept().unwrap();
        assert_eq!(from.port(), port);
        assert_eq!(
            getsockopt(&accepted, sockopt::Ipv4Tos),
            Ok(0x28),
            "it takes it over"
        );
        let datagrams = connect_udp(peer, 0, wanted).unwrap();
        assert_eq!(datagrams.local_addr().unwrap().port(), port);
        let error = connect_udp(peer, 0, wanted).unwrap_err().to_string();
        assert!(error.contains("refuses --bind 127.0.0.1:"), "{error}");
        assert!(
            error.contains("fix: give an address of this host"),
            "{error}"
        );
    }

    #[test]
    fn what_is_not_available_is_reported() {
        let taken = listen_tcp(([127, 0, 0, 1], 0).into(), SocketNeeds::DEFAULT).unwrap();
        let address = taken.local_addr().unwrap();
        let error = listen_tcp(address, SocketNeeds::DEFAULT)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!("cannot listen on {address}")),
            "{error}"
        );
        drop(taken);
        let error =
            connect_tcp(address, 0, SocketNeeds::DEFAULT, Duration::from_secs(5)).unwrap_err();
        assert!(error.to_string().contains("Connection refused"), "{error}");
    }
}
