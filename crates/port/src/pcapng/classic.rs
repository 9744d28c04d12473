//! The older pcap format (one header, then records), and names for files of other formats.
//!
//! Header and records are read by the `pcap-parser` crate.

use pcap_parser::{parse_pcap_frame, parse_pcap_frame_be};

use super::decode::{Order, Packet};
use super::interface::{Interface, Resolution};

/// Length of the file header in bytes.
pub(super) const HEADER_LEN: usize = 24;
/// Length of a record's header in bytes.
pub(super) const RECORD_LEN: usize = 16;

/// Byte order and resolution of a pcap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Classic {
    order: Order,
    nanoseconds: bool,
}

impl Classic {
    pub(super) fn name(self) -> &'static str {
        match (self.order, self.nanoseconds) {
            (Order::Little, false) => "pcap (little-endian, microseconds)",
            (Order::Little, true) => "pcap (little-endian, nanoseconds)",
            (Order::Big, false) => "pcap (big-endian, microseconds)",
            (Order::Big, true) => "pcap (big-endian, nanoseconds)",
        }
    }

    /// Captured length of the record at the start of `head`.
    pub(super) fn captured(self, head: &[u8]) -> u32 {
        self.order.word(head, 8)
    }

    /// Read a whole record.
    pub(super) fn record(self, bytes: &[u8]) -> Result<Packet, String> {
        let parsed = match self.order {
            Order::Little => parse_pcap_frame(bytes),
            Order::Big => parse_pcap_frame_be(bytes),
        };
        let (_, record) =
            parsed.map_err(|_| "a record that is shorter than its length field".to_owned())?;
        let per_second = if self.nanoseconds {
            1_000_000_000
        } else {
            1_000_000
        };
        Ok(Packet {
            interface: 0,
            ticks: Some(u64::from(record.ts_sec) * per_second + u64::from(record.ts_usec)),
            at: RECORD_LEN,
            captured: record.caplen,
            original: record.origlen.max(record.caplen),
            fcs: None,
            dropped: 0,
        })
    }
}

/// Recognise a pcap file by its first bytes (of which there may be too few) and read its header.
pub(super) fn header(head: &[u8]) -> Option<(Classic, Interface)> {
    let magic = u32::from_le_bytes(*head.first_chunk()?);
    let (order, nanoseconds) = match magic {
        0xA1B2_C3D4 => (Order::Little, false),
        0xA1B2_3C4D => (Order::Little, true),
        0xD4C3_B2A1 => (Order::Big, false),
        0x4D3C_B2A1 => (Order::Big, true),
        _ => return None,
    };
    let mut whole = [0; HEADER_LEN];
    whole[..head.len().min(HEADER_LEN)].copy_from_slice(&head[..head.len().min(HEADER_LEN)]);
    // The link type shares its word with the FCS length in 16-bit units and a bit that says whether it is valid
    // (draft-ietf-opsawg-pcap, 4).
    let link = order.word(&whole, 20);
    let mut interface = Interface::new(0, 0, link & 0xFFFF, order.word(&whole, 16));
    if link & 0x0400_0000 != 0 {
        interface.fcs_bytes = ((link >> 28) * 2) as u8;
    }
    if nanoseconds {
        interface.resolution = Resolution::NANOSECOND;
    }
    Some((Classic { order, nanoseconds }, interface))
}

/// The apparent type of a file that is not a capture, and the fix.
pub(super) fn describe(head: &[u8]) -> String {
    let unpack = |tool: &str| format!("it is compressed; fix: `{tool} FILE | wirelab verify -`");
    match head {
        [] => "the file is empty; fix: record it again".to_owned(),
        [0x1F, 0x8B, ..] => unpack("gzip -dc"),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => unpack("zstd -dc"),
        [0xFD, b'7', b'z', b'X', b'Z', ..] => unpack("xz -dc"),
        [0x04, 0x22, 0x4D, 0x18, ..] => unpack("lz4 -dc"),
        [0x34, 0xCD, 0xB2, 0xA1, ..] | [0xA1, 0xB2, 0xCD, 0x34, ..] => {
            "a patched libpcap wrote it (magic a1b2cd34); fix: convert it with `editcap FILE NEW.pcapng`"
                .to_owned()
        }
        [b's', b'n', b'o', b'o', b'p', ..] => {
            "it is a capture of snoop; fix: convert it with `editcap FILE NEW.pcapng`".to_owned()
        }
        [0x0A, ..] if head.len() < 4 => "the file ends after its first bytes; fix: record it again".to_owned(),
        _ => {
            let shown: Vec<String> = head.iter().take(4).map(|b| format!("{b:02x}")).collect();
            format!(
                "it starts with {}; fix: give pcapng or pcap, as tcpdump, dumpcap and wirelab write them",
                shown.join(" ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_byte_for_byte() {
        #[rustfmt::skip]
        let bytes = [
            0xA1, 0xB2, 0x3C, 0x4D, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 96, 0x24, 0, 0, 1,
        ];
        let (classic, interface) = header(&bytes).unwrap();
        assert_eq!(classic.name(), "pcap (big-endian, nanoseconds)");
        assert_eq!(
            (interface.snap_len, interface.fcs_bytes, interface.link_type),
            (96, 4, 1)
        );
    }

    #[test]
    fn record_byte_for_byte() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 60, 0, 0, 0, 7, 8, 9];
        let classic = Classic {
            order: Order::Little,
            nanoseconds: false,
        };
        let packet = classic.record(&bytes).unwrap();
        assert_eq!(
            (packet.ticks, packet.captured, packet.original),
            (Some(1_000_002), 3, 60)
        );
        assert!(classic.record(&bytes[..18]).is_err());
    }

    #[test]
    fn each_other_file_is_named() {
        for (head, word) in [
            (&[][..], "empty"),
            (&[0x1F, 0x8B, 8], "gzip -dc"),
            (&[0x28, 0xB5, 0x2F, 0xFD], "zstd"),
            (b"snoop\0", "snoop"),
            (b"\x34\xcd\xb2\xa1", "editcap"),
            (b"{ \"a\"", "7b 20 22 61"),
        ] {
            assert!(describe(head).contains(word), "{head:x?}");
        }
    }
}
