//! The TCP connections of a server: a thread for each, a bounded number of them.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{ServerState, back, bounce};
use crate::sending::is_wait;
use crate::v2::client_header::{ClientHeader, EXTENDED_LEN, Mode, ack};
use crate::v2::flags::base;
use crate::v2::io::{Bursts, Reading, TICK, receive_stream};
use crate::v2::sockets::notice_silence;
use crate::v2::table::Id;
use wirelab_socket::access::Proof;

/// An incomplete header is used as it is after this much silence.
const HEADER_WAIT: Duration = Duration::from_millis(500);
/// A connection without data for this many ns may be replaced by a new one.
const QUIET_NS: u64 = 1_000_000_000;

/// One connection, to be closed from outside.
struct Entry {
    stream: TcpStream,
    ip: IpAddr,
    heard_ns: Arc<AtomicU64>,
}

type Connections = Arc<Mutex<Vec<Entry>>>;

/// Serve until the server is stopped.
pub(super) fn serve(shared: &Arc<ServerState>, listener: &TcpListener) {
    let connections = Connections::default();
    while !shared.stopped() {
        match listener.accept() {
            Ok((stream, peer)) => {
                let access = &shared.config.access;
                access.note(peer.ip(), Proof::Receives);
                match access.may_test(peer.ip()) {
                    true => admit(shared, &connections, stream, peer),
                    false => shared.refuse(peer, "a test: it may not use this server"),
                }
            }
            Err(error) if is_wait(&error) => std::thread::sleep(Duration::from_millis(2)),
            // Out of file descriptors, or a peer that is already gone: the others continue.
            Err(_) => std::thread::sleep(TICK),
        }
    }
}

fn admit(
    shared: &Arc<ServerState>,
    connections: &Connections,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let Ok(copy) = stream.try_clone() else {
        return;
    };
    let heard_ns = Arc::new(AtomicU64::new(0));
    {
        let mut open = connections.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= shared.config.max_connections.max(1)
            && !make_room(&mut open, peer.ip(), shared.now_ns())
        {
            shared.refuse(peer, "a connection: the server has as many as it may");
            return;
        }
        open.push(Entry {
            stream: copy,
            ip: peer.ip(),
            heard_ns: Arc::clone(&heard_ns),
        });
    }
    let (connections, own) = (Arc::clone(connections), Arc::clone(shared));
    shared.spawn(move || {
        serve_connection(&own, stream, peer, &heard_ns);
        connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|entry| !Arc::ptr_eq(&entry.heard_ns, &heard_ns));
    });
}

/// Closes the connection that has been silent longest, if it is idle or never received anything. Otherwise closes the
/// oldest connection of a peer with the most, so that no peer can keep others out by holding connections. Returns
/// whether it closed one.
fn make_room(open: &mut Vec<Entry>, newcomer: IpAddr, now_ns: u64) -> bool {
    let heard = |entry: &Entry| entry.heard_ns.load(Ordering::Relaxed);
    let quiet = |entry: &Entry| {
        let at_ns = heard(entry);
        at_ns == 0 || now_ns.saturating_sub(at_ns) >= QUIET_NS
    };
    let of = |ip: IpAddr| open.iter().filter(|entry| entry.ip == ip).count();
    let quietest = (0..open.len()).min_by_key(|at| heard(&open[*at]));
    let at = quietest.filter(|at| quiet(&open[*at])).or_else(|| {
        let most = open.iter().map(|entry| of(entry.ip)).max()?;
        let own = of(newcomer);
        let oldest = open.iter().position(|entry| of(entry.ip) == most);
        // If no peer has more than one, a second one of the newcomer is refused.
        oldest.filter(|_| own < most || own > 1)
    });
    let Some(at) = at else { return false };
    let entry = open.remove(at);
    let _ = entry.stream.shutdown(Shutdown::Both);
    true
}

