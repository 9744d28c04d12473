//! From a trial to what the node is asked, checked before anything happens.

use wirelab_control::message::{Identity, Start};
use wirelab_control::value::{Extent as Until, Path as AskedPath, UnitPoint};
use wirelab_trial::{Direction, Extent, Layer, NodeError, Path, Sizes, Trial};
use wirelab_wire::{LineRate, header};

use super::echo::TESTER_IP;
use crate::reference::REFERENCE_CLOCK_PS;

/// The link in bit/s: a byte of line 0 every eight clocks of 100 MHz.
pub const LINK_BITS_PER_S: u64 = 100_000_000;

/// A trial made ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was asked.
    pub trial: Trial,
    /// All four sizes.
    pub sizes: Sizes,
    /// The link.
    pub link: LineRate,
    /// Frames/s asked; `None` for the next frame as soon as the one before is back.
    pub frames_per_s: Option<f64>,
    /// Clocks from one frame to the next, at least.
    pub interval_clocks: u64,
    /// Frames.
    pub frames: u64,
    /// UDP port of the node that the frames go to.
    pub node_port: u16,
    /// Ways whose points the capture units take: none of an echo, whose latency is the tester's.
    pub ways: Vec<Direction>,
}

/// Frames from which on a trial with capture points is run in two parts, on two nodes side by side: a second node has to be
/// brought up first.
const FRAMES_FOR_TWO: u64 = 32;

/// Frames of a trial that one node echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How many.
    pub frames: u64,
    /// How many of the trial are in the parts before it.
    pub ahead: u64,
}

impl Plan {
    /// The trial as one part.
    pub fn whole(&self) -> Part {
        Part {
            frames: self.frames,
            ahead: 0,
        }
    }

    /// The parts of the trial. How it is divided hangs on nothing but the trial, so that two runs give the same on any host.
    pub fn parts(&self) -> Vec<Part> {
        if self.ways.is_empty() || self.frames < FRAMES_FOR_TWO {
            return vec![self.whole()];
        }
        let second = self.frames / 2;
        let first = self.frames - second;
        let part = |frames, ahead| Part { frames, ahead };
        vec![part(first, 0), part(second, first)]
    }

    /// What the node is asked for so many frames.
    pub fn start(&self, frames: u64) -> Start {
        let fast = self.trial.path == Some(Path::FastTrack);
        let takes_points = !self.ways.is_empty();
        Start {
            path: fast.then_some(AskedPath::FastTrack),
            captures: takes_points.then_some(frames as u32),
            capture_unit: takes_points.then_some(UnitPoint::All),
            node_port: (self.node_port != header::UDP_PORT).then_some(self.node_port),
            peer_ip: Some(TESTER_IP.into()),
            ..Start::new(Direction::Echo, Layer::UdpIpv4, Until::Frames(frames))
        }
    }
}

/// Check the trial against what the node is, and lay it out.
pub fn plan(trial: &Trial, node: &Identity) -> Result<Plan, NodeError> {
    decline(trial)?;
    let sizes = trial.sizes().map_err(NodeError::bad)?;
    let link =
        LineRate::new(LINK_BITS_PER_S).ok_or_else(|| NodeError::bad("a link needs a rate"))?;
    let asked = trial.load.frames_per_s(&sizes, Layer::UdpIpv4, Some(link));
    let frames_per_s = asked.map_err(NodeError::bad)?;
    let frames = match trial.extent {
        Extent::Frames { frames } => frames,
        Extent::Time { .. } => {
            let why = "each frame waits for the one before, so how many a time holds is not known: ask --frames";
            return Err(NodeError::unsupported("extent", why));
        }
    };
    let ways = match trial.direction {
        Direction::Both => vec![Direction::Receive, Direction::Transmit],
        Direction::Echo => Vec::new(),
        way => vec![way],
    };
    let most = u64::from(node.max_captures);
    if !ways.is_empty() && frames > most {
        let why = format!(
            "the capture units keep {most} records: ask {most} frames or fewer, several times for more"
        );
        return Err(NodeError::unsupported("extent", why));
    }
    let clocks_per_s = 1e12 / REFERENCE_CLOCK_PS as f64;
    Ok(Plan {
        trial: trial.clone(),
        sizes,
        link,
        frames_per_s,
        interval_clocks: frames_per_s.map_or(0, |rate| (clocks_per_s / rate).round() as u64),
        frames,
        node_port: port(trial)?,
        ways,
    })
}

fn decline(trial: &Trial) -> Result<(), NodeError> {
    let no = |field, why: &str| Err(NodeError::unsupported(field, why));
    if trial.framing.layer != Layer::UdpIpv4 {
        return no(
            "layer",
            "what is asked of the reference node is its UDP echo: ask --layer udp4",
        );
    }
    if trial.framing.vlan_tags > 0 {
        return no("vlan_tags", "its stack takes no tags: leave them out");
    }
    if trial.ports != 1 {
        return no("ports", "it has one line for this: ask --ports 1");
    }
    if trial.buffers.is_some() {
        return no(
            "buffers",
            "its program has one kind: leave them out, and choose the attachment of the MAC instead",
        );
    }
    if !trial.faults.is_clean() {
        return no(
            "faults",
            "a frame that is not sent back ends what is measured: leave faults out",
        );
    }
    if trial
        .link_bits_per_s
        .is_some_and(|rate| rate != LINK_BITS_PER_S)
    {
        return no(
            "link_bits_per_s",
            "its line carries 100 Mbit/s: leave --rate out",
        );
    }
    if !matches!(trial.path, None | Some(Path::Stack | Path::FastTrack)) {
        return no(
            "path",
            "it has its stack and the fast track: ask stack or fast-track",
        );
    }
    let plain = Trial {
        path: None,
        rule: None,
        ..trial.clone()
    };
    plain.decline_ways("the reference node has no such choice: leave it out")
}

/// The UDP port of the node: that of the rule, where there is one, on both ways, so that they differ in nothing else.
fn port(trial: &Trial) -> Result<u16, NodeError> {
    let Some(rule) = &trial.rule else {
        return Ok(header::UDP_PORT);
    };
    let port = rule
        .strip_prefix("port=")
        .and_then(|port| port.parse().ok());
    port.filter(|port| *port > 0).ok_or_else(|| {
        let why = format!(
            "'{rule}' is not what its identifier is set to here: write port=N, e.g. port=1026"
        );
        NodeError::unsupported("rule", why)
    })
}
