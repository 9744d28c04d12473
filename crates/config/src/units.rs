//! Durations and rates as users write them: `3s`, `200ms`, `1m` to picoseconds, `100M` to bit/s.

use wirelab_trial::load::parse_si;

/// Longest allowed duration: a week, in ps.
pub const LONGEST_PS: u64 = 7 * 24 * 3_600 * 1_000_000_000_000;
/// Highest allowed rate, in bit/s.
pub const HIGHEST_RATE: u64 = 10_000_000_000_000;

/// Why a text is not a duration or rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is not a duration.
    #[error(
        "invalid duration '{0}'; fix: write a number with ps, ns, us, ms, s, m or h, e.g. 200ms"
    )]
    Duration(String),
    /// Longer than [`LONGEST_PS`].
    #[error("'{0}' is too long; fix: write at most 168h")]
    TooLong(String),
    /// The text is not a rate.
    #[error("invalid rate '{0}'; fix: write bit/s with k, M, G or T, from 1 to 10T, e.g. 100M")]
    Rate(String),
}

/// Picoseconds of a duration such as `3s`, `200ms`, `1.5us` or `1m` (a minute), rounded down to 1 ps.
///
/// # Errors
/// [`UnitError::Duration`] for other texts, [`UnitError::TooLong`] beyond a week.
pub fn parse_duration_ps(text: &str) -> Result<u64, UnitError> {
    let bad = || UnitError::Duration(text.to_owned());
    let unit_at = text.find(|c: char| c.is_alphabetic()).ok_or_else(bad)?;
    let unit: u128 = match &text[unit_at..] {
        "ps" => 1,
        "ns" => 1_000,
        // Unicode has two code points for the micro sign.
        "us" | "µs" | "μs" => 1_000_000,
        "ms" => 1_000_000_000,
        "s" => 1_000_000_000_000,
        "m" | "min" => 60_000_000_000_000,
        "h" => 3_600_000_000_000_000,
        _ => return Err(bad()),
    };
    let digits = text[..unit_at].trim_end();
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let only_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || digits.ends_with('.') || !only_digits(whole) || !only_digits(part) {
        return Err(bad());
    }
    let too_long = || UnitError::TooLong(text.to_owned());
    let whole: u128 = whole.parse().map_err(|_| too_long())?;
    // At 17 decimals even an hour's digit is less than 1 ps.
    let part = &part[..part.len().min(16)];
    let fraction: u128 = part.parse().unwrap_or(0);
    let scale = 10u128.pow(part.len() as u32);
    let ps = whole
        .checked_mul(unit)
        .and_then(|ps| ps.checked_add(fraction * unit / scale));
    match ps {
        Some(ps) if ps <= u128::from(LONGEST_PS) => Ok(ps as u64),
        _ => Err(too_long()),
    }
}

/// The ratio of a share in percent such as `2.5 %` or `90%`; `None` for other texts.
pub fn parse_percent(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim_end();
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    // The standard parser also accepts signs, exponents and "inf".
    let plain = number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(digits);
    let percent: f64 = number.parse().ok().filter(|_| plain)?;
    // 2.5 / 100 is the nearest to 0.025; a product with 0.01 is not.
    Some(percent / 100.0)
}

/// Bit/s of a rate such as `100M` or `2.5G`.
///
/// # Errors
/// [`UnitError::Rate`] if the text is not a number, or outside 1 to 10T.
pub fn parse_rate(text: &str) -> Result<u64, UnitError> {
    parse_si(text)
        .map(f64::round)
        .filter(|rate| *rate >= 1.0 && *rate <= HIGHEST_RATE as f64)
        .map(|rate| rate as u64)
        .ok_or_else(|| UnitError::Rate(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        let cases = [
            ("1ps", 1),
            ("3s", 3_000_000_000_000),
            ("200ms", 200_000_000_000),
            ("0.1s", 100_000_000_000),
            ("1.5us", 1_500_000),
            ("2 µs", 2_000_000),
            ("1m", 60_000_000_000_000),
            ("1min", 60_000_000_000_000),
            ("168h", LONGEST_PS),
            ("0s", 0),
            ("0.00000000000000000000009s", 0),
        ];
        for (text, ps) in cases {
            assert_eq!(parse_duration_ps(text), Ok(ps), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_what_is() {
        for bad in [
            "", "3", "s", ".5s", "3.s", "-1s", "+1s", "1e3s", "3 sec", "3S", "1.2.3s", "1_0s", "٣s",
        ] {
            assert_eq!(
                parse_duration_ps(bad),
                Err(UnitError::Duration(bad.to_owned())),
                "{bad}"
            );
        }
        let endless = format!("{}s", "9".repeat(99));
        for long in ["169h", &endless, "340282366920938463463374607431768211455h"] {
            assert_eq!(
                parse_duration_ps(long),
                Err(UnitError::TooLong(long.to_owned()))
            );
        }
        assert_eq!(
            parse_duration_ps("3").unwrap_err().to_string(),
            "invalid duration '3'; fix: write a number with ps, ns, us, ms, s, m or h, e.g. 200ms"
        );
    }

    #[test]
    fn shares() {
        for (text, ratio) in [("2.5 %", 0.025), ("0%", 0.0), ("110 %", 1.1), ("100%", 1.0)] {
            assert_eq!(parse_percent(text), Some(ratio), "{text}");
        }
        for bad in [
            "", "%", "2.5", "-1 %", "inf%", "1e3 %", ".5%", "1.2.3%", "half",
        ] {
            assert_eq!(parse_percent(bad), None, "{bad}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(parse_rate("100M"), Ok(100_000_000));
        assert_eq!(parse_rate("2.5G"), Ok(2_500_000_000));
        for bad in ["", "0", "0.4", "-1M", "11T", "nan", "fast"] {
            assert_eq!(parse_rate(bad), Err(UnitError::Rate(bad.to_owned())));
        }
    }
}
