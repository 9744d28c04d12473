//! Line 0 of the reference node: sending frames on it at given times, and receiving frames from it.

use std::collections::VecDeque;

use super::REFERENCE_CLOCK_PS;
use crate::port::GmiiSignals;
use crate::wire::LineFrame;

/// Clocks of 100 MHz for each byte on a line of 100 Mbit/s.
pub const CLOCKS_PER_BYTE: u64 = 8;
/// Preamble and start delimiter (IEEE 802.3, 3.1.1).
const LEAD_IN: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
/// Bytes between two frames (IEEE 802.3, 4.4.2).
const GAP_BYTES: usize = 12;

/// A frame on line 0, in either direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedFrame {
    /// When its preamble began, in ps since the reset ended.
    pub start_ps: u64,
    /// When its last byte ended, in ps: the fall of the carrier.
    pub end_ps: u64,
    /// Destination address to FCS.
    pub bytes: Vec<u8>,
    /// Whether its sender marked a byte as wrong.
    pub marked: bool,
}

impl TimedFrame {
    /// A frame whose carrier fell after this many clocks.
    pub(super) fn new(frame: LineFrame, end_clock: u64) -> Self {
        Self {
            start_ps: frame.start_clock * REFERENCE_CLOCK_PS,
            end_ps: end_clock * REFERENCE_CLOCK_PS,
            bytes: frame.bytes,
            marked: frame.marked,
        }
    }
}

/// The queue of what will be put on the line.
#[derive(Debug, Default)]
pub(super) struct Feed {
    waiting: VecDeque<(u64, Vec<GmiiSignals>)>,
    now: VecDeque<GmiiSignals>,
}

impl Feed {
    /// Adds a frame (destination address to FCS) with preamble and gap, not before a clock.
    pub(super) fn frame(&mut self, from_clock: u64, frame: &[u8]) {
        let byte = |&data| GmiiSignals {
            data,
            enable: true,
            error: false,
        };
        let mut line: Vec<GmiiSignals> = LEAD_IN.iter().chain(frame).map(byte).collect();
        line.resize(line.len() + GAP_BYTES, GmiiSignals::default());
        self.raw(from_clock, line);
    }

    /// Adds any bytes, one byte time each, not before a clock.
    pub(super) fn raw(&mut self, from_clock: u64, line: Vec<GmiiSignals>) {
        self.waiting.push_back((from_clock, line));
    }

    /// The line towards the node now.
    pub(super) fn next(&mut self, clock: u64) -> GmiiSignals {
        if self.now.is_empty() && self.waiting.front().is_some_and(|(from, _)| *from <= clock) {
            self.now = self
                .waiting
                .pop_front()
                .map(|(_, line)| line.into())
                .unwrap_or_default();
        }
        self.now.pop_front().unwrap_or_default()
    }

    /// Whether the queue is empty and the line silent.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.now.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sniffer;

    #[test]
    fn what_is_put_on_a_line_comes_off_it_not_before_its_time_and_with_a_gap() {
        let mut feed = Feed::default();
        feed.frame(0, &[1, 0x55, 0xD5, 4]);
        feed.frame(5, &[9]);
        feed.frame(50, &[7]);
        let mut sniffer = Sniffer::new();
        let frames: Vec<(u64, Vec<u8>)> = (0..80)
            .filter_map(|clock| sniffer.take(clock, feed.next(clock)))
            .map(|frame| (frame.start_clock, frame.bytes))
            .collect();
        // Eight bytes before each, twelve after it.
        let expected = [(0, vec![1, 0x55, 0xD5, 4]), (24, vec![9]), (50, vec![7])];
        assert_eq!(frames, expected);
        assert!(feed.is_empty());
    }
}
