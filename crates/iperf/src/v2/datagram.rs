//! The head of a UDP datagram: sequence number and time, in 12 bytes or, with 64-bit numbers, in 16.
//!
//! ```text
//!  0  number, low word     8  time, µs
//!  4  time, s             12  number, high word (64-bit numbers)
//! ```
//! The final datagram has the next number, negated; 2.0.10 to 2.0.12 set its top bit instead, and leave the word at 12
//! unchanged.

use super::bytes::{be32, put_words};
use super::flags::{DIGITS_AT_16, SMALL_TRIP_TIMES, VERSION_2_0, base};

/// Bytes of the shorter head.
pub const NARROW_LEN: usize = 12;
/// Bytes of the longer head.
pub const WIDE_LEN: usize = 16;

/// The width of the sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdWidth {
    /// 32, in a head of 12 bytes.
    Narrow,
    /// 32, in a head of 12 bytes, and the top bit marks a final datagram.
    Flagged,
    /// 64, in a head of 16 bytes.
    Wide,
}

impl IdWidth {
    /// Bytes of the head.
    pub const fn head_bytes(self) -> usize {
        match self {
            IdWidth::Narrow | IdWidth::Flagged => NARROW_LEN,
            IdWidth::Wide => WIDE_LEN,
        }
    }
}

/// The top bit of a number of 32 bits.
const TOP_BIT: u32 = 1 << 31;
/// The words at 12 and 20 of a buffer that was filled with the digits.
pub(super) const DIGITS_AT_12: u32 = 0x3233_3435;
const DIGITS_AT_20: u32 = 0x3031_3233;

/// The generation of iperf 2 that writes or reads the datagrams of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// 12 bytes only: ESP-IDF, NuttX.
    Bare,
    /// 12 bytes and a client header at 12: 2.0.5 to 2.0.9 and their derivatives.
    V205,
    /// 12 bytes, an uninitialized word, and a client header at 16: 2.0.10 to 2.0.12.
    V2010,
    /// 16 bytes and a client header at 16, otherwise as before: 2.0.13.
    V2013,
    /// 16 bytes and a client header at 16: since 2.1.
    Wide,
    /// 16 bytes and digits: the traffic of 2.1 back to its client.
    WideBare,
    /// 16 bytes and the flag of short datagrams with trip times.
    SmallTripTimes,
}

impl Generation {
    /// The generation that wrote the first datagram of a flow; `None` where it is too short for a number.
    ///
    /// A payload of a 12-byte generation may be anything, so a header counts only if all of it is plausible.
    pub fn detect(first: &[u8]) -> Option<Generation> {
        let low = be32(first, 0)?;
        if first.len() < NARROW_LEN {
            return None;
        }
        let word = |at| be32(first, at);
        // No first datagram has a number beyond 32 bits, so the high word is the sign.
        let extends = word(12) == Some(((low as i32) >> 31) as u32);
        let plausible = |threads_at| {
            (1..=128).contains(&(word(threads_at).unwrap_or(0) & 0x000F_FFFF))
                && (1..=65_535).contains(&word(threads_at + 4).unwrap_or(0))
        };
        // It fills its buffer with digits before it writes the head, with a flags word of 0 if it requests nothing.
        let is_2010 = |flags| match flags {
            0 => word(12) == Some(DIGITS_AT_12) && word(20).is_none_or(|w| w == DIGITS_AT_20),
            _ => flags & base::VERSION1 != 0 && flags & base::IDS_64 == 0 && plausible(20),
        };
        // The datagram before the data still has no high word.
        let is_2013 = |flags| {
            let own = flags & (base::IDS_64 | base::HAS_LENGTH) == base::IDS_64;
            let asks = match flags & base::EXTEND {
                0 => flags & !(base::VERSION1 | base::RUN_NOW) == base::IDS_64,
                _ => word(WIDE_LEN + 36) == Some(VERSION_2_0),
            };
            own && asks && (extends || word(12) == Some(DIGITS_AT_12))
        };
        Some(match word(16) {
            Some(flags) if is_2013(flags) => Generation::V2013,
            Some(DIGITS_AT_16) if extends => Generation::WideBare,
            Some(flags) if extends && flags & base::IDS_64 != 0 && flags != DIGITS_AT_16 => {
                Generation::Wide
            }
            Some(mark) if extends && mark >> 16 == SMALL_TRIP_TIMES >> 16 => {
                Generation::SmallTripTimes
            }
            _ if word(12).is_some_and(|w| w & base::VERSION1 != 0) && plausible(16) => {
                Generation::V205
            }
            Some(flags) if is_2010(flags) => Generation::V2010,
            _ => Generation::Bare,
        })
    }

    /// The width of its numbers.
    pub const fn ids(self) -> IdWidth {
        match self {
            Generation::Bare | Generation::V205 => IdWidth::Narrow,
            Generation::V2010 => IdWidth::Flagged,
            Generation::V2013
            | Generation::Wide
            | Generation::WideBare
            | Generation::SmallTripTimes => IdWidth::Wide,
        }
    }

