//! Nothing stays attached: after a trial, after an abandoned one, and after the node was killed. A node without
//! permission to trace its kernel says so and works without. Each node here is a process of its own, which runs this
//! test binary.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common;
use crate::common::{PATIENCE, client, lab, names, send, start};
use wirelab_agent::{Options, Serving};
use wirelab_control::client::Client;
use wirelab_control::transport::TcpTransport;
use wirelab_control::value::{Path, State};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_trial::Direction;
use wirelab_wire::Layer;

/// The variable that makes this program a node, and gives its address.
const BE_A_NODE: &str = "WIRELAB_TEST_NODE";
const FRAMES: u64 = 100;

/// A node in its own process, which is killed at the end.
struct Apart(Child);

impl Apart {
    /// Start it; `front` is a command that runs this program.
    fn start(front: &[&str], listen: SocketAddr) -> (Apart, SocketAddr) {
        let own = std::env::current_exe().unwrap();
        let mut child = Command::new(front[0])
            .args(&front[1..])
            .arg(own)
            .args([
                "--exact",
                "attached::a_node_where_one_is_asked_for",
                "--nocapture",
            ])
            .env(BE_A_NODE, listen.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("listens on ")?.1.parse().unwrap()));
        (Apart(child), ready.expect("the node says where it listens"))
    }

    /// Number of attached programs.
    fn links(&self) -> usize {
        let all = std::fs::read_dir(format!("/proc/{}/fdinfo", self.0.id())).unwrap();
        let is_link = |path: std::path::PathBuf| {
            std::fs::read_to_string(path).is_ok_and(|text| text.contains("link_type:"))
        };
        all.filter(|entry| entry.as_ref().is_ok_and(|e| is_link(e.path())))
            .count()
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test: if another test starts it, this process is a node until it is killed.
#[test]
fn a_node_where_one_is_asked_for() {
    let Ok(listen) = std::env::var(BE_A_NODE) else {
        return;
    };
    let mut options = Options::on(listen.parse().unwrap());
    options.iperf = false;
    options.limits.idle_ms = 4000;
    let node = Serving::start(options).unwrap();
    println!("\nthe node listens on {}", node.started().control);
    while node.is_running() {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn in_lab(lab: &EphemeralLab) -> (Apart, Client<TcpTransport>) {
    let namespace = lab.spec().namespace(Side::Node);
    let ip = IpAddr::V4(lab.address(0, Side::Node));
    let front = ["ip", "netns", "exec", &namespace];
    let (node, control) = Apart::start(&front, SocketAddr::new(ip, 0));
    let client = client(lab, control);
    (node, client)
}

/// Whether an XDP program is on the node's port.
fn has_xdp(lab: &EphemeralLab) -> bool {
    let port = lab.port(0, Side::Node).unwrap();
    let namespace = lab.spec().namespace(Side::Node);
    let shown = Command::new("ip")
        .args(["-n", &namespace, "link", "show", "dev", &port.interface])
        .output()
        .unwrap();
    String::from_utf8_lossy(&shown.stdout).contains("xdp")
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_stays_attached_however_a_trial_ends() {
    let Some(lab) = lab() else {
        return;
    };
    let (mut node, mut client) = in_lab(&lab);
    for path in [Path::Stack, Path::FastTrack] {
        let mut asked = start(Layer::UdpIpv4, Direction::Receive, FRAMES);
        asked.captures = Some(10);
        asked.path = Some(path);

        let started = client.start(asked.clone()).unwrap();
        let (links, xdp) = (node.links(), has_xdp(&lab));
        let status = client.status(None).unwrap();
        assert!(
            links > 0 && xdp,
            "{path:?}: {links} links, XDP {xdp}, {status:?}"
        );
        client.stop(started.trial).unwrap();
        until("the trial ends", || {
            client.status(None).unwrap().state != State::Running
        });
        assert_eq!((node.links(), has_xdp(&lab)), (0, false), "after the end");

        client.start(asked).unwrap();
        assert!(node.links() > 0 && has_xdp(&lab));
        // No tester is connected any more.
        until("the abandoned trial detaches", || {
            node.links() == 0 && !has_xdp(&lab)
        });
        assert_eq!(client.status(None).unwrap().state, State::Abandoned);
    }
    let mut asked = start(Layer::UdpIpv4, Direction::Receive, FRAMES);
    asked.captures = Some(10);
    client.start(asked).unwrap();
    assert!(has_xdp(&lab));
    node.0.kill().unwrap();
    node.0.wait().unwrap();
    until("a killed node leaves nothing", || !has_xdp(&lab));
}

#[test]
fn a_node_without_the_privilege_takes_the_sockets_stamps_and_says_why() {
    let Some(lab) = lab() else {
        return;
    };
    let namespace = lab.spec().namespace(Side::Node);
    let ip = IpAddr::V4(lab.address(0, Side::Node));
    let bound = "--bounding-set=-bpf,-perfmon,-sys_admin,-net_admin";
    let front = ["ip", "netns", "exec", &namespace, "setpriv", bound];
    let (_node, control) = Apart::start(&front, SocketAddr::new(ip, 0));
    let mut client = client(&lab, control);
    let keys = client.setup().unwrap();
    let key = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, v)| &**v);
    assert_eq!(key("probes"), Some("none"));
    assert!(key("probes_why").unwrap().contains("CAP_BPF"));
    assert!(key("xdp").unwrap().starts_with("none: "));
    assert_eq!(client.identity().paths, [Path::Stack]);

    let mut asked = start(Layer::UdpIpv4, Direction::Receive, FRAMES);
    asked.captures = Some(10);
    let started = client.start(asked).unwrap();
    let socket = common::on(&lab, Side::Tester, || {
        std::net::UdpSocket::bind((lab.address(0, Side::Tester), 0)).unwrap()
    });
    send(
        &socket,
        SocketAddr::new(ip, started.node_port.unwrap()),
        FRAMES,
    );
    until("the trial ends", || {
        client.status(None).unwrap().state != State::Running
    });
    let status = client.status(None).unwrap();
    assert_eq!(status.state, State::Done);
    let note = status.note.unwrap();
    assert!(
        note.contains("no capture points inside the stack"),
        "{note}"
    );
    let points = wirelab_control::node_report::points(&mut client, started.trial).unwrap();
    assert_eq!(names(&points), ["driver", "application"]);
    assert!(points.iter().all(|p| !p.records.is_empty()));
}
