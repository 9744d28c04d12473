//! The fast track beside the stack, and the cost of measuring, from blocks whose delays are known.

use crate::common::SimulatedNode;
use wirelab_bench::paths::{
    Answer, Claim, FRAMES_FOR_P99, FRAMES_OF_A_P99, NotDecided, PathComparison, beside, block,
    blocks, overheads,
};
use wirelab_trial::*;

const NODE_NS: Clock = Clock {
    kind: ClockKind::Wall,
    tick_ps: Some(1000),
    resolution_ticks: 1,
    owner: Owner::Node,
};

fn trial(path: Path, wait: Wait, probes: Probes) -> Trial {
    Trial {
        path: Some(path),
        wait: Some(wait),
        rule: (path == Path::FastTrack).then(|| "port=1026".to_owned()),
        probes: Some(probes),
        ..Trial::new(
            Framing::default(),
            Direction::Receive,
            Size::new(SizeUnit::Length, 64),
            Load::FrameRate {
                frames_per_s: 1000.0,
            },
            Extent::Frames { frames: 3 },
        )
    }
}

/// A block whose frames took so long between two points.
fn observed(trial: &Trial, from: &str, to: &str, ns: &[u64]) -> Observation {
    let mut plain = trial.clone();
    (plain.path, plain.wait, plain.rule, plain.probes) = (None, None, None, None);
    let mut node = SimulatedNode::new(1e6);
    let mut observation = node.run(&plain, &(), &Cancel::new()).unwrap();
    observation.trial = trial.clone();
    let mut series = SeriesBuilder::new((from, to), NODE_NS, 0);
    ns.iter().for_each(|ns| series.push(*ns));
    observation.flows.truncate(1);
    observation.flows[0].series = vec![series.finish()];
    observation
}

#[test]
fn ways_are_paired_by_how_they_waited_and_block_by_block() {
    let mut all = Vec::new();
    for (wait, factor) in [(Wait::Spin, 1), (Wait::Sleep, 3)] {
        for at in 0..4 {
            // The host drifts: what ran in the same moment is alike.
            let slow = 1000 * (1 + at) * factor;
            let stack = trial(Path::Stack, wait, Probes::Auto);
            let fast = trial(Path::FastTrack, wait, Probes::Auto);
            let ns = |n: u64| [n - 10, n, n + 10];
            all.push(observed(&stack, "driver", "application", &ns(slow)));
            all.push(observed(&fast, "driver", "application", &ns(slow / 4)));
        }
    }
    let pairs = beside(&all);
    assert_eq!(pairs.len(), 2);
    for (pair, wait) in pairs.iter().zip([Wait::Spin, Wait::Sleep]) {
        assert_eq!((pair.length_bytes, pair.wait), (64, Some(wait)));
        assert_eq!((pair.stack.frames, pair.fast_track.frames), (12, 12));
        let ratio = pair.median_ratio.unwrap();
        // Blocks run in the same moment are alike, whichever of them are drawn.
        assert!((0.24..0.26).contains(&ratio.ratio), "{ratio:?}");
        assert!(ratio.interval.low > 0.24 && ratio.interval.high < 0.26);
        // So few frames have no p99 in blocks.
        assert_eq!(pair.p99_ratio, None);
        assert_eq!(pair.blocks, 4);
    }
    // One way alone is not a pair.
    let alone: Vec<Observation> = all
        .into_iter()
        .filter(|o| o.trial.path == Some(Path::Stack))
        .collect();
    assert_eq!(beside(&alone), []);
}

