//! Frames on a line: received as by a sniffer, and sent as by a MAC.

use std::collections::VecDeque;

use wirelab_wire::fcs;

use crate::port::GmiiSignals;

/// Bytes of a preamble before its SFD (IEEE 802.3, 3.2.1).
const PREAMBLE_BYTES: usize = 7;
const PREAMBLE: u8 = 0x55;
/// The start frame delimiter.
const SFD: u8 = 0xD5;
/// Bytes of silence after a frame (IEEE 802.3, 4.4.2).
const GAP_BYTES: usize = 12;
/// The shortest frame without its FCS in bytes (IEEE 802.3, 4.4.2).
const SHORTEST_BYTES: usize = 60;
/// Most bytes of a frame that are kept: no frame of this hardware is longer, and a carrier without end must not fill
/// the memory.
const LONGEST_BYTES: usize = 16_384;

/// A frame from a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFrame {
    /// The clock of the first byte of its preamble.
    pub start_clock: u64,
    /// Destination address through FCS.
    pub bytes: Vec<u8>,
    /// Whether its sender marked a byte as wrong.
    pub marked: bool,
}

impl LineFrame {
    /// The frame without its FCS, if that is right and no byte is marked; a sniffer shows no other frames.
    #[must_use]
    pub fn intact(&self) -> Option<&[u8]> {
        let right = !self.marked && fcs::is_right(&self.bytes);
        right.then(|| &self.bytes[..self.bytes.len() - 4])
    }
}

/// Reads frames from a line, clock by clock.
#[derive(Clone, Debug, Default)]
pub struct Sniffer {
    /// When the carrier rose; `None` in silence.
    start_clock: Option<u64>,
    /// Whether the SFD has passed.
    inside: bool,
    bytes: Vec<u8>,
    marked: bool,
}

impl Sniffer {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes the line in this clock; returns a frame that has just ended.
    pub fn take(&mut self, clock: u64, line: GmiiSignals) -> Option<LineFrame> {
        if line.enable {
            self.start_clock.get_or_insert(clock);
            self.marked |= line.error;
            if !self.inside {
                self.inside = line.data == SFD;
            } else if self.bytes.len() < LONGEST_BYTES {
                self.bytes.push(line.data);
            }
            return None;
        }
        let start_clock = self.start_clock.take()?;
        let marked = std::mem::take(&mut self.marked);
        let bytes = std::mem::take(&mut self.bytes);
        std::mem::take(&mut self.inside).then_some(LineFrame {
            start_clock,
            bytes,
            marked,
        })
    }
}

/// Sends frames on a line, clock by clock, with preamble, padding, FCS and gap.
#[derive(Clone, Debug, Default)]
pub struct Talker {
    waiting: VecDeque<Vec<u8>>,
    /// All bytes of the frame on the line.
    current: Vec<u8>,
    at: usize,
}

impl Talker {
    /// Nothing to send yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a frame (destination address first, without FCS) to the queue.
    pub fn push(&mut self, frame: &[u8]) {
        let mut bytes = Vec::with_capacity(frame.len() + PREAMBLE_BYTES + 1 + 4 + SHORTEST_BYTES);
        bytes.resize(PREAMBLE_BYTES, PREAMBLE);
        bytes.push(SFD);
        bytes.extend_from_slice(frame);
        bytes.resize(bytes.len().max(PREAMBLE_BYTES + 1 + SHORTEST_BYTES), 0);
        let check = fcs::fcs(&bytes[PREAMBLE_BYTES + 1..]);
        bytes.extend_from_slice(&check);
        self.waiting.push_back(bytes);
    }

    /// Frames that have not begun.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the line is and stays silent: no frame waits, and none is on it.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.waiting.is_empty() && self.at >= self.current.len()
    }

    /// The line in the next clock.
    pub fn step(&mut self) -> GmiiSignals {
        if self.at >= self.current.len() + GAP_BYTES || self.current.is_empty() {
            let Some(next) = self.waiting.pop_front() else {
                return GmiiSignals::default();
            };
            self.current = next;
            self.at = 0;
        }
        let byte = self.current.get(self.at).copied();
        self.at += 1;
        GmiiSignals {
            data: byte.unwrap_or(0),
            enable: byte.is_some(),
            error: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(talker: &mut Talker, clocks: u64) -> Vec<LineFrame> {
        let mut sniffer = Sniffer::new();
        (0..clocks)
            .filter_map(|clock| sniffer.take(clock, talker.step()))
            .collect()
    }

    #[test]
    fn what_is_put_onto_a_line_comes_off_it() {
        let mut talker = Talker::new();
        talker.push(&[7; 100]);
        talker.push(&[9; 20]);
        let frames = heard(&mut talker, 400);
        assert_eq!(frames.len(), 2);
        assert_eq!(frames[0].intact(), Some(&[7_u8; 100][..]));
        // 8 bytes of preamble, 104 of frame, 12 of gap.
        assert_eq!((frames[0].start_clock, frames[1].start_clock), (0, 124));
        // The short one is padded.
        let short = frames[1].intact().expect("its FCS is right");
        assert_eq!((&short[..20], &short[20..]), (&[9; 20][..], &[0; 40][..]));
        assert_eq!(talker.waiting(), 0);
        assert!(talker.is_silent());
        talker.push(&[7; 100]);
        assert!(!talker.is_silent(), "a frame waits");
        talker.step();
        assert!(!talker.is_silent(), "it is on the line");
    }

    #[test]
    fn damage_and_silence_show_no_frame() {
        let mut sniffer = Sniffer::new();
        let byte = |data, error| GmiiSignals {
            data,
            enable: true,
            error,
        };
        // A carrier without an SFD.
        assert_eq!(sniffer.take(0, byte(0x55, false)), None);
        assert_eq!(sniffer.take(1, GmiiSignals::default()), None);
        for (clock, data) in [0x55, 0xD5, 1, 2, 3, 4, 5].into_iter().enumerate() {
            assert_eq!(
                sniffer.take(10 + clock as u64, byte(data, clock == 4)),
                None
            );
        }
        let frame = sniffer
            .take(17, GmiiSignals::default())
            .expect("a frame ended");
        assert_eq!((frame.start_clock, frame.marked), (10, true));
        assert_eq!(frame.intact(), None);
    }
}
