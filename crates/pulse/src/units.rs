//! Rates as recordings write them, e.g. `24 MHz`.

/// The period in ps of a rate such as `24 MHz` or `500000`.
pub fn period_ps(text: &str) -> Option<f64> {
    let text = text.trim();
    let bare = text.strip_suffix("Hz").unwrap_or(text).trim_end();
    let (number, factor) = match bare.char_indices().next_back()? {
        (at, 'k' | 'K') => (&bare[..at], 1e3),
        (at, 'M') => (&bare[..at], 1e6),
        (at, 'G') => (&bare[..at], 1e9),
        _ => (bare, 1.0),
    };
    let hz = number.trim().parse::<f64>().ok()? * factor;
    (hz.is_finite() && hz > 0.0 && hz <= 1e12).then(|| crate::SECOND_PS / hz)
}

/// A time in ps that fits the clock of a recording.
pub fn clock_ps(ps: f64) -> Option<i64> {
    // A clock of ps ends after 100 days.
    (ps.abs() < 9e18).then(|| ps.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_programs_write_them() {
        for (text, ps) in [
            ("24 MHz", 1e12 / 24e6),
            ("500000", 2e6),
            ("1kHz", 1e9),
            ("2.5G", 400.0),
        ] {
            assert_eq!(period_ps(text), Some(ps), "{text}");
        }
        for bad in ["", "0", "-1 MHz", "nan", "inf", "fast", "1e300"] {
            assert_eq!(period_ps(bad), None, "{bad}");
        }
    }
}
