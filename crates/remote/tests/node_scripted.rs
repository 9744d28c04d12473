//! A node of which the cost of each frame is known, as firmware may be: what `fit` makes of its results, and what is
//! left out where it shares its cores with the tester.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::{
    NODE_IPV4, Serving, has_warning, lab, on_tester, receiver, receives_at, trial,
};
use wirelab_control::message::Record;
use wirelab_control::message::{CpuLoad, Identity, Point, Start, Started, Status as Last};
use wirelab_control::serve::SharedServer;
use wirelab_control::value::State;
use wirelab_control::{Config, NodeHandler, Peer, Refusal, Server};
use wirelab_model::fit::{FitOptions, fit};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::ControlNode;
use wirelab_socket::flow::{Expect, FlowProgress, Reception};
use wirelab_trial::{
    Cancel, ClockKind, Direction, Extent, Layer, Load, Node, Observation, Size, SizeUnit, Status,
    Trial,
};

/// Costs of a frame in ns of CPU time: of each, and of each byte of datagram.
const PACKET_NS: u64 = 10_000;
const BYTE_NS: u64 = 5;
/// Busy without traffic, in percent.
const IDLE_PERCENT: u64 = 5;
/// What a core does before the trial on a node that other programs use too.
const BUSY_PERCENT: u64 = 40;

type Receiving = (Cancel, JoinHandle<Reception>);

/// Receives for real; its CPU load is worked out.
struct Scripted {
    identity: Identity,
    shared: bool,
    live: Arc<FlowProgress>,
    receiving: Option<Receiving>,
    /// How long it takes to end, and when that was requested.
    tail: Duration,
    told: Option<Instant>,
    seen: Reception,
    bytes: u64,
}

impl Scripted {
    fn new(shared: bool) -> Scripted {
        Scripted {
            identity: receiver("scripted", 0, 0),
            shared,
            live: Arc::default(),
            receiving: None,
            tail: Duration::ZERO,
            told: None,
            seen: Reception::default(),
            bytes: 0,
        }
    }

    fn window_ns(&self) -> u64 {
        let at = |cell: &std::sync::atomic::AtomicU64| cell.load(Ordering::Relaxed);
        at(&self.live.last_ns) - at(&self.live.first_ns)
    }
}

impl NodeHandler for Scripted {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn setup(&self) -> &[(String, String)] {
        &[]
    }

    fn start(
        &mut self,
        _: u32,
        start: &Start,
        _: Duration,
        _: Peer,
        _: Duration,
    ) -> Result<Started, Refusal> {
        let ip: Ipv4Addr = NODE_IPV4.parse().unwrap();
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        let node_port = socket.local_addr().unwrap().port();
        wirelab_socket::udp::prepare(&socket);
        let datagram_bytes = start.size.unwrap().bytes;
        let expect = Expect {
            stream: start.rx_stream.unwrap(),
            datagram_bytes,
            captures: 0,
        };
        self.live = Arc::default();
        self.bytes = u64::from(datagram_bytes);
        let (cancel, live) = (Cancel::new(), Arc::clone(&self.live));
        let flag = cancel.clone();
        let receive =
            move || wirelab_socket::udp::receive(&socket, None, &expect, &live, &flag).unwrap();
        self.receiving = Some((cancel, std::thread::spawn(receive)));
        self.told = None;
        // Not the node's: a tester must not be sent elsewhere.
        Ok(receives_at(Some([192, 0, 2, 99].into()), node_port))
    }

    fn status(&mut self, _: Duration) -> Last {
        Last {
            trial: 0,
            state: match self.told {
                Some(told) if told.elapsed() >= self.tail => State::Stopped,
                _ => State::Running,
            },
            tx_frames: None,
            rx_frames: None,
            elapsed_ticks: None,
            spans: None,
            clock: None,
            tick_ps: None,
            why: None,
            note: None,
        }
    }

    fn stop(&mut self, _: State, _: Duration) {
        self.told.get_or_insert_with(Instant::now);
        if let Some((cancel, thread)) = self.receiving.take() {
            cancel.cancel();
            self.seen = thread.join().unwrap();
        }
    }

    fn counters(&mut self, _: u32) -> Vec<(String, u64)> {
        let c = &self.seen.report.counts;
        let at = |time: Option<(u64, u64)>| time.map_or(0, |(ns, _)| ns);
        [
            ("received_frames", c.received_frames),
            ("good_frames", c.good_frames),
            ("header_corrupt_frames", c.header_corrupt_frames),
            ("truncated_frames", c.truncated_frames),
            ("stale_frames", c.stale_frames),
            ("corrupted_frames", c.corrupted_frames),
            ("duplicated_frames", c.duplicated_frames),
            ("reordered_frames", c.reordered_frames),
            ("too_late_frames", c.too_late_frames),
            ("distinct_sequences", c.distinct_sequences),
            ("received_first_ns", at(self.seen.report.first)),
            ("received_last_ns", at(self.seen.report.last)),
            ("mac_dropped_frames", 3),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Two cores, of which the second has nothing to do.
    fn load(&mut self, core: u32) -> Result<CpuLoad, Refusal> {
        let window = self.window_ns();
        let frames = self.seen.report.counts.received_frames;
        let work = frames * (PACKET_NS + BYTE_NS * self.bytes) + window * 2 * IDLE_PERCENT / 100;
        Ok(CpuLoad {
            trial: 0,
            core,
            cores: 2,
            busy_ticks: if core == 0 { work } else { 0 },
            window_ticks: window,
            idle_busy_ticks: Some(match (core, self.shared) {
                (0, false) => 2 * IDLE_PERCENT,
                (0, true) => BUSY_PERCENT,
                _ => 0,
            }),
            idle_window_ticks: Some(100),
            clock: ClockKind::Wall,
            tick_ps: Some(1000),
            shared: self.shared,
        })
    }

    fn point(&mut self, _: u32) -> Result<(Point, u32), Refusal> {
        Err(Refusal::limit("point", 0))
    }

    fn records(&mut self, _: u32, _: u32, _: usize) -> Vec<Record> {
        Vec::new()
    }
}

/// Control over TCP alone, as where a firewall lets no datagrams through.
fn serve_over_tcp(lab: &EphemeralLab, node: Scripted) -> Serving<Scripted> {
    let serve = || {
        let address = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5002);
        let listener = TcpListener::bind(address).unwrap();
        let server = SharedServer::new(Server::new(node, Config::random()));
        Serving::start(server, move |own| own.serve_tcp(&listener).unwrap())
    };
    lab.netns(Side::Node).unwrap().run_in(serve).unwrap()
}

fn serve(lab: &EphemeralLab, shared: bool) -> Serving<Scripted> {
    let serve = || {
        let address = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5002);
        let socket = UdpSocket::bind(address).unwrap();
        let server = SharedServer::new(Server::new(Scripted::new(shared), Config::random()));
        Serving::start(server, move |own| own.serve_udp(&socket).unwrap())
    };
    lab.netns(Side::Node).unwrap().run_in(serve).unwrap()
}

