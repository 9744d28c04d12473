//! The judge of one frame: whether it belongs to the flow, and whether every byte is right.
//!
//! The rules and their precedence are those of `spec/test-frame.md`; the eBPF checker has the same.

use crate::frame::{TPID_CUSTOMER, TPID_SERVICE};
use crate::header::{self, Header, HeaderError};
use crate::lfsr;

/// A receiver's knowledge of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Source MAC address of the sender, if known. With it a damaged magic is header-corrupt, not foreign.
    pub source: Option<[u8; 6]>,
    /// Destination UDP port of test frames; 0 for [`header::UDP_PORT`].
    pub udp_port: u16,
    /// The only stream of the flow, if it has only one.
    pub stream: Option<u8>,
    /// The only code point of the flow's IPv4 headers, if it has only one: a frame that was re-marked on the path is
    /// foreign.
    pub dscp: Option<u8>,
}

/// The verdict on one frame. Variants with a header may be tracked by its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not of the test flow.
    Foreign,
    /// Of the test flow, but its test header is damaged: no field may be used.
    HeaderCorrupt,
    /// Shorter than its header says.
    Truncated(Header),
    /// Intact content that belongs to another sequence.
    Stale {
        /// The frame's header.
        header: Header,
        /// The start word of the content.
        start_word: u16,
    },
    /// At least one wrong byte in the LFSR part.
    Corrupted(Header),
    /// Every byte of header and LFSR part is right.
    Good(Header),
}

impl Verdict {
    /// The header of a frame whose header is intact.
    pub const fn header(&self) -> Option<&Header> {
        match self {
            Verdict::Foreign | Verdict::HeaderCorrupt => None,
            Verdict::Truncated(header)
            | Verdict::Stale { header, .. }
            | Verdict::Corrupted(header)
            | Verdict::Good(header) => Some(header),
        }
    }
}

/// The possible position of a frame's test header: its offset, and the end of the data that it may describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Offset in bytes of the test header from the start of the frame, at most `end`.
    pub offset: usize,
    /// End of the test frame's data, in bytes from the start of the frame; never beyond its end.
    pub end: usize,
}

/// Judge a frame (destination address first, without FCS).
pub fn classify(frame: &[u8], flow: &Flow) -> Verdict {
    let Some(Location { offset, end }) = locate(frame, flow) else {
        return Verdict::Foreign;
    };
    let ours = flow.source.is_some_and(|source| frame[6..12] == source);
    classify_data(&frame[offset..end], flow.stream, ours)
}

/// Judge bytes with a test header at their start: the payload of a frame, a datagram, or a piece of a stream.
///
/// `stream` is the only stream of the flow, if it has only one. With `ours` the bytes come from the flow's own
/// sender, so a damaged magic is header-corrupt, not foreign.
#[inline]
pub fn classify_data(bytes: &[u8], stream: Option<u8>, ours: bool) -> Verdict {
    let header = match Header::parse(bytes) {
        Ok(header) => header,
        Err(HeaderError::Magic | HeaderError::Short) if !ours => return Verdict::Foreign,
        Err(HeaderError::Version(_)) => return Verdict::Foreign,
        Err(_) => return Verdict::HeaderCorrupt,
    };
    if stream.is_some_and(|stream| stream != header.stream) {
        return Verdict::Foreign;
    }
    let data = &bytes[header::LEN..];
    let len = usize::from(header.lfsr_len);
    if data.len() < len {
        return Verdict::Truncated(header);
    }
    let data = &data[..len];
    if len > lfsr::MAX_BYTES {
        return Verdict::Corrupted(header);
    }
    if *data == *lfsr::payload(header.sequence, len) {
        return Verdict::Good(header);
    }
    match lfsr::find_start(data) {
        Some(start_word) => Verdict::Stale { header, start_word },
        None => Verdict::Corrupted(header),
    }
}

/// Find the test header after tags, IP and UDP; `None` if the frame cannot be a test frame of the flow.
pub fn locate(frame: &[u8], flow: &Flow) -> Option<Location> {
    let mut offset = 12;
    let mut ethertype = be16(frame, offset)?;
    for _ in 0..2 {
        if ethertype != TPID_CUSTOMER && ethertype != TPID_SERVICE {
            break;
        }
        offset += 4;
        ethertype = be16(frame, offset)?;
    }
    offset += 2;
    match ethertype {
        header::ETHERTYPE => Some(Location {
            offset,
            end: frame.len(),
        }),
        0x0800 => locate_ipv4(frame, offset, flow),
        0x86DD => locate_ipv6(frame, offset, flow),
        _ => None,
    }
}

