//! Plans a trial: the request to the node and the tester's own work, checked before anything is sent.

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::{setsockopt, sockopt};
use wirelab_control::message::{Identity, Start};
use wirelab_control::value::{Extent as Until, Load as ControlLoad};
use wirelab_socket::flow::{Expect, LEAST_BYTES, MOST_BYTES, Offer};
use wirelab_trial::{
    Accepts, Direction, Dscp, Extent, Layer, Link, Load, NodeError, Path, Resolved, SizeLimits,
    Trial, TrialField, TrialOption,
};
use wirelab_wire::LineRate;

use super::node_path::{self, Background};

/// The tester's stream, as observations name it.
pub const TO_NODE: u8 = 0;
/// The node's stream, as observations name it.
pub const FROM_NODE: u8 = 1;
/// Trials after which stream numbers on the wire repeat.
const STREAM_PAIRS: u32 = 128;
/// Frames whose capture points are requested, as many as in the Zynq document's tables.
pub const CAPTURES: u32 = 512;
/// Highest rate at which they are requested unless the trial chooses the probes: recording costs the node time, which
/// would show in trials of its speed.
const LOOKED_AT_PER_S: f64 = 50_000.0;
/// How much longer than its extent a trial may take before the node ends it, in ps: 10 s.
const MARGIN_PS: u64 = 10_000_000_000_000;

/// The streams of a trial on the wire. Each trial has its own two, so that a late frame shows its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// The tester's.
    pub to_node: u8,
    /// The node's.
    pub from_node: u8,
}

impl Streams {
    /// The streams of a trial, by its number.
    pub const fn of_trial(number: u32) -> Streams {
        let to_node = (number % STREAM_PAIRS) as u8 * 2;
        Streams {
            to_node,
            from_node: to_node + 1,
        }
    }

    /// The name of a trial's stream in observations; any other stream keeps its number.
    pub const fn name(self, on_the_wire: u8) -> u8 {
        if on_the_wire == self.to_node {
            TO_NODE
        } else if on_the_wire == self.from_node {
            FROM_NODE
        } else {
            on_the_wire
        }
    }
}

/// A trial, ready to run.
#[derive(Clone, Debug)]
pub struct NodeTrial {
    /// The requested trial.
    pub resolved: Resolved,
    /// The background to send.
    pub background: Option<Background>,
    /// Its streams on the wire.
    pub streams: Streams,
    /// The request to the node; the layer adds ports and addresses.
    pub start: Start,
    /// Code point of the IPv4 headers that the tester sends (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// The UDP port of one frame of each pair, where two paths alternate: the port that a rule of the fast track
    /// matches.
    pub turns: Option<u16>,
}

impl NodeTrial {
    /// Sends one frame of each pair to a port that no rule matches, so that it uses the stack.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] for an invalid rule.
    pub fn take_turns(&mut self) -> Result<(), NodeError> {
        if let Some(background) = &self.background {
            self.turns = node_path::rule_ports(&self.resolved.trial)?
                .first()
                .copied();
            self.start.node_port = Some(node_path::stack_port(&self.resolved.trial, background)?);
        }
        Ok(())
    }

    /// Changes its streams on the wire.
    pub fn on_streams(&mut self, streams: Streams) {
        self.streams = streams;
        self.start.tx_stream = Some(streams.from_node);
        self.start.rx_stream = Some(streams.to_node);
    }

    /// Marks the tester's packets on a socket of the flow.
    ///
    /// # Errors
    /// Where the system refuses the mark.
    pub fn mark(&self, socket: &impl AsFd) -> io::Result<()> {
        match self.dscp {
            0 => Ok(()),
            dscp => Ok(setsockopt(socket, sockopt::Ipv4Tos, &i32::from(dscp << 2))?),
        }
    }

    /// The request to the tester's sender.
    pub fn offer(&self) -> Offer {
        Offer {
            stream: self.streams.to_node,
            datagram_bytes: self.resolved.sizes.datagram.unwrap_or(0),
            pace: self.resolved.pace(),
            extent: self.resolved.trial.extent,
            with_time: self.resolved.frames_per_s.is_some(),
            node_clock: false,
        }
    }

    /// The request to the tester's receiver.
    pub fn expect(&self) -> Expect {
        Expect {
            stream: self.streams.from_node,
            datagram_bytes: self.resolved.sizes.datagram.unwrap_or(0),
            captures: 0,
        }
    }
}

/// The optional fields of a trial that a node may support; its own report decides about buffers and paths.
const OPTIONS: [TrialOption; 9] = [
    TrialOption::Link,
    TrialOption::Buffers,
    TrialOption::Path,
    TrialOption::Wait,
    TrialOption::Rule,
    TrialOption::Background,
    TrialOption::Probes,
    TrialOption::StrictGaps,
    TrialOption::Dscp,
];
/// Reasons for fields that no node supports.
const REASONS: [(TrialField, &str); 4] = [
    (
        TrialField::VlanTags,
        "the stack of this host makes the frames; fix: set up a VLAN interface and use the address behind it",
    ),
    (
        TrialField::Ports,
        "this node has one port; fix: use --ports 1",
    ),
    (
        TrialField::Option(TrialOption::Faults),
        "faults are supported only between ports of this host; fix: leave --inject out",
    ),
    (
        TrialField::Option(TrialOption::Dscp),
        "the tester marks what it sends, and the node control protocol has no field for what the node sends; fix: use --direction rx or echo",
    ),
];

