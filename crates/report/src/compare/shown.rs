//! Figures of a comparison and their changes in words.

use wirelab_statistics::shift::Scale;

use crate::format;

/// A value in its unit, for readers.
pub fn value(unit: &str, value: f64) -> String {
    match unit {
        "frames/s" => format!("{} {unit}", format::frame_rate(value)),
        "ps" => format::time_f(value),
        "ratio" => format!("{} %", format::percent(value)),
        "instructions" => format!("{} {unit}", format::decimal(value, 0)),
        unit => format::si(value, unit),
    }
}

/// A change with its sign: in percent, or in percentage points.
pub fn change(scale: Scale, change: f64) -> String {
    let sign = match change {
        c if c > 0.0 => "+",
        c if c < 0.0 => "−",
        _ => "±",
    };
    let (places, unit) = match scale {
        Scale::Ratio => (1, "%"),
        Scale::Difference => (2, "points"),
    };
    format!(
        "{sign}{} {unit}",
        format::decimal(change.abs() * 100.0, places)
    )
}
