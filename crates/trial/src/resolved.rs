//! A trial as a node runs it: what every node type derives from a [`Trial`] before anything is sent, and refuses.
//!
//! A node type declares in [`Accepts`] what it supports. Everything else is refused here, with the reason of the node
//! type: a field that is new in [`Trial`] is refused by every type until the type declares it.

use wirelab_wire::{Layer, LineRate, Sizes};

use crate::job::Pace;
use crate::node::NodeError;
use crate::node_path::Path;
use crate::trial::{Buffers, Direction, Extent, Trial, TrialField, TrialOption};

/// The refusal of an echo without a rate, which would only be about latency.
const ECHO_NEEDS_A_RATE: &str = "an echo needs a load with a rate, e.g. --load 1kpps: at max its latency is that of a full queue";

/// The link of a node's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A link whose rate may be given, which then also emulates a missing link: nothing else would limit the sender.
    Carrier(Option<LineRate>),
    /// A link with only this rate, in bit/s.
    Fixed(u64),
    /// A link in a model, in which frames wait for it: a given rate replaces its own.
    Modelled(Option<LineRate>),
}

/// The possible sizes of a node's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimits {
    /// Those of a test frame. A frame in a TCP stream is a write, which Ethernet does not limit.
    TestFrame,
    /// All that the framing allows: the node's own program fills the frame.
    Any,
}

/// What a node supports of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Accepts<'a> {
    /// Layers.
    pub layers: &'a [Layer],
    /// Directions, as the node sees them.
    pub directions: &'a [Direction],
    /// Most VLAN tags.
    pub vlan_tags: u8,
    /// Most ports in use at once.
    pub ports: u32,
    /// Kinds of buffers, where [`TrialOption::Buffers`] is declared.
    pub buffers: &'a [Buffers],
    /// Paths through the node, where [`TrialOption::Path`] is declared.
    pub paths: &'a [Path],
    /// The supported optional fields of a trial.
    pub options: &'a [TrialOption],
    /// The sizes of its frames.
    pub sizes: SizeLimits,
    /// Reasons for refusing a field, each with what can be requested instead.
    pub reasons: &'a [(TrialField, &'a str)],
    /// The reason for an optional field without one of its own.
    pub otherwise: &'a str,
}

/// A trial, ready for a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The requested trial.
    pub trial: Trial,
    /// All four sizes.
    pub sizes: Sizes,
    /// The link: the user's, or the node's.
    pub link: Option<LineRate>,
    /// Frames/s of each flow; `None` at maximum load.
    pub frames_per_s: Option<f64>,
}

impl Accepts<'_> {
    /// Refuses what the node does not support.
    ///
    /// # Errors
    /// [`NodeError::Unsupported`] names the first refused field of the trial, and why.
    pub fn check(&self, trial: &Trial) -> Result<(), NodeError> {
        let layer = trial.framing.layer;
        self.among(TrialField::Layer, &layer, self.layers, |l| {
            l.word().to_owned()
        })?;
        let directions = self.directions;
        self.among(TrialField::Direction, &trial.direction, directions, word)?;
        let (tags, most) = (trial.framing.vlan_tags, self.vlan_tags);
        if tags > most {
            let why = || format!("it supports {most} tags at most; fix: leave --vlan out");
            return Err(self.refusal(TrialField::VlanTags, why));
        }
        if !(1..=self.ports).contains(&trial.ports) {
            return Err(self.refusal(TrialField::Ports, || {
                too_many_ports(trial.ports, self.ports)
            }));
        }
        for (option, _) in trial.options() {
            if !self.options.contains(&option) {
                return Err(self.refusal(option, || self.otherwise.to_owned()));
            }
        }
        check_mark(trial)?;
        if let Some(buffers) = &trial.buffers {
            self.among(TrialOption::Buffers, buffers, self.buffers, word)?;
        }
        if let Some(path) = &trial.path {
            self.among(TrialOption::Path, path, self.paths, word)?;
        }
        Ok(())
    }

    fn refusal(
        &self,
        field: impl Into<TrialField>,
        otherwise: impl FnOnce() -> String,
    ) -> NodeError {
        let field = field.into();
        let own = self.reasons.iter().find(|(of, _)| *of == field);
        let why = own.map_or_else(otherwise, |(_, why)| (*why).to_owned());
        NodeError::unsupported(field, why)
    }

    fn among<T: PartialEq>(
        &self,
        field: impl Into<TrialField>,
        requested: &T,
        can: &[T],
        shown: impl Fn(&T) -> String,
    ) -> Result<(), NodeError> {
        if can.contains(requested) {
            return Ok(());
        }
        Err(self.refusal(field, || match can {
            [] => "this node supports none of these; fix: leave it out".to_owned(),
            can => {
                let list: Vec<String> = can.iter().map(&shown).collect();
                let (requested, list) = (shown(requested), list.join(", "));
                format!("this node does not support {requested}; fix: request one of {list}")
            }
        }))
    }
}