fn locate_ipv4(frame: &[u8], offset: usize, flow: &Flow) -> Option<Location> {
    let first = *frame.get(offset)?;
    let header_len = usize::from(first & 0x0F) * 4;
    let fragment = be16(frame, offset + 6)? & 0x3FFF;
    let protocol = *frame.get(offset + 9)?;
    let remarked = flow.dscp.is_some_and(|dscp| frame[offset + 1] >> 2 != dscp);
    if first >> 4 != 4 || header_len < 20 || fragment != 0 || protocol != 17 || remarked {
        return None;
    }
    locate_udp(frame, offset + header_len, flow)
}

fn locate_ipv6(frame: &[u8], offset: usize, flow: &Flow) -> Option<Location> {
    if frame.get(offset)? >> 4 != 6 || *frame.get(offset + 6)? != 17 {
        return None;
    }
    locate_udp(frame, offset + 40, flow)
}

fn locate_udp(frame: &[u8], offset: usize, flow: &Flow) -> Option<Location> {
    let wanted = if flow.udp_port == 0 {
        header::UDP_PORT
    } else {
        flow.udp_port
    };
    let length = usize::from(be16(frame, offset + 4)?);
    if be16(frame, offset + 2)? != wanted || frame.len() < offset + 8 || length < 8 {
        return None;
    }
    Some(Location {
        offset: offset + 8,
        end: frame.len().min(offset + length),
    })
}

