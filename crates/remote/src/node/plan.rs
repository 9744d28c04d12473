//! From a trial to what the node is asked and what the tester does itself, checked before anything is sent.

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::{setsockopt, sockopt};
use wirelab_control::message::{Identity, Start};
use wirelab_control::value::{Extent as Until, Load as Asked};
use wirelab_socket::flow::{Expect, LEAST_BYTES, MOST_BYTES, Offer};
use wirelab_trial::{
    Accepts, Direction, Dscp, Extent, Layer, Link, Load, NodeError, Path, Resolved, SizeLimits,
    Trial, TrialOption,
};
use wirelab_wire::LineRate;

use super::ways::{self, Background};

/// Stream that the tester sends in, as observations name it.
pub const TO_NODE: u8 = 0;
/// Stream that the node sends in, as observations name it.
pub const FROM_NODE: u8 = 1;
/// Trials after which the streams on the wire are those of an earlier one again.
const STREAM_PAIRS: u32 = 128;
/// Frames whose capture points are asked for, as many as the Zynq document's tables have.
pub const CAPTURES: u32 = 512;
/// The highest rate at which they are asked for unless the trial chooses what takes them: to look at each frame costs a
/// node time, which would tell in trials of what it can do.
const LOOKED_AT_PER_S: f64 = 50_000.0;
/// How much longer than its extent a trial may take before the node ends it by itself, in ps: 10 s.
const MARGIN_PS: u64 = 10_000_000_000_000;

/// The streams of a trial on the wire. Each trial has two of its own, so that a late frame tells its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// That the tester sends in.
    pub to_node: u8,
    /// That the node sends in.
    pub from_node: u8,
}

impl Streams {
    /// Those of a trial, by its number.
    pub const fn of_trial(number: u32) -> Streams {
        let to_node = (number % STREAM_PAIRS) as u8 * 2;
        Streams {
            to_node,
            from_node: to_node + 1,
        }
    }

    /// What observations call a stream of the trial; any other keeps its number.
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

/// A trial made ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was asked.
    pub resolved: Resolved,
    /// What is sent beside it.
    pub background: Option<Background>,
    /// Its streams on the wire.
    pub streams: Streams,
    /// What the node is asked; ports and addresses are added by the layer.
    pub start: Start,
    /// Code point of the IPv4 headers that the tester sends (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// The UDP port of one frame of each pair, where two ways take turns: that which a rule of the fast track names.
    pub turns: Option<u16>,
}

impl Plan {
    /// Send one frame of each pair to a port that no rule names, so that it goes through the stack.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] for a rule that is none.
    pub fn take_turns(&mut self) -> Result<(), NodeError> {
        if let Some(background) = &self.background {
            self.turns = ways::rule_ports(&self.resolved.trial)?.first().copied();
            self.start.node_port = Some(ways::stack_port(&self.resolved.trial, background)?);
        }
        Ok(())
    }

    /// Give it other streams on the wire.
    pub fn on_streams(&mut self, streams: Streams) {
        self.streams = streams;
        self.start.tx_stream = Some(streams.from_node);
        self.start.rx_stream = Some(streams.to_node);
    }

    /// Mark what the tester sends by a socket of the flow.
    ///
    /// # Errors
    /// Where the system refuses the mark.
    pub fn mark(&self, socket: &impl AsFd) -> io::Result<()> {
        match self.dscp {
            0 => Ok(()),
            dscp => Ok(setsockopt(socket, sockopt::Ipv4Tos, &i32::from(dscp << 2))?),
        }
    }

    /// What the tester sends.
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

    /// What the tester expects of the node.
    pub fn expect(&self) -> Expect {
        Expect {
            stream: self.streams.from_node,
            datagram_bytes: self.resolved.sizes.datagram.unwrap_or(0),
            captures: 0,
        }
    }
}

/// The optional fields of a trial that a node may take; what it says of itself decides which buffers and paths.
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
/// Why a node refuses what it could not take whatever it says of itself.
const REASONS: [(&str, &str); 4] = [
    (
        "vlan_tags",
        "the stack of this host makes the frames: set up a VLAN interface and ask the address behind it",
    ),
    ("ports", "one way leads to this node: ask --ports 1"),
    (
        "faults",
        "faults are made between ports of this host: leave --inject out",
    ),
    (
        "dscp",
        "the tester marks what it sends, and the node control protocol has no field for what the node sends: ask \
         --direction rx or echo",
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
        otherwise: "a node is not asked for this: leave it out",
    };
    accepts.check(trial)?;
    ways::check(trial)?;
    if trial.direction == Direction::Echo && layer.is_tcp() {
        let why = "echo is of UDP and Ethernet: ask udp4 or udp6";
        return Err(NodeError::unsupported("direction", why));
    }
    let resolved = Resolved::new(trial, &accepts, Link::Carrier(carrier))?;
    let write = resolved.sizes.datagram.unwrap_or(0);
    if layer.is_tcp() && !(LEAST_BYTES..=MOST_BYTES).contains(&write) {
        return Err(NodeError::bad(format!(
            "a write of {write} bytes: test frames in a stream have {LEAST_BYTES} to {MOST_BYTES}"
        )));
    }
    resolved.with_echo_rate()
}

/// Check the trial against what the node said of itself, and lay it out.
pub fn plan(trial: &Trial, node: &Identity, carrier: Option<LineRate>) -> Result<Plan, NodeError> {
    let resolved = resolve(trial, node, carrier)?;
    let background = ways::background(&resolved)?;
    let mut start = start(trial, node, resolved.frames_per_s)?;
    ways::ask(trial, &mut start)?;
    start.background_port = background.map(|background| background.port);
    let mut plan = Plan {
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
        Some(rate) => Asked::MilliframesPerS((rate * 1000.0).round().max(1.0) as u64),
        None => Asked::Max,
    };
    let paced = frames_per_s.is_some() && trial.load != Load::Max;
    // In the driver nothing looks at frames that it makes or turns around.
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

fn within(what: &str, asked: u64, most: u64) -> Result<(), NodeError> {
    if (1..=most).contains(&asked) {
        return Ok(());
    }
    Err(NodeError::bad(format!(
        "{asked} {what}: a trial on this node has 1 to {most}"
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
