//! The route to a peer: the address and the interface that packets leave by.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use wirelab_port::iface::{Interface, PortName};
use wirelab_trial::NodeError;
use wirelab_wire::LineRate;

use crate::host::unreachable_peer;

/// How this host reaches a peer.
#[derive(Clone, Debug)]
pub struct Route {
    /// The interface that packets leave by, where one has their source address.
    pub interface: Option<Interface>,
    /// This host's address towards the peer.
    pub local: IpAddr,
}

impl Route {
    /// Queries the kernel, without sending anything.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where there is no route.
    pub fn to(peer: SocketAddr) -> Result<Route, NodeError> {
        let socket = UdpSocket::bind(any_of(peer)).map_err(|e| unreachable_peer(peer, &e))?;
        socket
            .connect(peer)
            .map_err(|e| unreachable_peer(peer, &e))?;
        let local = socket
            .local_addr()
            .map_err(|e| unreachable_peer(peer, &e))?
            .ip();
        let interface = name_of(local).and_then(|name| {
            let port = PortName::new(None, &name).ok()?;
            Interface::query(&port).ok()
        });
        Ok(Route { interface, local })
    }

    /// The rate of the link that packets leave by, where there is a carrier with one.
    pub fn link(&self) -> Option<LineRate> {
        self.interface
            .as_ref()
            .and_then(|i| i.link_rate)
            .and_then(LineRate::new)
    }

    /// The interface's MTU in bytes, where it is known.
    pub fn mtu(&self) -> Option<u32> {
        self.interface.as_ref().map(|i| i.mtu)
    }
}

/// The wildcard address and port of the peer's family.
pub fn any_of(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => SocketAddr::from(([0u8; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0u16; 8], 0)),
    }
}

fn name_of(address: IpAddr) -> Option<String> {
    getifaddrs().ok()?.find_map(|interface| {
        let storage = interface.address?;
        let of_v4 = storage.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        let of_v6 = storage.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip()));
        (of_v4.or(of_v6)? == address).then_some(interface.interface_name)
    })
}

/// A new socket, connected to an address.
///
/// # Errors
/// The error of making or connecting it, e.g. no route.
pub fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(any_of(to))?;
    socket.connect(to)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_reached_by_the_loopback() {
        let route = Route::to(SocketAddr::from(([127, 0, 0, 1], 9))).unwrap();
        let interface = route.interface.as_ref().expect("the loopback has a name");
        assert!(interface.loopback);
        assert!(route.link().is_none(), "the loopback is not a link");
        assert!(route.mtu().is_some_and(|mtu| mtu > 1500));
    }
}
