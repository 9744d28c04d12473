//! One TCP stream of a client, with the traffic back.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::{BACK_WAIT, CONNECT, ClientConfig, Results, accept};
use crate::sending::is_wait;
use crate::v2::client_header::{Mode, TIMED_TCP_LEN};
use crate::v2::io::{Blocks, Bursts, Env, Reading, TICK, receive_stream, retransmits, send_stream};
use crate::v2::outcome::{Leg, Trouble};
use crate::v2::progress::{FirstReply, Progress};
use crate::v2::sockets::{connect_tcp, listen_tcp};
use crate::v2::stream::{StreamSender, WRITE_BYTES};
use crate::v2::table::Id;

/// How long the server may take to read the data in flight, at the end.
const DRAIN: Duration = Duration::from_secs(5);
/// Time between checks whether everything is acknowledged.
const ACKED: Duration = Duration::from_millis(2);
/// A connection that ends within this time in ns was refused: even a busy server reads for longer.
const AT_ONCE_NS: u64 = 250_000_000;
/// A stream without data for this long is over.
const QUIET: Duration = Duration::from_secs(10);

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
    let mut stream = connect_tcp(config.server, number - 1, wanted, CONNECT)?;
    let id = Id::Stream(number);
    results.began(id, stream.local_addr(), config.server);
    let wants_port = matches!(config.mode, Mode::Tradeoff | Mode::Dual);
    let listener = match wants_port {
        true => {
            // Listens only on the address that the server sees.
            let own = stream.local_addr().map_err(connect)?.ip();
            Some(listen_tcp((own, config.back_port(number)).into(), wanted)?)
        }
        false => None,
    };
    let port = match &listener {
        Some(listener) => listener.local_addr().map_err(connect)?.port(),
        None => config.server.port(),
    };
    let header = config.header(port, env.wall(env.now_ns())).to_vec();
    match (config.mode, listener) {
        (Mode::Reverse, _) => {
            let header_written = stream.write_all(&header);
            config.gone(header_written)?;
            receive(config, env, results, &mut stream, Id::Back(number))
        }
        (Mode::FullDuplex, _) => {
            let mut copy = stream.try_clone().map_err(connect)?;
            both(
                || receive(config, env, results, &mut copy, Id::Back(number)),
                || send(config, env, results, &mut stream, &header, id),
            )
        }
        (Mode::Dual, Some(listener)) => both(
            || back(config, env, results, &listener, config.back_id(number)),
            || send(config, env, results, &mut stream, &header, id),
        ),
        (Mode::Tradeoff, Some(listener)) => {
            send(config, env, results, &mut stream, &header, id)?;
            drop(stream);
            back(config, env, results, &listener, config.back_id(number))
        }
        _ => send(config, env, results, &mut stream, &header, id),
    }
}

/// Two directions at once. An error of the first is reported before one of the second, because a wrong peer causes
/// both.
pub(super) fn both(
    first: impl FnOnce() -> Result<(), Trouble> + Send,
    second: impl FnOnce() -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    std::thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        // A panic is a bug, and is propagated.
        let first = first
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (first, second) {
            (Err(known @ Trouble::IsIperf3(_)), _) => Err(known),
            (_, Err(trouble)) if trouble.is_wrong_peer() => Err(trouble),
            (first, second) => first.and(second),
        }
    })
}

fn send(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results<'_>,
    stream: &mut TcpStream,
    header: &[u8],
    id: Id,
) -> Result<(), Trouble> {
    let length = config.call_bytes().max(1);
    let mut blocks = match config.mode {
        _ if config.trip_times => Blocks::timed(length, env),
        Mode::Tradeoff | Mode::Dual => Blocks::led_by(header, length),
        _ => Blocks::plain(length),
    };
    let amount = match config.trip_times {
        true => Blocks::whole(config.own_amount(), header.len(), length),
        false => config.own_amount(),
    };
    let sender = StreamSender::new(amount, config.rate, config.sending, length, env.now_ns());
    let began_ns = env.now_ns();
    let (mut leg, mut progress, result) = send_stream(stream, header, sender, &mut blocks, env, id);
    // With one socket another thread reads the traffic back.
    let reads = config.mode != Mode::FullDuplex;
    let drained = result.and_then(|()| drain(stream, reads, &mut progress, env));
    let lasted_ns = env.now_ns().saturating_sub(began_ns);
    let read_at = drained.as_ref().ok().copied().flatten();
    if let Leg::TcpSent {
        bytes,
        read_ns,
        stall,
        retransmits: again,
        ..
    } = &mut leg
    {
        // Data in flight at the end of the writes may have been sent again since.
        *again = retransmits(stream).or(*again);
        *bytes = bytes.saturating_sub(progress.unacked());
        (*read_ns, *stall) = (read_at, progress.stall());
    }
    results.leg(id, leg);
    if let Some(trouble) = wrong_peer(config, &progress) {
        return Err(trouble);
    }
    match drained {
        Err(_) if lasted_ns < AT_ONCE_NS => Err(Trouble::ClosedAtOnce(config.server)),
        // The peer may not have read what its system acknowledged.
        Ok(None) if reads && !env.stopped() => Err(Trouble::NotReading {
            peer: config.server,
            unread: progress.unacked(),
            for_s: match progress.unacked() {
                0 => DRAIN.as_secs_f64(),
                _ => progress.stalls_for_ns() as f64 / 1e9,
            },
        }),
        drained => config.gone(drained.map(drop)),
    }
}

