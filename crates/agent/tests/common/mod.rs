//! What the tests of a node share: a lab with a node on one side, a client on the other, and requests.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::over::Over;
use wirelab_agent::{Options, Serving};
use wirelab_control::client::{Client, Patience, PointRecords};
use wirelab_control::message::{Start, Status};
use wirelab_control::transport::TcpTransport;
use wirelab_control::value::{Extent, Load, State};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_socket::flow::{Expect, FlowProgress, Offer, Reception, Sent};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Direction};
use wirelab_wire::{Layer, Size, SizeUnit};

/// How long to wait for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a datagram.
pub const DATAGRAM: u32 = 1000;

pub fn skip(feature: &str, why: &str) {
    // Written directly, because the test harness hides printed lines.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
}

/// A lab for this test; `None` if namespaces cannot be made.
pub fn lab() -> Option<EphemeralLab> {
    match wirelab_port::netns::probe() {
        Ok(()) => Some(EphemeralLab::up(&LabSpec::unique("wla", 1)).unwrap()),
        Err(error) if error.is_privilege() => {
            skip("root", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Run `work` in the namespace of a side.
pub fn on<T: Send>(lab: &EphemeralLab, side: Side, work: impl FnOnce() -> T + Send) -> T {
    lab.netns(side).unwrap().run_in(work).unwrap()
}

/// A node in a lab, and a client on the tester's side. The node ends before the lab.
pub struct Bench {
    pub client: Client<TcpTransport>,
    pub node: Option<Serving>,
    pub control: SocketAddr,
    pub node_ip: IpAddr,
    pub tester_ip: IpAddr,
    pub lab: EphemeralLab,
}

impl Bench {
    /// With defaults, but without iperf.
    pub fn new() -> Option<Bench> {
        Bench::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Options)) -> Option<Bench> {
        let lab = lab()?;
        let node_ip = IpAddr::V4(lab.address(0, Side::Node));
        let mut options = Options::on(SocketAddr::new(node_ip, wirelab_control::PORT));
        options.iperf = false;
        change(&mut options);
        let node = on(&lab, Side::Node, || Serving::start(options).unwrap());
        let control = node.started().control;
        Some(Bench {
            client: client(&lab, control),
            tester_ip: IpAddr::V4(lab.address(0, Side::Tester)),
            node: Some(node),
            control,
            node_ip,
            lab,
        })
    }

    /// A socket of the tester, not connected.
    pub fn socket(&self) -> UdpSocket {
        on(&self.lab, Side::Tester, || {
            UdpSocket::bind((self.tester_ip, 0)).unwrap()
        })
    }

    /// Wait until the trial is over.
    pub fn ended(&mut self, trial: u32) -> Status {
        let until = Instant::now() + PATIENCE;
        loop {
            let status = self.client.status(Some(trial)).unwrap();
            if status.state != State::Running {
                return status;
            }
            assert!(Instant::now() < until, "the trial never ended: {status:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A set-up key.
    pub fn key(&mut self, name: &str) -> Option<String> {
        let all = self.client.setup().unwrap();
        all.into_iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// Whether programs can trace the kernel here.
    pub fn has_probes(&mut self) -> bool {
        self.key("probes").is_some_and(|set| set != "none")
    }

    /// The points of one direction that this host can record, between the application's and the tester's.
    pub fn points_of(&mut self, way: &str) -> Vec<String> {
        let all = self.client.setup().unwrap();
        let key = format!("function.{way}.");
        let name = |(name, _): (String, String)| Some(name.strip_prefix(&key)?.to_owned());
        all.into_iter().filter_map(name).collect()
    }

    /// All capture points of a trial.
    pub fn taken(&mut self, trial: u32) -> Vec<PointRecords> {
        wirelab_control::node_report::points(&mut self.client, trial).unwrap()
    }

    /// A counter of the last trial.
    pub fn counter(&mut self, trial: u32, name: &str) -> u64 {
        let all = self.client.counters(trial, 0).unwrap();
        *all.get(name)
            .unwrap_or_else(|| panic!("no {name} in {all:?}"))
    }
}

/// A client in the tester's namespace.
pub fn client(lab: &EphemeralLab, to: SocketAddr) -> Client<TcpTransport> {
    on(lab, Side::Tester, || {
        let transport = TcpTransport::connect(to).unwrap();
        // The machine may be slow.
        let patience = Patience {
            first: Duration::from_secs(2),
            ..Patience::default()
        };
        Client::open(transport, patience).unwrap()
    })
}

/// A trial of this many frames, at 2000 frames/s if the node sends.
pub fn start(layer: Layer, direction: Direction, frames: u64) -> Start {
    let sends = matches!(direction, Direction::Transmit | Direction::Both);
    Start {
        size: Some(match layer {
            Layer::Ethernet => Size::new(SizeUnit::Length, 200),
            _ => Size::new(SizeUnit::Datagram, DATAGRAM),
        }),
        load: sends.then_some(Load::MilliframesPerS(2_000_000)),
        limit_ps: Some(60_000_000_000_000),
        tx_stream: Some(7),
        rx_stream: Some(3),
        ..Start::new(direction, layer, Extent::Frames(frames))
    }
}

/// How far the kernel's clock for probes (ktime_get_mono_fast_ns, Documentation/core-api/timekeeping.rst) may lag
/// behind CLOCK_MONOTONIC in ns during its update: a few µs were observed on a virtual machine.
const FAST_CLOCK_NS: u64 = 20_000;

/// Every frame has one time at each point, not earlier than at the point before (except the few that meet an update
/// of the kernel's clock), and each missing one is counted.
pub fn in_order(points: &[PointRecords], asked: u64) {
    for point in points {
        let mut seen = std::collections::BTreeSet::new();
        let twice = point.records.iter().find(|r| !seen.insert(r.sequence));
        assert_eq!(twice, None, "{} has a frame twice", point.point.name);
        let records = point.records.len() as u64;
        assert_eq!(records + point.point.lost, asked, "{}", point.point.name);
    }
    for pair in points
        .windows(2)
        .filter(|p| p[0].point.stream == p[1].point.stream)
    {
        let at: std::collections::BTreeMap<u32, u64> = pair[0]
            .records
            .iter()
            .map(|r| (r.sequence, r.ticks))
            .collect();
        let mut early = 0;
        for late in &pair[1].records {
            let back = at
                .get(&late.sequence)
                .map_or(0, |before| before.saturating_sub(late.ticks));
            let (from, to) = (&pair[0].point.name, &pair[1].point.name);
            assert!(back < FAST_CLOCK_NS, "{from} to {to}: {back} ns back");
            early += usize::from(back > 0);
            assert!(early * 20 <= pair[1].records.len(), "{from} to {to}");
        }
    }
}

/// The names of points, in their order.
pub fn names(points: &[PointRecords]) -> Vec<&str> {
    points.iter().map(|p| p.point.name.as_str()).collect()
}

/// What the tester sends: the stream that the node expects.
pub fn offer(frames: u64) -> Offer {
    Offer {
        stream: 3,
        datagram_bytes: DATAGRAM,
        pace: Pace::Interval { ps: 500_000_000 },
        extent: wirelab_trial::Extent::Frames { frames },
        with_time: true,
        node_clock: false,
    }
}

/// What the tester expects: the stream that the node sends.
pub fn expect() -> Expect {
    Expect {
        stream: 7,
        datagram_bytes: DATAGRAM,
        captures: 0,
    }
}

/// Send from the tester to the node's port.
pub fn send(socket: &UdpSocket, to: SocketAddr, frames: u64) -> Sent {
    socket.connect(to).unwrap();
    let sent = wirelab_socket::udp::send(
        socket,
        &offer(frames),
        &FlowProgress::default(),
        &Cancel::new(),
    );
    sent.unwrap()
}

/// Receive the node's stream on the tester's side during `work`.
pub fn receiving<T>(socket: &UdpSocket, work: impl FnOnce() -> T) -> (T, Reception) {
    receiving_of(socket, &expect(), work)
}

/// The same with any stream.
pub fn receiving_of<T>(
    socket: &UdpSocket,
    expected: &Expect,
    work: impl FnOnce() -> T,
) -> (T, Reception) {
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let live = FlowProgress::default();
            wirelab_socket::udp::receive(socket, None, expected, &live, &cancel).unwrap()
        });
        let over = Over(cancel.flag());
        let done = work();
        // Frames in flight still arrive.
        std::thread::sleep(Duration::from_millis(100));
        drop(over);
        (done, receiver.join().unwrap())
    })
}
