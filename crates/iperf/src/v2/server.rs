//! A server for every generation of iperf 2, over UDP and TCP on one port number, with limits on everything that a peer
//! can request.
//!
//! iperf has no handshake over UDP, so a forged address can make any iperf server send to a victim (`-d`, `-R`). Here
//! such traffic goes only where [`Access`] allows it. It is bounded in time and number, ends when the victim's host
//! refuses it, and can be switched off.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::amount::{Amount, Rate};
use super::client_header::{ClientHeader, DATAGRAM_BYTES, DATAGRAM_BYTES_IPV6};
use super::clock::{self, Wall};
use super::datagram::Generation;
use super::io::Env;
use super::outcome::{Leg, Trouble};
use super::send::SendPlan;
use super::sockets::{SocketNeeds, bind_udp, listen_tcp};
use super::table::{Id, Row};
use crate::options::SocketOptions;
use crate::sending::SendOptions;
use wirelab_socket::access::Access;

use groups::Groups;
use refusals::Senders;

/// The block size that the first bytes of a connection request back, for fuzzing.
pub(super) use bounce::requested_block as fuzz_bounce;

mod back;
mod bounce;
mod groups;
mod refusals;
mod tcp;
mod udp;

/// Limits of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Most UDP flows at once; a further one replaces the flow that has been idle longest.
    pub max_flows: usize,
    /// Most TCP connections at once; likewise.
    pub max_connections: usize,
    /// Most flows that the server sends at once; a further one is refused.
    pub max_back: usize,
    /// Longest time that the server sends to a peer.
    pub max_back_time: Duration,
    /// The most bytes that it sends to a peer.
    pub max_back_bytes: u64,
    /// Most bit/s that it sends to a peer over UDP, where an address can be forged.
    pub max_back_bits_per_s: u64,
    /// Most bit/s that it sends in total, to all peers and over both protocols; `None` for no limit.
    pub budget_bits_per_s: Option<u64>,
    /// Whether it sends at all.
    pub back: bool,
    /// Who may use the server, and who gets traffic back over UDP; by default hosts on the link.
    pub access: Arc<Access>,
    /// A flow without data for this long is over.
    pub quiet: Duration,
    /// The interval of report lines (`-i`); zero for none.
    pub interval: Duration,
    /// Socket buffers (`-w`).
    pub window_bytes: Option<u32>,
    /// Other options of the sockets; address and port are those of [`Server::start`].
    pub options: SocketOptions,
    /// How it sends.
    pub sending: SendOptions,
    /// The wall clock for the timestamps of what the server sends.
    pub wall: Wall,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            max_flows: 64,
            max_connections: 64,
            max_back: 16,
            max_back_time: Duration::from_secs(3600),
            max_back_bytes: 1 << 40,
            max_back_bits_per_s: 10_000_000_000,
            budget_bits_per_s: None,
            back: true,
            access: Arc::new(Access::on_link(Vec::new())),
            quiet: Duration::from_secs(5),
            interval: Duration::ZERO,
            window_bytes: None,
            options: SocketOptions::NONE,
            sending: SendOptions::DEFAULT,
            wall: clock::system,
        }
    }
}

impl ServerConfig {
    /// The options of its sockets.
    const fn wanted(&self) -> SocketNeeds<'_> {
        SocketNeeds {
            window: self.window_bytes,
            options: &self.options,
        }
    }
}

/// What a server reports.
#[derive(Debug)]
pub enum ServerEvent {
    /// One direction of a test began; a [`ServerEvent::Leg`] of the same number follows.
    Began {
        /// The local end; for datagrams to a server on all addresses, the address that its answers are sent from.
        local: SocketAddr,
        /// The peer.
        peer: SocketAddr,
        /// Its number.
        id: Id,
        /// Parallel streams of its client in this direction, where it announced several; else 1.
        streams: u32,
    },
    /// An interval is over.
    Row(Row),
    /// One direction of a test is over.
    Leg {
        /// The peer.
        peer: SocketAddr,
        /// Its number.
        id: Id,
        /// The result.
        leg: Leg,
        /// The error, if any.
        trouble: Option<Trouble>,
    },
    /// A request that was refused.
    Refused {
        /// The peer.
        peer: SocketAddr,
        /// What was refused, and why.
        why: &'static str,
    },
}

