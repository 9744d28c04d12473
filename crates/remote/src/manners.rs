//! Manners on a network (RFC 6815): load is for the laboratory, so a peer is on a link of this host and has an address
//! of one, unless the user says otherwise.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use wirelab_port::iface::router_to;
use wirelab_socket::prefix::Prefix;
use wirelab_trial::NodeError;

use crate::host::{Addresses, unreachable_peer};

/// Above this rate in bit/s, a test across a router deserves a warning.
pub const MODEST_BITS_PER_S: u64 = 100_000_000;

/// Addresses that no other network routes: this host, private use (RFC 1918, 4193), links (RFC 3927, 4291), carriers'
/// inner networks (RFC 6598), documentation (RFC 5737, 3849) and benchmarks (RFC 2544, 5180).
const PRIVATE: [&str; 15] = [
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "100.64.0.0/10",
    "192.0.2.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "198.18.0.0/15",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
    "2001:db8::/32",
    "2001:2::/48",
];

/// Why load to a peer may reach the networks of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteRisk {
    /// The route leads to a router.
    Router {
        /// The peer.
        peer: IpAddr,
        /// The router.
        router: IpAddr,
    },
    /// The address is not private.
    Public(IpAddr),
}

impl fmt::Display for RouteRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteRisk::Router { peer, router } => {
                write!(
                    f,
                    "{peer} is not on a link of this host: the route leads over {router}"
                )
            }
            RouteRisk::Public(peer) => write!(f, "{peer} is a public address"),
        }
    }
}

/// Whether load to this peer may reach the networks of others. Sends nothing.
///
/// # Errors
/// [`NodeError::Failed`] where there is no route.
pub fn beyond(peer: SocketAddr) -> Result<Option<RouteRisk>, NodeError> {
    let router = router_to(peer).map_err(|error| unreachable_peer(peer, &error))?;
    let peer = peer.ip().to_canonical();
    Ok(match router {
        Some(router) => Some(RouteRisk::Router { peer, router }),
        None => (!is_private(peer)).then_some(RouteRisk::Public(peer)),
    })
}

fn is_private(address: IpAddr) -> bool {
    let prefixes = PRIVATE
        .iter()
        .filter_map(|text| text.parse::<Prefix>().ok());
    prefixes.into_iter().any(|prefix| prefix.has(address))
}

/// Refuses a host that is beyond this host's links, unless the user says that it may be.
///
/// # Errors
/// [`NodeError::BadTrial`] with the reason and the fix; [`NodeError::Failed`] where there is no route.
pub(crate) fn check(host: &Addresses, routed: bool) -> Result<(), NodeError> {
    if routed {
        return Ok(());
    }
    for peer in host.all() {
        if let Some(beyond) = beyond(peer)? {
            return Err(NodeError::bad(format!(
                "{beyond}; load belongs on an isolated network (RFC 6815), as it disturbs all others on the path; fix: \
                 connect the node to a port of this host, with an address of the same private network, or give --routed \
                 if every network on the path is yours"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        assert!(PRIVATE.iter().all(|text| text.parse::<Prefix>().is_ok()));
        for private in [
            "127.0.0.1",
            "192.168.1.10",
            "172.31.255.1",
            "198.19.0.1",
            "fe80::1",
            "fd00::1",
            "2001:2::1",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in [
            "8.8.8.8",
            "172.32.0.1",
            "11.0.0.1",
            "198.20.0.1",
            "2606:4700::1",
            "2001:2:1::1",
        ] {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn this_host_is_not_beyond() {
        assert_eq!(
            beyond(SocketAddr::from(([127, 0, 0, 1], 5001))).unwrap(),
            None
        );
    }
}
