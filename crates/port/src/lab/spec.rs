//! The description of a lab: its name, pairs and options, and the names and addresses that follow from them.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::LabError;
use crate::iface::{Mac, PortName};
use wirelab_trial::nearest::unknown;

/// Most pairs of a lab, so that the list of its interfaces fits one screen.
pub const MOST_PAIRS: u8 = 64;

/// Longest lab name: with "-tester" it must fit a file name and a line of the terminal.
const LONGEST_NAME: usize = 48;

/// MTUs that veth takes (`ETH_MIN_MTU` and `ETH_MAX_MTU` of the kernel).
const MTU_RANGE: std::ops::RangeInclusive<u32> = 68..=65_535;

/// Most queues of an interface here; the kernel's limit is far above any number of CPUs.
const MOST_QUEUES: u32 = 64;

/// A side of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The node's side, the first of a pair.
    Node,
    /// The tester's side.
    Tester,
}

impl Side {
    /// Both sides, the node's first.
    pub const BOTH: [Side; 2] = [Side::Node, Side::Tester];

    /// The other side.
    pub fn other(self) -> Side {
        match self {
            Side::Node => Side::Tester,
            Side::Tester => Side::Node,
        }
    }

    fn number(self) -> u8 {
        match self {
            Side::Node => 1,
            Side::Tester => 2,
        }
    }

    fn letter(self) -> char {
        match self {
            Side::Node => 'n',
            Side::Tester => 't',
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Node => "node",
            Side::Tester => "tester",
        })
    }
}

impl FromStr for Side {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Side, LabError> {
        match text {
            "node" => Ok(Side::Node),
            "tester" => Ok(Side::Tester),
            _ => Err(LabError::Spec {
                why: unknown("side of a lab", text, ["node", "tester"]),
            }),
        }
    }
}

/// The description of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabSpec {
    /// Its name: lower-case letters, digits and '-'.
    pub name: String,
    /// Number of veth pairs, at most [`MOST_PAIRS`]. Without pairs, the two namespaces hold interfaces that others
    /// add.
    pub pairs: u8,
    /// MTU of all interfaces in bytes.
    pub mtu: u32,
    /// Transmit and receive queues of each interface.
    pub queues: u32,
    /// Whether checksum and segmentation offloads stay on. Off, frames look as on a wire. On, TCP frames may be far
    /// longer than the MTU and carry no checksum.
    pub offloads: bool,
    /// Whether dedicated kernel threads do the receive work, see [`super::Lab::set_threaded_napi`].
    pub threaded: bool,
}

impl LabSpec {
    /// A lab of `pairs` veth pairs with an MTU of 1500, one queue, no offloads, receive work in softirq.
    pub fn new(name: impl Into<String>, pairs: u8) -> LabSpec {
        LabSpec {
            name: name.into(),
            pairs,
            mtu: 1500,
            queues: 1,
            offloads: false,
            threaded: false,
        }
    }

    /// A lab whose name is unique among running processes: `PREFIX-PID-NUMBER`.
    pub fn unique(prefix: &str, pairs: u8) -> LabSpec {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        LabSpec::new(format!("{prefix}-{}-{number}", std::process::id()), pairs)
    }

    /// The name of one side's namespace: `NAME-node` or `NAME-tester`.
    pub fn namespace(&self, side: Side) -> String {
        format!("{}-{side}", self.name)
    }

    pub(super) fn interface(pair: u8, side: Side) -> String {
        format!("{}{pair}", side.letter())
    }

    pub(super) fn port(&self, pair: u8, side: Side) -> PortName {
        PortName {
            namespace: Some(self.namespace(side)),
            interface: LabSpec::interface(pair, side),
        }
    }

    pub(super) fn address(&self, pair: u8, side: Side) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, pair, side.number())
    }

    pub(super) fn mac(&self, pair: u8, side: Side) -> Mac {
        Mac([0x02, 0x57, 0x4c, hash(&self.name), pair, side.number()])
    }

    pub(super) fn check(&self) -> Result<(), LabError> {
        check_name(&self.name)?;
        let bad = |why: String| Err(LabError::Spec { why });
        if self.pairs > MOST_PAIRS {
            return bad(format!(
                "a lab of {} pairs is too large; fix: give at most {MOST_PAIRS} pairs",
                self.pairs
            ));
        }
        if !MTU_RANGE.contains(&self.mtu) {
            return bad(format!(
                "an MTU of {} is outside the range of veth; fix: give {} to {}",
                self.mtu,
                MTU_RANGE.start(),
                MTU_RANGE.end()
            ));
        }
        if !(1..=MOST_QUEUES).contains(&self.queues) {
            return bad(format!(
                "an interface cannot have {} queues; fix: give 1 to {MOST_QUEUES} queues",
                self.queues
            ));
        }
        Ok(())
    }

    pub(super) fn check_pair(&self, pair: u8) -> Result<(), LabError> {
        if pair < self.pairs {
            return Ok(());
        }
        Err(LabError::Spec {
            why: format!(
                "lab {} has no pair {pair}, it has {}; fix: name one, counted from 0",
                self.name, self.pairs
            ),
        })
    }
}

/// A lab's name is used in file names and shell commands.
pub(super) fn check_name(name: &str) -> Result<(), LabError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty()
        || name.len() > LONGEST_NAME
        || name.starts_with('-')
        || !name.chars().all(fits)
    {
        return Err(LabError::Spec {
            why: format!(
                "'{name}' cannot be the name of a lab; fix: use 1 to {LONGEST_NAME} lower-case letters, digits and '-', not '-' first"
            ),
        });
    }
    Ok(())
}

/// FNV-1a (32 bits, folded to 8), so that two bridged labs have different addresses.
fn hash(name: &str) -> u8 {
    let full = name.bytes().fold(0x811c_9dc5_u32, |h, b| {
        (h ^ u32::from(b)).wrapping_mul(0x0100_0193)
    });
    full.to_be_bytes().into_iter().fold(0, |a, b| a ^ b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_follow_from_the_lab() {
        let spec = LabSpec::new("demo", 4);
        assert_eq!(spec.port(3, Side::Tester).to_string(), "demo-tester/t3");
        assert_eq!(spec.port(0, Side::Node).to_string(), "demo-node/n0");
        assert_eq!(spec.address(2, Side::Node), Ipv4Addr::new(198, 18, 2, 1));
        let mac = spec.mac(2, Side::Tester).to_string();
        assert!(
            mac.starts_with("02:57:4c:") && mac.ends_with(":02:02"),
            "{mac}"
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_limit() {
        let cases = [
            (LabSpec::new("", 1), "name of a lab"),
            (LabSpec::new("Up", 1), "name of a lab"),
            (LabSpec::new("-x", 1), "name of a lab"),
            (LabSpec::new("a/b", 1), "name of a lab"),
            (LabSpec::new("a", 65), "at most 64 pairs"),
            (
                LabSpec {
                    mtu: 67,
                    ..LabSpec::new("a", 1)
                },
                "68 to 65535",
            ),
            (
                LabSpec {
                    queues: 0,
                    ..LabSpec::new("a", 1)
                },
                "1 to 64 queues",
            ),
        ];
        for (spec, part) in cases {
            let text = spec.check().unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
        assert!("middle".parse::<Side>().is_err());
    }
}
