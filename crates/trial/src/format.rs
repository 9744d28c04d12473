//! Formats numbers for readers: thousands separators, SI prefixes (powers of ten), times, percent, dates.

/// An integer with a comma between groups of three digits, e.g. `148,809`.
pub fn integer(n: u64) -> String {
    group(&n.to_string())
}

/// A number with its unit, e.g. `1 frame` or `148,809 frames`; the plural of `unit` ends in `s`.
pub fn count(n: u64, unit: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {unit}{plural}", integer(n))
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number rounded to `places` decimals, with thousands separators and a minus sign, e.g. `−1,234.50`.
pub fn decimal(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("−", rest),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return text;
    }
    // A negative that rounds to 0 has no sign.
    let sign = if unsigned.bytes().any(|b| matches!(b, b'1'..=b'9')) {
        sign
    } else {
        ""
    };
    match fraction {
        Some(fraction) => format!("{sign}{}.{fraction}", group(whole)),
        None => format!("{sign}{}", group(whole)),
    }
}

/// As [`decimal`], with a sign also for a rise, e.g. `+67.04` and `−3.00`.
pub fn signed(value: f64, places: usize) -> String {
    let text = decimal(value, places);
    match text.starts_with('−') {
        true => text,
        false => format!("+{text}"),
    }
}

/// A text with thousands separators in its numbers, but not in their decimals, e.g. `~81,274 frames/s`.
pub fn grouped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number.find(|c: char| !c.is_ascii_digit());
        let (digits, after) = number.split_at(end.unwrap_or(number.len()));
        out.push_str(before);
        match out.ends_with('.') {
            true => out.push_str(digits),
            false => out.push_str(&group(digits)),
        }
        rest = after;
    }
    out + rest
}

/// Frames per second without a unit: whole frames from 100 on, two decimals below, e.g. `8,127` and `7.25`.
pub fn frame_rate(frames_per_s: f64) -> String {
    decimal(frames_per_s, if frames_per_s.abs() < 100.0 { 2 } else { 0 })
}

/// Bit/s in Mbit/s without the unit: two decimals up to 10,000, none above, e.g. `95.25`.
pub fn mbit(bits_per_s: f64) -> String {
    let mbit = bits_per_s / 1e6;
    decimal(mbit, if mbit.abs() < 10_000.0 { 2 } else { 0 })
}

/// A ratio in percent without the sign, to two decimals, e.g. `97.53`. A loss too small for two decimals is not
/// shown as none: `<0.01`.
pub fn percent(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.000_05 {
        return "<0.01".to_owned();
    }
    decimal(ratio * 100.0, 2)
}

/// A value to four significant digits with an SI prefix and the unit, e.g. `95.25 Mbit/s`, `1 Gbit/s`.
pub fn si(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    scaled(value, 0, &PREFIXES, unit)
}

/// A time in picoseconds in a suitable unit, to four significant digits, e.g. `6.72 µs`, `3 s`.
pub fn time(ps: u64) -> String {
    time_f(ps as f64)
}

/// As [`time`], for a computed time such as a mean.
pub fn time_f(ps: f64) -> String {
    const PREFIXES: [&str; 5] = ["p", "n", "µ", "m", ""];
    scaled(ps, 0, &PREFIXES, "s")
}

/// A time in µs without the unit, to the four significant digits of [`time`], for a column of times, e.g. `83.8`.
pub fn micros(ps: f64) -> String {
    let us = ps / 1e6;
    let digits = match us.abs() {
        us if us > 0.0 => (us * 1.000_05).log10().floor() as i32,
        _ => 0,
    };
    let places = usize::try_from(3 - digits).unwrap_or(0).min(6);
    without_zeros(&decimal(us, places)).to_owned()
}

/// Without the zeros at the end of a fraction.
fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

fn scaled(value: f64, first: usize, prefixes: &[&str], unit: &str) -> String {
    let mut at = first;
    let mut mantissa = value;
    // 999.95 has four digits only with the next prefix.
    while mantissa.abs() >= 999.95 && at + 1 < prefixes.len() {
        mantissa /= 1000.0;
        at += 1;
    }
    let places = match mantissa.abs() {
        m if m >= 1000.0 => 0,
        m if m >= 99.995 => 1,
        m if m >= 9.999_5 => 2,
        _ => 3,
    };
    let text = decimal(mantissa, places);
    format!("{} {}{unit}", without_zeros(&text), prefixes[at])
}

