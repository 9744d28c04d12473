//! The decisions without ports or clock: frames go in at given times, and a list takes what comes out.

use super::super::ledger::Event;
use super::super::spec::{BitErrors, Delay, FramesHit, ImpairSpec};
use super::*;

#[derive(Default)]
struct List(Vec<Vec<u8>>);

impl Sink for &mut List {
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.push(frame.to_vec());
        Ok(())
    }
}

fn numbered(number: u8) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[14] = number;
    frame
}

/// Frame `n` arrives at `n` ps; returns the numbers of what came out, in order, and the report.
fn run(spec: ImpairSpec, frames: u8) -> (Vec<u8>, DirectionReport) {
    let mut out = List::default();
    let mut line = Line::new(
        &mut out,
        Dice::new(spec.seed, 0),
        spec.forward.clone(),
        &spec.common,
    );
    for number in 0..frames {
        line.take(&mut numbered(number), u64::from(number));
        line.release(u64::from(number));
    }
    let report = line.finish(u64::from(frames));
    assert!(report.balances(), "{report:?}");
    (out.0.iter().map(|frame| frame[14]).collect(), report)
}

fn forward(direction: DirectionSpec) -> ImpairSpec {
    ImpairSpec {
        forward: direction,
        ..ImpairSpec::new(1).record()
    }
}

#[test]
fn a_delay_begins_when_its_batch_is_there() {
    let delay = Delay {
        fixed_ps: 100,
        jitter_ps: 0,
        keep_order: true,
    };
    let spec = DirectionSpec {
        delay: Some(delay),
        ..Default::default()
    };
    let (mut out, time) = (List::default(), std::cell::Cell::new(0));
    let common = &ImpairSpec::new(1).common;
    let mut line = Line::new(&mut out, Dice::new(1, 0), spec, common);
    let clock = || time.replace(time.get() + 10);
    let mut taker = line.taker(clock);
    // Such a time passes where the thread has to wait for its core.
    time.set(1_000);
    taker(&mut numbered(0));
    taker(&mut numbered(1));
    drop(taker);
    assert_eq!(time.get(), 1_010, "read once a batch");
    line.release(1_099);
    assert_eq!(line.next_ps(), Some(1_100));
    line.release(1_100);
    assert_eq!(line.next_ps(), None);
    drop(line);
    assert_eq!(out.0.len(), 2);
}

#[test]
fn each_impairment_alone_does_what_it_says() {
    let (out, _) = run(forward(DirectionSpec::default()), 4);
    assert_eq!(out, [0, 1, 2, 3]);
    let drop = FramesHit::Every(2);
    let (out, report) = run(
        forward(DirectionSpec {
            drop,
            ..Default::default()
        }),
        4,
    );
    assert_eq!((out, report.dropped_frames), (vec![0, 2], 2));
    let duplicate = FramesHit::Frames(vec![1]);
    let (out, report) = run(
        forward(DirectionSpec {
            duplicate,
            ..Default::default()
        }),
        3,
    );
    assert_eq!((out, report.duplicated_frames), (vec![0, 1, 1, 2], 1));
    let swap = FramesHit::Frames(vec![1]);
    let (out, report) = run(
        forward(DirectionSpec {
            swap,
            ..Default::default()
        }),
        4,
    );
    assert_eq!((out, report.swapped_frames), (vec![0, 2, 1, 3], 1));
    assert_eq!(
        report.events,
        [Event {
            frame: 1,
            action: Action::Swapped
        }]
    );
}

#[test]
fn a_swap_without_a_successor_expires() {
    let swap = FramesHit::Frames(vec![1]);
    let spec = forward(DirectionSpec {
        swap,
        ..Default::default()
    });
    let (out, report) = run(spec.clone(), 2);
    assert_eq!(
        (out, report.swap_expired_frames, report.swapped_frames),
        (vec![0, 1], 1, 0)
    );
    let (out, report) = run(spec.swap_timeout(0), 4);
    assert_eq!(
        (out, report.swap_expired_frames, report.swapped_frames),
        (vec![0, 1, 2, 3], 1, 0)
    );
}

#[test]
fn whether_a_frame_is_held_does_not_depend_on_time() {
    let spec = forward(DirectionSpec {
        swap: FramesHit::Every(1),
        ..Default::default()
    });
    let (out, quick) = run(spec.clone(), 6);
    assert_eq!(out, [1, 0, 3, 2, 5, 4]);
    let (_, slow) = run(spec.swap_timeout(0), 6);
    let frames =
        |report: &DirectionReport| report.events.iter().map(|e| e.frame).collect::<Vec<_>>();
    assert_eq!(
        (frames(&quick), frames(&slow)),
        (vec![0, 2, 4], vec![0, 2, 4])
    );
    assert_eq!((quick.swapped_frames, slow.swap_expired_frames), (3, 3));
}

