//! TCP trials. The tester always connects: it may be behind a router, and a node opens no connections.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use wirelab_socket::flow::{Expect, Offer};
use wirelab_socket::tcp;
use wirelab_trial::{Cancel, Direction};

use crate::engine::{TrialWork, Work, WorkReport};

/// Time for the peer to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Interval between two checks for a connection.
const LOOK: Duration = Duration::from_millis(2);

/// A requested TCP trial.
#[derive(Clone, Copy, Debug)]
pub struct TcpTrial {
    pub direction: Direction,
    pub offer: Option<Offer>,
    pub expect: Expect,
    pub local: SocketAddr,
    pub peer: IpAddr,
}

/// Listen for the connections of a trial and plan its work; also returns the port.
pub fn plan(trial: &TcpTrial) -> io::Result<(TrialWork, u16)> {
    let listener = bind(trial.local)?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let (peer, expect) = (trial.peer, trial.expect);
    // With traffic in both directions, the first connection carries the peer's data, the second the node's.
    let (hand_over, handed) = sync_channel(1);
    let both = trial.direction == Direction::Both;
    let from_listener = (trial.direction == Direction::Transmit).then(|| listener.try_clone());
    let receive: Option<Work> = (trial.direction != Direction::Transmit).then(|| -> Work {
        Box::new(move |live, cancel| {
            let stream = accept(&listener, peer, cancel)?;
            if both {
                pass_on(&hand_over, accept(&listener, peer, cancel));
            }
            drop(listener);
            let received = tcp::receive(&stream, &expect, live, cancel)?;
            Ok(WorkReport::received(received))
        })
    });
    let from_listener = from_listener.transpose()?;
    let send = trial.offer.map(|offer| -> Work {
        Box::new(move |live, cancel| {
            let stream = match from_listener {
                Some(listener) => accept(&listener, peer, cancel)?,
                None => take_over(&handed, cancel)?,
            };
            let sent = tcp::send(&stream, &offer, live, cancel)?;
            // The end of the data ends the trial for the reader.
            let _ = stream.shutdown(Shutdown::Write);
            Ok(WorkReport::sent(sent))
        })
    });
    let plan = TrialWork {
        send,
        receive,
        ..TrialWork::default()
    };
    Ok((plan, port))
}

fn bind(local: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(local).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse => TcpListener::bind((local.ip(), 0)),
        _ => Err(error),
    })
}

/// The next connection from the peer; connections from other hosts are closed.
fn accept(listener: &TcpListener, peer: IpAddr, cancel: &Cancel) -> io::Result<TcpStream> {
    let until = Instant::now() + CONNECT;
    while !cancel.is_cancelled() && Instant::now() < until {
        match listener.accept() {
            Ok((stream, from)) if from.ip().to_canonical() == peer.to_canonical() => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(_) => {}
            Err(_) => std::thread::sleep(LOOK),
        }
    }
    Err(never(peer))
}

fn never(peer: IpAddr) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("{peer} did not connect to the port of the trial within {CONNECT:?}"),
    )
}

fn pass_on(to: &SyncSender<io::Result<TcpStream>>, stream: io::Result<TcpStream>) {
    // The sender may have ended already.
    let _ = to.try_send(stream);
}

fn take_over(from: &Receiver<io::Result<TcpStream>>, cancel: &Cancel) -> io::Result<TcpStream> {
    let until = Instant::now() + 2 * CONNECT;
    while !cancel.is_cancelled() && Instant::now() < until {
        match from.recv_timeout(LOOK) {
            Ok(stream) => return stream,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "the peer did not make the second connection",
    ))
}
