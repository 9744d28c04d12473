//! The contents of TCP writes: digits, and with `--trip-times` a number and times at the beginning of each write.
//!
//! ```text
//!  0  flags           12  start of the flow: s, µs     44  number          52  bytes until its end, low word
//!  4  type, length    20  this write: s, µs            48  bytes of it     56  high word
//! ```
//! The rest up to byte 92 is for answers, and 0 here. The server of 2.1.8 ignores the first word.

use super::Env;
use crate::v2::amount::Amount;
use crate::v2::bytes::put_words;
use crate::v2::flags::fill_digits;

/// Bytes at the beginning of each write.
pub(in crate::v2) const BURST_LEN: usize = 92;
const START_AT: usize = 12;
const NUMBER_AT: usize = 44;

/// The bytes of the writes of one flow.
pub(in crate::v2) struct Blocks {
    bytes: Vec<u8>,
    /// With times: the start of the flow, and the number of writes begun.
    times: Option<((u32, u32), u64)>,
}

impl Blocks {
    /// Writes of `length` bytes of digits.
    pub(in crate::v2) fn plain(length: u32) -> Blocks {
        let mut bytes = vec![0; length as usize];
        fill_digits(&mut bytes, 0);
        Blocks { bytes, times: None }
    }

    /// Writes that begin with the header, as iperf 2.0 and 2.1 write it. lwIP's iperf compares it if it sends traffic
    /// back, and ends the test if it differs.
    pub(in crate::v2) fn led_by(header: &[u8], length: u32) -> Blocks {
        let mut blocks = Blocks::plain(length);
        let led = header.len().min(blocks.bytes.len());
        blocks.bytes[..led].copy_from_slice(&header[..led]);
        blocks
    }

    /// Writes with times, of at least [`BURST_LEN`] bytes, for a flow that starts now.
    pub(in crate::v2) fn timed(length: u32, env: &Env<'_>) -> Blocks {
        let mut blocks = Blocks::plain(length.max(BURST_LEN as u32));
        blocks.bytes[..BURST_LEN].fill(0);
        blocks.times = Some((env.wall(env.now_ns()), 0));
        blocks
    }

    /// The amount, rounded to whole writes of `length` bytes after a header, because a reader of times does not accept
    /// partial writes.
    pub(in crate::v2) fn whole(amount: Amount, header: usize, length: u32) -> Amount {
        match amount {
            Amount::Bytes(bytes) => {
                let length = u64::from(length.max(1));
                let writes = bytes.div_ceil(length).saturating_mul(length);
                Amount::Bytes(writes.saturating_add(header as u64))
            }
            time => time,
        }
    }

    /// Begins a write at `wall`, in s and µs of the wall clock.
    pub(super) fn begin(&mut self, wall: (u32, u32)) {
        let Some((start, number)) = &mut self.times else {
            return;
        };
        *number += 1;
        let (number, length) = (*number, self.bytes.len() as u64);
        let times = [start.0, start.1, wall.0, wall.1];
        put_words(&mut self.bytes, START_AT, &times);
        let end = number.wrapping_mul(length);
        let counts = [number as u32, length as u32, end as u32, (end >> 32) as u32];
        put_words(&mut self.bytes, NUMBER_AT, &counts);
    }

    /// At most `most` bytes of the write from `offset` on.
    pub(super) fn part(&self, offset: usize, most: usize) -> &[u8] {
        let rest = self.bytes.get(offset..).unwrap_or_default();
        &rest[..most.min(rest.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_write_begins_with_its_number_and_times() {
        let mut blocks = Blocks::plain(500);
        blocks.begin((1, 2));
        assert_eq!(blocks.part(0, 4), b"0123", "digits alone");
        blocks.bytes[..BURST_LEN].fill(0);
        blocks.times = Some(((7, 8), 0));
        for number in 1..=3u32 {
            blocks.begin((9, number));
            let words: Vec<u32> = blocks.part(0, 60).chunks_exact(4).map(be).collect();
            assert_eq!(words[3..7], [7, 8, 9, number]);
            assert_eq!(words[11..], [number, 500, 500 * number, 0]);
        }
        assert_eq!(blocks.part(92, 4), b"2345");
        assert_eq!(blocks.part(498, 100), b"89");
        assert!(blocks.part(501, 1).is_empty());
    }

    #[test]
    fn each_write_begins_with_the_header() {
        let mut blocks = Blocks::led_by(&[7; 60], 500);
        for _ in 0..2 {
            blocks.begin((1, 2));
            assert_eq!(blocks.part(0, 60), [7; 60]);
            assert_eq!(blocks.part(60, 4), b"0123");
        }
        assert_eq!(Blocks::led_by(&[7; 60], 24).part(0, 60), [7; 24]);
    }

    #[test]
    fn bytes_are_asked_in_whole_writes() {
        let whole = |bytes| Blocks::whole(Amount::Bytes(bytes), 80, 1000);
        assert_eq!(whole(10_500), Amount::Bytes(11_080));
        assert_eq!(whole(0), Amount::Bytes(80));
        assert_eq!(whole(u64::MAX), Amount::Bytes(u64::MAX));
        assert_eq!(Blocks::whole(Amount::DEFAULT, 80, 1), Amount::DEFAULT);
    }

    fn be(word: &[u8]) -> u32 {
        u32::from_be_bytes(word.try_into().unwrap())
    }
}
