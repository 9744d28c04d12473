//! Trials on the distribution's iperf3 in a lab: every layer in every direction, and servers that are busy.

use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::common;
use crate::common::{MS, Served, counter, flow, has, host_of, lab, on_tester, trial, until};
use crate::over::Over;
use wirelab_iperf::v3::{Client, Parameters, TestEvent};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::IperfNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, NodeError, Observation, Status, Trial,
};

const LAYERS: [Layer; 4] = [
    Layer::UdpIpv4,
    Layer::UdpIpv6,
    Layer::TcpIpv4,
    Layer::TcpIpv6,
];
/// 5201 as the tables of `/proc/net` have it.
const PORT: &str = ":1451 0000";

/// `iperf3 -s` in the lab, which listens for both families.
fn real_iperf3(lab: &EphemeralLab) -> Served {
    let mut command = Command::new("iperf3");
    command
        .arg("-s")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = lab.netns(Side::Node).unwrap().spawn(&mut command).unwrap();
    let served = Served(child);
    let file = format!("/proc/{}/net/tcp6", served.0.id());
    until("iperf3 listens", || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains(PORT))
    });
    served
}

fn asked(lab: &EphemeralLab, trial: &Trial) -> Result<Observation, NodeError> {
    let host = host_of(trial.framing.layer);
    on_tester(lab, || {
        let mut node = IperfNode::open_three(&format!("iperf3:{host}"), &host).unwrap();
        node.run(trial, &(), &Cancel::new())
    })
}

/// A second of it: iperf3 takes no less.
fn second(layer: Layer, direction: Direction) -> Trial {
    Trial {
        extent: Extent::Time { time_ps: 1000 * MS },
        ..trial(layer, direction)
    }
}

