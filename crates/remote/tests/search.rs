//! Searches on both kinds of peers: a path of known capacity is found, for each kind of peer.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::common::{MS, NODE_IPV4, has, lab, on_tester, real_iperf, tool, trial};
use wirelab_agent::{Options, Serving};
use wirelab_bench::search::{SearchContext, find_rates};
use wirelab_iperf::v2::{Server, ServerConfig};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::{ControlNode, IperfNode};
use wirelab_trial::search::{Goal, GoalResult, Search, SearchEnded, SearchResult};
use wirelab_trial::{
    Cancel, Direction, Extent, Field, Layer, Load, Node, Observation, Retrying, Size, SizeUnit,
    Trial,
};

/// Link bits/s that the path carries; slow, so that no tester is the limit.
const CAPACITY: f64 = 4e6;
/// Length of the frames of datagrams of 1000 bytes, with FCS, preamble and gap.
const LINK_BYTES: f64 = 1000.0 + 28.0 + 38.0;

/// A lab whose path to the node drops what is beyond its capacity: the queue of its shaper is shorter than a socket's,
/// which would hold the sender back instead.
fn narrow() -> Option<EphemeralLab> {
    let lab = lab()?;
    let shaper =
        "qdisc replace dev t0 root tbf rate 4000000bit burst 4000b limit 6000b mpu 84 overhead 24";
    let arguments: Vec<&str> = shaper.split_whitespace().collect();
    tool(&lab, Side::Tester, "tc", &arguments);
    Some(lab)
}

fn search(node: &mut dyn Node) -> (SearchResult, Vec<Observation>) {
    let template = Trial {
        load: Load::Max,
        link_bits_per_s: Some(16_000_000),
        extent: Extent::Time { time_ps: 500 * MS },
        ..trial(Layer::UdpIpv4, Direction::Receive)
    };
    let goal = |loss_ratio| Goal {
        width_ratio: 0.1,
        loss_ratio,
        ..Goal::no_loss(500 * MS)
    };
    let search = Search {
        min_load_frames_per_s: Some(100.0),
        ..Search::new(vec![goal(0.0), goal(0.025)])
    };
    let mut sink = Vec::new();
    let mut ceiling = |_: &Trial| Field::absent("not of interest here");
    let context = SearchContext {
        node,
        ceiling: &mut ceiling,
        progress: &(),
        cancel: &Cancel::new(),
        sink: &mut sink,
    };
    (find_rates(context, &template, &search).unwrap(), sink)
}

/// The rate is found within the width, or the tester is named that its host held up. What the queue of its interface
/// dropped is not a disturbance: each trial above the capacity has that.
fn assert_found(
    result: &SearchResult,
    seen: &[Observation],
    found: impl Fn(&GoalResult) -> &Field<f64>,
) {
    assert_eq!(result.ended, SearchEnded::Done, "{result:#?}");
    assert!(seen.len() >= 4, "{} trials", seen.len());
    let disturbed = seen.iter().any(|o| {
        let mut senders = o.flows.iter().filter_map(|f| f.sender.value());
        senders.any(|s| s.slipped_ps.value().is_none_or(|ps| *ps > 0))
    });
    let capacity = CAPACITY / 8.0 / LINK_BYTES;
    for goal in &result.goals {
        let Some(rate) = goal.conditional_throughput_frames_per_s.value() else {
            assert!(disturbed, "{result:#?}");
            continue;
        };
        let share = rate / capacity;
        // The bucket lets a burst of 4000 bytes through beyond the 250,000 of a trial.
        assert!(share < 1.05, "{share} of the capacity: {result:#?}");
        let share = found(goal).value().map(|rate| rate / capacity);
        assert!(
            disturbed || share > Some(0.85),
            "{share:?} of the capacity: {result:#?}"
        );
    }
}

#[test]
fn the_capacity_of_a_path_to_an_iperf_peer_is_found() {
    let Some(lab) = narrow().filter(|_| has("iperf")) else {
        return;
    };
    let _server = real_iperf(&lab, Layer::UdpIpv4);
    let (result, seen) = on_tester(&lab, || {
        search(&mut IperfNode::open("iperf:198.18.0.1", NODE_IPV4).unwrap())
    });
    // The server's time goes on until it hears of the end, which the queue may drop: what arrived follows from the load.
    assert_found(&result, &seen, |goal| {
        &goal.relevant_lower_bound_frames_per_s
    });
}

