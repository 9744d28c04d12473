//! Trials on the images of the boards with lwIP, in QEMU over a TAP: every layer in every direction, counts, captures
//! of all points, CPU load, and bad days.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::Command;

use crate::common;
use crate::common::assert_clean;
use wirelab_board::{Board, BoardError, Connect, Options};
use wirelab_remote::{ControlNode, IperfNode};
use wirelab_trial::{
    Cancel, Direction, Extent, Kind, Layer, Load, Node, Observation, Size, SizeUnit, Status, Trial,
};

/// A board on a TAP; `None`, and a word for the test runner, where it is not available.
fn board(name: &str) -> Option<Board> {
    if let Err(error) = wirelab_port::netns::probe() {
        assert!(error.is_privilege(), "{error}");
        return skip("root", &error);
    }
    let options = Options {
        connect: Connect::Tap,
        patience: common::PATIENCE,
        ..Options::default()
    };
    match Board::start(name, &options) {
        Ok(board) => Some(board),
        Err(error @ BoardError::NoQemu { .. }) => skip("qemu", &error),
        Err(error @ BoardError::NoImage { .. }) => skip("firmware", &error),
        Err(error @ BoardError::Tap(_)) => skip("tun", &error),
        Err(error) => panic!("{error}"),
    }
}

fn skip(feature: &str, why: &dyn std::fmt::Display) -> Option<Board> {
    // Directly, because the test harness swallows what is printed otherwise.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
    None
}

/// Do something with each board.
fn each(work: impl Fn(&Board, &str)) {
    for name in ["zynq7000", "mps2-an385"] {
        let Some(board) = board(name) else { return };
        work(&board, name);
        board.check().unwrap();
        assert_eq!(board.starts(), 1, "{name} was restarted");
        let said = std::fs::read_to_string(board.console().log()).unwrap_or_default();
        assert!(!said.contains("FAULT"), "{said}");
    }
}

/// Do something on the tester's side of a board.
fn on_tester<T: Send>(board: &Board, work: impl FnOnce() -> T + Send) -> T {
    let namespace = board.namespace().unwrap().unwrap();
    namespace.run_in(work).unwrap()
}

fn all(board: &Board, trials: &[Trial]) -> Vec<Observation> {
    let ip = board.ip().unwrap().to_string();
    on_tester(board, || {
        let mut node = ControlNode::open("node:board", &ip).unwrap();
        let mut one = |t: &Trial| node.run(t, &(), &Cancel::new()).expect("an observation");
        trials.iter().map(&mut one).collect()
    })
}

fn trial(layer: Layer, direction: Direction, frames: u64, load: Load) -> Trial {
    Trial {
        extent: Extent::Frames { frames },
        load,
        size: Size::new(SizeUnit::Length, 256),
        ..common::trial(layer, direction)
    }
}

const PACED: Load = Load::FrameRate {
    frames_per_s: 1000.0,
};
const DIRECTIONS: [Direction; 3] = [Direction::Receive, Direction::Transmit, Direction::Both];

fn assert_complete(observation: &Observation, frames: u64, board: &str) {
    let asked = &observation.trial;
    let what = format!(
        "{board} {:?} {} {:?}",
        asked.framing.layer, asked.direction, asked.load
    );
    assert_eq!(observation.status, Status::Complete, "{what}");
    for flow in &observation.flows {
        assert_eq!(flow.sent_frames.value(), Some(&frames), "{what}");
        let counts = assert_clean(flow, &what);
        if asked.framing.layer.is_tcp() {
            assert_eq!(counts.lost_frames, 0, "{what}");
        }
    }
}

#[test]
fn the_iperf_of_an_emulated_board_gives_emulated_figures() {
    let Some(board) = board("zynq7000") else {
        return;
    };
    let ip = board.ip().unwrap().to_string();
    let observation = on_tester(&board, || {
        let mut node = IperfNode::open("iperf:board", &ip).unwrap();
        let asked = trial(Layer::UdpIpv4, Direction::Receive, 300, PACED);
        node.run(&asked, &(), &Cancel::new())
            .expect("an observation")
    });
    assert!(observation.is_emulated(), "{observation:#?}");
    let flow = common::flow(&observation, Direction::Receive);
    for kind in [flow.frames_per_s.kind(), flow.loss_ratio.kind()] {
        assert_eq!(kind, Some(Kind::Emulated), "{flow:#?}");
    }
    assert_eq!(
        flow.sent_frames.kind(),
        Some(Kind::Measured),
        "the tester's"
    );
    assert!(common::has_warning(&observation, "emulated"));
}

