//! Converts the bodies of pcapng blocks to this module's types. The `pcap-parser` crate reads all but packets.
//!
//! `reader.rs` decides which bytes are a block and whether they are complete. Numbers in options are read here,
//! because that crate always reads them as little-endian.

use pcap_parser::pcapng::{
    Block, InterfaceDescriptionBlock, InterfaceStatisticsBlock, PcapNGOption, SimplePacketBlock,
    parse_block_be, parse_block_le,
};

use super::encode::{SENT_SINCE, option};
use super::interface::{Interface, Resolution};

/// Byte order of a section or of a pcap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }

    fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        }
    }

    /// The 32-bit word at `at` of a slice that is long enough.
    #[inline]
    pub(super) fn word(self, bytes: &[u8], at: usize) -> u32 {
        self.u32(bytes[at..at + 4].try_into().expect("four bytes"))
    }
}

/// The position of a frame in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Number of the interface within its section.
    pub interface: u32,
    /// Time stamp in ticks of the interface; simple packets have none.
    pub ticks: Option<u64>,
    /// Offset of the frame within the block.
    pub at: usize,
    /// Captured bytes of the frame.
    pub captured: u32,
    /// Bytes of the frame on the link.
    pub original: u32,
    /// Bytes of FCS, if the packet itself states it.
    pub fcs: Option<u8>,
    /// Frames that the capture lost between the previous one and this.
    pub dropped: u64,
}

/// The parts of a block that are used here.
#[derive(Debug)]
pub(super) enum Content {
    Interface(Interface),
    Packet(Packet),
    /// Frames that the capture lost on an interface.
    Dropped {
        interface: u32,
        frames: u64,
    },
}

/// Read the body of a whole block; `Err` says what is wrong.
pub(super) fn content(bytes: &[u8], order: Order) -> Result<Option<Content>, String> {
    let parsed = match order {
        Order::Little => parse_block_le(bytes),
        Order::Big => parse_block_be(bytes),
    };
    let (_, block) = parsed.map_err(|_| {
        let kind = order.word(bytes, 0);
        format!("the fields of this block (type {kind:#x}) contradict its length")
    })?;
    Ok(match block {
        Block::InterfaceDescription(block) => Some(Content::Interface(interface(&block, order))),
        Block::SimplePacket(block) => Some(Content::Packet(simple(&block))),
        Block::InterfaceStatistics(block) => Some(statistics(&block, order)),
        _ => None,
    })
}

fn interface(block: &InterfaceDescriptionBlock, order: Order) -> Interface {
    let link_type = (block.linktype.0 as u32) & 0xFFFF;
    let mut interface = Interface::new(0, 0, link_type, block.snaplen);
    for (code, value) in options(&block.options) {
        match code {
            option::COMMENT => interface.sent_since_ns = interface.sent_since_ns.or(since(value)),
            option::IF_NAME => interface.name = Some(String::from_utf8_lossy(value).into_owned()),
            option::IF_SPEED => interface.link_rate_bits_per_s = number(value, order),
            option::IF_TSRESOL => {
                interface.resolution = value
                    .first()
                    .map_or(interface.resolution, |&r| Resolution(r));
            }
            option::IF_TSOFFSET => interface.offset_s = number(value, order).unwrap_or(0) as i64,
            option::IF_FCSLEN => {
                interface.fcs_bytes = fcs_bytes(value.first().copied().unwrap_or(0))
            }
            _ => {}
        }
    }
    interface
}

/// The time in a comment of wirelab.
fn since(comment: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(comment).ok()?;
    let number = text
        .strip_prefix(SENT_SINCE[0])?
        .strip_suffix(SENT_SINCE[1])?;
    number.parse().ok()
}

/// The draft counts if_fcslen in bits but has 4 as its example; both occur.
fn fcs_bytes(value: u8) -> u8 {
    match value {
        0..=8 => value,
        bits => bits.div_ceil(8),
    }
}

/// Where the fixed fields of an enhanced (or obsolete) packet end and the frame starts.
const FRAME_AT: usize = 28;

/// The frame of a packet block starts at [`FRAME_AT`] and must end before the length at the end of the block.
#[inline]
fn check_room(bytes: &[u8], captured: u32) -> Result<(), String> {
    let room = bytes.len().saturating_sub(FRAME_AT + 4);
    if bytes.len() < FRAME_AT + 4 || captured as usize > room {
        return Err(format!(
            "a packet of {captured} bytes in a block of {}: its fields contradict its length",
            bytes.len()
        ));
    }
    Ok(())
}

/// An enhanced packet, which almost every block is. `pcap-parser` takes 27 ns for it (measured), a third of the time
/// for judging a 60-byte frame.
#[inline]
pub(super) fn enhanced(bytes: &[u8], order: Order) -> Result<Packet, String> {
    let captured = bytes.get(20..24).map_or(0, |_| order.word(bytes, 20));
    check_room(bytes, captured)?;
    let mut packet = Packet {
        interface: order.word(bytes, 8),
        ticks: Some(u64::from(order.word(bytes, 12)) << 32 | u64::from(order.word(bytes, 16))),
        at: FRAME_AT,
        captured,
        original: order.word(bytes, 24).max(captured),
        fcs: None,
        dropped: 0,
    };
    let options = FRAME_AT + (captured as usize).next_multiple_of(4);
    if options + 4 < bytes.len() {
        packet_options(&mut packet, &bytes[options..bytes.len() - 4], order);
    }
    Ok(packet)
}

