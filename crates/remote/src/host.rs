//! The address of a peer: `HOST[:PORT]` as written, and the IP addresses of the name.

use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};

use wirelab_trial::{Layer, NodeError, Unsupported};

/// A host and a port as written. The name is not resolved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// Parses `HOST[:PORT]`; an IPv6 address with a port needs brackets.
    ///
    /// # Errors
    /// An error text.
    pub fn parse(text: &str, default_port: u16) -> Result<HostPort, String> {
        let bad = |why: &str| {
            Err(format!(
                "invalid host '{text}': {why}; fix: write HOST, HOST:PORT or [IPV6]:PORT"
            ))
        };
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let Some((host, rest)) = rest.split_once(']') else {
                return bad("']' is missing");
            };
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return bad("only :PORT may follow ']'"),
            }
        } else if text.parse::<Ipv6Addr>().is_ok() {
            (text, None)
        } else {
            match text.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return bad("an IPv6 address with a port needs brackets");
                }
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return bad("the name is empty or has spaces");
        }
        let port = match port.map(str::parse::<u16>) {
            None => default_port,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return bad("a port is a number from 1 to 65535"),
        };
        Ok(HostPort {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

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
        found.ok_or_else(|| Unsupported {
            field: "layer",
            why: format!(
                "{} has no {family} address; fix: choose --layer {other}, or name the host by its {family} address",
                self.written.host
            ),
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

    fn read(text: &str) -> (String, u16) {
        let read = HostPort::parse(text, 5001).unwrap();
        (read.host, read.port)
    }

    #[test]
    fn every_way_to_write_a_host() {
        for (text, host, port) in [
            ("board", "board", 5001),
            ("board:7", "board", 7),
            ("192.0.2.1", "192.0.2.1", 5001),
            ("192.0.2.1:65535", "192.0.2.1", 65535),
            ("[2001:db8::1]", "2001:db8::1", 5001),
            ("[2001:db8::1]:80", "2001:db8::1", 80),
            ("2001:db8::1", "2001:db8::1", 5001),
            ("[fe80::1%eth0]:9", "fe80::1%eth0", 9),
        ] {
            assert_eq!(read(text), (host.to_owned(), port), "{text}");
        }
        let shown = HostPort::parse("[2001:db8::1]:80", 1).unwrap().to_string();
        assert_eq!(shown, "[2001:db8::1]:80");
    }

    #[test]
    fn what_is_no_host_is_said() {
        for (text, why) in [
            ("", "empty"),
            (":80", "empty"),
            ("a b", "spaces"),
            ("board:0", "a port is"),
            ("board:65536", "a port is"),
            ("board:http", "a port is"),
            ("board:", "a port is"),
            ("[::1", "']' is missing"),
            ("[::1]80", "only :PORT"),
            ("fe80::1%eth0:80", "needs brackets"),
        ] {
            let error = HostPort::parse(text, 1).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

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