/// Receives the events of a server.
pub type Handler = Arc<dyn Fn(ServerEvent) + Send + Sync>;

/// State that the threads of a server share.
struct ServerState {
    config: ServerConfig,
    address: SocketAddr,
    handler: Handler,
    stop: AtomicBool,
    clock: Instant,
    next_id: AtomicU32,
    backs: AtomicUsize,
    /// The bit/s that the flows in `backs` have reserved, if there is a limit.
    spent_bits_per_s: AtomicU64,
    /// For how long the host has paused the thread that receives datagrams, in ns.
    held_up_ns: AtomicU64,
    groups: Mutex<Groups>,
    senders: Senders,
    /// Threads of flows, each ended soon after `stop`.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A running server; it ends when it is dropped.
pub struct Server {
    shared: Arc<ServerState>,
    tcp: SocketAddr,
    udp: SocketAddr,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens on an address, for UDP and TCP, and serves until the server is dropped. With port 0 each gets its own
    /// port. It listens on no other address.
    ///
    /// # Errors
    /// [`Trouble::Bind`] where the address is not available.
    pub fn start(
        address: SocketAddr,
        config: ServerConfig,
        handler: Handler,
    ) -> Result<Server, Trouble> {
        let bind = |source| Trouble::Bind { address, source };
        let listener = listen_tcp(address, config.wanted())?;
        let socket = bind_udp(address, config.wanted())?;
        listener.set_nonblocking(true).map_err(bind)?;
        let shared = Arc::new(ServerState {
            config,
            address,
            handler,
            stop: AtomicBool::new(false),
            clock: Instant::now(),
            next_id: AtomicU32::new(1),
            backs: AtomicUsize::new(0),
            spent_bits_per_s: AtomicU64::new(0),
            held_up_ns: AtomicU64::new(0),
            groups: Mutex::default(),
            senders: Senders::default(),
            threads: Mutex::new(Vec::new()),
        });
        let mut server = Server {
            tcp: listener.local_addr().map_err(bind)?,
            udp: socket.local_addr().map_err(bind)?,
            shared,
            threads: Vec::new(),
        };
        let shared = Arc::clone(&server.shared);
        let udp = std::thread::Builder::new().spawn(move || udp::serve(&shared, &socket));
        server.threads.push(udp.map_err(bind)?);
        let shared = Arc::clone(&server.shared);
        let tcp = std::thread::Builder::new().spawn(move || tcp::serve(&shared, &listener));
        server.threads.push(tcp.map_err(bind)?);
        Ok(server)
    }

    /// Its TCP address.
    pub const fn tcp_address(&self) -> SocketAddr {
        self.tcp
    }

    /// Its UDP address.
    pub const fn udp_address(&self) -> SocketAddr {
        self.udp
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        for thread in std::mem::take(&mut *self.shared.lock_threads()) {
            let _ = thread.join();
        }
    }
}

impl ServerState {
    fn lock_threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        // A panic of the handler must not end the other flows.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    fn held_up_ns(&self) -> u64 {
        self.held_up_ns.load(Ordering::Relaxed)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn stream_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn every_ns(&self) -> u64 {
        self.config.interval.as_nanos() as u64
    }

    /// Reports an event, and the sum line that it completes.
    fn tell(&self, event: ServerEvent) {
        let groups = || self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = match &event {
            ServerEvent::Row(row) => groups().row(row),
            ServerEvent::Leg { id, leg, .. } => groups().ended(leg.row(*id)),
            ServerEvent::Began { .. } | ServerEvent::Refused { .. } => None,
        };
        (self.handler)(event);
        if let Some(sum) = sum {
            (self.handler)(ServerEvent::Row(sum));
        }
    }

    /// Reports the start of one of the flows that its header announces.
    fn began(
        &self,
        local: std::io::Result<SocketAddr>,
        peer: SocketAddr,
        id: Id,
        header: Option<&ClientHeader>,
    ) {
        let streams = header.map_or(1, |header| header.threads);
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.join(id, peer.ip(), streams);
        drop(groups);
        let local = local.unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
        self.tell(ServerEvent::Began {
            local,
            peer,
            id,
            streams: groups::counted(streams),
        });
    }

