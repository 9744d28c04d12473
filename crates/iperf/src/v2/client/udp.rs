//! One UDP flow of a client, with the traffic back.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};

use super::tcp::both;
use super::{BACK_WAIT, ClientConfig, Results, bind_udp};
use crate::v2::client_header::{DATAGRAM_BYTES, Mode};
use crate::v2::datagram::Generation;
use crate::v2::io::{Env, Listener, TICK, send_datagrams, set_window};
use crate::v2::outcome::Trouble;
use crate::v2::receive::{Arrival, Receiver};
use crate::v2::send::{SendPlan, Sender, Step};
use crate::v2::table::Id;

/// A flow of which the final datagram came is listened to so long in ns, to answer further ones.
const LINGER_NS: u64 = 300_000_000;
/// A flow that stays quiet for so long in ns is over.
const QUIET_NS: u64 = 5_000_000_000;
/// A refusal that comes sooner, in ns, says that nobody was there; a later one that the server is gone.
const REFUSAL_NS: u64 = 1_000_000_000;
/// From one knock to the next, in ns, until the server sends (`-R`): 10 ms, as iperf does.
const KNOCK_NS: u64 = 10_000_000;

pub(super) fn run(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results,
    number: u32,
) -> Result<(), Trouble> {
    let connect = |source| Trouble::Connect {
        peer: config.server,
        source,
    };
    let socket = bind_udp(config.any_address(0))?;
    set_window(&socket, config.window_bytes);
    socket.connect(config.server).map_err(connect)?;
    let id = Id::Stream(number);
    let back_id = Id::Back(number + 1);
    let any_port = config.any_address(config.listen_port);
    match config.mode {
        Mode::Forward | Mode::FullDuplex => send(config, env, results, &socket, None, id),
        Mode::Reverse => {
            let sender = Sender::new(plan(config, config.server.port()), env.now_ns());
            let knock = Some((&socket, sender));
            let port = config.server.port();
            receive(config, env, results, &socket, knock, port, Id::Back(number))
        }
        Mode::Dual => {
            let own = bind_udp(any_port)?;
            set_window(&own, config.window_bytes);
            let port = own.local_addr().map_err(connect)?.port();
            both(
                || receive(config, env, results, &own, None, port, back_id),
                || send(config, env, results, &socket, Some(port), id),
            )
        }
        Mode::Tradeoff => {
            let own = bind_udp(any_port)?;
            set_window(&own, config.window_bytes);
            let port = own.local_addr().map_err(connect)?.port();
            send(config, env, results, &socket, Some(port), id)?;
            receive(config, env, results, &own, None, port, back_id)
        }
    }
}

fn plan(config: &ClientConfig, port: u16) -> SendPlan {
    SendPlan {
        length_bytes: config.length_bytes.unwrap_or(DATAGRAM_BYTES),
        rate: config.rate,
        amount: config.amount,
        generation: if config.header {
            Generation::Wide
        } else {
            Generation::Bare
        },
        header: config.header.then(|| config.header(port)),
        wants_report: true,
    }
}

fn send(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results,
    socket: &UdpSocket,
    back: Option<u16>,
    id: Id,
) -> Result<(), Trouble> {
    let port = back.unwrap_or(config.server.port());
    let mut sender = Sender::new(plan(config, port), env.now_ns());
    let result = send_datagrams(socket, None, &mut sender, env, id);
    results.leg(id, crate::v2::Leg::UdpSent(Box::new(sender.sent())));
    let ran_ns = env.now_ns().saturating_sub(sender.start_ns());
    result.map_err(|source| match source.kind() {
        ErrorKind::ConnectionRefused if ran_ns < REFUSAL_NS => Trouble::Connect {
            peer: config.server,
            source,
        },
        _ => Trouble::Gone {
            peer: config.server,
            source,
        },
    })
}

/// Receive what the server sends, on a port of its own or, with `knock`, on the socket that asks for it.
fn receive(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results,
    socket: &UdpSocket,
    mut knock: Option<(&UdpSocket, Sender)>,
    port: u16,
    id: Id,
) -> Result<(), Trouble> {
    let gone = |source: io::Error| Trouble::Gone {
        peer: config.server,
        source,
    };
    let begin_ns = env.now_ns();
    let mut buf = vec![0; 65_536];
    let mut listener: Option<Listener> = None;
    let mut heard_ns = begin_ns;
    let (mut knocked_ns, mut ended_ns) = (0, None);
    socket.set_read_timeout(Some(TICK / 2)).map_err(gone)?;
    while !env.stopped() {
        let now_ns = env.now_ns();
        if let (None, Some((socket, sender))) = (&listener, &mut knock) {
            if knocked_ns == 0 || now_ns - knocked_ns >= KNOCK_NS {
                knocked_ns = now_ns;
                knock_once(socket, sender.clone(), env).map_err(|source| Trouble::Connect {
                    peer: config.server,
                    source,
                })?;
            }
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
        match socket.recv_from(&mut buf) {
            Ok((len, from)) if is_server(config, from) => {
                heard_ns = env.now_ns();
                let answer_to = knock.is_none().then_some(from);
                let final_now = take(&mut listener, socket, &buf[..len], answer_to, env, id);
                if final_now && ended_ns.is_none() {
                    ended_ns = Some(heard_ns);
                }
            }
            _ => {
                if let Some(listener) = &mut listener {
                    listener.tell(env.now_ns(), env.on_row);
                }
            }
        }
    }
    match listener {
        Some(listener) => {
            results.leg(id, listener.leg());
            Ok(())
        }
        None => Err(config.nothing_back(port)),
    }
}

fn is_server(config: &ClientConfig, from: SocketAddr) -> bool {
    from.ip().to_canonical() == config.server.ip().to_canonical()
}

/// Ask for the traffic back once more: the first datagram of a flow, again and again.
fn knock_once(socket: &UdpSocket, mut sender: Sender, env: &Env<'_>) -> io::Result<()> {
    let mut buf = vec![0; sender.buffer_bytes()];
    sender.prepare(&mut buf);
    // A copy of a sender that has sent nothing: each knock has the number 1.
    if let Step::Send(len) = sender.step(sender.start_ns(), env.wall(env.now_ns()), &mut buf) {
        socket.send(&buf[..len])?;
    }
    Ok(())
}

/// Take one datagram, and answer a final one; whether it was final. On the server's own port an answer would look
/// like a new flow, so there none is given.
fn take(
    listener: &mut Option<Listener>,
    socket: &UdpSocket,
    datagram: &[u8],
    answer_to: Option<SocketAddr>,
    env: &Env<'_>,
    id: Id,
) -> bool {
    let now_ns = env.now_ns();
    if listener.is_none() {
        *listener = Receiver::new(datagram, now_ns)
            .map(|receiver| Listener::new(receiver, env.every_ns, id));
    }
    let Some(listener) = listener else {
        return false;
    };
    if listener.take(datagram, now_ns, env.on_row) != Arrival::Final {
        return false;
    }
    if let (Some(to), Some(answer)) = (answer_to, listener.receiver.answer(datagram)) {
        // The server asks again for what does not get through.
        let _ = socket.send_to(&answer, to);
    }
    true
}