#[test]
fn udp_tcp_and_ethernet_in_every_direction_on_each_board() {
    each(|board, name| {
        let layers = [Layer::UdpIpv4, Layer::TcpIpv4, Layer::Ethernet];
        let trials: Vec<Trial> = layers
            .iter()
            .flat_map(|layer| DIRECTIONS.map(|direction| trial(*layer, direction, 300, PACED)))
            .collect();
        for observation in all(board, &trials) {
            assert_complete(&observation, 300, name);
            let load = observation.cpu_load.value();
            let load = load.unwrap_or_else(|| panic!("{observation:#?}"));
            assert!((0.0..=1.0).contains(&load.busy_ratio), "{load:?}");
            for key in [
                "core",
                "core_clock_hz",
                "stack",
                "interface",
                "mac",
                "rx_descriptors",
            ] {
                assert!(observation.node.setup.contains_key(key), "{name} {key}");
            }
        }
    });
}

#[test]
fn streams_at_full_speed_on_each_board() {
    each(|board, name| {
        let trials = DIRECTIONS.map(|direction| Trial {
            size: Size::new(SizeUnit::Datagram, 1460),
            ..trial(Layer::TcpIpv4, direction, 3000, Load::Max)
        });
        for observation in all(board, &trials) {
            assert_complete(&observation, 3000, name);
        }
        let fast = trial(Layer::UdpIpv4, Direction::Transmit, 3000, Load::Max);
        assert_complete(&all(board, &[fast])[0], 3000, name);
    });
}

#[test]
fn echoes_come_back_from_each_board() {
    each(|board, name| {
        let trials = [Layer::UdpIpv4, Layer::Ethernet]
            .map(|layer| trial(layer, Direction::Echo, 512, PACED));
        for observation in all(board, &trials) {
            assert_complete(&observation, 512, name);
            let flow = common::flow(&observation, Direction::Echo);
            assert!(flow.series.iter().any(|s| s.name == "round trip"), "{name}");
        }
    });
}

#[test]
fn every_stage_has_its_captures_on_each_board() {
    each(|board, name| {
        for layer in [Layer::UdpIpv4, Layer::Ethernet] {
            let observation = all(board, &[trial(layer, Direction::Both, 600, PACED)]).remove(0);
            for (direction, stages) in [
                (
                    Direction::Receive,
                    ["interrupt to driver", "driver to application"],
                ),
                (
                    Direction::Transmit,
                    ["application to driver", "driver to mac"],
                ),
            ] {
                let flow = common::flow(&observation, direction);
                for stage in stages {
                    let series = flow.series.iter().find(|s| s.name == stage);
                    let series =
                        series.unwrap_or_else(|| panic!("{name}: no {stage}: {observation:#?}"));
                    // On a busy machine frames arrive in bursts with one interrupt, and some are lost.
                    let least = if stage.starts_with("interrupt") {
                        10
                    } else {
                        100
                    };
                    assert!(
                        (least..=512).contains(&series.histogram.count),
                        "{name} {layer:?} {stage}: {}",
                        series.histogram.count
                    );
                }
            }
        }
    });
}

#[test]
fn a_tester_that_has_gone_and_a_link_that_swallows_all_are_no_end_of_a_board() {
    each(|board, name| {
        let [a, b, c, _] = board.ip().unwrap().octets();
        let nowhere = Ipv4Addr::new(a, b, c, 77);
        let ip = board.ip().unwrap().to_string();
        let tool = |script: &str| {
            let status = || Command::new("sh").args(["-c", script]).status().unwrap();
            assert!(on_tester(board, status).success(), "{script}");
        };
        tool(&format!(
            "ip neigh add {nowhere} lladdr 02:00:00:00:00:77 dev tap0 nud permanent \
             && ip route add {ip} via {nowhere} dev tap0 onlink table 77 \
             && ip rule add to {ip} ipproto udp dport 5003 lookup 77 pref 10"
        ));
        let lost = all(
            board,
            &[trial(Layer::UdpIpv4, Direction::Receive, 100, PACED)],
        )
        .remove(0);
        let counts = *lost.flows[0].counts.value().unwrap();
        assert_eq!(
            (counts.received_frames, counts.lost_frames),
            (0, 100),
            "{name}"
        );
        tool("ip rule del pref 10");
        let observation = on_tester(board, || {
            common::killed_tester(&ip);
            let mut node = ControlNode::open("node:board", &ip).unwrap();
            let trial = trial(Layer::UdpIpv4, Direction::Receive, 100, PACED);
            node.run(&trial, &(), &Cancel::new()).unwrap()
        });
        assert_complete(&observation, 100, name);
    });
}
