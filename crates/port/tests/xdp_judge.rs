//! The eBPF checker against the one in Rust: the same verdict for each frame.

use crate::fast::verdict;
use crate::rig;
use crate::rig::{built, spec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use wirelab_port::job::CheckJob;
use wirelab_port::netns::may_test;
use wirelab_port::xdp::{Checker, CheckerOptions};
use wirelab_trial::Counts;
use wirelab_wire::{Flow, FrameSpec, Transport, Verdict, classify, header, lfsr};

const SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 9];

fn specs() -> Vec<FrameSpec> {
    let plain = spec([2, 0, 0, 0, 0, 1], SOURCE);
    let ports = [9, header::UDP_PORT];
    let udp4 = Transport::UdpIpv4 {
        addresses: [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()],
        ports,
    };
    let udp6 = Transport::UdpIpv6 {
        addresses: [1, 2].map(|n| [0xFD00, 0, 0, 0, 0, 0, 0, n].into()),
        ports,
    };
    let tags = [[None, None], [Some(5), None], [Some(0x2005), Some(6)]];
    let transports = [Transport::Ethernet, udp4, udp6];
    let all = transports
        .iter()
        .flat_map(|t| tags.iter().map(move |v| (*t, *v)));
    all.map(|(transport, vlans)| FrameSpec {
        vlans,
        transport,
        dscp: 46,
        ..plain
    })
    .collect()
}

/// A change of a frame. Offsets are taken modulo its length.
#[derive(Clone, Debug)]
enum Change {
    Flip(usize, u8),
    /// A bit before the end of the test header, which most rules check.
    FlipEarly(usize, u8),
    Cut(usize),
    Grow(Vec<u8>),
    Put(usize, u16),
    IpOptions(u8),
    Fragment(u16),
    UdpLength(u16),
    UdpPort(u16),
    Source,
    Content(u32),
    Version(u8),
    Claim(u16),
    NotIp(u8),
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<usize>(), 0u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (any::<usize>(), 0u8..8).prop_map(|(at, bit)| Change::FlipEarly(at, bit)),
        any::<usize>().prop_map(Change::Cut),
        proptest::collection::vec(any::<u8>(), 1..40).prop_map(Change::Grow),
        (
            0usize..60,
            prop::sample::select(vec![0x8100u16, 0x88A8, 0x0800, 0x86DD, 0x88B5, 0])
        )
            .prop_map(|(at, value)| Change::Put(at, value)),
        (0u8..16).prop_map(Change::IpOptions),
        prop_oneof![
            prop::sample::select(vec![0, 1, 0x1FFF, 0x2000, 0x4000, 0x8000]),
            any::<u16>()
        ]
        .prop_map(Change::Fragment),
        prop_oneof![0u16..60, any::<u16>()].prop_map(Change::UdpLength),
        prop_oneof![Just(7777u16), any::<u16>()].prop_map(Change::UdpPort),
        Just(Change::Source),
        any::<u32>().prop_map(Change::Content),
        (0u8..16).prop_map(Change::Version),
        prop_oneof![0u16..100, any::<u16>()].prop_map(Change::Claim),
        any::<u8>().prop_map(Change::NotIp),
    ]
}

