//! A node that runs an iperf of 2.0.5 to 2.0.13, as boards in the field do, or 2.2.1: its cells are right, or say why there are none.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::older::{Build, Played};
use wirelab_bench::{NoCeiling, Plan, PlannedTrial, Sink, WriteError, run_plan};
use wirelab_remote::IperfNode;
use wirelab_trial::{
    Cancel, Direction, Extent, FlowObservation, Framing, Layer, Load, Node, Observation,
    SearchOutcome, Size, SizeUnit, Status, Trial,
};

const BUILDS: [Build; 5] = [
    Build::V205,
    Build::V209,
    Build::V2012,
    Build::V2013,
    Build::V221,
];

fn trial(direction: Direction) -> Trial {
    Trial::new(
        Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        },
        direction,
        Size::new(SizeUnit::Datagram, 200),
        Load::FrameRate {
            frames_per_s: 500.0,
        },
        Extent::Time {
            time_ps: match direction {
                Direction::Receive => 300_000_000_000,
                // The scripted servers send back all at once: in a longer trial that is a peer that ended.
                _ => 250_000_000_000,
            },
        },
    )
}

fn run(node: &mut IperfNode, direction: Direction) -> Observation {
    node.run(&trial(direction), &(), &Cancel::new())
        .expect("an observation")
}

fn flow(observation: &Observation, direction: Direction) -> &FlowObservation {
    let flow = observation.flows.iter().find(|f| f.direction == direction);
    flow.unwrap_or_else(|| panic!("{observation:#?}"))
}

/// What arrived a second is what was offered, less what was lost.
fn assert_pair(observation: &Observation, share: f64) {
    assert_eq!(observation.status, Status::Complete, "{observation:#?}");
    let flow = flow(observation, Direction::Receive);
    assert_eq!(flow.loss_ratio.value(), Some(&share), "{flow:#?}");
    let sender = flow.sender.value().unwrap();
    let offered = sender.achieved_frames_per_s.value().unwrap();
    let arrived = flow.frames_per_s.value().unwrap();
    let expected = offered * (1.0 - share);
    assert!(
        (arrived / expected - 1.0).abs() < 0.1,
        "{arrived} of {offered}"
    );
}

#[test]
fn repeats_against_an_older_server_agree() {
    for kind in BUILDS {
        let server = Played::start(kind, "127.0.0.1", |_| false);
        let mut node = IperfNode::open("iperf:old", &server.address.to_string()).unwrap();
        for _ in 0..4 {
            assert_pair(&run(&mut node, Direction::Receive), 0.0);
        }
        let told = &node.describe().setup["iperf_generation"];
        assert_eq!(told.starts_with("iperf 2.0."), kind.is_old(), "{told}");
    }
}

#[test]
fn what_is_lost_on_the_way_to_an_older_server_is_all_of_the_loss() {
    let server = Played::start(Build::V2013, "127.0.0.1", |id| id % 10 == 5);
    let mut node = IperfNode::open("iperf:old", &server.address.to_string()).unwrap();
    for _ in 0..2 {
        assert_pair(&run(&mut node, Direction::Receive), 0.1);
    }
}

#[test]
fn older_servers_transmit() {
    for kind in BUILDS {
        let server = Played::start(kind, "127.0.0.1", |_| false);
        let mut node = IperfNode::open("iperf:old", &server.address.to_string()).unwrap();
        for direction in [Direction::Transmit, Direction::Both] {
            let observation = run(&mut node, direction);
            assert_eq!(observation.status, Status::Complete, "{observation:#?}");
            let back = flow(&observation, Direction::Transmit);
            assert_eq!(back.loss_ratio.value(), Some(&0.0), "{back:#?}");
            assert_eq!(back.sent_frames.value(), Some(&50), "{back:#?}");
        }
        assert!(server.told.lock().unwrap().iter().all(|lost| *lost == 0));
    }
}

#[test]
fn a_peer_that_is_none_is_refused_before_the_trial() {
    let says = |words: &'static [u8]| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(words).unwrap();
            let mut buf = vec![0; 1 << 20];
            while stream.read(&mut buf).is_ok_and(|len| len > 0) {}
        });
        (address, thread)
    };
    for (words, expected) in [
        (&[9][..], "is an iperf3 server"),
        (&[0xFF], "is an iperf3 server"),
        (b"SSH-2.0-x\r\n", "says what no iperf 2 server says"),
    ] {
        let (address, thread) = says(words);
        let mut node = IperfNode::open("iperf:none", &address.to_string()).unwrap();
        let asked = Trial {
            framing: Framing {
                layer: Layer::TcpIpv4,
                vlan_tags: 0,
            },
            load: Load::Max,
            ..trial(Direction::Receive)
        };
        let refused = node.run(&asked, &(), &Cancel::new()).unwrap_err();
        thread.join().unwrap();
        let why = refused.to_string();
        assert!(why.contains(expected) && why.contains("fix: "), "{why}");
    }
}

