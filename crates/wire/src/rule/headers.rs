//! The packet identifier's parser of a frame: tags, IP and UDP, each complete or absent.

use super::PortAddresses;
use crate::frame::{TPID_CUSTOMER, TPID_SERVICE};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const PROTOCOL_UDP: u8 = 17;

/// A whole packet of IP.
#[derive(Clone, Copy)]
pub struct Ip {
    pub protocol: u8,
    pub destination: [u8; 16],
}

/// The parts of a frame.
pub struct FrameParts<'f> {
    pub destination: &'f [u8],
    pub ether_type: u16,
    pub priority: Option<u8>,
    pub ip: Option<Ip>,
    pub udp: Option<Datagram<'f>>,
}

/// A whole UDP datagram in a frame. Its checksum is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'f> {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// Its payload.
    pub data: &'f [u8],
}

impl<'f> FrameParts<'f> {
    /// `None` if the frame ends inside its Ethernet header or tags.
    pub fn in_frame(frame: &'f [u8]) -> Option<FrameParts<'f>> {
        let mut at = 14;
        let mut priority = None;
        let mut ether_type = be16(frame, 12)?;
        for tag in 0..2 {
            if ether_type != TPID_CUSTOMER && ether_type != TPID_SERVICE {
                break;
            }
            if tag == 0 {
                priority = Some(*frame.get(at)? >> 5);
            }
            ether_type = be16(frame, at + 2)?;
            at += 4;
        }
        let data = frame.get(at..)?;
        let packet = match ether_type {
            ETHERTYPE_IPV4 => ipv4(data),
            ETHERTYPE_IPV6 => ipv6(data),
            _ => None,
        };
        Some(FrameParts {
            destination: &frame[..6],
            ether_type,
            priority,
            ip: packet.map(|(ip, _)| ip),
            udp: packet
                .filter(|(ip, _)| ip.protocol == PROTOCOL_UDP)
                .and_then(|(_, data)| udp(data)),
        })
    }

    pub fn is_ip(&self) -> bool {
        matches!(self.ether_type, ETHERTYPE_IPV4 | ETHERTYPE_IPV6)
    }

    pub fn is_to(&self, own: &PortAddresses) -> bool {
        self.ip
            .is_some_and(|ip| own.addresses.contains(&ip.destination))
    }
}

/// The packet and its data; `None` for a fragment, a wrong header checksum or a length beyond the data.
fn ipv4(data: &[u8]) -> Option<(Ip, &[u8])> {
    let first = *data.first()?;
    let header = usize::from(first & 15) * 4;
    let packet = usize::from(be16(data, 2)?);
    let fragment = be16(data, 6)? & 0x3FFF;
    if first >> 4 != 4 || header < 20 || packet < header || fragment != 0 {
        return None;
    }
    let packet = data.get(..packet)?;
    if !sums_to_all_ones(&packet[..header]) {
        return None;
    }
    let ip = Ip {
        protocol: packet[9],
        destination: PortAddresses::mapped([packet[16], packet[17], packet[18], packet[19]]),
    };
    Some((ip, &packet[header..]))
}

fn ipv6(data: &[u8]) -> Option<(Ip, &[u8])> {
    let header = data.get(..40)?;
    let payload = data.get(40..40 + usize::from(be16(header, 4)?))?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let ip = Ip {
        protocol: header[6],
        destination: header[24..].try_into().ok()?,
    };
    Some((ip, payload))
}

fn udp(data: &[u8]) -> Option<Datagram<'_>> {
    let length = usize::from(be16(data, 4)?);
    Some(Datagram {
        source_port: be16(data, 0)?,
        destination_port: be16(data, 2)?,
        data: data.get(..length)?.get(8..)?,
    })
}

/// RFC 1071; IPv4 headers are whole words.
fn sums_to_all_ones(header: &[u8]) -> bool {
    let words = header.chunks_exact(2);
    let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    (sum & 0xFFFF) + (sum >> 16) == 0xFFFF
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}
