//! The client header: the client's request to a server. In a UDP datagram it follows the head, over TCP it is first.
//!
//! ```text
//!  0  flags             12  length (-l), 0: default    24  type, length     44  rate, low word
//!  4  threads           16  window or rate (2.0.5)     32  upper flags      48  rate, high word << 8
//!  8  port of -r, -d    20  amount                     36  version          52  write prefetch
//!                                                      44  … from 24 on the extension (2.0.13 and later)
//! ```
//! The extension is 36 bytes in 2.1 and 40 in 2.2, which appends a word that is 0 here. `--trip-times` adds the start
//! time: at 96 of 112 bytes in a datagram, and at 64 of 80 bytes over TCP.

use super::amount::{Amount, Rate};
use super::bytes::{be16, be32, put_words};
use super::datagram::{DIGITS_AT_12, Generation, NARROW_LEN, WIDE_LEN};
use super::flags::{DIGITS_AT_16, VERSION_2_0, base, upper};

/// Bytes of the header without extension.
pub const V1_LEN: usize = 24;
/// Bytes of the header with the extension, as 2.1 and this implementation send it.
pub const EXTENDED_LEN: usize = 60;
/// Bytes of the header of a datagram with `--trip-times`, and the number that its flags give, including the head.
const TIMED_LEN: usize = 112;
const TIMED_FLAG_LEN: usize = 108;
/// Bytes of the same over TCP.
pub const TIMED_TCP_LEN: usize = 80;
/// Smallest datagram with `--trip-times` and a header, as in 2.1.8; shorter ones are [`Generation::SmallTripTimes`].
pub const LEAST_TIMED_DATAGRAM: u32 = 128;
/// Default length of a datagram over IPv4: it fits Ethernet.
pub const DATAGRAM_BYTES: u32 = 1470;
/// Default length of a datagram over IPv6: it fits Ethernet, which 1470 does not.
pub const DATAGRAM_BYTES_IPV6: u32 = 1450;
/// Bytes of the answer to a header that requests one.
pub const ACK_LEN: usize = 28;
/// The version sent to peers: that of iperf 2.1.8, whose layout is used.
const VERSION: [u32; 2] = [0x0002_0001, 0x0008_0003];
/// The second word of the version of the last release with the layout of 2.0.10.
const LAST_AS_2010: u32 = 0x000D_0000;
/// The second word of the version of 2.0.13.
const OF_2013: u32 = 0x000D_0003;
/// Where 2.0.6 to 2.0.9 have the rate in a datagram, after the header; 2.0.5 has it in the word of the window.
const RATE_BEHIND: usize = NARROW_LEN + V1_LEN;
/// The low bits of the word for threads; 2.2 keeps an identification in the others.
const THREADS_MASK: u32 = 0x000F_FFFF;

/// Which ends send, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Only the client.
    Forward,
    /// Then the server, on its own connection back to the given port (`-r`).
    Tradeoff,
    /// Both at once, the server on its own connection back to the given port (`-d`).
    Dual,
    /// Only the server, on the same socket (`-R`).
    Reverse,
    /// Both at once, on the same socket (`--full-duplex`).
    FullDuplex,
}

/// The extension of 2.0.13 and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Upper flags ([`upper`]).
    pub upper: u16,
    /// Lower flags.
    pub lower: u16,
    /// Version of the peer, in its own encoding.
    pub version: [u32; 2],
    /// Type of service requested for the traffic back.
    pub tos: u16,
    /// Requested rate, in bits or, with [`upper::PACKET_RATE`], packets per second; 0 for none.
    pub rate: u64,
}

/// A client's request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHeader {
    /// The first word ([`base`]).
    pub flags: u32,
    /// Parallel streams of the client.
    pub threads: u32,
    /// Port of the client for the traffic back.
    pub port: u16,
    /// Length of a datagram or a write, 0 for the default.
    pub length_bytes: u32,
    /// Window; in 2.0.5 the rate of UDP traffic back in bit/s.
    pub window_bytes: u32,
    /// How much the client sends, and requests back.
    pub amount: Amount,
    /// The extension, where there is one.
    pub extension: Option<Extension>,
    /// When the flow starts by the sender's wall clock, in s and µs, where it is written with `--trip-times`; a parsed
    /// header has none.
    pub start: Option<(u32, u32)>,
}

/// Bytes of a datagram, for which a header gives 0 if they are the default.
const fn or_default(length_bytes: u32) -> u32 {
    match length_bytes {
        0 => DATAGRAM_BYTES,
        bytes => bytes,
    }
}

