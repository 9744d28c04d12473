//! The next hop on the route to an address (rtnetlink(7)), queried without sending anything.

use std::io;
use std::net::{IpAddr, SocketAddr};

use nix::sys::socket::SockProtocol;

use crate::netlink::{self, NetlinkQuery, attribute, find};

const RTM_GETROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_VIA: u16 = 18;
/// Length of `struct rtmsg` (linux/rtnetlink.h), and the offsets of its family and prefix length.
const MESSAGE: usize = 12;
const MESSAGE_FAMILY: usize = 0;
const MESSAGE_BITS: usize = 1;
/// Bytes of the family in front of an address of another family (`struct rtvia`).
const VIA_FAMILY: usize = 2;

/// The router on the route to `peer`; `None` where the peer is on a link of this host, or is this host.
///
/// # Errors
/// The kernel's error, e.g. where there is no route.
pub fn router_to(peer: SocketAddr) -> io::Result<Option<IpAddr>> {
    let (family, address) = match peer.ip() {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let mut head = [0; MESSAGE];
    head[MESSAGE_FAMILY] = family as u8;
    head[MESSAGE_BITS] = 8 * address.len() as u8;
    let mut attributes = attribute(RTA_DST, &address);
    if let SocketAddr::V6(scoped) = peer
        && scoped.scope_id() > 0
    {
        attributes.extend(attribute(RTA_OIF, &scoped.scope_id().to_ne_bytes()));
    }
    let request = NetlinkQuery {
        kind: RTM_GETROUTE,
        all: false,
        head: &head,
        attributes: &attributes,
    };
    let answer = request.ask(&netlink::open(SockProtocol::NetlinkRoute)?)?;
    Ok(answer.first().and_then(|message| router(message)))
}

/// The router in a route.
fn router(message: &[u8]) -> Option<IpAddr> {
    let attributes = message.get(MESSAGE..)?;
    let via = || find(attributes, RTA_VIA)?.get(VIA_FAMILY..);
    address(find(attributes, RTA_GATEWAY).or_else(via)?)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    v4.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn route(attributes: &[u8]) -> Vec<u8> {
        [&[0; MESSAGE][..], attributes].concat()
    }

    #[test]
    fn a_router_is_read_in_both_forms() {
        let plain = route(&attribute(RTA_GATEWAY, &[192, 0, 2, 1]));
        assert_eq!(router(&plain), Some("192.0.2.1".parse().unwrap()));
        let mut other = vec![libc::AF_INET6 as u8, 0];
        other.extend(
            "2001:db8::1"
                .parse::<std::net::Ipv6Addr>()
                .unwrap()
                .octets(),
        );
        let via = route(&attribute(RTA_VIA, &other));
        assert_eq!(router(&via), Some("2001:db8::1".parse().unwrap()));
        assert_eq!(router(&route(&attribute(RTA_OIF, &[1, 0, 0, 0]))), None);
    }

    #[test]
    fn this_host_is_behind_no_router() {
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        assert_eq!(router_to(peer).unwrap(), None);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = router(&bytes);
        }
    }
}
