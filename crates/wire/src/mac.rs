//! Ethernet addresses.

use core::fmt;
use core::str::FromStr;

/// An Ethernet address, written `02:00:0a:37:00:02`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

/// The text of no Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not an Ethernet address; fix: write one as 02:57:4c:00:00:01")]
pub struct MacError;

impl Mac {
    /// Whether it is the address of one station: neither a group (IEEE Std 802, bit 0 of the first byte) nor all zeros.
    pub const fn is_individual(self) -> bool {
        let [a, b, c, d, e, f] = self.0;
        a & 1 == 0 && (a | b | c | d | e | f) != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Mac, MacError> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let hex = |p: &&str| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit());
            let part = parts.next().filter(hex).ok_or(MacError)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| MacError)?;
        }
        match parts.next() {
            None => Ok(Mac(bytes)),
            Some(_) => Err(MacError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_refused() {
        let mac = Mac([2, 0x57, 0x4C, 0, 0, 1]);
        assert_eq!("02:57:4C:00:00:01".parse(), Ok(mac));
        for bad in [
            "",
            "02:57:4c:00:00",
            "02:57:4c:00:00:1",
            "02:57:4c:00:00:0g",
            "02:57:4c:00:00:01:02",
            "+2:57:4c:00:00:01",
            "0257.4c00.0001",
        ] {
            assert_eq!(bad.parse::<Mac>(), Err(MacError), "{bad}");
        }
    }
}
