//! The flag words of the client header and of the server report.

/// Bits of the first word of a client header, and of a server report.
pub mod base {
    /// A header of the first version; without [`VERSION2`] it requests traffic back to a port of the client.
    pub const VERSION1: u32 = 0x8000_0000;
    /// The extension follows the first 24 bytes; in a report: its second part is valid.
    pub const EXTEND: u32 = 0x4000_0000;
    /// The upper flags describe the datagrams of a UDP test.
    pub const UDP_TESTS: u32 = 0x2000_0000;
    /// Sequence numbers have 64 bits.
    pub const IDS_64: u32 = 0x0800_0000;
    /// Traffic back on the same socket, or detection of the peer.
    pub const VERSION2: u32 = 0x0400_0000;
    /// The client waits for an answer to its header before it sends (`-X`).
    pub const WANTS_ACK: u32 = 0x0200_0000;
    /// A bounceback header, which has its own layout (TCP).
    pub const BOUNCEBACK: u32 = 0x0080_0000;
    /// Bits 8 to 1 hold the length of the header in bytes.
    pub const HAS_LENGTH: u32 = 0x0001_0000;
    /// The bits of that length.
    pub const LENGTH_MASK: u32 = 0x0000_01FE;
    /// Traffic back at the same time (`-d`), not after the client's own (`-r`).
    pub const RUN_NOW: u32 = 0x0000_0001;
}

/// Bits of the upper flags, a half word of the extension.
pub mod upper {
    /// No final datagram on the way back.
    pub const NO_FINAL: u16 = 0x0008;
    /// Datagrams or blocks carry the time of the sender's clock for one-way latency.
    pub const TRIP_TIMES: u16 = 0x0010;
    /// The rate counts packets, not bits.
    pub const PACKET_RATE: u16 = 0x0080;
    /// Only the server sends, on the same socket (`-R`).
    pub const REVERSE: u16 = 0x0400;
    /// Both send, on the same socket (`--full-duplex`).
    pub const FULL_DUPLEX: u16 = 0x0800;
}

/// The word at offset 16 of short datagrams with `--trip-times`.
pub const SMALL_TRIP_TIMES: u32 = 0x0002_0000;

/// The first word of the version that 2.0.10 to 2.0.13 write in a header.
pub const VERSION_2_0: u32 = 0x0002_0000;

/// Offset 16 of a buffer filled with digits: some bits are set, but they are not flags.
pub const DIGITS_AT_16: u32 = 0x3637_3839;

/// Fills a buffer with the digits 0 to 9, as iperf does; `from` is the offset of its first byte in the datagram.
pub fn fill_digits(buf: &mut [u8], from: usize) {
    for (at, byte) in buf.iter_mut().enumerate() {
        *byte = b'0' + ((from + at) % 10) as u8;
    }
}