impl ClientHeader {
    /// Reads a header at the start of the given bytes; `None` where they are not one, are truncated, or are
    /// implausible.
    pub fn parse(bytes: &[u8]) -> Option<ClientHeader> {
        let word = |at| be32(bytes, at);
        let flags = word(0)?;
        let known = flags & (base::VERSION1 | base::EXTEND) != 0;
        let threads = word(4)? & THREADS_MASK;
        let port = u16::try_from(word(8)?).ok()?;
        let amount = Amount::from_wire(word(20)?);
        // This is payload with some bit set: no client runs so many threads or has port 0.
        if !known || flags & base::BOUNCEBACK != 0 || !(1..=65_535).contains(&threads) || port == 0
        {
            return None;
        }
        Some(ClientHeader {
            flags,
            threads,
            port,
            length_bytes: word(12)?,
            window_bytes: word(16)?,
            amount,
            extension: (flags & base::EXTEND != 0)
                .then(|| Extension::parse(bytes))
                .flatten(),
            start: None,
        })
    }

    /// Reads the header of a datagram of a generation; `None` where it has none.
    pub fn of_datagram(kind: Generation, datagram: &[u8]) -> Option<ClientHeader> {
        let mut header = ClientHeader::parse(datagram.get(kind.header_at()?..)?)?;
        if kind == Generation::V205 && header.window_bytes == 0 {
            let rate = be32(datagram, RATE_BEHIND).filter(|rate| *rate != DIGITS_AT_16);
            header.window_bytes = rate.unwrap_or(0);
        }
        Some(header)
    }

    /// Reads the header at the start of a TCP connection. Without an extension it has no rate there: the word has the
    /// window of 2.0.5, or digits from 2.0.10 on.
    pub fn of_stream(bytes: &[u8]) -> Option<ClientHeader> {
        let mut header = ClientHeader::parse(bytes)?;
        if header.extension.is_none() {
            header.window_bytes = 0;
        }
        Some(header)
    }

    /// Writes the header into a datagram of a generation, as far as it fits.
    pub fn emit_into(&self, kind: Generation, datagram: &mut [u8]) {
        let Some(at) = kind.header_at() else { return };
        let _ = self.emit(datagram.get_mut(at..).unwrap_or_default());
        if kind == Generation::V205 {
            put_words(datagram, RATE_BEHIND, &[self.window_bytes]);
        }
    }

    /// Smallest datagram of a generation that holds the whole header.
    pub const fn bytes_in(&self, kind: Generation) -> usize {
        match (kind, self.extension.is_some()) {
            (Generation::V205, _) => RATE_BEHIND + 4,
            (_, true) => WIDE_LEN + self.bytes(),
            (_, false) => WIDE_LEN + V1_LEN,
        }
    }

    /// Bytes of the whole header over TCP; more may follow.
    pub fn tcp_len(first_word: u32) -> usize {
        if first_word & base::BOUNCEBACK != 0 || first_word & (base::VERSION1 | base::EXTEND) == 0 {
            return 0;
        }
        if first_word & base::HAS_LENGTH == 0 {
            return V1_LEN;
        }
        ((first_word & base::LENGTH_MASK) >> 1).max(V1_LEN as u32) as usize
    }

    /// Bytes of the header.
    pub const fn bytes(&self) -> usize {
        match (self.extension, self.start) {
            (None, _) => V1_LEN,
            (Some(_), None) => EXTENDED_LEN,
            (Some(_), Some(_)) if self.flags & base::IDS_64 != 0 => TIMED_LEN,
            (Some(_), Some(_)) => TIMED_TCP_LEN,
        }
    }

