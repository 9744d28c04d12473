//! One thing asked of a node.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelab_wire::{Framing, LineRate, Size, SizeError, Sizes};

use crate::faults::FaultRates;
use crate::load::Load;
use crate::way::{Background, Path, Probes, Wait};

/// Which way frames go, as the node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The node sends.
    Transmit,
    /// The node receives.
    Receive,
    /// Both at once.
    Both,
    /// The node sends back what it receives.
    Echo,
}

/// How frame data get into what the MAC sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffers {
    /// Frames lie ready, only the index moves.
    Prefilled,
    /// CPU copy for each frame, then wait for it to leave.
    Copied,
    /// The same with a DMA copy.
    DmaCopied,
    /// CPU copy of the next frame while one is on the wire.
    CopiedAhead,
    /// The application builds the frame in the ring's memory.
    InPlace,
}

/// When a trial ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Extent {
    /// After a number of frames on each flow.
    Frames {
        /// Frames.
        frames: u64,
    },
    /// After a time.
    Time {
        /// Picoseconds.
        time_ps: u64,
    },
}

/// One thing asked of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Layer and VLAN tags.
    pub framing: Framing,
    /// As the node sees it.
    pub direction: Direction,
    /// The size that was asked, in the unit it was asked in.
    pub size: Size,
    /// How much to offer on each flow.
    pub load: Load,
    /// When to end.
    pub extent: Extent,
    /// Number of the node's ports in use at once.
    pub ports: u32,
    /// Link rate in bit/s given by the user, where the carrier has none or another is wanted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link_bits_per_s: Option<u64>,
    /// How frame data reach the MAC; `None` leaves it to the node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub buffers: Option<Buffers>,
    /// The way through the node; `None` leaves it to the node, which takes its stack where it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<Path>,
    /// How the node's application waits for frames; `None` leaves it to the node, which sleeps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait: Option<Wait>,
    /// The frames that take the fast track, as a rule of the packet identifier, e.g. `port=1026`; `None` for those of
    /// the trial. On other paths it chooses the trial's UDP port alone, so that two ways differ in nothing else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule: Option<String>,
    /// What else is sent to the node meanwhile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub background: Option<Background>,
    /// What takes the times at the node's capture points; `None` leaves it to the node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probes: Option<Probes>,
    /// Whether a late frame keeps its distance to the next: nothing is made up for after a hold. Otherwise a sender
    /// that was held up catches up, in bursts of a stated limit.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub strict_gaps: bool,
    /// Faults made by the sender.
    #[serde(skip_serializing_if = "FaultRates::is_clean", default)]
    pub faults: FaultRates,
}

impl Trial {
    /// One port, and all else left to the node.
    pub fn new(
        framing: Framing,
        direction: Direction,
        size: Size,
        load: Load,
        extent: Extent,
    ) -> Trial {
        Trial {
            framing,
            direction,
            size,
            load,
            extent,
            ports: 1,
            link_bits_per_s: None,
            buffers: None,
            path: None,
            wait: None,
            rule: None,
            background: None,
            probes: None,
            strict_gaps: false,
            faults: FaultRates::default(),
        }
    }

    /// All four sizes of the trial's frames, checked.
    ///
    /// # Errors
    /// [`SizeError`] names the limit.
    pub fn sizes(&self) -> Result<Sizes, SizeError> {
        self.size.resolve_test(self.framing)
    }

    /// The link as the user gave it, with the standard's overhead.
    pub fn link(&self) -> Option<LineRate> {
        self.link_bits_per_s.and_then(LineRate::new)
    }
}

macro_rules! words {
    ($type:ty, $what:literal, $($text:literal $(| $alias:literal)* => $value:path),+ $(,)?) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($value => $text),+ })
            }
        }
        impl FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text $(| $alias)* => Ok($value),)+
                    _ => Err(format!(
                        "unknown {} '{text}': choose one of {}", $what, [$($text),+].join(", "))),
                }
            }
        }
    };
}

pub(crate) use words;

words!(Direction, "direction",
    "transmit" | "tx" => Direction::Transmit, "receive" | "rx" => Direction::Receive,
    "both" => Direction::Both, "echo" => Direction::Echo);
words!(Buffers, "kind of buffers",
    "prefilled" => Buffers::Prefilled, "copied" => Buffers::Copied, "dma-copied" => Buffers::DmaCopied,
    "copied-ahead" => Buffers::CopiedAhead, "in-place" => Buffers::InPlace);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for word in [
            "prefilled",
            "copied",
            "dma-copied",
            "copied-ahead",
            "in-place",
        ] {
            let buffers: Buffers = word.parse().unwrap();
            assert_eq!(buffers.to_string(), word);
            assert_eq!(
                serde_json::to_string(&buffers).unwrap(),
                format!("\"{word}\"")
            );
        }
        assert_eq!("tx".parse::<Direction>().unwrap(), Direction::Transmit);
        let error = "sideways".parse::<Direction>().unwrap_err();
        assert_eq!(
            error,
            "unknown direction 'sideways': choose one of transmit, receive, both, echo"
        );
    }
}