#[test]
fn a_dropped_frame_is_no_successor_and_copies_are_swapped_together() {
    let spec = forward(DirectionSpec {
        drop: FramesHit::Frames(vec![1]),
        duplicate: FramesHit::Frames(vec![0]),
        swap: FramesHit::Frames(vec![0]),
        ..Default::default()
    });
    assert_eq!(run(spec, 4).0, [2, 0, 0, 3]);
}

#[test]
fn bit_errors_hit_what_they_may_and_as_many_as_they_say() {
    for bits in [1, 3, 64] {
        let bit_errors = BitErrors {
            when: FramesHit::Every(1),
            bits,
            first_byte: 50,
        };
        let spec = forward(DirectionSpec {
            bit_errors,
            ..Default::default()
        });
        let mut out = List::default();
        let mut line = Line::new(
            &mut out,
            Dice::new(5, 0),
            spec.forward.clone(),
            &spec.common,
        );
        line.take(&mut numbered(9), 0);
        let report = line.finish(0);
        let changed: u32 = out.0[0]
            .iter()
            .zip(numbered(9))
            .map(|(a, b)| (a ^ b).count_ones())
            .sum();
        assert_eq!((changed, report.damaged_frames), (bits, 1));
        assert_eq!(out.0[0][..50], numbered(9)[..50]);
        assert_eq!(report.events.len(), bits as usize);
    }
    let bit_errors = BitErrors {
        when: FramesHit::Every(1),
        bits: 1,
        first_byte: 60,
    };
    let (out, report) = run(
        forward(DirectionSpec {
            bit_errors,
            ..Default::default()
        }),
        2,
    );
    assert_eq!(
        (out, report.damaged_frames),
        (vec![0, 1], 0),
        "there is nothing to hit"
    );
}

#[test]
fn delays_keep_or_lose_the_order_and_end_with_the_line() {
    let spec = |keep_order| {
        let delay = Some(Delay {
            fixed_ps: 100,
            jitter_ps: 1000,
            keep_order,
        });
        forward(DirectionSpec {
            delay,
            ..Default::default()
        })
    };
    let in_order: Vec<u8> = (0..50).collect();
    let (out, report) = run(spec(true), 50);
    assert_eq!((&out, report.delayed_frames), (&in_order, 50));
    let (mut out, other) = run(spec(false), 50);
    assert_ne!(out, in_order);
    out.sort_unstable();
    assert_eq!(out, in_order);
    assert_eq!(
        report.events, other.events,
        "the seed alone decides how long"
    );
    let all = |e: &Event| matches!(e.action, Action::Delayed { ps } if (100..=1100).contains(&ps));
    assert!(report.events.iter().all(all));
}

#[test]
fn a_delayed_frame_goes_when_its_time_has_come() {
    let delay = Some(Delay {
        fixed_ps: 100,
        jitter_ps: 0,
        keep_order: false,
    });
    let spec = forward(DirectionSpec {
        delay,
        ..Default::default()
    });
    let mut out = List::default();
    let mut line = Line::new(
        &mut out,
        Dice::new(0, 0),
        spec.forward.clone(),
        &spec.common,
    );
    line.take(&mut numbered(0), 7);
    assert_eq!(line.next_ps(), Some(107));
    line.release(106);
    assert_eq!(line.report.sent_frames, 0);
    line.release(107);
    assert_eq!((line.report.sent_frames, line.next_ps()), (1, None));
}

#[test]
fn a_full_queue_is_the_impairers_own_loss() {
    let delay = Some(Delay {
        fixed_ps: 1000,
        jitter_ps: 0,
        keep_order: true,
    });
    let spec = forward(DirectionSpec {
        delay,
        ..Default::default()
    })
    .queue_bytes(300);
    let (out, report) = run(spec, 5);
    assert_eq!((out, report.own_loss.queue_frames), (vec![0, 1], 3));
    assert!(!report.is_complete());
}

#[test]
fn other_ethertypes_pass_and_are_not_numbered() {
    let spec = forward(DirectionSpec {
        drop: FramesHit::Every(1),
        ..Default::default()
    })
    .only_ethertype(0x0800);
    let (out, report) = run(spec, 3);
    assert_eq!(
        (out, report.untouched_frames, report.received_frames),
        (vec![0, 1, 2], 3, 0)
    );
}

#[test]
fn a_port_that_refuses_is_reported() {
    struct Refuses;
    impl Sink for Refuses {
        fn send(&mut self, _: &[u8]) -> io::Result<()> {
            Err(io::Error::from_raw_os_error(libc::ENETDOWN))
        }
    }
    let spec = ImpairSpec::new(0);
    let mut line = Line::new(Refuses, Dice::new(0, 0), spec.forward.clone(), &spec.common);
    line.take(&mut numbered(0), 0);
    let report = line.finish(0);
    assert_eq!(report.own_loss.send_frames, 1);
    assert!(report.balances() && !report.is_complete());
    assert!(report.refusal.unwrap().contains("down"));
}
