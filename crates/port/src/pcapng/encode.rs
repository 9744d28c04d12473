//! pcapng blocks for writing: little-endian, each padded to 32 bits, with its length at both ends.
//!
//! After draft-ietf-opsawg-pcapng. `decode.rs` reads it.

/// Block types (draft-ietf-opsawg-pcapng, 11.1).
pub(super) mod kind {
    pub const SECTION_HEADER: u32 = 0x0A0D_0D0A;
    pub const INTERFACE_DESCRIPTION: u32 = 1;
    pub const OBSOLETE_PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const INTERFACE_STATISTICS: u32 = 5;
    pub const ENHANCED_PACKET: u32 = 6;
}

/// Codes of options.
pub(super) mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const SHB_USERAPPL: u16 = 4;
    pub const IF_NAME: u16 = 2;
    pub const IF_SPEED: u16 = 8;
    pub const IF_TSRESOL: u16 = 9;
    pub const IF_FCSLEN: u16 = 13;
    pub const IF_TSOFFSET: u16 = 14;
    pub const EPB_FLAGS: u16 = 2;
    pub const EPB_DROPCOUNT: u16 = 4;
    pub const ISB_IFRECV: u16 = 4;
    pub const ISB_IFDROP: u16 = 5;
    pub const ISB_OSDROP: u16 = 7;
}

/// Magic number that shows the byte order of a section.
pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;

/// Start and end of an interface's comment, with a time between them. In its section, frames sent before that time,
/// in ns of the sender's clock, belong to an earlier run.
pub(super) const SENT_SINCE: [&str; 2] = ["frames sent before ", " ns are of an earlier run"];

/// Bytes of an Enhanced Packet Block around the frame and its padding.
pub(super) const PACKET_OVERHEAD: usize = 32;

/// The writer's description of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceSpec {
    /// Its name.
    pub name: String,
    /// Link rate in bit/s, if there is one.
    pub link_rate_bits_per_s: Option<u64>,
    /// Most bytes kept of a frame; 0 for no limit.
    pub snap_len: u32,
    /// Bytes of FCS at the end of each written frame.
    pub fcs_bytes: u8,
}

impl InterfaceSpec {
    /// An interface that keeps whole frames and has no known link rate.
    pub fn named(name: impl Into<String>) -> InterfaceSpec {
        InterfaceSpec {
            name: name.into(),
            ..InterfaceSpec::default()
        }
    }
}

/// Append a block whose body is written by `body`.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let len = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
}

fn put_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out, value.len());
}

fn pad(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&[0; 3][..len.next_multiple_of(4) - len]);
}

