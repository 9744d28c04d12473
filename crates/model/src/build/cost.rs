//! What a stage costs for one frame: each term in words and in picoseconds.

use wirelab_trial::{Framing, Layer, Size, SizeUnit};
use wirelab_wire::{LineRate, Sizes};

use super::{BuildError, Setting, unsupported};
use crate::file::{Cost, Kind, NodeFile, Parameter, SizeExpr, SpreadDecl, StageDecl, wrong_unit};
use wirelab_sim::net::Spread;

/// Longest cost of a stage for one frame in ps: 1000 s. Sums of it fit 64 bits.
pub const MAX_COST_PS: u64 = 1_000_000_000_000_000;

/// Most tokens of a place at the start.
const MAX_TOKENS: u32 = 100_000;

/// The laws of cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// A constant.
    Constant,
    /// Bytes at the rate of a copy kind.
    Bytes,
    /// Accesses to a kind of memory.
    Accesses,
    /// Bytes at the link's rate.
    Link,
}

/// A term of a stage's cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostLine {
    /// Its law.
    pub law: Law,
    /// In words, e.g. `379 words x 4.5 clk at 100 MHz`.
    pub words: String,
    /// Its cost in ps, with the stage's factor applied.
    pub ps: u64,
    /// The parameters that it uses.
    pub parameters: Vec<String>,
}

/// One term of a cost.
struct Term {
    law: Law,
    words: String,
    ps: f64,
    parameters: Vec<String>,
}

/// The lines of a stage's cost, each multiplied by `scale`.
pub(super) fn lines(
    file: &NodeFile,
    setting: &Setting,
    costs: &[Cost],
    scale: f64,
) -> Result<Vec<CostLine>, BuildError> {
    costs
        .iter()
        .map(|cost| {
            let term = term(file, setting, cost)?;
            let scaled = term.ps * scale;
            let ps = whole_ps(scaled).ok_or_else(|| {
                BuildError::Model(format!(
                    "a cost of {} is beyond 1000 s for one frame; fix: lower it",
                    term.words
                ))
            })?;
            let words = if scale == 1.0 {
                term.words
            } else {
                format!("{} x ({})", scale, term.words)
            };
            Ok(CostLine {
                law: term.law,
                words,
                ps,
                parameters: term.parameters,
            })
        })
        .collect()
}

/// The spread of a stage.
pub(super) fn spread(file: &NodeFile, spread: Option<&SpreadDecl>) -> Result<Spread, String> {
    let time = |name: &String| {
        let ps = file.time_ps(name)?;
        whole_ps(ps).ok_or_else(|| format!("'{name}' is beyond 1000 s; fix: lower it"))
    };
    Ok(match spread {
        None => Spread::None,
        Some(SpreadDecl::Normal(name)) => Spread::Normal {
            sigma_ps: time(name)?,
        },
        Some(SpreadDecl::Uniform(name)) => Spread::Uniform {
            width_ps: time(name)?,
        },
    })
}

/// Sizes for a trial of a single cost: a layer that has every kind of size.
fn typical_sizes() -> Sizes {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    Size::new(SizeUnit::Frame, 1518)
        .resolve(framing)
        .expect("a UDP frame has all four sizes")
}

/// Whether the parameters of a cost exist and have units that fit.
pub(crate) fn check_cost(file: &NodeFile, cost: &Cost) -> Result<(), String> {
    let sizes = typical_sizes();
    match cost {
        // The link's rate is checked at its own parameter, or comes with the trial.
        Cost::Link { .. } => Ok(()),
        Cost::Constant { parameter } => constant(file, parameter).map(drop),
        Cost::Accesses { accesses, latency } => {
            self::accesses(file, &sizes, accesses, latency).map(drop)
        }
        Cost::Bytes { bytes, rate } => self::bytes(file, &sizes, bytes, rate).map(drop),
    }
}

/// Whether the spread of a stage exists and has a unit that fits.
pub(crate) fn check_spread(file: &NodeFile, stage: &StageDecl) -> Result<(), String> {
    spread(file, stage.spread.as_ref()).map(drop)
}

/// The nearest whole picosecond; `None` beyond [`MAX_COST_PS`].
pub(super) fn whole_ps(ps: f64) -> Option<u64> {
    (ps.is_finite() && (0.0..=MAX_COST_PS as f64).contains(&ps)).then(|| ps.round() as u64)
}

