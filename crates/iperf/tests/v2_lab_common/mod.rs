//! What the tests in a lab share: two namespaces with both families of addresses, and iperf 2.1.8 in either.

use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use wirelab_iperf::v2::{ClientConfig, Leg, Outcome, Protocol, ServerConfig, Trouble};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::{self, NetNs};

use crate::v2_common::{self, LIMIT, Ours};

/// Addresses of both families: the node's end with 1, the tester's with 2.
pub const IPV4: &str = "198.18.0.";
pub const IPV6: &str = "fd57:4c::";

/// The lab of this test program; the watchdog removes it at the end.
static LAB: OnceLock<EphemeralLab> = OnceLock::new();

/// One side of a lab.
pub struct LabSide {
    pub namespace: NetNs,
    number: u8,
}

/// Whether namespaces can be made and iperf is here; says so, and the test is skipped, if not.
pub fn can_run() -> bool {
    if !netns::may_test() {
        return false;
    }
    v2_common::has_iperf()
}

/// Both sides, node first; `None` where the test must be skipped.
pub fn sides() -> Option<[LabSide; 2]> {
    if !can_run() {
        return None;
    }
    let lab = LAB.get_or_init(|| lab(LabSpec::unique("wli", 1)));
    Some(sides_of(lab))
}

pub fn sides_of(lab: &EphemeralLab) -> [LabSide; 2] {
    [Side::Node, Side::Tester].map(|side| LabSide {
        namespace: lab.netns(side).unwrap(),
        number: if side == Side::Node { 1 } else { 2 },
    })
}

/// A lab whose sides have addresses of both families.
pub fn lab(spec: LabSpec) -> EphemeralLab {
    let lab = EphemeralLab::up(&spec).unwrap();
    for place in sides_of(&lab) {
        place.add_ipv6();
    }
    lab
}

impl LabSide {
    fn add_ipv6(&self) {
        let device = if self.number == 1 { "n0" } else { "t0" };
        let on = |which: &str| format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        self.namespace
            .run_in(|| {
                for which in ["all", device, "lo"] {
                    std::fs::write(on(which), "0").unwrap();
                }
            })
            .unwrap();
        let address = format!("{IPV6}{}/64", self.number);
        self.ip(&["-6", "address", "add", &address, "dev", device, "nodad"]);
    }

    /// Run `ip` for this side.
    pub fn ip(&self, args: &[&str]) {
        let status = Command::new("ip")
            .args(["-n", self.namespace.name().unwrap()])
            .args(args)
            .status()
            .unwrap();
        assert!(status.success(), "ip {args:?}");
    }

    pub fn address(&self, family: &str) -> IpAddr {
        format!("{family}{}", self.number).parse().unwrap()
    }

    /// A server of ours on this side.
    pub fn serve(&self, family: &str, config: ServerConfig) -> Ours {
        let ip = self.address(family).to_string();
        self.namespace.run_in(|| Ours::start(&ip, config)).unwrap()
    }

    /// A client of ours on this side, to its end.
    pub fn ask(&self, config: &ClientConfig) -> Outcome {
        self.namespace
            .run_in(|| v2_common::our_client(config).0)
            .unwrap()
    }

