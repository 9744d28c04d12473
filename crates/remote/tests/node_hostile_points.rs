//! The reports of a hostile node about its capture points: endless points, wrong order, copies, impossible times.
//! All of it is bounded and reported, and nothing becomes a figure.

use std::net::UdpSocket;
use std::time::Duration;

use crate::common::{Serving, receiver, receives_at, trial};
use wirelab_control::message::Record;
use wirelab_control::message::{CpuLoad, Identity, Point, Start, Started, Status as Last};
use wirelab_control::serve::SharedServer;
use wirelab_control::value::State;
use wirelab_control::{Config, NodeHandler, Peer, Refusal, Server};
use wirelab_remote::ControlNode;
use wirelab_trial::{
    Cancel, ClockKind, Direction, Extent, Layer, Load, Node, Observation, Owner, Status, Trial,
};

/// Frames of the trial.
const FRAMES: u32 = 20;
/// Points that a tester asks for at most, whatever the node says.
const MOST_POINTS: usize = 64;

/// Receives nothing, and lies about it.
struct Liar {
    identity: Identity,
    setup: Vec<(String, String)>,
    socket: Option<UdpSocket>,
}

impl Liar {
    fn new() -> Liar {
        let clock = wirelab_cores::clock_id().unwrap();
        Liar {
            identity: receiver("liar", 1, 512),
            setup: vec![("clock_id".to_owned(), clock)],
            socket: None,
        }
    }

    /// Name, owner and time of a frame at each point.
    fn told(point: u32, sequence: u32) -> (&'static str, Owner, u64) {
        let at = 1_000 * u64::from(sequence);
        match point {
            0 => ("wire", Owner::Tester, u64::MAX - at),
            1 => ("driver", Owner::Node, 5_000_000 + at),
            2 => ("stack", Owner::Node, 5_000_100 + at),
            // Earlier than the point before it.
            3 => ("interrupt", Owner::Node, 4_000_000 + at),
            4 => ("a to b", Owner::Node, at),
            // A year later.
            5 => ("application", Owner::Node, 31_536_000_000_000_000 + at),
            _ => ("application", Owner::Tester, at),
        }
    }
}

impl NodeHandler for Liar {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn setup(&self) -> &[(String, String)] {
        &self.setup
    }

    fn start(
        &mut self,
        _: u32,
        _: &Start,
        _: Duration,
        _: Peer,
        _: Duration,
    ) -> Result<Started, Refusal> {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let node_port = socket.local_addr().unwrap().port();
        self.socket = Some(socket);
        Ok(receives_at(None, node_port))
    }

    fn status(&mut self, _: Duration) -> Last {
        Last {
            trial: 0,
            state: match self.socket {
                Some(_) => State::Running,
                None => State::Stopped,
            },
            tx_frames: None,
            rx_frames: None,
            elapsed_ticks: None,
            spans: None,
            clock: None,
            tick_ps: None,
            why: None,
            note: Some("all is well".to_owned()),
        }
    }

    fn stop(&mut self, _: State, _: Duration) {
        self.socket = None;
    }

    fn counters(&mut self, _: u32) -> Vec<(String, u64)> {
        let clean = ["received_frames", "good_frames", "distinct_sequences"];
        let none = [
            "header_corrupt_frames",
            "truncated_frames",
            "stale_frames",
            "corrupted_frames",
            "duplicated_frames",
            "reordered_frames",
            "too_late_frames",
        ];
        let mut all = vec![("probe_taken.in.driver".to_owned(), u64::MAX)];
        all.extend(clean.map(|name| (name.to_owned(), u64::from(FRAMES))));
        all.extend(none.map(|name| (name.to_owned(), 0)));
        all
    }

    fn load(&mut self, _: u32) -> Result<CpuLoad, Refusal> {
        Err(Refusal::limit("core", 0))
    }

    fn point(&mut self, point: u32) -> Result<(Point, u32), Refusal> {
        let (name, owner, _) = Liar::told(point, 0);
        let about = Point {
            trial: 0,
            point,
            points: u32::MAX,
            name: name.to_owned(),
            stream: 0,
            clock: ClockKind::Wall,
            tick_ps: Some(1000),
            resolution_ticks: 1,
            owner,
            lost: 0,
        };
        Ok((about, 2 * FRAMES))
    }

    /// Each frame twice.
    fn records(&mut self, point: u32, from: u32, most: usize) -> Vec<Record> {
        let left = (from..2 * FRAMES).take(most);
        left.map(|n| {
            let sequence = n % FRAMES;
            let ticks = Liar::told(point, sequence).2;
            Record { sequence, ticks }
        })
        .collect()
    }
}

fn observed() -> Observation {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let host = socket.local_addr().unwrap().to_string();
    let server = SharedServer::new(Server::new(Liar::new(), Config::random()));
    let _serving = Serving::start(server, move |own| own.serve_udp(&socket).unwrap());
    let asked = Trial {
        load: Load::FrameRate {
            frames_per_s: 1000.0,
        },
        extent: Extent::Frames {
            frames: FRAMES.into(),
        },
        ..trial(Layer::UdpIpv4, Direction::Receive)
    };
    let mut node = ControlNode::open("node:liar", &host).unwrap();
    node.run(&asked, &(), &Cancel::new()).unwrap()
}

#[test]
fn what_a_liar_says_of_its_points_is_bounded_and_reported() {
    let observation = observed();
    assert_eq!(observation.status, Status::Complete, "{observation:#?}");
    let [flow] = &observation.flows[..] else {
        panic!("{observation:#?}");
    };
    assert!(flow.series.len() <= 3 * MOST_POINTS);
    let believed = flow.series.iter().find(|s| s.name == "driver to stack");
    let believed = believed.unwrap_or_else(|| panic!("{:#?}", flow.series));
    assert_eq!(believed.raw_ticks, [100; FRAMES as usize], "once a frame");
    for series in &flow.series {
        assert!(series.histogram.count <= FRAMES.into(), "{series:?}");
        let name = series.name.to_string();
        assert!(!name.contains("a to b"), "{name}");
        assert!(!name.ends_with(" to interrupt"), "{name}");
        assert!(!name.ends_with(" to application"), "{name}");
    }
    let told: Vec<&str> = observation
        .warnings
        .iter()
        .map(|w| w.text.as_str())
        .collect();
    for words in [
        "run backwards",
        "longer than an hour",
        "with an invalid name left out",
        "records of a frame recorded before",
        "when frames left the tester is not shown",
        "all is well",
    ] {
        assert!(
            told.iter().any(|text| text.contains(words)),
            "{words}: {told:#?}"
        );
    }
    assert!(told.len() < 4 * MOST_POINTS, "{}", told.len());
}
