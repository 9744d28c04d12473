//! The head of a UDP datagram: sequence number and time, in 12 bytes or, with 64-bit numbers, in 16.
//!
//! ```text
//!  0  number, low word     8  time, µs
//!  4  time, s             12  number, high word (from 2.0.13 on)
//! ```
//! The final datagram carries the next number negated.

use super::bytes::{be32, put_words};
use super::flags::{DIGITS_AT_16, base};

/// Bytes of the shorter head.
pub const NARROW_LEN: usize = 12;
/// Bytes of the longer head.
pub const WIDE_LEN: usize = 16;

/// How many bits the sequence numbers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdWidth {
    /// 32, in a head of 12 bytes.
    Narrow,
    /// 64, in a head of 16 bytes.
    Wide,
}

impl IdWidth {
    /// Bytes of the head.
    pub const fn head_bytes(self) -> usize {
        match self {
            IdWidth::Narrow => NARROW_LEN,
            IdWidth::Wide => WIDE_LEN,
        }
    }
}

/// Which kind of iperf 2 writes the datagrams of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// 12 bytes and nothing more: ESP-IDF, NuttX.
    Bare,
    /// 12 bytes and a client header at 12: 2.0.5 and what was made after it.
    V205,
    /// 16 bytes and a client header at 16: from 2.0.13 on.
    Wide,
    /// 16 bytes and digits: what 2.1 sends back to its client.
    WideBare,
    /// 16 bytes and the mark of short datagrams with trip times.
    SmallTripTimes,
}

impl Generation {
    /// The kind that wrote the first datagram of a flow; `None` where it is too short to have a number.
    ///
    /// A payload of a 12-byte kind may be anything, so a header counts only where all of it makes sense.
    pub fn detect(first: &[u8]) -> Option<Generation> {
        let low = be32(first, 0)?;
        if first.len() < NARROW_LEN {
            return None;
        }
        let word = |at| be32(first, at);
        // Nobody's first datagram has a number beyond 32 bits, so the high word is the sign.
        let extends = word(12) == Some(((low as i32) >> 31) as u32);
        let plausible = |threads_at| {
            (1..=128).contains(&(word(threads_at).unwrap_or(0) & 0x000F_FFFF))
                && (1..=65_535).contains(&word(threads_at + 4).unwrap_or(0))
        };
        Some(match word(16) {
            Some(DIGITS_AT_16) if extends => Generation::WideBare,
            Some(flags) if extends && flags & base::IDS_64 != 0 && flags != DIGITS_AT_16 => {
                Generation::Wide
            }
            Some(mark) if extends && mark >> 16 == 2 => Generation::SmallTripTimes,
            _ if word(12).is_some_and(|w| w & base::VERSION1 != 0) && plausible(16) => {
                Generation::V205
            }
            _ => Generation::Bare,
        })
    }

    /// The width of its numbers.
    pub const fn ids(self) -> IdWidth {
        match self {
            Generation::Bare | Generation::V205 => IdWidth::Narrow,
            Generation::Wide | Generation::WideBare | Generation::SmallTripTimes => IdWidth::Wide,
        }
    }

    /// Where its client header starts in a datagram, if it has one.
    pub const fn header_at(self) -> Option<usize> {
        match self {
            Generation::V205 => Some(NARROW_LEN),
            Generation::Wide => Some(WIDE_LEN),
            Generation::Bare | Generation::WideBare | Generation::SmallTripTimes => None,
        }
    }
}

/// The head of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Sequence number; negative in the final datagrams, where it is the next number negated.
    pub id: i64,
    /// Whole seconds of the sender's clock.
    pub seconds: u32,
    /// Microseconds of the sender's clock.
    pub microseconds: u32,
}

impl Head {
    /// Read the head; `None` where the datagram is too short for it.
    pub fn parse(datagram: &[u8], ids: IdWidth) -> Option<Head> {
        let low = be32(datagram, 0)?;
        let id = match ids {
            IdWidth::Narrow => i64::from(low as i32),
            IdWidth::Wide => (i64::from(be32(datagram, 12)?) << 32) | i64::from(low),
        };
        Some(Head {
            id,
            seconds: be32(datagram, 4)?,
            microseconds: be32(datagram, 8)?,
        })
    }

    /// Write the head; of a buffer that is too short only as many words as fit.
    pub fn emit(&self, out: &mut [u8], ids: IdWidth) {
        put_words(out, 0, &[self.id as u32, self.seconds, self.microseconds]);
        if ids == IdWidth::Wide {
            put_words(out, 12, &[(self.id >> 32) as u32]);
        }
    }

    /// The sender's time in ns, for differences only.
    pub const fn stamp_ns(&self) -> u64 {
        self.seconds as u64 * 1_000_000_000 + self.microseconds as u64 * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first datagram of `iperf -u -l 64` 2.1.8, and the final one of `iperf -u -n 3000`, both as captured.
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
            assert_eq!(Head::parse(&FIRST, ids), Some(head));
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
