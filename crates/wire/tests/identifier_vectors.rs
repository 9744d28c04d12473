//! The vectors of the packet identifier, `spec/vectors/packet-identifier.txt`: frames, and which [`Rule`]s they
//! match.
//!
//! The bench of the identifier in hardware (`rtl/src/packet_identifier.vhd`) compares it with that file. The frames
//! are drawn here with a fixed seed; after a change of the rules' meaning, WIRELAB_WRITE_VECTORS=1 rewrites the file.

use std::fmt::Write as _;
use std::path::Path;

use wirelab_wire::rule::{FixedList, PortAddresses, Rule};

const MAC: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 2];
const IPV4: [u8; 4] = [198, 18, 0, 2];
const IPV6: [u8; 16] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
/// The port table shared by the rules of one set.
const PORTS: [u16; 4] = [1026, 1027, 5003, 0x0204];
/// Rules of one set, the hardware's default.
const RULES: usize = 4;
const SETS: usize = 12;
const FRAMES: usize = 45;
/// Longer than any IP header can state.
const ENDLESS: usize = 70_000;

const HEAD: &str = "\
# Vectors of the packet identifier: frames, and which rules want them (crates/wire/src/rule.rs). Numbers are hex.
#
#   own MAC            address I IPV6-OR-MAPPED-IPV4            port I UDP-PORT
#   rule I ASKS ETHERTYPE PROTOCOL PRIORITY PORTS   TEXT
#       ASKS adds 1 EtherType, 2 own address, 4 protocol, 8 priority, 10 the rule is used;
#       PORTS has bit I for the port I
#   frame WANTED STARTS BYTES
#       WANTED has bit I for rule I; STARTS is the same, had the frame not ended where it does
#
# Written by crates/wire/tests/identifier_vectors.rs.
";

/// xorshift64*, so that the file is the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
}

fn own() -> PortAddresses {
    PortAddresses {
        mac: MAC,
        addresses: FixedList::of(&[PortAddresses::mapped(IPV4), IPV6]).unwrap(),
    }
}

fn rule(dice: &mut Dice) -> Option<Rule> {
    if dice.one_in(10) {
        return None;
    }
    let mut rule = Rule::default();
    if dice.one_in(5) {
        rule.ether_type = Some(dice.of(&[0x0800, 0x86DD, 0x88B5, 0x8100, 0x88A8]));
    }
    rule.own_address = dice.one_in(3);
    if dice.one_in(4) {
        rule.protocol = Some(dice.of(&[17, 17, 6]));
    }
    if dice.one_in(5) {
        rule.priority = Some(dice.of(&[0, 6, 7]));
    }
    if dice.one_in(2) {
        for port in PORTS {
            if dice.one_in(2) {
                rule.udp_ports.push(port);
            }
        }
    }
    Some(rule)
}

/// A datagram with its header, whose length may be `wrong`.
fn udp(dice: &mut Dice, wrong: bool) -> Vec<u8> {
    let data = dice.of(&[0, 1, 9, 18, 40]);
    let length = match wrong {
        true => dice.of(&[0, 7, data + 7, data + 9, 0x0108 + data]),
        false => data + 8,
    };
    let port = dice.of(&[PORTS[0], PORTS[1], PORTS[2], PORTS[3], 1028, 0x0402]);
    let mut bytes = 9u16.to_be_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    bytes.extend((length as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend((0..data).map(|_| dice.byte()));
    bytes
}

fn sum(header: &[u8]) -> u16 {
    let sum: u32 = header
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]))
        .sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// At most one error in it, so that none hides another.
