//! The eBPF checker's sequences, slots and times against the trackers in Rust.

use crate::rig;
use crate::rig::{built, sizes};
use wirelab_port::job::CheckJob;
use wirelab_port::netns::may_test;
use wirelab_port::xdp::{Checker, CheckerOptions};
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::{SlotTracker, Tracker};
use wirelab_wire::{Flags, Flow, FrameSpec, Header};

const SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 9];

fn spec() -> FrameSpec {
    rig::spec([2, 0, 0, 0, 0, 1], SOURCE)
}

fn checker(flow: Flow, slots: Option<u32>) -> Checker {
    checker_that_expects(None, flow, slots)
}

fn checker_that_expects(expected_frames: Option<u64>, flow: Flow, slots: Option<u32>) -> Checker {
    let job = CheckJob {
        flow,
        slots,
        time_every: 1,
    };
    let options = CheckerOptions {
        latency: true,
        expected_frames,
        ..CheckerOptions::default()
    };
    Checker::load(job, options).unwrap()
}

fn frame(flags: Flags, time_ns: u64, sequence: u32) -> Vec<u8> {
    let sizes = sizes(&spec(), 64);
    let mut frame = vec![0; sizes.length as usize];
    let header = Header {
        flags,
        stream: 0,
        sequence,
        time_ns,
        lfsr_len: 0,
    };
    spec().build(&sizes, &header, &mut frame);
    frame
}

/// The next sequence of a generated series: mostly in order, with every type of jump.
fn next_sequence(dice: &mut SplitMix64, next: u32) -> u32 {
    let small = (dice.next_u64() % 40) as u32;
    match dice.next_u64() % 100 {
        0..70 => next,
        70..78 => next.wrapping_add(small),
        78..92 => next.wrapping_sub(small),
        92..94 => next.wrapping_sub((dice.next_u64() % 65_600) as u32),
        94 => next.wrapping_sub(65_530 + small),
        95 => next.wrapping_add(65_520 + small),
        96 => next.wrapping_add(70_000 + small * 1000),
        97 => next.wrapping_add(0x7FFF_FFFF - small),
        98 => next.wrapping_add(0x4000_0000),
        _ => next.wrapping_sub(0x7000_0000),
    }
}

fn show(checker: &Checker, sequence: u32, repeating: bool) {
    let flags = if repeating {
        Flags::REPEATING
    } else {
        Flags::NONE
    };
    checker.judge(&frame(flags, 0, sequence)).unwrap();
}

#[test]
fn both_trackers_count_any_sequences_alike() {
    if !may_test() {
        return;
    }
    let mut wraps = 0;
    for seed in 0..6 {
        let mut dice = SplitMix64::stream(seed, 1);
        let checker = checker(Flow::default(), None);
        let mut tracker = Tracker::new();
        for step in 0..4000 {
            let sequence = next_sequence(&mut dice, tracker.next() as u32);
            tracker.observe(sequence);
            show(&checker, sequence, false);
            if step % 50 != 0 && step < 3990 {
                continue;
            }
            let counts = checker.report().counts;
            let ebpf = [
                counts.received_frames,
                counts.distinct_sequences,
                counts.duplicated_frames,
                counts.reordered_frames,
                counts.reordering_extent_frames,
                counts.too_late_frames,
            ];
            let rust = [
                tracker.received(),
                tracker.distinct(),
                tracker.duplicated(),
                tracker.reordered(),
                tracker.max_extent(),
                tracker.too_late(),
            ];
            assert_eq!(ebpf, rust, "seed {seed}, step {step}, sequence {sequence}");
        }
        wraps += tracker.next() >> 32;
        assert!(tracker.duplicated() > 50 && tracker.reordered() > 50);
        assert!(tracker.too_late() > 20 && tracker.max_extent() > 10);
    }
    assert!(wraps > 6, "the sequences wrapped {wraps} times only");
}

