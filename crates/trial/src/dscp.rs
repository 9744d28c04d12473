//! Code points of the IPv4 header, by number and by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::{did_you_mean, head};

/// Names of code points (RFC 2474, 2597, 3246, 5865, 8622; RFC 9956 for NQB).
const NAMES: [(&str, u8); 25] = [
    ("BE", 0),
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("EF", 46),
    ("VA", 44),
    ("LE", 1),
    ("NQB", 5),
];

/// A code point of differentiated services (DSCP): the upper six bits of an IPv4 header's type of service, 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "u8", into = "u8")]
#[cfg_attr(test, schemars(extend("maximum" = 63)))]
pub struct Dscp(u8);

impl Dscp {
    /// The code point of a number; `None` above 63.
    pub const fn new(point: u8) -> Option<Dscp> {
        if point < 64 { Some(Dscp(point)) } else { None }
    }

    /// The code point of a name, in any case.
    pub fn named(name: &str) -> Option<Dscp> {
        let mut names = NAMES.iter();
        let found = names.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, point)| Dscp(*point))
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Its number, 0 to 63.
    pub const fn point(self) -> u8 {
        self.0
    }

    /// The byte of the header, without congestion notification.
    pub const fn tos(self) -> u8 {
        self.0 << 2
    }
}

impl From<Dscp> for u8 {
    fn from(dscp: Dscp) -> u8 {
        dscp.0
    }
}

impl TryFrom<u8> for Dscp {
    type Error = String;

    fn try_from(point: u8) -> Result<Dscp, String> {
        Dscp::new(point).ok_or_else(|| format!("{point} is not a code point; fix: give 0 to 63"))
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, point)| *point == self.0) {
            Some((name, _)) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Dscp, String> {
        let number = || text.parse().ok().and_then(Dscp::new);
        Dscp::named(text).or_else(number).ok_or_else(|| {
            let shown = head(text).escape_debug();
            let meant = match text.parse::<i64>() {
                Ok(_) => String::new(),
                Err(_) => did_you_mean(text, Dscp::names()),
            };
            format!(
                "unknown DSCP '{shown}'; {meant}fix: write a number from 0 to 63, or a name such as EF, AF41 or CS5"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_the_same_code_points() {
        for (text, point, shown) in [
            ("EF", 46, "EF"),
            ("af41", 34, "AF41"),
            ("cs5", 40, "CS5"),
            ("0", 0, "BE"),
            ("63", 63, "63"),
        ] {
            let dscp: Dscp = text.parse().unwrap();
            assert_eq!((dscp.point(), dscp.tos()), (point, point << 2), "{text}");
            assert_eq!(dscp.to_string(), shown);
            assert_eq!(shown.parse(), Ok(dscp));
            assert_eq!(serde_json::to_string(&dscp).unwrap(), point.to_string());
        }
        for text in ["", "64", "-1", "AF44", "ef "] {
            let error = text.parse::<Dscp>().unwrap_err();
            assert!(error.contains("0 to 63"), "{error}");
        }
        assert!(serde_json::from_str::<Dscp>("64").is_err());
    }
}
