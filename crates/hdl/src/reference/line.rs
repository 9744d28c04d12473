//! Line 0 of the reference node: frames that are put on it in time, and those that come off it.

use std::collections::VecDeque;

use super::REFERENCE_CLOCK_PS;
use crate::port::Line;
use crate::wire::LineFrame;

/// Clocks that a byte takes on a line of 100 Mbit/s, at 100 MHz.
pub const CLOCKS_PER_BYTE: u64 = 8;
/// Preamble and start delimiter (IEEE 802.3, 3.1.1).
const LEAD_IN: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
/// Bytes between two frames (IEEE 802.3, 4.4.2).
const GAP_BYTES: usize = 12;

/// A frame that was on line 0, either way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedFrame {
    /// When its preamble began, in ps since the reset ended.
    pub start_ps: u64,
    /// When its last byte had gone by, in ps: where the carrier fell.
    pub end_ps: u64,
    /// Destination address to FCS.
    pub bytes: Vec<u8>,
    /// Its sender marked a byte as wrong.
    pub marked: bool,
}

impl TimedFrame {
    /// Of a frame whose carrier has fallen after so many clocks.
    pub(super) fn new(frame: LineFrame, end_clock: u64) -> Self {
        Self {
            start_ps: frame.start_clock * REFERENCE_CLOCK_PS,
            end_ps: end_clock * REFERENCE_CLOCK_PS,
            bytes: frame.bytes,
            marked: frame.marked,
        }
    }
}

/// What waits to be put on the line.
#[derive(Debug, Default)]
pub(super) struct Feed {
    waiting: VecDeque<(u64, Vec<Line>)>,
    now: VecDeque<Line>,
}

impl Feed {
    /// A frame (destination address to FCS) with preamble and gap, not before a clock.
    pub(super) fn frame(&mut self, from_clock: u64, frame: &[u8]) {
        let byte = |&data| Line {
            data,
            enable: true,
            error: false,
        };
        let mut line: Vec<Line> = LEAD_IN.iter().chain(frame).map(byte).collect();
        line.resize(line.len() + GAP_BYTES, Line::default());
        self.raw(from_clock, line);
    }

    /// Anything, a byte time each, not before a clock.
    pub(super) fn raw(&mut self, from_clock: u64, line: Vec<Line>) {
        self.waiting.push_back((from_clock, line));
    }

    /// What the line brings now.
    pub(super) fn next(&mut self, clock: u64) -> Line {
        if self.now.is_empty() && self.waiting.front().is_some_and(|(from, _)| *from <= clock) {
            self.now = self
                .waiting
                .pop_front()
                .map(|(_, line)| line.into())
                .unwrap_or_default();
        }
        self.now.pop_front().unwrap_or_default()
    }

    /// Nothing waits and nothing is on the line.
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
        // Eight bytes in front of each, twelve behind it.
        let expected = [(0, vec![1, 0x55, 0xD5, 4]), (24, vec![9]), (50, vec![7])];
        assert_eq!(frames, expected);
        assert!(feed.is_empty());
    }
}
