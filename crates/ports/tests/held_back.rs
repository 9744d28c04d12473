//! A path that blocks the sender instead of dropping what it cannot carry: a search finds its rate.

use crate::common::{alone, bridge, options, shape, trial};
use wirelab_bench::NoCeiling;
use wirelab_bench::search::{Goal, Limit, Outcome, Search, SearchContext, SearchEnded, find_rates};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::may_test;
use wirelab_ports::{Pair, Path, PortsNode};
use wirelab_trial::{Cancel, Load, Observation, Retrying, Trial};

/// The shaper's rate.
const TRUE_FRAMES_PER_S: u64 = 8_256;
/// Link bytes of a frame of 64, which the shaper counts.
const LINK_BYTES: u64 = 84;
/// Tolerance of a trial of a second: frames that fit the socket's queue before it blocks the sender arrive late.
const OFF: f64 = 0.04;

/// Two pairs of ports and a bridge between them, whose egress sends this many frames/s and queues the rest.
fn shaped_bridge() -> Option<(PortsNode, EphemeralLab)> {
    let lab = may_test().then(|| EphemeralLab::up(&LabSpec::unique("wlh", 2)).unwrap())?;
    let port = |pair, side| lab.port(pair, side).unwrap();
    bridge(&port(0, Side::Node));
    shape(&port(1, Side::Node), TRUE_FRAMES_PER_S * LINK_BYTES * 8);
    let pair = Pair {
        node: port(0, Side::Tester),
        tester: port(1, Side::Tester),
    };
    let node = PortsNode::new("shaped", vec![pair], options(Path::Packet)).unwrap();
    Some((node, lab))
}

#[test]
fn a_search_finds_the_rate_of_a_shaped_bridge_that_holds_the_sender_back() {
    let Some((mut node, _lab)) = shaped_bridge() else {
        return;
    };
    let _alone = alone();
    let second_ps = 1_000_000_000_000;
    let lossless = Goal {
        width_ratio: 0.02,
        ..Goal::no_loss(second_ps)
    };
    let some_loss = Goal::at_loss(0.025, second_ps);
    let far_more = Load::FrameRate {
        frames_per_s: 500_000.0,
    };
    // A given highest load, and one that the search has to find.
    for (load, goal) in [(far_more, lossless), (Load::Max, some_loss)] {
        let search = Search::new(vec![goal]);
        let trial = Trial { load, ..trial(0) };
        let mut kept: Vec<Observation> = Vec::new();
        let context = SearchContext {
            node: &mut Retrying::new(&mut node),
            ceiling: &mut NoCeiling("not measured in this test".to_owned()),
            progress: &(),
            cancel: &Cancel::new(),
            sink: &mut kept,
        };
        let result = find_rates(context, &trial, &search).unwrap();
        assert_eq!(result.ended, SearchEnded::Done, "{result:#?}");
        for goal in &result.goals {
            assert_eq!(goal.outcome, Outcome::Found, "{result:#?}");
            assert_eq!(goal.limited_by.value(), Some(&Limit::Path), "{result:#?}");
            let rate = *goal.conditional_throughput_frames_per_s.value().unwrap();
            let off = rate / TRUE_FRAMES_PER_S as f64 - 1.0;
            assert!(off.abs() < OFF, "{rate} at {load}: {result:#?}");
        }
    }
}
