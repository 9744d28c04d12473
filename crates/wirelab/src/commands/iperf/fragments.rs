//! Checks whether the datagrams of a test fit the path to the server.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use wirelab_socket::mtu;

use crate::terminal::complain;

/// Packets of each datagram, and the MTU, as far as the system knows it; nothing is sent.
fn of(server: SocketAddr, datagram_bytes: u32) -> Option<(u32, u32)> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(server).ok()?;
    let mtu = mtu::path_mtu(&socket).ok()??;
    Some((mtu::fragments(datagram_bytes, mtu, server.is_ipv6()), mtu))
}

/// Warns where they do not.
pub fn warn(server: SocketAddr, datagram_bytes: u32) {
    if let Some((packets @ 2.., mtu)) = of(server, datagram_bytes) {
        complain(format_args!(
            "warning: fragmented: each datagram of {datagram_bytes} bytes becomes {packets} packets at an MTU of {mtu}, and one lost packet loses it; fix: send shorter ones with -l"
        ));
    }
}
