//! Amounts and rates, in the spelling of iperf's options and in its headers.

use std::time::Duration;

/// How much a test sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// For a time, in units of 10 ms.
    Time {
        /// Units of 10 ms.
        centiseconds: u32,
    },
    /// So many application bytes.
    Bytes(u64),
}

impl Amount {
    /// The default of iperf: 10 s.
    pub const DEFAULT: Amount = Amount::Time { centiseconds: 1000 };

    /// The amount of a header: negative is a time in 10 ms, positive a number of bytes; 0, which some nodes send, is
    /// the default.
    pub const fn from_wire(word: u32) -> Amount {
        let signed = word as i32;
        if signed == 0 {
            Amount::DEFAULT
        } else if signed < 0 {
            Amount::Time {
                centiseconds: signed.unsigned_abs(),
            }
        } else {
            Amount::Bytes(signed as u64)
        }
    }

    /// The word of a header; it has 31 bits, and larger amounts become the largest.
    pub fn to_wire(self) -> u32 {
        match self {
            Amount::Time { centiseconds } => centiseconds.min(1 << 31).wrapping_neg(),
            Amount::Bytes(bytes) => bytes.min(i32::MAX as u64) as u32,
        }
    }

    /// A time rounded up to 10 ms.
    pub fn time(time: Duration) -> Amount {
        let units = time.as_micros().div_ceil(10_000);
        Amount::Time {
            centiseconds: u32::try_from(units).unwrap_or(i32::MAX as u32),
        }
    }

    /// The time in ns, where it is a time.
    pub const fn ns(self) -> Option<u64> {
        match self {
            Amount::Time { centiseconds } => Some(centiseconds as u64 * 10_000_000),
            Amount::Bytes(_) => None,
        }
    }
}

/// How fast a test sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Application bits per second.
    BitsPerS(u64),
    /// Datagrams (or TCP writes) per second.
    PacketsPerS(u64),
    /// As fast as possible.
    Max,
}

impl Rate {
    /// The default rate of iperf over UDP: 1 Mibit/s.
    pub const UDP_DEFAULT: Rate = Rate::BitsPerS(1 << 20);

    /// The rate in bit/s of packets of `length_bytes`; `None` is as fast as possible.
    pub const fn bits_per_s(self, length_bytes: u32) -> Option<u64> {
        match self {
            Rate::BitsPerS(bits) => Some(bits),
            Rate::PacketsPerS(packets) => Some(packets.saturating_mul(8 * length_bytes as u64)),
            Rate::Max => None,
        }
    }

    /// Picoseconds from one packet of `length_bytes` to the next; `None` is as fast as possible.
    pub fn interval_ps(self, length_bytes: u32) -> Option<u64> {
        const PS: u128 = 1_000_000_000_000;
        let (units, per_s) = match self {
            Rate::BitsPerS(bits) => (u128::from(length_bytes) * 8 * PS, bits),
            Rate::PacketsPerS(packets) => (PS, packets),
            Rate::Max => return None,
        };
        let interval = units.checked_div(u128::from(per_s))?;
        Some(u64::try_from(interval).unwrap_or(u64::MAX))
    }
}

/// Text that is not an amount or rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid {what} '{text}'; fix: write a number with k, m, g (powers of 1000) or K, M, G (powers of 1024), such as {example}"
)]
pub struct AmountError {
    text: String,
    what: &'static str,
    example: &'static str,
}

/// Parses bytes in the spelling of `-n`, `-l` and `-w`: `1470`, `8K` (8192), `3k` (3000), `1.5M`.
///
/// # Errors
/// [`AmountError`] where it is not a number, negative, or beyond 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, AmountError> {
    scaled(text).ok_or_else(|| AmountError {
        text: text.to_owned(),
        what: "number of bytes",
        example: "8K",
    })
}

