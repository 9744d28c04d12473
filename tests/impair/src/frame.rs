//! What is done to the bytes of one frame: the tag that the kernel removed is restored, a checksum that the
//! kernel left to the hardware is computed, bits are inverted.

/// Length of `struct virtio_net_hdr` (linux/virtio_net.h), which the kernel puts before each frame.
pub(super) const VNET_HEADER: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum covers the pseudo header only so far.
const NEEDS_CHECKSUM: u8 = 1;

/// EtherTypes of VLAN tags: IEEE 802.1Q and 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Destination and source address; what follows them is a tag or the EtherType.
const ADDRESSES: usize = 12;

/// The kernel's flags of a frame's offloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offload {
    /// The frame is as it would be on a wire.
    None,
    /// A checksum (RFC 1071) is to be computed from `start` to the end, and stored `offset` bytes behind `start`.
    Checksum { start: usize, offset: usize },
    /// It is many frames in one, to be cut up by hardware that is not there.
    Segments,
}

/// Reads the header that the kernel puts before a frame.
pub(super) fn offload(header: &[u8; VNET_HEADER]) -> Offload {
    let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    if header[1] != 0 {
        return Offload::Segments;
    }
    if header[0] & NEEDS_CHECKSUM == 0 {
        return Offload::None;
    }
    Offload::Checksum {
        start: word(6),
        offset: word(8),
    }
}

/// Computes the checksum (RFC 1071) that the sender left to its hardware. Positions outside of the frame change
/// nothing.
pub(super) fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) {
    let Some(covered) = frame.get(start..) else {
        return;
    };
    let sum = covered.chunks(2).fold(0u64, |sum, pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        sum + u64::from(u16::from_be_bytes([pair[0], low]))
    });
    let folded = (0..4).fold(sum, |s, _| (s & 0xffff) + (s >> 16));
    let value = match !(folded as u16) {
        // UDP takes 0 for "no checksum"; both mean the same in this arithmetic.
        0 => 0xffff,
        value => value,
    };
    let at = start.saturating_add(offset);
    if let Some(place) = frame.get_mut(at..at.saturating_add(2)) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

/// Puts a tag behind the addresses of the frame in `bytes[..length]`; returns the new length, or the old one if
/// there is no room or no frame.
pub(super) fn insert_tag(bytes: &mut [u8], length: usize, tag: [u8; 4]) -> usize {
    if length < ADDRESSES || length + tag.len() > bytes.len() {
        return length;
    }
    bytes.copy_within(ADDRESSES..length, ADDRESSES + tag.len());
    bytes[ADDRESSES..ADDRESSES + tag.len()].copy_from_slice(&tag);
    length + tag.len()
}

/// The EtherType behind at most two VLAN tags; `None` if the frame is too short to have one.
pub(super) fn ethertype(frame: &[u8]) -> Option<u16> {
    let at = |position: usize| {
        let bytes = frame.get(position..position + 2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let mut position = ADDRESSES;
    let mut found = at(position)?;
    for _ in 0..2 {
        if TAGS.contains(&found) {
            position += 4;
            found = at(position)?;
        }
    }
    Some(found)
}

/// Inverts one bit; bit 0 is the top bit of the first byte.
pub(super) fn invert(frame: &mut [u8], bit: u32) {
    if let Some(byte) = frame.get_mut(bit as usize / 8) {
        *byte ^= 0x80 >> (bit % 8);
    }
}

/// Any bytes as what the kernel hands to the impairer, its header first: nothing panics, the frame's length stays,
/// a tag makes it 4 bytes longer, and an inverted bit changes one bit.
pub fn fuzz_frame(bytes: &[u8]) {
    let Some((header, frame)) = bytes.split_first_chunk::<VNET_HEADER>() else {
        return;
    };
    let mut frame = frame.to_vec();
    if let Offload::Checksum { start, offset } = offload(header) {
        complete_checksum(&mut frame, start, offset);
    }
    let before = (ethertype(&frame), frame.len());
    let bit = u32::from(u16::from_ne_bytes([header[2], header[3]]));
    let whole = frame.clone();
    invert(&mut frame, bit);
    let changed: u32 = frame
        .iter()
        .zip(&whole)
        .map(|(a, b)| (a ^ b).count_ones())
        .sum();
    assert_eq!(
        changed,
        u32::from((bit as usize) < 8 * whole.len()),
        "one bit, if it is there"
    );
    let mut tagged = whole;
    tagged.extend([0; 4]);
    let length = insert_tag(&mut tagged, before.1, [0x81, 0, 0, 1]);
    if before.1 >= ADDRESSES {
        assert_eq!(length, before.1 + 4, "there was room for the tag");
        assert_eq!(tagged[ADDRESSES..ADDRESSES + 4], [0x81, 0, 0, 1]);
    } else {
        assert_eq!((length, ethertype(&tagged[..length])), (before.1, before.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tag_goes_behind_the_addresses() {
        let mut bytes = [0u8; 20];
        bytes[..16].copy_from_slice(&[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x88, 0xb5, 9, 8]);
        assert_eq!(ethertype(&bytes[..16]), Some(0x88b5));
        assert_eq!(insert_tag(&mut bytes, 16, [0x81, 0, 0, 7]), 20);
        assert_eq!(bytes[10..], [2, 2, 0x81, 0, 0, 7, 0x88, 0xb5, 9, 8]);
        assert_eq!(ethertype(&bytes), Some(0x88b5));
        assert_eq!(insert_tag(&mut bytes, 20, [0x81, 0, 0, 7]), 20, "no room");
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        // RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum up to ddf2.
        let mut frame = [0xee, 0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7, 0, 0];
        complete_checksum(&mut frame, 1, 8);
        assert_eq!(frame[9..], (!0xddf2_u16).to_be_bytes());
    }

    #[test]
    fn offloads_are_read_from_the_kernels_header() {
        assert_eq!(offload(&[0; VNET_HEADER]), Offload::None);
        let mut header = [0; VNET_HEADER];
        header[0] = 1;
        header[6..8].copy_from_slice(&34u16.to_ne_bytes());
        header[8..].copy_from_slice(&6u16.to_ne_bytes());
        assert_eq!(
            offload(&header),
            Offload::Checksum {
                start: 34,
                offset: 6
            }
        );
        header[1] = 1;
        assert_eq!(offload(&header), Offload::Segments);
    }

    #[test]
    fn a_bit_is_counted_from_the_top() {
        let mut frame = [0u8; 2];
        invert(&mut frame, 0);
        invert(&mut frame, 15);
        invert(&mut frame, 16);
        assert_eq!(frame, [0x80, 1]);
    }

    #[test]
    fn the_corpus_of_the_fuzzer_passes() {
        let corpus = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fuzz/corpus/impair_frame"
        );
        let mut replayed = 0;
        for entry in std::fs::read_dir(corpus).unwrap() {
            fuzz_frame(&std::fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
        assert!(
            replayed >= 5,
            "the corpus in {corpus} has only {replayed} files"
        );
    }

    proptest! {
        #[test]
        fn any_frame_passes_the_fuzzers_checks(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            fuzz_frame(&bytes);
        }

        #[test]
        fn no_frame_makes_it_panic(mut frame in proptest::collection::vec(any::<u8>(), 0..40), at in 0usize..70_000, offset in 0usize..70_000) {
            let _ = ethertype(&frame);
            complete_checksum(&mut frame, at, offset);
            let length = frame.len();
            prop_assert!(insert_tag(&mut frame, length, [0x81, 0, 0, 1]) == length);
        }
    }
}