#[test]
fn every_layer_in_every_direction() {
    let Some(lab) = lab().filter(|_| has("iperf3")) else {
        return;
    };
    let _server = real_iperf3(&lab);
    for layer in LAYERS {
        for direction in [Direction::Receive, Direction::Transmit, Direction::Both] {
            let what = format!("{layer:?} {direction}");
            let observation = asked(&lab, &second(layer, direction)).expect(&what);
            assert_eq!(observation.status, Status::Complete, "{what}");
            let flows = if direction == Direction::Both { 2 } else { 1 };
            assert_eq!(observation.flows.len(), flows, "{what}");
            assert_eq!(observation.node.setup["application"], "iperf3");
            // Its processor time is not a load of the node.
            assert!(observation.cpu_load.value().is_none());
            let cpu = &observation.counters["iperf3_server_process_cpu_ppm"];
            assert!(cpu.value().is_some(), "{what}");
            for flow in &observation.flows {
                let goodput = *flow.goodput_bits_per_s.value().expect(&what);
                // 4 Mbit/s are requested: after a pause no more is sent than was due.
                assert!(goodput > 0.0 && goodput < 4.8e6, "{what}: {goodput} bit/s");
                if layer.is_udp() {
                    let loss = *flow.loss_ratio.value().expect(&what);
                    assert!((0.0..1.0).contains(&loss), "{what}: {loss}");
                    let sent = *flow.sent_frames.value().expect(&what);
                    assert!(sent >= 2, "{what}: {sent}");
                    assert!(flow.jitter_ps.value().is_some(), "{what}");
                } else {
                    assert!(counter(flow, "stream_bytes") > 10_000, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_number_of_frames_is_kept_where_the_tester_sends() {
    let Some(lab) = lab().filter(|_| has("iperf3")) else {
        return;
    };
    let _server = real_iperf3(&lab);
    let frames = Extent::Frames { frames: 300 };
    let sent = Trial {
        extent: frames,
        ..trial(Layer::UdpIpv4, Direction::Receive)
    };
    let observation = asked(&lab, &sent).unwrap();
    let flow = flow(&observation, Direction::Receive);
    assert_eq!(flow.sent_frames.value(), Some(&300));
    // The server may stop counting before the last ones, and iperf3 has no final datagram.
    let (told, lost) = (
        counter(flow, "reported_datagrams"),
        counter(flow, "reported_lost"),
    );
    assert!((1..=300).contains(&told), "{told}");
    assert_eq!(flow.loss_ratio.value(), Some(&(lost as f64 / told as f64)));
    assert_eq!(common::has_warning(&observation, "untold-end"), told < 300);
    assert!(!flow.counters.contains_key("final_datagrams"));
    let endless = Trial {
        extent: frames,
        load: Load::Max,
        ..trial(Layer::UdpIpv4, Direction::Transmit)
    };
    let error = asked(&lab, &endless).unwrap_err().to_string();
    assert!(error.contains("give a time instead of frames"), "{error}");
    let echo = asked(&lab, &trial(Layer::TcpIpv4, Direction::Echo)).unwrap_err();
    assert!(echo.to_string().contains("use iperf:HOST"), "{echo}");
    // Parts of a second are none of iperf3's.
    let short = asked(&lab, &trial(Layer::UdpIpv4, Direction::Receive)).unwrap();
    assert!(
        common::has_warning(&short, "whole-seconds"),
        "{:?}",
        short.warnings
    );
}

#[test]
fn a_long_trial_has_intervals() {
    let Some(lab) = lab().filter(|_| has("iperf3")) else {
        return;
    };
    let _server = real_iperf3(&lab);
    let long = Trial {
        extent: Extent::Time { time_ps: 3000 * MS },
        ..trial(Layer::UdpIpv4, Direction::Transmit)
    };
    let observation = asked(&lab, &long).unwrap();
    let flow = flow(&observation, Direction::Transmit);
    for n in [1, 2] {
        let datagrams = counter(flow, &format!("interval_{n:02}_datagrams"));
        let bytes = counter(flow, &format!("interval_{n:02}_bytes"));
        let lost = counter(flow, &format!("interval_{n:02}_lost"));
        assert!(
            datagrams > 0 && bytes == (datagrams - lost) * 1000,
            "{n}: {bytes}"
        );
    }
}

#[test]
fn a_server_that_dies_in_a_trial_makes_it_void() {
    let Some(lab) = lab().filter(|_| has("iperf3")) else {
        return;
    };
    for layer in [Layer::UdpIpv4, Layer::TcpIpv4] {
        let mut server = real_iperf3(&lab);
        let long = Trial {
            extent: Extent::Time {
                time_ps: 30_000 * MS,
            },
            ..trial(layer, Direction::Both)
        };
        let observation = std::thread::scope(|scope| {
            let lab = &lab;
            let asking = scope.spawn(move || asked(lab, &long).unwrap());
            // Data flows on a connection of the server.
            let file = format!("/proc/{}/net/tcp6", server.0.id());
            until("a client is there", || {
                std::fs::read_to_string(&file)
                    .is_ok_and(|text| text.contains(":1451 0000000000000000FFFF0000"))
            });
            std::thread::sleep(Duration::from_millis(700));
            server.kill();
            asking.join().unwrap()
        });
        let Status::Void { why } = &observation.status else {
            panic!("{:?}", observation.status);
        };
        assert!(why.contains("; fix: "), "{why}");
        assert!(
            common::has_warning(&observation, "node-failed"),
            "{:?}",
            observation.warnings
        );
    }
}

#[test]
fn a_busy_server_is_waited_for_and_then_a_void() {
    let Some(lab) = lab().filter(|_| has("iperf3")) else {
        return;
    };
    let _server = real_iperf3(&lab);
    let cancel = Cancel::new();
    let (began, begins) = mpsc::channel();
    std::thread::scope(|scope| {
        let (stop, lab) = (cancel.clone(), &lab);
        scope.spawn(move || {
            on_tester(lab, || {
                let parameters = Parameters {
                    seconds: 120,
                    rate_bit_s: 1_000_000,
                    ..Parameters::default()
                };
                let address = format!("{}:5201", host_of(Layer::TcpIpv4));
                let client = Client::new(address.parse().unwrap(), parameters);
                let ended = client.run_telling(&stop, &mut |told| {
                    if matches!(told, TestEvent::Began(_)) {
                        began.send(()).unwrap();
                    }
                });
                assert_eq!(ended.unwrap().failure, None);
            });
        });
        let _over = Over(cancel.flag());
        begins.recv_timeout(Duration::from_secs(60)).unwrap();
        let observation = asked(lab, &second(Layer::UdpIpv4, Direction::Receive)).unwrap();
        let Status::Void { why } = &observation.status else {
            panic!("{:?}", observation.status);
        };
        assert!(
            why.contains("is busy with another test; fix: wait"),
            "{why}"
        );
        // Over in time, it is waited for.
        let freed = cancel.clone();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            freed.cancel();
        });
        let observation = asked(lab, &second(Layer::UdpIpv4, Direction::Receive)).unwrap();
        assert_eq!(observation.status, Status::Complete);
    });
}

#[test]
fn a_server_of_iperf_2_is_named() {
    let Some(lab) = lab().filter(|_| has("iperf")) else {
        return;
    };
    let _server = common::real_iperf(&lab, Layer::TcpIpv4);
    let host = format!("{}:5001", host_of(Layer::TcpIpv4));
    let given = on_tester(&lab, || {
        let mut node = IperfNode::open_three("iperf3:it", &host).unwrap();
        let trial = second(Layer::TcpIpv4, Direction::Receive);
        node.run(&trial, &(), &Cancel::new())
    });
    // It answers with bytes that are none of iperf3's, or closes the connection at once.
    let said = match given {
        Err(error) => error.to_string(),
        Ok(observation) => format!("{:?}", observation.status),
    };
    assert!(said.contains("(not iperf 2)"), "{said}");
    assert!(said.contains("; fix: "), "{said}");
}