fn serve_connection(
    shared: &Arc<ServerState>,
    mut stream: TcpStream,
    peer: SocketAddr,
    heard_ns: &AtomicU64,
) {
    let heard = |now_ns: u64| heard_ns.store(now_ns.max(1), Ordering::Relaxed);
    let mut start = [0; 128];
    let Ok(len) = read_header(shared, &mut stream, &mut start, &heard) else {
        return;
    };
    notice_silence(&stream);
    match bounce::requested_block(&start[..len]) {
        Some(Ok(bytes)) => return bounce_back(shared, &mut stream, &start[..len], bytes, &heard),
        Some(Err(why)) => return shared.refuse(peer, why),
        None => {}
    }
    let header = ClientHeader::of_stream(&start[..len.min(EXTENDED_LEN)]);
    let mode = header.map_or(Mode::Forward, |header| header.mode());
    let id = Id::Stream(shared.stream_id());
    if header.is_some_and(|header| header.wants_ack()) && stream.write_all(&ack()).is_err() {
        return;
    }
    if let (Mode::Reverse, Some(header)) = (mode, header) {
        let Some(reservation) = back::Reservation::take(shared, peer, &header) else {
            return;
        };
        back::stream_out(&reservation, &mut stream, peer, &header, id);
        drop(reservation);
        linger(shared, &mut stream);
        return;
    }
    match (mode, header) {
        (Mode::Dual, Some(header)) => back::tcp(shared, peer, header),
        (Mode::FullDuplex, Some(header)) => send_beside(shared, &stream, peer, header),
        _ => {}
    }
    shared.began(stream.local_addr(), peer, id, header.as_ref());
    let (leg, result) = shared.with_env(|env| {
        let timed = header.is_some_and(|header| header.wants_trip_times());
        let reading = Reading {
            first: len,
            quiet: shared.config.quiet,
            until_ns: u64::MAX,
            most: u64::MAX,
            bursts: timed.then(|| Bursts::after(0)),
        };
        receive_stream(&mut stream, reading, env, id, &|now_ns, _| heard(now_ns))
    });
    back::finish(shared, peer, id, leg, result);
    if let (Mode::Tradeoff, Some(header)) = (mode, header) {
        back::tcp(shared, peer, header);
    }
}

fn bounce_back(
    shared: &Arc<ServerState>,
    stream: &mut TcpStream,
    start: &[u8],
    bytes: usize,
    heard: &dyn Fn(u64),
) {
    let Ok(peer) = stream.peer_addr() else {
        return;
    };
    let id = Id::Stream(shared.stream_id());
    let quiet = shared.config.quiet;
    let (leg, result) =
        shared.with_env(|env| bounce::serve(stream, start, bytes, quiet, env, heard));
    back::finish(shared, peer, id, leg, result);
}

/// Sends on the connection that also receives.
fn send_beside(
    shared: &Arc<ServerState>,
    stream: &TcpStream,
    peer: SocketAddr,
    header: ClientHeader,
) {
    let (Some(reservation), Ok(mut copy)) = (
        back::Reservation::take(shared, peer, &header),
        stream.try_clone(),
    ) else {
        return;
    };
    let own = Arc::clone(shared);
    shared.spawn(move || {
        let id = Id::Back(own.stream_id());
        back::stream_out(&reservation, &mut copy, peer, &header, id);
    });
}

/// Reads until the header is complete, if the first word announces one. It reads no more, so that the clock of the flow
/// starts with its data.
fn read_header(
    shared: &ServerState,
    stream: &mut TcpStream,
    start: &mut [u8; 128],
    heard: &dyn Fn(u64),
) -> io::Result<usize> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(TICK))?;
    let mut len = 0;
    let mut wanted = 4;
    let mut since = Instant::now();
    while len < wanted && !shared.stopped() {
        match stream.read(&mut start[len..wanted]) {
            Ok(0) => break,
            Ok(more) => {
                len += more;
                heard(shared.now_ns());
                since = Instant::now();
            }
            Err(error) if is_wait(&error) => {
                // With no data at all the limit of idle flows applies; half a header is treated as data.
                let limit = if len == 0 {
                    shared.config.quiet
                } else {
                    HEADER_WAIT
                };
                if since.elapsed() > limit {
                    break;
                }
            }
            Err(error) => return Err(error),
        }
        if len >= 4 && wanted == 4 {
            let first = u32::from_be_bytes([start[0], start[1], start[2], start[3]]);
            wanted = match first & base::BOUNCEBACK {
                0 => ClientHeader::tcp_len(first).clamp(4, start.len()),
                _ => 8,
            };
        }
    }
    if len == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(len)
}

/// Reads what the peer still sends, until it closes or for a second: unread bytes would reset the connection.
fn linger(shared: &ServerState, stream: &mut TcpStream) {
    let since = Instant::now();
    let mut buf = [0; 4096];
    while since.elapsed() < Duration::from_secs(1) && !shared.stopped() {
        match stream.read(&mut buf) {
            Ok(0) => return,
            Err(error) if !is_wait(&error) => return,
            _ => {}
        }
    }
}
