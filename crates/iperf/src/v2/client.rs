//! A client for every generation of iperf 2: both protocols, `-r`, `-d`, `-R`, `--full-duplex` and `-P`.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use wirelab_cores::prefer_this_thread;

use super::amount::{Amount, Rate};
use super::client_header::{
    ClientHeader, DATAGRAM_BYTES, DATAGRAM_BYTES_IPV6, LEAST_TIMED_DATAGRAM, Mode,
};
use super::clock::{self, Wall};
use super::datagram::Generation;
use super::io::{BURST_LEN, Env};
use super::outcome::{Leg, MOST_ROWS, Outcome, Trouble};
use super::sockets::{SocketNeeds, connect_tcp};
use super::stream::WRITE_BYTES;
use super::sums::Sums;
use super::table::{Id, Row};
use crate::options::SocketOptions;
use crate::sending::SendOptions;

mod answers;
pub mod bounce;
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

/// How long after the test the client still waits for traffic back to begin: 3 s, as iperf does.
const BACK_WAIT: Duration = Duration::from_secs(3);
/// Longest time to make the connection that only proves that this address receives.
const PROVING: Duration = Duration::from_secs(1);
/// Time that the server gets to notice that connection.
const PROVEN: Duration = Duration::from_millis(500);
/// Longest time to make a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a server of 2.0.5 to 2.0.13 still times a finished UDP flow, and counts a new one with it.
pub const LINGER: Duration = Duration::from_millis(1500);

/// A test.
#[derive(Clone, Copy, Debug)]
pub struct ClientConfig {
    /// The server (`-c`, `-p`).
    pub server: SocketAddr,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Which ends send.
    pub mode: Mode,
    /// Bytes of a datagram or a write (`-l`); `None` for the largest datagram that fits Ethernet, and writes of 128
    /// KiB.
    pub length_bytes: Option<u32>,
    /// Rate (`-b`) of each stream.
    pub rate: Rate,
    /// Amount (`-t`, `-n`) of each stream and direction.
    pub amount: Amount,
    /// How much this end sends, where that is less than it requests back: a client that wants only the server's traffic
    /// starts a test with `-r` and a single datagram. `None` for `amount`.
    pub own_amount: Option<Amount>,
    /// Port for traffic back (`-L`), with the next ports for further streams; 0 for any.
    pub listen_port: u16,
    /// Socket buffers (`-w`).
    pub window_bytes: Option<u32>,
    /// Other options of the sockets.
    pub options: SocketOptions,
    /// The interval of report lines (`-i`); zero for none.
    pub interval: Duration,
    /// Parallel streams (`-P`), each in every direction of the mode.
    pub streams: u32,
    /// The generation of the server: its layout, with a client header where it has one.
    pub generation: Generation,
    /// Whether to request one-way times (`--trip-times`), which are valid if both hosts' clocks are synchronized.
    pub trip_times: bool,
    /// How it sends.
    pub sending: SendOptions,
    /// The wall clock for the timestamps of datagrams.
    pub wall: Wall,
}

/// The events of a client while a test runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientEvent {
    /// A connection or a flow began.
    Began {
        /// The local end.
        local: SocketAddr,
        /// The remote end.
        peer: SocketAddr,
        /// Its number; with `-R` that of the stream that requests it.
        id: Id,
    },
    /// An interval is over.
    Row(Row),
}

