//! Building test frames: addresses, tags, IP and UDP headers around the test header and its LFSR part.
//!
//! Network and transport headers are written with smoltcp's wire types.

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, IpAddress, IpProtocol, Ipv4Address,
    Ipv4Packet, Ipv4Repr, Ipv6Address, Ipv6Packet, Ipv6Repr, UdpPacket,
};

use crate::header::{self, Header};
use crate::lfsr;
use crate::size::{Framing, Layer, Sizes};

/// TPID of a customer VLAN tag (IEEE 802.1Q).
pub const TPID_CUSTOMER: u16 = 0x8100;
/// TPID of a service VLAN tag (IEEE 802.1ad), the outer of two.
pub const TPID_SERVICE: u16 = 0x88A8;

/// What carries the test header inside the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// EtherType 0x88B5.
    Ethernet,
    /// UDP over IPv4.
    UdpIpv4 {
        /// Source and destination address.
        addresses: [Ipv4Address; 2],
        /// Source and destination port.
        ports: [u16; 2],
    },
    /// UDP over IPv6.
    UdpIpv6 {
        /// Source and destination address.
        addresses: [Ipv6Address; 2],
        /// Source and destination port.
        ports: [u16; 2],
    },
}

/// Everything in a test frame except its test header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSpec {
    /// Destination MAC address.
    pub destination: [u8; 6],
    /// Source MAC address.
    pub source: [u8; 6],
    /// Tag control information (priority, DEI, VLAN id) of each tag, outermost first.
    pub vlans: [Option<u16>; 2],
    /// What carries the test header.
    pub transport: Transport,
    /// Code point of the IPv4 header (RFC 2474), 0 to 63; other frames have none.
    pub dscp: u8,
}

impl FrameSpec {
    /// The framing, for size arithmetic.
    pub fn framing(&self) -> Framing {
        let layer = match self.transport {
            Transport::Ethernet => Layer::Ethernet,
            Transport::UdpIpv4 { .. } => Layer::UdpIpv4,
            Transport::UdpIpv6 { .. } => Layer::UdpIpv6,
        };
        Framing {
            layer,
            vlan_tags: self.vlans.iter().flatten().count() as u8,
        }
    }

    /// Offset in bytes of the test header from the start of the frame.
    pub fn header_offset(&self) -> usize {
        let framing = self.framing();
        (framing.header_bytes() + framing.layer.header_bytes()) as usize
    }

    /// Write a whole frame (without FCS) of `sizes` with `header`; returns its length in bytes.
    ///
    /// `header.lfsr_len` is set from `sizes`. The bytes after the LFSR part are padding, written as zeros.
    ///
    /// # Panics
    /// If `out` is shorter than the length or the size was not checked with
    /// [`resolve_test`](crate::Size::resolve_test).
    pub fn build(&self, sizes: &Sizes, header: &Header, out: &mut [u8]) -> usize {
        let length = sizes.length as usize;
        let out = &mut out[..length];
        let start = self.header_offset();
        let lfsr_len = sizes.lfsr_len() as usize;
        let data = start + header::LEN;
        let header = Header {
            lfsr_len: lfsr_len as u16,
            ..*header
        };
        let (head, tail) = out[start..].split_at_mut(header::LEN);
        header.emit(head.try_into().expect("split at the header's length"));
        tail[..lfsr_len].copy_from_slice(lfsr::payload(header.sequence, lfsr_len));
        tail[lfsr_len..].fill(0);
        self.write_headers(&mut out[..], data + lfsr_len);
        length
    }

    /// Write everything before the test header; `end` is the end of the LFSR part.
    fn write_headers(&self, out: &mut [u8], end: usize) {
        let mut frame = EthernetFrame::new_unchecked(&mut out[..]);
        frame.set_dst_addr(EthernetAddress(self.destination));
        frame.set_src_addr(EthernetAddress(self.source));
        let ethertype = match self.transport {
            Transport::Ethernet => EthernetProtocol::Unknown(header::ETHERTYPE),
            Transport::UdpIpv4 { .. } => EthernetProtocol::Ipv4,
            Transport::UdpIpv6 { .. } => EthernetProtocol::Ipv6,
        };
        let offset = self.write_tags(out, u16::from(ethertype));
        let checksums = ChecksumCapabilities::default();
        match self.transport {
            Transport::Ethernet => {}
            Transport::UdpIpv4 {
                addresses: [src_addr, dst_addr],
                ports,
            } => {
                let repr = Ipv4Repr {
                    src_addr,
                    dst_addr,
                    next_header: IpProtocol::Udp,
                    payload_len: end - offset - 20,
                    hop_limit: 64,
                };
                let mut packet = Ipv4Packet::new_unchecked(&mut out[offset..end]);
                repr.emit(&mut packet, &checksums);
                packet.set_dscp(self.dscp);
                packet.fill_checksum();
                write_udp(
                    &mut out[offset + 20..end],
                    src_addr.into(),
                    dst_addr.into(),
                    ports,
                );
            }
            Transport::UdpIpv6 {
                addresses: [src_addr, dst_addr],
                ports,
            } => {
                let repr = Ipv6Repr {
                    src_addr,
                    dst_addr,
                    next_header: IpProtocol::Udp,
                    payload_len: end - offset - 40,
                    hop_limit: 64,
                };
                repr.emit(&mut Ipv6Packet::new_unchecked(&mut out[offset..end]));
                write_udp(
                    &mut out[offset + 40..end],
                    src_addr.into(),
                    dst_addr.into(),
                    ports,
                );
            }
        }
    }

