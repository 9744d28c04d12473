//! UDP trials: source, sink and echo of test frames, to and from the peer that asked alone.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use wirelab_socket::echo::{self, Wait};
use wirelab_socket::flow::{Expect, Offer};
use wirelab_socket::udp;
use wirelab_trial::{Cancel, Direction};

use crate::engine::{Plan, Told, Work};

/// A peer gets the reply to its request before the first frame.
pub const AFTER_REPLY: Duration = Duration::from_millis(20);

/// A UDP trial as it was asked.
#[derive(Clone, Copy, Debug)]
pub struct UdpTrial {
    pub direction: Direction,
    pub offer: Option<Offer>,
    pub expect: Expect,
    pub local: SocketAddr,
    pub peer: SocketAddr,
    pub expected_frames: Option<u64>,
}

/// Open the socket of a trial and plan its work; also the port that it has.
pub fn plan(trial: &UdpTrial) -> io::Result<(Plan, u16)> {
    let socket = bind(trial.local)?;
    let port = socket.local_addr()?.port();
    if trial.offer.is_some() {
        // Nothing can be sent elsewhere, and nothing from elsewhere is heard.
        socket.connect(trial.peer)?;
    }
    let socket = Arc::new(socket);
    let (peer, expect) = (trial.peer.ip(), trial.expect);
    let receive: Option<Work> = match trial.direction {
        Direction::Transmit => None,
        Direction::Echo => Some(reflector(Arc::clone(&socket), peer)),
        Direction::Receive | Direction::Both => {
            let socket = Arc::clone(&socket);
            Some(Box::new(move |live, cancel| {
                let seen = udp::receive(&socket, Some(peer), &expect, live, cancel)?;
                Ok(Told::Seen(Box::new(seen)))
            }))
        }
    };
    let send = trial.offer.map(|offer| -> Work {
        Box::new(move |live, cancel| {
            wait(AFTER_REPLY, cancel);
            let sent = udp::send(&socket, &offer, live, cancel)?;
            Ok(Told::Sent(Box::new(sent)))
        })
    });
    let plan = Plan {
        send,
        receive,
        expected_frames: trial.expected_frames,
    };
    Ok((plan, port))
}

fn reflector(socket: Arc<UdpSocket>, peer: IpAddr) -> Work {
    Box::new(move |live, cancel| {
        let seen = echo::reflect(&socket, Some(peer), Wait::Sleep, live, cancel)?;
        Ok(Told::Echoed(Box::new(seen)))
    })
}

/// The port that was asked, or a free one where it is in use.
fn bind(local: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(local).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse => UdpSocket::bind((local.ip(), 0)),
        _ => Err(error),
    })
}

/// Wait, unless the trial is over.
pub fn wait(time: Duration, cancel: &Cancel) {
    if !cancel.is_cancelled() {
        std::thread::sleep(time);
    }
}