fn term(file: &NodeFile, setting: &Setting, cost: &Cost) -> Result<Term, BuildError> {
    match cost {
        Cost::Link { bytes } => link(setting, bytes),
        Cost::Constant { parameter } => constant(file, parameter).map_err(BuildError::Model),
        Cost::Accesses { accesses, latency } => {
            self::accesses(file, &setting.resolved.sizes, accesses, latency)
                .map_err(BuildError::Model)
        }
        Cost::Bytes { bytes, rate } => {
            self::bytes(file, &setting.resolved.sizes, bytes, rate).map_err(BuildError::Model)
        }
    }
}

fn constant(file: &NodeFile, name: &str) -> Result<Term, String> {
    let parameter = file.parameter(name)?;
    let ps = file.time_ps(name)?;
    let words = format!(
        "{} {}{}",
        parameter.value,
        parameter.unit,
        clock_words(file, parameter)
    );
    Ok(Term {
        law: Law::Constant,
        words,
        ps,
        parameters: used(name, parameter),
    })
}

fn accesses(
    file: &NodeFile,
    sizes: &Sizes,
    accesses: &SizeExpr,
    name: &str,
) -> Result<Term, String> {
    let parameter = file.parameter(name)?;
    let count = accesses.value(sizes)?;
    let ps = count * file.time_ps(name)?;
    let words = format!(
        "{count} accesses x {} {}{}",
        parameter.value,
        parameter.unit,
        clock_words(file, parameter)
    );
    Ok(Term {
        law: Law::Accesses,
        words,
        ps,
        parameters: used(name, parameter),
    })
}

fn bytes(file: &NodeFile, sizes: &Sizes, bytes: &SizeExpr, name: &str) -> Result<Term, String> {
    let parameter = file.parameter(name)?;
    let bytes = bytes.value(sizes)?;
    let (value, clock) = (parameter.value, clock_words(file, parameter));
    let (words, ps) = match parameter.unit.kind {
        Kind::ClocksPer { bytes: wide } => {
            let (count, what) = units(bytes, wide);
            // The product before the period: whole clocks stay whole.
            (
                format!("{count} {what} x {value} clk{clock}"),
                count * value * file.clock_of(name, parameter)?,
            )
        }
        Kind::TimePer { bytes: wide } => {
            let (count, what) = units(bytes, wide);
            let unit = parameter.unit.name.split('/').next().unwrap_or_default();
            (
                format!("{count} {what} x {value} {unit}"),
                count * value * parameter.unit.factor,
            )
        }
        Kind::BitRate => {
            let rate = bit_rate(name, parameter)?;
            (
                format!("{bytes} bytes at {value} {}", parameter.unit),
                bytes * 8.0 * 1e12 / rate,
            )
        }
        _ => {
            return Err(wrong_unit(
                name,
                parameter.unit,
                "the rate of a copy: clk/word, clk/byte, ns/byte or Mbit/s",
            ));
        }
    };
    Ok(Term {
        law: Law::Bytes,
        words,
        ps,
        parameters: used(name, parameter),
    })
}

fn link(setting: &Setting, bytes: &SizeExpr) -> Result<Term, BuildError> {
    let link = setting.resolved.link.ok_or_else(no_link)?;
    let count = bytes
        .value(&setting.resolved.sizes)
        .map_err(BuildError::Model)?;
    // Byte counts are nearly always whole; those use the exact arithmetic of the link.
    let ps = if count.fract() == 0.0 && count < MAX_COST_PS as f64 {
        link.bytes_time_ps(count as u64) as f64
    } else {
        count * 8.0 * 1e12 / link.bits_per_s() as f64
    };
    let words = format!("{count} bytes at {}", rate_words(link));
    Ok(Term {
        law: Law::Link,
        words,
        ps,
        parameters: setting.link_parameter.iter().cloned().collect(),
    })
}

pub(super) fn no_link() -> BuildError {
    unsupported(
        None,
        "it has no link rate of its own; fix: give it with --rate, e.g. --rate 100M, or with the key rate in a plan or study",
    )
}

