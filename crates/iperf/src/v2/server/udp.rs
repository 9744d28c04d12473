//! The UDP flows of a server: one socket, one thread, a bounded number of flows identified by their sender.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use wirelab_socket::access::Access;
use wirelab_socket::batch::{Datagram, Receiver as Joined};
use wirelab_socket::udp::Drops;
use wirelab_trial::HoldWatch;

use super::{ServerEvent, ServerState, back, refusals};
use crate::queue::{Queue, SharedSocket};
use crate::v2::client_header::{ClientHeader, Mode};
use crate::v2::datagram::{Generation, Head};
use crate::v2::io::{Listener, PIECES, TICK};
use crate::v2::outcome::Leg;
use crate::v2::receive::{Arrival, Receiver};
use crate::v2::report::ANSWER_LEN;
use crate::v2::sockets::local_towards;
use crate::v2::table::Id;

/// How long in ns an ended flow is remembered, to answer repeated final datagrams.
const LINGER_NS: u64 = 3_000_000_000;

struct Flow {
    listener: Listener,
    header: Option<ClientHeader>,
    heard_ns: u64,
    /// The socket's drops before the flow began. The socket receives other flows too, so this is only a bound.
    drops: Drops,
    /// For how long the receiver had been paused until then, in ns.
    held_up_ns: u64,
    /// Bytes received of it, and bytes sent in answers.
    received_bytes: u64,
    said_bytes: u64,
}

impl Flow {
    fn mode(&self) -> Mode {
        self.header.map_or(Mode::Forward, |header| header.mode())
    }

    /// Whether an answer to `peer` may be sent. A peer whose address may be forged never gets more bytes than it sent.
    fn may_answer(&mut self, peer: SocketAddr, access: &Access) -> bool {
        let said = self.said_bytes + ANSWER_LEN as u64;
        let may = said <= self.received_bytes || access.may_send(peer.ip());
        self.said_bytes = if may { said } else { self.said_bytes };
        may
    }

    /// Whether this is data of the running flow of `peer`: then no other check is needed.
    fn takes(&self, datagram: &Datagram<'_>, peer: SocketAddr) -> bool {
        let receiver = &self.listener.receiver;
        datagram.from == peer
            && !receiver.is_finished()
            && self.mode() != Mode::Reverse
            && Head::parse(datagram.bytes, receiver.generation().ids())
                .is_some_and(|head| head.id >= 0)
    }
}

/// The socket's drops at the two latest checks. The first datagram of a flow was queued some time before it is read,
/// and others of the flow may have been dropped by then. The drops since an earlier check bound them.
struct Earlier(Drops, Drops);

impl Earlier {
    fn start() -> Earlier {
        let before = Drops::before_socket();
        Earlier(before, before)
    }

    fn look(&mut self, socket: &SharedSocket<'_>) {
        *self = Earlier(self.1, socket.drops());
    }
}