fn node() -> Serving {
    let mut options = Options::on(SocketAddr::new(NODE_IPV4.parse().unwrap(), 5002));
    options.iperf = false;
    Serving::start(options).unwrap()
}

#[test]
fn the_capacity_of_a_path_to_a_node_is_found() {
    let Some(lab) = narrow() else { return };
    let _node = lab.netns(Side::Node).unwrap().run_in(node).unwrap();
    let (result, seen) = on_tester(&lab, || {
        search(&mut ControlNode::open("node:198.18.0.1", NODE_IPV4).unwrap())
    });
    assert_found(&result, &seen, |goal| {
        &goal.conditional_throughput_frames_per_s
    });
}

/// Application bytes of a datagram on a shaped link: few frames/s, so that a busy host can offer them.
const DATAGRAM: u32 = 1400;

/// The whole search of a datasheet over a link that the lab shapes: its queue is longer than the sender's own, so that a
/// sender is held back and nothing is lost.
fn over_a_shaped_link<P: Send>(
    mbit_per_s: u64,
    serve: impl Fn() -> P + Send,
    open: impl Fn() -> Box<dyn Node> + Sync,
) {
    let Some(lab) = lab() else { return };
    let link = mbit_per_s * 1_000_000;
    lab.set_link_rate(0, Side::Tester, Some(link)).unwrap();
    let _peer = lab.netns(Side::Node).unwrap().run_in(serve).unwrap();
    let template = Trial {
        size: Size::new(SizeUnit::Datagram, DATAGRAM),
        load: Load::Max,
        extent: Extent::Time { time_ps: 1000 * MS },
        ..trial(Layer::UdpIpv4, Direction::Receive)
    };
    let goal = Goal {
        width_ratio: 0.02,
        ..Goal::no_loss(1000 * MS)
    };
    let (found, seen) = on_tester(&lab, || {
        let mut node = open();
        let mut node = Retrying::new(node.as_mut());
        let mut sink = Vec::new();
        // The tester could offer a link of a Gbit/s.
        let bound = 1e9 / 8.0 / f64::from(DATAGRAM + 66);
        let mut ceiling = |_: &Trial| Field::measured(bound);
        let context = SearchContext {
            node: &mut node,
            ceiling: &mut ceiling,
            progress: &(),
            cancel: &Cancel::new(),
            sink: &mut sink,
        };
        let found = find_rates(context, &template, &Search::new(vec![goal])).unwrap();
        (found, sink)
    });
    let told = || {
        let loads = seen.iter().map(|o| (o.trial.load, &o.status, &o.flows[0]));
        let loads: Vec<_> = loads
            .map(|(load, status, flow)| (load, status, &flow.frames_per_s, &flow.loss_ratio))
            .collect();
        format!("{mbit_per_s} Mbit/s: {:#?}\n{loads:#?}", found.goals)
    };
    assert_eq!(found.ended, SearchEnded::Done, "{}", told());
    let share = |rate: &Field<f64>| {
        let rate = rate.value().unwrap_or_else(|| panic!("{}", told()));
        rate * 8.0 * f64::from(DATAGRAM + 66) / link as f64
    };
    let load = share(&found.goals[0].relevant_lower_bound_frames_per_s);
    // What was sent within the second and lies in a queue at its end is of that load.
    assert!((0.95..=1.04).contains(&load), "{load}: {}", told());
    // What arrived at that load: a host may hold the trial up for a tenth of its time, and may let the first frame wait for
    // its time stamp.
    let arrived = share(&found.goals[0].conditional_throughput_frames_per_s);
    assert!((0.85..=1.04).contains(&arrived), "{arrived}: {}", told());
}

#[test]
fn a_shaped_link_that_holds_the_sender_back_is_the_throughput_of_a_node() {
    for mbit_per_s in [65, 95] {
        over_a_shaped_link(mbit_per_s, node, || {
            Box::new(ControlNode::open("node:198.18.0.1", NODE_IPV4).unwrap())
        });
    }
}

#[test]
fn a_shaped_link_that_holds_the_sender_back_is_the_throughput_of_an_iperf_peer() {
    let server = || {
        let address = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5001);
        Server::start(address, ServerConfig::default(), Arc::new(|_| {})).unwrap()
    };
    for mbit_per_s in [65, 95] {
        over_a_shaped_link(mbit_per_s, server, || {
            Box::new(IperfNode::open("iperf:198.18.0.1", NODE_IPV4).unwrap())
        });
    }
}
