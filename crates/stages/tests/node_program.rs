//! The XDP program of a node's port against its references, by test runs over single frames: the packet identifier
//! against `Rules`, the reflector against frames with right checksums, the points against the frames' own times.

use crate::common;
use crate::common::frames::{Dice, MAC, PEER, RULES, built, mutated, own, specs, udp4};
use smoltcp::wire::{Ipv4Packet, Ipv6Packet, UdpPacket};
use wirelab_port::netns::may_test;
use wirelab_stages::{FlowFilter, NodeOptions, NodeXdp, Point, Reflect, Store};
use wirelab_wire::rule::{FixedList, Rules};
use wirelab_wire::{Flags, FrameSpec, Header, Transport};

const XDP_PASS: u32 = 2;
const XDP_TX: u32 = 3;

fn with_rules(rules: &str) -> NodeXdp {
    let options = NodeOptions {
        rules: rules.parse().unwrap(),
        ..NodeOptions::default()
    };
    NodeXdp::load(&own(), &options, None).unwrap()
}

/// Runs the program over a frame, and compares the rule that it matched with the reference.
fn compare(node: &NodeXdp, rules: &Rules, frame: &[u8]) -> bool {
    let before = node.counters();
    let (verdict, after_frame) = node.verdict(frame).unwrap();
    let after = node.counters();
    let expected = rules.0.iter().position(|rule| rule.matches(frame, &own()));
    let taken: Vec<usize> = (0..8)
        .filter(|i| after.matched[*i] != before.matched[*i])
        .collect();
    let expected_list: Vec<usize> = expected.into_iter().collect();
    assert_eq!(taken, expected_list, "rules {rules}, frame {frame:02x?}");
    // There is no socket, so the stack gets the unchanged frame.
    assert_eq!((verdict, &after_frame[..]), (XDP_PASS, frame));
    assert_eq!(after.frames, before.frames + 1);
    assert_eq!(after.passed, before.passed + 1);
    assert_eq!(
        after.no_socket - before.no_socket,
        u64::from(expected.is_some())
    );
    expected.is_some()
}

#[test]
fn the_identifier_matches_what_the_reference_matches() {
    if !may_test() {
        return;
    }
    let mut dice = Dice(0x5EED_0001);
    let (mut hits, mut frames) = (0, 0);
    for text in RULES {
        let node = with_rules(text);
        let rules: Rules = text.parse().unwrap();
        for spec in specs() {
            let whole = built(
                &spec,
                &Header {
                    sequence: 7,
                    ..common::frames::HEADER
                },
            );
            frames += 1;
            hits += u32::from(compare(&node, &rules, &whole));
            for _ in 0..60 {
                frames += 1;
                hits += u32::from(compare(&node, &rules, &mutated(&whole, &mut dice)));
            }
        }
    }
    assert!(frames > 5_000, "{frames}");
    assert!(
        hits > frames / 20 && hits < frames * 3 / 4,
        "{hits} of {frames}"
    );
}

#[test]
fn random_bytes_are_never_taken_for_more_than_the_reference_does() {
    if !may_test() {
        return;
    }
    let mut dice = Dice(0x5EED_0002);
    let text = "port=1026:1027;priority=6;ethertype=0x0800,own;protocol=17;own";
    let (node, rules) = (with_rules(text), text.parse::<Rules>().unwrap());
    for _ in 0..4_000 {
        let mut frame: Vec<u8> = (0..14 + dice.below(120))
            .map(|_| dice.below(256) as u8)
            .collect();
        if dice.below(2) == 0 {
            frame[12..14]
                .copy_from_slice([[8, 0], [0x81, 0], [0x86, 0xDD]][dice.below(3)].as_slice());
        }
        compare(&node, &rules, &frame);
    }
}

fn reflecting(reflect: Reflect) -> NodeXdp {
    let options = NodeOptions {
        reflect: Some(reflect),
        ..NodeOptions::default()
    };
    NodeXdp::load(&own(), &options, None).unwrap()
}

fn everything() -> Reflect {
    Reflect {
        ethernet: true,
        udp_ports: FixedList::of(&[1026, 5003]).unwrap(),
        ..Reflect::default()
    }
}

