//! A printed figure: its value, its unit, and its precision.

use std::fmt;
use std::str::FromStr;

/// The dimension of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Base unit: seconds.
    Time,
    /// Base unit: bit/s.
    Rate,
    /// Base unit: bits; see [`Dimension::Bytes`].
    Bits,
    /// Base unit: bits too, so that bits and bytes compare.
    Bytes,
    /// Base unit: a ratio of 1.
    Share,
    /// Base unit: frames/s.
    FrameRate,
    /// A number of items.
    Count,
    /// Base unit: Hz. No metric has it: it is the dimension of clocks.
    Frequency,
}

impl Dimension {
    /// Its description, with an example figure.
    pub const fn in_words(self) -> &'static str {
        match self {
            Dimension::Time => "a time, e.g. \"7.10 ms\"",
            Dimension::Rate => "a rate of data, e.g. \"95.2 Mbit/s\" or \"12.19 MB/s\"",
            Dimension::Bits | Dimension::Bytes => {
                "an amount of data, e.g. \"75 kB\" or \"672 bit\""
            }
            Dimension::Share => "a share, e.g. \"86.66 %\"",
            Dimension::FrameRate => "a rate of frames, e.g. \"8127 frames/s\"",
            Dimension::Count => "a number without a unit, e.g. \"4023\"",
            Dimension::Frequency => "a frequency, e.g. \"100 MHz\"",
        }
    }

    /// Whether figures of the two are comparable: bits and bytes count the same thing.
    pub fn compares_with(self, other: Dimension) -> bool {
        let data = |d| matches!(d, Dimension::Bits | Dimension::Bytes);
        self == other || (data(self) && data(other))
    }
}

/// A printed unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// E.g. `MB/s`.
    pub name: &'static str,
    /// Its dimension.
    pub dimension: Dimension,
    /// Its size in the base unit of the dimension.
    pub scale: f64,
}

/// Every known unit. `Mb` is not one of them: it is used for megabits and for megabytes.
pub const UNITS: &[Unit] = &[
    unit("ps", Dimension::Time, 1e-12),
    unit("ns", Dimension::Time, 1e-9),
    unit("us", Dimension::Time, 1e-6),
    unit("ms", Dimension::Time, 1e-3),
    unit("s", Dimension::Time, 1.0),
    unit("bit/s", Dimension::Rate, 1.0),
    unit("kbit/s", Dimension::Rate, 1e3),
    unit("Mbit/s", Dimension::Rate, 1e6),
    unit("Gbit/s", Dimension::Rate, 1e9),
    unit("B/s", Dimension::Rate, 8.0),
    unit("kB/s", Dimension::Rate, 8e3),
    unit("MB/s", Dimension::Rate, 8e6),
    unit("GB/s", Dimension::Rate, 8e9),
    unit("KiB/s", Dimension::Rate, 8.0 * 1024.0),
    unit("MiB/s", Dimension::Rate, 8.0 * 1_048_576.0),
    unit("bit", Dimension::Bits, 1.0),
    unit("kbit", Dimension::Bits, 1e3),
    unit("Mbit", Dimension::Bits, 1e6),
    unit("B", Dimension::Bytes, 8.0),
    unit("kB", Dimension::Bytes, 8e3),
    unit("MB", Dimension::Bytes, 8e6),
    unit("KiB", Dimension::Bytes, 8.0 * 1024.0),
    unit("MiB", Dimension::Bytes, 8.0 * 1_048_576.0),
    unit("%", Dimension::Share, 0.01),
    unit("frames/s", Dimension::FrameRate, 1.0),
    unit("kpps", Dimension::FrameRate, 1e3),
    unit("Mpps", Dimension::FrameRate, 1e6),
    unit("", Dimension::Count, 1.0),
    unit("Hz", Dimension::Frequency, 1.0),
    unit("kHz", Dimension::Frequency, 1e3),
    unit("MHz", Dimension::Frequency, 1e6),
    unit("GHz", Dimension::Frequency, 1e9),
];

const fn unit(name: &'static str, dimension: Dimension, scale: f64) -> Unit {
    Unit {
        name,
        dimension,
        scale,
    }
}

/// A printed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number in the printed unit.
    pub number: f64,
    /// Printed digits after the point.
    pub decimals: usize,
    /// The printed unit.
    pub unit: Unit,
}

impl Quantity {
    /// The value in the base unit of its dimension.
    pub fn base(&self) -> f64 {
        self.number * self.unit.scale
    }

    /// Half a step of the last printed digit, in the printed unit.
    pub fn half_step(&self) -> f64 {
        0.5 * 10f64.powi(-(self.decimals as i32))
    }

    /// The range of values, in the base unit, that print as this figure.
    pub fn range(&self) -> (f64, f64) {
        let half = self.half_step();
        (
            (self.number - half) * self.unit.scale,
            (self.number + half) * self.unit.scale,
        )
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = format!("{:.*}", self.decimals, self.number);
        match self.unit.name {
            "" => f.pad(&number),
            unit => f.pad(&format!("{number} {unit}")),
        }
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Quantity, String> {
        let text = text.trim();
        let split = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '_'))
            .unwrap_or(text.len());
        let (digits, name) = (&text[..split], text[split..].trim());
        let refuse = |way_out: String| {
            let shown: String = text.chars().take(40).collect();
            format!("invalid figure '{shown}': {way_out}")
        };
        if digits.len() > MAX_DIGITS {
            return Err(refuse(format!("a number has at most {MAX_DIGITS} digits")));
        }
        let plain = digits.replace('_', "");
        let number = plain.parse::<f64>().ok().filter(|n| n.is_finite());
        let number = number
            .ok_or_else(|| refuse("write a number as printed and its unit, e.g. 7.10 ms".into()))?;
        // The micro sign has two code points.
        let name = name.replace(['µ', 'μ'], "u");
        let found = UNITS.iter().find(|u| u.name == name);
        let unit = *found.ok_or_else(|| refuse(way_out(&name)))?;
        let decimals = plain.split_once('.').map_or(0, |(_, part)| part.len());
        Ok(Quantity {
            number,
            decimals,
            unit,
        })
    }
}

/// Most characters of a number.
const MAX_DIGITS: usize = 32;

/// The fix for an unknown unit.
fn way_out(name: &str) -> String {
    if name.starts_with(',') {
        return "write a point before decimals, and nothing between thousands".into();
    }
    let ambiguous = ["b", "b/s", "bps"];
    let lower = name.to_ascii_lowercase();
    let stem = lower.trim_start_matches(['k', 'm', 'g']);
    if ambiguous.contains(&stem) {
        return "write bit or B, with k, M or G before it, so that bits and bytes cannot be mixed up".into();
    }
    let names = UNITS.iter().map(|u| u.name).filter(|n| !n.is_empty());
    let names: Vec<&str> = names.collect();
    format!("its unit is none of {}", names.join(", "))
}
