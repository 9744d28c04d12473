//! Frames for tests of the XDP program: every framing, whole and damaged, drawn from a seed.

use smoltcp::wire::{Ipv4Address, Ipv6Address};
use wirelab_wire::rule::{FixedList, PortAddresses};
use wirelab_wire::{Flags, FrameSpec, Header, Size, SizeUnit, Transport};

pub const MAC: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 2];
pub const PEER: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 1];
pub const IPV4: [u8; 4] = [198, 18, 0, 2];
pub const IPV6: [u8; 16] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
pub const HEADER: Header = Header {
    flags: Flags::NONE,
    stream: 0,
    sequence: 0,
    time_ns: 0,
    lfsr_len: 0,
};

/// Each word alone, mixes, and tables of several rules.
pub const RULES: [&str; 12] = [
    "ethertype=0x88b5",
    "ethertype=0x0800",
    "own",
    "protocol=17",
    "protocol=6",
    "port=1026",
    "port=1:2:3:4:5:6:7:5003",
    "priority=6",
    "own,port=1026,priority=6,protocol=17,ethertype=0x86dd",
    "priority=0;port=1027,own",
    "own,ethertype=0x88b5;own,port=1026;protocol=17",
    "port=1;port=2;port=3;port=4;port=5;port=6;port=7;port=1026:0",
];

pub fn own() -> PortAddresses {
    let addresses = [
        PortAddresses::mapped([192, 0, 2, 7]),
        PortAddresses::mapped(IPV4),
        IPV6,
    ];
    PortAddresses {
        mac: MAC,
        addresses: FixedList::of(&addresses).unwrap(),
    }
}

pub fn udp4(source: [u8; 4], ports: [u16; 2]) -> FrameSpec {
    FrameSpec {
        destination: MAC,
        source: PEER,
        vlans: [None, None],
        transport: Transport::UdpIpv4 {
            addresses: [Ipv4Address::from(source), Ipv4Address::from(IPV4)],
            ports,
        },
        dscp: 0,
    }
}

fn udp6(ports: [u16; 2]) -> Transport {
    let source = Ipv6Address::new(0xFD00, 0, 0, 0, 0, 0, 0, 1);
    Transport::UdpIpv6 {
        addresses: [source, Ipv6Address::from(IPV6)],
        ports,
    }
}

/// Every transport with no, one and two tags, then frames to others and to other ports. The first is plain Ethernet.
pub fn specs() -> Vec<FrameSpec> {
    let plain = udp4([198, 18, 0, 1], [9, 1026]);
    let tags = [
        [None, None],
        [Some(6 << 13 | 5), None],
        [Some(7), Some(6 << 13)],
    ];
    let transports = [Transport::Ethernet, plain.transport, udp6([9, 5003])];
    let mut specs = Vec::new();
    for vlans in tags {
        specs.extend(transports.map(|transport| FrameSpec {
            vlans,
            transport,
            ..plain
        }));
    }
    specs.push(udp4([198, 18, 0, 1], [1026, 1027]));
    specs.push(FrameSpec {
        destination: [0xFF; 6],
        ..plain
    });
    specs.push(FrameSpec {
        destination: PEER,
        ..specs[0]
    });
    specs
}

pub fn built(spec: &FrameSpec, header: &Header) -> Vec<u8> {
    let frame = spec.framing().min_test_frame().max(96);
    let sizes = Size::new(SizeUnit::Frame, frame)
        .resolve_test(spec.framing())
        .unwrap();
    let mut out = vec![0; sizes.length as usize];
    spec.build(&sizes, header, &mut out);
    out
}

/// A seeded source of numbers (xorshift64*).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }
}

/// A copy with one to three changes: a bit, a byte, a length, IPv4 options. The header's checksum is mostly
/// corrected, so that the program also reads what follows.
pub fn mutated(frame: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut frame = frame.to_vec();
    for _ in 0..=dice.below(3) {
        let near = frame.len().min(64);
        match dice.below(8) {
            0..=2 => frame[dice.below(near)] ^= 1 << dice.below(8),
            3 | 4 => frame[12 + dice.below(near - 12)] = dice.below(256) as u8,
            5 => frame.truncate(14 + dice.below(frame.len() - 13)),
            6 => frame.extend(std::iter::repeat_n(0xA5, dice.below(40))),
            _ => add_options(&mut frame, dice.below(11)),
        }
    }
    if dice.below(4) > 0 {
        repair(&mut frame);
    }
    frame
}

/// Offset of an IPv4 header, if there is one.
fn ipv4_at(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    for _ in 0..2 {
        match frame.get(at..at + 2)? {
            [0x81, 0] | [0x88, 0xA8] => at += 4,
            _ => break,
        }
    }
    (frame.get(at..at + 2)? == [8, 0] && frame.len() > at + 2).then_some(at + 2)
}

fn add_options(frame: &mut Vec<u8>, words: usize) {
    let Some(at) = ipv4_at(frame) else { return };
    if frame.len() < at + 20 {
        return;
    }
    frame[at] = 0x45 + words as u8;
    let total = u16::from_be_bytes([frame[at + 2], frame[at + 3]]).wrapping_add(4 * words as u16);
    frame[at + 2..at + 4].copy_from_slice(&total.to_be_bytes());
    let options = std::iter::repeat_n(1, 4 * words);
    frame.splice(at + 20..at + 20, options);
}

fn repair(frame: &mut [u8]) {
    let Some(at) = ipv4_at(frame) else { return };
    let header = usize::from(frame[at] & 15) * 4;
    if header < 20 || frame.len() < at + header {
        return;
    }
    frame[at + 10..at + 12].fill(0);
    let words = frame[at..at + header].chunks(2);
    let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
    frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
}