#[test]
fn both_trackers_count_any_slots_alike() {
    if !may_test() {
        return;
    }
    for (seed, slots) in [(1, 1), (2, 2), (3, 4), (4, 64), (5, 4096)] {
        let mut dice = SplitMix64::stream(seed, 2);
        let checker = checker(Flow::default(), Some(slots));
        let mut tracker = SlotTracker::new(slots);
        let mut slot = 0;
        for step in 0..600 {
            slot = match dice.next_u64() % 10 {
                0 => dice.next_u64() as u32 % (slots + 2),
                1 => slot,
                2 => dice.next_u64() as u32,
                _ => (slot % slots + 1) % slots,
            };
            tracker.observe(slot);
            show(&checker, slot, dice.next_u64() % 8 > 0);
            let report = checker.report();
            assert_eq!(
                (report.counts.received_frames, report.counts.order_breaks),
                (tracker.received(), tracker.order_breaks()),
                "{slots} slots, step {step}"
            );
            assert_eq!(report.counts.distinct_sequences, tracker.received());
            let skipped = format!("at least {} frames", tracker.skipped());
            assert!(
                tracker.order_breaks() == 0 || report.notes.iter().any(|n| n.contains(&skipped)),
                "{slots} slots, step {step}: {:?}, not {skipped}",
                report.notes
            );
        }
        assert!(tracker.order_breaks() > 50);
    }
}

#[test]
fn latencies_of_another_clock_are_not_taken() {
    if !may_test() {
        return;
    }
    let checker = checker(Flow::default(), None);
    let show = |flags: Flags, time_ns: u64, sequence: u32| {
        checker.judge(&frame(flags, time_ns, sequence)).unwrap();
        checker
            .report()
            .series
            .first()
            .map_or(0, |s| s.histogram.count)
    };
    assert_eq!(show(Flags::NONE, now_ns(), 0), 0);
    assert_eq!(
        show(Flags::TIME_VALID.with(Flags::NODE_CLOCK), now_ns(), 1),
        0
    );
    assert_eq!(show(Flags::TIME_VALID, now_ns() + 60_000_000_000, 2), 0);
    assert_eq!(show(Flags::TIME_VALID, now_ns() - 5_000, 3), 1);
    let series = checker.report().series.remove(0);
    assert!(series.raw_ticks[0] >= 5_000, "{series:?}");
}

#[test]
fn frames_with_a_damaged_header_count_in_the_rate() {
    if !may_test() {
        return;
    }
    let flow = Flow {
        source: Some(SOURCE),
        ..Flow::default()
    };
    let checker = checker(flow, None);
    for (sequence, damaged) in [(0, false), (1, true), (2, true), (3, false)] {
        let mut frame = built(&spec(), 64, sequence);
        frame[20] ^= u8::from(damaged);
        checker.judge(&frame).unwrap();
    }
    let report = checker.report();
    assert_eq!(report.counts.header_corrupt_frames, 2);
    let (first, last) = (report.first.unwrap(), report.last.unwrap());
    assert_eq!(
        (first.1, last.1),
        (0, 3),
        "frames of the flow that came before"
    );
}

/// In the first half of a long run frames take at least 1 ms, in the second 1 s: a representative sample holds both
/// equally.
#[test]
fn of_a_long_series_samples_from_all_of_the_run_are_kept() {
    const FRAMES: u64 = 150_000;
    if !may_test() {
        return;
    }
    let (short_ns, long_ns) = (1_000_000, 1_000_000_000);
    for expected in [Some(FRAMES), None] {
        let checker = checker_that_expects(expected, Flow::default(), None);
        for number in 0..FRAMES {
            let took_ns = if number < FRAMES / 2 {
                short_ns
            } else {
                long_ns
            };
            let sent_ns = now_ns() - took_ns;
            let frame = frame(Flags::TIME_VALID, sent_ns, number as u32);
            checker.judge(&frame).unwrap();
        }
        let report = checker.report();
        let series = &report.series[0];
        assert!(series.sampled && series.histogram.count == FRAMES);
        if expected.is_none() {
            assert!(series.intervals.is_empty(), "its beginning shows nothing");
            continue;
        }
        let kept = series.raw_ticks.len();
        assert!((30_000..=65_536).contains(&kept), "{kept}");
        let long = series.raw_ticks.iter().filter(|ns| **ns >= long_ns);
        let long = long.count();
        assert!(long.abs_diff(kept / 2) < 10, "{long} of {kept}");
        let median = series.intervals.p50_ticks.unwrap();
        let shown = series.histogram.percentile(50.0).unwrap() as f64;
        assert!(median.low <= shown && shown <= median.high, "{median:?}");
    }
}