fn ipv4(dice: &mut Dice) -> Vec<u8> {
    let fault = dice.below(12);
    let data = udp(dice, fault == 0);
    let words = if dice.one_in(3) {
        dice.of(&[6, 7, 10, 15])
    } else {
        5
    };
    let mut header = vec![0u8; words * 4];
    for byte in &mut header[20..] {
        *byte = dice.byte();
    }
    if words > 5 && dice.one_in(2) {
        // A byte-wise sum has its last carry left over here.
        header[words * 4 - 2..].fill(0xFF);
    }
    let whole = data.len() + header.len();
    let length = match fault {
        1 => dice.of(&[0, 19, header.len(), header.len() + 7, whole - 1]),
        2 => dice.of(&[whole + 1, whole + 30, 0xFFFF]),
        _ => whole,
    };
    header[0] = 0x40 | words as u8;
    if fault == 3 {
        header[0] = dice.of(&[0x44, 0x40, 0x55, 0x65]);
    }
    header[1] = dice.byte();
    header[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    header[4..6].copy_from_slice(&[dice.byte(), dice.byte()]);
    let fragment: u16 = match fault {
        4 | 5 => dice.of(&[0x2000, 0x2000, 0x0001, 0x0080, 0x0100, 0x1000, 0x1FFF]),
        _ => dice.of(&[0, 0x4000, 0x8000]),
    };
    header[6..8].copy_from_slice(&fragment.to_be_bytes());
    header[8] = 64;
    header[9] = if fault == 6 { dice.of(&[6, 1]) } else { 17 };
    header[12..16].copy_from_slice(&[198, 18, 0, 1]);
    header[16..20].copy_from_slice(&IPV4);
    if fault == 7 {
        // The low bytes of the other own address, which is not an IPv4 address.
        header[16..20].copy_from_slice(&IPV6[12..]);
    } else if fault == 8 {
        let (at, bit) = (16 + dice.below(4), dice.below(8));
        header[at] ^= 1 << bit;
    }
    let sum = !sum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    if fault == 9 {
        let (at, bit) = (8 + dice.below(header.len() - 8), dice.below(8));
        header[at] ^= 1 << bit;
    }
    header.extend(data);
    header
}

fn ipv6(dice: &mut Dice) -> Vec<u8> {
    let fault = dice.below(8);
    let data = udp(dice, fault == 0);
    let length = match fault {
        1 => dice.of(&[0, 7, data.len() - 1]),
        2 => dice.of(&[data.len() + 1, data.len() + 30, 0xFFFF]),
        _ => data.len(),
    };
    let mut header = vec![0u8; 40];
    header[0] = if fault == 3 { 0x40 } else { 0x60 };
    header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    header[6] = if fault == 4 { dice.of(&[6, 44]) } else { 17 };
    header[7] = 64;
    let to = dice.of(&[IPV6, IPV6, PortAddresses::mapped(IPV4)]);
    header[24..].copy_from_slice(&to);
    if fault == 5 {
        let (at, bit) = (24 + dice.below(16), dice.below(8));
        header[at] ^= 1 << bit;
    }
    header.extend(data);
    header
}

fn frame(dice: &mut Dice) -> Vec<u8> {
    let mut frame = MAC.to_vec();
    if dice.one_in(8) {
        let (at, bit) = (dice.below(6), dice.below(8));
        frame[at] ^= 1 << bit;
    }
    frame.extend([2, 0x57, 0x4C, 0, 0, 1]);
    for _ in 0..dice.of(&[0, 0, 0, 1, 1, 2, 3]) {
        frame.extend(dice.of(&[0x8100u16, 0x88A8]).to_be_bytes());
        frame.extend([dice.of(&[0, 6, 7]) << 5 | dice.byte() & 31, dice.byte()]);
    }
    let kind = dice.below(10);
    let ether_type: u16 = match kind {
        0..=4 => 0x0800,
        5..=7 => 0x86DD,
        _ => dice.of(&[0x88B5, 0x0806, 0x0801, 46]),
    };
    frame.extend(ether_type.to_be_bytes());
    match kind {
        0..=4 => frame.extend(ipv4(dice)),
        5..=7 => frame.extend(ipv6(dice)),
        _ => frame.extend((0..46).map(|_| dice.byte())),
    }
    if frame.len() < 60 {
        frame.resize(60, 0);
    }
    // Cut anywhere, even within a tag, as the line can.
    if dice.one_in(5) {
        frame.truncate(1 + dice.below(frame.len()));
    }
    frame
}

fn write_rule(out: &mut String, number: usize, rule: Option<&Rule>) {
    let Some(rule) = rule else {
        writeln!(out, "rule {number} 00 0000 00 0 0").unwrap();
        return;
    };
    let asks = 0x10
        | u8::from(rule.ether_type.is_some())
        | u8::from(rule.own_address) << 1
        | u8::from(rule.protocol.is_some()) << 2
        | u8::from(rule.priority.is_some()) << 3;
    let ports = (0..PORTS.len()).filter(|i| rule.udp_ports.contains(&PORTS[*i]));
    writeln!(
        out,
        "rule {number} {asks:02X} {:04X} {:02X} {:X} {:X} {rule}",
        rule.ether_type.unwrap_or(0),
        rule.protocol.unwrap_or(0),
        rule.priority.unwrap_or(0),
        ports.map(|i| 1 << i).sum::<u8>(),
    )
    .unwrap();
}

fn wanted(rules: &[Option<Rule>], frame: &[u8]) -> u8 {
    let bits = rules.iter().enumerate();
    bits.map(|(i, rule)| u8::from(rule.is_some_and(|r| r.matches(frame, &own()))) << i)
        .sum()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

fn vectors() -> String {
    let mut dice = Dice(0x57_4C);
    let mut out = HEAD.to_string();
    writeln!(out, "own {}", hex(&MAC)).unwrap();
    for (i, address) in own().addresses.iter().enumerate() {
        writeln!(out, "address {i} {}", hex(address)).unwrap();
    }
    for (i, port) in PORTS.iter().enumerate() {
        writeln!(out, "port {i} {port:04X}").unwrap();
    }
    for _ in 0..SETS {
        let rules: Vec<Option<Rule>> = (0..RULES).map(|_| rule(&mut dice)).collect();
        for (i, rule) in rules.iter().enumerate() {
            write_rule(&mut out, i, rule.as_ref());
        }
        for _ in 0..FRAMES {
            let frame = frame(&mut dice);
            let mut endless = frame.clone();
            endless.resize(ENDLESS, 0);
            let (is, starts) = (wanted(&rules, &frame), wanted(&rules, &endless));
            writeln!(out, "frame {is:X} {starts:X} {}", hex(&frame)).unwrap();
        }
    }
    out
}

#[test]
fn the_file_says_what_the_rules_say() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/packet-identifier.txt");
    let vectors = vectors();
    if std::env::var_os("WIRELAB_WRITE_VECTORS").is_some() {
        std::fs::write(&path, &vectors).unwrap();
    }
    let file = std::fs::read_to_string(&path).unwrap();
    for (number, (theirs, ours)) in file.lines().zip(vectors.lines()).enumerate() {
        assert_eq!(theirs, ours, "line {} of {}", number + 1, path.display());
    }
    assert_eq!(file.lines().count(), vectors.lines().count());
}

#[test]
fn the_frames_are_of_every_kind() {
    let vectors = vectors();
    let frames: Vec<Vec<&str>> = vectors
        .lines()
        .filter(|line| line.starts_with("frame"))
        .map(|line| line.split(' ').collect())
        .collect();
    let wanted = frames.iter().filter(|f| f[1] != "0").count();
    let cut_off = frames.iter().filter(|f| f[1] != f[2]).count();
    assert_eq!(frames.len(), SETS * FRAMES);
    assert!(
        wanted > 100 && wanted < frames.len() - 100,
        "{wanted} wanted"
    );
    assert!(cut_off > 10, "{cut_off} would have been wanted");
}
