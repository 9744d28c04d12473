//! The server report: the answer to the final datagram of a UDP test, in the layout of the peer.
//!
//! It follows the head, so it starts at 12 or at 16. Ten words are version 1; since 2.1 thirteen words about transit
//! times and three with high halves follow. 2.0.10 to 2.0.12 start at 16 and have one word more before the jitter.

use super::bytes::{be32, put_words};
use super::datagram::{Generation, IdWidth};
use super::enhanced::Transit;
use super::flags::base;

/// Bytes of every answer; 2.0.13 requires at least 116.
pub const ANSWER_LEN: usize = 128;
/// Length of an answer that is not a report: the late answer of 2.0.13 to a header, with type 2.
const STALE_ACK_LEN: usize = 52;
/// Offset of the one-way times in an answer with the long head.
const TRANSIT_AT: usize = 56;
const US_PER_S: u64 = 1_000_000;
/// The word of a report of 2.0.5 to 2.0.9 with the gaps between datagrams, followed by their sum in s.
const GAPS_WORD: usize = 23;

/// The word of a report with the jitter in s: 2.0.10 to 2.0.12 put the high half of the datagrams before it.
const fn jitter_word(of: Generation) -> usize {
    match of {
        Generation::V2010 => 9,
        _ => 8,
    }
}

/// The receiving end's report of a UDP test, in iperf's count: duplicates are out of order and each is subtracted from
/// the losses, and the final datagram is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerReport {
    /// Application bytes.
    pub bytes: u64,
    /// Duration in µs.
    pub duration_us: u64,
    /// Datagrams lost, minus those out of order.
    pub lost: u64,
    /// Datagrams whose number was below the one expected.
    pub out_of_order: u64,
    /// The highest number.
    pub datagrams: u64,
    /// RFC 1889 jitter in µs; meaningless where the sender writes no times.
    pub jitter_us: u64,
    /// One-way times, where the server marks them as valid (`-e` or `--trip-times`).
    pub transit: Option<Transit>,
}

impl ServerReport {
    /// Writes the answer for a peer. Peers with 12-byte heads get the first words of `final_datagram` back, as 2.0.5
    /// did; the others get zeros, as 2.1.8 does.
    pub fn emit(&self, peer: Generation, final_datagram: &[u8]) -> [u8; ANSWER_LEN] {
        let mut out = [0; ANSWER_LEN];
        let at = peer.report_at();
        let mut flags = base::VERSION1;
        if peer.ids() == IdWidth::Wide {
            flags |= base::IDS_64;
            let high = [self.lost, self.out_of_order, self.datagrams].map(|n| (n >> 32) as u32);
            put_words(&mut out, 116, &high);
            if let Some(transit) = &self.transit {
                flags |= base::EXTEND;
                put_words(&mut out, TRANSIT_AT, &self.transit_words(transit));
            }
        } else {
            let head = final_datagram.len().min(peer.ids().head_bytes());
            out[..head].copy_from_slice(&final_datagram[..head]);
        }
        let (seconds, us) = (self.duration_us / US_PER_S, self.duration_us % US_PER_S);
        let words = [
            flags,
            (self.bytes >> 32) as u32,
            self.bytes as u32,
            u32::try_from(seconds).unwrap_or(u32::MAX),
            us as u32,
            self.lost as u32,
            self.out_of_order as u32,
            self.datagrams as u32,
        ];
        let jitter = [
            u32::try_from(self.jitter_us / US_PER_S).unwrap_or(u32::MAX),
            (self.jitter_us % US_PER_S) as u32,
        ];
        put_words(&mut out, at, &words);
        put_words(&mut out, at + 4 * jitter_word(peer), &jitter);
        if peer == Generation::V205 || peer == Generation::Bare {
            // 2.0.8 and 2.0.9 print the share of losses only if there are gaps, and divide by their sum.
            put_words(&mut out, at + 4 * GAPS_WORD, &self.gap_words());
        }
        out
    }

    /// Minimum, maximum, sum and mean in s and µs; squared distances in µs²; the same for the last interval; datagrams,
    /// datagrams per second, and its divisor.
    fn transit_words(&self, transit: &Transit) -> [u32; 15] {
        // Both are signed, because the receiver's clock may be behind.
        let pair = |us: f64| [(us / 1e6) as i32 as u32, (us % 1e6) as i32 as u32];
        let [min_s, min_us] = pair(transit.min_us as f64);
        let [max_s, max_us] = pair(transit.max_us as f64);
        let [sum_s, sum_us] = pair(transit.mean_us * transit.count as f64);
        let [mean_s, mean_us] = pair(transit.mean_us);
        let [per_s, sum] = self.gap_words();
        let (m2, count) = (transit.m2_us2 as u32, transit.count as u32);
        [
            min_s, min_us, max_s, max_us, sum_s, sum_us, mean_s, mean_us, m2, 0, 0, 0, count,
            per_s, sum,
        ]
    }

