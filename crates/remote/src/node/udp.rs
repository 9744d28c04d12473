//! The tester's side of UDP trials. It always sends to the address that the user gave, whatever the node names.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use wirelab_control::message::{Start, Started};
use wirelab_socket::echo::{self, Stamps, Wait};
use wirelab_socket::flow::{Reception, Sent};
use wirelab_socket::udp;
use wirelab_trial::{Cancel, Direction, NodeError};
use wirelab_wire::header::UDP_PORT;

use super::background;
use super::flows::{Sides, WorkResult};
use super::plan::NodeTrial;
use crate::host::unreachable_peer;
use crate::route::{any_of, connected};

/// The socket of a trial, made before the node starts.
pub fn prepare(node: SocketAddr, start: &mut Start) -> Result<(UdpSocket, udp::Ready), NodeError> {
    let socket = UdpSocket::bind(any_of(node)).map_err(|e| unreachable_peer(node, &e))?;
    let ready = udp::prepare(&socket);
    start.peer_port = Some(
        socket
            .local_addr()
            .map_err(|e| unreachable_peer(node, &e))?
            .port(),
    );
    Ok((socket, ready))
}

/// The tester's work in the started trial.
pub fn sides<'a>(
    plan: &'a NodeTrial,
    node: SocketAddr,
    started: &Started,
    (socket, ready): (&'a UdpSocket, udp::Ready),
) -> io::Result<Sides<'a>> {
    let peer = SocketAddr::new(node.ip(), started.node_port.unwrap_or(UDP_PORT));
    let mut sides = Sides::default();
    plan.mark(socket)?;
    if plan.resolved.trial.direction == Direction::Echo {
        socket.connect(peer)?;
        let beside = background::socket(plan, peer)?;
        sides.send = Some(Box::new(move |_, cancel| {
            // The floor is measured with a background too.
            let probed = || probe(plan, socket, cancel);
            let (did, background) = background::around(plan, beside.as_ref(), probed)?;
            Ok(WorkResult { background, ..did })
        }));
    } else if plan.resolved.tester_sends() {
        socket.connect(peer)?;
        let second = plan
            .turns
            .map(|port| connected(SocketAddr::new(node.ip(), port)));
        let second = second.transpose()?;
        second.iter().try_for_each(|second| plan.mark(second))?;
        let beside = background::socket(plan, peer)?;
        sides.send = Some(Box::new(move |live, cancel| {
            let mut background = background::begin(plan, beside.as_ref())?;
            let sockets = (socket, second.as_ref());
            let sent = udp::send_beside(sockets, &plan.offer(), background.as_mut(), live, cancel)?;
            Ok(WorkResult {
                sent: Some(sent),
                background: background.map(udp::Background::finish),
                ..WorkResult::default()
            })
        }));
    }
    if plan.resolved.node_sends() {
        sides.receive = Some(Box::new(move |live, cancel| {
            let from = Some(peer.ip()).into();
            let received = udp::receive_from(socket, ready, from, &plan.expect(), live, cancel)?;
            // Same wording as for an echo.
            let path = received.by_card.then(|| {
                let card = Stamps::Hardware.name();
                format!("socket; arrivals by the {card}, at the system's time")
            });
            Ok(WorkResult {
                received: Some(received),
                path,
                ..WorkResult::default()
            })
        }));
    }
    Ok(sides)
}

/// Requests echoes on a schedule that does not wait for them.
fn probe(plan: &NodeTrial, socket: &UdpSocket, cancel: &Cancel) -> io::Result<WorkResult> {
    let report = echo::probe(
        socket,
        &plan.offer(),
        plan.resolved.trial.wait.unwrap_or(Wait::Sleep),
        cancel,
    )?;
    let series = report.series();
    let path = format!(
        "socket; arrivals by the {}, sendings by the {}",
        report.arrivals.name(),
        report.stamps.name()
    );
    Ok(WorkResult {
        sent: Some(Sent {
            report: report.sent,
            failure: report.failure,
            ..Sent::default()
        }),
        received: Some(Reception {
            report: report.received,
            ..Reception::default()
        }),
        series,
        path: Some(path),
        ..WorkResult::default()
    })
}
