//! Faults on the fast path: each alone and in every pair, over a million frames each, found as in the ledger.

use crate::common::lab;
use crate::fast;
use crate::fast::{FAULTS, alone, attach, combinations, rates, run, settle, with_faults};
use crate::rig;
use crate::rig::{Rig, job, sizes};
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_port::lab::Side;
use wirelab_port::xdp::{Checker, CheckerOptions, Generator, GeneratorOptions};
use wirelab_trial::{Cancel, Extent, Ledger};
use wirelab_wire::Flow;

/// The ledger's count of a fault; a damaged header and a gap are both a loss.
fn injected(ledger: &Ledger, fault: &str) -> u64 {
    match fault {
        "drop" => ledger.dropped_frames,
        "duplicate" => ledger.duplicated_frames,
        "swap" => ledger.reordered_frames,
        "header-corrupt" => ledger.header_corrupt_frames,
        "truncate" => ledger.truncated_frames,
        "stale" => ledger.stale_frames,
        _ => ledger.corrupted_frames,
    }
}

#[test]
fn each_fault_and_every_pair_over_a_million_frames_is_what_the_ledger_says() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let all = combinations();
    assert_eq!(all.len(), 28);
    for (i, faults) in all.into_iter().enumerate() {
        let frame = [64, 128, 1518][i % 3];
        // A few more sequences, so that a million frames leave although some are left out.
        let sequences = 1_020_000;
        let rates = rates(&faults, 0.01, 100 + i as u64);
        let job = with_faults(job(rig.spec, frame, sequences), &rates, sequences);
        let (sent, seen) = run(&rig, &job, rig.check());
        let what = format!("{faults:?} at {frame}");
        let ledger = job.faults.ledger(sent.emitted_frames);
        assert_eq!(sent.sequences, sequences, "{what}");
        assert!(sent.emitted_frames >= 1_000_000, "{what}: {sent:?}");
        assert_eq!(ledger.differences(&seen.counts), [], "{what}: {seen:?}");
        assert_eq!(
            seen.counts.check_identity(ledger.sent_frames),
            Ok(()),
            "{what}"
        );
        assert_eq!(seen.counts.received_frames, sent.emitted_frames, "{what}");
        assert_eq!(
            (seen.counts.too_late_frames, seen.counts.foreign_frames),
            (0, 0)
        );
        for fault in FAULTS {
            let number = injected(&ledger, fault);
            assert_eq!(
                number > 8_000,
                faults.contains(&fault),
                "{what}: {number} of {fault}"
            );
        }
    }
}

#[test]
fn all_faults_at_once_in_every_framing_of_the_fast_path() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let udp = wirelab_wire::Transport::UdpIpv4 {
        addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
        ports: [5003, 5003],
    };
    for (transport, vlans, frame) in [
        (rig.spec.transport, [Some(3), None], 68),
        (udp, [None, None], 80),
        (udp, [Some(3), Some(4)], 1000),
    ] {
        let spec = wirelab_wire::FrameSpec {
            vlans,
            transport,
            ..rig.spec
        };
        let plain = SendJob {
            frame: spec,
            sizes: sizes(&spec, frame),
            ..job(rig.spec, 64, 100_000)
        };
        let job = with_faults(plain, &rates(&FAULTS, 0.02, 3), 100_000);
        let (sent, seen) = run(&rig, &job, rig.check());
        let ledger = job.faults.ledger(sent.emitted_frames);
        assert_eq!(ledger.differences(&seen.counts), [], "{spec:?}: {seen:?}");
        assert_eq!(seen.counts.check_identity(100_000), Ok(()));
    }
}

#[test]
fn a_run_that_ends_by_time_in_the_middle_equals_its_ledger() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    // Many faults, so that some runs end within a swap or before a gap.
    for seed in 0..12 {
        let plain = SendJob {
            extent: Extent::Time {
                time_ps: 20_000_000_000,
            },
            ..job(rig.spec, 64, 0)
        };
        let job = with_faults(plain, &rates(&FAULTS, 0.12, seed), 400_000);
        let (sent, seen) = run(&rig, &job, rig.check());
        assert!(sent.emitted_frames > 1000, "{sent:?}");
        assert_eq!(
            sent.sequences,
            job.faults.sequences_used(sent.emitted_frames)
        );
        let ledger = job.faults.ledger(sent.emitted_frames);
        assert_eq!(ledger.differences(&seen.counts), [], "seed {seed}");
        assert_eq!(seen.counts.check_identity(sent.sequences), Ok(()));
    }
}

