//! The ledger against a simulation: every emission is built, damaged, judged and tracked like in a receiver.

use proptest::prelude::*;
use wirelab_port::inject::{Mutation, Schedule};
use wirelab_trial::{Counts, Event, FaultRates, Tracker};
use wirelab_wire::{
    Flags, Flow, FrameSpec, Framing, Header, Layer, Size, SizeUnit, Sizes, Transport, Verdict,
    classify,
};

const SOURCE: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 1];
const NAMES: [&str; 7] = [
    "drop",
    "duplicate",
    "swap",
    "header-corrupt",
    "truncate",
    "stale",
    "corrupt",
];

fn spec(layer: Layer) -> FrameSpec {
    FrameSpec {
        destination: [2, 0x57, 0x4C, 0, 0, 2],
        source: SOURCE,
        vlans: [None, None],
        transport: match layer {
            Layer::UdpIpv4 => Transport::UdpIpv4 {
                addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
                ports: [5003, 5003],
            },
            _ => Transport::Ethernet,
        },
        dscp: 0,
    }
}

fn sizes(layer: Layer, unit: SizeUnit, bytes: u32) -> Sizes {
    let framing = Framing {
        layer,
        vlan_tags: 0,
    };
    Size::new(unit, bytes).resolve_test(framing).unwrap()
}

/// Every emission, sent over a faultless path to a receiver that does not know the schedule.
fn receive(
    schedule: &Schedule,
    emissions: u64,
    sent: u64,
    spec: &FrameSpec,
    sizes: &Sizes,
) -> Counts {
    let flow = Flow {
        source: Some(SOURCE),
        ..Flow::default()
    };
    let mut counts = Counts::default();
    let mut tracker = Tracker::new();
    let mut cursor = schedule.cursor();
    let mut frame = vec![0; sizes.length as usize];
    for emission in 0..emissions {
        let (sequence, mutation) = cursor.next();
        assert_eq!((sequence, mutation), schedule.get(emission));
        let header = Header {
            flags: Flags::NONE,
            stream: 0,
            sequence,
            time_ns: 0,
            lfsr_len: 0,
        };
        spec.build(sizes, &header, &mut frame);
        let length = mutation.apply(&mut frame, spec.header_offset());
        counts.received_frames += 1;
        let (state, header) = match classify(&frame[..length], &flow) {
            Verdict::Foreign => panic!("{mutation:?} of {sequence} made the frame foreign"),
            Verdict::HeaderCorrupt => (&mut counts.header_corrupt_frames, None),
            Verdict::Truncated(h) => (&mut counts.truncated_frames, Some(h)),
            Verdict::Stale { header, .. } => (&mut counts.stale_frames, Some(header)),
            Verdict::Corrupted(h) => (&mut counts.corrupted_frames, Some(h)),
            Verdict::Good(h) => (&mut counts.good_frames, Some(h)),
        };
        *state += 1;
        if let Some(header) = header {
            assert_eq!(header.sequence, sequence);
            assert_ne!(tracker.observe(header.sequence), Event::TooLate);
        }
    }
    counts.distinct_sequences = tracker.distinct();
    counts.duplicated_frames = tracker.duplicated();
    counts.reordered_frames = tracker.reordered();
    counts.lost_frames = tracker.lost(sent);
    counts
}

fn check(schedule: &Schedule, emissions: u64, layer: Layer, sizes: &Sizes) -> Counts {
    let ledger = schedule.ledger(emissions);
    let counts = receive(schedule, emissions, ledger.sent_frames, &spec(layer), sizes);
    assert_eq!(
        ledger.differences(&counts),
        [],
        "{emissions} emissions of {:?}",
        &schedule.steps[..schedule.steps.len().min(40)]
    );
    counts.check_identity(ledger.sent_frames).unwrap();
    counts
}

fn rates(seed: u64, active: &[(usize, f64)]) -> FaultRates {
    let mut rates = FaultRates {
        seed,
        ..FaultRates::default()
    };
    for (fault, rate) in active {
        let field = match fault {
            0 => &mut rates.drop,
            1 => &mut rates.duplicate,
            2 => &mut rates.swap,
            3 => &mut rates.header_corrupt,
            4 => &mut rates.truncate,
            5 => &mut rates.stale,
            _ => &mut rates.corrupt,
        };
        *field = *rate;
    }
    rates
}

fn found(counts: &Counts, fault: usize) -> u64 {
    match fault {
        0 => counts.lost_frames,
        1 => counts.duplicated_frames,
        2 => counts.reordered_frames,
        3 => counts.header_corrupt_frames,
        4 => counts.truncated_frames,
        5 => counts.stale_frames,
        _ => counts.corrupted_frames,
    }
}

#[test]
fn every_fault_alone_and_in_every_pair() {
    let sizes = sizes(Layer::Ethernet, SizeUnit::Frame, 64);
    for a in 0..NAMES.len() {
        for b in a..NAMES.len() {
            for seed in 0..3 {
                let rates = rates(seed, &[(a, 0.05), (b, 0.08)]);
                let schedule = Schedule::plan(&rates, 5_000, sizes.lfsr_len()).unwrap();
                let emissions = schedule.emissions(5_000);
                assert_eq!(schedule.sequences_used(emissions), 5_000);
                let counts = check(&schedule, emissions, Layer::Ethernet, &sizes);
                for (fault, name) in NAMES.iter().enumerate() {
                    let lost_by_damage = fault == 0 && (a == 3 || b == 3);
                    let expected = fault == a || fault == b || lost_by_damage;
                    assert_eq!(found(&counts, fault) > 100, expected, "{name}: {counts:?}");
                }
            }
        }
    }
}

