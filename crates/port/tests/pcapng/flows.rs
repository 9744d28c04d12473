//! Separate flows, captures that begin in the middle, damaged magics, repeating frames.

use wirelab_port::pcapng::{Fault, VerifyOptions, VerifyReport};
use wirelab_wire::Flags;

use crate::bytes::{Ng, OTHER_SENDER, Order, SENDER, frame, frame_of, judge, spec};

fn file(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut ng = Ng::new(Order::Little);
    ng.interface(1, 0, &[(9, &[9])]);
    for (i, frame) in frames.into_iter().enumerate() {
        ng.packet(0, 1_000 * i as u64, &frame, frame.len());
    }
    ng.bytes
}

fn verified(frames: impl IntoIterator<Item = Vec<u8>>) -> VerifyReport {
    judge(&file(frames), &VerifyOptions::default())
}

#[test]
fn both_directions_of_one_interface_are_two_flows() {
    let both = (0..100).flat_map(|sequence| {
        [SENDER, OTHER_SENDER].map(|s| frame_of(&spec(s), 64, 0, sequence, Flags::NONE))
    });
    let report = verified(both);
    assert!(report.is_clean());
    let seen: Vec<_> = report
        .flows
        .iter()
        .map(|f| (f.source, f.counts.good_frames))
        .collect();
    assert_eq!(seen, [(SENDER, 100), (OTHER_SENDER, 100)]);
    assert_eq!(report.flows[0].gap.max_ticks, 2_000);
}

#[test]
fn streams_are_flows_and_one_may_be_chosen() {
    let mixed = (0..10).map(|i| frame_of(&spec(SENDER), 64, (i % 2) as u8, i / 2, Flags::NONE));
    let bytes = file(mixed);
    assert_eq!(judge(&bytes, &VerifyOptions::default()).flows.len(), 2);
    let options = VerifyOptions {
        stream: Some(1),
        ..VerifyOptions::default()
    };
    let report = judge(&bytes, &options);
    assert_eq!((report.flows.len(), report.foreign_frames), (1, 5));
    assert_eq!(
        (report.flows[0].stream, report.flows[0].counts.good_frames),
        (1, 5)
    );
}

#[test]
fn losses_at_the_ends_need_the_number_sent() {
    let bytes = file((10..90).filter(|s| *s != 50).map(|s| frame(64, s)));
    let without = judge(&bytes, &VerifyOptions::default());
    assert_eq!(without.flows[0].counts.lost_frames, 1);
    assert_eq!(without.flows[0].sequences, Some((10, 89)));
    let with = |sent| {
        let options = VerifyOptions {
            sent: Some(sent),
            ..VerifyOptions::default()
        };
        judge(&bytes, &options).flows.remove(0)
    };
    assert_eq!(with(100).counts.lost_frames, 21);
    assert_eq!(with(85).beyond_sent_sequences, 5);
    assert!(!with(79).is_clean());
}

#[test]
fn a_capture_may_begin_in_the_middle_of_a_flow_and_go_over_the_wrap() {
    for first in [70_000u32, 0x7FFF_FFF0, 0x8000_1000, u32::MAX - 50] {
        let sequences = (0..200u32).map(|i| first.wrapping_add(i));
        let report = verified(sequences.clone().map(|s| frame(64, s)));
        assert!(report.is_clean(), "{first:#x}: {:?}", report.flows);
        let start = u64::from(first);
        assert_eq!(report.flows[0].sequences, Some((start, start + 199)));
        // The first two swapped, and one lost.
        let mut wild: Vec<u32> = sequences
            .filter(|s| *s != first.wrapping_add(100))
            .collect();
        wild.swap(0, 1);
        let report = verified(wild.into_iter().map(|s| frame(64, s)));
        let counts = report.flows[0].counts;
        assert_eq!(
            (counts.lost_frames, counts.reordered_frames),
            (1, 1),
            "{first:#x}"
        );
        assert_eq!(counts.too_late_frames, 0);
    }
}