#[test]
fn ports_of_one_generator_with_unlike_faults_all_come_to_their_end() {
    let Some(lab) = lab(3) else { return };
    let _alone = alone();
    for pace in [
        Pace::Max,
        Pace::Interval { ps: 10_000_000 },
        Pace::Interval { ps: 400_000_000 },
    ] {
        let frames = match pace {
            Pace::Interval { ps: 400_000_000 } => 100,
            _ => 3000,
        };
        let jobs: Vec<_> = (0..3)
            .map(|pair| {
                let spec = rig::spec(lab.mac(pair, Side::Tester).0, lab.mac(pair, Side::Node).0);
                let plain = SendJob {
                    pace,
                    stream: pair,
                    ..job(spec, 64, frames)
                };
                let rates = rates(&["drop", "duplicate"][..usize::from(pair)], 0.1, 9);
                (
                    lab.port(pair, Side::Node).unwrap(),
                    with_faults(plain, &rates, frames),
                )
            })
            .collect();
        let checkers: Vec<_> = (0..3)
            .map(|pair| {
                let check = CheckJob {
                    flow: Flow {
                        stream: Some(pair),
                        ..Flow::default()
                    },
                    slots: None,
                    time_every: 1,
                };
                let port = lab.port(pair, Side::Tester).unwrap();
                Checker::attach(&port, check, CheckerOptions::default()).unwrap()
            })
            .collect();
        let generator = Generator::load(&jobs, GeneratorOptions::default()).unwrap();
        let reports = generator.run(&Cancel::new()).unwrap();
        let emitted: Vec<u64> = reports.iter().map(|r| r.emitted_frames).collect();
        assert!(emitted[1] < emitted[0], "{emitted:?}");
        for ((sent, (_, job)), checker) in reports.iter().zip(&jobs).zip(checkers) {
            settle(&checker, sent.emitted_frames);
            let counts = checker.report().with_sent(sent.sequences).counts;
            assert_eq!(sent.sequences, frames);
            assert_eq!(
                job.faults.ledger(sent.emitted_frames).differences(&counts),
                []
            );
            assert_eq!(counts.check_identity(frames), Ok(()));
        }
    }
}

#[test]
fn what_is_broken_on_purpose_is_noticed() {
    let Some(lab) = lab(1) else { return };
    let _alone = alone();
    let rig = Rig::new(&lab);
    let frames = 20_000;
    let rates_of = |seed| rates(&FAULTS, 0.01, seed);
    let job = with_faults(job(rig.spec, 128, frames), &rates_of(1), frames);
    let differ = |check: CheckJob, job: &SendJob, schedule: &Schedule| {
        let (sent, seen) = run(&rig, job, check);
        let ledger = schedule.ledger(sent.emitted_frames);
        let fields: Vec<_> = ledger
            .differences(&seen.counts)
            .iter()
            .map(|(field, _, _)| *field)
            .collect();
        (fields, seen)
    };
    let (none, seen) = differ(rig.check(), &job, &job.faults);
    assert!(none.is_empty() && !seen.counts.is_clean());

    let mut wrong_source = rig.check();
    wrong_source.flow.source = Some([2, 1, 1, 1, 1, 1]);
    let (fields, seen) = differ(wrong_source, &job, &job.faults);
    assert_eq!(fields[0], "header_corrupt_frames", "those are foreign");
    // The stack after the checker drops foreign frames too, and its count does not say where.
    let (certain, either) = (seen.counts.lost_frames, seen.counts.lost_or_missed_frames);
    let lost = job.faults.ledger(frames).lost_frames;
    assert!((certain..=certain + either).contains(&lost), "{seen:?}");

    let mut other_stream = rig.check();
    other_stream.flow.stream = Some(9);
    let (fields, seen) = differ(other_stream, &job, &job.faults);
    assert!(fields.contains(&"lost_frames"), "{fields:?}");
    assert!(seen.counts.foreign_frames > 19_000 && seen.counts.good_frames == 0);
    assert_eq!(seen.counts.distinct_sequences, 0);

    let other = Schedule::plan(&rates_of(2), frames, job.sizes.lfsr_len()).unwrap();
    let (fields, _) = differ(rig.check(), &job, &other);
    assert!(!fields.is_empty(), "the ledger of another seed fits");

    let mut slots = rig.check();
    slots.slots = Some(16);
    let clean = SendJob {
        faults: Schedule::default(),
        ..job.clone()
    };
    let (_, seen) = differ(slots, &clean, &clean.faults);
    assert!(!seen.counts.is_clean() && seen.counts.order_breaks > 0);

    // A sender that reports one frame more than it sent fails.
    let checker = attach(&rig, rig.check());
    let sent = fast::send(&rig, &clean);
    settle(&checker, sent.emitted_frames);
    let seen = checker.report().with_sent(sent.sequences + 1);
    assert_eq!(seen.counts.lost_frames, 1);
    assert!(seen.counts.check_identity(sent.sequences).is_err());
}
