//! The type of service in the spelling of iperf's options: names of code points (RFC 2474, 2597, 3246, 8622) and
//! numbers.

use wirelab_trial::Dscp;
use wirelab_trial::nearest::did_you_mean;

/// Names that iperf has in addition to those of code points, and the byte of the IP header for each.
const NAMES: [(&str, u8); 8] = [
    // iperf 2.1.8 writes this one two bits too low, which the system refuses or reads as another code point.
    ("nqb2", 45 << 2),
    ("ac_be", 0x00),
    ("ac_bk", 0x20),
    ("ac_vi", 0x80),
    ("ac_vo", 0xb8),
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
];
/// Largest code point: it has six bits.
const MOST_DSCP: u8 = 63;

/// Text that is not a type of service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid value '{text}'; {}fix: write a name such as EF, CS1 or AF41, or a number from 0 to {most} (decimal, 0x… or 0…)",
    meant(.text)
)]
pub struct TosError {
    text: String,
    most: u8,
}

/// The byte of the IP header from the text of `-S`: a name or the byte itself.
///
/// # Errors
/// [`TosError`] where it is neither.
pub fn parse_tos(text: &str) -> Result<u8, TosError> {
    named(text)
        .or_else(|| number(text))
        .ok_or_else(|| TosError {
            text: text.to_owned(),
            most: u8::MAX,
        })
}

/// The byte of the IP header from the text of `--dscp`: a name or a code point, its upper six bits.
///
/// # Errors
/// [`TosError`] where it is neither.
pub fn parse_dscp(text: &str) -> Result<u8, TosError> {
    let point = || number(text).filter(|point| *point <= MOST_DSCP);
    named(text)
        .or_else(|| point().map(|point| point << 2))
        .ok_or_else(|| TosError {
            text: text.to_owned(),
            most: MOST_DSCP,
        })
}

/// The name that is nearest to a text, whatever its case, as a question.
fn meant(text: &str) -> String {
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return String::new();
    }
    let own = NAMES.iter().map(|(name, _)| *name);
    did_you_mean(text, own.chain(Dscp::names()))
}

fn named(text: &str) -> Option<u8> {
    let mut names = NAMES.iter();
    let own = names.find(|(name, _)| name.eq_ignore_ascii_case(text));
    let point = Dscp::named(text).map(Dscp::tos);
    point.or(own.map(|(_, byte)| *byte))
}

/// A number in C notation: hexadecimal after 0x, octal after 0.
fn number(text: &str) -> Option<u8> {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u8::from_str_radix(digits, radix).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    // What `iperf -e -S NAME` of 2.1.8 reports as set.
    #[test]
    fn bytes_as_the_binary_reads_them() {
        for (text, byte) in [
            ("af11", 0x28),
            ("AF41", 0x88),
            ("CS1", 0x20),
            ("EF", 0xb8),
            ("ac_vi", 0x80),
            ("lowdelay", 0x10),
            ("0x10", 0x10),
            ("010", 8),
            ("16", 16),
            ("0", 0),
            ("255", 255),
        ] {
            assert_eq!(parse_tos(text), Ok(byte), "{text}");
        }
        for (text, byte) in [("46", 0xb8), ("ef", 0xb8), ("0x2e", 0xb8), ("63", 0xfc)] {
            assert_eq!(parse_dscp(text), Ok(byte), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_named() {
        for text in ["", "256", "-1", "+1", "ef1", "0x", "0x100", "09"] {
            assert!(parse_tos(text).is_err(), "{text}");
        }
        let error = parse_dscp("64").unwrap_err().to_string();
        assert!(
            error.contains("'64'; fix: write a name such as EF"),
            "{error}"
        );
        assert!(error.contains("from 0 to 63"), "{error}");
    }
}
