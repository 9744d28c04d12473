//! The UDP side of iperf3: the words that open a stream, and the head of each datagram.
//!
//! ```text
//!  0  time, s      8  number (32 bits, or 64 where both ends agreed)
//!  4  time, µs
//! ```
//! Numbers begin at 1. Its clock is not specified, so only differences count.

/// What the client sends to open a stream, in the byte order of the sending machine.
const HELLO: u32 = 0x3637_3839;
/// The server's answer since 3.10.
const REPLY: u32 = 0x3938_3736;
/// The answer of older servers.
const OLD_REPLY: u32 = 987_654_321;
/// The opening of older clients.
const OLD_HELLO: u32 = 123_456_789;

/// Bytes of the datagram that opens a stream, in both directions.
pub const OPENING_LEN: usize = 4;

/// The datagram that opens a stream.
pub const fn hello() -> [u8; OPENING_LEN] {
    HELLO.to_le_bytes()
}

fn is_word(datagram: &[u8], words: [u32; 2]) -> bool {
    let Ok(bytes) = <[u8; OPENING_LEN]>::try_from(datagram) else {
        return false;
    };
    let read = [u32::from_le_bytes(bytes), u32::from_be_bytes(bytes)];
    words.iter().any(|word| read.contains(word))
}

/// The answer to an opening datagram, in the generation and byte order of the client; `None` for any other datagram.
pub fn reply_to(datagram: &[u8]) -> Option<[u8; OPENING_LEN]> {
    if !is_word(datagram, [HELLO, OLD_HELLO]) {
        return None;
    }
    let bytes = <[u8; OPENING_LEN]>::try_from(datagram).ok()?;
    let little = [HELLO, OLD_HELLO].contains(&u32::from_le_bytes(bytes));
    let word = if is_word(datagram, [HELLO, HELLO]) {
        REPLY
    } else {
        OLD_REPLY
    };
    Some(if little {
        word.to_le_bytes()
    } else {
        word.to_be_bytes()
    })
}

/// Whether this is a server's answer, of any generation and byte order.
pub fn is_reply(datagram: &[u8]) -> bool {
    is_word(datagram, [REPLY, OLD_REPLY])
}

/// Bytes of the head.
pub const fn head_bytes(counters_64: bool) -> usize {
    if counters_64 { 16 } else { 12 }
}

/// The head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    /// The sender's time, whole seconds.
    pub seconds: u32,
    /// The rest of it in µs.
    pub micros: u32,
    /// Its number, from 1 on.
    pub number: u64,
}

impl DatagramHead {
    /// A number and a time in ns since any origin.
    pub const fn new(number: u64, time_ns: u64) -> DatagramHead {
        DatagramHead {
            seconds: (time_ns / 1_000_000_000) as u32,
            micros: (time_ns % 1_000_000_000 / 1000) as u32,
            number,
        }
    }

    /// Reads it; `None` where the datagram is too short.
    pub fn parse(datagram: &[u8], counters_64: bool) -> Option<DatagramHead> {
        let word = |at: usize| {
            let bytes = datagram.get(at..at + 4)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        let first = u64::from(word(8)?);
        let number = if counters_64 {
            first << 32 | u64::from(word(12)?)
        } else {
            first
        };
        Some(DatagramHead {
            seconds: word(0)?,
            micros: word(4)?,
            number,
        })
    }

    /// Writes it; without effect where there is no room. Of a 32-bit number the low word is written.
    pub fn emit(&self, out: &mut [u8], counters_64: bool) {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.micros.to_be_bytes());
        if counters_64 {
            bytes[8..].copy_from_slice(&self.number.to_be_bytes());
        } else {
            bytes[8..12].copy_from_slice(&(self.number as u32).to_be_bytes());
        }
        let len = head_bytes(counters_64);
        if let Some(target) = out.get_mut(..len) {
            target.copy_from_slice(&bytes[..len]);
        }
    }

    /// The sender's time in ns.
    pub const fn time_ns(&self) -> u64 {
        self.seconds as u64 * 1_000_000_000 + self.micros as u64 * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_a_real_client() {
        let narrow = b"\x00\x00G\x1f\x00\x07C\xc6\x00\x00\x00\x01 L\x82$";
        let head = DatagramHead::parse(narrow, false).unwrap();
        assert_eq!(
            (head.seconds, head.micros, head.number),
            (0x471F, 476_102, 1)
        );
        assert_eq!(head.time_ns(), 18_207_476_102_000);
        assert_eq!(DatagramHead::new(1, head.time_ns()), head);
        let wide = b"\x00\x00G\x06\x00\x03as\x00\x00\x00\x05\x00\x00\x00\x01";
        let head = DatagramHead::parse(wide, true).unwrap();
        assert_eq!(head.number, 0x5_0000_0001);
        let mut out = [0; 16];
        head.emit(&mut out, true);
        assert_eq!(&out, wide);
        assert_eq!(DatagramHead::parse(&wide[..15], true), None);
        assert_eq!(DatagramHead::parse(&wide[..11], false), None);
    }

    #[test]
    fn openings_of_both_generations_and_byte_orders() {
        assert_eq!(&hello(), b"9876");
        assert_eq!(reply_to(b"9876").as_ref(), Some(b"6789"));
        assert_eq!(reply_to(b"6789").as_ref(), Some(b"9876"));
        assert_eq!(
            reply_to(&[0x15, 0xCD, 0x5B, 0x07]),
            Some([0xB1, 0x68, 0xDE, 0x3A])
        );
        assert_eq!(
            reply_to(&[0x07, 0x5B, 0xCD, 0x15]),
            Some([0x3A, 0xDE, 0x68, 0xB1])
        );
        assert!(is_reply(b"6789") && is_reply(&[0xB1, 0x68, 0xDE, 0x3A]));
        assert!(!is_reply(b"67890") && reply_to(b"987").is_none() && reply_to(b"0000").is_none());
    }
}