/// Serve until the server is stopped.
pub(super) fn serve(shared: &Arc<ServerState>, socket: &UdpSocket) {
    let mut flows: HashMap<SocketAddr, Flow> = HashMap::new();
    let mut joined = Joined::joining(socket, PIECES);
    let (mut swept_ns, mut dropped) = (0, Earlier::start());
    refusals::keep(socket);
    if socket.set_read_timeout(Some(TICK)).is_err() {
        return;
    }
    let mut watch = HoldWatch::start(HoldWatch::RECEIVER);
    while !shared.stopped() {
        let began_ns = shared.now_ns();
        watch.tick(began_ns);
        let held_ns = watch.found().held_ns;
        shared.held_up_ns.store(held_ns, Ordering::Relaxed);
        // An error is a timeout, or an ICMP message of a peer on the next call.
        let arrived = joined.receive_resting(socket).into_iter().flatten();
        let now_ns = shared.now_ns();
        // The arrival time is unknown.
        watch.idle(began_ns, now_ns, TICK);
        let counted = SharedSocket::new(socket);
        let mut arrived = arrived.peekable();
        while let Some(datagram) = arrived.next() {
            take(shared, &counted, &mut flows, &dropped, &datagram, now_ns);
            // The next ones are nearly always data of the same flow.
            if let Some(flow) = flows.get_mut(&datagram.from) {
                while let Some(next) = arrived.next_if(|next| flow.takes(next, datagram.from)) {
                    flow.received_bytes += next.bytes.len() as u64;
                    flow.listener.receiver.take(next.bytes, now_ns);
                }
            }
        }
        if now_ns.saturating_sub(swept_ns) > TICK.as_nanos() as u64 {
            swept_ns = now_ns;
            refusals::take(socket, |peer| shared.senders.refuse(peer));
            sweep(shared, &counted, &mut flows, now_ns);
            dropped.look(&counted);
        }
    }
    let counted = SharedSocket::new(socket);
    for (peer, mut flow) in flows.drain() {
        end(shared, &counted, peer, &mut flow);
    }
}

fn take(
    shared: &Arc<ServerState>,
    socket: &SharedSocket<'_>,
    flows: &mut HashMap<SocketAddr, Flow>,
    dropped: &Earlier,
    datagram: &Datagram<'_>,
    now_ns: u64,
) {
    let (peer, datagram) = (datagram.from, datagram.bytes);
    if flows
        .get(&peer)
        .is_some_and(|flow| starts_anew(flow, datagram))
    {
        flows.remove(&peer);
    }
    if !flows.contains_key(&peer) {
        if !shared.config.access.may_test(peer.ip()) {
            return;
        }
        let Some(receiver) = Receiver::new(datagram, now_ns) else {
            return;
        };
        make_room(shared, socket, flows);
        let flow = admit(shared, socket.socket, receiver, datagram, peer, dropped.0);
        flows.insert(peer, flow);
    }
    let Some(flow) = flows.get_mut(&peer) else {
        return;
    };
    flow.heard_ns = now_ns;
    flow.received_bytes += datagram.len() as u64;
    if flow.mode() == Mode::Reverse {
        // The client only repeats its request until data arrives.
        return;
    }
    let ended = flow.listener.receiver.is_finished();
    let on_row = |row| shared.tell(ServerEvent::Row(row));
    let queue = Queue::shared(socket, flow.drops);
    if flow.listener.take(datagram, now_ns, &queue, &on_row) != Arrival::Final {
        return;
    }
    let answer = flow.listener.receiver.answer(datagram);
    // On the socket of the traffic back a report would look like data, so iperf sends none.
    let may_answer = flow.may_answer(peer, &shared.config.access);
    if let (Some(answer), true) = (answer, may_answer && flow.mode() != Mode::FullDuplex) {
        // The client repeats its request if the answer is lost, also where the first try only returned an ICMP error of
        // another peer.
        let answered = || socket.socket.send_to(&answer, peer);
        let _ = answered().or_else(|_| answered());
    }
    if !ended {
        end_once(shared, socket, peer, flow);
        if let (Mode::Tradeoff, Some(header)) = (flow.mode(), flow.header) {
            back::udp(shared, peer, header, flow.listener.receiver.generation());
        }
    }
}

/// Whether a client uses its port again, after the end of its earlier flow.
fn starts_anew(flow: &Flow, datagram: &[u8]) -> bool {
    flow.listener.receiver.is_finished()
        && Generation::detect(datagram)
            .and_then(|kind| Head::parse(datagram, kind.ids()))
            .is_some_and(|head| (0..=1).contains(&head.id))
}

