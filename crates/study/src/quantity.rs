//! A printed figure: its value, its unit, and its precision.

use std::fmt;
use std::str::FromStr;
use wirelab_trial::nearest::unknown;

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

/// The precision that a page states for a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// To half a step of its last digit, like nearly all figures.
    Digits,
    /// `~7`: to 5 %, or to a step of its last digit if that is more.
    About,
    /// `7.1 ± 0.2`: to what stands behind the sign, in the printed unit.
    PlusMinus(f64),
    /// `5 to 7`: the number is the middle.
    Between {
        /// The lower end in the printed unit.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

/// How far from the truth `~` may be, as a share of the figure.
const ABOUT: f64 = 0.05;

/// A printed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number in the printed unit.
    pub number: f64,
    /// Printed digits after the point.
    pub decimals: usize,
    /// The printed unit.
    pub unit: Unit,
    /// The precision that the page states.
    pub precision: Precision,
}

impl Quantity {
    /// The value in the base unit of its dimension.
    pub fn base(&self) -> f64 {
        self.number * self.unit.scale
    }

    /// Half the width of the figure's range, in the printed unit: half a step of its last digit, or what the page
    /// says.
    pub fn half_step(&self) -> f64 {
        let half = 0.5 * 10f64.powi(-(self.decimals as i32));
        match self.precision {
            Precision::Digits => half,
            Precision::About => (ABOUT * self.number.abs()).max(2.0 * half),
            Precision::PlusMinus(off) => off + half,
            Precision::Between { low, high } => (high - low) / 2.0 + half,
        }
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
        let digits = |n: f64| format!("{n:.*}", self.decimals);
        let number = match self.precision {
            Precision::Digits => digits(self.number),
            Precision::About => format!("~{}", digits(self.number)),
            Precision::PlusMinus(off) => format!("{} ± {off}", digits(self.number)),
            Precision::Between { low, high } => format!("{} to {}", digits(low), digits(high)),
        };
        match self.unit.name {
            "" => f.pad(&number),
            unit => f.pad(&format!("{number} {unit}")),
        }
    }
}

/// A number at the start of a text, its decimals, and the rest.
fn number_of(text: &str) -> Result<(Option<f64>, usize, &str), String> {
    let text = text.trim_start();
    let part = |c: char| c.is_ascii_digit() || c == '.' || c == '-' || c == '_';
    let split = text.find(|c| !part(c)).unwrap_or(text.len());
    // Two points stand between the ends of a range.
    let split = text.find("..").map_or(split, |at| at.min(split));
    let (digits, rest) = text.split_at(split);
    if digits.len() > MAX_DIGITS {
        return Err(format!("write at most {MAX_DIGITS} digits"));
    }
    let plain = digits.replace('_', "");
    let number = plain.parse::<f64>().ok();
    let number = number.filter(|n| n.abs() < MOST);
    let decimals = plain.split_once('.').map_or(0, |(_, part)| part.len());
    Ok((number, decimals, rest.trim()))
}

/// The signs between the ends of a range, and before a tolerance.
const TO: [&str; 3] = ["..", "to ", "–"];
const OFF: [&str; 3] = ["±", "+/-", "+-"];

fn after<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}

/// A figure before its unit is read: number, decimals, precision, and the unit's text; or the fix.
fn figure_of(text: &str) -> Result<(f64, usize, Precision, &str), String> {
    let need = |n: Option<f64>| {
        n.ok_or_else(|| "write a number as printed and its unit, e.g. 7.10 ms".to_owned())
    };
    let about = after(text, &["~", "≈"]);
    let (number, decimals, rest) = number_of(about.unwrap_or(text))?;
    let number = need(number)?;
    if about.is_some() {
        return Ok((number, decimals, Precision::About, rest));
    }
    if let Some(rest) = after(rest, &OFF) {
        let (off, _, rest) = number_of(rest)?;
        let off = need(off)?;
        if off < 0.0 {
            return Err("write how far it may be off as a positive number".to_owned());
        }
        return Ok((number, decimals, Precision::PlusMinus(off), rest));
    }
    if let Some(rest) = after(rest, &TO) {
        let (high, of_high, rest) = number_of(rest)?;
        let (low, high) = (number, need(high)?);
        if high < low {
            return Err("write the lower end of a range first".to_owned());
        }
        let between = Precision::Between { low, high };
        return Ok((
            low + (high - low) / 2.0,
            decimals.max(of_high),
            between,
            rest,
        ));
    }
    Ok((number, decimals, Precision::Digits, rest))
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Quantity, String> {
        let text = text.trim();
        let shown: String = text.chars().take(40).collect();
        let (number, decimals, precision, name) =
            figure_of(text).map_err(|fix| format!("invalid figure '{shown}'; fix: {fix}"))?;
        // The micro sign has two code points.
        let name = name.replace(['µ', 'μ'], "u");
        let found = UNITS.iter().find(|u| u.name == name);
        let unit =
            *found.ok_or_else(|| format!("invalid figure '{shown}': {}", wrong_unit(&name)))?;
        Ok(Quantity {
            number,
            decimals,
            unit,
            precision,
        })
    }
}

/// Larger numbers would print with more digits than they were read with.
const MOST: f64 = 1e24;
/// Most characters of a number.
const MAX_DIGITS: usize = 32;

/// What is wrong with a unit, and the fix.
fn wrong_unit(name: &str) -> String {
    if name.starts_with(',') {
        return "it has a comma; fix: write a point before decimals, and nothing between thousands"
            .into();
    }
    let ambiguous = ["b", "b/s", "bps"];
    let lower = name.to_ascii_lowercase();
    let stem = lower.trim_start_matches(['k', 'm', 'g']);
    if ambiguous.contains(&stem) {
        return "its unit may mean bits or bytes; fix: write bit or B, with k, M or G before it"
            .into();
    }
    let names = UNITS.iter().map(|u| u.name).filter(|n| !n.is_empty());
    let names: Vec<&str> = names.collect();
    unknown("unit", name, names)
}
