//! A trial: one measurement by a node.

use serde::{Deserialize, Serialize};
use wirelab_wire::{Framing, LineRate, Size, SizeError, Sizes};

use crate::dscp::Dscp;
use crate::faults::FaultRates;
use crate::load::Load;
use crate::node_path::{Background, Path, Probes, Wait};
use crate::words::{options, words};

/// The direction of frames, as the node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The node sends.
    Transmit,
    /// The node receives.
    Receive,
    /// Both at once.
    Both,
    /// The node returns what it receives.
    Echo,
}

/// How frame data reach the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Buffers {
    /// Frames are ready in memory, only the index moves.
    Prefilled,
    /// CPU copy for each frame, then a wait until it is sent.
    Copied,
    /// DMA copy for each frame, then a wait until it is sent.
    DmaCopied,
    /// CPU copy of the next frame while one is on the wire.
    CopiedAhead,
    /// The application builds the frame in the ring's memory.
    InPlace,
}

/// When a trial ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

/// One measurement by a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Layer and VLAN tags.
    pub framing: Framing,
    /// As the node sees it.
    pub direction: Direction,
    /// The requested size, in its unit.
    pub size: Size,
    /// The load on each flow.
    pub load: Load,
    /// When to end.
    pub extent: Extent,
    /// Number of the node's ports in use at once.
    pub ports: u32,
    /// Link rate in bit/s from the user, where the carrier has none or another is wanted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link_bits_per_s: Option<u64>,
    /// How frame data reach the MAC; `None` leaves it to the node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub buffers: Option<Buffers>,
    /// The path through the node; `None` leaves it to the node, which uses its stack where it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<Path>,
    /// How the node's application waits for frames; `None` leaves it to the node, which sleeps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait: Option<Wait>,
    /// The frames for the fast track, as a rule of the packet identifier, e.g. `port=1026`; `None` for those of the
    /// trial. On other paths it only chooses the trial's UDP port, so that two paths differ in nothing else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule: Option<String>,
    /// Background traffic to the node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub background: Option<Background>,
    /// The probes at the node's capture points; `None` leaves it to the node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probes: Option<Probes>,
    /// Whether a late frame keeps its distance to the next: nothing is caught up after a pause. Otherwise a sender
    /// catches up after a pause, in bursts of a stated limit.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub strict_gaps: bool,
    /// Faults made by the sender.
    #[serde(skip_serializing_if = "FaultRates::is_clean", default)]
    pub faults: FaultRates,
    /// Code point of the IPv4 headers of the trial's frames (RFC 2474), 0 to 63; `None` leaves it to the sender, which
    /// marks nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dscp: Option<Dscp>,
}

impl Trial {
    /// One port, and everything else left to the node.
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
            dscp: None,
        }
    }

    /// The same trial for `time_ps`, without anything that limits the tester or concerns the inside of a node: load, link
    /// rate, buffers, faults, background.
    pub fn unbounded(&self, time_ps: u64) -> Trial {
        Trial {
            load: Load::Max,
            extent: Extent::Time { time_ps },
            // With a link rate the sender would limit itself to it.
            link_bits_per_s: None,
            buffers: None,
            faults: FaultRates::default(),
            path: None,
            wait: None,
            rule: None,
            background: None,
            probes: None,
            ..self.clone()
        }
    }

    /// All four sizes of the trial's frames, checked.
    ///
    /// # Errors
    /// [`SizeError`] names the limit.
    pub fn sizes(&self) -> Result<Sizes, SizeError> {
        self.size.resolve_test(self.framing)
    }

    /// The link of the user, with the standard's overhead.
    pub fn link(&self) -> Option<LineRate> {
        self.link_bits_per_s.and_then(LineRate::new)
    }
}

options! {
    /// A field of [`Trial`] beyond frames, direction, number and rate.
    enum TrialOption {
        /// The link's rate.
        Link "link_bits_per_s",
        /// How frame data reach the MAC.
        Buffers "buffers",
        /// The path through the node.
        Path "path",
        /// How its application waits.
        Wait "wait",
        /// The frames for the fast track.
        Rule "rule",
        /// Background traffic.
        Background "background",
        /// The probes at its capture points.
        Probes "probes",
        /// Whether a late frame keeps its distance to the next.
        StrictGaps "strict_gaps",
        /// Faults made by the sender.
        Faults "faults",
        /// The code point of IPv4 headers.
        Dscp "dscp",
    }
}

/// A field of [`Trial`] that a node type may refuse with a reason of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialField {
    /// The layer.
    Layer,
    /// VLAN tags.
    VlanTags,
    /// The direction.
    Direction,
    /// The size.
    Size,
    /// The load.
    Load,
    /// When to end.
    Extent,
    /// Ports in use at once.
    Ports,
    /// An optional field.
    Option(TrialOption),
}

