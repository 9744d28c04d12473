//! What the tests of remote peers share: a lab, servers in its node's namespace, trials from its tester's.

pub mod agent;

use std::io::Write as _;
use std::net::{IpAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wirelab_control::NodeHandler;
use wirelab_control::message::{Identity, Started};
use wirelab_control::serve::SharedServer;
use wirelab_control::value::{Path, Traffic};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_trial::{
    Counts, Direction, Extent, FlowObservation, Framing, Layer, Load, Observation, Size, SizeUnit,
    Trial,
};

/// Longest wait for anything.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Picoseconds a millisecond.
pub const MS: u64 = 1_000_000_000;
/// The node's addresses in every lab of these tests.
pub const NODE_IPV4: &str = "198.18.0.1";
pub const NODE_IPV6: &str = "2001:2::1";

/// A lab of one pair with both families of addresses; `None`, and a word for the test runner, where none can be made.
pub fn lab() -> Option<EphemeralLab> {
    lab_of(LabSpec::unique("remote", 1))
}

pub fn lab_of(spec: LabSpec) -> Option<EphemeralLab> {
    if !wirelab_port::netns::may_test() {
        return None;
    }
    let lab = EphemeralLab::up(&spec).unwrap();
    for (side, interface, address) in [
        (Side::Node, "n0", "2001:2::1/64"),
        (Side::Tester, "t0", "2001:2::2/64"),
    ] {
        // Labs have IPv6 off, so that nobody speaks unasked.
        let script = format!(
            "echo 0 > /proc/sys/net/ipv6/conf/{interface}/disable_ipv6 && ip addr add {address} dev {interface} nodad"
        );
        tool(&lab, side, "sh", &["-c", &script]);
    }
    Some(lab)
}

/// Run a tool in a side of the lab.
pub fn tool(lab: &EphemeralLab, side: Side, program: &str, arguments: &[&str]) {
    let mut command = Command::new(program);
    command.args(arguments);
    let mut child = lab.netns(side).unwrap().spawn(&mut command).unwrap();
    assert!(child.wait().unwrap().success(), "{program} {arguments:?}");
}

/// Do something on the tester's side.
pub fn on_tester<T: Send>(lab: &EphemeralLab, work: impl FnOnce() -> T + Send) -> T {
    lab.netns(Side::Tester).unwrap().run_in(work).unwrap()
}

/// Whether a program is here; says so in the way the test runner understands if not.
pub fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if let Err(error) = &found {
        let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {program}: {error}");
    }
    found.is_ok()
}

/// A server process on the node's side, killed at the end.
pub struct Served(pub Child);

impl Served {
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The distribution's `iperf -s` for one protocol and family, listening.
pub fn real_iperf(lab: &EphemeralLab, layer: Layer) -> Served {
    let udp = matches!(layer, Layer::UdpIpv4 | Layer::UdpIpv6);
    let ipv6 = matches!(layer, Layer::UdpIpv6 | Layer::TcpIpv6);
    let mut command = Command::new("iperf");
    command
        .arg("-s")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if udp {
        command.arg("-u");
    }
    if ipv6 {
        command.arg("-V");
    }
    let child = lab.netns(Side::Node).unwrap().spawn(&mut command).unwrap();
    let served = Served(child);
    let file = format!(
        "/proc/{}/net/{}{}",
        served.0.id(),
        if udp { "udp" } else { "tcp" },
        if ipv6 { "6" } else { "" }
    );
    // 5001 is 0x1389.
    until("iperf listens", || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains(":1389 0000"))
    });
    served
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited, but: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// 300 ms of datagrams of 1000 bytes at 4 Mbit/s.
pub fn trial(layer: Layer, direction: Direction) -> Trial {
    Trial::new(
        Framing {
            layer,
            vlan_tags: 0,
        },
        direction,
        Size::new(SizeUnit::Datagram, 1000),
        Load::BitRate { bits_per_s: 4e6 },
        Extent::Time { time_ps: 300 * MS },
    )
}

