//! Short names of the kernel: interfaces and congestion control algorithms.

use std::fmt;
use std::str::FromStr;

/// Most bytes of a name, without its terminating zero (`IFNAMSIZ` and `TCP_CA_NAME_MAX` are 16).
const MOST: usize = 15;

/// A name of 1 to 15 printable characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; MOST],
    len: u8,
}

/// Text that is not such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid name of an interface or an algorithm '{0}'; fix: write 1 to 15 letters or digits")]
pub struct NameError(String);

impl Name {
    /// The name.
    pub fn as_str(&self) -> &str {
        // It contains only ASCII.
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Name, NameError> {
        let fits = (1..=MOST).contains(&text.len());
        if !fits || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(NameError(text.to_owned()));
        }
        let mut bytes = [0; MOST];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Name {
            bytes,
            len: text.len() as u8,
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_the_kernel_takes_them() {
        for text in ["bbr", "eth0.100", "123456789012345"] {
            assert_eq!(text.parse::<Name>().unwrap().as_str(), text);
        }
        for text in ["", "1234567890123456", "a b", "ümlaut", "a\0"] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
        }
    }
}
