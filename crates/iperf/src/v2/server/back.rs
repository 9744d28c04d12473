//! The traffic that the server sends: to a port of the client (`-r`, `-d`), or on the client's own socket.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use wirelab_socket::mtu::path_mtu;

use super::{ServerEvent, ServerState};
use crate::options::{SocketOptions, set_tos};
use crate::v2::amount::Rate;
use crate::v2::client_header::{ClientHeader, LEAST_TIMED_DATAGRAM};
use crate::v2::datagram::{Generation, IdWidth};
use crate::v2::io::{BURST_LEN, Blocks, Env, send_datagrams, send_stream};
use crate::v2::outcome::{Leg, Trouble};
use crate::v2::send::{SendPlan, Sender, Sent};
use crate::v2::sockets::{SocketNeeds, connect_tcp, connect_udp, local_towards};
use crate::v2::stream::{StreamSender, WRITE_BYTES};
use crate::v2::table::Id;

/// Why traffic back over UDP is refused.
const NOT_PROVEN: &str = "traffic back over UDP: its address may be forged; fix: serve with --allow-reverse PREFIX, or run a test over TCP from there first";
/// Longest time to make a connection back.
const CONNECT: Duration = Duration::from_secs(3);
/// Retries of traffic back that is refused immediately, and the time between them.
const REFUSED_TRIES: u32 = 3;
const REFUSED_WAIT: Duration = Duration::from_millis(30);
/// A lower rate is not worth a flow.
const LEAST_BITS_PER_S: u64 = 10_000;
const FIRST_USER_PORT: u16 = 1024;
/// A refusal within this time in ns is immediate.
const REFUSED_NS: u64 = 100_000_000;
/// Longest write that a peer can request.
const MAX_WRITE: u32 = 1 << 20;

/// A slot among the flows that the server sends, and its part of the total rate; always released at the end of the
/// flow.
pub(super) struct Reservation {
    shared: Arc<ServerState>,
    /// Most bit/s of this flow, where the total is limited.
    most_bits_per_s: Option<u64>,
}

impl Reservation {
    /// A slot for datagrams to `peer`, whose address only a datagram shows.
    pub(super) fn take_unproven(
        shared: &Arc<ServerState>,
        peer: SocketAddr,
        header: &ClientHeader,
    ) -> Option<Reservation> {
        if shared.config.back && !shared.config.access.may_send(peer.ip()) {
            shared.refuse(peer, NOT_PROVEN);
            return None;
        }
        Reservation::take(shared, peer, header)
    }

    /// A slot for traffic to `peer`; if there is none, an event reports it.
    pub(super) fn take(
        shared: &Arc<ServerState>,
        peer: SocketAddr,
        header: &ClientHeader,
    ) -> Option<Reservation> {
        if !shared.config.back {
            shared.refuse(peer, "traffic back: this server only receives");
            return None;
        }
        let before = shared.backs.fetch_add(1, Ordering::Relaxed);
        // Made before the checks, so that it is released in either case.
        let mut reservation = Reservation {
            shared: Arc::clone(shared),
            most_bits_per_s: None,
        };
        if before >= shared.config.max_back {
            let why = "traffic back: the server sends as many flows as it may";
            shared.refuse(peer, why);
            return None;
        }
        let Some(all) = shared.config.budget_bits_per_s else {
            return Some(reservation);
        };
        let wanted = header.bits_per_s().unwrap_or(all);
        let share = wanted.min(all / u64::from(header.threads.max(1)));
        let granted = shared.spend(share, all);
        reservation.most_bits_per_s = Some(granted);
        if granted < LEAST_BITS_PER_S.min(share) || granted == 0 {
            shared.refuse(peer, "traffic back: the server sends as fast as it may");
            return None;
        }
        Some(reservation)
    }

    /// Reports the end of the flow. The slot is free before the event is sent.
    fn end(self, peer: SocketAddr, id: Id, leg: Leg, result: io::Result<()>) {
        let shared = Arc::clone(&self.shared);
        drop(self);
        finish(&shared, peer, id, leg, result);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shared.backs.fetch_sub(1, Ordering::Relaxed);
        let spent = self.most_bits_per_s.unwrap_or(0);
        self.shared
            .spent_bits_per_s
            .fetch_sub(spent, Ordering::Relaxed);
    }
}