fn measured(lab: &EphemeralLab, shared: bool) -> Vec<Observation> {
    let _node = serve(lab, shared);
    let mut trials = Vec::new();
    for bytes in [64, 256, 700, 1400] {
        for frames_per_s in [500.0, 1000.0, 2000.0] {
            trials.push(Trial {
                size: Size::new(SizeUnit::Datagram, bytes),
                load: Load::FrameRate { frames_per_s },
                extent: Extent::Frames { frames: 300 },
                ..trial(Layer::UdpIpv4, Direction::Receive)
            });
        }
    }
    on_tester(lab, || {
        let mut node = ControlNode::open("node:198.18.0.1", NODE_IPV4).unwrap();
        let mut one = |t: &Trial| node.run(t, &(), &Cancel::new()).unwrap();
        trials.iter().map(&mut one).collect()
    })
}

#[test]
fn fit_finds_the_costs_of_a_node_whose_load_is_its_own() {
    let Some(lab) = lab() else { return };
    let observations = measured(&lab, false);
    for observation in &observations {
        let load = observation.cpu_load.value().unwrap();
        assert!(!load.shared && !has_warning(observation, "shared-cores"));
        assert!(!has_warning(observation, "node-busy"));
        // Two cores together.
        let idle = load.idle_baseline_ratio.expect("the node reports one");
        assert!((idle - 0.05).abs() < 1e-9, "{load:?}");
        let dropped = observation.counters["node_mac_dropped_frames"].value();
        assert_eq!(dropped, Some(&3));
    }
    let fitted = fit(&observations, &FitOptions::default()).unwrap();
    let parameter = |name: &str| {
        let found = fitted.parameters.iter().find(|p| p.name == name);
        found
            .unwrap_or_else(|| panic!("no {name}: {:#?}", fitted.parameters))
            .value
    };
    // Of two cores, each busy for half of the share.
    let (packet, byte) = (
        parameter("udp4-receive-cpu-packet"),
        parameter("udp4-receive-cpu-byte"),
    );
    let near = |value: f64, wanted: f64| (value - wanted).abs() < 0.1 * wanted;
    assert!(near(packet, PACKET_NS as f64 / 2.0), "{packet} ns");
    assert!(near(byte, BYTE_NS as f64 / 2.0), "{byte} ns/byte");
    assert!(!fitted.node_toml.is_empty());
}

#[test]
fn a_shared_load_is_kept_out_of_fit() {
    let Some(lab) = lab() else { return };
    let observations = measured(&lab, true);
    for observation in &observations {
        assert!(observation.cpu_load.value().is_some_and(|load| load.shared));
        assert!(has_warning(observation, "shared-cores"));
        assert!(has_warning(observation, "node-busy"));
    }
    match fit(&observations, &FitOptions::default()) {
        Ok(fitted) => {
            let load = |p: &&wirelab_model::fit::Fitted| p.name.contains("-cpu-");
            assert_eq!(fitted.parameters.iter().filter(load).count(), 0);
            let shared = |l: &&wirelab_model::fit::LeftOut| l.why.contains("CPU load shared");
            assert_eq!(fitted.left_out.iter().filter(shared).count(), 1);
        }
        // Nothing else was there to fit.
        Err(error) => assert!(error.to_string().contains("too few"), "{error}"),
    }
}

#[test]
fn a_node_that_no_datagram_reaches_is_asked_over_tcp() {
    let Some(lab) = lab() else { return };
    let _node = serve_over_tcp(&lab, Scripted::new(false));
    is_received(&lab);
}

/// A trial gives counts, and is whole.
fn is_received(lab: &EphemeralLab) {
    let observation = on_tester(lab, || {
        let mut node = ControlNode::open("node:198.18.0.1", NODE_IPV4).unwrap();
        let trial = trial(Layer::UdpIpv4, Direction::Receive);
        node.run(&trial, &(), &Cancel::new()).unwrap()
    });
    assert_eq!(observation.status, Status::Complete);
    assert!(observation.flows[0].counts.value().unwrap().good_frames > 0);
}

/// As one does whose kernel is slow to take programs from its functions.
#[test]
fn a_node_that_takes_seconds_to_end_is_waited_for_and_has_its_counts() {
    let Some(lab) = lab() else { return };
    let slow = Scripted {
        tail: Duration::from_secs(4),
        ..Scripted::new(false)
    };
    let _node = serve_over_tcp(&lab, slow);
    is_received(&lab);
}