    /// Writes the header, with its extension if it has one; returns the length, or `None` where it does not fit.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let len = self.bytes();
        let out = out.get_mut(..len)?;
        out.fill(0);
        let words = [
            self.flags,
            self.threads,
            u32::from(self.port),
            self.length_bytes,
            self.window_bytes,
            self.amount.to_wire(),
        ];
        put_words(out, 0, &words);
        if let Some(extension) = &self.extension {
            extension.emit(out);
        }
        if let Some((seconds, us)) = self.start {
            put_words(out, len - 16, &[seconds, us]);
        }
        Some(len)
    }

    /// Its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = vec![0; self.bytes()];
        // The buffer has the size of the header.
        let _ = self.emit(&mut out);
        out
    }

    /// A header as 2.1.8 writes it, without the flags of the mode, which [`ClientHeader::with_mode`] sets.
    ///
    /// The length is 0 where the default is used. `udp` decides the flags and the length that they give.
    pub fn new(udp: bool, port: u16, length_bytes: u32, amount: Amount, rate: Rate) -> Self {
        let mut flags = base::EXTEND | base::HAS_LENGTH;
        let mut len = EXTENDED_LEN;
        if udp {
            flags |= base::IDS_64;
            len += WIDE_LEN;
        }
        // A packet rate is sent in bit/s, because generations interpret it differently.
        let bits = rate.bits_per_s(or_default(length_bytes)).unwrap_or(0);
        ClientHeader {
            flags: flags | (len as u32) << 1,
            threads: 1,
            port,
            length_bytes,
            window_bytes: 0,
            amount,
            extension: Some(Extension {
                upper: 0,
                lower: 0,
                version: VERSION,
                tos: 0,
                rate: bits,
            }),
            start: None,
        }
    }

    /// Adds a request for one-way times (`--trip-times`) of a flow that starts at `start`, in s and µs of the sender's
    /// wall clock. A header without extension stays as it is.
    #[must_use]
    pub fn with_trip_times(mut self, start: (u32, u32)) -> Self {
        let Some(extension) = &mut self.extension else {
            return self;
        };
        extension.upper |= upper::TRIP_TIMES;
        self.start = Some(start);
        let len = match self.flags & base::IDS_64 {
            0 => TIMED_TCP_LEN,
            _ => TIMED_FLAG_LEN,
        };
        if self.flags & base::IDS_64 != 0 {
            self.flags |= base::UDP_TESTS;
        }
        self.flags = self.flags & !base::LENGTH_MASK | (len as u32) << 1;
        self
    }

    /// The header as a generation before 2.1 writes it; unchanged for a generation without requests.
    #[must_use]
    pub fn of_generation(mut self, generation: Generation) -> Self {
        // Their word for the rate is signed.
        let bits = match self.rate() {
            Some(Rate::BitsPerS(bits)) => bits.min(i32::MAX as u64),
            _ => 0,
        };
        let asks = self.flags & (base::VERSION1 | base::RUN_NOW);
        match generation {
            Generation::V205 => {
                self.flags = asks;
                self.window_bytes = bits as u32;
                self.extension = None;
            }
            Generation::V2010 if asks == 0 => {
                self.flags = 0;
                self.extension = None;
            }
            Generation::V2010 | Generation::V2013 => {
                let (ids, minor) = match generation {
                    Generation::V2013 => (base::IDS_64, OF_2013),
                    _ => (0, LAST_AS_2010),
                };
                self.flags = asks | base::EXTEND | ids;
                let version = [VERSION_2_0, minor];
                self.extension = self.extension.map(|extension| Extension {
                    version,
                    rate: bits,
                    ..extension
                });
            }
            _ => {}
        }
        self
    }

    /// The header with the flags of a mode.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        let udp = self.flags & base::IDS_64 != 0;
        let (flags, more) = match mode {
            Mode::Forward => (0, 0),
            Mode::Tradeoff => (base::VERSION1, 0),
            Mode::Dual => (base::VERSION1 | base::RUN_NOW, 0),
            Mode::Reverse => (base::VERSION2, upper::REVERSE),
            Mode::FullDuplex if udp => (base::VERSION2, upper::FULL_DUPLEX | upper::NO_FINAL),
            Mode::FullDuplex => (base::VERSION2, upper::FULL_DUPLEX),
        };
        self.flags |= flags;
        if udp && flags & base::VERSION2 != 0 {
            self.flags |= base::UDP_TESTS;
        }
        if let Some(extension) = &mut self.extension {
            extension.upper |= more;
        }
        self
    }

    /// Who sends, and when.
    pub fn mode(&self) -> Mode {
        if self.flags & base::VERSION2 != 0 {
            let upper = self.extension.map_or(0, |extension| extension.upper);
            return match upper & (upper::REVERSE | upper::FULL_DUPLEX) {
                0 => Mode::Forward,
                upper::REVERSE => Mode::Reverse,
                _ => Mode::FullDuplex,
            };
        }
        match (
            self.flags & base::VERSION1 != 0,
            self.flags & base::RUN_NOW != 0,
        ) {
            (false, _) => Mode::Forward,
            (true, false) => Mode::Tradeoff,
            (true, true) => Mode::Dual,
        }
    }

    /// Whether the client waits for [`ack`] before it sends over TCP.
    pub const fn wants_ack(&self) -> bool {
        self.flags & base::WANTS_ACK != 0
    }

    /// Whether it requests one-way times (`--trip-times`).
    pub fn wants_trip_times(&self) -> bool {
        let upper = self.extension.map_or(0, |extension| extension.upper);
        upper & upper::TRIP_TIMES != 0
    }

    /// What a server writes before its traffic back on one connection or socket where this requests one-way times: the
    /// client reads the start time from it. It requests nothing back, or two servers would answer each other forever.
    /// `None` where one-way times are not requested.
    pub fn answer_with_times(&self, udp: bool, start: (u32, u32)) -> Option<ClientHeader> {
        let on_one = matches!(self.mode(), Mode::Reverse | Mode::FullDuplex);
        if !self.wants_trip_times() || !on_one {
            return None;
        }
        let header = ClientHeader::new(udp, self.port, self.length_bytes, self.amount, Rate::Max);
        let mut header = header.with_trip_times(start);
        if let (Some(extension), true) = (&mut header.extension, udp) {
            extension.upper |= upper::NO_FINAL;
        }
        Some(header)
    }

    /// The type of service requested for the traffic back; `None` where the header has none.
    pub fn tos(&self) -> Option<u8> {
        // 2.0.10 to 2.0.13 leave old buffer contents there.
        let extension = self.extension.filter(|of| of.version[0] != VERSION_2_0)?;
        u8::try_from(extension.tos).ok().filter(|tos| *tos != 0)
    }

    /// The rate requested for the traffic back; `None` where the header has none.
    pub fn rate(&self) -> Option<Rate> {
        let (rate, packets) = match &self.extension {
            Some(extension) => (extension.rate, extension.upper & upper::PACKET_RATE != 0),
            // 2.0.10 to 2.0.13 leave old buffer contents there.
            None if self.window_bytes == DIGITS_AT_12 => (0, false),
            None => (u64::from(self.window_bytes), false),
        };
        match (rate, packets) {
            (0, _) => None,
            (_, true) => Some(Rate::PacketsPerS(rate)),
            (_, false) => Some(Rate::BitsPerS(rate)),
        }
    }

    /// The requested rate in bit/s; `None` where the header has no rate.
    pub fn bits_per_s(&self) -> Option<u64> {
        self.rate()?.bits_per_s(or_default(self.length_bytes))
    }
}

