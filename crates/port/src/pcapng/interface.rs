//! The capture's description of an interface: its name, its link type, its snap length and its clock.

use serde::Serialize;

/// Link type of Ethernet (LINKTYPE_ETHERNET, <https://www.tcpdump.org/linktypes.html>).
pub const LINKTYPE_ETHERNET: u32 = 1;

/// An interface of a capture, numbered across all sections of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Section of the file, counted from 0.
    pub section: u32,
    /// Number within its section.
    pub id: u32,
    /// Name, if the capture has it.
    pub name: Option<String>,
    /// Link type; only [`LINKTYPE_ETHERNET`] is judged.
    pub link_type: u32,
    /// Most bytes kept of a frame; 0 for no limit.
    pub snap_len: u32,
    /// Bytes of FCS at the end of each frame.
    pub fcs_bytes: u8,
    /// Link rate in bit/s, if the capture has it.
    pub link_rate_bits_per_s: Option<u64>,
    /// Time of one tick of its clock.
    pub resolution: Resolution,
    /// Seconds to add to each of its times.
    pub offset_s: i64,
    /// Frames that the capturing program reports as lost (if_drop and os_drop of the statistics block, and the drop
    /// counts of frames). The capture lost them, not the node.
    pub dropped_by_capture: u64,
    /// Test frames sent before this time of the sender's clock, in ns, belong to an earlier run than this section;
    /// absent if the file does not say.
    pub sent_since_ns: Option<u64>,
}

impl Interface {
    pub(super) fn new(section: u32, id: u32, link_type: u32, snap_len: u32) -> Interface {
        Interface {
            section,
            id,
            name: None,
            link_type,
            snap_len,
            fcs_bytes: 0,
            link_rate_bits_per_s: None,
            resolution: Resolution::MICROSECOND,
            offset_s: 0,
            dropped_by_capture: 0,
            sent_since_ns: None,
        }
    }

    /// The interface's name in a report: its name, or its number.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("interface {}", self.id),
        }
    }

    /// A time stamp of this interface in ps since 1970.
    #[inline]
    pub(super) fn time_ps(&self, ticks: u64) -> i128 {
        self.resolution.ps(ticks) + i128::from(self.offset_s) * 1_000_000_000_000
    }
}

/// Time of one tick: the value of the option if_tsresol (draft-ietf-opsawg-pcapng, 4.2).
///
/// The top bit chooses the base (0: ten, 1: two), the other bits are the negative exponent in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Resolution(pub u8);

impl Resolution {
    /// A millionth of a second, the default.
    pub const MICROSECOND: Resolution = Resolution(6);
    /// A thousand-millionth of a second.
    pub const NANOSECOND: Resolution = Resolution(9);

    /// `ticks` in ps, rounded down.
    #[inline]
    pub fn ps(self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks);
        let exponent = u32::from(self.0 & 0x7F);
        if self.0 & 0x80 != 0 {
            // A shift of 127 equals any longer one: 2^64 ticks are less than 2^104 ps.
            return (ticks * 1_000_000_000_000) >> exponent.min(127);
        }
        match exponent {
            0..=12 => ticks * 10i128.pow(12 - exponent),
            // 2^64 ticks of 10^-32 s are less than 1 ps.
            13..=32 => ticks / 10i128.pow(exponent - 12),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resolution_gives_picoseconds() {
        for (option, ticks, ps) in [
            (6, 3, 3_000_000),
            (9, 3, 3_000),
            (0, 2, 2_000_000_000_000),
            (12, 7, 7),
            (13, 79, 7),
            (127, u64::MAX, 0),
            (0x80, 2, 2_000_000_000_000),
            (0x80 | 20, 1 << 20, 1_000_000_000_000),
            (0x80 | 1, 1, 500_000_000_000),
            (0xFF, u64::MAX, 0),
        ] {
            assert_eq!(Resolution(option).ps(ticks), ps, "if_tsresol {option}");
        }
    }

    #[test]
    fn largest_time_stamp_does_not_overflow() {
        let mut interface = Interface::new(0, 0, 1, 0);
        interface.resolution = Resolution(0);
        interface.offset_s = i64::MAX;
        assert!(interface.time_ps(u64::MAX) > 0);
        interface.offset_s = i64::MIN;
        assert!(interface.time_ps(0) < 0);
    }
}
