//! A client for every generation of iperf 2: both protocols, `-r`, `-d`, `-R`, `--full-duplex` (TCP) and `-P`.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::amount::{Amount, Rate};
use super::client_header::{ClientHeader, Mode};
use super::clock::{self, Wall};
use super::io::Env;
use super::outcome::{Leg, Outcome, Trouble};
use super::table::{Id, Row};

mod tcp;
mod udp;

/// TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP (`-u`).
    Udp,
}

/// How much longer than the test the client waits for traffic back to begin: 3 s, as iperf does.
const BACK_WAIT: Duration = Duration::from_secs(3);
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// A test.
#[derive(Clone, Copy, Debug)]
pub struct ClientConfig {
    /// The server (`-c`, `-p`).
    pub server: SocketAddr,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Who sends.
    pub mode: Mode,
    /// Bytes of a datagram or a write (`-l`); `None` for 1470 and 128 KiB.
    pub length_bytes: Option<u32>,
    /// How fast (`-b`), each stream.
    pub rate: Rate,
    /// How much (`-t`, `-n`), each stream and direction.
    pub amount: Amount,
    /// Port for traffic back (`-L`); 0 for any.
    pub listen_port: u16,
    /// Socket buffers (`-w`).
    pub window_bytes: Option<u32>,
    /// A line for each such interval (`-i`); zero for none.
    pub interval: Duration,
    /// Streams at once (`-P`); more than one with [`Mode::Forward`] and [`Mode::Reverse`] alone.
    pub streams: u32,
    /// Whether datagrams carry a client header. A node with a server of the 12-byte kind wants none.
    pub header: bool,
    /// The wall clock that dates the datagrams.
    pub wall: Wall,
}

impl ClientConfig {
    /// What iperf does where nothing else is asked: 10 s, over UDP at 1 Mibit/s.
    pub const fn new(server: SocketAddr, protocol: Protocol) -> ClientConfig {
        ClientConfig {
            server,
            protocol,
            mode: Mode::Forward,
            length_bytes: None,
            rate: match protocol {
                Protocol::Tcp => Rate::Max,
                Protocol::Udp => Rate::UDP_DEFAULT,
            },
            amount: Amount::DEFAULT,
            listen_port: 0,
            window_bytes: None,
            interval: Duration::ZERO,
            streams: 1,
            header: true,
            wall: clock::system,
        }
    }

    /// Run the test. `on_row` gets the lines of `-i`; setting `stop` ends it early, with what was measured.
    ///
    /// What goes wrong is in [`Outcome::trouble`], beside the legs that were measured all the same.
    pub fn run(&self, stop: &AtomicBool, on_row: &(dyn Fn(Row) + Sync)) -> Outcome {
        if let Some(trouble) = self.unsupported() {
            return Outcome {
                legs: Vec::new(),
                trouble: Some(trouble),
            };
        }
        let every_ns = self.interval.as_nanos() as u64;
        let env = Env::new(Instant::now(), self.wall, stop, every_ns, on_row);
        let results = Results::default();
        std::thread::scope(|scope| {
            for stream in 1..=self.streams.max(1) {
                let (env, results) = (&env, &results);
                scope.spawn(move || {
                    let result = match self.protocol {
                        Protocol::Tcp => tcp::run(self, env, results, stream),
                        Protocol::Udp => udp::run(self, env, results, stream),
                    };
                    if let Err(trouble) = result {
                        results.trouble(trouble);
                    }
                });
            }
        });
        results.into_outcome()
    }

    fn unsupported(&self) -> Option<Trouble> {
        let why = match (self.protocol, self.mode) {
            (Protocol::Udp, Mode::FullDuplex) => {
                "--full-duplex over UDP is not built for the client; use -d, which needs a port of its own"
            }
            (_, Mode::Tradeoff | Mode::Dual | Mode::FullDuplex) if self.streams > 1 => {
                "-P goes with one direction alone; run -d, -r or --full-duplex with one stream"
            }
            (Protocol::Udp, mode) if !self.header && mode != Mode::Forward => {
                "without a client header the server cannot be asked for traffic back"
            }
            _ => return None,
        };
        Some(Trouble::Unsupported(why))
    }

    /// The header that asks for this test; traffic back goes to `port`.
    fn header(&self, port: u16) -> ClientHeader {
        let udp = self.protocol == Protocol::Udp;
        let length = self.length_bytes.unwrap_or(0);
        ClientHeader::new(udp, port.max(1), length, self.amount, self.rate).with_mode(self.mode)
    }

    /// How long traffic back may take in all.
    fn back_ns(&self) -> u64 {
        self.amount.ns().map_or(u64::MAX, |ns| {
            ns.saturating_add(BACK_WAIT.as_nanos() as u64)
        })
    }

    fn any_address(&self, port: u16) -> SocketAddr {
        match self.server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, port).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, port).into(),
        }
    }

    fn gone(&self, result: io::Result<()>) -> Result<(), Trouble> {
        result.map_err(|source| Trouble::Gone {
            peer: self.server,
            source,
        })
    }

    fn nothing_back(&self, port: u16) -> Trouble {
        Trouble::NothingBack {
            peer: self.server,
            port,
        }
    }
}

/// What the streams of a test found; the first trouble is kept.
#[derive(Default)]
struct Results(Mutex<Outcome>);

impl Results {
    fn with(&self, work: impl FnOnce(&mut Outcome)) {
        work(
            &mut self
                .0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
    }

    fn leg(&self, id: Id, leg: Leg) {
        self.with(|outcome| outcome.legs.push((id, leg)));
    }

    fn trouble(&self, trouble: Trouble) {
        self.with(|outcome| {
            outcome.trouble.get_or_insert(trouble);
        });
    }

    fn into_outcome(self) -> Outcome {
        self.0
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Wait for the server's connection; others are turned away.
fn accept(
    listener: &TcpListener,
    server: SocketAddr,
    until_ns: u64,
    env: &Env<'_>,
) -> Option<TcpStream> {
    listener.set_nonblocking(true).ok()?;
    while env.now_ns() < until_ns && !env.stopped() {
        match listener.accept() {
            Ok((stream, peer)) if peer.ip().to_canonical() == server.ip().to_canonical() => {
                stream.set_nonblocking(false).ok()?;
                return Some(stream);
            }
            Ok(_) => {}
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    None
}

/// A UDP socket on a port of its own.
fn bind_udp(address: SocketAddr) -> Result<UdpSocket, Trouble> {
    UdpSocket::bind(address).map_err(|source| Trouble::Bind { address, source })
}

/// A TCP listener for traffic back.
fn bind_tcp(address: SocketAddr) -> Result<TcpListener, Trouble> {
    TcpListener::bind(address).map_err(|source| Trouble::Bind { address, source })
}