impl ClientConfig {
    /// The defaults of iperf: 10 s, over UDP at 1 Mibit/s.
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
            own_amount: None,
            listen_port: 0,
            window_bytes: None,
            options: SocketOptions::NONE,
            interval: Duration::ZERO,
            streams: 1,
            generation: Generation::Wide,
            trip_times: false,
            sending: SendOptions::DEFAULT,
            wall: clock::system,
        }
    }

    /// Runs the test. `on_row` gets the lines of `-i`; setting `stop` ends it early, and keeps what was measured.
    ///
    /// Errors are in [`Outcome::trouble`], beside the legs that were measured nevertheless.
    pub fn run(&self, stop: &AtomicBool, on_row: &(dyn Fn(Row) + Sync)) -> Outcome {
        self.run_telling(stop, &|event| {
            if let ClientEvent::Row(row) = event {
                on_row(row);
            }
        })
    }

    /// [`ClientConfig::run`] with more events.
    pub fn run_telling(&self, stop: &AtomicBool, tell: &(dyn Fn(ClientEvent) + Sync)) -> Outcome {
        let outcome = self.run_once(stop, tell);
        if stop.load(Ordering::Relaxed) {
            return outcome;
        }
        if let Some(older) = self.older(&outcome) {
            std::thread::sleep(LINGER);
            return older.run_once(stop, tell);
        }
        match self.proves_address(&outcome) {
            true => {
                std::thread::sleep(PROVEN);
                self.run_once(stop, tell)
            }
            false => outcome,
        }
    }

    /// Connects over TCP if nothing came back over UDP: a server that sends no datagrams to unproven addresses (as
    /// `wirelab node serve`) then knows that this address is not forged. Returns whether such a server may be there.
    fn proves_address(&self, outcome: &Outcome) -> bool {
        let nothing = matches!(outcome.trouble, Some(Trouble::NothingBack { .. }));
        // From the address to prove, and any port.
        let options = SocketOptions {
            port: 0,
            ..self.options
        };
        let wanted = SocketNeeds {
            options: &options,
            ..self.wanted()
        };
        self.protocol == Protocol::Udp
            && nothing
            && connect_tcp(self.server, 0, wanted, PROVING).is_ok()
    }

    /// The same test for an older server that its answer revealed: it read no header, and sent nothing back.
    fn older(&self, outcome: &Outcome) -> Option<ClientConfig> {
        let back_port = matches!(self.mode, Mode::Dual | Mode::Tradeoff);
        let nothing = matches!(outcome.trouble, Some(Trouble::NothingBack { .. }));
        let generation = outcome.server().filter(|kind| kind.takes_first())?;
        let asks_anew = back_port && nothing && generation != self.generation;
        asks_anew.then_some(ClientConfig {
            generation,
            ..*self
        })
    }

    fn run_once(&self, stop: &AtomicBool, tell: &(dyn Fn(ClientEvent) + Sync)) -> Outcome {
        if let Some(trouble) = self.unsupported() {
            return Outcome {
                trouble: Some(trouble),
                ..Outcome::default()
            };
        }
        let every_ns = self.interval.as_nanos() as u64;
        let results = Results {
            outcome: Mutex::default(),
            tell,
        };
        let sums = Mutex::new(Sums::new(self.streams));
        let keep = |row: Row| {
            let sum = lock(&sums).take(&row);
            for row in [Some(row), sum].into_iter().flatten() {
                results.row(row);
            }
        };
        let env = Env::new(Instant::now(), self.wall, stop, every_ns, &keep);
        std::thread::scope(|scope| {
            for stream in 1..=self.streams.max(1) {
                let (env, results) = (&env, &results);
                scope.spawn(move || {
                    prefer_this_thread(self.rate.interval_ps(self.datagram_bytes()));
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
        let asks_back = self.mode != Mode::Forward;
        let why = match self.amount {
            _ if self.protocol == Protocol::Udp
                && self.generation == Generation::Bare
                && asks_back =>
            {
                "without a client header, no traffic back can be requested; fix: send to it only"
            }
            Amount::Bytes(bytes) if asks_back && bytes > i32::MAX as u64 => {
                "iperf's header asks for 2147483647 bytes of traffic back at most; fix: give a time (-t)"
            }
            _ if self.trip_times && self.generation != Generation::Wide => {
                "one-way times are requested in the header of iperf 2.1, and older servers read another one; fix: leave --trip-times out"
            }
            _ if self.is_small_timed() && asks_back => {
                "datagrams of less than 128 bytes do not hold a header beside --trip-times, so that no traffic back can be requested; fix: give -l 128 or more"
            }
            _ if self.trip_times
                && self.protocol == Protocol::Tcp
                && self
                    .length_bytes
                    .is_some_and(|bytes| bytes < BURST_LEN as u32) =>
            {
                "with --trip-times each write begins with 92 bytes of times; fix: give -l 92 or more"
            }
            _ if u32::from(self.listen_port) + self.streams > 65_536 => {
                "each stream takes a port from the one of -L on, and these end at 65535; fix: give a lower one"
            }
            _ => return None,
        };
        Some(Trouble::Unsupported(why))
    }

    /// Whether its datagrams have one-way times and are too short for an additional header.
    fn is_small_timed(&self) -> bool {
        let udp = self.protocol == Protocol::Udp;
        self.trip_times && udp && self.datagram_bytes() < LEAST_TIMED_DATAGRAM
    }

    /// The layout of its datagrams.
    fn layout(&self) -> Generation {
        match self.is_small_timed() {
            true => Generation::SmallTripTimes,
            false => self.generation,
        }
    }

    /// The header that requests this test; traffic back goes to `port`, and the flow starts at `start`, in s and µs of
    /// the wall clock.
    fn header(&self, port: u16, start: (u32, u32)) -> ClientHeader {
        let udp = self.protocol == Protocol::Udp;
        let length = self.length_bytes.unwrap_or(0);
        let rate = match udp {
            true => self
                .rate
                .bits_per_s(self.datagram_bytes())
                .map_or(Rate::Max, Rate::BitsPerS),
            false => self.rate,
        };
        let header = ClientHeader::new(udp, port.max(1), length, self.amount, rate);
        let mut header = ClientHeader {
            threads: self.streams.max(1),
            ..header.with_mode(self.mode)
        };
        if let Some(extension) = &mut header.extension {
            extension.tos = self.options.tos.unwrap_or(0).into();
        }
        match (udp, self.trip_times) {
            (true, false) => header.of_generation(self.generation),
            (false, false) => header,
            (_, true) => header.with_trip_times(start),
        }
    }

    /// Bytes of a datagram or a write.
    pub fn call_bytes(&self) -> u32 {
        match self.protocol {
            Protocol::Tcp => self.length_bytes.unwrap_or(WRITE_BYTES),
            Protocol::Udp => self.datagram_bytes(),
        }
    }

    /// Bytes of a datagram: as configured, or the default that fits Ethernet with the server's family.
    pub const fn datagram_bytes(&self) -> u32 {
        match (self.length_bytes, self.server) {
            (Some(bytes), _) => bytes,
            (None, SocketAddr::V4(_)) => DATAGRAM_BYTES,
            (None, SocketAddr::V6(_)) => DATAGRAM_BYTES_IPV6,
        }
    }

    /// The rate of all streams of one direction in bit/s, where there is a limit.
    pub fn bits_per_s(&self) -> Option<u64> {
        let each = self.rate.bits_per_s(self.datagram_bytes());
        each.map(|bits| bits.saturating_mul(self.streams.max(1).into()))
    }

    /// What this end sends.
    fn own_amount(&self) -> Amount {
        self.own_amount.unwrap_or(self.amount)
    }

    /// The port on which stream `number` waits for traffic back; 0 for any.
    fn back_port(&self, number: u32) -> u16 {
        match self.listen_port {
            0 => 0,
            first => first.saturating_add((number - 1) as u16),
        }
    }

    /// The number of stream `number`'s traffic back on its own port, after those of all streams.
    fn back_id(&self, number: u32) -> Id {
        Id::Back(self.streams.max(1) + number)
    }

    /// Bytes after which traffic back ends, where an amount is requested: servers of 2.0.5 to 2.0.9 interpret it as
    /// hundredths of a second. The last block or datagram may be whole, and a header is added.
    fn most_back(&self, block: u32) -> u64 {
        match self.amount {
            Amount::Bytes(bytes) => bytes.saturating_add(2 * u64::from(block)),
            Amount::Time { .. } => u64::MAX,
        }
    }

    /// Longest time of the traffic back.
    fn back_ns(&self) -> u64 {
        self.amount.ns().map_or(u64::MAX, |ns| {
            ns.saturating_add(BACK_WAIT.as_nanos() as u64)
        })
    }

    /// The options of its sockets.
    const fn wanted(&self) -> SocketNeeds<'_> {
        SocketNeeds {
            window: self.window_bytes,
            options: &self.options,
        }
    }

    fn gone(&self, result: io::Result<()>) -> Result<(), Trouble> {
        result.map_err(|source| Trouble::Gone {
            peer: self.server,
            source,
        })
    }

    fn nothing_back(&self, port: u16) -> Trouble {
        let fix = match self.mode {
            Mode::Reverse | Mode::FullDuplex => "start iperf 2.1 or later there, or use -r or -d",
            _ => "open the port, or use -R, which sends back on the same connection",
        };
        Trouble::NothingBack {
            peer: self.server,
            port,
            fix,
        }
    }
}

/// The results of the streams of a test; only the first error is kept.
struct Results<'a> {
    outcome: Mutex<Outcome>,
    tell: &'a (dyn Fn(ClientEvent) + Sync),
}

impl Results<'_> {
    fn with(&self, work: impl FnOnce(&mut Outcome)) {
        work(&mut lock(&self.outcome));
    }

    fn row(&self, row: Row) {
        self.with(|outcome| {
            if outcome.rows.len() < MOST_ROWS {
                outcome.rows.push(row);
            }
        });
        (self.tell)(ClientEvent::Row(row));
    }

    /// Reports the two ends of a stream.
    fn began(&self, id: Id, local: io::Result<SocketAddr>, peer: SocketAddr) {
        if let Ok(local) = local {
            (self.tell)(ClientEvent::Began { local, peer, id });
        }
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
        let outcome = self.outcome.into_inner();
        outcome.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A panic of one stream must not discard the results of the others.
fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the server's connection; others are refused.
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
