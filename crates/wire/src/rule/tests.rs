//! Tests of rules: their syntax, and what they match, frame by frame.

use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use smoltcp::wire::{Ipv4Address, Ipv6Address};

use super::*;
use crate::frame::{FrameSpec, Transport};
use crate::header::{Flags, Header};
use crate::size::{Size, SizeUnit};

const MAC: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 2];
const IPV4: [u8; 4] = [198, 18, 0, 2];
const IPV6: [u8; 16] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

fn own() -> PortAddresses {
    PortAddresses {
        mac: MAC,
        addresses: FixedList::of(&[PortAddresses::mapped(IPV4), IPV6]).unwrap(),
    }
}

fn spec(transport: Transport, tags: [Option<u16>; 2]) -> FrameSpec {
    FrameSpec {
        destination: MAC,
        source: [2, 0x57, 0x4C, 0, 0, 1],
        vlans: tags,
        transport,
        dscp: 0,
    }
}

fn udp4(ports: [u16; 2]) -> Transport {
    let addresses = [Ipv4Address::new(198, 18, 0, 1), Ipv4Address::from(IPV4)];
    Transport::UdpIpv4 { addresses, ports }
}

fn udp6(ports: [u16; 2]) -> Transport {
    let addresses = [Ipv6Address::LOCALHOST, Ipv6Address::from(IPV6)];
    Transport::UdpIpv6 { addresses, ports }
}

fn built(spec: FrameSpec) -> Vec<u8> {
    let sizes = Size::new(SizeUnit::Frame, spec.framing().min_test_frame().max(100))
        .resolve_test(spec.framing())
        .unwrap();
    let header = Header {
        flags: Flags::NONE,
        stream: 0,
        sequence: 7,
        time_ns: 0,
        lfsr_len: 0,
    };
    let mut frame = std::vec![0; sizes.length as usize];
    spec.build(&sizes, &header, &mut frame);
    frame
}

fn plain(transport: Transport) -> Vec<u8> {
    built(spec(transport, [None, None]))
}

fn matches(rule: &str, frame: &[u8]) -> bool {
    rule.parse::<Rule>().unwrap().matches(frame, &own())
}

#[test]
fn each_word_looks_at_its_field() {
    let udp = plain(udp4([5, 1026]));
    assert!(matches("port=1026", &udp) && matches("port=7:1026", &udp));
    assert!(!matches("port=5", &udp), "the source port is not asked");
    assert!(matches("port=1026", &plain(udp6([5, 1026]))));
    assert!(matches("protocol=17", &udp) && !matches("protocol=6", &udp));
    assert!(matches("ethertype=0x800", &udp) && matches("ethertype=2048", &udp));
    assert!(matches("own", &udp) && matches("own", &plain(udp6([1, 2]))));
    let ethernet = plain(Transport::Ethernet);
    assert!(matches("ethertype=0x88b5", &ethernet) && matches("own", &ethernet));
    assert!(!matches("protocol=0", &ethernet) && !matches("port=0", &ethernet));
    assert!(!matches("priority=0", &udp), "untagged frames have none");
    assert!(Rule::default().matches(&ethernet, &own()));
    assert!(!Rule::default().matches(&ethernet[..13], &own()));
}

#[test]
fn tags_are_passed_and_the_outer_one_has_the_priority() {
    for transport in [Transport::Ethernet, udp4([1, 2]), udp6([1, 2])] {
        let one = built(spec(transport, [Some(6 << 13 | 5), None]));
        let two = built(spec(transport, [Some(6 << 13), Some(3 << 13)]));
        for frame in [one, two] {
            assert!(matches("priority=6,own", &frame) && !matches("priority=3", &frame));
            assert_eq!(matches("port=2", &frame), transport != Transport::Ethernet);
        }
    }
    let mut cut = built(spec(Transport::Ethernet, [Some(6 << 13), None]));
    cut.truncate(17);
    assert!(!matches("priority=6", &cut), "a tag that is not all there");
}

#[test]
fn all_words_of_a_rule_must_hold_and_any_rule_of_several() {
    let frame = built(spec(udp4([5, 1026]), [Some(6 << 13), None]));
    let all = "ethertype=0x0800,own,protocol=17,port=1026,priority=6";
    assert!(matches(all, &frame));
    for (word, other) in [
        ("0x0800", "0x86dd"),
        ("=17", "=6"),
        ("1026", "1027"),
        ("priority=6", "priority=5"),
    ] {
        assert!(!matches(&all.replace(word, other), &frame), "{other}");
    }
    let any = |text: &str| text.parse::<Rules>().unwrap().match_any(&frame, &own());
    assert!(any("port=9;priority=6") && any("priority=6;port=9") && !any("port=9;priority=5"));
}