/// The refusal of a number of ports on a node that has `all`.
fn too_many_ports(requested: u32, all: u32) -> String {
    let fix = match all {
        1 => "choose 1 port".to_owned(),
        all => format!("choose 1 to {all} ports"),
    };
    format!("{requested} requested, and the node has {all}; fix: {fix}")
}

/// Refuse a code point where no IPv4 header carries it.
///
/// # Errors
/// [`NodeError::Unsupported`] for a code point on another layer.
pub fn check_mark(trial: &Trial) -> Result<(), NodeError> {
    let has_room = matches!(trial.framing.layer, Layer::UdpIpv4 | Layer::TcpIpv4);
    if trial.dscp.is_some() && !has_room {
        let why = "only IPv4 headers carry a code point, and the layer of this trial has none; fix: give --layer udp4 or tcp4";
        return Err(NodeError::unsupported(TrialOption::Dscp, why));
    }
    Ok(())
}

fn word(of: &impl ToString) -> String {
    of.to_string()
}

impl Resolved {
    /// The trial on a node with `accepts`, over `link`.
    ///
    /// # Errors
    /// [`NodeError::Unsupported`] for what the node refuses, with its reason; [`NodeError::BadTrial`] for a size, a load or
    /// a link rate that contradicts a limit.
    pub fn new(trial: &Trial, accepts: &Accepts<'_>, link: Link) -> Result<Resolved, NodeError> {
        accepts.check(trial)?;
        let is_stream = trial.framing.layer.is_tcp() || accepts.sizes == SizeLimits::Any;
        let sizes = match is_stream {
            true => trial.size.resolve(trial.framing),
            false => trial.sizes(),
        };
        if let (Link::Fixed(rate), Some(requested)) = (link, trial.link_bits_per_s) {
            if requested != rate {
                let why = || format!("its link carries {rate} bit/s; fix: leave --rate out");
                return Err(accepts.refusal(TrialOption::Link, why));
            }
        }
        Resolved::of_sizes(trial, sizes.map_err(NodeError::bad)?, link)
    }

    /// A trial whose frames have other sizes than requested, which the node itself checks.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] for a load or a link rate that contradicts a limit.
    pub fn of_sizes(trial: &Trial, sizes: Sizes, link: Link) -> Result<Resolved, NodeError> {
        if trial.link_bits_per_s == Some(0) {
            return Err(NodeError::bad(
                "a link rate of 0 carries nothing; fix: give e.g. --rate 1G",
            ));
        }
        let layer = trial.framing.layer;
        let own = match link {
            Link::Carrier(rate) | Link::Modelled(rate) => rate,
            Link::Fixed(bits_per_s) => LineRate::new(bits_per_s),
        };
        let given = trial.link();
        let load = trial.load.frames_per_s(&sizes, layer, given.or(own));
        // TCP finds its own rate.
        let paces = matches!(link, Link::Carrier(_)) && !layer.is_tcp();
        let paced = given
            .filter(|_| paces)
            .map(|link| link.frames_per_s(&sizes));
        Ok(Resolved {
            trial: trial.clone(),
            sizes,
            link: given.or(own),
            frames_per_s: load.map_err(NodeError::bad)?.or(paced),
        })
    }

    /// Refuses an echo at maximum load, where its frames do not wait for one another.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] for an echo without a rate.
    pub fn with_echo_rate(self) -> Result<Resolved, NodeError> {
        match (self.trial.direction, self.frames_per_s) {
            (Direction::Echo, None) => Err(NodeError::bad(ECHO_NEEDS_A_RATE)),
            _ => Ok(self),
        }
    }

    /// The pace of its senders.
    pub fn pace(&self) -> Pace {
        Pace::of(self.frames_per_s).strict(self.trial.strict_gaps)
    }

    /// Whether the tester sends.
    pub fn tester_sends(&self) -> bool {
        self.trial.direction != Direction::Transmit
    }

    /// Whether the node sends without an incoming frame.
    pub fn node_sends(&self) -> bool {
        matches!(self.trial.direction, Direction::Transmit | Direction::Both)
    }

    /// The flows of a port, as the node sees them: one for each direction in which frames are not echoes.
    pub fn flows(&self) -> impl Iterator<Item = Direction> + use<> {
        let requested = self.trial.direction;
        [Direction::Transmit, Direction::Receive]
            .into_iter()
            .filter(move |flow| requested == *flow || requested == Direction::Both)
    }

    /// Expected time of the trial in ps; `None` where only the node knows how fast its frames are.
    pub fn expected_ps(&self) -> Option<u64> {
        match self.trial.extent {
            Extent::Time { time_ps } => Some(time_ps),
            // A cast from f64 saturates, so a rate near 0 gives the longest possible time.
            Extent::Frames { frames } => self
                .frames_per_s
                .map(|rate| (frames as f64 * 1e12 / rate) as u64),
        }
    }
}

#[cfg(test)]
mod tests;