pub fn host_of(layer: Layer) -> String {
    match layer {
        Layer::UdpIpv6 | Layer::TcpIpv6 => format!("[{NODE_IPV6}]"),
        _ => NODE_IPV4.to_owned(),
    }
}

pub fn flow(observation: &Observation, direction: Direction) -> &FlowObservation {
    observation
        .flows
        .iter()
        .find(|f| f.direction == direction)
        .unwrap_or_else(|| panic!("no flow {direction}: {observation:#?}"))
}

/// What must hold of any flow of test frames on a clean way: the counts of its receiver, of which on a busy machine some
/// may be lost, and nothing else may be wrong.
pub fn assert_clean(flow: &FlowObservation, what: &str) -> Counts {
    let counts = flow.counts.value();
    let counts = *counts.unwrap_or_else(|| panic!("{what}: {flow:#?}"));
    let sent = *flow.sent_frames.value().unwrap();
    assert_eq!(counts.check_identity(sent), Ok(()), "{what}");
    let but_losses = Counts {
        lost_frames: 0,
        missed_frames: 0,
        lost_or_missed_frames: 0,
        ..counts
    };
    assert!(but_losses.is_clean(), "{what}: {counts:?}");
    assert!(counts.good_frames > 0, "{what}: {counts:?}");
    let lost = counts.lost_frames as f64 / sent as f64;
    assert_eq!(flow.loss_ratio.value(), Some(&lost), "{what}");
    counts
}

pub fn counter(flow: &FlowObservation, name: &str) -> u64 {
    *flow.counters[name].value().unwrap()
}

pub fn has_warning(observation: &Observation, code: &str) -> bool {
    observation.warnings.iter().any(|w| w.code == code)
}

/// A tester that starts a trial and is killed then.
pub fn killed_tester(node: &str) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect((node, 5002)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let ask = |line: String| -> String {
        socket.send(line.as_bytes()).unwrap();
        let mut answer = [0; 2048];
        let bytes = socket.recv(&mut answer).unwrap();
        String::from_utf8(answer[..bytes].to_vec()).unwrap()
    };
    let hello = ask(format!("?0.1 hello version=1 pad={:-<480}\n", ""));
    let session = hello.split("session=").nth(1).expect(&hello);
    let session = session.split(' ').next().unwrap();
    let started = ask(format!(
        "?{session}.2 start direction=receive layer=udp-ipv4 datagram_bytes=64 frames=1000\n"
    ));
    assert!(started.contains("start trial="), "{started}");
}

/// A node of the tests' own, which receives UDP over IPv4.
pub fn receiver(name: &str, setup: u32, max_captures: u32) -> Identity {
    Identity {
        name: name.to_owned(),
        setup,
        directions: vec![Direction::Receive],
        layers: vec![Layer::UdpIpv4],
        buffers: Vec::new(),
        traffic: vec![Traffic::Test],
        paths: vec![Path::Stack],
        ports: 1,
        min_frame_bytes: 64,
        max_frame_bytes: 1518,
        max_frames: 1_000_000,
        max_time_ps: 60_000_000_000_000,
        max_captures,
        idle_ms: 60_000,
    }
}

/// What it answers to a start.
pub fn receives_at(node_ip: Option<IpAddr>, node_port: u16) -> Started {
    Started {
        node_ip,
        node_port: Some(node_port),
        ..Started::default()
    }
}

/// The server of such a node on its thread; it ends with this value.
pub struct Serving<H: NodeHandler>(Arc<SharedServer<H>>, Option<JoinHandle<()>>);

impl<H: NodeHandler + Send + 'static> Serving<H> {
    pub fn start(
        server: Arc<SharedServer<H>>,
        serve: impl FnOnce(&Arc<SharedServer<H>>) + Send + 'static,
    ) -> Self {
        let own = Arc::clone(&server);
        let thread = std::thread::spawn(move || serve(&own));
        Serving(server, Some(thread))
    }
}

impl<H: NodeHandler> Drop for Serving<H> {
    fn drop(&mut self) {
        self.0.stop();
        let _ = self.1.take().map(JoinHandle::join);
    }
}
