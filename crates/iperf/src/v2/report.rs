//! The server report: the answer to the final datagram of a UDP test, in the layout of the peer.
//!
//! It follows the head, so it starts at 12 or at 16. Ten words are version 1; from 2.0.13 on thirteen words about
//! transit times and three with high halves follow.

use super::bytes::{be32, put_words};
use super::datagram::{Generation, IdWidth};
use super::flags::base;

/// Bytes of every answer; 2.0.13 wants at least 116.
pub const ANSWER_LEN: usize = 128;
/// An answer that is no report: 2.0.13's late answer to a header has this length and type 2.
const STALE_ACK_LEN: usize = 52;
const US_PER_S: u64 = 1_000_000;

/// What the receiving end says of a UDP test, in the counting of iperf: duplicates are out of order and each takes
/// one from the losses, and the final datagram is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// Application bytes.
    pub bytes: u64,
    /// Duration in µs.
    pub duration_us: u64,
    /// Datagrams lost, less those out of order.
    pub lost: u64,
    /// Datagrams whose number was below the one expected.
    pub out_of_order: u64,
    /// The highest number.
    pub datagrams: u64,
    /// RFC 1889 jitter in µs; it means nothing where the sender writes no times.
    pub jitter_us: u64,
}

impl ServerReport {
    /// Write the answer for a peer. Peers with 12-byte heads get `final_head`, the first words of their final
    /// datagram, back before it, as 2.0.5 did; the others zeros, as 2.1.8 does.
    pub fn emit(&self, peer: Generation, final_datagram: &[u8]) -> [u8; ANSWER_LEN] {
        let mut out = [0; ANSWER_LEN];
        let at = peer.ids().head_bytes();
        let mut flags = base::VERSION1;
        if peer.ids() == IdWidth::Wide {
            flags |= base::IDS_64;
            let high = [self.lost, self.out_of_order, self.datagrams].map(|n| (n >> 32) as u32);
            put_words(&mut out, 116, &high);
        } else {
            let head = final_datagram.len().min(at);
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
            u32::try_from(self.jitter_us / US_PER_S).unwrap_or(u32::MAX),
            (self.jitter_us % US_PER_S) as u32,
        ];
        put_words(&mut out, at, &words);
        out
    }

    /// Read an answer of any generation; `None` where it holds no report, e.g. because the server keeps none.
    pub fn parse(answer: &[u8]) -> Option<ServerReport> {
        if answer.len() == STALE_ACK_LEN && be32(answer, 0) == Some(2) {
            return None;
        }
        let valid = |at| be32(answer, at).is_some_and(|flags| flags & base::VERSION1 != 0);
        // In the long head the word at 12 is the high half of a number: 0, or negative with all bits set.
        let (at, ids) = if valid(16) && !(valid(12) && be32(answer, 12) != Some(u32::MAX)) {
            (16, IdWidth::Wide)
        } else if valid(12) {
            (12, IdWidth::Narrow)
        } else {
            return None;
        };
        let word = |n: usize| be32(answer, at + 4 * n).map(u64::from);
        let counts_have_halves = ids == IdWidth::Wide && be32(answer, at)? & base::IDS_64 != 0;
        let high = |at| match counts_have_halves {
            true => u64::from(be32(answer, at).unwrap_or(0)) << 32,
            false => 0,
        };
        Some(ServerReport {
            bytes: word(1)? << 32 | word(2)?,
            duration_us: word(3)? * US_PER_S + word(4)?,
            lost: high(116) | word(5)?,
            out_of_order: high(120) | word(6)?,
            datagrams: high(124) | word(7)?,
            jitter_us: word(8)? * US_PER_S + word(9)?,
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
    };

    #[test]
    fn a_report_as_captured() {
        assert_eq!(ServerReport::parse(&CAPTURED), Some(REPORT));
        let out = REPORT.emit(Generation::Wide, &[]);
        assert_eq!(out[..56], CAPTURED);
        assert_eq!(out[56..], [0; 72]);
    }

    #[test]
    fn layout_of_2_0_5() {
        let last = [0xff, 0xff, 0xff, 0xf5, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let out = REPORT.emit(Generation::V205, &last);
        assert_eq!(out[..12], last[..12]);
        assert_eq!(out[12..16], [0x80, 0, 0, 0]);
        assert_eq!(out[16..52], CAPTURED[20..56]);
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
