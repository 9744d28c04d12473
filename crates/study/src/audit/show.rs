//! Formats the numbers of findings.

use wirelab_trial::format;

use super::range::Range;
use crate::quantity::Unit;

/// A number to `digits` significant digits, without trailing zeros in the fraction.
pub fn number(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    let places = (digits - 1 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A value of a base unit, shown in `unit`.
pub fn value(base: f64, unit: Unit) -> String {
    with_unit(number(base / unit.scale, 5), unit)
}

/// A value implied by other rows.
pub fn about(base: f64, unit: Unit) -> String {
    format!("about {}", with_unit(number(base / unit.scale, 3), unit))
}

fn with_unit(number: String, unit: Unit) -> String {
    match unit.name {
        "" => number,
        name => format!("{number} {name}"),
    }
}

/// A range of a base unit, shown in `unit`; one value where both ends look the same.
pub fn range(range: Range, unit: Unit) -> String {
    let (low, high) = (range.low / unit.scale, range.high / unit.scale);
    let (low, high) = (number(low, 5), number(high, 5));
    let numbers = if low == high {
        low
    } else {
        format!("{low} to {high}")
    };
    with_unit(numbers, unit)
}

/// A time in seconds in a suitable unit.
pub fn time(seconds: f64) -> String {
    format::time_f(seconds * 1e12)
}

/// A clock in Hz with all of its digits, e.g. `156.25 MHz`.
pub fn clock(hz: f64) -> String {
    format!("{} MHz", number(hz / 1e6, 6))
}

/// A bit rate with a prefix, e.g. `634.6 Mbit/s`.
pub fn rate(bits_per_s: f64) -> String {
    format::si(bits_per_s, "bit/s")
}

/// Frames per second, without the unit.
pub fn per_s(frames_per_s: f64) -> String {
    format::frame_rate(frames_per_s)
}

/// A probability, e.g. `5e-7`; 1 or more means certain by chance.
pub fn chance(probability: f64) -> String {
    if probability < 0.01 {
        format!("{probability:.0e}")
    } else {
        number(probability.min(1.0), 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_counts() {
        assert_eq!(number(54.761_712, 5), "54.762");
        assert_eq!(number(148_809.5, 5), "148810");
        assert_eq!(number(0.000_809_94, 3), "0.00081");
        assert_eq!(number(83.2, 5), "83.2");
        assert_eq!(number(0.0, 5), "0");
        assert_eq!(time(9.76e-6), "9.76 µs");
        assert_eq!(clock(156.25e6), "156.25 MHz");
        assert_eq!(rate(634.615e6), "634.6 Mbit/s");
        assert_eq!(chance(4.77e-7), "5e-7");
        assert_eq!(chance(0.0714), "0.071");
    }
}
