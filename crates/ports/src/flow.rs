//! From a trial to its flows: which port sends what to which, checked before any port is used.

use wirelab_port::iface::{IfaceError, Interface, PortName};
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_trial::{
    Accepts, Buffers, Direction, Dscp, Extent, Layer, Link, NodeError, Resolved, SizeLimits, Sizes,
    Trial, TrialField, TrialOption,
};
use wirelab_wire::{Flow, FrameSpec, LineRate, Transport, header};

use crate::Pair;

/// More frames/s than any sender of this host reaches on one flow; the limit for planning timed trials.
const MOST_FRAMES_PER_S: u64 = 20_000_000;

/// One sending and one receiving port of a trial.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The node's port of the pair.
    pub port: PortName,
    /// Transmit or receive, from the node's side.
    pub direction: Direction,
    /// Where frames leave.
    pub from: PortName,
    /// Where they arrive.
    pub to: PortName,
    /// The sender's job.
    pub job: SendJob,
    /// The checker's job.
    pub check: CheckJob,
}

impl FlowPlan {
    /// Most frames that its sender sends.
    pub fn frames_at_most(&self) -> u64 {
        let rate = self.job.pace.interval_ps().map(|ps| 1e12 / ps as f64);
        frames_at_most(self.job.extent, rate)
    }
}

/// A trial that is ready to run.
#[derive(Clone, Debug)]
pub struct PortsTrial {
    /// The request.
    pub resolved: Resolved,
    /// The flows.
    pub flows: Vec<FlowPlan>,
}

impl PortsTrial {
    /// Frames/s of all flows together; `None` for maximum load.
    pub fn total_frames_per_s(&self) -> Option<f64> {
        let each = self.resolved.frames_per_s;
        each.map(|rate| rate * self.flows.len() as f64)
    }
}

pub fn interface_error(error: IfaceError) -> NodeError {
    match error {
        IfaceError::NetNs(_) | IfaceError::Privilege(_) => NodeError::Privilege(error.to_string()),
        // The user must fix an interface that does not exist, is down or in use.
        _ => NodeError::BadTrial(error.to_string()),
    }
}

/// What a node of ports alone accepts in a trial.
const ACCEPTS: Accepts<'_> = Accepts {
    layers: &[Layer::Ethernet, Layer::UdpIpv4, Layer::UdpIpv6],
    directions: &[Direction::Transmit, Direction::Receive, Direction::Both],
    vlan_tags: 2,
    ports: 0,
    buffers: &[
        Buffers::Prefilled,
        Buffers::Copied,
        Buffers::CopiedAhead,
        Buffers::InPlace,
    ],
    paths: &[],
    options: &[
        TrialOption::Link,
        TrialOption::Buffers,
        TrialOption::StrictGaps,
        TrialOption::Faults,
        TrialOption::Dscp,
    ],
    sizes: SizeLimits::TestFrame,
    reasons: &[
        (
            TrialField::Layer,
            "ports send frames themselves, and TCP needs a stack; fix: measure an iperf peer",
        ),
        (
            TrialField::Direction,
            "no node behind a port sends frames back; fix: use transmit, receive or both; or measure lab: with echo alone, \
             for which the lab gets a Linux node",
        ),
        (
            TrialField::Option(TrialOption::Buffers),
            "a program cannot use the copy DMA of a Linux port; fix: choose prefilled, copied, copied-ahead or in-place",
        ),
    ],
    otherwise: "two ports have no node between them that could support this; fix: leave it out, or measure a node:HOST",
};

/// Check the trial against the capabilities of ports, and plan its flows.
pub fn plan(trial: &Trial, pairs: &[Pair]) -> Result<PortsTrial, NodeError> {
    let accepts = Accepts {
        ports: pairs.len() as u32,
        ..ACCEPTS
    };
    accepts.check(trial)?;
    if trial.buffers.is_some() && !trial.faults.is_clean() {
        return Err(NodeError::unsupported(
            TrialOption::Faults,
            "trials of buffers have no faults, because a run with an error is void; fix: leave the faults out",
        ));
    }
    let pairs = &pairs[..trial.ports as usize];
    let carrier = match trial.link() {
        Some(_) => None,
        None => carrier_rate(pairs)?,
    };
    let resolved = Resolved::new(trial, &accepts, Link::Carrier(carrier))?;
    let mut flows = Vec::new();
    for (n, pair) in pairs.iter().enumerate() {
        for direction in resolved.flows() {
            let (side, from, to) = match direction {
                Direction::Transmit => (0, &pair.node, &pair.tester),
                _ => (1, &pair.tester, &pair.node),
            };
            let stream = (2 * n + side) as u8;
            flows.push(flow(&resolved, pair, direction, from, to, stream)?);
        }
    }
    Ok(PortsTrial { resolved, flows })
}