/// The error for a peer whose first bytes are not those of an iperf 2 server.
fn wrong_peer(config: &ClientConfig, progress: &Progress) -> Option<Trouble> {
    match progress.said()? {
        // On one socket they are the traffic back.
        _ if config.mode == Mode::FullDuplex => None,
        FirstReply::Answer => None,
        FirstReply::Iperf3 => Some(Trouble::IsIperf3(config.server)),
        FirstReply::Strange => Some(Trouble::NotIperf(config.server)),
    }
}

/// Waits until the server has read everything and closes, so that the next step does not overlap; returns the time, or
/// `None` where it did not close. The wait lasts as long as the server makes progress. Where this end does not read, it
/// waits until everything is acknowledged.
fn drain(
    stream: &mut TcpStream,
    reads: bool,
    progress: &mut Progress,
    env: &Env<'_>,
) -> io::Result<Option<u64>> {
    let mut since = Instant::now();
    let mut buf = [0; 4096];
    let _ = stream.set_read_timeout(Some(TICK));
    while since.elapsed() < DRAIN && !env.stopped() {
        let before = progress.unacked();
        progress.look(stream, env.now_ns());
        if progress.unacked() < before {
            since = Instant::now();
        }
        if !reads {
            if progress.unacked() == 0 {
                return Ok(None);
            }
            std::thread::sleep(ACKED);
            continue;
        }
        match stream.read(&mut buf) {
            Ok(0) => {
                progress.look(stream, env.now_ns());
                // A reset after the end of the other side appears in no read.
                if let Some(error) = stream.take_error()? {
                    return Err(error);
                }
                if progress.unacked() == 0 {
                    return Ok(Some(env.now_ns()));
                }
                std::thread::sleep(ACKED);
            }
            Ok(len) => progress.heard(&buf[..len]),
            Err(error) if !is_wait(&error) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(None)
}

fn receive(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results<'_>,
    stream: &mut TcpStream,
    id: Id,
) -> Result<(), Trouble> {
    let until_ns = env.now_ns().saturating_add(config.back_ns());
    // Only on the connection that requested them; a connection of its own has a header that requests nothing.
    let timed = config.trip_times && matches!(config.mode, Mode::Reverse | Mode::FullDuplex);
    let reading = Reading {
        first: 0,
        quiet: QUIET,
        until_ns,
        most: config.most_back(config.length_bytes.unwrap_or(0).max(WRITE_BYTES)),
        bursts: timed.then(|| Bursts::after(TIMED_TCP_LEN)),
    };
    let first = Cell::new(None);
    let heard = |_, bytes: &[u8]| first.set(first.get().or(Some(FirstReply::of(bytes))));
    let (leg, result) = receive_stream(stream, reading, env, id, &heard);
    let nothing = matches!(leg, Leg::TcpReceived { bytes: 0, .. });
    results.leg(id, leg);
    let _ = stream.shutdown(Shutdown::Read);
    match &result {
        _ if first.get() == Some(FirstReply::Iperf3) => {
            return Err(Trouble::IsIperf3(config.server));
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
        // A server that supports this mode sends before it closes.
        _ if nothing && config.mode == Mode::Reverse && !env.stopped() => {
            return Err(Trouble::ClosedAtOnce(config.server));
        }
        _ => {}
    }
    config.gone(result)
}

/// Accepts the server's own connection back.
fn back(
    config: &ClientConfig,
    env: &Env<'_>,
    results: &Results<'_>,
    listener: &TcpListener,
    id: Id,
) -> Result<(), Trouble> {
    let port = listener
        .local_addr()
        .map_or(config.listen_port, |address| address.port());
    let until_ns = env.now_ns() + BACK_WAIT.as_nanos() as u64;
    match accept(listener, config.server, until_ns, env) {
        Some(mut stream) => {
            let peer = stream.peer_addr().unwrap_or(config.server);
            results.began(id, stream.local_addr(), peer);
            receive(config, env, results, &mut stream, id)
        }
        None => Err(config.nothing_back(port)),
    }
}
