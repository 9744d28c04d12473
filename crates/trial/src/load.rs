//! The load of a trial: `max`, a share of the link, frames/s, bit/s, or the gap between frames.

use std::fmt;
use std::str::FromStr;

use crate::nearest::{did_you_mean, head};
use serde::{Deserialize, Serialize};
use wirelab_wire::{Layer, LineRate, Sizes};

/// The load of a trial. On Ethernet, bit/s are link bits (with preamble, FCS and gap); on UDP and TCP they are
/// application bits, as iperf counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// As fast as the sender can.
    Max,
    /// Share of the link rate in percent.
    LinkShare {
        /// Percent, above 0 to 100.
        percent: f64,
    },
    /// Frames per second.
    FrameRate {
        /// Frames/s.
        frames_per_s: f64,
    },
    /// Bits per second.
    BitRate {
        /// Bit/s.
        bits_per_s: f64,
    },
    /// Inter-packet gap in bytes of the link rate.
    Gap {
        /// Bytes between the end of one frame and the preamble of the next.
        gap_bytes: u32,
    },
}

/// Why a load is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The text is not a load.
    #[error("{}", invalid(.0))]
    Syntax(String),
    /// More than all of the link.
    #[error(
        "invalid load '{0}': a link carries at most 100%; fix: give 100% or less, or a rate as 50kpps or 800M"
    )]
    AboveShare(String),
    /// Nothing would be sent.
    #[error("invalid load '{0}': it sends no frame; fix: give more than 0")]
    Zero(String),
    /// A number alone, which may mean many things.
    #[error("invalid load '{0}': the number has no unit; fix: write {0}M, {0}k or {0}bit/s for bit/s, {0}pps for frames/s{share}", share = of_link(.0))]
    NoUnit(String),
    /// A share or gap of a link whose rate is unknown.
    #[error(
        "a load of {0} needs the link's rate, and this port has none; fix: give it with --rate, e.g. --rate 1G, or with the key rate in a plan"
    )]
    NoLinkRate(Load),
    /// More than the link carries.
    #[error(
        "a load of {load} is {requested:.0} frames/s, but a link of {link_bits_per_s} bit/s carries {limit:.0} frames/s of this size; fix: lower it"
    )]
    AboveLink {
        /// The requested load.
        load: Load,
        /// In frames/s.
        requested: f64,
        /// What the link carries in frames/s.
        limit: f64,
        /// The link's rate.
        link_bits_per_s: u64,
    },
}

impl Load {
    /// Frames per second of this load, or `None` for [`Load::Max`].
    ///
    /// # Errors
    /// [`LoadError::NoLinkRate`] where a share or a gap meets a port without a link rate,
    /// [`LoadError::AboveLink`] where the link cannot carry it.
    pub fn frames_per_s(
        &self,
        sizes: &Sizes,
        layer: Layer,
        link: Option<LineRate>,
    ) -> Result<Option<f64>, LoadError> {
        let needs_link = || link.ok_or(LoadError::NoLinkRate(*self));
        let rate = match *self {
            Load::Max => return Ok(None),
            Load::LinkShare { percent } => needs_link()?.frames_per_s(sizes) * percent / 100.0,
            Load::FrameRate { frames_per_s } => frames_per_s,
            Load::BitRate { bits_per_s } => bits_per_s / self.bits_per_frame(sizes, layer, link),
            Load::Gap { gap_bytes } => {
                let link = needs_link()?;
                let overhead = wirelab_wire::Overhead {
                    gap: gap_bytes,
                    ..link.overhead
                };
                link.with_overhead(overhead).frames_per_s(sizes)
            }
        };
        match link {
            // With a tolerance of a millionth: the same load written as a share and as a rate must both pass.
            Some(link) if rate > link.frames_per_s(sizes) * 1.000_001 => {
                Err(LoadError::AboveLink {
                    load: *self,
                    requested: rate,
                    // Whole frames, as `limits` prints them.
                    limit: link.frames_per_s(sizes).floor(),
                    link_bits_per_s: link.bits_per_s(),
                })
            }
            _ => Ok(Some(rate)),
        }
    }