fn put(frame: &mut [u8], at: usize, value: u16) {
    if let Some(place) = frame.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

/// Rewrites the header with one field changed and a correct checksum.
fn rewrite(frame: &mut [u8], at: usize, change: impl Fn(&mut [u8])) {
    if let Some(head) = frame.get_mut(at..at + header::LEN) {
        change(head);
        let sum: u32 = head[..16]
            .chunks(2)
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
            .sum();
        let sum = (sum & 0xFFFF) + (sum >> 16);
        let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
        head[16..].copy_from_slice(&sum.to_be_bytes());
    }
}

fn apply(frame: &mut Vec<u8>, spec: &FrameSpec, change: &Change) {
    let at = spec.header_offset();
    let ip = spec.framing().header_bytes() as usize;
    let data = at + header::LEN;
    match change {
        Change::Flip(place, bit) => {
            let len = frame.len();
            frame[place % len] ^= 1 << bit;
        }
        Change::FlipEarly(place, bit) => {
            let len = frame.len().min(data);
            frame[place % len] ^= 1 << bit;
        }
        Change::Cut(place) => {
            let len = 14 + place % (frame.len() - 13);
            frame.truncate(len);
        }
        Change::Grow(bytes) => frame.extend_from_slice(bytes),
        Change::Put(place, value) => put(frame, *place, *value),
        Change::IpOptions(words) => {
            if let Some(first) = frame.get_mut(ip) {
                *first = 0x40 | words;
            }
            // So that the options are really there.
            let more = usize::from(*words).saturating_sub(5) * 4;
            if frame.len() > ip + 20 {
                frame.splice(ip + 20..ip + 20, vec![1; more]);
            }
        }
        Change::Fragment(value) => put(frame, ip + 6, *value),
        Change::UdpLength(value) => put(frame, at - 4, *value),
        Change::UdpPort(value) => put(frame, at - 6, *value),
        Change::Source => frame[6..12].copy_from_slice(&[2, 9, 9, 9, 9, 9]),
        Change::Content(sequence) => {
            if frame.len() > data {
                let len = frame.len() - data;
                frame[data..].copy_from_slice(lfsr::payload(*sequence, len));
            }
        }
        Change::Version(version) => rewrite(frame, at, |h| h[2] = version << 4),
        Change::Claim(len) => {
            rewrite(frame, at, |h| h[14..16].copy_from_slice(&len.to_be_bytes()));
        }
        Change::NotIp(byte) => {
            if let Some(first) = frame.get_mut(ip) {
                *first = *byte;
            }
        }
    }
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Foreign => "foreign",
        Verdict::HeaderCorrupt => "header_corrupt",
        Verdict::Truncated(_) => "truncated",
        Verdict::Stale { .. } => "stale",
        Verdict::Corrupted(_) => "corrupted",
        Verdict::Good(_) => "good",
    }
}

fn checker(flow: Flow) -> Checker {
    let job = CheckJob {
        flow,
        slots: None,
        time_every: 1,
    };
    Checker::load(job, CheckerOptions::default()).unwrap()
}

#[test]
fn both_checkers_judge_any_frame_alike() {
    if !may_test() {
        return;
    }
    let flows = [
        Flow {
            source: Some(SOURCE),
            ..Flow::default()
        },
        Flow::default(),
        Flow {
            source: Some(SOURCE),
            udp_port: 7777,
            stream: Some(0),
            dscp: None,
        },
        Flow {
            stream: Some(1),
            ..Flow::default()
        },
        Flow {
            dscp: Some(46),
            ..Flow::default()
        },
    ];
    let checkers = flows.map(|flow| (flow, checker(flow)));
    let mut counts = flows.map(|_| Counts::default());
    let mut seen = std::collections::BTreeMap::new();
    let specs = specs();
    let input = (
        0..specs.len(),
        prop::sample::select(vec![92u32, 93, 128, 257, 1500, 3300]),
        any::<u32>(),
        proptest::collection::vec(changes(), 0..4),
    );
    let config = Config {
        cases: 3000,
        failure_persistence: None,
        ..Config::default()
    };
    let counts = std::cell::RefCell::new(&mut counts);
    let kinds = std::cell::RefCell::new(&mut seen);
    TestRunner::new(config)
        .run(&input, |(which, size, sequence, changes)| {
            let spec = &specs[which];
            let mut frame = built(spec, size, sequence);
            for change in &changes {
                apply(&mut frame, spec, change);
            }
            frame.truncate(3368);
            for (i, (flow, checker)) in checkers.iter().enumerate() {
                let rust = name(&classify(&frame, flow));
                let ebpf = verdict(checker, &mut counts.borrow_mut()[i], &frame);
                prop_assert_eq!(ebpf, rust, "{:?} of {:02x?}", flow, frame);
                *kinds.borrow_mut().entry(rust).or_insert(0) += 1;
            }
            Ok(())
        })
        .unwrap();
    for kind in [
        "good",
        "header_corrupt",
        "truncated",
        "stale",
        "corrupted",
        "foreign",
    ] {
        assert!(seen.get(kind).is_some_and(|n| *n > 50), "{kind}: {seen:?}");
    }
}

#[test]
fn a_program_that_an_earlier_check_returned_starts_anew_with_the_flow_of_the_next() {
    if !may_test() {
        return;
    }
    let spec = &specs()[0];
    let frame = built(spec, 128, 3);
    // Other tests of this process take programs too, so one of several may be loaded again, never all.
    for _ in 0..8 {
        let earlier = checker(Flow::default());
        earlier.judge(&frame).unwrap();
        assert_eq!(earlier.report().counts.good_frames, 1);
        drop(earlier);
        let next = checker(Flow {
            stream: Some(1),
            ..Flow::default()
        });
        assert_eq!(next.report().counts, Counts::default());
        assert_eq!(next.first_ns(), None);
        next.judge(&frame).unwrap();
        let counts = next.report().counts;
        assert_eq!((counts.good_frames, counts.foreign_frames), (0, 1));
    }
}

