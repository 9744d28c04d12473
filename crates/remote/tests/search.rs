//! Searches on both kinds of peers: a path of known capacity is found, whoever is asked.

mod common;

use std::net::SocketAddr;

use common::{MS, NODE_IPV4, has, lab, on_tester, real_iperf, tool, trial};
use wirelab_agent::{Options, Serving};
use wirelab_bench::search::{Asking, find_rates};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::{ControlNode, IperfNode};
use wirelab_trial::search::{Goal, Search, SearchEnded, SearchResult};
use wirelab_trial::{Cancel, Direction, Extent, Field, Layer, Load, Node, Observation, Trial};

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
    let asking = Asking {
        node,
        ceiling: &mut ceiling,
        progress: &(),
        cancel: &Cancel::new(),
        sink: &mut sink,
    };
    (find_rates(asking, &template, &search).unwrap(), sink)
}

/// The rate is found within the width, or the tester is named that could not keep the rates asked.
fn assert_found(result: &SearchResult, seen: &[Observation]) {
    assert_eq!(result.ended, SearchEnded::Done, "{result:#?}");
    assert!(seen.len() >= 4, "{} trials", seen.len());
    let disturbed = seen.iter().any(|o| {
        let mut senders = o.flows.iter().filter_map(|f| f.sender.value());
        senders.any(|s| s.kept_rate.value() != Some(&true))
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
        assert!(
            disturbed || share > 0.85,
            "{share} of the capacity: {result:#?}"
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
    assert_found(&result, &seen);
}

#[test]
fn the_capacity_of_a_path_to_a_node_is_found() {
    let Some(lab) = narrow() else { return };
    let serve = || {
        let mut options = Options::on(SocketAddr::new(NODE_IPV4.parse().unwrap(), 5002));
        options.iperf = false;
        Serving::start(options).unwrap()
    };
    let _node = lab.netns(Side::Node).unwrap().run_in(serve).unwrap();
    let (result, seen) = on_tester(&lab, || {
        search(&mut ControlNode::open("node:198.18.0.1", NODE_IPV4).unwrap())
    });
    assert_found(&result, &seen);
}