    /// Whether its server consumes the first datagram of a flow, so its counts begin with the second.
    pub const fn takes_first(self) -> bool {
        matches!(
            self,
            Generation::V205 | Generation::V2010 | Generation::V2013
        )
    }

    /// The number of the first datagram of its flows: 0 where the server does not count the first, so that the counted
    /// ones begin with 1.
    pub const fn first_id(self) -> i64 {
        !self.takes_first() as i64
    }

    /// The offset of a report in its answer.
    pub const fn report_at(self) -> usize {
        match self {
            Generation::Bare | Generation::V205 => NARROW_LEN,
            _ => WIDE_LEN,
        }
    }

    /// The offset of its client header in a datagram, if it has one.
    pub const fn header_at(self) -> Option<usize> {
        match self {
            Generation::V205 => Some(NARROW_LEN),
            Generation::V2010 | Generation::V2013 | Generation::Wide => Some(WIDE_LEN),
            Generation::Bare | Generation::WideBare | Generation::SmallTripTimes => None,
        }
    }
}

/// The head of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Sequence number; negative in final datagrams, where it is the next number negated.
    pub id: i64,
    /// Whole seconds of the sender's clock.
    pub seconds: u32,
    /// Microseconds of the sender's clock.
    pub microseconds: u32,
}

impl Head {
    /// Reads the head; `None` where the datagram is too short.
    pub fn parse(datagram: &[u8], ids: IdWidth) -> Option<Head> {
        let low = be32(datagram, 0)?;
        let id = match ids {
            // A sender of 2.0.10 to 2.0.12 with datagrams too short to identify it sets the top bit: the smaller of the
            // two readings is used. The other is a flow of more than 2³⁰ datagrams.
            IdWidth::Narrow if low & TOP_BIT != 0 => {
                -i64::from(low.wrapping_neg().min(low & !TOP_BIT).max(1))
            }
            IdWidth::Flagged if low & TOP_BIT != 0 => -i64::from((low & !TOP_BIT).max(1)),
            IdWidth::Narrow | IdWidth::Flagged => i64::from(low),
            IdWidth::Wide => (i64::from(be32(datagram, 12)?) << 32) | i64::from(low),
        };
        Some(Head {
            id,
            seconds: be32(datagram, 4)?,
            microseconds: be32(datagram, 8)?,
        })
    }

    /// Writes the head; if the buffer is too short, only the words that fit.
    pub fn emit(&self, out: &mut [u8], ids: IdWidth) {
        let low = match ids {
            IdWidth::Flagged if self.id < 0 => TOP_BIT | self.id.unsigned_abs() as u32,
            _ => self.id as u32,
        };
        put_words(out, 0, &[low, self.seconds, self.microseconds]);
        if ids == IdWidth::Wide {
            put_words(out, 12, &[(self.id >> 32) as u32]);
        }
    }

