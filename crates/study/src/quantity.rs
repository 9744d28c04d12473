//! A figure as it was printed: its value, its unit, and how precisely it was printed.

use std::fmt;
use std::str::FromStr;

/// What a unit measures.
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
    /// A number of things.
    Count,
}

/// A unit as it was printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// E.g. `MB/s`.
    pub name: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// Its size in the base unit of the dimension.
    pub scale: f64,
}

/// Every unit that is read; `Mb/s` stands for megabits, as everywhere in this field.
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
];

const fn unit(name: &'static str, dimension: Dimension, scale: f64) -> Unit {
    Unit {
        name,
        dimension,
        scale,
    }
}

/// A figure as it was printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number in the printed unit.
    pub number: f64,
    /// Digits printed after the point.
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
        let known = || {
            let names: Vec<&str> = UNITS
                .iter()
                .map(|u| u.name)
                .filter(|n| !n.is_empty())
                .collect();
            format!(
                "'{text}' is no figure: write a number and a unit of {}",
                names.join(", ")
            )
        };
        // Both code points of the micro sign are in use.
        let name = name.replace(['µ', 'μ'], "u");
        let unit = *UNITS.iter().find(|u| u.name == name).ok_or_else(known)?;
        let plain = digits.replace('_', "");
        let number: f64 = plain.parse().map_err(|_| known())?;
        if !number.is_finite() || digits.len() > 32 {
            return Err(known());
        }
        let decimals = plain.split_once('.').map_or(0, |(_, part)| part.len());
        Ok(Quantity {
            number,
            decimals,
            unit,
        })
    }
}