/// The rows of a vendor's page that an iperf has, as short as they can be.
const PAGE: &str = r#"
title = "Ethernet performance"
datasheet = true

[[matrix]]
name = "TCP"
layer = "tcp4"
datagram = 1460
load = "max"
direction = ["receive", "transmit"]
time = "200ms"

[[matrix]]
name = "UDP RX"
layer = "udp4"
datagram = [64, 1470]
load = ["500pps", "2kpps"]
direction = "receive"
time = "300ms"

[[search]]
name = "UDP RX (Max)"
layer = "udp4"
datagram = 256
direction = "receive"
loss = ["0 %"]
time = "200ms"
width = "20 %"
max_trials = 16

[[matrix]]
name = "UDP TX"
layer = "udp4"
datagram = [64, 1470]
load = "1kpps"
direction = "transmit"
time = "200ms"
"#;

/// Keeps what it is given.
#[derive(Default)]
struct Collected(
    Vec<(String, Observation)>,
    String,
    Vec<Result<SearchOutcome, String>>,
);

impl Sink for Collected {
    fn take(&mut self, _: &PlannedTrial, observation: Observation) -> Result<(), WriteError> {
        self.0.push((self.1.clone(), observation));
        Ok(())
    }
    fn begin_part(&mut self, name: &str) {
        self.1 = name.to_owned();
    }
    fn end_part(&mut self, result: Result<SearchOutcome, String>) {
        self.2.push(result);
    }
}

#[test]
fn a_page_of_an_older_server_has_right_cells_or_named_reasons() {
    for kind in BUILDS {
        let server = Played::start(kind, "127.0.0.1", |_| false);
        let mut node = IperfNode::open("iperf:old", &server.address.to_string()).unwrap();
        let plan = Plan::parse(PAGE, "page.toml").unwrap();
        let (mut none, mut kept) = (
            NoCeiling("not measured here".to_owned()),
            Collected::default(),
        );
        let cancel = Cancel::new();
        let outcome = run_plan(&mut node, &plan, &mut none, &(), &cancel, &mut kept);
        assert!(outcome.is_done(), "{kind:?}: {outcome:?}");
        let (mut cells, mut whole) = (0, 0);
        for (part, observation) in &kept.0 {
            let what = format!("{kind:?}, {part}: {observation:#?}");
            match &observation.status {
                // Nobody listens for TCP at its port.
                Status::Void { why } if part == "TCP" => assert!(why.contains("fix: "), "{what}"),
                Status::Void { why } => assert!(why.contains("held up"), "{what}"),
                Status::Partial { .. } => panic!("{what}"),
                Status::Complete if part == "UDP TX" => {
                    let flow = flow(observation, Direction::Transmit);
                    assert!(
                        flow.frames_per_s.value().is_some_and(|n| *n > 0.0),
                        "{what}"
                    );
                    cells += 1;
                }
                Status::Complete => {
                    let flow = flow(observation, Direction::Receive);
                    let lost = *flow.loss_ratio.value().expect(&what);
                    if lost < 0.5 {
                        assert_pair(observation, lost);
                    }
                    // A busy host may drop some; the first datagram of each flow is not a loss.
                    whole += u32::from(part == "UDP RX" && lost == 0.0);
                    cells += 1;
                }
            }
        }
        assert!(cells >= 5, "{kind:?}: {cells} cells");
        assert!(whole >= 1, "{kind:?}: no flow without loss: {:#?}", kept.0);
        let rate = kept.2.iter().find_map(|end| match end {
            Ok(SearchOutcome::Rates(found)) => Some(found),
            _ => None,
        });
        let rate = rate.unwrap_or_else(|| panic!("{kind:?}: {:?}", kept.2));
        let mut losses = rate.trials.iter().map(|trial| trial.loss_ratio.value());
        let whole = losses.any(|loss| loss == Some(&0.0));
        let mut why = rate.trials.iter().map(|trial| trial.problem.as_deref());
        let held_up = |why: Option<&str>| why.is_some_and(|why| why.contains("held up"));
        assert!(whole || why.all(held_up), "{kind:?}: {rate:?}");
    }
}