#[test]
fn all_faults_at_once_in_udp_with_padding() {
    // A datagram of 22 bytes has an LFSR part of four bytes; at 18 it has none, at 19 one byte.
    for (datagram, faults) in [(22, 7), (19, 6), (18, 4)] {
        let sizes = sizes(Layer::UdpIpv4, SizeUnit::Datagram, datagram);
        let active: Vec<(usize, f64)> = (0..NAMES.len())
            .filter(|f| match f {
                5 => sizes.lfsr_len() >= 4,
                4 | 6 => sizes.lfsr_len() >= 1,
                _ => true,
            })
            .map(|f| (f, 0.06))
            .collect();
        assert_eq!(active.len(), faults);
        let schedule = Schedule::plan(&rates(9, &active), 5_000, sizes.lfsr_len()).unwrap();
        check(&schedule, schedule.emissions(5_000), Layer::UdpIpv4, &sizes);
    }
}

#[test]
fn a_ledger_of_other_faults_is_found_out() {
    let sizes = sizes(Layer::Ethernet, SizeUnit::Frame, 64);
    let all: Vec<(usize, f64)> = (0..7).map(|f| (f, 0.05)).collect();
    let schedule = Schedule::plan(&rates(1, &all), 1_000, sizes.lfsr_len()).unwrap();
    let emissions = schedule.emissions(1_000);
    for broken in 0..schedule.steps.len() {
        let mut other = schedule.clone();
        let step = &mut other.steps[broken];
        step.mutation = match step.mutation {
            Mutation::None => Mutation::LfsrBit(0),
            _ => Mutation::None,
        };
        let counts = receive(&other, emissions, 1_000, &spec(Layer::Ethernet), &sizes);
        assert_ne!(
            schedule.ledger(emissions).differences(&counts),
            [],
            "step {broken}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_faults() {
    let plan = |seed| {
        Schedule::plan(&rates(seed, &[(0, 0.1), (6, 0.1)]), 1_000, 28)
            .unwrap()
            .steps
    };
    assert_eq!(plan(5), plan(5));
    assert_ne!(plan(5), plan(6));
    assert!(plan(5).is_sorted_by(|a, b| a.emission < b.emission));
}

#[test]
fn rare_faults_of_a_long_flow_are_planned_at_once() {
    let n = 1 << 50;
    let schedule = Schedule::plan(&rates(3, &[(0, 1e-12), (2, 1e-12)]), n, 28).unwrap();
    let ledger = schedule.ledger(schedule.emissions(n));
    assert!((900..1_300).contains(&ledger.dropped_frames), "{ledger:?}");
    assert!(
        (900..1_300).contains(&ledger.reordered_frames),
        "{ledger:?}"
    );
    assert_eq!(ledger.sent_frames, n);
}

#[test]
fn damage_leaves_short_frames_alone() {
    for mutation in [
        Mutation::None,
        Mutation::HeaderBit(143),
        Mutation::Truncate(9),
        Mutation::Stale(1),
        Mutation::LfsrBit(99_999),
    ] {
        for length in 0..50 {
            let mut frame = vec![0xFF; length];
            assert!(mutation.apply(&mut frame, 14) <= length);
        }
    }
}

/// Rates of a group that do not add up to more than 1.
fn group(n: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..1.0f64, n).prop_flat_map(|weights| {
        (Just(weights), 0.0..=1.0f64).prop_map(|(weights, total)| {
            let sum: f64 = weights.iter().sum::<f64>().max(1e-9);
            weights.iter().map(|w| w / sum * total).collect()
        })
    })
}

proptest! {
    #[test]
    fn a_run_may_end_anywhere(order in group(3), content in group(4), seed: u64, n in 0u64..40) {
        let active: Vec<(usize, f64)> = order.into_iter().chain(content).enumerate().collect();
        let sizes = sizes(Layer::Ethernet, SizeUnit::Frame, 64);
        let schedule = Schedule::plan(&rates(seed, &active), n, sizes.lfsr_len()).unwrap();
        let all = schedule.emissions(n);
        prop_assert_eq!(schedule.sequences_used(all), n);
        for emissions in 0..=all + 3 {
            check(&schedule, emissions, Layer::Ethernet, &sizes);
        }
        // Emissions of fewer sequences: no lower sequence follows.
        let sent: Vec<u64> = (0..all + 3).map(|e| u64::from(schedule.get(e).0)).collect();
        for fewer in 0..=n + 2 {
            let last = sent.iter().rposition(|s| *s < fewer).map_or(0, |i| i as u64 + 1);
            prop_assert_eq!(schedule.emissions(fewer), last, "{} sequences: {:?}", fewer, sent);
        }
        // At most one order fault each: at most two copies, next to each other, and at most one position off.
        for sequence in 0..n {
            let at: Vec<usize> = (0..sent.len()).filter(|e| sent[*e] == sequence).collect();
            prop_assert!(at.len() <= 2 && at.last().unwrap_or(&0) - at.first().unwrap_or(&0) <= 1);
        }
    }
}
