//! The IP addresses of a peer by its name.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use wirelab_trial::host_port::HostPort;
use wirelab_trial::{Layer, NodeError, TrialField, Unsupported};

/// The addresses of a host: the first of each family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    written: HostPort,
    ipv4: Option<SocketAddr>,
    ipv6: Option<SocketAddr>,
    first: SocketAddr,
}

impl Addresses {
    /// Resolves the name.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where it has no address.
    pub fn resolve(written: &HostPort) -> Result<Addresses, NodeError> {
        let unknown = |why: String| {
            NodeError::Failed(format!(
                "cannot find the host '{}': {why}; fix: check its spelling, or write its address",
                written.host
            ))
        };
        let found: Vec<SocketAddr> = (written.host.as_str(), written.port)
            .to_socket_addrs()
            .map_err(|error| unknown(error.to_string()))?
            .collect();
        let Some(first) = found.first().copied() else {
            return Err(unknown("the name has no address".to_owned()));
        };
        Ok(Addresses {
            written: written.clone(),
            ipv4: found.iter().find(|a| a.is_ipv4()).copied(),
            ipv6: found.iter().find(|a| a.is_ipv6()).copied(),
            first,
        })
    }

    /// The address to use where the layer does not matter.
    pub fn first(&self) -> SocketAddr {
        self.first
    }

    /// The addresses that trials may use.
    pub fn all(&self) -> impl Iterator<Item = SocketAddr> {
        let both = [self.ipv4, self.ipv6].into_iter().flatten();
        both.chain((self.ipv4.is_none() && self.ipv6.is_none()).then_some(self.first))
    }

    /// The address for a layer; an Ethernet trial has no family.
    ///
    /// # Errors
    /// [`Unsupported`] where the host has no address of that family.
    pub fn of_layer(&self, layer: Layer) -> Result<SocketAddr, Unsupported> {
        let (found, family, other) = match layer {
            Layer::Ethernet => return Ok(self.first),
            Layer::UdpIpv4 | Layer::TcpIpv4 => (self.ipv4, "IPv4", "udp6 or tcp6"),
            Layer::UdpIpv6 | Layer::TcpIpv6 => (self.ipv6, "IPv6", "udp4 or tcp4"),
        };
        found.ok_or_else(|| {
            let why = format!(
                "{} has no {family} address; fix: choose --layer {other}, or name the host by its {family} address",
                self.written.host
            );
            Unsupported::of(TrialField::Layer, why)
        })
    }

    /// Whether the host has an address of the layer's family.
    pub fn has(&self, layer: Layer) -> bool {
        self.of_layer(layer).is_ok()
    }
}

/// The error for a socket that cannot reach a peer, with the fix.
pub fn unreachable_peer(peer: SocketAddr, error: &io::Error) -> NodeError {
    let fix = match error.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "check the cable, this host's addresses (ip addr) and routes (ip route): there is no route"
        }
        io::ErrorKind::ConnectionRefused => "start its server, or name the port that it listens on",
        io::ErrorKind::TimedOut => "switch the host on, or open the firewall between",
        io::ErrorKind::PermissionDenied => "open this host's firewall for that address",
        _ => "check the address",
    };
    NodeError::Failed(format!("cannot reach {peer}: {error}; fix: {fix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_takes_the_address_of_its_family() {
        let only = |text: &str| {
            Addresses::resolve(&HostPort::parse(text, 5001).unwrap()).expect("an address")
        };
        let v4 = only("192.0.2.1");
        assert!(v4.has(Layer::TcpIpv4) && v4.has(Layer::Ethernet));
        let error = v4.of_layer(Layer::UdpIpv6).unwrap_err().to_string();
        assert!(
            error.contains("no IPv6 address") && error.contains("udp4"),
            "{error}"
        );
        let v6 = only("[2001:db8::1]:9");
        assert_eq!(v6.of_layer(Layer::UdpIpv6).unwrap().port(), 9);
        assert!(!v6.has(Layer::UdpIpv4));
    }

    #[test]
    fn a_name_that_is_unknown() {
        let written = HostPort::parse("no-such-host.invalid", 1).unwrap();
        let error = Addresses::resolve(&written).unwrap_err().to_string();
        assert!(error.contains("'no-such-host.invalid'"), "{error}");
    }
}