/// A suitable unit for times around `ps`: its name, and the picoseconds in it.
pub fn time_unit(ps: f64) -> (&'static str, f64) {
    match ps {
        p if p < 1e3 => ("ps", 1.0),
        p if p < 1e6 => ("ns", 1e3),
        p if p < 1e9 => ("µs", 1e6),
        p if p < 1e12 => ("ms", 1e9),
        _ => ("s", 1e12),
    }
}

/// Memory in bytes, in binary units, e.g. `7.75 GiB`.
pub fn memory(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut at = 0;
    while value >= 1024.0 && at + 1 < UNITS.len() {
        value /= 1024.0;
        at += 1;
    }
    let text = decimal(value, if at == 0 { 0 } else { 2 });
    format!("{} {}", without_zeros(&text), UNITS[at])
}

/// Nanoseconds since 1970 as a date in UTC, e.g. `2026-11-21 09:40:17 UTC`.
pub fn utc(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (148_809, "148,809"),
        ] {
            assert_eq!(integer(n), text);
        }
        assert_eq!(integer(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(decimal(-1234.567, 2), "−1,234.57");
        assert_eq!(decimal(-0.001, 2), "0.00");
        assert_eq!(decimal(f64::INFINITY, 2), "inf");
        assert_eq!(signed(-1234.567, 2), "−1,234.57");
        assert_eq!(signed(1234.567, 1), "+1,234.6");
        assert_eq!(signed(-0.001, 2), "+0.00");
        assert_eq!(grouped("~81274 frames/s"), "~81,274 frames/s");
        assert_eq!(grouped("1000.12345 to 2000 ns"), "1,000.12345 to 2,000 ns");
    }

    #[test]
    fn rates() {
        assert_eq!(frame_rate(148_809.52), "148,810");
        assert_eq!(frame_rate(8_127.4), "8,127");
        assert_eq!(frame_rate(7.251), "7.25");
        assert_eq!(mbit(97_529_258.8), "97.53");
        assert_eq!(mbit(25e9), "25,000");
        assert_eq!(si(95.25e6, "bit/s"), "95.25 Mbit/s");
        assert_eq!(si(1e9, "bit/s"), "1 Gbit/s");
        assert_eq!(si(999_960.0, "bit/s"), "1 Mbit/s");
        assert_eq!(si(0.0, "bit/s"), "0 bit/s");
        assert_eq!(si(1e20, "bit/s"), "100,000 Pbit/s");
    }

    #[test]
    fn small_loss_is_not_none() {
        assert_eq!(percent(0.0), "0.00");
        assert_eq!(percent(1e-9), "<0.01");
        assert_eq!(percent(0.000_1), "0.01");
        assert_eq!(percent(0.634_615), "63.46");
        assert_eq!(percent(1.0), "100.00");
    }

    #[test]
    fn times() {
        for (ps, text) in [
            (0, "0 ps"),
            (672_000, "672 ns"),
            (6_720_000, "6.72 µs"),
            (123_040_000, "123 µs"),
            (7_100_000_000, "7.1 ms"),
            (3_000_000_000_000, "3 s"),
        ] {
            assert_eq!(time(ps), text);
        }
        assert_eq!(time(90_000_000_000_000), "90 s");
        assert_eq!(time_unit(672_000.0), ("ns", 1e3));
    }

    #[test]
    fn a_column_of_times_has_the_digits_of_each_time() {
        for (ps, text) in [
            (0.0, "0"),
            (500.0, "0.0005"),
            (90_000.0, "0.09"),
            (1_960_000.0, "1.96"),
            (123_040_000.0, "123"),
            (9_999_600.0, "10"),
            (533_412_345.0, "533.4"),
            (12_345_678_000.0, "12,346"),
            (-320_000.0, "−0.32"),
        ] {
            assert_eq!(micros(ps), text);
        }
    }

    #[test]
    fn memory_is_binary() {
        assert_eq!(memory(512), "512 B");
        assert_eq!(memory(8 << 30), "8 GiB");
        assert_eq!(memory((7 << 30) + (3 << 28)), "7.75 GiB");
    }

    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_254_017_000_000_000), "2026-11-21 09:40:17 UTC");
        assert_eq!(utc(u64::MAX), "2554-07-21 23:34:33 UTC");
    }
}