    /// The load as a word in other formats, whose names must not change: bit/s as a bare number.
    pub fn key(&self) -> String {
        match self {
            Load::BitRate { bits_per_s } => bits_per_s.to_string(),
            other => other.to_string(),
        }
    }

    fn bits_per_frame(&self, sizes: &Sizes, layer: Layer, link: Option<LineRate>) -> f64 {
        let bytes = match (layer, sizes.datagram) {
            (Layer::Ethernet, _) | (_, None) => link
                .map(|l| l.overhead)
                .unwrap_or_default()
                .link_bytes(sizes),
            (_, Some(datagram)) => u64::from(datagram),
        };
        8.0 * bytes as f64
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Max => f.write_str("max"),
            Load::LinkShare { percent } => write!(f, "{percent}%"),
            Load::FrameRate { frames_per_s } => write!(f, "{frames_per_s}pps"),
            Load::BitRate { bits_per_s } => f.write_str(&bit_rate(*bits_per_s)),
            Load::Gap { gap_bytes } => write!(f, "gap={gap_bytes}B"),
        }
    }
}

fn invalid(text: &str) -> String {
    let word = text.split('=').next().unwrap_or_default();
    let meant = match word.starts_with(|c: char| c.is_ascii_alphabetic()) && word != "gap" {
        true => did_you_mean(word, ["max", "gap"].into_iter()),
        false => String::new(),
    };
    let shown = head(text).escape_debug();
    format!("invalid load '{shown}'; {meant}fix: write max, 95%, 50kpps, 800M (bit/s) or gap=96B")
}

impl FromStr for Load {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Load, LoadError> {
        let syntax = || LoadError::Syntax(text.to_owned());
        let positive = |n: f64| match n {
            n if n.is_finite() && n > 0.0 => Ok(n),
            0.0 => Err(LoadError::Zero(head(text).to_owned())),
            _ => Err(syntax()),
        };
        if text == "max" {
            return Ok(Load::Max);
        }
        if let Some(gap) = text.strip_prefix("gap=") {
            let bytes = gap.strip_suffix('B').unwrap_or(gap);
            return Ok(Load::Gap {
                gap_bytes: bytes.parse().map_err(|_| syntax())?,
            });
        }
        if let Some(share) = text.strip_suffix('%') {
            let percent = positive(share.parse().map_err(|_| syntax())?)?;
            return if percent <= 100.0 {
                Ok(Load::LinkShare { percent })
            } else {
                Err(LoadError::AboveShare(head(text).to_owned()))
            };
        }
        if let Some(rate) = text
            .strip_suffix("pps")
            .or_else(|| text.strip_suffix("fps"))
        {
            return Ok(Load::FrameRate {
                frames_per_s: positive(parse_si(rate).ok_or_else(syntax)?)?,
            });
        }
        let bits = text.strip_suffix("bit/s");
        let bits_per_s = positive(parse_si(bits.unwrap_or(text)).ok_or_else(syntax)?)?;
        match bits {
            None if text.ends_with(|c: char| !c.is_ascii_alphabetic()) => {
                Err(LoadError::NoUnit(text.to_owned()))
            }
            _ => Ok(Load::BitRate { bits_per_s }),
        }
    }
}

/// The share of a link that a number without a unit may mean.
fn of_link(number: &str) -> String {
    let share = number.trim().parse::<f64>().ok();
    let share = share.filter(|percent| *percent <= 100.0);
    share.map_or(String::new(), |_| {
        format!(", {number}% for a share of the link")
    })
}

/// A bit rate as it can be parsed: with the largest prefix that leaves a whole number.
fn bit_rate(bits_per_s: f64) -> String {
    let prefixes = [("G", 1e9), ("M", 1e6), ("k", 1e3)];
    let whole = prefixes
        .iter()
        .find(|(_, factor)| bits_per_s % factor == 0.0);
    match whole {
        Some((prefix, factor)) => format!("{}{prefix}", bits_per_s / factor),
        None => format!("{bits_per_s}bit/s"),
    }
}

