//! One UDP flow of a client, with the traffic back.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use wirelab_socket::batch::{Datagram, Receiver as Joined};
use wirelab_socket::mtu::path_mtu;
use wirelab_socket::udp::Drops;
use wirelab_trial::HoldWatch;

use super::tcp::both;
use super::{BACK_WAIT, ClientConfig, Results};
use crate::queue::Queue;
use crate::v2::client_header::Mode;
use crate::v2::datagram::{Head, IdWidth};
use crate::v2::io::{Env, Listener, PIECES, TICK, send_datagrams};
use crate::v2::outcome::{Leg, Trouble};
use crate::v2::receive::{Arrival, Receiver};
use crate::v2::report::ServerReport;
use crate::v2::send::{SendAction, SendPlan, Sender};
use crate::v2::sockets::{bind_udp, connect_udp};
use crate::v2::table::Id;

/// How long in ns to listen after the final datagram of a flow, to answer repetitions of it.
const LINGER_NS: u64 = 300_000_000;
/// A flow without datagrams for this many ns is over.
const QUIET_NS: u64 = 5_000_000_000;
/// A refusal within this time in ns means that no server was there; a later one, that the server is gone.
const REFUSAL_NS: u64 = 1_000_000_000;
/// An iperf server reopens its port for each stream and refuses what arrives in between. With several streams, a
/// refused client tries this often again, and waits before each try.
const BUSY_TRIES: u32 = 5;
const BUSY_WAIT: Duration = Duration::from_millis(30);
/// A refusal after more than this many ns has another cause.
const BUSY_NS: u64 = 100_000_000;
/// Time from one request to the next, in ns, until the server sends (`-R`): 10 ms, as iperf does.
const KNOCK_NS: u64 = 10_000_000;

pub(super) fn run(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results<'_>,
    number: u32,
) -> Result<(), Trouble> {
    let connect = |source| Trouble::Connect {
        peer: config.server,
        source,
    };
    let wanted = config.wanted();
    let socket = connect_udp(config.server, number - 1, wanted)?;
    let id = Id::Stream(number);
    results.began(id, socket.local_addr(), config.server);
    // Listens only on the address that the server sees.
    let own_ip = socket.local_addr().map_err(connect)?.ip();
    let own = || bind_udp((own_ip, config.back_port(number)).into(), wanted);
    let back = |path: &ReturnPath<'_>| receive(config, env, results, &socket, path);
    match config.mode {
        Mode::Forward => send(config, env, results, &socket, None, id),
        Mode::Reverse => {
            let sender = Sender::new(plan(config, config.server.port(), env), env.now_ns());
            back(&ReturnPath {
                listen: &socket,
                knock: Some(sender),
                answers: false,
                id: Id::Back(number),
            })
        }
        Mode::FullDuplex => both(
            || {
                back(&ReturnPath {
                    listen: &socket,
                    knock: None,
                    answers: false,
                    id: Id::Back(number),
                })
            },
            || send(config, env, results, &socket, None, id),
        ),
        Mode::Dual | Mode::Tradeoff => {
            let own = own()?;
            let port = own.local_addr().map_err(connect)?.port();
            let path = ReturnPath {
                listen: &own,
                knock: None,
                answers: true,
                id: config.back_id(number),
            };
            let sending = || send(config, env, results, &socket, Some(port), id);
            if config.mode == Mode::Dual {
                return both(|| back(&path), sending);
            }
            sending()?;
            back(&path)
        }
    }
}

/// How traffic back arrives.
struct ReturnPath<'a> {
    /// The socket.
    listen: &'a UdpSocket,
    /// Repeats the request until traffic arrives (`-R`).
    knock: Option<Sender>,
    /// Whether the server waits for a report. On its own port it would interpret one as a new flow.
    answers: bool,
    id: Id,
}

fn plan(config: &ClientConfig, port: u16, env: &Env<'_>) -> SendPlan {
    let generation = config.layout();
    let start = env.wall(env.now_ns());
    SendPlan {
        length_bytes: config.datagram_bytes(),
        rate: config.rate,
        amount: config.own_amount(),
        generation,
        header: generation.header_at().map(|_| config.header(port, start)),
        // On one socket neither end sends a report: it would look like data.
        wants_report: config.mode != Mode::FullDuplex,
        sending: config.sending,
    }
}