/// Whether traffic may go to a port that the client gave: not to service ports (RFC 6335, 6), which another program may
/// use on its host.
fn may_go_to(shared: &ServerState, peer: SocketAddr, port: u16) -> bool {
    let may = port >= FIRST_USER_PORT;
    if !may {
        let why = "traffic back: its port is below 1024; fix: name another one (-L)";
        shared.refuse(peer, why);
    }
    may
}

/// The layout of datagrams to a peer, without a header, or the two ends would send to each other forever.
const fn layout(peer: Generation) -> Generation {
    match peer.ids() {
        IdWidth::Wide if !peer.takes_first() => Generation::WideBare,
        _ => peer,
    }
}

/// Sends datagrams to the port that the client gave, and waits for its report.
pub(super) fn udp(
    shared: &Arc<ServerState>,
    peer: SocketAddr,
    header: ClientHeader,
    kind: Generation,
) {
    if !may_go_to(shared, peer, header.port) {
        return;
    }
    let Some(reservation) = Reservation::take_unproven(shared, peer, &header) else {
        return;
    };
    let to = SocketAddr::new(peer.ip(), header.port);
    shared.spawn(move || {
        let shared = &reservation.shared;
        let id = Id::Back(shared.stream_id());
        let (mut sent, mut result) = udp_once(&reservation, to, &header, kind, id, false);
        for _ in 0..REFUSED_TRIES {
            if !refused_at_once(&sent, &result) || shared.stopped() {
                break;
            }
            std::thread::sleep(REFUSED_WAIT);
            (sent, result) = udp_once(&reservation, to, &header, kind, id, true);
        }
        reservation.end(to, id, Leg::UdpSent(Box::new(sent)), result);
    });
}

/// An iperf client that accepts one flow reopens its port for the next, and refuses what arrives in between.
fn refused_at_once(sent: &Sent, result: &io::Result<()>) -> bool {
    let refused = |error: &io::Error| error.kind() == ErrorKind::ConnectionRefused;
    result.as_ref().is_err_and(refused) && sent.duration_ns < REFUSED_NS
}

/// The sender of a plan, within the limit of time, which also applies to an amount of bytes.
fn sender(shared: &ServerState, plan: SendPlan) -> Sender {
    Sender::new(plan, shared.now_ns()).within(shared.config.max_back_time)
}

/// The options of a socket for traffic back.
fn wanted<'a>(shared: &ServerState, options: &'a SocketOptions) -> SocketNeeds<'a> {
    SocketNeeds {
        window: shared.config.window_bytes,
        options,
    }
}

fn udp_once(
    reservation: &Reservation,
    to: SocketAddr,
    header: &ClientHeader,
    kind: Generation,
    id: Id,
    again: bool,
) -> (Sent, io::Result<()>) {
    let shared = &reservation.shared;
    let plan = shared.plan(header, to, layout(kind), reservation.most_bits_per_s, true);
    let mut sender = sender(shared, plan);
    let mut work = || -> io::Result<()> {
        let options = shared.back_options(Some(header));
        let socket = connect_udp(to, 0, wanted(shared, &options)).map_err(Trouble::into_io)?;
        if !again {
            shared.began(socket.local_addr(), to, id, Some(header));
        }
        shared.with_env(|env| send_datagrams(&socket, None, &mut sender, env, id))
    };
    let result = work();
    (with_mtu(shared, &sender, to), result)
}

/// The result of a sender, with the MTU of its path.
fn with_mtu(shared: &ServerState, sender: &Sender, to: SocketAddr) -> Sent {
    let mtu = || {
        let options = shared.back_options(None);
        let socket = connect_udp(to, 0, wanted(shared, &options)).ok()?;
        path_mtu(&socket).ok().flatten()
    };
    sender
        .sent()
        .with_mtu(mtu(), to.ip().to_canonical().is_ipv6())
}

