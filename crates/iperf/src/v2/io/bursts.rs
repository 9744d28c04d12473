//! One-way times of TCP writes (`--trip-times`), read from the stream: each write begins with its size and its time. A
//! write counts when its last byte is read, as in iperf 2.1.8.

use super::blocks::BURST_LEN;
use crate::v2::bytes::be32;
use crate::v2::enhanced::Transit;

/// Offset of the time of a write, in s and µs.
const WRITTEN_AT: usize = 20;
const SIZE_AT: usize = 48;
/// Largest plausible write in bytes.
const MOST_BYTES: usize = 1 << 30;
/// A one-way time beyond a day, in µs, means that one of the clocks is not set.
const NOT_SET_US: i64 = 86_400_000_000;

/// Follows the writes of one stream.
pub(in crate::v2) struct Bursts {
    /// Bytes before the first write.
    skip: usize,
    head: [u8; BURST_LEN],
    filled: usize,
    /// Bytes left of the current write, and its time, in µs.
    left: usize,
    written_us: i64,
    /// Whether the stream has no such writes, so the times are unknown.
    is_lost: bool,
    all: Option<Transit>,
    interval: Option<Transit>,
}

impl Bursts {
    /// Writes that begin after `skip` bytes.
    pub(in crate::v2) const fn after(skip: usize) -> Bursts {
        Bursts {
            skip,
            head: [0; BURST_LEN],
            filled: 0,
            left: 0,
            written_us: 0,
            is_lost: false,
            all: None,
            interval: None,
        }
    }

    /// Takes bytes that were read at `now_us` of the wall clock, in µs.
    pub(in crate::v2) fn take(&mut self, mut bytes: &[u8], now_us: i64) {
        let skipped = self.skip.min(bytes.len());
        (self.skip, bytes) = (self.skip - skipped, &bytes[skipped..]);
        while !bytes.is_empty() && !self.is_lost {
            if self.left == 0 {
                let more = (BURST_LEN - self.filled).min(bytes.len());
                self.head[self.filled..self.filled + more].copy_from_slice(&bytes[..more]);
                (self.filled, bytes) = (self.filled + more, &bytes[more..]);
                if self.filled < BURST_LEN {
                    return;
                }
                self.begin();
            }
            let more = self.left.min(bytes.len());
            (self.left, bytes) = (self.left - more, &bytes[more..]);
            if self.left == 0 && !self.is_lost {
                self.end(now_us);
            }
        }
    }

    fn begin(&mut self) {
        let word = |at| be32(&self.head, at).unwrap_or(0);
        let size = word(SIZE_AT) as usize;
        self.written_us = i64::from(word(WRITTEN_AT)) * 1_000_000 + i64::from(word(WRITTEN_AT + 4));
        self.filled = 0;
        match (BURST_LEN..=MOST_BYTES).contains(&size) {
            true => self.left = size - BURST_LEN,
            false => self.lose(),
        }
    }

    fn end(&mut self, now_us: i64) {
        let us = now_us.saturating_sub(self.written_us);
        if us.abs() >= NOT_SET_US {
            return self.lose();
        }
        for transit in [&mut self.all, &mut self.interval] {
            match transit {
                Some(transit) => transit.add(us),
                None => *transit = Some(Transit::of(us)),
            }
        }
    }

    fn lose(&mut self) {
        (self.is_lost, self.all, self.interval) = (true, None, None);
    }

    /// The times of all writes; `None` where there were none.
    pub(in crate::v2) const fn all(&self) -> Option<Transit> {
        self.all
    }

    /// The times since the last call.
    pub(super) fn of_interval(&mut self) -> Option<Transit> {
        self.interval.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::v2::bytes::put_words;

    fn write(size: u32, at_us: u32) -> Vec<u8> {
        let mut out = vec![b'x'; size as usize];
        put_words(&mut out, WRITTEN_AT, &[1000, at_us]);
        put_words(&mut out, SIZE_AT, &[size]);
        out
    }

    fn last_burst(stream: &[u8], piece: usize) -> Option<(u64, i64, i64)> {
        let mut bursts = Bursts::after(80);
        for part in stream.chunks(piece) {
            bursts.take(part, 1_000_000_500);
        }
        bursts.all().map(|t| (t.count, t.min_us, t.max_us))
    }

    #[test]
    fn writes_in_any_pieces() {
        let parts = [
            vec![0; 80],
            write(500, 100),
            write(92, 200),
            write(1000, 450),
        ];
        let stream = parts.concat();
        for piece in [1, 7, 91, 92, 93, 580, 5000] {
            assert_eq!(last_burst(&stream, piece), Some((3, 50, 400)), "{piece}");
            assert_eq!(
                last_burst(&stream[..1671], piece),
                Some((2, 300, 400)),
                "{piece}"
            );
        }
        assert_eq!(last_burst(&stream[..90], 10), None);
        let mut bursts = Bursts::after(0);
        bursts.take(&write(100, 1), 1_000_000_002);
        assert_eq!(bursts.of_interval().map(|t| t.count), Some(1));
        assert_eq!((bursts.of_interval(), bursts.all().is_some()), (None, true));
    }

    #[test]
    fn a_stream_that_is_none_of_writes_tells_nothing() {
        let digits = [write(180, 1), b"0123456789".repeat(100)].concat();
        assert_eq!(last_burst(&digits, 64), None, "the digits are not a size");
        let mut old = write(200, 1);
        put_words(&mut old, WRITTEN_AT, &[0, 0]);
        let mut bursts = Bursts::after(0);
        bursts.take(&old, 1_700_000_000_000_000);
        bursts.take(&write(200, 1), 1_000_000_500);
        assert_eq!(bursts.all(), None, "a clock that is not set");
    }

    proptest! {
        #[test]
        fn hostile_streams_never_panic(bytes: Vec<u8>, skip in 0..300usize, now: i64) {
            let mut bursts = Bursts::after(skip);
            for part in bytes.chunks(17) {
                bursts.take(part, now);
            }
        }
    }
}