#[test]
fn a_longer_claim_than_the_fast_path_checks_is_never_good() {
    if !may_test() {
        return;
    }
    let checker = checker(Flow::default());
    let spec = &specs()[0];
    let mut counts = Counts::default();
    let right = built(spec, 3372, 7);
    assert_eq!(verdict(&checker, &mut counts, &right), "good");
    let mut frame = built(spec, 3504, 7);
    let longer = frame.len();
    assert_eq!(longer, 3500);
    assert_eq!(
        verdict(&checker, &mut counts, &frame),
        "corrupted",
        "of 3,468 bytes of content the fast path compares at most 3,368"
    );
    frame.truncate(3368);
    assert_eq!(verdict(&checker, &mut counts, &frame), "truncated");
}

#[test]
fn every_byte_of_every_short_content_is_compared_and_none_behind_it() {
    if !may_test() {
        return;
    }
    let flow = Flow::default();
    let checker = checker(flow);
    let mut counts = Counts::default();
    let spec = &specs()[0];
    for len in 0..=72usize {
        let mut right = built(spec, 128, 4095);
        rewrite(&mut right, 14, |h| {
            h[14..16].copy_from_slice(&(len as u16).to_be_bytes())
        });
        assert_eq!(
            verdict(&checker, &mut counts, &right),
            "good",
            "{len} bytes"
        );
        for at in 0..len + 2 {
            let mut frame = right.clone();
            frame[32 + at] ^= 1;
            let rust = name(&classify(&frame, &flow));
            assert_eq!(rust == "good", at >= len);
            assert_eq!(
                verdict(&checker, &mut counts, &frame),
                rust,
                "byte {at} of {len}"
            );
        }
        right.truncate(32 + len.max(1) - 1);
        let rust = name(&classify(&right, &flow));
        assert_eq!(
            verdict(&checker, &mut counts, &right),
            rust,
            "cut, {len} bytes"
        );
    }
}

#[test]
fn an_ip_header_shorter_than_20_bytes_is_foreign_even_where_a_test_frame_would_follow() {
    if !may_test() {
        return;
    }
    let flow = Flow::default();
    let checker = checker(flow);
    let mut counts = Counts::default();
    // The destination address ends like the UDP port, and the source port is a matching length.
    let spec = FrameSpec {
        transport: Transport::UdpIpv4 {
            addresses: [[10, 0, 0, 1].into(), [10, 0, 0x13, 0x8B].into()],
            ports: [60, header::UDP_PORT],
        },
        ..specs()[0]
    };
    let mut frame = built(&spec, 128, 7);
    assert_eq!(verdict(&checker, &mut counts, &frame), "good");
    frame[14] = 0x44;
    frame.drain(14 + 24..14 + 28);
    assert_eq!(classify(&frame, &flow), Verdict::Foreign);
    assert_eq!(verdict(&checker, &mut counts, &frame), "foreign");
}

#[test]
fn frames_of_another_run_are_counted_apart() {
    if !may_test() {
        return;
    }
    let spec = spec([2, 0, 0, 0, 0, 1], SOURCE);
    let since = header::TIME_MODULUS + 50;
    let job = CheckJob {
        flow: Flow::default(),
        slots: None,
        time_every: 1,
    };
    let options = CheckerOptions {
        sent_since_ns: Some(since),
        ..CheckerOptions::default()
    };
    let checker = Checker::load(job, options).unwrap();
    let show = |sequence, flags, time_ns| {
        let mut frame = built(&spec, 92, sequence);
        let written = header::Header {
            flags,
            stream: 0,
            sequence,
            time_ns,
            lfsr_len: 0,
        };
        let sizes = rig::sizes(&spec, 92);
        spec.build(&sizes, &written, &mut frame);
        checker.judge(&frame).unwrap();
    };
    let timed = header::Flags::TIME_VALID;
    let nodes = timed.with(header::Flags::NODE_CLOCK);
    // Late from the run before, also across the modulus; then this run; then frames with an uninformative time.
    let late = [(0, 49), (7, 0), (9, header::TIME_MODULUS - 1)];
    for (sequence, time) in late.into_iter().chain([(0, 50), (1, 51)]) {
        show(sequence, timed, time);
    }
    show(2, nodes, 0);
    show(3, header::Flags::NONE, 0);
    let counts = checker.report().with_sent(4).counts;
    assert_eq!((counts.other_run_frames, checker.other_run()), (3, 3));
    assert!(
        counts.is_clean() && counts.received_frames == 4,
        "{counts:?}"
    );
}