fn send(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results<'_>,
    socket: &UdpSocket,
    back: Option<u16>,
    id: Id,
) -> Result<(), Trouble> {
    let port = back.unwrap_or(config.server.port());
    let mut tries = 0;
    let (sender, result) = loop {
        let mut sender = Sender::new(plan(config, port, env), env.now_ns());
        let result = send_datagrams(socket, None, &mut sender, env, id);
        let soon = env.now_ns() - sender.start_ns() < BUSY_NS;
        if tries == BUSY_TRIES || config.streams < 2 || !(soon && is_refused(&result)) {
            break (sender, result);
        }
        tries += 1;
        std::thread::sleep(BUSY_WAIT);
    };
    let mtu_bytes = path_mtu(socket).ok().flatten();
    let sent = sender.sent().with_mtu(mtu_bytes, config.server.is_ipv6());
    results.leg(id, Leg::UdpSent(Box::new(sent)));
    let sent_for_ns = env.now_ns().saturating_sub(sender.start_ns());
    result.map_err(|source| match source.kind() {
        ErrorKind::ConnectionRefused if sent_for_ns < REFUSAL_NS => Trouble::Connect {
            peer: config.server,
            source,
        },
        _ => Trouble::Gone {
            peer: config.server,
            source,
        },
    })
}

/// Receives what the server sends. `connected` is the socket that is connected to the server.
fn receive(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results<'_>,
    connected: &UdpSocket,
    path: &ReturnPath<'_>,
) -> Result<(), Trouble> {
    let gone = |source: io::Error| Trouble::Gone {
        peer: config.server,
        source,
    };
    let begin_ns = env.now_ns();
    let queue = Queue::alone(path.listen, Drops::of(path.listen));
    let mut joined = Joined::joining(path.listen, PIECES);
    let mut watch = HoldWatch::start(HoldWatch::RECEIVER);
    let mut listener: Option<Listener> = None;
    let mut heard_ns = begin_ns;
    let mut knocks = Knocks::default();
    let (mut ended_ns, mut more) = (None, false);
    path.listen.set_read_timeout(Some(TICK / 2)).map_err(gone)?;
    while !env.stopped() {
        let now_ns = env.now_ns();
        if let (None, Some(sender)) = (&listener, &path.knock) {
            knocks.repeat(config, env, connected, sender)?;
        }
        let quiet_ns = match &listener {
            None => BACK_WAIT.as_nanos() as u64,
            Some(_) => QUIET_NS,
        };
        let overdue = now_ns - begin_ns > config.back_ns().saturating_add(QUIET_NS);
        let over = ended_ns.is_some_and(|at| now_ns > at + LINGER_NS);
        if over || overdue || now_ns.saturating_sub(heard_ns) > quiet_ns {
            break;
        }
        let began_ns = env.now_ns();
        watch.tick(began_ns);
        // An error is a timeout, or an ICMP message of a peer on the next call.
        let arrived = joined.receive_resting(path.listen);
        let arrived_ns = env.now_ns();
        // The arrival time is unknown.
        watch.idle(began_ns, arrived_ns, TICK);
        let arrived = arrived.into_iter().flatten();
        for datagram in arrived {
            if !is_server(config, datagram.from) {
                queue.took_foreign();
                continue;
            }
            heard_ns = arrived_ns;
            let first = listener.is_none();
            let from = datagram.from;
            if take(&mut listener, path, (&datagram, arrived_ns), &queue, env) {
                ended_ns.get_or_insert(arrived_ns);
            }
            // On the socket of the request its ends are already reported.
            if path.answers && first && listener.is_some() {
                results.began(path.id, path.listen.local_addr(), from);
            }
        }
        if let Some(listener) = &mut listener {
            listener.tell(arrived_ns, &queue, env.on_row);
            more = listener.receiver.all_bytes() > config.most_back(config.datagram_bytes());
            if more {
                break;
            }
        }
    }
    let Some(mut listener) = listener else {
        return Err(config.nothing_back(port_of(path.listen)));
    };
    listener.tell_rest(&queue, env.on_row);
    let mtu_bytes = path_mtu(connected).ok().flatten();
    let received = listener.received(&queue);
    let mut received = received.with_mtu(mtu_bytes, config.server.is_ipv6());
    // The requested traffic is over, although no final datagram arrived.
    received.finished |= more;
    received.held_up_ns = Some(watch.finish().held_ns);
    results.leg(path.id, Leg::UdpReceived(Box::new(received)));
    Ok(())
}