/// Sends datagrams back to the client's port, on the socket that receives the client's datagrams; no report comes back.
pub(super) fn udp_same_socket(
    shared: &Arc<ServerState>,
    socket: &UdpSocket,
    peer: SocketAddr,
    header: ClientHeader,
    kind: Generation,
) {
    let Ok(socket) = socket.try_clone() else {
        shared.refuse(peer, "traffic back: no file descriptor is left");
        return;
    };
    let Some(reservation) = Reservation::take_unproven(shared, peer, &header) else {
        return;
    };
    let refused = shared.senders.begin(peer);
    shared.spawn(move || {
        let shared = &reservation.shared;
        let id = Id::Back(shared.stream_id());
        shared.began(local_towards(&socket, peer), peer, id, Some(&header));
        let start = shared.with_env(|env| env.wall(env.now_ns()));
        let mut plan = shared.plan(
            &header,
            peer,
            layout(kind),
            reservation.most_bits_per_s,
            false,
        );
        if plan.length_bytes >= LEAST_TIMED_DATAGRAM && kind == Generation::Wide {
            if let Some(times) = header.answer_with_times(true, start) {
                (plan.generation, plan.header) = (Generation::Wide, Some(times));
            }
        }
        let mut sender = sender(shared, plan);
        let result = shared.with_env(|env| {
            let env = Env {
                refused: Some(&refused),
                ..*env
            };
            send_datagrams(&socket, Some(peer), &mut sender, &env, id)
        });
        shared.senders.end(peer, &refused);
        let result = match refused.load(Ordering::Relaxed) {
            true => Err(ErrorKind::ConnectionRefused.into()),
            false => result,
        };
        let leg = Leg::UdpSent(Box::new(with_mtu(shared, &sender, peer)));
        reservation.end(peer, id, leg, result);
    });
}

/// Sends to a TCP port that the client gave.
pub(super) fn tcp(shared: &Arc<ServerState>, peer: SocketAddr, header: ClientHeader) {
    if !may_go_to(shared, peer, header.port) {
        return;
    }
    let Some(reservation) = Reservation::take(shared, peer, &header) else {
        return;
    };
    let to = SocketAddr::new(peer.ip(), header.port);
    shared.spawn(move || {
        let shared = &reservation.shared;
        let id = Id::Back(shared.stream_id());
        let options = shared.back_options(Some(&header));
        match connect_tcp(to, 0, wanted(shared, &options), CONNECT) {
            Ok(mut stream) => stream_out(&reservation, &mut stream, to, &header, id),
            Err(_) => {
                let why = "traffic back: the port that the client named takes no connection";
                shared.refuse(to, why);
            }
        }
    });
}

/// Sends on a connection until the requested amount is sent.
pub(super) fn stream_out(
    reservation: &Reservation,
    stream: &mut TcpStream,
    peer: SocketAddr,
    header: &ClientHeader,
    id: Id,
) {
    let shared = &reservation.shared;
    let length = match header.length_bytes {
        0 => WRITE_BYTES,
        bytes => bytes.min(MAX_WRITE),
    };
    shared.began(stream.local_addr(), peer, id, Some(header));
    if let (Some(tos), None) = (header.tos(), shared.config.options.tos) {
        // On failure the traffic is only unmarked.
        let _ = set_tos(stream, peer.is_ipv6(), tos);
    }
    shared.with_env(|env: &Env<'_>| {
        let rate = bounded_stream_rate(header, reservation.most_bits_per_s);
        let (amount, now_ns) = (shared.bounded(header.amount), env.now_ns());
        let start = header.answer_with_times(false, env.wall(now_ns));
        // A write shorter than its times carries none.
        let start = start.filter(|_| length as usize >= BURST_LEN);
        let (mut blocks, head) = match start {
            Some(start) => (Blocks::timed(length, env), start.to_vec()),
            None => (Blocks::plain(length), Vec::new()),
        };
        let amount = match head.len() {
            0 => amount,
            head => Blocks::whole(amount, head, length),
        };
        let sender = StreamSender::new(amount, rate, shared.config.sending, length, now_ns)
            .within(shared.config.max_back_time, now_ns);
        let (leg, _, result) = send_stream(stream, &head, sender, &mut blocks, env, id);
        finish(shared, peer, id, leg, result);
    });
}

/// The TCP rate that a peer requested, within the limit.
fn bounded_stream_rate(header: &ClientHeader, most_bits_per_s: Option<u64>) -> Rate {
    let requested = header.rate().unwrap_or(Rate::Max);
    match (requested, most_bits_per_s) {
        (Rate::BitsPerS(bits), Some(most)) => Rate::BitsPerS(bits.min(most)),
        (_, Some(most)) => Rate::BitsPerS(most),
        (requested, None) => requested,
    }
}

/// Reports the end of a flow.
pub(super) fn finish(
    shared: &ServerState,
    peer: SocketAddr,
    id: Id,
    leg: Leg,
    result: io::Result<()>,
) {
    let trouble = result.err().map(|source| Trouble::Gone { peer, source });
    shared.tell(ServerEvent::Leg {
        peer,
        id,
        leg,
        trouble,
    });
}