    /// The real server on this side, listening.
    pub fn real_server(&self, family: &str, protocol: Protocol, more: &str) -> RealServer {
        let address = SocketAddr::new(self.address(family), port());
        let (ip, at) = (address.ip().to_string(), address.port().to_string());
        let mut command = Command::new("iperf");
        command.args(["-s", "-B", &ip, "-p", &at, "-y", "C"]);
        command.args(more.split_whitespace());
        if address.is_ipv6() {
            command.arg("-V");
        }
        let table = match protocol {
            Protocol::Udp => {
                command.arg("-u");
                "/proc/thread-self/net/udp"
            }
            Protocol::Tcp => "/proc/thread-self/net/tcp",
        };
        let table = table.to_owned() + if address.is_ipv6() { "6" } else { "" };
        let child = self
            .namespace
            .spawn(command.stdout(Stdio::piped()).stderr(Stdio::null()))
            .unwrap();
        let server = RealServer { child, address };
        let wanted = format!(":{:04X} ", address.port());
        let since = Instant::now();
        loop {
            let text = self
                .namespace
                .run_in(|| std::fs::read_to_string(&table).unwrap());
            if text.unwrap().contains(&wanted) {
                return server;
            }
            assert!(since.elapsed() < LIMIT, "iperf -s does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The real client on this side, to its end; what it printed. `None` where it crashed or did not end in time: 2.1.8
    /// sometimes frees its memory twice at the end of parallel streams, or waits forever for one of its own threads.
    pub fn real_client(&self, server: SocketAddr, args: &str) -> Option<String> {
        let mut command = client_command(server, args);
        let mut child = self
            .namespace
            .spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
            .unwrap();
        let since = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if since.elapsed() > LIMIT {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let all = text + &String::from_utf8_lossy(&output.stderr);
        output.status.signal().is_none().then_some(all)
    }

    /// The real client on this side, running.
    pub fn start_client(&self, server: SocketAddr, args: &str) -> Child {
        let mut command = client_command(server, args);
        self.namespace
            .spawn(command.stdout(Stdio::null()).stderr(Stdio::null()))
            .unwrap()
    }
}

fn client_command(server: SocketAddr, args: &str) -> Command {
    let mut command = Command::new("iperf");
    let (ip, port) = (server.ip().to_string(), server.port().to_string());
    command.args(["-c", &ip, "-p", &port]);
    command.args(args.split_whitespace());
    if server.is_ipv6() {
        command.arg("-V");
    }
    command
}

/// A real server, killed at the end.
pub struct RealServer {
    child: Child,
    pub address: SocketAddr,
}

impl RealServer {
    /// Wait until no connection to it is open. Its ends of a full-duplex connection close one after the other: our
    /// client has all of one before the other has read, and a signal then would end that where it is.
    fn wait_for_connections(&self) {
        let file = if self.address.is_ipv6() {
            "tcp6"
        } else {
            "tcp"
        };
        let table = format!("/proc/{}/net/{file}", self.child.id());
        let port = format!(":{:04X}", self.address.port());
        let open = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // States: 01 is open, 08 was closed by the other end alone.
            words.get(1).is_some_and(|local| local.ends_with(&port))
                && words
                    .get(3)
                    .is_some_and(|state| ["01", "08"].contains(state))
        };
        let since = Instant::now();
        while std::fs::read_to_string(&table).unwrap().lines().any(open) && since.elapsed() < LIMIT
        {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it, and returns the bytes of each of its lines.
    pub fn bytes(mut self) -> Vec<u64> {
        self.wait_for_connections();
        // Its lines appear as streams end, at the latest on a signal to end; it may wait for some forever.
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        let since = Instant::now();
        while self.child.try_wait().unwrap().is_none() && since.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.child.kill().unwrap();
        let mut text = String::new();
        let mut out = self.child.stdout.take().unwrap();
        out.read_to_string(&mut text).unwrap();
        csv_bytes(&text)
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of each line that `-y C` prints.
pub fn csv_bytes(text: &str) -> Vec<u64> {
    text.lines()
        .filter_map(|line| line.split(',').nth(7)?.parse().ok())
        .collect()
}

/// A port that no other test of this program uses.
pub fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(5001);
    NEXT.fetch_add(10, Ordering::Relaxed)
}

/// The legs that went well.
pub fn faultless(legs: Vec<(Leg, Option<Trouble>)>, text: &str) -> Vec<Leg> {
    let ok = |(leg, trouble): (Leg, Option<Trouble>)| {
        assert!(trouble.is_none(), "{leg}: {trouble:?}\n{text}");
        leg
    };
    legs.into_iter().map(ok).collect()
}

/// Bytes of the legs in which this end received, smallest first.
pub fn received(legs: &[Leg]) -> Vec<u64> {
    sorted(legs.iter().filter_map(|leg| match leg {
        Leg::TcpReceived { bytes, .. } => Some(*bytes),
        Leg::UdpReceived(udp) => Some(udp.received.bytes),
        _ => None,
    }))
}

/// Bytes of the legs in which this end sent, smallest first.
pub fn sent(legs: &[Leg]) -> Vec<u64> {
    sorted(legs.iter().filter_map(|leg| match leg {
        Leg::TcpSent { bytes, .. } => Some(*bytes),
        Leg::UdpSent(sent) => Some(sent.bytes),
        _ => None,
    }))
}

pub fn sorted(bytes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut all: Vec<u64> = bytes.collect();
    all.sort_unstable();
    all
}
