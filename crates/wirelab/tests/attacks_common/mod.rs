//! A server as a process in a lab, attacked from the other side: what it costs its host, and whether it still serves.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::leash::Leashed;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::NetNs;

/// Ports of the node control protocol, of iperf 2 and of iperf3.
pub const CONTROL: u16 = 5002;
pub const TWO: u16 = 5001;
pub const THREE: u16 = 5201;
/// Longest wait for anything; each client may have to wait for all others of a busy host.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A lab; `None` where namespaces cannot be made.
pub fn lab(name: &str) -> Option<EphemeralLab> {
    wirelab_port::netns::may_test().then(|| EphemeralLab::up(&LabSpec::unique(name, 1)).unwrap())
}

/// What a process costs its host.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub memory_kib: u64,
    pub threads: u64,
    pub descriptors: u64,
    /// Processor time since its start.
    pub processor_ms: u64,
}

/// A server that is attacked.
pub struct Victim<'a> {
    pub lab: &'a EphemeralLab,
    child: Leashed,
    side: Side,
    /// At rest, before any attack.
    pub rested: Cost,
}

impl<'a> Victim<'a> {
    /// `wirelab node serve`, with all that it serves.
    pub fn node(lab: &'a EphemeralLab, side: Side, options: &[&str]) -> Victim<'a> {
        let address = lab.address(0, side).to_string();
        let mut all = vec!["node", "serve", "--json", "--listen", &address];
        all.extend(options);
        Victim::start(
            lab,
            side,
            Command::new(env!("CARGO_BIN_EXE_wirelab")).args(all),
        )
    }

    /// `wirelab iperf -s`, or with `-3`.
    pub fn iperf(lab: &'a EphemeralLab, side: Side, options: &[&str]) -> Victim<'a> {
        let address = lab.address(0, side).to_string();
        let mut all = vec!["iperf", "-s", "-B", &address];
        all.extend(options);
        Victim::start(
            lab,
            side,
            Command::new(env!("CARGO_BIN_EXE_wirelab")).args(all),
        )
    }

    /// A command that prints a line when it is ready.
    pub fn start(lab: &'a EphemeralLab, side: Side, command: &mut Command) -> Victim<'a> {
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = lab.netns(side).unwrap().spawn(command).unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server did not start");
        // A server reports each test: none may wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        let mut victim = Victim {
            lab,
            child: Leashed::new(child),
            side,
            rested: Cost {
                memory_kib: 0,
                threads: 0,
                descriptors: 0,
                processor_ms: 0,
            },
        };
        victim.rested = victim.cost();
        victim
    }

    pub fn address(&self) -> Ipv4Addr {
        self.lab.address(0, self.side)
    }

    pub fn at(&self, port: u16) -> SocketAddr {
        (self.address(), port).into()
    }

    fn attackers(&self) -> NetNs {
        self.lab.netns(self.side.other()).unwrap()
    }

    /// Do something on the attacker's side.
    pub fn on_their_side<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.attackers().run_in(work).unwrap()
    }

    pub fn connect(&self, port: u16) -> Option<TcpStream> {
        let to = self.at(port);
        self.on_their_side(|| TcpStream::connect_timeout(&to, Duration::from_secs(5)).ok())
    }

    /// A socket that has the attacker's own address.
    pub fn socket(&self) -> UdpSocket {
        let address = self.lab.address(0, self.side.other());
        self.on_their_side(|| UdpSocket::bind((address, 0)).unwrap())
    }

    /// Bytes of frames that came to the victim's interface, and that left it.
    pub fn traffic(&self) -> (u64, u64) {
        let name = self.lab.port(0, self.side).unwrap().interface;
        let read = |what: &str| -> u64 {
            let path = format!("/sys/class/net/{name}/statistics/{what}");
            fs::read_to_string(path).unwrap().trim().parse().unwrap()
        };
        let both = || (read("rx_bytes"), read("tx_bytes"));
        self.lab
            .netns(self.side)
            .unwrap()
            .run_with_sysfs(both)
            .unwrap()
    }

    /// Frames that left the victim's interface.
    pub fn frames_sent(&self) -> u64 {
        let name = self.lab.port(0, self.side).unwrap().interface;
        let path = format!("/sys/class/net/{name}/statistics/tx_packets");
        let read = || fs::read_to_string(path).unwrap().trim().parse().unwrap();
        self.lab
            .netns(self.side)
            .unwrap()
            .run_with_sysfs(read)
            .unwrap()
    }

    /// What it costs now.
    pub fn cost(&self) -> Cost {
        let root = format!("/proc/{}", self.child.id());
        let status = fs::read_to_string(format!("{root}/status")).expect("the server runs");
        let number = |name: &str| -> u64 {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            let mut words = line.split_whitespace();
            words.nth(1).unwrap().parse().unwrap()
        };
        let stat = fs::read_to_string(format!("{root}/stat")).unwrap();
        let behind_name = stat.rsplit(") ").next().unwrap();
        // proc(5): utime and stime are the fields 14 and 15, in ticks of 10 ms; the state is field 3.
        let ticks = behind_name.split(' ').skip(11).take(2);
        let ticks: u64 = ticks.map(|n| n.parse::<u64>().unwrap()).sum();
        Cost {
            memory_kib: number("VmRSS:"),
            threads: number("Threads:"),
            descriptors: fs::read_dir(format!("{root}/fd")).unwrap().count() as u64,
            processor_ms: ticks * 10,
        }
    }

    /// After an attack: memory stays bounded, threads and descriptors go back, and an idle server does nothing.
    pub fn must_rest(&self, attack: &str) {
        let until = Instant::now() + PATIENCE;
        let rested = self.rested;
        let mut now = self.cost();
        while now.threads > rested.threads + 2 || now.descriptors > rested.descriptors + 4 {
            assert!(
                Instant::now() < until,
                "{attack}: {now:?} and not {rested:?}"
            );
            std::thread::sleep(Duration::from_millis(100));
            now = self.cost();
        }
        assert!(
            now.memory_kib < rested.memory_kib + 64 * 1024,
            "{attack}: {now:?} and not {rested:?}"
        );
        // What is still in its queues is worked off first.
        loop {
            let before = self.cost().processor_ms;
            std::thread::sleep(Duration::from_secs(1));
            let busy_ms = self.cost().processor_ms - before;
            if busy_ms <= 150 {
                return;
            }
            assert!(
                Instant::now() < until,
                "{attack}: {busy_ms} ms of a second in which nobody asks"
            );
        }
    }

    /// While an attack goes on.
    pub fn must_be_bounded(&self, attack: &str, threads: u64) {
        let (now, rested) = (self.cost(), self.rested);
        assert!(now.threads <= rested.threads + threads, "{attack}: {now:?}");
        assert!(
            now.memory_kib < rested.memory_kib + 128 * 1024,
            "{attack}: {now:?}"
        );
    }

    /// A command of ours from the attacker's side, to its end.
    pub fn wirelab(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = self.attackers().spawn(&mut command).unwrap();
        child.wait_with_output().unwrap()
    }

    /// An honest tester or client gets what it asks for, at the latest when its patience ends.
    pub fn must_serve(&self, port: u16, attack: &str) {
        let (node, host) = (
            format!("node:{}", self.address()),
            self.address().to_string(),
        );
        let args: &[&str] = match port {
            CONTROL => &[
                "measure",
                &node,
                "--layer",
                "udp4",
                "--direction",
                "rx",
                "--datagram",
                "100",
                "--load",
                "1kpps",
                "--frames",
                "20",
                "--json",
            ],
            TWO => &["iperf", "-c", &host, "-n", "100K"],
            _ => &["iperf", "-3", "-c", &host, "-n", "100K"],
        };
        let until = Instant::now() + PATIENCE;
        loop {
            let output = self.wirelab(args);
            if output.status.success() {
                return;
            }
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(Instant::now() < until, "{attack}, port {port}: {told}");
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// A client that is killed after so many bytes of frames to the victim, which a busy host sends later but not otherwise.
    pub fn client_killed_after(&self, args: &[&str], bytes: u64) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = self.attackers().spawn(&mut command).unwrap();
        let (before, until) = (self.traffic().0, Instant::now() + PATIENCE);
        while self.traffic().0 < before + bytes {
            assert!(Instant::now() < until, "{args:?}: {bytes} bytes never came");
            // Some end by themselves before.
            if child.try_wait().unwrap().is_some() {
                return;
            }
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// What a client of a port says first, whole.
pub fn opening(port: u16) -> Vec<u8> {
    match port {
        CONTROL => b"?0.1 hello version=1\n?1.1 status\n".to_vec(),
        TWO => {
            use wirelab_iperf::v2::{Amount, ClientHeader, Mode, Rate};
            let amount = Amount::Time { centiseconds: 3000 };
            let header = ClientHeader::new(false, 5001, 1000, amount, Rate::Max);
            let mut bytes = vec![0; 128];
            header.with_mode(Mode::Forward).emit(&mut bytes).unwrap();
            bytes
        }
        _ => {
            let asked = br#"{"tcp":true,"omit":0,"time":5,"num":0,"blockcount":0,"parallel":1,"len":131072}"#;
            let length = (asked.len() as u32).to_be_bytes();
            [
                b"abcdefghijklmnopqrstuvwxyz0123456789\0",
                &length[..],
                asked,
            ]
            .concat()
        }
    }
}

/// xorshift64 (Marsaglia 2003).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % bound.max(1)
    }
}

/// Write, whether or not the other end reads.
pub fn write(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let _ = stream.write_all(bytes);
}

/// Close a connection at once, with a reset.
pub fn reset(stream: TcpStream) {
    let linger = nix::libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    nix::sys::socket::setsockopt(&stream, nix::sys::socket::sockopt::Linger, &linger).unwrap();
}
