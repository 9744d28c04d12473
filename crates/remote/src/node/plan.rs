//! From a trial to what the node is asked and what the tester does itself, checked before anything is sent.

use wirelab_control::message::{Identity, Start};
use wirelab_control::value::{Extent as Until, Load as Asked};
use wirelab_socket::flow::{Expect, LEAST_BYTES, MOST_BYTES, Offer};
use wirelab_trial::job::Pace;
use wirelab_trial::{Direction, Extent, Layer, Load, NodeError, Path, Sizes, Trial};
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
    pub trial: Trial,
    /// All four sizes.
    pub sizes: Sizes,
    /// The link, from `--rate` or the carrier.
    pub link: Option<LineRate>,
    /// Frames/s of each flow; `None` at maximum load.
    pub frames_per_s: Option<f64>,
    /// What is sent beside it.
    pub background: Option<Background>,
    /// Its streams on the wire.
    pub streams: Streams,
    /// What the node is asked; ports and addresses are added by the layer.
    pub start: Start,
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
            self.turns = ways::rule_ports(&self.trial)?.first().copied();
            self.start.node_port = Some(ways::stack_port(&self.trial, background)?);
        }
        Ok(())
    }

    /// Give it other streams on the wire.
    pub fn on_streams(&mut self, streams: Streams) {
        self.streams = streams;
        self.start.tx_stream = Some(streams.from_node);
        self.start.rx_stream = Some(streams.to_node);
    }

    /// What the tester sends.
    pub fn offer(&self) -> Offer {
        Offer {
            stream: self.streams.to_node,
            datagram_bytes: self.sizes.datagram.unwrap_or(0),
            pace: Pace::of(self.frames_per_s).strict(self.trial.strict_gaps),
            extent: self.trial.extent,
            with_time: self.frames_per_s.is_some(),
            node_clock: false,
        }
    }

    /// What the tester expects of the node.
    pub fn expect(&self) -> Expect {
        Expect {
            stream: self.streams.from_node,
            datagram_bytes: self.sizes.datagram.unwrap_or(0),
            captures: 0,
        }
    }

    /// Whether the tester sends.
    pub fn tester_sends(&self) -> bool {
        self.trial.direction != Direction::Transmit
    }

    /// Whether the node sends unasked.
    pub fn node_sends(&self) -> bool {
        matches!(self.trial.direction, Direction::Transmit | Direction::Both)
    }

    /// Expected time of the trial in ps, where it can be told before.
    pub fn expected_ps(&self) -> Option<u64> {
        match self.trial.extent {
            Extent::Time { time_ps } => Some(time_ps),
            Extent::Frames { frames } => self
                .frames_per_s
                .map(|rate| (frames as f64 * 1e12 / rate) as u64),
        }
    }
}

/// Refuse what a node does not have, and say what it has.
pub fn among<T: PartialEq + std::fmt::Debug>(
    field: &'static str,
    wanted: &T,
    can: &[T],
    shown: impl Fn(&T) -> String,
) -> Result<(), NodeError> {
    if can.contains(wanted) {
        return Ok(());
    }
    let list: Vec<String> = can.iter().map(shown).collect();
    let why = match list.is_empty() {
        true => "this node does none of these: leave it out".to_owned(),
        false => format!("this node does {}", list.join(", ")),
    };
    Err(NodeError::unsupported(field, why))
}

fn check_asked(trial: &Trial, node: &Identity) -> Result<(), NodeError> {
    let layer = trial.framing.layer;
    among("layer", &layer, &node.layers, |l| l.word().to_owned())?;
    among("direction", &trial.direction, &node.directions, |d| {
        d.to_string()
    })?;
    if let Some(buffers) = &trial.buffers {
        among("buffers", buffers, &node.buffers, |b| b.to_string())?;
    }
    ways::check(trial, node)?;
    if trial.direction == Direction::Echo && layer.is_tcp() {
        let why = "echo is of UDP and Ethernet: ask udp4 or udp6";
        return Err(NodeError::unsupported("direction", why));
    }
    if trial.framing.vlan_tags > 0 && layer != Layer::Ethernet {
        let why = "the stack of this host makes the frames: set up a VLAN interface and ask the address behind it";
        return Err(NodeError::unsupported("vlan_tags", why));
    }
    if trial.ports != 1 {
        let why = "one way leads to this node: ask --ports 1";
        return Err(NodeError::unsupported("ports", why));
    }
    if !trial.faults.is_clean() {
        let why = "faults are made between ports of this host: leave --inject out";
        return Err(NodeError::unsupported("faults", why));
    }
    if trial.link_bits_per_s == Some(0) {
        return Err(NodeError::bad(
            "a link rate of 0 carries nothing: give e.g. --rate 1G",
        ));
    }
    Ok(())
}

/// All four sizes. A frame of a TCP flow is a piece of the stream, so Ethernet does not bound it.
fn sizes(trial: &Trial) -> Result<Sizes, NodeError> {
    if !trial.framing.layer.is_tcp() {
        return trial.sizes().map_err(NodeError::bad);
    }
    let sizes = trial.size.resolve(trial.framing).map_err(NodeError::bad)?;
    let datagram = sizes.datagram.unwrap_or(0);
    if !(LEAST_BYTES..=MOST_BYTES).contains(&datagram) {
        return Err(NodeError::bad(format!(
            "a write of {datagram} bytes: test frames in a stream have {LEAST_BYTES} to {MOST_BYTES}"
        )));
    }
    Ok(sizes)
}

/// Check the trial against what the node said of itself, and lay it out.
pub fn plan(trial: &Trial, node: &Identity, carrier: Option<LineRate>) -> Result<Plan, NodeError> {
    check_asked(trial, node)?;
    let sizes = sizes(trial)?;
    let layer = trial.framing.layer;
    let link = trial.link().or(carrier);
    let asked = trial
        .load
        .frames_per_s(&sizes, layer, link)
        .map_err(NodeError::bad)?;
    // As for ports: a link rate that the user gives stands for a link that is not there. TCP finds its own rate.
    let given = trial.link().filter(|_| !layer.is_tcp());
    let frames_per_s = asked.or_else(|| given.map(|link| link.frames_per_s(&sizes)));
    if trial.direction == Direction::Echo && frames_per_s.is_none() {
        return Err(NodeError::bad(
            "an echo needs a load with a rate, e.g. --load 1kpps: at max its latency is that of a full queue",
        ));
    }
    let background = ways::background(trial, frames_per_s, link)?;
    let mut start = start(trial, node, frames_per_s)?;
    ways::ask(trial, &mut start)?;
    start.background_port = background.map(|background| background.port);
    let mut plan = Plan {
        streams: Streams::of_trial(0),
        trial: trial.clone(),
        sizes,
        link,
        frames_per_s,
        background,
        start,
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