fn rate_words(link: LineRate) -> String {
    let rate = link.bits_per_s();
    match rate {
        1_000_000_000.. if rate % 100_000_000 == 0 => format!("{} Gbit/s", rate as f64 / 1e9),
        100_000.. => format!("{} Mbit/s", rate as f64 / 1e6),
        _ => format!("{rate} bit/s"),
    }
}

/// How many units of `wide` bytes it takes to move `bytes`; bytes are not rounded, larger units are whole.
fn units(bytes: f64, wide: u32) -> (f64, &'static str) {
    match wide {
        1 => (bytes, "bytes"),
        2 => ((bytes / 2.0).ceil(), "halfwords"),
        _ => ((bytes / f64::from(wide)).ceil(), "words"),
    }
}

fn clock_words(file: &NodeFile, parameter: &Parameter) -> String {
    if !parameter.unit.counts_clocks() {
        return String::new();
    }
    let clock = parameter
        .clock
        .as_ref()
        .and_then(|name| file.parameters.get(name));
    clock.map_or(String::new(), |clock| match clock.unit.kind {
        Kind::Time => format!(" of {} {}", clock.value, clock.unit),
        _ => format!(" at {} {}", clock.value, clock.unit),
    })
}

fn used(name: &str, parameter: &Parameter) -> Vec<String> {
    let clock = parameter
        .clock
        .iter()
        .filter(|_| parameter.unit.counts_clocks());
    std::iter::once(name.to_owned())
        .chain(clock.cloned())
        .collect()
}

/// The bit/s of a parameter.
fn bit_rate(name: &str, parameter: &Parameter) -> Result<f64, String> {
    let rate = parameter.value * parameter.unit.factor;
    match parameter.unit.kind {
        Kind::BitRate if (1.0..=1e15).contains(&rate) => Ok(rate),
        Kind::BitRate => Err(format!(
            "'{name}' is {} {}; fix: write a rate from 1 bit/s",
            parameter.value, parameter.unit
        )),
        _ => Err(wrong_unit(
            name,
            parameter.unit,
            "a rate: bit/s, kbit/s, Mbit/s or Gbit/s",
        )),
    }
}

impl NodeFile {
    /// The link of the parameter `name`.
    pub(crate) fn link_rate(&self, name: &str) -> Result<LineRate, String> {
        let rate = bit_rate(name, self.parameter(name)?)?;
        LineRate::new(rate.round() as u64)
            .ok_or_else(|| format!("'{name}' is 0; fix: write a rate from 1 bit/s"))
    }

    /// The bytes of the parameter `name`.
    pub(crate) fn bytes(&self, name: &str) -> Result<u32, String> {
        let parameter = self.parameter(name)?;
        if parameter.unit.kind != Kind::Bytes {
            return Err(wrong_unit(name, parameter.unit, "a number of bytes: B"));
        }
        whole(name, parameter.value, 65_535)
    }

    /// The whole number of the parameter `name`.
    pub(crate) fn count(&self, name: &str) -> Result<u32, String> {
        let parameter = self.parameter(name)?;
        if !matches!(parameter.unit.kind, Kind::Count(_)) {
            return Err(wrong_unit(
                name,
                parameter.unit,
                "a count: frames, descriptors, buffers, clients or 1",
            ));
        }
        whole(name, parameter.value, MAX_TOKENS)
    }

    /// The ratio, 0 to 1, of the parameter `name`.
    pub(crate) fn ratio(&self, name: &str) -> Result<f64, String> {
        let parameter = self.parameter(name)?;
        let ratio = parameter.value * parameter.unit.factor;
        match parameter.unit.kind {
            Kind::Ratio | Kind::Count(_) if !(0.0..=1.0).contains(&ratio) => Err(format!(
                "'{name}' is {} {}; fix: write a share from 0 to 100 %",
                parameter.value, parameter.unit
            )),
            Kind::Ratio | Kind::Count(_) => Ok(ratio),
            _ => Err(wrong_unit(
                name,
                parameter.unit,
                "a share: %, or 1 for a plain ratio",
            )),
        }
    }
}

fn whole(name: &str, value: f64, most: u32) -> Result<u32, String> {
    if value.fract() == 0.0 && (0.0..=f64::from(most)).contains(&value) {
        Ok(value as u32)
    } else {
        Err(format!(
            "'{name}' is {value}; fix: write a whole number from 0 to {most}"
        ))
    }
}