fn port_of(socket: &UdpSocket) -> u16 {
    socket.local_addr().map_or(0, |address| address.port())
}

fn is_refused<T>(result: &io::Result<T>) -> bool {
    let refused = |error: &io::Error| error.kind() == ErrorKind::ConnectionRefused;
    result.as_ref().is_err_and(refused)
}

fn is_server(config: &ClientConfig, from: SocketAddr) -> bool {
    from.ip().to_canonical() == config.server.ip().to_canonical()
}

/// Repeats the request for traffic back: the first datagram of a flow.
/// The requests for the server's traffic, until it comes.
#[derive(Default)]
struct Knocks {
    last_ns: u64,
    refusals: u32,
}

impl Knocks {
    /// Sends the next one where it is due. A busy server of several streams may refuse some.
    fn repeat(
        &mut self,
        config: &ClientConfig,
        env: &Env<'_>,
        connected: &UdpSocket,
        sender: &Sender,
    ) -> Result<(), Trouble> {
        let now_ns = env.now_ns();
        if self.last_ns > 0 && now_ns - self.last_ns < KNOCK_NS {
            return Ok(());
        }
        self.last_ns = now_ns;
        let knock = knock_once(connected, sender.clone(), env);
        let is_refused = is_refused(&knock);
        self.refusals += u32::from(is_refused);
        if is_refused && config.streams > 1 && self.refusals <= BUSY_TRIES {
            return Ok(());
        }
        knock.map_err(|source| Trouble::Connect {
            peer: config.server,
            source,
        })
    }
}

fn knock_once(socket: &UdpSocket, mut sender: Sender, env: &Env<'_>) -> io::Result<()> {
    let mut buf = vec![0; sender.buffer_bytes()];
    sender.prepare(&mut buf);
    // A copy of a sender that has sent nothing, so each request has the number 1.
    if let SendAction::Send(len) = sender.step(sender.start_ns(), env.wall(env.now_ns()), &mut buf)
    {
        socket.send(&buf[..len])?;
    }
    Ok(())
}

/// Takes one datagram, and answers a final one where the server waits for that; returns whether it was final.
fn take(
    listener: &mut Option<Listener>,
    path: &ReturnPath<'_>,
    (datagram, now_ns): (&Datagram<'_>, u64),
    queue: &Queue<'_>,
    env: &Env<'_>,
) -> bool {
    let (from, datagram) = (datagram.from, datagram.bytes);
    // A server that does not support --full-duplex answers the final datagram with a report.
    if !path.answers && is_report(datagram) {
        queue.took_foreign();
        return false;
    }
    if listener.is_none() {
        *listener = Receiver::new(datagram, now_ns).map(|receiver| {
            let receiver = receiver.with_wall(env.epoch_us, false);
            Listener::new(receiver, env.every_ns, path.id)
        });
    }
    let Some(listener) = listener else {
        queue.took_foreign();
        return false;
    };
    if listener.take(datagram, now_ns, queue, env.on_row) != Arrival::Final {
        return false;
    }
    if let (true, Some(answer)) = (path.answers, listener.receiver.answer(datagram)) {
        // The server repeats its request if the answer is lost.
        let _ = path.listen.send_to(&answer, from);
    }
    true
}

/// A report has the number 0, which no flow of a server uses.
fn is_report(datagram: &[u8]) -> bool {
    Head::parse(datagram, IdWidth::Wide).is_some_and(|head| head.id == 0)
        && ServerReport::parse(datagram).is_some()
}
