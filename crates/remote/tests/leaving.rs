//! What happens at the tester's own interface is not a loss of the node: frames that its queue drops, and a link that fails.

use std::thread;
use std::time::Duration;

use crate::common;
use crate::common::agent::{open, serve};
use crate::common::{MS, NODE_IPV4, flow, lab, on_tester, tool, trial};
use wirelab_iperf::v2::{Server, ServerConfig};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::IperfNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, Observation, Size, SizeUnit, Status, Trial,
};

/// Datagrams of 1000 bytes at 1000/s: twice what the shaper lets through.
fn asked() -> Trial {
    Trial {
        size: Size::new(SizeUnit::Datagram, 1000),
        load: Load::FrameRate {
            frames_per_s: 1000.0,
        },
        extent: Extent::Time {
            time_ps: 1_000 * MS,
        },
        ..trial(Layer::UdpIpv4, Direction::Receive)
    }
}

/// A queue behind the sender's socket that is shorter than what the socket lets wait: it drops silently.
fn narrow(lab: &EphemeralLab) {
    let shaper = "qdisc replace dev t0 root tbf rate 4000000bit burst 4000b limit 6000b";
    let arguments: Vec<&str> = shaper.split_whitespace().collect();
    tool(lab, Side::Tester, "tc", &arguments);
}

fn iperf_server(lab: &EphemeralLab) -> Server {
    let address = format!("{NODE_IPV4}:5001").parse().unwrap();
    let namespace = lab.port(0, Side::Node).unwrap().netns().unwrap();
    let start = || {
        let config = ServerConfig::default();
        Server::start(address, config, std::sync::Arc::new(|_| {})).unwrap()
    };
    namespace.run_in(start).unwrap()
}

fn assert_none_is_lost(observation: &Observation, what: &str) {
    let flow = flow(observation, Direction::Receive);
    assert_eq!(flow.loss_ratio.value(), Some(&0.0), "{what}: {flow:#?}");
    // What else left by the interface, as the control connection does, may have been among the dropped.
    assert!(
        flow.loss_ratio_at_most < Some(0.1),
        "{what}: {:?}",
        flow.loss_ratio_at_most
    );
    assert!(
        common::has_warning(observation, "driver-refused"),
        "{what}: {:#?}",
        observation.warnings
    );
    assert!(flow.was_held_back(), "{what}: {:#?}", flow.sender);
}

#[test]
fn what_the_testers_queue_drops_is_no_loss_of_a_node() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    narrow(&lab);
    let observation = on_tester(&lab, || {
        let mut node = open(NODE_IPV4).unwrap();
        node.run(&asked(), &(), &Cancel::new())
            .expect("an observation")
    });
    assert_none_is_lost(&observation, "node");
    let flow = flow(&observation, Direction::Receive);
    let (sent, counts) = (
        *flow.sent_frames.value().unwrap(),
        *flow.counts.value().unwrap(),
    );
    assert_eq!(counts.check_identity(sent), Ok(()), "{counts:?}");
    assert!((300..700).contains(&sent), "{sent} of 1,000 left");
}

#[test]
fn what_the_testers_queue_drops_is_no_loss_of_an_iperf_peer() {
    let Some(lab) = lab() else { return };
    let _server = iperf_server(&lab);
    narrow(&lab);
    let observation = on_tester(&lab, || {
        let mut node = IperfNode::open("iperf:node", NODE_IPV4).unwrap();
        node.run(&asked(), &(), &Cancel::new())
            .expect("an observation")
    });
    assert_none_is_lost(&observation, "iperf");
}

#[test]
fn a_link_that_fails_for_a_moment_makes_a_trial_void() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    let observation = on_tester(&lab, || {
        let mut node = open(NODE_IPV4).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(400));
                for state in ["down", "up"] {
                    tool(&lab, Side::Node, "ip", &["link", "set", "dev", "n0", state]);
                    thread::sleep(Duration::from_millis(200));
                }
            });
            node.run(&asked(), &(), &Cancel::new())
        })
    });
    let why = match observation {
        Ok(seen) => {
            let Status::Void { why } = &seen.status else {
                panic!("{:?}", seen.status);
            };
            for flow in &seen.flows {
                assert!(flow.counts.value().is_none(), "{:?}", flow.counts);
                assert!(flow.loss_ratio.value().is_none() && flow.loss_ratio_at_most.is_none());
                assert!(flow.frames_per_s.value().is_none() && flow.jitter_ps.value().is_none());
                assert!(flow.intervals == Default::default() && flow.series.is_empty());
            }
            assert_eq!(seen.tester.was_limit.value(), None);
            why.clone()
        }
        Err(error) => error.to_string(),
    };
    assert!(
        why.contains("t0: the carrier changed") && why.contains("during the trial"),
        "{why}"
    );
}

/// An echo whose background is four times what the shaper lets through.
fn echo_beside(layer: Layer, load: f64) -> Trial {
    Trial {
        size: Size::new(SizeUnit::Datagram, 100),
        load: Load::FrameRate { frames_per_s: load },
        background: Some("2kpps,datagram=512".parse().unwrap()),
        framing: trial(layer, Direction::Echo).framing,
        direction: Direction::Echo,
        ..asked()
    }
}

fn assert_background_is_not_lost(observation: &Observation) {
    let counter = |name: &str| {
        let field = observation
            .counters
            .get(&format!("background_{name}_frames"));
        field.and_then(|field| field.value().copied())
    };
    let (sent, refused) = (counter("sent").unwrap(), counter("refused"));
    let what = format!("{:#?} {:#?}", observation.counters, observation.warnings);
    assert_eq!(counter("lost"), Some(0), "{what}");
    assert!(refused > Some(sent / 10), "{what}");
    assert!(
        common::has_warning(observation, "background-refused"),
        "{what}"
    );
    assert!(
        !what.contains("the checker's own queue overflowed"),
        "{what}"
    );
    let flow = flow(observation, Direction::Echo);
    assert_eq!(flow.loss_ratio.value(), Some(&0.0), "{flow:#?}");
}

#[test]
fn what_the_testers_queue_drops_of_a_background_is_no_loss_of_the_node() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    narrow(&lab);
    let observation = on_tester(&lab, || {
        let mut node = open(NODE_IPV4).unwrap();
        node.run(&echo_beside(Layer::UdpIpv4, 200.0), &(), &Cancel::new())
            .expect("an observation")
    });
    assert_background_is_not_lost(&observation);
}

#[test]
fn what_the_testers_queue_drops_of_a_background_is_no_loss_of_an_iperf_peer() {
    let Some(lab) = lab() else { return };
    let _server = iperf_server(&lab);
    narrow(&lab);
    let observation = on_tester(&lab, || {
        let mut node = IperfNode::open("iperf:node", NODE_IPV4).unwrap();
        node.run(&echo_beside(Layer::TcpIpv4, 20.0), &(), &Cancel::new())
            .expect("an observation")
    });
    assert_background_is_not_lost(&observation);
}