/// A number with an SI prefix (k, M, G, T: powers of ten), e.g. `100M`; `None` if it is not one.
pub fn parse_si(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'M') => (&text[..at], 1e6),
        (at, 'G') => (&text[..at], 1e9),
        (at, 'T') => (&text[..at], 1e12),
        _ => (text, 1.0),
    };
    let plain = digits.trim_end();
    // The standard parser also accepts "inf" and "nan".
    if !plain.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    plain
        .parse::<f64>()
        .ok()
        .map(|n| n * factor)
        .filter(|n| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_wire::{Framing, Size, SizeUnit};

    fn frame(bytes: u32) -> Sizes {
        Size::new(SizeUnit::Frame, bytes)
            .resolve(Framing::default())
            .unwrap()
    }

    #[test]
    fn every_way_to_write_a_load() {
        let cases = [
            ("max", Load::Max),
            ("95%", Load::LinkShare { percent: 95.0 }),
            (
                "50kpps",
                Load::FrameRate {
                    frames_per_s: 50_000.0,
                },
            ),
            ("1.5G", Load::BitRate { bits_per_s: 1.5e9 }),
            ("100bit/s", Load::BitRate { bits_per_s: 100.0 }),
            ("2.5 kbit/s", Load::BitRate { bits_per_s: 2500.0 }),
            ("0.5bit/s", Load::BitRate { bits_per_s: 0.5 }),
            ("gap=96B", Load::Gap { gap_bytes: 96 }),
        ];
        for (text, load) in cases {
            assert_eq!(text.parse::<Load>().unwrap(), load);
            assert_eq!(load.to_string().parse::<Load>().unwrap(), load, "{load}");
        }
        for bad in [
            "", "0", "-5M", "101%", "0%", "inf", "nan", "fast", "gap=-1", "5 Mbit", "%", "µ",
        ] {
            assert!(bad.parse::<Load>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_units() {
        let refused = |text: &str| text.parse::<Load>().unwrap_err().to_string();
        let hundred = refused("100");
        for unit in ["100M", "100bit/s", "100pps", "100%"] {
            assert!(hundred.contains(unit), "{hundred}");
        }
        let million = refused("1000000");
        assert!(
            million.contains("1000000pps") && !million.contains('%'),
            "{million}"
        );
        assert!(refused("1e6").contains("no unit") && refused("5.").contains("no unit"));
    }

    #[test]
    fn loads_become_frames_per_second() {
        let link = LineRate::new(100_000_000);
        let fps = |load: &str| {
            load.parse::<Load>()
                .unwrap()
                .frames_per_s(&frame(64), Layer::Ethernet, link)
                .unwrap()
                .unwrap()
        };
        assert!((fps("100%") - 148_809.523_8).abs() < 0.001);
        assert!((fps("100M") - 148_809.523_8).abs() < 0.001);
        assert!((fps("50%") - 74_404.761_9).abs() < 0.001);
        assert!((fps("gap=96B") - 100e6 / (8.0 * 168.0)).abs() < 0.001);
    }

    #[test]
    fn no_rate_and_too_much() {
        let share = Load::LinkShare { percent: 50.0 };
        assert_eq!(
            share.frames_per_s(&frame(64), Layer::Ethernet, None),
            Err(LoadError::NoLinkRate(share))
        );
        let load: Load = "200kpps".parse().unwrap();
        let error = load
            .frames_per_s(&frame(64), Layer::Ethernet, LineRate::new(100_000_000))
            .unwrap_err();
        assert!(
            error.to_string().contains("carries 148809 frames/s"),
            "{error}"
        );
    }

    #[test]
    fn udp_bits_are_application_bits() {
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let sizes = Size::new(SizeUnit::Datagram, 1000)
            .resolve(framing)
            .unwrap();
        let load = Load::BitRate { bits_per_s: 8e6 };
        assert_eq!(
            load.frames_per_s(&sizes, Layer::UdpIpv4, None).unwrap(),
            Some(1000.0)
        );
    }
}