/// Parses a rate in the spelling of `-b`: `5M` is 5 · 2²⁰ bit/s, `5m` is 5 · 10⁶ bit/s, `10kpps` is 10,000 packets/s, 0
/// is as fast as possible.
///
/// # Errors
/// [`AmountError`] where it is not a number, negative, or beyond 64 bits.
pub fn parse_rate(text: &str) -> Result<Rate, AmountError> {
    let (number, packets) = match text.strip_suffix("pps") {
        Some(number) => (number, true),
        None => (text, false),
    };
    let value = scaled(number).ok_or_else(|| AmountError {
        text: text.to_owned(),
        what: "rate",
        example: "5M or 1000pps",
    })?;
    Ok(match (value, packets) {
        (0, _) => Rate::Max,
        (_, true) => Rate::PacketsPerS(value),
        (_, false) => Rate::BitsPerS(value),
    })
}

fn scaled(text: &str) -> Option<u64> {
    let factor = match text.bytes().last()? {
        b'k' => 1e3,
        b'm' => 1e6,
        b'g' => 1e9,
        b't' => 1e12,
        b'K' => 1024f64,
        b'M' => 1024f64.powi(2),
        b'G' => 1024f64.powi(3),
        b'T' => 1024f64.powi(4),
        b'0'..=b'9' => 1.0,
        _ => return None,
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text.len() - digits.len();
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if suffix > 1 || !plain {
        return None;
    }
    // Whole numbers must not lose digits by conversion to a float.
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(factor as u64);
    }
    let value = digits.parse::<f64>().ok()? * factor;
    (value < u64::MAX as f64).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_as_the_binary_reads_them() {
        for (text, bits) in [
            ("5m", 5_000_000),
            ("5k", 5_000),
            ("1.5M", 1_572_864),
            ("2g", 2_000_000_000),
            ("3G", 3_221_225_472),
            ("50G", 53_687_091_200),
            ("700", 700),
        ] {
            assert_eq!(parse_rate(text), Ok(Rate::BitsPerS(bits)), "{text}");
        }
        assert_eq!(parse_rate("10kpps"), Ok(Rate::PacketsPerS(10_000)));
        assert_eq!(parse_rate("0"), Ok(Rate::Max));
        assert_eq!(parse_bytes("3k"), Ok(3000));
        assert_eq!(parse_bytes("3K"), Ok(3072));
        assert_eq!(
            parse_bytes("18446744073709551615"),
            Ok(u64::MAX),
            "no digit is lost"
        );
    }

    #[test]
    fn what_is_no_number_is_named() {
        for text in ["", "K", "-1", "1e9", "5KK", "5X", "1.2.3", "∞", "99999999T"] {
            assert!(parse_bytes(text).is_err(), "{text}");
            assert!(parse_rate(text).is_err(), "{text}");
        }
        let error = parse_rate("fast").unwrap_err().to_string();
        assert!(
            error.starts_with("invalid rate 'fast'; fix: write"),
            "{error}"
        );
    }

    #[test]
    fn amounts_of_the_header() {
        for (word, amount) in [
            (0xFFFF_FC18, Amount::Time { centiseconds: 1000 }),
            (0xFFFF_FFEC, Amount::Time { centiseconds: 20 }),
            (0x0000_0BB8, Amount::Bytes(3000)),
        ] {
            assert_eq!(Amount::from_wire(word), amount);
            assert_eq!(amount.to_wire(), word);
        }
        assert_eq!(Amount::from_wire(0), Amount::DEFAULT);
        assert_eq!(
            Amount::from_wire(0x8000_0000).ns(),
            Some(21_474_836_480_000_000)
        );
        assert_eq!(Amount::Bytes(1 << 40).to_wire(), 0x7FFF_FFFF);
        assert_eq!(
            Amount::time(Duration::from_millis(1001)),
            Amount::Time { centiseconds: 101 }
        );
    }

    #[test]
    fn intervals_of_a_rate() {
        // iperf -u: "IPG target: 11215.21 us"; -l 64 -b 5M: "97.66 us".
        assert_eq!(Rate::UDP_DEFAULT.interval_ps(1470), Some(11_215_209_960));
        assert_eq!(Rate::BitsPerS(5 << 20).interval_ps(64), Some(97_656_250));
        assert_eq!(Rate::PacketsPerS(100).interval_ps(64), Some(10_000_000_000));
        assert_eq!(Rate::Max.interval_ps(64), None);
    }
}