#[test]
fn what_measuring_costs_is_the_difference_within_pairs_of_blocks() {
    let (on, off) = (
        trial(Path::Stack, Wait::Spin, Probes::Raw),
        trial(Path::Stack, Wait::Spin, Probes::Off),
    );
    let mut all = Vec::new();
    for at in 0..8 {
        let ns = 5000 + 1000 * at;
        all.push(observed(&on, "wire", "application", &[ns + 700; 3]));
        all.push(observed(&off, "wire", "application", &[ns; 3]));
    }
    let costs = overheads(&all);
    assert_eq!(costs.len(), 1, "{costs:?}");
    let cost = &costs[0];
    assert_eq!(
        (cost.what.as_str(), cost.path.as_str()),
        ("wire to application", "stack, spin")
    );
    assert_eq!((cost.length_bytes, cost.runs), (64, 8));
    assert_eq!((cost.low_ns, cost.high_ns), (700.0, 700.0));
    assert_eq!(cost.on_ns - cost.off_ns, 700.0);
    // Where the two clocks are not one, there is no such delay and no cost.
    let apart = [
        observed(&on, "driver", "application", &[1]),
        observed(&off, "driver", "application", &[1]),
    ];
    assert_eq!(overheads(&apart), []);
}

#[test]
fn frames_are_divided_into_blocks_of_one_size() {
    for (frames, wanted) in [
        (512, 8),
        (100, 5),
        (7, 7),
        (509, 1),
        (1, 1),
        // A node keeps the times of 512 frames a trial, so that more frames take more blocks.
        (4_096, 8),
        (4_097, 17),
        (5_000, 10),
        (65_536, 128),
    ] {
        let n = blocks(frames, 8, 512).unwrap();
        assert_eq!(n, wanted, "{frames}");
        let Extent::Frames { frames: each } = block(frames, n) else {
            panic!("a block is a number of frames")
        };
        assert_eq!(each * u64::from(n), frames);
        assert!(each <= 512);
    }
    // A prime number of frames has no blocks of one size; its neighbours have.
    for frames in [5_003, 521, 65_521] {
        let next = blocks(frames, 8, 512).unwrap_err();
        assert!(next[0] < frames && frames < next[1], "{next:?}");
        for frames in next {
            blocks(frames, 8, 512).unwrap();
        }
    }
}

/// A delay in ns, of the number of a block and of a frame.
type Delay = fn(u64, u64) -> u64;