    fn write_tags(&self, out: &mut [u8], ethertype: u16) -> usize {
        let mut offset = 12;
        let tags = self.vlans.iter().flatten().count();
        for (i, tci) in self.vlans.iter().flatten().enumerate() {
            let tpid = if tags == 2 && i == 0 {
                TPID_SERVICE
            } else {
                TPID_CUSTOMER
            };
            out[offset..offset + 2].copy_from_slice(&tpid.to_be_bytes());
            out[offset + 2..offset + 4].copy_from_slice(&tci.to_be_bytes());
            offset += 4;
        }
        out[offset..offset + 2].copy_from_slice(&ethertype.to_be_bytes());
        offset + 2
    }
}

fn write_udp(segment: &mut [u8], source: IpAddress, destination: IpAddress, ports: [u16; 2]) {
    let len = segment.len() as u16;
    let mut udp = UdpPacket::new_unchecked(segment);
    udp.set_src_port(ports[0]);
    udp.set_dst_port(ports[1]);
    udp.set_len(len);
    udp.fill_checksum(&source, &destination);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::size::{Size, SizeUnit};

    pub(crate) fn udp4() -> FrameSpec {
        FrameSpec {
            destination: [2, 0x57, 0x4C, 0, 0, 2],
            source: [2, 0x57, 0x4C, 0, 0, 1],
            vlans: [None, None],
            transport: Transport::UdpIpv4 {
                addresses: [
                    Ipv4Address::new(198, 18, 0, 1),
                    Ipv4Address::new(198, 18, 0, 2),
                ],
                ports: [5003, 5003],
            },
            dscp: 0,
        }
    }

    pub(crate) fn ethernet() -> FrameSpec {
        FrameSpec {
            transport: Transport::Ethernet,
            ..udp4()
        }
    }

    pub(crate) const HEADER: Header = Header {
        flags: header::Flags::NONE,
        stream: 0,
        sequence: 0,
        time_ns: 0,
        lfsr_len: 0,
    };

    #[test]
    fn smallest_ethernet_frame_byte_for_byte() {
        let sizes = Size::new(SizeUnit::Frame, 64)
            .resolve_test(Framing::default())
            .unwrap();
        let mut out = [0xEE; 64];
        assert_eq!(ethernet().build(&sizes, &HEADER, &mut out), 60);
        let head = [
            2, 0x57, 0x4C, 0, 0, 2, 2, 0x57, 0x4C, 0, 0, 1, 0x88, 0xB5, 0x57, 0x4C, 0x10, 0,
        ];
        assert_eq!(out[..18], head);
        assert_eq!(out[18..28], [0; 10]);
        assert_eq!(out[28..30], [0, 28]);
        assert_eq!(out[32..60], *lfsr::payload(0, 28));
        assert_eq!(out[60..], [0xEE; 4], "nothing behind the frame is touched");
    }

    #[test]
    fn udp_frames_have_right_checksums_and_lengths() {
        let spec = FrameSpec { dscp: 46, ..udp4() };
        let sizes = Size::new(SizeUnit::Datagram, 100)
            .resolve_test(spec.framing())
            .unwrap();
        let mut out = [0; 256];
        let n = spec.build(
            &sizes,
            &Header {
                sequence: 9,
                ..HEADER
            },
            &mut out,
        );
        assert_eq!(n, 142);
        let ip = Ipv4Packet::new_checked(&out[14..n]).unwrap();
        assert!(ip.verify_checksum());
        assert_eq!((out[15], ip.dscp(), ip.ecn()), (46 << 2, 46, 0));
        let udp = UdpPacket::new_checked(ip.payload()).unwrap();
        assert!(udp.verify_checksum(&ip.src_addr().into(), &ip.dst_addr().into()));
        assert_eq!(udp.payload().len(), 100);
    }

    #[test]
    fn two_tags_lie_between_addresses_and_ethertype() {
        let spec = FrameSpec {
            vlans: [Some(0x2064), Some(0x0007)],
            ..ethernet()
        };
        let sizes = Size::new(SizeUnit::Payload, 46)
            .resolve_test(spec.framing())
            .unwrap();
        let mut out = [0; 128];
        let n = spec.build(&sizes, &HEADER, &mut out);
        assert_eq!(n, 68);
        assert_eq!(
            out[12..22],
            [0x88, 0xA8, 0x20, 0x64, 0x81, 0x00, 0x00, 0x07, 0x88, 0xB5]
        );
    }
}