    /// The sender's time in ns, only for differences.
    pub const fn stamp_ns(&self) -> u64 {
        self.seconds as u64 * 1_000_000_000 + self.microseconds as u64 * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first datagram of `iperf -u -l 64` 2.1.8, and the final one of `iperf -u -n 3000`, both captured.
    const FIRST: [u8; 64] = [
        0x00, 0x00, 0x00, 0x01, 0x6b, 0x01, 0x9e, 0xf1, 0x00, 0x0f, 0x15, 0xe8, 0x00, 0x00, 0x00,
        0x00, 0x48, 0x01, 0x00, 0x98, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0xb9, 0xfd, 0x00, 0x00,
        0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x90, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0x00, 0x08, 0x00, 0x03,
        0x00, 0x00, 0x00, 0x00,
    ];
    const FINAL: [u8; 20] = [
        0xff, 0xff, 0xff, 0xfc, 0x6b, 0x01, 0x9e, 0xef, 0x00, 0x00, 0x4c, 0x7e, 0xff, 0xff, 0xff,
        0xff, 0x48, 0x01, 0x00, 0x98,
    ];
    // `iperf -s -u` 2.1.8 answering -R, and `iperf -u --trip-times -l 64`.
    const BACK: [u8; 20] = [
        0, 0, 0, 1, 0x6b, 0x01, 0xa0, 0xd4, 0, 6, 0xd1, 0x5f, 0, 0, 0, 0, 0x36, 0x37, 0x38, 0x39,
    ];
    const TRIP: [u8; 20] = [
        0, 0, 0, 1, 0x6b, 0x01, 0x9e, 0xf1, 0, 8, 0xc9, 0x23, 0, 0, 0, 0, 0, 2, 0, 0,
    ];

    #[test]
    fn heads_of_both_widths() {
        let head = Head {
            id: 1,
            seconds: 0x6b01_9ef1,
            microseconds: 0x000f_15e8,
        };
        let last = Head {
            id: -4,
            seconds: 0x6b01_9eef,
            microseconds: 0x4c7e,
        };
        for ids in [IdWidth::Narrow, IdWidth::Wide] {
            assert_eq!(Head::parse(&FIRST, ids), Some(head), "{ids:?}");
            assert_eq!(Head::parse(&FINAL, ids), Some(last));
            let mut out = [0; 16];
            last.emit(&mut out, ids);
            let written = ids.head_bytes();
            assert_eq!(out[..written], FINAL[..written]);
        }
        assert_eq!(Head::parse(&FIRST[..11], IdWidth::Narrow), None);
        assert_eq!(Head::parse(&FIRST[..15], IdWidth::Wide), None);
        assert_eq!(last.stamp_ns(), 0x6b01_9eef * 1_000_000_000 + 0x4c7e * 1000);
    }

    #[test]
    fn numbers_beyond_32_bits() {
        for id in [0x1_0000_0000, -0x1_0000_0001, i64::MAX, i64::MIN] {
            let mut out = [0; 16];
            Head {
                id,
                seconds: 0,
                microseconds: 0,
            }
            .emit(&mut out, IdWidth::Wide);
            assert_eq!(Head::parse(&out, IdWidth::Wide).map(|h| h.id), Some(id));
        }
    }

    #[test]
    fn generations() {
        assert_eq!(Generation::detect(&FIRST), Some(Generation::Wide));
        assert_eq!(Generation::detect(&FINAL), Some(Generation::Wide));
        assert_eq!(Generation::detect(&BACK), Some(Generation::WideBare));
        assert_eq!(Generation::detect(&TRIP), Some(Generation::SmallTripTimes));
        assert_eq!(Generation::detect(&FIRST[..11]), None);
        assert_eq!(Generation::detect(&FIRST[..12]), Some(Generation::Bare));
        // 2.0.5: header at 12, a thread, port 5001.
        let mut old = [0u8; 36];
        old[3] = 1;
        old[12] = 0x80;
        old[19] = 1;
        old[22..24].copy_from_slice(&5001u16.to_be_bytes());
        assert_eq!(Generation::detect(&old), Some(Generation::V205));
    }

    // The first datagram of `iperf -u` and of `iperf -u -r`, captured from a build between 2.0.12 and 2.0.13.
    const PLAIN_2012: [u32; 8] = [
        0,
        0x6b05_c63e,
        0x000a_be4f,
        0x3233_3435,
        0,
        0x3031_3233,
        0x3435_3637,
        0x3839_3031,
    ];
    const BACK_2012: [u32; 14] = [
        0,
        0x6b05_c678,
        0x0000_7012,
        0x3233_3435,
        0xc000_0000,
        1,
        0x1771,
        0x68,
        0x3233_3435,
        0x12c,
        1,
        0x1c,
        0,
        0x0002_0000,
    ];

    fn bytes(words: &[u32]) -> Vec<u8> {
        let mut out = vec![0; 4 * words.len()];
        put_words(&mut out, 0, words);
        out
    }

    #[test]
    fn from_2_0_10_to_2_0_12_the_top_bit_marks_the_last() {
        for first in [&PLAIN_2012[..], &PLAIN_2012[..5], &BACK_2012] {
            let kind = Generation::detect(&bytes(first)).unwrap();
            assert_eq!(kind, Generation::V2010, "{first:x?}");
            assert_eq!(Head::parse(&bytes(first), kind.ids()).unwrap().id, 0);
        }
        for ids in [IdWidth::Flagged, IdWidth::Narrow] {
            let last = bytes(&[0x8000_0005, 0x6b05_c63e, 0x000a_c073]);
            let head = Head::parse(&last, ids).unwrap();
            assert_eq!(head.id, -5, "{ids:?}");
            let mut out = [0; 12];
            head.emit(&mut out, IdWidth::Flagged);
            assert_eq!(out[..], last);
        }
        let none = bytes(&[0x8000_0000, 0, 0]);
        assert_eq!(Head::parse(&none, IdWidth::Flagged).unwrap().id, -1);
    }

    #[test]
    fn payloads_of_12_byte_kinds_are_no_headers() {
        // Digits from offset 0 (NuttX fills the whole buffer first), zeros (ESP-IDF), all ones.
        let mut digits = [0u8; 64];
        crate::v2::flags::fill_digits(&mut digits, 0);
        digits[..4].copy_from_slice(&[0, 0, 0, 1]);
        assert_eq!(Generation::detect(&digits), Some(Generation::Bare));
        assert_eq!(Generation::detect(&[0u8; 64]), Some(Generation::Bare));
        let mut ones = [0xFFu8; 64];
        ones[..4].copy_from_slice(&[0, 0, 0, 1]);
        assert_eq!(Generation::detect(&ones), Some(Generation::Bare));
    }
}
