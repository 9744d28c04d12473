//! The wire at the MAC: frames with their times, and the time of their bytes.

use std::collections::VecDeque;

use crate::fcs;

/// Picoseconds of a CPU cycle: 100 MHz.
pub const CYCLE_PS: u64 = 10_000;

/// Most bytes of a frame from outside or of a chain of descriptors: more than any Ethernet frame, and it bounds memory.
pub const MOST_FRAME_BYTES: usize = 16 << 10;

/// Most frames in the queue to the receiver.
pub const MOST_ARRIVALS: usize = 65_536;

/// Preamble and start delimiter in bytes (IEEE 802.3, 3.1.1).
pub const PREAMBLE_BYTES: u64 = 8;

/// The speed of the wire: cycles of a nibble, 40 ns at 100 Mbit/s and 400 ns at 10 (IEEE 802.3, 22.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WirePace {
    nibble_cycles: u64,
}

impl WirePace {
    /// 100 Mbit/s.
    pub const FAST: WirePace = WirePace { nibble_cycles: 4 };
    /// 10 Mbit/s.
    pub const SLOW: WirePace = WirePace { nibble_cycles: 40 };

    /// Cycles of this many nibbles.
    pub const fn nibbles(self, nibbles: u64) -> u64 {
        nibbles * self.nibble_cycles
    }

    /// Cycles of this many bytes.
    pub const fn bytes(self, bytes: u64) -> u64 {
        self.nibbles(2 * bytes)
    }

    /// The first edge of the nibble clock at or after `cycle`.
    pub const fn edge(self, cycle: u64) -> u64 {
        cycle.next_multiple_of(self.nibble_cycles)
    }
}

/// A frame that the MAC sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// When its preamble began, in ps since power-on.
    pub start_ps: u64,
    /// When the last bit of its FCS was sent, in ps.
    pub end_ps: u64,
    /// Destination address to FCS, as on the wire: padded, and truncated where the FIFO ran empty.
    pub bytes: Vec<u8>,
}

impl SentFrame {
    /// Whether its FCS is right.
    pub fn fcs_is_right(&self) -> bool {
        fcs::is_right(&self.bytes)
    }

    /// The frame as a capture shows it, without FCS.
    pub fn without_fcs(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().saturating_sub(4)]
    }
}

/// A frame to the MAC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When its preamble begins, in ps since power-on.
    pub start_ps: u64,
    /// Destination address to FCS, of any length and with any FCS.
    pub bytes: Vec<u8>,
    /// The PHY reports a bit error in it.
    pub symbol_error: bool,
    /// It ends with an extra half byte.
    pub dribble: bool,
}

impl Arrival {
    /// A frame without faults: `frame` is given without FCS, and is padded to the smallest length.
    pub fn good(start_ps: u64, frame: &[u8]) -> Arrival {
        let mut bytes = frame.to_vec();
        bytes.resize(bytes.len().max(60), 0);
        let bytes = fcs::with_fcs(&bytes);
        Arrival {
            start_ps,
            bytes,
            ..Arrival::default()
        }
    }
}

/// Why the wire does not accept a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrivalError {
    /// It would begin before the end of the previous one.
    #[error("a frame would begin at {start_ps} ps, while the wire is in use until {free_ps} ps")]
    Busy {
        /// When it would begin.
        start_ps: u64,
        /// When the wire becomes free.
        free_ps: u64,
    },
    /// It is empty, or longer than any frame.
    #[error("a frame has {bytes} bytes; 1 to {MOST_FRAME_BYTES} are possible")]
    Size {
        /// Its size in bytes.
        bytes: usize,
    },
    /// The queue is full.
    #[error("{MOST_ARRIVALS} frames wait at the receiver already; fix: let the machine run first")]
    Full,
}

/// Frames on their way to the receiver, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    frames: VecDeque<Arrival>,
    free_ps: u64,
}

impl Incoming {
    /// Appends a frame. `pace` gives its duration.
    pub fn push(&mut self, frame: Arrival, pace: WirePace) -> Result<(), ArrivalError> {
        let bytes = frame.bytes.len();
        if bytes == 0 || bytes > MOST_FRAME_BYTES {
            return Err(ArrivalError::Size { bytes });
        }
        if self.frames.len() >= MOST_ARRIVALS {
            return Err(ArrivalError::Full);
        }
        if frame.start_ps < self.free_ps {
            return Err(ArrivalError::Busy {
                start_ps: frame.start_ps,
                free_ps: self.free_ps,
            });
        }
        let takes_ps = pace.bytes(PREAMBLE_BYTES + bytes as u64) * CYCLE_PS;
        self.free_ps = frame.start_ps.saturating_add(takes_ps);
        self.frames.push_back(frame);
        Ok(())
    }

    /// The cycle in which the next frame begins: the first edge at which the MAC can see it.
    pub fn next_start(&self) -> Option<u64> {
        let first = self.frames.front()?;
        Some(first.start_ps.div_ceil(CYCLE_PS))
    }

    /// Bytes of the next frame.
    pub fn next_bytes(&self) -> Option<usize> {
        self.frames.front().map(|frame| frame.bytes.len())
    }

    /// Takes the next frame.
    pub fn pop(&mut self) -> Option<Arrival> {
        self.frames.pop_front()
    }

    /// When the wire becomes free, in ps.
    pub const fn free_ps(&self) -> u64 {
        self.free_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_takes_40_ns_a_nibble_at_100_mbit_per_s() {
        // 1,514 bytes, FCS and preamble: 122.08 us; with the gap of 12 bytes the 123.04 us of the application note.
        assert_eq!(WirePace::FAST.bytes(8 + 1514 + 4) * CYCLE_PS, 122_080_000);
        assert_eq!(
            WirePace::FAST.bytes(8 + 1514 + 4 + 12) * CYCLE_PS,
            123_040_000
        );
        assert_eq!(WirePace::SLOW.bytes(1) * CYCLE_PS, 800_000);
        assert_eq!(WirePace::FAST.edge(9), 12);
    }

    #[test]
    fn frames_do_not_overlap() {
        let mut incoming = Incoming::default();
        incoming
            .push(Arrival::good(0, &[0; 60]), WirePace::FAST)
            .unwrap();
        let busy = incoming.push(Arrival::good(5_759_999, &[0; 60]), WirePace::FAST);
        let free_ps = (8 + 64) * 80_000;
        let start_ps = 5_759_999;
        assert_eq!(busy, Err(ArrivalError::Busy { start_ps, free_ps }));
        let touching = Arrival::good(free_ps, &[0; 60]);
        incoming.push(touching, WirePace::FAST).unwrap();
        assert_eq!(incoming.next_start(), Some(0));
        assert_eq!(
            incoming.push(Arrival::default(), WirePace::FAST),
            Err(ArrivalError::Size { bytes: 0 })
        );
    }
}