/// Both paths beside a background, in so many pairs of blocks of frames whose delays are `slow` and `fast` of a number
/// of the block and of the frame, and what was really sent beside them.
fn loaded(
    pairs: u64,
    each: u64,
    (slow, fast): (Delay, Delay),
    (beside_slow, beside_fast): (u64, u64),
) -> PathComparison {
    let background: Background = "50kpps".parse().unwrap();
    let mut all = Vec::new();
    for at in 0..pairs {
        for (path, delay, rate) in [
            (Path::Stack, slow, beside_slow),
            (Path::FastTrack, fast, beside_fast),
        ] {
            let ns: Vec<u64> = (0..each).map(|frame| delay(at, frame)).collect();
            let trial = trial(path, Wait::Spin, Probes::Auto);
            let mut block = observed(&trial, "driver", "application", &ns);
            block.trial.background = Some(background);
            for (name, value) in [
                ("lasted_ns", 100_000_000),
                ("due_frames", 5_000),
                ("sent_frames", rate / 10),
                ("received_frames", rate / 10 - 1),
                ("lost_frames", 1),
            ] {
                let name = format!("background_{name}");
                block.counters.insert(name, Field::measured(value));
            }
            all.push(block);
        }
    }
    let mut found = beside(&all);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// A delay in ns that differs from frame to frame, with a hundredth and a bit of the frames far out.
fn usual(_: u64, frame: u64) -> u64 {
    match frame % 80 {
        0 => 90_000 + frame,
        other => 10_000 + other,
    }
}

const EACH: u64 = FRAMES_FOR_P99 / 8;

#[test]
fn a_verdict_beside_a_background_is_yes_no_or_not_decided() {
    let half = |at, frame| usual(at, frame) / 2;
    let twice = |at, frame| usual(at, frame) * 2;
    // In every other block the tail is longer than the stack's.
    let mixed = |at: u64, frame| match (at % 2, usual(at, frame)) {
        (1, delay) if delay > 50_000 => 2 * delay,
        (_, delay) => delay / 2,
    };
    let not = |why| Answer::NotDecided { why };
    let rate = (50_000, 50_000);
    let cases: [(u64, u64, Delay, Answer); 5] = [
        (8, EACH, half, Answer::Holds),
        (8, EACH, twice, Answer::DoesNotHold),
        (8, EACH, mixed, not(NotDecided::Interval { of: "p99" })),
        (8, 64, half, not(NotDecided::FewFrames { frames: 512 })),
        (3, 512, half, not(NotDecided::FewBlocks { blocks: 3 })),
    ];
    for (pairs, each, fast, answer) in cases {
        let pair = loaded(pairs, each, (usual, fast), rate);
        assert_eq!(pair.verdict.claim, Claim::MedianAndP99NotAbove);
        assert_eq!(pair.verdict.answer, answer, "{pair:#?}");
        assert!(!pair.verdict.background_missed_its_rate);
    }
}

#[test]
fn a_stall_of_the_host_decides_no_99_percent() {
    // In every third pair of blocks one way or the other, in turn, stands still for a fifth of its frames.
    fn stalled(at: u64, of: u64, frame: u64) -> u64 {
        match at % 3 == 0 && at / 3 % 2 == of && frame % 5 == 0 {
            true => 4_000_000 + 1_000 * frame,
            false => 0,
        }
    }
    let stack = |at, frame| usual(at, frame) + stalled(at, 0, frame);
    let fast = |at, frame| usual(at, frame) / 2 + stalled(at, 1, frame);
    let pair = loaded(32, FRAMES_OF_A_P99, (stack, fast), (50_000, 50_000));
    assert_eq!(pair.verdict.answer, Answer::Holds, "{pair:#?}");
    let ratio = pair.p99_ratio.unwrap();
    assert!((0.49..0.51).contains(&ratio.ratio), "{ratio:?}");
    assert!(ratio.interval.high < 0.51, "{ratio:?}");
    // Over all frames together both p99 are those of the stalls, and say nothing of the ways.
    assert!(pair.fast_track.p99_ns > 1e6 && pair.stack.p99_ns > 1e6);
    // A path that is worse in most blocks is still found.
    let slow = |at, frame| usual(at, frame) * 2 + stalled(at, 1, frame);
    let pair = loaded(32, FRAMES_OF_A_P99, (stack, slow), (50_000, 50_000));
    assert_eq!(pair.verdict.answer, Answer::DoesNotHold);
}

#[test]
fn a_background_that_missed_its_rate_is_the_one_that_the_verdict_counts_for() {
    let half = |at, frame| usual(at, frame) / 2;
    let pair = loaded(8, EACH, (usual, half), (30_000, 30_600));
    assert_eq!(pair.verdict.answer, Answer::Holds);
    assert!(pair.verdict.background_missed_its_rate);
    let ran = pair.stack.background.unwrap();
    assert!((ran.asked_frames_per_s - 50_000.0).abs() < 1e-6);
    assert!((ran.frames_per_s - 30_000.0).abs() < 1e-6);
    assert_eq!(
        (ran.sent_frames, ran.received_frames),
        (24_000, Some(23_992))
    );
    assert_eq!(ran.lost_frames, Some(8));
    // Beside unlike backgrounds two ways cannot be compared.
    let pair = loaded(8, EACH, (usual, half), (30_000, 50_000));
    let Answer::NotDecided {
        why:
            NotDecided::Unlike {
                stack_frames_per_s: stack,
                fast_track_frames_per_s: fast,
            },
    } = pair.verdict.answer
    else {
        panic!("{:?}", pair.verdict)
    };
    assert_eq!((stack.round(), fast.round()), (30_000.0, 50_000.0));
}