    /// Datagrams per second, and its divisor.
    fn gap_words(&self) -> [u32; 2] {
        let per_s = self.datagrams as f64 * 1e6 / (self.duration_us.max(1)) as f64;
        [(per_s as u32).max(1), 1]
    }

    /// The generation of the server that wrote an answer; `None` where it holds no report.
    pub fn layout(answer: &[u8]) -> Option<Generation> {
        if answer.len() == STALE_ACK_LEN && be32(answer, 0) == Some(2) {
            return None;
        }
        let valid = |at| be32(answer, at).is_some_and(|flags| flags & base::VERSION1 != 0);
        // In the long head the word at 12 is the high half of a number: 0, or negative with all bits set.
        if valid(16) && !(valid(12) && be32(answer, 12) != Some(u32::MAX)) {
            let wide = be32(answer, 16)? & base::IDS_64 != 0;
            return Some(match wide {
                true => Generation::Wide,
                false => Generation::V2010,
            });
        }
        valid(12).then_some(Generation::V205)
    }

    fn parse_transit(answer: &[u8]) -> Option<Transit> {
        let word = |n: usize| be32(answer, TRANSIT_AT + 4 * n);
        // Both are signed, because the receiver's clock may be behind.
        let us = |n| Some(i64::from(word(n)? as i32) * 1_000_000 + i64::from(word(n + 1)? as i32));
        Some(Transit {
            count: u64::from(word(12)?),
            min_us: us(0)?,
            max_us: us(2)?,
            mean_us: us(6)? as f64,
            m2_us2: f64::from(word(8)?),
        })
    }

    /// Whether it can belong to a flow of this many datagrams, including the final ones.
    pub const fn is_of(&self, datagrams: u64) -> bool {
        let most = datagrams.saturating_add(1);
        self.datagrams <= most && self.lost <= most && self.out_of_order <= most.saturating_mul(2)
    }