/// The expected reflected frame.
fn turned(spec: &FrameSpec, header: &Header) -> Vec<u8> {
    let transport = match spec.transport {
        Transport::Ethernet => Transport::Ethernet,
        Transport::UdpIpv4 {
            addresses: [a, b],
            ports: [p, q],
        } => Transport::UdpIpv4 {
            addresses: [b, a],
            ports: [q, p],
        },
        Transport::UdpIpv6 {
            addresses: [a, b],
            ports: [p, q],
        } => Transport::UdpIpv6 {
            addresses: [b, a],
            ports: [q, p],
        },
    };
    let spec = FrameSpec {
        destination: spec.source,
        source: spec.destination,
        transport,
        ..*spec
    };
    built(&spec, header)
}

#[test]
fn test_frames_come_back_as_if_the_node_had_built_them() {
    if !may_test() {
        return;
    }
    let node = reflecting(everything());
    let header = Header {
        sequence: 99,
        ..common::frames::HEADER
    };
    let mut sent_back = 0;
    for spec in specs() {
        let (verdict, frame) = node.verdict(&built(&spec, &header)).unwrap();
        let wanted = spec.destination == MAC
            && match spec.transport {
                Transport::Ethernet => true,
                Transport::UdpIpv4 { ports, .. } | Transport::UdpIpv6 { ports, .. } => {
                    [1026, 5003].contains(&ports[1])
                }
            };
        assert_eq!(verdict, if wanted { XDP_TX } else { XDP_PASS }, "{spec:?}");
        if wanted {
            sent_back += 1;
            assert_eq!(frame, turned(&spec, &header), "{spec:?}");
            assert_checksums(&frame, &spec);
        }
    }
    assert!(sent_back >= 9, "{sent_back}");
    assert_eq!(node.counters().reflected, sent_back);
}

#[test]
fn a_checksum_that_nobody_finished_is_left_out_of_the_reply() {
    if !may_test() {
        return;
    }
    let node = reflecting(everything());
    let mut frame = built(&udp4([198, 18, 0, 1], [9, 1026]), &common::frames::HEADER);
    // The partial checksum that a stack leaves to a device: the sum of addresses, protocol and length (RFC 768).
    let words = frame[26..34].chunks(2).chain(frame[38..40].chunks(2));
    let sum: u32 = words
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]))
        .sum::<u32>()
        + 17;
    let sum = ((sum & 0xFFFF) + (sum >> 16)) as u16;
    frame[40..42].copy_from_slice(&sum.to_be_bytes());
    let (verdict, after) = node.verdict(&frame).unwrap();
    assert_eq!((verdict, &after[40..42]), (XDP_TX, [0, 0].as_slice()));
    assert_eq!(after[42..], frame[42..], "the data are as they were");
}

fn assert_checksums(frame: &[u8], spec: &FrameSpec) {
    let at = 14 + 4 * spec.vlans.iter().flatten().count();
    match spec.transport {
        Transport::Ethernet => {}
        Transport::UdpIpv4 { .. } => {
            let ip = Ipv4Packet::new_checked(&frame[at..]).unwrap();
            let udp = UdpPacket::new_checked(ip.payload()).unwrap();
            assert!(ip.verify_checksum());
            assert!(udp.verify_checksum(&ip.src_addr().into(), &ip.dst_addr().into()));
        }
        Transport::UdpIpv6 { .. } => {
            let ip = Ipv6Packet::new_checked(&frame[at..]).unwrap();
            let udp = UdpPacket::new_checked(ip.payload()).unwrap();
            assert!(udp.verify_checksum(&ip.src_addr().into(), &ip.dst_addr().into()));
        }
    }
}

#[test]
fn mutated_frames_are_turned_around_whole_or_left_alone() {
    if !may_test() {
        return;
    }
    let node = reflecting(everything());
    let mut dice = Dice(0x5EED_0003);
    for spec in specs() {
        let whole = built(&spec, &common::frames::HEADER);
        for _ in 0..150 {
            let frame = mutated(&whole, &mut dice);
            let (verdict, after) = node.verdict(&frame).unwrap();
            if verdict == XDP_TX {
                assert_eq!((&after[..6], &after[6..12]), (&frame[6..12], &frame[..6]));
                assert_eq!(after.len(), frame.len());
                let again = reflect_rest(&after);
                assert_eq!(
                    again,
                    reflect_rest(&frame),
                    "the same bytes, in another order"
                );
            } else {
                assert_eq!((verdict, after), (XDP_PASS, frame));
            }
        }
    }
}

fn reflect_rest(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame[12..].to_vec();
    bytes.sort_unstable();
    bytes
}

