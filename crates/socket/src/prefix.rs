//! Address prefixes: those that a user writes, and those of this host's links.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// All addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u32,
}

/// The text is not a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid address prefix '{0}'; fix: write e.g. 192.0.2.0/24, 2001:db8::/32, or one address"
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

/// An address in the top of 128 bits.
fn raised(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl Prefix {
    /// Whether the prefix contains an address.
    pub fn has(&self, address: IpAddr) -> bool {
        let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
        width(address) == width(self.address)
            && (raised(address) ^ raised(self.address)) & mask == 0
    }

    /// Whether an address is the broadcast or network address of the prefix.
    pub(crate) fn is_of_all(&self, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else {
            return false;
        };
        let hosts = u32::MAX.checked_shr(self.bits).unwrap_or(0);
        self.bits < 31 && [0, hosts].contains(&(address.to_bits() & hosts))
    }
}

/// The prefixes of this host's interfaces.
pub(crate) fn links() -> Vec<Prefix> {
    let interfaces = getifaddrs().into_iter().flatten();
    let of = |address: Option<SockaddrStorage>| {
        let address = address?;
        let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
    };
    interfaces
        .filter(|interface| interface.flags.contains(InterfaceFlags::IFF_UP))
        .filter_map(|interface| {
            let address = of(interface.address)?;
            let bits = raised(of(interface.netmask)?).leading_ones();
            // Without a mask every address would be on the link.
            (bits > 0).then_some(Prefix { address, bits })
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
}
