//! Building test frames in memory that already holds one: only the parts that differ are written.

use std::sync::LazyLock;

use wirelab_wire::{Flags, FrameSpec, Header, Sizes, Transport, header, lfsr};

/// Sum of the 16-bit words of the LFSR window before each word, so a UDP checksum need not read the data.
static SUMS: LazyLock<Box<[u32]>> = LazyLock::new(|| {
    let words = lfsr::WINDOW.chunks_exact(2);
    let mut sum = 0u32;
    let mut sums = vec![0];
    for word in words {
        sum += u32::from(u16::from_be_bytes([word[0], word[1]]));
        sums.push(sum);
    }
    sums.into_boxed_slice()
});

/// Writes the frames of one flow.
pub(super) struct FrameBuilder {
    template: Vec<u8>,
    offset: usize,
    lfsr_len: usize,
    header: Header,
    /// Ones' complement sum of what the UDP checksum covers besides test header and LFSR part.
    udp_sum: Option<u16>,
}

impl FrameBuilder {
    pub(super) fn new(spec: &FrameSpec, sizes: &Sizes, stream: u8, flags: Flags) -> FrameBuilder {
        let header = Header {
            flags,
            stream,
            sequence: 0,
            time_ns: 0,
            lfsr_len: sizes.lfsr_len() as u16,
        };
        let mut template = vec![0; sizes.length as usize];
        spec.build(sizes, &header, &mut template);
        let mut builder = FrameBuilder {
            template,
            offset: spec.header_offset(),
            lfsr_len: sizes.lfsr_len() as usize,
            header,
            udp_sum: None,
        };
        if spec.transport != Transport::Ethernet {
            let own = builder.own_sum(&builder.template, 0);
            let stored = &builder.template[builder.offset - 2..builder.offset];
            let whole = !u16::from_be_bytes([stored[0], stored[1]]);
            builder.udp_sum = Some(fold(u32::from(whole) + u32::from(!own)));
        }
        builder
    }

    /// Length of every frame in bytes, without FCS.
    pub(super) fn length(&self) -> usize {
        self.template.len()
    }

    /// Offset of the test header in bytes.
    pub(super) fn header_offset(&self) -> usize {
        self.offset
    }

    /// The outermost EtherType.
    pub(super) fn ethertype(&self) -> u16 {
        u16::from_be_bytes([self.template[12], self.template[13]])
    }

    /// Writes a whole frame, of sequence 0 and without a time.
    pub(super) fn lay_out(&self, out: &mut [u8]) {
        out[..self.length()].copy_from_slice(&self.template);
    }

    /// Writes the LFSR part of `sequence` into memory that already holds a frame.
    #[inline]
    pub(super) fn write_content(&self, out: &mut [u8], sequence: u32) {
        let data = self.offset + header::LEN;
        out[data..data + self.lfsr_len].copy_from_slice(lfsr::payload(sequence, self.lfsr_len));
    }

    /// Writes the test header, and the UDP checksum if there is one. The content must already be written.
    #[inline]
    pub(super) fn write_header(&self, out: &mut [u8], sequence: u32, time_ns: u64) {
        let header = Header {
            sequence,
            time_ns,
            ..self.header
        };
        let data = self.offset + header::LEN;
        if let Some(head) = out[self.offset..data].first_chunk_mut() {
            header.emit(head);
        }
        if let Some(sum) = self.udp_sum {
            let checksum = !fold(u32::from(sum) + u32::from(self.own_sum(out, sequence)));
            // Zero means that there is no checksum (RFC 768).
            let checksum = if checksum == 0 { u16::MAX } else { checksum };
            out[self.offset - 2..self.offset].copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// Ones' complement sum of the test header in `frame` and the LFSR part of `sequence`.
    fn own_sum(&self, frame: &[u8], sequence: u32) -> u16 {
        let head: u32 = frame[self.offset..self.offset + header::LEN]
            .chunks_exact(2)
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
            .sum();
        let start = lfsr::start_word(sequence) * 4;
        let end = start + self.lfsr_len;
        let mut data = SUMS[end / 2] - SUMS[start / 2];
        if end % 2 == 1 {
            data += u32::from(lfsr::WINDOW[end - 1]) << 8;
        }
        fold(head + u32::from(fold(data)))
    }
}

/// Folds a sum of 16-bit words to 16 bits (RFC 1071).
fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xFFFF) + (sum >> 16);
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wirelab_wire::{Framing, Layer, Size, SizeUnit};

    fn spec(layer: Layer, tags: u8) -> FrameSpec {
        let vlans = [(tags > 0).then_some(5), (tags > 1).then_some(6)];
        let transport = match layer {
            Layer::UdpIpv4 => Transport::UdpIpv4 {
                addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
                ports: [5003, 5003],
            },
            Layer::UdpIpv6 => Transport::UdpIpv6 {
                addresses: [[0xFD; 16].into(), [0xFE; 16].into()],
                ports: [5003, 5003],
            },
            _ => Transport::Ethernet,
        };
        FrameSpec {
            destination: [2, 0x57, 0x4C, 0, 0, 2],
            source: [2, 0x57, 0x4C, 0, 0, 1],
            vlans,
            transport,
            dscp: 0,
        }
    }

    proptest! {
        #[test]
        fn what_is_written_piece_by_piece_is_what_the_specification_builds(
            layer in 0usize..3, vlan_tags in 0u8..3, bytes in 92u32..9018, sequence: u32, before: u32,
            time_ns in 0u64..1 << 48, stream: u8,
        ) {
            let layer = [Layer::Ethernet, Layer::UdpIpv4, Layer::UdpIpv6][layer];
            let spec = spec(layer, vlan_tags);
            let sizes = Size::new(SizeUnit::Frame, bytes).resolve_test(Framing { layer, vlan_tags }).unwrap();
            let builder = FrameBuilder::new(&spec, &sizes, stream, Flags::TIME_VALID);
            let mut out = vec![0xEE; builder.length()];
            builder.lay_out(&mut out);
            for sequence in [before, sequence] {
                builder.write_content(&mut out, sequence);
                builder.write_header(&mut out, sequence, time_ns);
            }
            let mut expected = vec![0; builder.length()];
            let header = Header { sequence, time_ns, ..builder.header };
            spec.build(&sizes, &header, &mut expected);
            prop_assert_eq!(out, expected);
        }
    }
}