#[test]
fn nobody_can_be_made_a_target_by_a_forged_sender() {
    if !may_test() {
        return;
    }
    let mut node = reflecting(everything());
    let l2 = |source: [u8; 6]| {
        built(
            &FrameSpec {
                source,
                ..specs()[0]
            },
            &common::frames::HEADER,
        )
    };
    let ip =
        |source: [u8; 4], port: u16| built(&udp4(source, [port, 1026]), &common::frames::HEADER);
    for frame in [
        l2([0xFF; 6]),
        l2([1, 0, 0x5E, 0, 0, 1]),
        l2(MAC),
        ip([224, 0, 0, 1], 9),
        ip([255; 4], 9),
        ip([127, 0, 0, 1], 9),
        ip([0; 4], 9),
        ip([198, 18, 0, 1], 0),
    ] {
        let (verdict, after) = node.verdict(&frame).unwrap();
        assert_eq!((verdict, &after), (XDP_PASS, &frame));
    }
    assert_eq!(node.counters().not_reflected, 8);
    for (peer_mac, peer, answered) in [
        (Some(PEER), None, true),
        (Some([2, 0, 0, 0, 0, 9]), None, false),
        (None, Some([198, 18, 0, 1].into()), true),
        (Some(PEER), Some([198, 18, 0, 9].into()), false),
    ] {
        node = reflecting(Reflect {
            peer_mac,
            peer,
            ..everything()
        });
        let (verdict, _) = node.verdict(&ip([198, 18, 0, 1], 9)).unwrap();
        assert_eq!(verdict == XDP_TX, answered, "{peer_mac:?} {peer:?}");
    }
}

#[test]
fn the_points_of_a_test_frame_are_taken_and_damaged_ones_counted() {
    if !may_test() {
        return;
    }
    let store = Store::new(16).unwrap();
    let node = NodeXdp::load(&own(), &NodeOptions::default(), Some(&store)).unwrap();
    let filter = FlowFilter {
        udp_ports: vec![1026],
        ethernet: true,
        stream_in: Some(3),
        stream_out: None,
        one_clock: true,
    };
    store.aim(&"lo".parse().unwrap(), &filter).unwrap();
    let now = wirelab_trial::host_clock::now_ns();
    let header = |sequence, stream, flags, time_ns| Header {
        sequence,
        stream,
        flags,
        time_ns,
        lfsr_len: 0,
    };
    let timed = Flags::TIME_VALID;
    let show = |spec: &FrameSpec, header: Header| node.verdict(&built(spec, &header)).unwrap();
    let udp = udp4([198, 18, 0, 1], [9, 1026]);
    show(&specs()[0], header(1, 3, timed, now));
    show(&udp, header(2, 3, timed, now));
    show(&udp, header(3, 3, Flags::NONE, 0));
    show(&udp, header(4, 3, timed.with(Flags::NODE_CLOCK), now));
    show(&udp, header(5, 4, timed, now));
    show(&udp4([198, 18, 0, 1], [9, 1027]), header(6, 3, timed, now));
    show(&udp, header(7, 3, timed, now + 3_600_000_000_000));
    let mut damaged = built(&udp, &header(8, 3, timed, now));
    damaged[46] ^= 1;
    node.verdict(&damaged).unwrap();
    let times = store.times();
    let of = |point: Point| {
        let found = times
            .iter()
            .find(|t| t.name == point.name() && t.stream == 3);
        found.map(|t| t.times.clone()).unwrap_or_default()
    };
    assert_eq!(
        of(Point::InWire),
        [(1, now), (2, now)],
        "as the frame says, in 64 bits"
    );
    let driver: Vec<u32> = of(Point::InDriver).iter().map(|t| t.0).collect();
    assert_eq!(driver, [1, 2, 3, 4, 7]);
    assert!(of(Point::InDriver).iter().all(|t| t.1 >= now));
    let counts = store.counts(Point::InDriver);
    assert_eq!((counts.corrupt, counts.unreadable), (1, 0));
    let left_after_it_came = store.counts(Point::InWire);
    assert_eq!(
        (left_after_it_came.unmatched, left_after_it_came.unreadable),
        (1, 0)
    );
    assert!(times.iter().all(|t| t.stream == 3));
    // A sender with another clock, whatever its times look like.
    let other = FlowFilter {
        one_clock: false,
        ..filter
    };
    store.clear();
    store.aim(&"lo".parse().unwrap(), &other).unwrap();
    show(&udp, header(9, 3, timed, now));
    let wire = store.counts(Point::InWire);
    assert_eq!((wire.taken, wire.unmatched), (0, 0));
    assert_eq!(store.counts(Point::InDriver).taken, 1);
}