/// The smallest link rate of the ports, if all have one.
fn carrier_rate(pairs: &[Pair]) -> Result<Option<LineRate>, NodeError> {
    let mut slowest = Some(u64::MAX);
    for port in pairs.iter().flat_map(|p| [&p.node, &p.tester]) {
        let rate = Interface::query(port).map_err(interface_error)?.link_rate;
        slowest = slowest.zip(rate).map(|(a, b)| a.min(b));
    }
    Ok(slowest.and_then(LineRate::new))
}

/// Each flow has its own faults, drawn from the trial's seed and the flow's number.
pub fn schedule_for(
    trial: &Trial,
    sizes: &Sizes,
    rate: Option<f64>,
    flow: u64,
) -> Result<Schedule, NodeError> {
    if trial.faults.is_clean() {
        return Ok(Schedule::default());
    }
    let sequences = frames_at_most(trial.extent, rate);
    let mut rates = trial.faults;
    rates.seed = rates.seed.wrapping_add(flow);
    Schedule::plan(&rates, sequences, sizes.lfsr_len()).map_err(NodeError::bad)
}

/// Most frames of a flow; without a rate, as many as a sender of this host may reach.
fn frames_at_most(extent: Extent, frames_per_s: Option<f64>) -> u64 {
    match extent {
        Extent::Frames { frames } => frames,
        Extent::Time { time_ps } => {
            let rate = frames_per_s.unwrap_or(MOST_FRAMES_PER_S as f64);
            (rate * time_ps as f64 / 1e12).ceil() as u64
        }
    }
}

fn flow(
    resolved: &Resolved,
    pair: &Pair,
    direction: Direction,
    from: &PortName,
    to: &PortName,
    stream: u8,
) -> Result<FlowPlan, NodeError> {
    let (trial, sizes, pace) = (&resolved.trial, &resolved.sizes, resolved.pace());
    let faults = schedule_for(trial, sizes, resolved.frames_per_s, u64::from(stream))?;
    let sender = Interface::query(from).map_err(interface_error)?;
    let receiver = Interface::query(to).map_err(interface_error)?;
    for interface in [&sender, &receiver] {
        interface.require_up().map_err(interface_error)?;
        interface.require_carrier().map_err(interface_error)?;
        interface
            .require_length(sizes.length, trial.framing.vlan_tags > 0)
            .map_err(interface_error)?;
    }
    let job = SendJob {
        frame: frame_spec(trial, sender.mac.0, receiver.mac.0, stream),
        sizes: *sizes,
        stream,
        with_time: true,
        pace,
        extent: trial.extent,
        faults,
        buffers: trial.buffers,
    };
    let check = CheckJob {
        flow: Flow {
            source: Some(sender.mac.0),
            udp_port: header::UDP_PORT,
            stream: Some(stream),
            dscp: trial.dscp.map(Dscp::point),
        },
        slots: (trial.buffers == Some(Buffers::Prefilled))
            .then_some(wirelab_port::packet::PREFILLED_SLOTS),
        // Reading the clock costs a sixth of a frame's time at full speed. At lower rates every arrival is recorded.
        time_every: if pace == Pace::Max && trial.buffers.is_none() {
            16
        } else {
            1
        },
    };
    Ok(FlowPlan {
        port: pair.node.clone(),
        direction,
        from: from.clone(),
        to: to.clone(),
        job,
        check,
    })
}

/// Addresses of the ranges 198.18.0.0/15 (RFC 2544, C.2.2) and, for IPv6, 2001:2::/48 (RFC 5180).
pub fn frame_spec(trial: &Trial, source: [u8; 6], destination: [u8; 6], stream: u8) -> FrameSpec {
    let (pair, side) = (stream / 2, stream % 2);
    let host = [1 + side, 2 - side];
    let ports = [header::UDP_PORT; 2];
    let transport = match trial.framing.layer {
        Layer::UdpIpv4 => Transport::UdpIpv4 {
            addresses: host.map(|h| [198, 18, pair, h].into()),
            ports,
        },
        Layer::UdpIpv6 => Transport::UdpIpv6 {
            addresses: host.map(|h| [0x2001, 2, 0, 0, 0, 0, u16::from(pair), u16::from(h)].into()),
            ports,
        },
        _ => Transport::Ethernet,
    };
    let vlans = match trial.framing.vlan_tags {
        0 => [None, None],
        1 => [Some(100), None],
        _ => [Some(100), Some(101)],
    };
    FrameSpec {
        destination,
        source,
        vlans,
        transport,
        dscp: trial.dscp.map_or(0, Dscp::point),
    }
}