fn resolve(
    trial: &Trial,
    node: &Identity,
    carrier: Option<LineRate>,
) -> Result<Resolved, NodeError> {
    let layer = trial.framing.layer;
    let paths: Vec<Path> = node.paths.iter().filter_map(|p| p.of_a_trial()).collect();
    let accepts = Accepts {
        layers: &node.layers,
        directions: &node.directions,
        vlan_tags: if layer == Layer::Ethernet { 2 } else { 0 },
        ports: 1,
        buffers: &node.buffers,
        paths: &paths,
        options: match trial.direction {
            Direction::Transmit | Direction::Both => &OPTIONS[..8],
            Direction::Receive | Direction::Echo => &OPTIONS,
        },
        sizes: SizeLimits::TestFrame,
        reasons: &REASONS,
        otherwise: "a node does not support this; fix: leave it out",
    };
    accepts.check(trial)?;
    node_path::check(trial)?;
    if trial.direction == Direction::Echo && layer.is_tcp() {
        let why = "echo needs UDP or Ethernet; fix: use udp4 or udp6";
        return Err(NodeError::unsupported(TrialField::Direction, why));
    }
    let resolved = Resolved::new(trial, &accepts, Link::Carrier(carrier))?;
    let write = resolved.sizes.datagram.unwrap_or(0);
    if layer.is_tcp() && !(LEAST_BYTES..=MOST_BYTES).contains(&write) {
        return Err(NodeError::bad(format!(
            "a write of {write} bytes: test frames in a stream have {LEAST_BYTES} to {MOST_BYTES}; fix: give --datagram in that range"
        )));
    }
    resolved.with_echo_rate()
}

/// Checks the trial against the node's report, and plans it.
pub fn plan(
    trial: &Trial,
    node: &Identity,
    carrier: Option<LineRate>,
) -> Result<NodeTrial, NodeError> {
    let resolved = resolve(trial, node, carrier)?;
    let background = node_path::background(&resolved)?;
    let mut start = start(trial, node, resolved.frames_per_s)?;
    node_path::request(trial, &mut start)?;
    start.background_port = background.map(|background| background.port);
    let mut plan = NodeTrial {
        streams: Streams::of_trial(0),
        resolved,
        background,
        start,
        dscp: trial.dscp.map_or(0, Dscp::point),
        turns: None,
    };
    plan.on_streams(plan.streams);
    Ok(plan)
}

fn start(trial: &Trial, node: &Identity, frames_per_s: Option<f64>) -> Result<Start, NodeError> {
    let (extent, long_ps) = match trial.extent {
        Extent::Frames { frames } => {
            within("frames", frames, node.max_frames)?;
            let rate = frames_per_s.map(|rate| (frames as f64 * 1e12 / rate) as u64);
            (Until::Frames(frames), rate.unwrap_or(node.max_time_ps))
        }
        Extent::Time { time_ps } => {
            within("ps of time", time_ps, node.max_time_ps)?;
            (Until::TimePs(time_ps), time_ps)
        }
    };
    let sends = matches!(trial.direction, Direction::Transmit | Direction::Both);
    let load = match frames_per_s {
        Some(rate) => ControlLoad::MilliframesPerS((rate * 1000.0).round().max(1.0) as u64),
        None => ControlLoad::Max,
    };
    let paced = frames_per_s.is_some() && trial.load != Load::Max;
    // The driver does not record capture points of frames that it sends or returns.
    let looked_at = !trial.framing.layer.is_tcp() && trial.path != Some(Path::Driver);
    let slow = frames_per_s.is_some_and(|rate| rate <= LOOKED_AT_PER_S);
    let captures = if paced && looked_at && (slow || trial.probes.is_some()) {
        CAPTURES.min(node.max_captures)
    } else {
        0
    };
    Ok(Start {
        vlan_tags: (trial.framing.vlan_tags > 0).then_some(trial.framing.vlan_tags),
        size: Some(trial.size),
        load: sends.then_some(load),
        limit_ps: Some(long_ps.saturating_add(MARGIN_PS).min(node.max_time_ps)),
        buffers: trial.buffers,
        captures: (captures > 0 && trial.direction != Direction::Echo).then_some(captures),
        ..Start::new(trial.direction, trial.framing.layer, extent)
    })
}

fn within(what: &str, requested: u64, most: u64) -> Result<(), NodeError> {
    if (1..=most).contains(&requested) {
        return Ok(());
    }
    Err(NodeError::bad(format!(
        "{requested} {what}: a trial on this node has 1 to {most}; fix: request a number in that range"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_follow_one_another_share_no_stream() {
        let of = Streams::of_trial;
        let all: Vec<u8> = (1_000..1_000 + STREAM_PAIRS)
            .flat_map(|number| [of(number).to_node, of(number).from_node])
            .collect();
        let distinct: std::collections::BTreeSet<u8> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(of(u32::MAX), of(127));
        let streams = of(5);
        let named = [10, 11, 12].map(|on_the_wire| streams.name(on_the_wire));
        assert_eq!(named, [TO_NODE, FROM_NODE, 12]);
    }
}
