//! Peers of iperf that are not there, vanish, keep silent, or stand behind a path with a small MTU; and our own server.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use crate::common;
use crate::common::{
    MS, NODE_IPV4, counter, flow, has, has_warning, lab, lab_of, on_tester, real_iperf, trial,
};
use crate::over::Over;
use wirelab_iperf::v2::{Server, ServerConfig};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_remote::IperfNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, NodeError, Observation, Progress, Size, SizeUnit,
    Status, Trial, TrialField,
};

fn asked(lab: &EphemeralLab, trial: &Trial) -> Result<Observation, NodeError> {
    watched(lab, trial, &(), &Cancel::new())
}

fn watched(
    lab: &EphemeralLab,
    trial: &Trial,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Observation, NodeError> {
    on_tester(lab, || {
        let mut node = IperfNode::open("iperf:198.18.0.1", NODE_IPV4)?;
        node.run(trial, progress, cancel)
    })
}

/// Does something once the trial has gone on for a second and a half.
struct After<'a>(&'a (dyn Fn() + Sync));

impl Progress for After<'_> {
    fn report(&self, done: u64, _: u64, _: &str) {
        if done > 1500 {
            (self.0)();
        }
    }
}

fn long(layer: Layer, direction: Direction) -> Trial {
    Trial {
        extent: Extent::Time {
            time_ps: 6_000 * MS,
        },
        ..trial(layer, direction)
    }
}

#[test]
fn an_iperf3_server_returns_no_blocks_with_or_without_a_background() {
    let Some(lab) = lab() else { return };
    let over = Cancel::new();
    let at = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5001);
    let bind = || wirelab_iperf::v3::Server::bind(at).unwrap();
    let mut server = lab.netns(Side::Node).unwrap().run_in(bind).unwrap();
    let alone = Trial {
        size: Size::new(SizeUnit::Datagram, 128),
        load: Load::FrameRate {
            frames_per_s: 200.0,
        },
        extent: Extent::Frames { frames: 20 },
        ..trial(Layer::TcpIpv4, Direction::Echo)
    };
    let beside = Trial {
        background: Some("1M,datagram=500".parse().unwrap()),
        ..alone.clone()
    };
    std::thread::scope(|scope| {
        let (over, serving) = (over.clone(), over.clone());
        let served = scope.spawn(move || server.serve_one(&serving));
        let ends = Over(over.flag());
        let refusals = [&alone, &beside].map(|trial| asked(&lab, trial));
        drop(ends);
        assert!(served.join().unwrap().is_err(), "no test of iperf3");
        for refused in refusals {
            let Err(NodeError::Unsupported(refused)) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!(refused.field, Some(TrialField::Direction));
            for part in ["iperf3 do not", "node:HOST"] {
                assert!(refused.why.contains(part), "{}", refused.why);
            }
        }
    });
}

#[test]
fn a_server_that_is_killed_voids_the_trial_and_its_counters_are_kept() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    for (layer, direction) in [
        (Layer::UdpIpv4, Direction::Receive),
        (Layer::TcpIpv4, Direction::Receive),
        (Layer::UdpIpv4, Direction::Transmit),
        (Layer::TcpIpv4, Direction::Transmit),
    ] {
        let what = format!("{layer:?} {direction}");
        let server = Mutex::new(real_iperf(&lab, layer));
        let kill = || server.lock().unwrap().kill();
        let trial = long(layer, direction);
        let observation = watched(&lab, &trial, &After(&kill), &Cancel::new()).expect(&what);
        let flow = flow(&observation, direction);
        if layer == Layer::TcpIpv4 {
            assert!(counter(flow, "stream_bytes") > 0, "{what}");
        } else if direction == Direction::Receive {
            assert!(flow.sent_frames.value().is_some_and(|n| *n > 0), "{what}");
            assert!(flow.frames_per_s.value().is_none(), "{what}: not reported");
        } else {
            assert!(counter(flow, "received_datagrams") > 0, "{what}");
            assert!(flow.sent_frames.value().is_none(), "{what}");
        }
        let Status::Void { why } = &observation.status else {
            panic!("{what}: {:?}", observation.status);
        };
        assert!(why.contains("fix: "), "{what}: {why}");
    }
}

#[test]
fn a_report_that_never_comes_is_said_and_the_own_count_kept() {
    let Some(lab) = lab() else { return };
    let silent = lab
        .netns(Side::Node)
        .unwrap()
        .run_in(|| UdpSocket::bind(SocketAddr::new(NODE_IPV4.parse().unwrap(), 5001)).unwrap());
    let asked = trial(Layer::UdpIpv4, Direction::Receive);
    let observation = on_tester(&lab, || {
        let node = IperfNode::open("iperf:198.18.0.1", NODE_IPV4).unwrap();
        node.without_probe().run(&asked, &(), &Cancel::new())
    });
    let observation = observation.unwrap();
    drop(silent);
    assert!(has_warning(&observation, "no-report"), "{observation:#?}");
    let flow = flow(&observation, Direction::Receive);
    assert!(flow.sent_frames.value().is_some_and(|n| *n > 1));
    assert!(
        flow.sender
            .value()
            .unwrap()
            .achieved_frames_per_s
            .value()
            .is_some()
    );
    for absent in [
        &flow.frames_per_s,
        &flow.loss_ratio,
        &flow.goodput_bits_per_s,
    ] {
        assert!(absent.value().is_none(), "{flow:#?}");
    }
}

