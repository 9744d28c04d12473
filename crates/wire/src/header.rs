//! The 18-byte test header: parsing and writing.
//!
//! ```text
//!  0  magic "WL"            8  transmit time, ns modulo 2^48
//!  2  version | flags      14  length of the LFSR part, bytes
//!  3  stream               16  RFC 1071 checksum of bytes 0..16
//!  4  sequence
//! ```
//! All fields are big-endian; see `spec/test-frame.md`.

/// Length of the test header in bytes.
pub const LEN: usize = 18;
/// EtherType of test frames: IEEE Std 802 Local Experimental EtherType 1.
pub const ETHERTYPE: u16 = 0x88B5;
/// Default destination UDP port of test frames.
pub const UDP_PORT: u16 = 5003;
/// First two bytes of every test header.
pub const MAGIC: [u8; 2] = *b"WL";
/// Version of the format.
pub const VERSION: u8 = 1;
/// The transmit time counts nanoseconds modulo this.
pub const TIME_MODULUS: u64 = 1 << 48;

mod field {
    use core::ops::Range;
    pub const MAGIC: Range<usize> = 0..2;
    pub const VERSION_FLAGS: usize = 2;
    pub const STREAM: usize = 3;
    pub const SEQUENCE: Range<usize> = 4..8;
    pub const TIME: Range<usize> = 8..14;
    pub const LFSR_LEN: Range<usize> = 14..16;
    pub const CHECKSUM: Range<usize> = 16..18;
}

/// The low nibble of byte 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// The transmit time is valid.
    pub const TIME_VALID: Flags = Flags(1);
    /// The transmit time is the node's clock, not the tester's.
    pub const NODE_CLOCK: Flags = Flags(2);
    /// The frame is prebuilt and sent repeatedly; the sequence is its slot number.
    pub const REPEATING: Flags = Flags(4);
    /// Reserved: sent as 0, ignored on receipt.
    pub const RESERVED: Flags = Flags(8);

    /// Flags from the low nibble of `bits`.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits & 0x0F)
    }
    /// The flags as the low nibble of a byte.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both sets of flags.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Why bytes are not a valid test header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// Fewer than [`LEN`] bytes.
    Short,
    /// The first two bytes are not the magic.
    Magic,
    /// The checksum does not match, so no field may be used.
    Checksum,
    /// A version that this implementation does not know (the checksum is right).
    Version(u8),
}

/// A test header, parsed or to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The flags of byte 2.
    pub flags: Flags,
    /// Stream number: one flow of sequences.
    pub stream: u8,
    /// Sequence number, or slot number of a repeating frame.
    pub sequence: u32,
    /// Transmit time in ns; only the low 48 bits are sent.
    pub time_ns: u64,
    /// Length of the LFSR part in bytes.
    pub lfsr_len: u16,
}

impl Header {
    /// Parse and check the first [`LEN`] bytes.
    ///
    /// # Errors
    /// [`HeaderError`] names the failed check; no field of a header with a wrong checksum may be used.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Header, HeaderError> {
        let Some(bytes) = bytes.first_chunk::<LEN>() else {
            return Err(HeaderError::Short);
        };
        if bytes[field::MAGIC] != MAGIC {
            return Err(HeaderError::Magic);
        }
        if bytes[field::CHECKSUM] != checksum(bytes).to_be_bytes() {
            return Err(HeaderError::Checksum);
        }
        let version = bytes[field::VERSION_FLAGS] >> 4;
        if version != VERSION {
            return Err(HeaderError::Version(version));
        }
        let mut time = [0u8; 8];
        time[2..].copy_from_slice(&bytes[field::TIME]);
        Ok(Header {
            flags: Flags::from_bits(bytes[field::VERSION_FLAGS]),
            stream: bytes[field::STREAM],
            sequence: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            time_ns: u64::from_be_bytes(time),
            lfsr_len: u16::from_be_bytes([bytes[14], bytes[15]]),
        })
    }

    /// Write the header with its checksum.
    #[inline]
    pub fn emit(&self, out: &mut [u8; LEN]) {
        out[field::MAGIC].copy_from_slice(&MAGIC);
        out[field::VERSION_FLAGS] = (VERSION << 4) | self.flags.bits();
        out[field::STREAM] = self.stream;
        out[field::SEQUENCE].copy_from_slice(&self.sequence.to_be_bytes());
        out[field::TIME].copy_from_slice(&self.time_ns.to_be_bytes()[2..]);
        out[field::LFSR_LEN].copy_from_slice(&self.lfsr_len.to_be_bytes());
        let sum = checksum(out);
        out[field::CHECKSUM].copy_from_slice(&sum.to_be_bytes());
    }
}

/// RFC 1071 checksum of the first 16 bytes: the complement of their ones' complement sum.
#[inline]
fn checksum(bytes: &[u8; LEN]) -> u16 {
    let sum: u32 = bytes[..16]
        .chunks_exact(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    // Eight words sum to less than 2^19: two folds are enough.
    let sum = (sum & 0xFFFF) + (sum >> 16);
    !(((sum & 0xFFFF) + (sum >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Literal bytes from spec/test-frame.md; the checksum was calculated by hand there.
    static BYTES: [u8; LEN] = [
        0x57, 0x4C, 0x11, 0x03, 0x00, 0x00, 0x10, 0x01, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x00,
        0x1C, 0x81, 0x8A,
    ];
    const HEADER: Header = Header {
        flags: Flags::TIME_VALID,
        stream: 3,
        sequence: 4097,
        time_ns: 0x0001_0203_0405,
        lfsr_len: 28,
    };

    #[test]
    fn deconstruct() {
        assert_eq!(Header::parse(&BYTES), Ok(HEADER));
    }

    #[test]
    fn construct() {
        let mut out = [0u8; LEN];
        HEADER.emit(&mut out);
        assert_eq!(out, BYTES);
    }

    #[test]
    fn every_single_bit_error_is_found() {
        for byte in 0..LEN {
            for bit in 0..8 {
                let mut bad = BYTES;
                bad[byte] ^= 1 << bit;
                let error = Header::parse(&bad).unwrap_err();
                let expected = if byte < 2 {
                    HeaderError::Magic
                } else {
                    HeaderError::Checksum
                };
                assert_eq!(error, expected, "byte {byte} bit {bit}");
            }
        }
    }

    #[test]
    fn short_and_other_version() {
        assert_eq!(Header::parse(&BYTES[..17]), Err(HeaderError::Short));
        let mut other = BYTES;
        other[2] = 0x21;
        // One more in the version nibble adds 0x1000 to the sum.
        other[16] -= 0x10;
        assert_eq!(Header::parse(&other), Err(HeaderError::Version(2)));
    }

    #[test]
    fn time_is_cut_to_48_bits() {
        let mut out = [0u8; LEN];
        Header {
            time_ns: u64::MAX,
            ..HEADER
        }
        .emit(&mut out);
        assert_eq!(Header::parse(&out).unwrap().time_ns, TIME_MODULUS - 1);
    }
}
