//! The fast track beside the stack, and the cost of measuring, from blocks whose delays are known.

mod common;

use common::SimulatedNode;
use wirelab_bench::ways::{beside, block, blocks, overheads};
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
    let mut series = SeriesBuilder::new(format!("{from} to {to}"), NODE_NS, 0);
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
        assert!((ratio.ratio - 0.25).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.interval.low <= 0.25 && 0.25 <= ratio.interval.high);
        assert!((0.2..0.3).contains(&pair.p99_ratio), "{}", pair.p99_ratio);
    }
    // One way alone is no pair.
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
        (cost.what.as_str(), cost.way.as_str()),
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
    for (frames, wanted) in [(512, 8), (100, 5), (7, 7), (509, 1), (1, 1)] {
        let n = blocks(frames, 8);
        assert_eq!(n, wanted, "{frames}");
        let Extent::Frames { frames: each } = block(frames, n) else {
            panic!("a block is a number of frames")
        };
        assert_eq!(each * u64::from(n), frames);
    }
}