#[test]
fn datagrams_beyond_the_mtu_are_fragmented_and_it_is_said() {
    let mut spec = LabSpec::unique("remote-mtu", 1);
    spec.mtu = 1280;
    let Some(lab) = lab_of(spec).filter(|_| has("iperf")) else {
        return;
    };
    let _server = real_iperf(&lab, Layer::UdpIpv4);
    let mut large = trial(Layer::UdpIpv4, Direction::Receive);
    large.size = Size::new(SizeUnit::Datagram, 1470);
    let observation = asked(&lab, &large).unwrap();
    assert!(has_warning(&observation, "fragmented"), "{observation:#?}");
    let flow = flow(&observation, Direction::Receive);
    assert!(flow.goodput_bits_per_s.value().is_some());
    assert!(flow.efficiency.value().is_none() && flow.link_bits_per_s.value().is_none());
}

#[test]
fn nobody_there_is_told_from_no_route_and_no_host() {
    let Some(lab) = lab() else { return };
    for layer in [Layer::UdpIpv4, Layer::TcpIpv4] {
        let error = asked(&lab, &trial(layer, Direction::Receive)).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, NodeError::Failed(_)), "{text}");
        assert!(text.contains("iperf -s"), "{layer:?}: {text}");
    }
    let open = |host: &str| {
        on_tester(&lab, || {
            IperfNode::open("iperf:x", host).err().unwrap().to_string()
        })
    };
    assert!(open("192.0.2.77").contains("ip route"));
    assert!(open("no-such-host.invalid").contains("cannot find the host"));
    assert!(open("a:b:c").contains("brackets"));
}

#[test]
fn a_layer_that_the_host_has_no_address_for_is_refused() {
    let Some(lab) = lab() else { return };
    for (layer, words) in [
        (Layer::UdpIpv6, "no IPv6 address"),
        (Layer::Ethernet, "wirelab node serve"),
    ] {
        let mut trial = trial(layer, Direction::Receive);
        if layer == Layer::Ethernet {
            trial.size = Size::new(SizeUnit::Length, 200);
        }
        let error = asked(&lab, &trial).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn our_own_server_answers_in_every_direction_and_a_cancelled_trial_is_partial() {
    let Some(lab) = lab() else { return };
    let address = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5001);
    let serve = || Server::start(address, ServerConfig::default(), Arc::new(|_| ())).unwrap();
    let _server = lab.netns(Side::Node).unwrap().run_in(serve).unwrap();
    for layer in [Layer::UdpIpv4, Layer::TcpIpv4] {
        for direction in [Direction::Receive, Direction::Transmit, Direction::Both] {
            let what = format!("{layer:?} {direction}");
            let observation = asked(&lab, &trial(layer, direction)).expect(&what);
            assert_eq!(observation.status, Status::Complete, "{what}");
            for flow in &observation.flows {
                let goodput = *flow.goodput_bits_per_s.value().expect(&what);
                assert!(goodput > 0.0 && goodput < 6e6, "{what}: {goodput}");
            }
        }
        let cancel = Cancel::new();
        let stop = || cancel.cancel();
        let trial = Trial {
            load: Load::BitRate { bits_per_s: 1e6 },
            ..long(layer, Direction::Receive)
        };
        let observation = watched(&lab, &trial, &After(&stop), &cancel).unwrap();
        let Status::Partial { why } = &observation.status else {
            panic!("{:?}", observation.status);
        };
        assert!(why.contains("ended by the user"), "{why}");
        assert!(!observation.flows.is_empty());
    }
}

#[test]
fn a_peer_that_cannot_connect_back_sends_on_our_connection() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    // What a firewall in front of the node does: replies from its port pass, connections of its own do not.
    let rule = "rule add pref 10 ipproto tcp sport 5002-65534 blackhole";
    let arguments: Vec<&str> = rule.split_whitespace().collect();
    common::tool(&lab, Side::Node, "ip", &arguments);
    let _server = real_iperf(&lab, Layer::TcpIpv4);
    let observation = asked(&lab, &trial(Layer::TcpIpv4, Direction::Transmit)).unwrap();
    assert_eq!(observation.status, Status::Complete);
    assert!(
        has_warning(&observation, "own-connection"),
        "{observation:#?}"
    );
    let flow = flow(&observation, Direction::Transmit);
    assert!(counter(flow, "stream_bytes") > 0);
}