fn be16(bytes: &[u8], offset: usize) -> Option<u16> {
    let pair = bytes.get(offset..offset + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

/// For fuzzing: judge any bytes for flows of which less or more is known. The content of a good frame must equal
/// [`lfsr::payload`], byte by byte.
pub fn fuzz_classify(bytes: &[u8]) {
    let source = bytes.get(6..12).and_then(|s| s.try_into().ok());
    for flow in [
        Flow::default(),
        Flow {
            source,
            ..Flow::default()
        },
        Flow {
            source,
            stream: Some(0),
            udp_port: 7,
            dscp: None,
        },
    ] {
        if let Verdict::Good(header) = classify(bytes, &flow) {
            let at = locate(bytes, &flow)
                .map(|l| l.offset + header::LEN)
                .unwrap_or(bytes.len());
            let len = usize::from(header.lfsr_len);
            assert_eq!(bytes[at..at + len], *lfsr::payload(header.sequence, len));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::{HEADER, ethernet, udp4};
    use crate::frame::{FrameSpec, Transport};
    use crate::header::Flags;
    use crate::size::{Size, SizeUnit};
    use proptest::prelude::*;
    use smoltcp::wire::Ipv6Address;
    use std::vec::Vec;

    fn build(spec: &FrameSpec, frame: u32, sequence: u32) -> Vec<u8> {
        let sizes = Size::new(SizeUnit::Frame, frame)
            .resolve_test(spec.framing())
            .unwrap();
        let mut out = std::vec![0; sizes.length as usize];
        spec.build(&sizes, &Header { sequence, ..HEADER }, &mut out);
        out
    }

    fn specs() -> [FrameSpec; 5] {
        let ipv6 = Transport::UdpIpv6 {
            addresses: [Ipv6Address::LOCALHOST, Ipv6Address::LOCALHOST],
            ports: [1, header::UDP_PORT],
        };
        [
            ethernet(),
            FrameSpec {
                vlans: [Some(5), None],
                ..ethernet()
            },
            udp4(),
            FrameSpec {
                vlans: [Some(5), Some(6)],
                ..udp4()
            },
            FrameSpec {
                transport: ipv6,
                ..ethernet()
            },
        ]
    }

    #[test]
    fn built_frames_are_good_in_every_framing() {
        for spec in specs() {
            for frame in [spec.framing().min_test_frame(), 128, 1518, 9018] {
                let bytes = build(&spec, frame, 4095);
                assert!(
                    matches!(classify(&bytes, &Flow::default()), Verdict::Good(h) if h.sequence == 4095)
                );
            }
        }
    }

    #[test]
    fn either_tpid_is_taken_at_either_place_and_a_third_tag_is_foreign() {
        let plain = &specs()[0];
        let frame = build(plain, 200, 7);
        let tagged = |tpids: &[u16]| {
            let mut bytes = frame[..12].to_vec();
            for tpid in tpids {
                bytes.extend(tpid.to_be_bytes());
                bytes.extend(0x2064u16.to_be_bytes());
            }
            bytes.extend(&frame[12..]);
            bytes
        };
        let flow = Flow::default();
        for tpids in [
            &[][..],
            &[0x8100],
            &[0x88A8],
            &[0x8100, 0x8100],
            &[0x8100, 0x88A8],
            &[0x88A8, 0x8100],
            &[0x88A8, 0x88A8],
        ] {
            let verdict = classify(&tagged(tpids), &flow);
            assert!(
                matches!(verdict, Verdict::Good(_)),
                "{tpids:x?}: {verdict:?}"
            );
        }
        for tpids in [&[0x9100][..], &[0x88A8, 0x9100], &[0x8100, 0x8100, 0x8100]] {
            let verdict = classify(&tagged(tpids), &flow);
            assert!(
                matches!(verdict, Verdict::Foreign),
                "{tpids:x?}: {verdict:?}"
            );
        }
    }

    #[test]
    fn each_fault_gets_its_name() {
        let flow = Flow {
            source: Some(ethernet().source),
            ..Flow::default()
        };
        let good = build(&ethernet(), 1518, 7);
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = good.clone();
            change(&mut frame);
            classify(&frame, &flow)
        };
        assert!(matches!(with(&|f| f[1513] ^= 1), Verdict::Corrupted(h) if h.sequence == 7));
        assert!(matches!(with(&|f| f[32] ^= 0x80), Verdict::Corrupted(_)));
        assert!(matches!(with(&|f| f.truncate(1513)), Verdict::Truncated(_)));
        assert!(matches!(with(&|f| f.truncate(32)), Verdict::Truncated(_)));
        assert_eq!(with(&|f| f.truncate(31)), Verdict::HeaderCorrupt);
        assert_eq!(with(&|f| f[14] ^= 1), Verdict::HeaderCorrupt);
        assert_eq!(with(&|f| f[21] ^= 1), Verdict::HeaderCorrupt);
        let stale = with(&|f| f[32..].copy_from_slice(lfsr::payload(3, 1482)));
        assert!(matches!(stale, Verdict::Stale { start_word: 3, header } if header.sequence == 7));
        assert_eq!(with(&|f| f[12] = 8), Verdict::Foreign);
    }

    #[test]
    fn a_damaged_magic_of_an_unknown_sender_is_foreign() {
        let mut frame = build(&ethernet(), 64, 7);
        frame[14] ^= 1;
        assert_eq!(classify(&frame, &Flow::default()), Verdict::Foreign);
    }

    #[test]
    fn another_stream_is_foreign() {
        let frame = build(&ethernet(), 64, 7);
        assert_eq!(
            classify(
                &frame,
                &Flow {
                    stream: Some(1),
                    ..Flow::default()
                }
            ),
            Verdict::Foreign
        );
    }

    #[test]
    fn padding_is_not_checked() {
        let spec = udp4();
        let sizes = Size::new(SizeUnit::Datagram, 18)
            .resolve_test(spec.framing())
            .unwrap();
        let mut frame = std::vec![0; 80];
        spec.build(&sizes, &HEADER, &mut frame);
        frame[60..].fill(0xAA);
        assert!(matches!(
            classify(&frame, &Flow::default()),
            Verdict::Good(_)
        ));
    }

    #[test]
    fn reserved_flag_is_ignored_on_receipt() {
        let sizes = Size::new(SizeUnit::Frame, 64)
            .resolve_test(ethernet().framing())
            .unwrap();
        let mut frame = [0; 60];
        ethernet().build(
            &sizes,
            &Header {
                flags: Flags::RESERVED,
                ..HEADER
            },
            &mut frame,
        );
        assert!(matches!(
            classify(&frame, &Flow::default()),
            Verdict::Good(_)
        ));
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..60) {
            let _ = classify(&bytes, &Flow::default());
            let mut frame = build(&udp4(), 80, 1);
            for (i, b) in bytes.iter().take(20).enumerate() {
                if let Some(slot) = frame.get_mut(at + i) { *slot = *b; }
            }
            let _ = classify(&frame, &Flow::default());
        }

        #[test]
        fn any_wrong_byte_is_found(sequence: u32, at in 14usize..1514, bit in 0u8..8) {
            let flow = Flow { source: Some(ethernet().source), ..Flow::default() };
            let mut frame = build(&ethernet(), 1518, sequence);
            frame[at] ^= 1 << bit;
            let verdict = classify(&frame, &flow);
            if at < 32 {
                prop_assert_eq!(verdict, Verdict::HeaderCorrupt);
            } else {
                prop_assert!(matches!(verdict, Verdict::Corrupted(_)));
            }
        }
    }
}