/// Section Header Block. The section's length stays open, as a streaming writer requires.
pub(super) fn section_header(out: &mut Vec<u8>, application: &str) {
    block(out, kind::SECTION_HEADER, |out| {
        out.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend_from_slice(&1u16.to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        put_option(out, option::SHB_USERAPPL, application.as_bytes());
        put_option(out, option::END, &[]);
    });
}

/// Interface Description Block: Ethernet, times in ns. Frames sent before `sent_since_ns` belong to an earlier run.
pub(super) fn interface_description(
    out: &mut Vec<u8>,
    spec: &InterfaceSpec,
    sent_since_ns: Option<u64>,
) {
    block(out, kind::INTERFACE_DESCRIPTION, |out| {
        out.extend_from_slice(&(super::LINKTYPE_ETHERNET as u16).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&spec.snap_len.to_le_bytes());
        if let Some(ns) = sent_since_ns {
            let [before, behind] = SENT_SINCE;
            put_option(
                out,
                option::COMMENT,
                format!("{before}{ns}{behind}").as_bytes(),
            );
        }
        put_option(out, option::IF_NAME, spec.name.as_bytes());
        if let Some(rate) = spec.link_rate_bits_per_s {
            put_option(out, option::IF_SPEED, &rate.to_le_bytes());
        }
        put_option(out, option::IF_TSRESOL, &[super::Resolution::NANOSECOND.0]);
        put_option(out, option::IF_FCSLEN, &[spec.fcs_bytes]);
        put_option(out, option::END, &[]);
    });
}

/// Enhanced Packet Block of `frame`, which had `original_len` bytes on the link (both without FCS, unless the
/// interface declares one).
pub(super) fn enhanced_packet(
    out: &mut Vec<u8>,
    interface: u32,
    time_ns: u64,
    frame: &[u8],
    original_len: u32,
) {
    let len = PACKET_OVERHEAD + frame.len().next_multiple_of(4);
    out.reserve(len);
    for word in [
        kind::ENHANCED_PACKET,
        len as u32,
        interface,
        (time_ns >> 32) as u32,
        time_ns as u32,
        frame.len() as u32,
        original_len,
    ] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(frame);
    pad(out, frame.len());
    out.extend_from_slice(&(len as u32).to_le_bytes());
}

/// Interface Statistics Block: the frames that the interface received, and those that the capture lost.
pub(super) fn interface_statistics(
    out: &mut Vec<u8>,
    interface: u32,
    time_ns: u64,
    received: u64,
    dropped: u64,
) {
    block(out, kind::INTERFACE_STATISTICS, |out| {
        out.extend_from_slice(&interface.to_le_bytes());
        out.extend_from_slice(&((time_ns >> 32) as u32).to_le_bytes());
        out.extend_from_slice(&(time_ns as u32).to_le_bytes());
        put_option(out, option::ISB_IFRECV, &received.to_le_bytes());
        put_option(out, option::ISB_IFDROP, &dropped.to_le_bytes());
        put_option(out, option::END, &[]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_header_byte_for_byte() {
        let mut out = Vec::new();
        section_header(&mut out, "wl");
        #[rustfmt::skip]
        assert_eq!(out, [
            0x0A, 0x0D, 0x0D, 0x0A, 40, 0, 0, 0,
            0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0,
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            4, 0, 2, 0, b'w', b'l', 0, 0,
            0, 0, 0, 0, 40, 0, 0, 0,
        ]);
    }

    #[test]
    fn interface_description_byte_for_byte() {
        let mut out = Vec::new();
        let spec = InterfaceSpec {
            link_rate_bits_per_s: Some(100_000_000),
            ..InterfaceSpec::named("a0")
        };
        interface_description(&mut out, &spec, None);
        #[rustfmt::skip]
        assert_eq!(out, [
            1, 0, 0, 0, 60, 0, 0, 0,
            1, 0, 0, 0, 0, 0, 0, 0,
            2, 0, 2, 0, b'a', b'0', 0, 0,
            8, 0, 8, 0, 0x00, 0xE1, 0xF5, 0x05, 0, 0, 0, 0,
            9, 0, 1, 0, 9, 0, 0, 0,
            13, 0, 1, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 60, 0, 0, 0,
        ]);
    }

    #[test]
    fn enhanced_packet_byte_for_byte() {
        let mut out = Vec::new();
        enhanced_packet(&mut out, 3, 0x0102_0304_0506_0708, &[1, 2, 3, 4, 5], 64);
        #[rustfmt::skip]
        assert_eq!(out, [
            6, 0, 0, 0, 40, 0, 0, 0,
            3, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5,
            5, 0, 0, 0, 64, 0, 0, 0,
            1, 2, 3, 4, 5, 0, 0, 0, 40, 0, 0, 0,
        ]);
    }

    #[test]
    fn interface_statistics_byte_for_byte() {
        let mut out = Vec::new();
        interface_statistics(&mut out, 1, 5, 6, 7);
        #[rustfmt::skip]
        assert_eq!(out, [
            5, 0, 0, 0, 52, 0, 0, 0,
            1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0,
            4, 0, 8, 0, 6, 0, 0, 0, 0, 0, 0, 0,
            5, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 52, 0, 0, 0,
        ]);
    }
}