#[test]
fn a_damaged_magic_is_known_by_its_source_even_before_the_first_good_frame() {
    let mut damaged = frame(64, 0);
    damaged[14] ^= 0x80;
    let mut foreign = damaged.clone();
    foreign[6..12].copy_from_slice(&[0xA; 6]);
    let report = verified([damaged.clone(), foreign, frame(64, 1), frame(64, 2)]);
    let counts = report.flows[0].counts;
    assert_eq!(
        (counts.header_corrupt_frames, counts.received_frames),
        (1, 3)
    );
    assert_eq!(report.foreign_frames, 1);
    assert_eq!(report.findings.len(), 1);
    assert_eq!(
        (report.findings[0].frame, report.findings[0].fault),
        (1, Fault::HeaderCorrupt)
    );
    // If its source never sent an intact frame, it is foreign.
    let alone = verified([damaged]);
    assert_eq!((alone.foreign_frames, alone.test_frames()), (1, 0));
    assert!(
        !alone.is_clean(),
        "a capture without test frames proves nothing"
    );
}

#[test]
fn a_damaged_header_of_two_streams_is_given_to_neither() {
    let mut damaged = frame(64, 1);
    damaged[17] ^= 1;
    let other = frame_of(&spec(SENDER), 64, 9, 0, Flags::NONE);
    let report = verified([frame(64, 0), other, damaged]);
    assert_eq!(report.unattributed_header_corrupt_frames, 1);
    assert!(
        report
            .flows
            .iter()
            .all(|f| f.counts.header_corrupt_frames == 0)
    );
    assert!(!report.is_clean());
}

#[test]
fn repeating_frames_follow_their_slots() {
    let slot = |s: u32| frame_of(&spec(SENDER), 64, 0, s, Flags::REPEATING);
    let clean = verified((0..100).map(|i| slot((i + 3) % 7)));
    assert!(clean.is_clean(), "{clean:?}");
    let slots = clean.flows[0].slots.unwrap();
    assert_eq!((slots.slots, slots.order_breaks, slots.skipped), (7, 0, 0));
    assert_eq!(clean.flows[0].counts.duplicated_frames, 0);
    let broken = verified((0..100).filter(|i| *i != 40).map(|i| slot(i % 7)));
    assert!(!broken.is_clean());
    assert_eq!(broken.flows[0].slots.unwrap().order_breaks, 1);
    assert_eq!(broken.findings[0].fault, Fault::SlotOrder { skipped: 1 });
    // With eight slots given, each jump back from 6 to 0 is a break.
    let options = VerifyOptions {
        slots: Some(8),
        ..VerifyOptions::default()
    };
    let told = judge(&file((0..70).map(|i| slot(i % 7))), &options);
    assert_eq!(told.flows[0].slots.unwrap().order_breaks, 9);
    // The number of sent frames reveals a whole missing round, which the order cannot show.
    let options = VerifyOptions {
        sent: Some(77),
        ..VerifyOptions::default()
    };
    let short = judge(&file((0..70).map(|i| slot(i % 7))), &options);
    assert_eq!(short.flows[0].counts.lost_frames, 7);
}

#[test]
fn more_flows_than_are_followed_are_said_so() {
    let sources = (0..300u32).map(|i| {
        let source = [2, 0, 0, 0, (i >> 8) as u8, i as u8];
        frame_of(&spec(source), 64, 0, 0, Flags::NONE)
    });
    let report = verified(sources);
    assert_eq!((report.flows.len(), report.untracked_frames), (256, 44));
    assert!(!report.is_clean());
}

#[test]
fn a_clock_that_goes_backwards_is_counted() {
    let mut ng = Ng::new(Order::Little);
    ng.interface(1, 0, &[(9, &[9])]);
    for (sequence, time) in [(0, 100), (1, 90), (2, 200)] {
        ng.packet(0, time, &frame(64, sequence), 60);
    }
    let flow = judge(&ng.bytes, &VerifyOptions::default()).flows.remove(0);
    assert_eq!(flow.time_backwards_frames, 1);
    assert_eq!(
        (flow.first_time_ps, flow.last_time_ps),
        (Some(90_000), Some(200_000))
    );
    assert_eq!(flow.elapsed_ps, Some(165_000));
}