fn packet_options(packet: &mut Packet, mut rest: &[u8], order: Order) {
    while let Some((head, value)) = rest.split_first_chunk::<4>() {
        let code = order.u16([head[0], head[1]]);
        let len = usize::from(order.u16([head[2], head[3]]));
        let Some(value) = value.get(..len) else {
            return;
        };
        match (code, value.try_into()) {
            (option::END, _) => return,
            (option::EPB_FLAGS, Ok(flags)) => {
                let fcs = (order.u32(flags) >> 5 & 0xF) as u8;
                packet.fcs = (fcs > 0).then_some(fcs);
            }
            (option::EPB_DROPCOUNT, _) => packet.dropped = number(value, order).unwrap_or(0),
            _ => {}
        }
        rest = rest.get(4 + len.next_multiple_of(4)..).unwrap_or(&[]);
    }
}

/// The captured length of a simple packet is what its block holds; the snap length may limit it further.
fn simple(block: &SimplePacketBlock) -> Packet {
    let room = block.block_len1 - 16;
    Packet {
        interface: 0,
        ticks: None,
        at: 12,
        captured: block.origlen.min(room),
        original: block.origlen,
        fcs: None,
        dropped: 0,
    }
}

/// The packet block that the enhanced packet block replaced (draft-tuexen-opsawg-pcapng, appendix A).
pub(super) fn obsolete(bytes: &[u8], order: Order) -> Result<Packet, String> {
    let captured = bytes.get(20..24).map_or(0, |_| order.word(bytes, 20));
    check_room(bytes, captured)?;
    let half = |at: usize| order.u16([bytes[at], bytes[at + 1]]);
    let drops = half(10);
    Ok(Packet {
        interface: u32::from(half(8)),
        ticks: Some(u64::from(order.word(bytes, 12)) << 32 | u64::from(order.word(bytes, 16))),
        at: FRAME_AT,
        captured,
        original: order.word(bytes, 24).max(captured),
        fcs: None,
        // 0xFFFF means unknown.
        dropped: if drops == u16::MAX { 0 } else { drops.into() },
    })
}

fn statistics(block: &InterfaceStatisticsBlock, order: Order) -> Content {
    let frames = options(&block.options)
        .filter(|(code, _)| [option::ISB_IFDROP, option::ISB_OSDROP].contains(code))
        .filter_map(|(_, value)| number(value, order))
        .fold(0, u64::saturating_add);
    Content::Dropped {
        interface: block.if_id,
        frames,
    }
}

fn options<'a>(all: &'a [PcapNGOption]) -> impl Iterator<Item = (u16, &'a [u8])> {
    all.iter()
        .map_while(|o| (o.code.0 != option::END).then(|| o.as_bytes().ok().map(|v| (o.code.0, v))))
        .flatten()
}

fn number(value: &[u8], order: Order) -> Option<u64> {
    value.try_into().ok().map(|bytes| order.u64(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_an_fcs_length() {
        assert_eq!([0, 4, 32, 16].map(fcs_bytes), [0, 4, 4, 2]);
    }

    #[test]
    fn big_endian_interface_byte_for_byte() {
        #[rustfmt::skip]
        let bytes = [
            0, 0, 0, 1, 0, 0, 0, 60, 0, 1, 0, 0, 0, 0, 0, 96,
            0, 2, 0, 2, b'a', b'0', 0, 0,
            0, 9, 0, 1, 0x94, 0, 0, 0,
            0, 14, 0, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE,
            0, 13, 0, 1, 32, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 60,
        ];
        let Ok(Some(Content::Interface(interface))) = content(&bytes, Order::Big) else {
            panic!("not an interface");
        };
        assert_eq!(interface.name.as_deref(), Some("a0"));
        assert_eq!(interface.resolution, Resolution(0x94));
        assert_eq!((interface.offset_s, interface.snap_len), (-2, 96));
        assert_eq!((interface.fcs_bytes, interface.link_type), (4, 1));
    }

    #[test]
    fn packet_with_options_byte_for_byte() {
        #[rustfmt::skip]
        let bytes = [
            6, 0, 0, 0, 60, 0, 0, 0,
            2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
            3, 0, 0, 0, 9, 0, 0, 0, 0xA, 0xB, 0xC, 0,
            2, 0, 4, 0, 0x80, 0, 0, 0,
            4, 0, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 60, 0, 0, 0,
        ];
        let packet = enhanced(&bytes, Order::Little).unwrap();
        let expected = Packet {
            interface: 2,
            ticks: Some(0x1_0000_0002),
            at: 28,
            captured: 3,
            original: 9,
            fcs: Some(4),
            dropped: 5,
        };
        assert_eq!(packet, expected);
    }

    #[test]
    fn obsolete_packet_byte_for_byte() {
        #[rustfmt::skip]
        let bytes = [
            0, 0, 0, 2, 0, 0, 0, 36,
            0, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9,
            0, 0, 0, 2, 0, 0, 0, 60, 0xA, 0xB, 0, 0, 0, 0, 0, 36,
        ];
        let packet = obsolete(&bytes, Order::Big).unwrap();
        assert_eq!((packet.interface, packet.ticks), (7, Some(9)));
        assert_eq!(
            (packet.captured, packet.original, packet.dropped),
            (2, 60, 1)
        );
        let mut bad = bytes;
        bad[23] = 5;
        assert!(obsolete(&bad, Order::Big).is_err());
        assert!(obsolete(&bytes[..28], Order::Big).is_err());
    }
}