    /// Reads an answer of any generation; `None` where it holds no report, e.g. because the server keeps none.
    pub fn parse(answer: &[u8]) -> Option<ServerReport> {
        let kind = ServerReport::layout(answer)?;
        let at = kind.report_at();
        let word = |n: usize| be32(answer, at + 4 * n).map(u64::from);
        let is_wide = kind == Generation::Wide;
        let high = |at| match is_wide {
            true => u64::from(be32(answer, at).unwrap_or(0)) << 32,
            false => 0,
        };
        let jitter = jitter_word(kind);
        // Fractions of a second: a larger value means that this is not a report.
        if word(4)? >= US_PER_S || word(jitter + 1)? >= US_PER_S {
            return None;
        }
        Some(ServerReport {
            bytes: word(1)? << 32 | word(2)?,
            duration_us: word(3)? * US_PER_S + word(4)?,
            lost: high(116) | word(5)?,
            out_of_order: high(120) | word(6)?,
            datagrams: high(124) | word(7)?,
            jitter_us: word(jitter)? * US_PER_S + word(jitter + 1)?,
            transit: match is_wide && be32(answer, at)? & base::EXTEND != 0 {
                true => ServerReport::parse_transit(answer),
                false => None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The answer of `iperf -s -u` 2.1.8 to ids 1, 2, 4, 5, 5, 6, 8, 7, 9, 10, −11 in datagrams of 200 bytes.
    const CAPTURED: [u8; 56] = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08,
        0x98, 0, 0, 0, 0, 0, 0, 0x04, 0x8d, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x0b, 0, 0, 0, 0, 0,
        0, 0, 0x3e,
    ];
    const REPORT: ServerReport = ServerReport {
        bytes: 2200,
        duration_us: 0x48d,
        lost: 0,
        out_of_order: 2,
        datagrams: 11,
        jitter_us: 62,
        transit: None,
    };

    #[test]
    fn a_report_as_captured() {
        assert_eq!(ServerReport::parse(&CAPTURED), Some(REPORT));
        let out = REPORT.emit(Generation::Wide, &[]);
        assert_eq!(out[..56], CAPTURED);
        assert_eq!(out[56..], [0; 72]);
    }

    // The words of the answer of `iperf -s -u` to `iperf -u --trip-times -n 3000`, both 2.1.8, from the flags on.
    const WITH_TIMES: [u32; 28] = [
        0xc800_0000,
        0,
        0x1176,
        0,
        0x585d,
        0,
        0,
        4,
        0,
        0xc,
        0,
        2,
        0,
        0x6a,
        0,
        0x94,
        0,
        0x25,
        0x19a6,
        0,
        0,
        0xffff_ffe8,
        4,
        0xb0,
        1,
        0,
        0,
        0,
    ];

    #[test]
    fn one_way_times_as_captured() {
        let mut captured = [0; ANSWER_LEN];
        put_words(&mut captured, 16, &WITH_TIMES);
        let report = ServerReport::parse(&captured).unwrap();
        // The binary itself printed 0.037/0.002/0.106/0.047 ms of them.
        let transit = report.transit.unwrap();
        assert_eq!((transit.count, transit.min_us, transit.max_us), (4, 2, 106));
        assert_eq!(transit.mean_us, 37.0);
        assert_eq!(transit.stdev_us().round(), 47.0);
        let again = report.emit(Generation::Wide, &[]);
        assert_eq!(ServerReport::parse(&again), Some(report));
        assert_eq!(again[..96], captured[..96]);
        let behind = ServerReport {
            transit: Some(Transit::of(-2_500_000)),
            ..report
        };
        let parsed = ServerReport::parse(&behind.emit(Generation::Wide, &[]));
        assert_eq!(parsed, Some(behind));
        let narrow = report.emit(Generation::V205, &[]);
        assert_eq!(ServerReport::parse(&narrow).unwrap().transit, None);
    }

    // The answer of `iperf -s -u` 2.0.13 to numbers 1 to 20 and the last one 21 with its top bit set, 200 bytes each.
    const OF_2012: [u32; 15] = [
        0x8000_0015,
        0x6b05_c6c5,
        0x000e_9960,
        0,
        0x8000_0000,
        0,
        0x0fa0,
        0,
        0x0003_9ebc,
        1,
        0,
        0x15,
        0,
        0,
        0x19,
    ];

    #[test]
    fn layout_of_2_0_10_to_2_0_12() {
        let mut captured = [0; 60];
        put_words(&mut captured, 0, &OF_2012);
        assert_eq!(ServerReport::layout(&captured), Some(Generation::V2010));
        let report = ServerReport::parse(&captured).unwrap();
        let what = (report.lost, report.out_of_order, report.datagrams);
        assert_eq!((what, report.jitter_us), ((1, 0, 21), 0x19));
        assert_eq!(report.bytes, 4000);
        let again = report.emit(Generation::V2010, &captured);
        assert_eq!(again[..60], captured);
    }

    #[test]
    fn layout_of_2_0_5() {
        let last = [0xff, 0xff, 0xff, 0xf5, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let out = REPORT.emit(Generation::V205, &last);
        assert_eq!(out[..12], last[..12]);
        assert_eq!(out[12..16], [0x80, 0, 0, 0]);
        assert_eq!(out[16..52], CAPTURED[20..56]);
        // 11 datagrams in 1.165 ms.
        assert_eq!(out[104..112], [0, 0, 0x24, 0xe2, 0, 0, 0, 1]);
        assert_eq!(ServerReport::parse(&out[..52]), Some(REPORT));
        assert_eq!(ServerReport::parse(&out[..51]), None);
    }

    #[test]
    fn counts_beyond_32_bits() {
        let report = ServerReport {
            bytes: u64::MAX,
            duration_us: 86_400 * US_PER_S + 1,
            lost: 1 << 33,
            out_of_order: (1 << 32) + 1,
            datagrams: 1 << 40,
            jitter_us: 3 * US_PER_S + 5,
            transit: None,
        };
        let out = report.emit(Generation::WideBare, &[]);
        assert_eq!(out[116..], [0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(ServerReport::parse(&out), Some(report));
    }

    #[test]
    fn what_is_no_report() {
        assert_eq!(ServerReport::parse(&[]), None);
        assert_eq!(ServerReport::parse(&[0; 128]), None);
        let mut stale = [0xFF; STALE_ACK_LEN];
        stale[..4].copy_from_slice(&[0, 0, 0, 2]);
        assert_eq!(ServerReport::parse(&stale), None);
    }
}
