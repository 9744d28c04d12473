//! The tester's side of TCP trials: the tester always connects; in a trial of both directions the first connection
//! carries its own data, the second the node's.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wirelab_control::message::Started;
use wirelab_socket::tcp;
use wirelab_wire::header::UDP_PORT;

use super::flows::{Did, Sides};
use super::plan::Plan;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);

/// Connects; returns the tester's work.
pub fn sides<'a>(plan: &'a Plan, node: SocketAddr, started: &Started) -> io::Result<Sides<'a>> {
    let peer = SocketAddr::new(node.ip(), started.node_port.unwrap_or(UDP_PORT));
    let connect = || -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&peer, CONNECT)?;
        plan.mark(&stream)?;
        Ok(stream)
    };
    let to_node = plan.resolved.tester_sends().then(connect).transpose()?;
    let from_node = plan.resolved.node_sends().then(connect).transpose()?;
    let mut sides = Sides::default();
    if let Some(stream) = to_node {
        sides.send = Some(Box::new(move |live, cancel| {
            let sent = tcp::send(&stream, &plan.offer(), live, cancel)?;
            Ok(Did {
                sent: Some(sent),
                ..Did::default()
            })
        }));
    }
    if let Some(stream) = from_node {
        sides.receive = Some(Box::new(move |live, cancel| {
            let seen = tcp::receive(&stream, &plan.expect(), live, cancel)?;
            Ok(Did {
                seen: Some(seen),
                ..Did::default()
            })
        }));
    }
    Ok(sides)
}