    fn refuse(&self, peer: SocketAddr, why: &'static str) {
        self.tell(ServerEvent::Refused { peer, why });
    }

    /// The wall clock at the clock's zero, in µs.
    fn epoch_us(&self) -> u64 {
        self.with_env(|env| env.epoch_us)
    }

    /// The options of sockets for traffic back: they use the server's address, if it was given one, and the type of
    /// service that the client requests (`-S`), unless the server was given one.
    fn back_options(&self, header: Option<&ClientHeader>) -> SocketOptions {
        let ip = self.address.ip();
        let requested_tos = header.and_then(ClientHeader::tos);
        SocketOptions {
            address: (!ip.is_unspecified()).then_some(ip),
            port: 0,
            tos: self.config.options.tos.or(requested_tos),
            ..self.config.options
        }
    }

    /// Runs something in a thread that ends before the server does; without a free thread, it does not run.
    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        let mut threads = self.lock_threads();
        threads.retain(|thread| !thread.is_finished());
        let preferred = || {
            wirelab_cores::prefer_this_thread(None);
            work()
        };
        if let Ok(thread) = std::thread::Builder::new().spawn(preferred) {
            threads.push(thread);
        }
    }

    fn with_env<R>(&self, work: impl FnOnce(&Env<'_>) -> R) -> R {
        let on_row = |row| self.tell(ServerEvent::Row(row));
        let (wall, every_ns) = (self.config.wall, self.every_ns());
        work(&Env::new(self.clock, wall, &self.stop, every_ns, &on_row))
    }

    /// The amount that a peer requested, within the limits.
    fn bounded(&self, amount: Amount) -> Amount {
        match amount {
            Amount::Bytes(bytes) => Amount::Bytes(bytes.min(self.config.max_back_bytes)),
            Amount::Time { centiseconds } => {
                let Amount::Time { centiseconds: most } = Amount::time(self.config.max_back_time)
                else {
                    return amount;
                };
                Amount::Time {
                    centiseconds: centiseconds.min(most),
                }
            }
        }
    }

    /// Reserves a share of the total rate, or the rest of it, in bit/s.
    fn spend(&self, share: u64, all: u64) -> u64 {
        let take = |spent: u64| Some(spent + share.min(all.saturating_sub(spent)));
        let order = Ordering::Relaxed;
        let before = self.spent_bits_per_s.fetch_update(order, order, take);
        share.min(all.saturating_sub(before.unwrap_or(all)))
    }

    /// The UDP rate that a peer requested, within the limit; iperf's default where the header has none.
    fn bounded_rate(
        &self,
        header: &ClientHeader,
        length_bytes: u32,
        most_bits_per_s: Option<u64>,
    ) -> Rate {
        let most = self.config.max_back_bits_per_s;
        let most = most_bits_per_s.map_or(most, |bits| bits.min(most));
        match header.rate().unwrap_or(Rate::UDP_DEFAULT) {
            Rate::BitsPerS(bits) => Rate::BitsPerS(bits.min(most)),
            Rate::PacketsPerS(packets) => {
                let most = most / (8 * u64::from(length_bytes.max(1)));
                Rate::PacketsPerS(packets.min(most).max(1))
            }
            Rate::Max => Rate::BitsPerS(most),
        }
    }

    /// The plan of the datagrams that a peer requested towards `to`.
    fn plan(
        &self,
        header: &ClientHeader,
        to: SocketAddr,
        generation: Generation,
        most_bits_per_s: Option<u64>,
        wants_report: bool,
    ) -> SendPlan {
        let ipv6 = to.ip().to_canonical().is_ipv6();
        let length_bytes = match (header.length_bytes, ipv6) {
            (0, false) => DATAGRAM_BYTES,
            (0, true) => DATAGRAM_BYTES_IPV6,
            (bytes, _) => bytes,
        };
        SendPlan {
            length_bytes,
            rate: self.bounded_rate(header, length_bytes, most_bits_per_s),
            amount: self.bounded(header.amount),
            generation,
            header: None,
            wants_report,
            sending: self.config.sending,
        }
    }
}
