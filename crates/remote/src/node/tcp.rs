//! The tester's side of TCP trials: the tester always connects; in a trial of both directions the first connection
//! carries its own data, the second the node's.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, socket};
use wirelab_control::message::Started;
use wirelab_socket::tcp;
use wirelab_wire::header::UDP_PORT;

use super::flows::{Sides, WorkResult};
use super::plan::NodeTrial;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);

/// A connection that is marked from its first packet on.
fn connect(plan: &NodeTrial, peer: SocketAddr) -> io::Result<TcpStream> {
    let family = match peer {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let socket = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    plan.mark(&socket)?;
    let stream = TcpStream::from(socket);
    // It bounds the connection too (socket(7)), which is then reported as in progress.
    stream.set_write_timeout(Some(CONNECT))?;
    let connected = nix::sys::socket::connect(stream.as_raw_fd(), &SockaddrStorage::from(peer));
    connected.map_err(|error| match error {
        Errno::EINPROGRESS => io::ErrorKind::TimedOut.into(),
        error => io::Error::from(error),
    })?;
    stream.set_write_timeout(None)?;
    Ok(stream)
}

/// Connects, and returns the tester's work in the trial.
pub fn sides<'a>(
    plan: &'a NodeTrial,
    node: SocketAddr,
    started: &Started,
) -> io::Result<Sides<'a>> {
    let peer = SocketAddr::new(node.ip(), started.node_port.unwrap_or(UDP_PORT));
    let connect = || connect(plan, peer);
    let to_node = plan.resolved.tester_sends().then(connect).transpose()?;
    let from_node = plan.resolved.node_sends().then(connect).transpose()?;
    let mut sides = Sides::default();
    if let Some(stream) = to_node {
        sides.send = Some(Box::new(move |live, cancel| {
            let sent = tcp::send(&stream, &plan.offer(), live, cancel)?;
            Ok(WorkResult {
                sent: Some(sent),
                ..WorkResult::default()
            })
        }));
    }
    if let Some(stream) = from_node {
        sides.receive = Some(Box::new(move |live, cancel| {
            let received = tcp::receive(&stream, &plan.expect(), live, cancel)?;
            Ok(WorkResult {
                received: Some(received),
                ..WorkResult::default()
            })
        }));
    }
    Ok(sides)
}