fn admit(
    shared: &Arc<ServerState>,
    socket: &UdpSocket,
    receiver: Receiver,
    datagram: &[u8],
    peer: SocketAddr,
    drops: Drops,
) -> Flow {
    let kind = receiver.generation();
    let header = ClientHeader::of_datagram(kind, datagram);
    if let Some(header) = header {
        match header.mode() {
            Mode::Dual => back::udp(shared, peer, header, kind),
            Mode::Reverse | Mode::FullDuplex => {
                back::udp_same_socket(shared, socket, peer, header, kind);
            }
            Mode::Forward | Mode::Tradeoff => {}
        }
    }
    let id = Id::Stream(shared.stream_id());
    let receiver = receiver.with_wall(shared.epoch_us(), tells_times(kind, header));
    if header.is_none_or(|header| header.mode() != Mode::Reverse) {
        shared.began(local_towards(socket, peer), peer, id, header.as_ref());
    }
    Flow {
        drops,
        held_up_ns: shared.held_up_ns(),
        received_bytes: 0,
        said_bytes: 0,
        heard_ns: receiver.start_ns(),
        listener: Listener::new(receiver, shared.every_ns(), id),
        header,
    }
}

/// Whether the client requests one-way times in its report (`--trip-times`).
fn tells_times(kind: Generation, header: Option<ClientHeader>) -> bool {
    kind == Generation::SmallTripTimes || header.is_some_and(|header| header.wants_trip_times())
}

/// If all slots are taken, replaces the flow that has been idle longest.
fn make_room(
    shared: &Arc<ServerState>,
    socket: &SharedSocket<'_>,
    flows: &mut HashMap<SocketAddr, Flow>,
) {
    if flows.len() < shared.config.max_flows.max(1) {
        return;
    }
    // Flows of a single datagram are replaced first, so that forged senders cannot push a test out.
    let quietest = flows
        .iter()
        .min_by_key(|(_, flow)| {
            let received = flow.listener.receiver.received();
            (
                received.datagrams > 1 && !flow.listener.receiver.is_finished(),
                flow.heard_ns,
            )
        })
        .map(|(peer, _)| *peer);
    if let Some(peer) = quietest {
        if let Some(mut flow) = flows.remove(&peer) {
            end(shared, socket, peer, &mut flow);
        }
    }
}

/// Ends flows that were idle for too long, and reports intervals without arrivals.
fn sweep(
    shared: &Arc<ServerState>,
    socket: &SharedSocket<'_>,
    flows: &mut HashMap<SocketAddr, Flow>,
    now_ns: u64,
) {
    let quiet_ns = shared.config.quiet.as_nanos() as u64;
    let on_row = |row| shared.tell(ServerEvent::Row(row));
    flows.retain(|peer, flow| {
        let since = now_ns.saturating_sub(flow.heard_ns);
        if flow.listener.receiver.is_finished() {
            return since < LINGER_NS;
        }
        if flow.mode() != Mode::Reverse {
            let queue = Queue::shared(socket, flow.drops);
            flow.listener.tell(now_ns, &queue, &on_row);
        }
        if since < quiet_ns {
            return true;
        }
        end(shared, socket, *peer, flow);
        false
    });
}

/// Reports a flow that ends without a final datagram.
fn end(shared: &ServerState, socket: &SharedSocket<'_>, peer: SocketAddr, flow: &mut Flow) {
    if !flow.listener.receiver.is_finished() && flow.mode() != Mode::Reverse {
        end_once(shared, socket, peer, flow);
    }
}

fn end_once(shared: &ServerState, socket: &SharedSocket<'_>, peer: SocketAddr, flow: &mut Flow) {
    let queue = Queue::shared(socket, flow.drops);
    let on_row = |row| shared.tell(ServerEvent::Row(row));
    flow.listener.tell_rest(&queue, &on_row);
    let mut received = flow.listener.received(&queue);
    received.held_up_ns = Some(shared.held_up_ns().saturating_sub(flow.held_up_ns));
    let leg = Leg::UdpReceived(Box::new(received));
    back::finish(shared, peer, flow.listener.id(), leg, Ok(()));
}