#[test]
fn own_means_the_mac_and_for_ip_the_address_too() {
    let mut other_ip = plain(udp4([1, 2]));
    let mut group = other_ip.clone();
    // The header's checksum stays right: the identification balances the change of the address.
    other_ip[33] -= 1;
    other_ip[19] += 1;
    assert!(matches("port=2", &other_ip) && !matches("own", &other_ip));
    group[..6].fill(0xFF);
    assert!(matches("port=2", &group) && !matches("own,port=2", &group));
    let mut mapped = plain(udp6([1, 2]));
    mapped[38..54].copy_from_slice(&PortAddresses::mapped([198, 18, 0, 3]));
    assert!(!matches("own", &mapped));
}

#[test]
fn what_is_damaged_cut_short_or_a_fragment_is_the_stacks() {
    let good = plain(udp4([1, 1026]));
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        matches("port=1026", &frame)
    };
    assert!(with(&|_| {}) && with(&|f| f.push(0)), "padding is fine");
    assert!(!with(&|f| f[22] ^= 1), "header checksum");
    assert!(!with(&|f| f.truncate(f.len() - 1)), "shorter than it says");
    assert!(
        !with(&|f| f[38] = 0x7F),
        "a datagram longer than its packet"
    );
    assert!(
        !with(&|f| (f[38], f[39]) = (0, 7)),
        "shorter than its header"
    );
    let fragment = {
        let mut frame = good.clone();
        frame[20] |= 0x20;
        frame[24..26].fill(0);
        let sum: u32 = frame[14..34]
            .chunks(2)
            .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]))
            .sum();
        let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    };
    assert!(!matches("port=1026", &fragment) && !matches("own", &fragment));
    assert!(matches("ethertype=0x0800", &fragment));
}

#[test]
fn a_datagram_is_found_whole_or_not_at_all() {
    for transport in [udp4([5, 1026]), udp6([5, 1026])] {
        let frame = built(spec(transport, [Some(6 << 13), None]));
        let found = datagram(&frame).unwrap();
        assert_eq!((found.source_port, found.destination_port), (5, 1026));
        assert_eq!(found.data[..2], *b"WL");
        assert_eq!(found.data.len(), frame.len() - frame_at(&frame, found.data));
        assert_eq!(datagram(&frame[..frame.len() - 1]), None);
    }
    assert_eq!(datagram(&plain(Transport::Ethernet)), None);
}

fn frame_at(frame: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - frame.as_ptr() as usize
}

#[test]
fn wrong_rules_are_refused_with_the_place_and_the_fix() {
    let said = |text: &str| text.parse::<Rules>().unwrap_err().to_string();
    let cases = [
        ("", "character 1: not known; fix: write a rule of ethertype"),
        ("port=1026;", "character 11: not known"),
        ("port=1026, priority=6", "character 11: not known"),
        ("own=1", "character 1: not known"),
        (
            "port=",
            "character 1: port takes a number from 0 to 65535; fix: write e.g. port=1026",
        ),
        ("own,port=65536", "character 5: port takes"),
        ("port=+5", "character 1: port takes"),
        (
            "port=1;priority=8",
            "character 8: priority takes a number from 0 to 7",
        ),
        ("ethertype=88b5", "character 1: ethertype takes a number"),
        ("protocol=256", "from 0 to 255"),
        ("port=1,port=2", "character 8: repeated in one rule"),
        ("port=1:2:3:4:5:6:7:8:9", "a rule has 8 ports at most"),
        (
            "own;own;own;own;own;own;own;own;own",
            "character 33: there are 8 rules at most",
        ),
    ];
    for (text, expected) in cases {
        let said = said(text);
        assert!(said.contains(expected), "{text}: {said}");
    }
}

fn some_rule() -> impl Strategy<Value = Rule> {
    let ports = proptest::collection::vec(any::<u16>(), 0..=MAX_PORTS);
    let some = proptest::option::of::<std::ops::Range<u8>>;
    (
        any::<Option<u16>>(),
        any::<bool>(),
        any::<Option<u8>>(),
        ports,
        some(0..8),
    )
        .prop_map(
            |(ether_type, own_address, protocol, ports, priority)| Rule {
                ether_type,
                own_address,
                protocol,
                udp_ports: FixedList::of(&ports).unwrap(),
                priority,
            },
        )
}

proptest! {
    #[test]
    fn rules_are_read_as_they_are_written(rules in proptest::collection::vec(some_rule(), 1..=MAX_RULES)) {
        let rules: Vec<Rule> = rules.into_iter().filter(|r| *r != Rule::default()).collect();
        prop_assume!(!rules.is_empty());
        let rules = Rules(FixedList::of(&rules).unwrap());
        prop_assert_eq!(rules.to_string().parse::<Rules>(), Ok(rules));
    }

    #[test]
    fn hostile_texts_and_frames_never_panic(text in "[a-z0-9=:;, x]{0,60}", frame in proptest::collection::vec(any::<u8>(), 0..90)) {
        let mut bytes = text.into_bytes();
        fuzz_rules(&bytes);
        bytes.push(b'\n');
        bytes.extend(&frame);
        fuzz_rules(&bytes);
        for all in ["own", "port=1;own,priority=1;protocol=17"] {
            let mut bytes = String::from(all).into_bytes();
            bytes.push(b'\n');
            bytes.extend(&frame);
            fuzz_rules(&bytes);
        }
    }
}
