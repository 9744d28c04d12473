//! What the tests of iperf 2 share: our server with its events, and the distribution's binary.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use wirelab_iperf::v2::server::ServerEvent;
use wirelab_iperf::v2::table::{Id, Row};
use wirelab_iperf::v2::{Amount, ClientConfig, Leg, Outcome, Server, ServerConfig, Trouble};

/// Longest wait for anything.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Whether the distribution's iperf is here; if not, the test says so and is skipped.
pub fn has_iperf() -> bool {
    let found = Command::new("iperf")
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if let Err(error) = &found {
        let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP iperf: {error}");
    }
    found.is_ok()
}

/// Bytes as captures are written: pairs of hexadecimal digits, with anything between.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |p: &[u8]| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// A wirelab server on its own port, and its events.
pub struct Ours {
    pub server: Server,
    events: Receiver<ServerEvent>,
}

impl Ours {
    pub fn start(ip: &str, config: ServerConfig) -> Ours {
        let (tell, events) = mpsc::channel();
        let tell = Mutex::new(tell);
        let handler = Arc::new(move |event| {
            let _ = tell.lock().unwrap().send(event);
        });
        let address = SocketAddr::new(ip.parse::<IpAddr>().unwrap(), 0);
        let server = Server::start(address, config, handler).unwrap();
        Ours { server, events }
    }

    /// The legs until there are so many, and the rows before.
    pub fn legs(&self, count: usize) -> (Vec<(Leg, Option<Trouble>)>, Vec<Row>) {
        let (mut legs, mut rows) = (Vec::new(), Vec::new());
        while legs.len() < count {
            match self.events.recv_timeout(LIMIT).expect("an event in time") {
                ServerEvent::Began { .. } => {}
                ServerEvent::Row(row) => rows.push(row),
                ServerEvent::Leg { leg, trouble, .. } => legs.push((leg, trouble)),
                ServerEvent::Refused { peer, why } => panic!("{peer} was refused {why}"),
            }
        }
        (legs, rows)
    }

    /// Wait until so many flows have begun.
    pub fn began(&self, count: usize) {
        for _ in 0..count {
            let event = self.events.recv_timeout(LIMIT).expect("an event in time");
            assert!(matches!(event, ServerEvent::Began { .. }), "{event:?}");
        }
    }

    /// Wait until so many flows have moved this many bytes each, as the lines of the server's interval say.
    pub fn moved(&self, flows: usize, bytes: u64) {
        let mut all = BTreeMap::new();
        while all.values().filter(|moved| **moved > bytes).count() < flows {
            match self.events.recv_timeout(LIMIT).expect("an event in time") {
                ServerEvent::Began { .. } => {}
                ServerEvent::Row(row) if matches!(row.id, Id::Sum | Id::SumBack) => {}
                ServerEvent::Row(row) => *all.entry(row.id.to_string()).or_insert(0) += row.bytes,
                event => panic!("{event:?}"),
            }
        }
    }

    /// The next leg, after any other events.
    pub fn next_leg(&self) -> Leg {
        self.next_leg_with_trouble().0
    }

    pub fn next_leg_with_trouble(&self) -> (Leg, Option<Trouble>) {
        loop {
            let event = self.events.recv_timeout(LIMIT).expect("an event in time");
            if let ServerEvent::Leg { leg, trouble, .. } = event {
                return (leg, trouble);
            }
        }
    }

    /// The next refusal.
    pub fn refusal(&self) -> &'static str {
        loop {
            if let ServerEvent::Refused { why, .. } = self.events.recv_timeout(LIMIT).unwrap() {
                return why;
            }
        }
    }
}

/// A port that was free a moment ago, for UDP and TCP.
pub fn free_port() -> u16 {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A real server, killed at the end of the test.
pub struct Real {
    child: Child,
    pub address: SocketAddr,
}

impl Real {
    /// Start `iperf -s` and wait until it listens.
    pub fn server(udp: bool) -> Real {
        loop {
            let port = free_port();
            let mut command = Command::new("iperf");
            command.args(["-s", "-B", "127.0.0.1", "-p", &port.to_string()]);
            if udp {
                command.arg("-u");
            }
            let child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let mut real = Real { child, address };
            let since = Instant::now();
            while since.elapsed() < LIMIT && real.child.try_wait().unwrap().is_none() {
                if listens(port, udp) {
                    return real;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether something listens, without sending it anything.
fn listens(port: u16, udp: bool) -> bool {
    let file = if udp {
        "/proc/net/udp"
    } else {
        "/proc/net/tcp"
    };
    let wanted = format!("0100007F:{port:04X} 00000000:0000");
    std::fs::read_to_string(file).unwrap().contains(&wanted)
}

/// Run the real client to its end; what it printed on both streams. With -d it waits forever for a connection back if
/// another program got its port meanwhile.
pub fn real_client(port: u16, args: &str) -> String {
    let port = port.to_string();
    let output = Command::new("timeout")
        .args(["-k", "5", "60", "iperf", "-c", "127.0.0.1", "-p", &port])
        .args(args.split_whitespace())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text + &String::from_utf8_lossy(&output.stderr)
}

/// Lost and total of the last line with datagrams.
pub fn lost_and_total(text: &str) -> (u64, u64) {
    let line = text
        .lines()
        .rfind(|line| line.contains(" ms "))
        .expect(text);
    let counts = line
        .split(" ms ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    let (lost, total) = counts.split_once('/').unwrap();
    (lost.parse().unwrap(), total.parse().unwrap())
}

/// Run a client of ours to its end.
pub fn our_client(config: &ClientConfig) -> (Outcome, Vec<Row>) {
    let rows = Mutex::new(Vec::new());
    let outcome = config.run(&AtomicBool::new(false), &|row| {
        rows.lock().unwrap().push(row);
    });
    (outcome, rows.into_inner().unwrap())
}

/// 10 ms units.
pub const fn time(centiseconds: u32) -> Amount {
    Amount::Time { centiseconds }
}
