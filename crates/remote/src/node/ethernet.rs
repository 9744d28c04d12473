//! The tester's side of Ethernet trials: frames by the interface that leads to the node.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use wirelab_control::message::{Start, Started};
use wirelab_control::value::Mac;
use wirelab_port::iface::Interface;
use wirelab_port::job::{CheckJob, SendJob};
use wirelab_port::packet::{
    self, CheckOptions, Checker, FrameSink, PREFILLED_SLOTS, PacketError, SendOptions,
};
use wirelab_socket::flow::{Reception, Sent};
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::{Buffers, Cancel, Direction, FixedSeries, NodeError, TrialField};
use wirelab_wire::{Flow, FrameSpec, Rules, Transport};

use super::background;
use super::flows::{Sides, WorkResult};
use super::plan::NodeTrial;

/// The name of the frames' path on the tester's side in observations.
pub const PATH: &str = "packet";
/// Without a frame for this long after the end, all have arrived.
const QUIET: Duration = Duration::from_millis(30);
/// The same for echoes, which travel in both directions.
const QUIET_ECHO: Duration = Duration::from_millis(200);
/// Time between checks whether a check should end.
const LOOK: Duration = Duration::from_millis(2);

/// The tester's interface, prepared before the node starts.
pub struct Ready {
    interface: Interface,
    checker: Option<Checker>,
}

/// Starts to check if something will arrive, and sends the node the destination of its frames.
///
/// # Errors
/// [`NodeError`] where the interface is unknown, or raw frames are not allowed.
pub fn prepare(
    plan: &NodeTrial,
    interface: Option<&Interface>,
    node_mac: Option<&str>,
    sink: Option<Box<dyn FrameSink>>,
    start: &mut Start,
) -> Result<Ready, NodeError> {
    let Some(interface) = interface.filter(|i| !i.loopback) else {
        let why = "no interface of this host leads to the node by Ethernet; fix: use udp4 or tcp4";
        return Err(NodeError::unsupported(TrialField::Layer, why));
    };
    start.peer_mac = Some(Mac(interface.mac.0));
    let stream = match plan.resolved.trial.direction {
        Direction::Receive => None,
        Direction::Echo => Some(plan.streams.to_node),
        Direction::Transmit | Direction::Both => Some(plan.streams.from_node),
    };
    let ready =
        plan.resolved.trial.buffers == Some(Buffers::Prefilled) && plan.resolved.node_sends();
    let check = |stream| CheckJob {
        flow: Flow {
            source: node_mac.and_then(|text| Some(text.parse::<Mac>().ok()?.0)),
            udp_port: 0,
            stream: Some(stream),
            dscp: None,
        },
        slots: ready.then_some(PREFILLED_SLOTS),
        time_every: if plan.resolved.frames_per_s.is_some() {
            1
        } else {
            16
        },
    };
    // Echoes carry the tester's own times too, which identify frames of an earlier run.
    let echo = plan.resolved.trial.direction == Direction::Echo;
    let options = CheckOptions {
        sent_since_ns: echo.then(now_ns),
        one_flow_at_a_time: true,
        sink,
        ..CheckOptions::default()
    };
    let checker = stream
        .map(|stream| Checker::start(&interface.port, &check(stream), options))
        .transpose()?;
    Ok(Ready {
        interface: interface.clone(),
        checker,
    })
}

/// The tester's work in the started trial.
pub fn sides<'a>(
    plan: &'a NodeTrial,
    started: &Started,
    ready: Ready,
    beside: Option<UdpSocket>,
) -> io::Result<Sides<'a>> {
    if let Some(slots) = started.slots.filter(|n| *n != PREFILLED_SLOTS) {
        return Err(io::Error::other(format!(
            "the node repeats {slots} frames, and this tester checks {PREFILLED_SLOTS}; fix: use other buffers"
        )));
    }
    let Ready { interface, checker } = ready;
    let mut sides = Sides::default();
    if !plan.resolved.tester_sends() {
        sides.receive = checker.map(checking);
        return Ok(sides);
    }
    let Some(node_mac) = started.node_mac else {
        return Err(io::Error::other(
            "the node does not name its Ethernet address",
        ));
    };
    let job = job(plan, &interface, node_mac);
    let echo = plan.resolved.trial.direction == Direction::Echo;
    let (mirror, checker) = if echo {
        (checker, None)
    } else {
        (None, checker)
    };
    sides.send = Some(Box::new(move |_, cancel| {
        let work = || send(&interface, &job, cancel);
        let (sent, background) = background::around(plan, beside.as_ref(), work)?;
        let received = mirror.map(|checker| checker.finish(QUIET_ECHO)).transpose();
        let mut received = received.map_err(io::Error::other)?;
        let mut series = Vec::new();
        if let Some(report) = &mut received {
            series.append(&mut report.series);
            // The checker's latency is here the round trip, by one clock.
            series
                .iter_mut()
                .for_each(|s| s.name = FixedSeries::ROUND_TRIP.into());
        }
        Ok(WorkResult {
            sent: Some(sent),
            background,
            received: received.map(|report| Reception {
                report,
                ..Reception::default()
            }),
            series,
            path: Some(PATH.to_owned()),
        })
    }));
    sides.receive = checker.map(checking);
    Ok(sides)
}

/// Checks until the flag is set.
fn checking<'a>(checker: Checker) -> super::flows::Work<'a> {
    Box::new(move |_, cancel| {
        while !cancel.is_cancelled() {
            std::thread::sleep(LOOK);
        }
        let mut report = checker.finish(QUIET).map_err(io::Error::other)?;
        // The node's clock is not the tester's, so these are not latencies.
        report.series.clear();
        Ok(WorkResult {
            received: Some(Reception {
                report,
                ..Reception::default()
            }),
            path: Some(PATH.to_owned()),
            ..WorkResult::default()
        })
    })
}

fn job(plan: &NodeTrial, interface: &Interface, node: Mac) -> SendJob {
    SendJob {
        frame: FrameSpec {
            destination: node.0,
            source: interface.mac.0,
            vlans: match (plan.resolved.trial.framing.vlan_tags, tag(plan)) {
                (0, _) => [None, None],
                (1, outer) => [Some(outer), None],
                (_, outer) => [Some(outer), Some(101)],
            },
            transport: Transport::Ethernet,
            dscp: 0,
        },
        sizes: plan.resolved.sizes,
        stream: plan.streams.to_node,
        with_time: true,
        pace: plan.offer().pace,
        extent: plan.resolved.trial.extent,
        faults: Default::default(),
        buffers: None,
    }
}

/// The outer VLAN tag: of VLAN 100, with the priority that a rule of the trial matches, if any.
fn tag(plan: &NodeTrial) -> u16 {
    const VLAN: u16 = 100;
    let rules = plan.resolved.trial.rule.as_deref().map(str::parse::<Rules>);
    let rules = rules.and_then(Result::ok).unwrap_or_default();
    let priority = rules.0.iter().find_map(|rule| rule.priority);
    u16::from(priority.unwrap_or(0)) << 13 | VLAN
}

fn send(interface: &Interface, job: &SendJob, cancel: &Cancel) -> io::Result<Sent> {
    match packet::send(&interface.port, job, &SendOptions::default(), cancel) {
        Ok(report) => Ok(Sent {
            report,
            ..Sent::default()
        }),
        Err(PacketError::Broken {
            partial, source, ..
        }) => Ok(Sent {
            report: *partial,
            failure: Some(io::Error::other(source)),
            ..Sent::default()
        }),
        Err(error) => Err(io::Error::other(error)),
    }
}
