//! To whom a server sends datagrams: over UDP an address proves nothing, so that one forged datagram would make it flood
//! whoever has that address (RFC 8085, 3.1.5 and 6).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

/// Why traffic back is refused.
pub const NOT_PROVEN: &str = "traffic back over UDP: its address is not on the link of this host and may be forged; fix: serve with --allow-reverse PREFIX, or ask over TCP";

/// The addresses that have their first bits in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u32,
}

/// No prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no prefix of addresses; fix: write e.g. 192.0.2.0/24, 2001:db8::/32, or one address"
)]
pub struct PrefixError(String);

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Prefix, PrefixError> {
        let error = || PrefixError(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| error())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let most = width(address);
        let bits = bits.unwrap_or(most);
        match bits <= most {
            true => Ok(Prefix { address, bits }),
            false => Err(error()),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

const fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// An address at the top of 128 bits.
fn raised(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl Prefix {
    /// Whether an address is one of these.
    pub fn has(&self, address: IpAddr) -> bool {
        let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
        width(address) == width(self.address)
            && (raised(address) ^ raised(self.address)) & mask == 0
    }

    /// Whether it is the address of all hosts, or of none, of these.
    fn is_of_all(&self, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else {
            return false;
        };
        let hosts = u32::MAX.checked_shr(self.bits).unwrap_or(0);
        self.bits < 31 && [0, hosts].contains(&(address.to_bits() & hosts))
    }
}

/// Whether datagrams may be sent to a peer that only a datagram named: it has an address that was allowed, or one of a link
/// of this host.
pub fn may_send(peer: IpAddr, allowed: &[Prefix]) -> bool {
    let peer = peer.to_canonical();
    let nobody = peer.is_multicast() || peer.is_unspecified() || peer == Ipv4Addr::BROADCAST;
    if nobody {
        return false;
    }
    let links = links();
    let all = links
        .iter()
        .any(|link| link.has(peer) && link.is_of_all(peer));
    !all && allowed.iter().chain(&links).any(|prefix| prefix.has(peer))
}

/// The prefixes of this host's interfaces.
fn links() -> Vec<Prefix> {
    let interfaces = getifaddrs().into_iter().flatten();
    let of = |address: Option<SockaddrStorage>| {
        let address = address?;
        let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
    };
    interfaces
        .filter_map(|interface| {
            let address = of(interface.address)?;
            let bits = raised(of(interface.netmask)?).leading_ones();
            Some(Prefix { address, bits })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn prefixes() {
        for (prefix, has, has_not) in [
            ("192.0.2.0/24", "192.0.2.200", "192.0.3.1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("0.0.0.0/0", "203.0.113.9", "2001:db8::1"),
        ] {
            let prefix: Prefix = prefix.parse().unwrap();
            assert!(prefix.has(ip(has)) && !prefix.has(ip(has_not)), "{prefix}");
            assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }
        for wrong in [
            "",
            "x",
            "192.0.2.0/33",
            "192.0.2.0/-1",
            "192.0.2/24",
            "::/129",
        ] {
            let error = wrong.parse::<Prefix>().unwrap_err().to_string();
            assert!(error.contains("fix: write e.g. 192.0.2.0/24"), "{error}");
        }
    }

    #[test]
    fn who_is_not_on_a_link_is_not_sent_to() {
        assert!(may_send(ip("127.0.0.1"), &[]), "this host itself");
        assert!(may_send(ip("::ffff:127.0.0.1"), &[]));
        let stranger = ip("203.0.113.9");
        assert!(!may_send(stranger, &[]));
        assert!(may_send(stranger, &["203.0.113.0/24".parse().unwrap()]));
        let all = ["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
        for nobody in [
            "255.255.255.255",
            "224.0.0.1",
            "0.0.0.0",
            "ff02::1",
            "127.255.255.255",
        ] {
            assert!(!may_send(ip(nobody), &all), "{nobody}");
        }
    }
}