impl TrialField {
    /// The field with this name.
    pub fn named(name: &str) -> Option<TrialField> {
        let required = [
            TrialField::Layer,
            TrialField::VlanTags,
            TrialField::Direction,
            TrialField::Size,
            TrialField::Load,
            TrialField::Extent,
            TrialField::Ports,
        ];
        let optional = TrialOption::ALL.iter().map(|option| (*option).into());
        let mut all = required.into_iter().chain(optional);
        all.find(|field| field.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            TrialField::Layer => "layer",
            TrialField::VlanTags => "vlan_tags",
            TrialField::Direction => "direction",
            TrialField::Size => "size",
            TrialField::Load => "load",
            TrialField::Extent => "extent",
            TrialField::Ports => "ports",
            TrialField::Option(option) => option.name(),
        }
    }
}

impl TrialOption {
    /// Its option on the command line, without the dashes.
    pub const fn flag(self) -> &'static str {
        match self {
            TrialOption::Link => "rate",
            TrialOption::StrictGaps => "strict-gaps",
            TrialOption::Faults => "inject",
            _ => self.name(),
        }
    }
}

impl From<TrialOption> for TrialField {
    fn from(option: TrialOption) -> TrialField {
        TrialField::Option(option)
    }
}

impl From<TrialOption> for Option<TrialField> {
    fn from(option: TrialOption) -> Option<TrialField> {
        Some(option.into())
    }
}

impl Trial {
    /// The optional fields that this trial sets, each with its value as the command line takes it. Flags and faults have an
    /// empty one.
    pub fn options(&self) -> impl Iterator<Item = (TrialOption, String)> + use<> {
        // Without `..`, so that the compiler requires a new field here; then each node type refuses it or declares it.
        let Trial {
            framing: _,
            direction: _,
            size: _,
            load: _,
            extent: _,
            ports: _,
            link_bits_per_s,
            buffers,
            path,
            wait,
            rule,
            background,
            probes,
            strict_gaps,
            faults,
            dscp,
        } = self;
        let flag = |is_set: bool| is_set.then(String::new);
        [
            (TrialOption::Link, link_bits_per_s.map(|r| r.to_string())),
            (TrialOption::Buffers, buffers.map(|b| b.to_string())),
            (TrialOption::Path, path.map(|p| p.to_string())),
            (TrialOption::Wait, wait.map(|w| w.to_string())),
            (TrialOption::Rule, rule.clone()),
            (TrialOption::Background, background.map(|b| b.to_string())),
            (TrialOption::Probes, probes.map(|p| p.to_string())),
            (TrialOption::StrictGaps, flag(*strict_gaps)),
            (TrialOption::Faults, flag(!faults.is_clean())),
            (TrialOption::Dscp, dscp.map(|d| d.to_string())),
        ]
        .into_iter()
        .filter_map(|(option, value)| Some((option, value?)))
    }

    /// This trial with one optional field set, to test a node type that refuses the field.
    #[must_use]
    pub fn with_option(&self, option: TrialOption) -> Trial {
        let mut trial = self.clone();
        match option {
            TrialOption::Link => trial.link_bits_per_s = Some(1_000_000_000),
            TrialOption::Buffers => trial.buffers = Some(Buffers::Copied),
            TrialOption::Path => trial.path = Some(Path::Stack),
            TrialOption::Wait => trial.wait = Some(Wait::Sleep),
            TrialOption::Rule => trial.rule = Some("port=1026".to_owned()),
            TrialOption::Background => {
                trial.background = Some(Background {
                    load: Load::FrameRate {
                        frames_per_s: 1000.0,
                    },
                    size: Background::SIZE,
                });
            }
            TrialOption::Probes => trial.probes = Some(Probes::Off),
            TrialOption::StrictGaps => trial.strict_gaps = true,
            TrialOption::Faults => trial.faults.drop = 0.1,
            TrialOption::Dscp => trial.dscp = Dscp::named("EF"),
        }
        trial
    }

    /// This trial with each optional field except those of `taken`, alone, and the name of the field, to test a node
    /// type that supports no others.
    pub fn with_each_but<'a>(
        &'a self,
        taken: &'a [TrialOption],
    ) -> impl Iterator<Item = (&'static str, Trial)> + use<'a> {
        let refused = TrialOption::ALL
            .iter()
            .filter(|option| !taken.contains(option));
        refused.map(|option| (option.name(), self.with_option(*option)))
    }
}

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
            "unknown direction 'sideways'; fix: write one of transmit, tx, receive, rx, both, echo"
        );
    }
}
