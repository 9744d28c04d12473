//! The code point of a trial is in what the tester sends to a peer: captured at the peer's port of a lab.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::agent::{open, serve};
use crate::common::{MS, NODE_IPV4, lab, on_tester, trial};
use crate::over::Over;
use wirelab_iperf::v2::{Server, ServerConfig};
use wirelab_iperf::v3 as three;
use wirelab_port::job::CheckJob;
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_port::packet::{CheckOptions, Checker, FrameSink};
use wirelab_remote::IperfNode;
use wirelab_trial::{
    Cancel, Direction, Dscp, Extent, Layer, Node, NodeError, Status, Trial, TrialField, WarningCode,
};
use wirelab_wire::Flow;

/// AF41 in the byte of the header.
const TOS: u8 = 34 << 2;

struct Memory(Arc<Mutex<Vec<Vec<u8>>>>);

impl FrameSink for Memory {
    fn frame(&mut self, _: u64, frame: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().push(frame.to_vec());
        Ok(())
    }
}

fn marked(layer: Layer, direction: Direction) -> Trial {
    Trial {
        dscp: Dscp::named("AF41"),
        ..trial(layer, direction)
    }
}

/// Of the IPv4 frames of a protocol to a port that come to the node, or from it to the tester, while `work` runs, and have
/// this many bytes: those with the code point, and all.
fn seen(
    lab: &EphemeralLab,
    (side, protocol, port, least_bytes): (Side, u8, u16, usize),
    work: impl FnOnce(),
) -> (usize, usize) {
    let frames: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let check = CheckJob {
        flow: Flow::default(),
        slots: None,
        time_every: 1,
    };
    let options = CheckOptions {
        sink: Some(Box::new(Memory(Arc::clone(&frames)))),
        ..CheckOptions::default()
    };
    let tap = Checker::start(&lab.port(0, side).unwrap(), &check, options).unwrap();
    work();
    drop(tap.finish(Duration::from_millis(100)).unwrap());
    let frames = frames.lock().unwrap();
    let at = match side {
        Side::Node => 36..38,
        Side::Tester => 34..36,
    };
    let is_ours = |f: &&Vec<u8>| {
        f.len() >= least_bytes.max(38)
            && f[12..14] == [8, 0]
            && f[23] == protocol
            && f[at.clone()] == port.to_be_bytes()
    };
    let ours: Vec<&Vec<u8>> = frames.iter().filter(is_ours).collect();
    let with = ours.iter().filter(|f| f[15] & 0xFC == TOS).count();
    (with, ours.len())
}

#[test]
fn what_goes_to_a_node_is_marked() {
    let Some(lab) = lab() else { return };
    let _node = serve(&lab, |_| {});
    for (layer, protocol, direction) in [
        (Layer::UdpIpv4, 17, Direction::Receive),
        (Layer::UdpIpv4, 17, Direction::Echo),
        (Layer::TcpIpv4, 6, Direction::Receive),
    ] {
        let trial = marked(layer, direction);
        let port = wirelab_wire::header::UDP_PORT;
        let (with, all) = seen(&lab, (Side::Node, protocol, port, 0), || {
            let observation = on_tester(&lab, || {
                let mut node = open(NODE_IPV4).unwrap();
                node.run(&trial, &(), &Cancel::new()).unwrap()
            });
            assert_eq!(observation.status, Status::Complete);
        });
        assert!(
            with > 1 && with == all,
            "{layer:?} {direction}: {with} of {all}"
        );
    }
    for direction in [Direction::Transmit, Direction::Both] {
        let trial = marked(Layer::UdpIpv4, direction);
        let refused = on_tester(&lab, || {
            let mut node = open(NODE_IPV4).unwrap();
            node.run(&trial, &(), &Cancel::new())
        });
        let Err(NodeError::Unsupported(no)) = refused else {
            panic!("{direction} was accepted");
        };
        assert_eq!(no.field.map(TrialField::name), Some("dscp"));
        assert!(no.why.contains("use --direction rx or echo"), "{no}");
    }
}

#[test]
fn what_goes_to_an_iperf_server_is_marked() {
    let Some(lab) = lab() else { return };
    let namespace = lab.port(0, Side::Node).unwrap().netns().unwrap();
    let address = format!("{NODE_IPV4}:5001").parse().unwrap();
    let start = || Server::start(address, ServerConfig::default(), Arc::new(|_| {})).unwrap();
    let _server = namespace.run_in(start).unwrap();
    for (layer, protocol) in [(Layer::UdpIpv4, 17), (Layer::TcpIpv4, 6)] {
        let trial = marked(layer, Direction::Receive);
        let (with, all) = seen(&lab, (Side::Node, protocol, 5001, 0), || {
            let observation = on_tester(&lab, || {
                let mut node = IperfNode::open("iperf", NODE_IPV4).unwrap();
                node.run(&trial, &(), &Cancel::new()).unwrap()
            });
            assert_eq!(observation.status, Status::Complete);
        });
        assert!(with > 1 && with == all, "{layer:?}: {with} of {all}");
    }
}

#[test]
fn what_goes_to_an_iperf3_server_and_back_is_marked() {
    let Some(lab) = lab() else { return };
    let namespace = lab.port(0, Side::Node).unwrap().netns().unwrap();
    let address = format!("{NODE_IPV4}:5201").parse().unwrap();
    let mut server = namespace
        .run_in(|| three::Server::bind(address))
        .unwrap()
        .unwrap();
    let over = Cancel::new();
    std::thread::scope(|scope| {
        let serving = || while server.serve_one(&over).is_ok() || !over.is_cancelled() {};
        scope.spawn(|| namespace.run_in(serving).unwrap());
        let _over = Over(over.flag());
        for (layer, protocol, direction, side) in [
            (Layer::UdpIpv4, 17, Direction::Receive, Side::Node),
            (Layer::TcpIpv4, 6, Direction::Receive, Side::Node),
            (Layer::UdpIpv4, 17, Direction::Transmit, Side::Tester),
        ] {
            let trial = Trial {
                extent: Extent::Time { time_ps: 1000 * MS },
                ..marked(layer, direction)
            };
            let mut warned = false;
            // What its control connection says is shorter.
            let (with, all) = seen(&lab, (side, protocol, 5201, 900), || {
                let observation = on_tester(&lab, || {
                    let mut node = IperfNode::open_three("iperf3", NODE_IPV4).unwrap();
                    node.run(&trial, &(), &Cancel::new()).unwrap()
                });
                assert_eq!(observation.status, Status::Complete);
                warned = observation.warned(WarningCode::PEER_MARK);
            });
            assert!(
                with > 1 && with == all,
                "{layer:?} {direction}: {with} of {all}"
            );
            assert_eq!(warned, direction == Direction::Transmit, "{direction}");
        }
    });
}
