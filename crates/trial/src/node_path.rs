//! The path of frames through the node, how its application waits for them, and background traffic.

use std::fmt;
use std::str::FromStr;

use crate::nearest::unknown;
use serde::{Deserialize, Serialize};
use wirelab_wire::{Size, SizeUnit};

use crate::load::Load;
use crate::system_error::without_fix;
use crate::words::words;

/// The path of frames through the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// The node's network stack; its driver for Ethernet trials of a node without one.
    Stack,
    /// Past the stack, in the driver: the blaster for frames sent, a reflector for echoes.
    Driver,
    /// Frames received that match a rule, from the driver to the application past the stack.
    FastTrack,
}

/// How a program waits for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// It sleeps until the kernel wakes it.
    Sleep,
    /// It polls, and has its core to itself: the time to wake up is excluded.
    Spin,
}

/// A second flow to the node for the duration of the trial, whose frames are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Its load; not [`Load::Max`].
    pub load: Load,
    /// The size of its frames.
    pub size: Size,
}

impl Background {
    /// The default size: that of the smallest frames of the Zynq document, 64 bytes of length.
    pub const SIZE: Size = Size::new(SizeUnit::Length, 64);
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Background { load, size } = self;
        write!(f, "{load},{}={}", size.unit.name(), size.bytes)
    }
}

impl FromStr for Background {
    type Err = String;

    /// `LOAD` or `LOAD,UNIT=BYTES`, e.g. `50kpps` or `100M,datagram=1470`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (load, size) = match text.split_once(',') {
            Some((load, size)) => (load, Some(size)),
            None => (text, None),
        };
        let bad = |why: &str| {
            format!("background {text}: {why}; fix: write e.g. 50kpps or 50kpps,length=64")
        };
        let load: Load = load
            .parse()
            .map_err(|e| bad(without_fix(&format!("{e}"))))?;
        if load == Load::Max {
            return Err(bad(
                "it needs a rate, or the trial's own frames find no gap",
            ));
        }
        let Some(size) = size else {
            let size = Background::SIZE;
            return Ok(Background { load, size });
        };
        let units = [
            SizeUnit::Frame,
            SizeUnit::Length,
            SizeUnit::Payload,
            SizeUnit::Datagram,
        ];
        let (name, bytes) = size.split_once('=').unwrap_or((size, ""));
        let unit = units.into_iter().find(|unit| unit.name() == name);
        let unit = unit.ok_or_else(|| {
            let known = units.map(|unit| unit.name());
            format!(
                "background {text}: {}",
                unknown("unit of a size", name, known)
            )
        })?;
        let bytes = bytes
            .parse()
            .map_err(|_| bad(&format!("invalid size '{size}'")))?;
        let size = Size::new(unit, bytes);
        Ok(Background { load, size })
    }
}

/// The programs that record times at a Linux node's capture points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Probes {
    /// The best set that the node's host allows.
    Auto,
    /// Programs at kernel functions (fentry).
    Fentry,
    /// Programs at raw tracepoints.
    Raw,
    /// None: the difference to a trial with them is the cost of measuring.
    Off,
}

words!(Probes, "set of probes",
    "auto" => Probes::Auto, "fentry" => Probes::Fentry, "raw" => Probes::Raw, "off" => Probes::Off);
words!(Path, "path through the node",
    "stack" => Path::Stack, "driver" => Path::Driver, "fast-track" => Path::FastTrack);
words!(Wait, "wait method", "sleep" => Wait::Sleep, "spin" => Wait::Spin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for word in ["stack", "driver", "fast-track"] {
            let path: Path = word.parse().unwrap();
            assert_eq!(path.to_string(), word);
            assert_eq!(serde_json::to_string(&path).unwrap(), format!("\"{word}\""));
        }
        for word in ["sleep", "spin"] {
            let wait: Wait = word.parse().unwrap();
            assert_eq!(wait.to_string(), word);
            assert_eq!(serde_json::to_string(&wait).unwrap(), format!("\"{word}\""));
        }
        let error = "shortcut".parse::<Path>().unwrap_err();
        assert!(error.contains("write one of stack, driver, fast-track"));
    }

    #[test]
    fn a_background_is_a_load_and_a_size() {
        let small: Background = "50kpps".parse().unwrap();
        assert_eq!(small.size, Background::SIZE);
        let large: Background = "100M,datagram=1470".parse().unwrap();
        assert_eq!(large.size, Size::new(SizeUnit::Datagram, 1470));
        for background in [small, large] {
            assert_eq!(background.to_string().parse(), Ok(background));
        }
        for bad in [
            "",
            "max",
            "max,length=64",
            "50kpps,64",
            "50kpps,length=x",
            "50kpps,width=3",
        ] {
            let error = bad.parse::<Background>().unwrap_err();
            assert!(
                error.contains("write e.g.") || error.contains("fix: write one of"),
                "{error}"
            );
        }
    }
}