impl Extension {
    /// Reads the extension from the bytes of the whole header. A client with short datagrams truncates it, so the rate
    /// may be missing.
    fn parse(bytes: &[u8]) -> Option<Extension> {
        let version = [be32(bytes, 36)?, be32(bytes, 40)?];
        // 2.0.10 to 2.0.13 leave old buffer contents there.
        let high = match version[0] {
            VERSION_2_0 => 0,
            _ => be32(bytes, 52).unwrap_or(0) >> 8,
        };
        Some(Extension {
            upper: be16(bytes, 32)?,
            lower: be16(bytes, 34)?,
            version,
            tos: be16(bytes, 46).unwrap_or(0),
            rate: u64::from(be32(bytes, 48).unwrap_or(0)) | u64::from(high) << 32,
        })
    }

    fn emit(&self, out: &mut [u8]) {
        let words = [
            u32::from(self.upper) << 16 | u32::from(self.lower),
            self.version[0],
            self.version[1],
            u32::from(self.tos),
            self.rate as u32,
            ((self.rate >> 32) as u32) << 8,
        ];
        put_words(out, 32, &words);
    }
}

/// The server generation, of 2.0.10 to 2.0.13, that answers a header with an extension in this form, if any.
pub fn acknowledged_by(answer: &[u8]) -> Option<Generation> {
    let word = |at| be32(answer, at);
    let is_ack = answer.len() == ACK_LEN && word(0) == Some(2) && word(12) == Some(VERSION_2_0);
    is_ack.then(|| match word(16) {
        Some(minor) if minor > LAST_AS_2010 => Generation::V2013,
        _ => Generation::V2010,
    })
}

/// The answer to a header that requests one: type, length, flags, version, two reserved words.
pub fn ack() -> [u8; ACK_LEN] {
    let mut out = [0; ACK_LEN];
    put_words(&mut out, 0, &[2, ACK_LEN as u32, 0, VERSION[0], VERSION[1]]);
    out
}

#[cfg(test)]
mod tests;
