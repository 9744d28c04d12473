//! The net of one trial: stages over exclusive resources, and places whose tokens are frames, descriptors, buffers.
//!
//! All costs are integer picoseconds. A stage takes one token from each place that leads to it, holds its resource
//! for its cost, and puts one token into each place that leaves it. Serial or pipelined is a number of tokens.

mod check;

pub use check::{MAX_COST_PS, MAX_ITEMS, MAX_TOKENS, NetError};

/// What a stage needs for itself alone: CPU, bus, copy DMA, MAC DMA, wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: String,
}

/// How a cost scatters around its mean, cut off at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Always the same.
    #[default]
    None,
    /// Evenly over this many ps around the mean; σ is the width over √12.
    Uniform {
        /// Whole width in ps.
        width_ps: u64,
    },
    /// Normal.
    Normal {
        /// Standard deviation in ps.
        sigma_ps: u64,
    },
}

/// When a stage starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Trigger {
    /// As soon as every place that leads to it has a token and its resource is free.
    #[default]
    Tokens,
    /// A paced interrupt: at most once in a period it takes everything that waits in its first input, at one cost.
    Paced {
        /// Shortest time between two starts in ps.
        period_ps: u64,
    },
    /// A polling loop: looks at its inputs at multiples of the period only, and takes everything that waits.
    Polled {
        /// Time between two looks in ps.
        period_ps: u64,
    },
    /// Frames that come from outside, whatever the node does; the stage has no input.
    Arrivals(Arrivals),
}

/// Frames from outside: bursts at an even distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Frames/s on average.
    pub frames_per_s: f64,
    /// Frames in a burst, which come at the same instant; 1 for an even stream.
    pub burst: u32,
    /// Share of frames that never reach the node, 0 to 1, spread evenly (not at random).
    pub lost_before_ratio: f64,
}

/// What happens to a frame that finds no token in another place its stage needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// It waits.
    #[default]
    Wait,
    /// It is lost, as by a receive ring without a free buffer.
    Drop,
}

/// An instant of a stage's work on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// When the stage starts on the frame.
    Start,
    /// When it has done it.
    End,
}

/// A step of the frame's way.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Index of the resource it holds while it works; `None` for a mere delay, which any number of frames share.
    pub resource: Option<usize>,
    /// Among stages that wait for one resource the lowest goes first; then the one that has waited longest.
    pub priority: u8,
    /// Mean cost in ps.
    pub cost_ps: u64,
    /// How the cost scatters in the simulation; the closed form takes the mean.
    pub spread: Spread,
    /// When it starts.
    pub trigger: Trigger,
    /// What happens when a frame is there and another token is not.
    pub on_missing: OnMissing,
}

/// Where tokens wait between two stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What its tokens are, e.g. `frames` or `descriptors`.
    pub name: String,
    /// Index of the stage that puts tokens in.
    pub from: usize,
    /// Index of the stage that takes them.
    pub to: usize,
    /// Tokens at the start.
    pub tokens: u32,
    /// Whether its tokens are frames on their way, with an identity, as opposed to room for them.
    pub carries_frames: bool,
}

/// A chain of stages that frames of one flow go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// E.g. `port0 transmit`.
    pub name: String,
    /// Indices of its stages, first to last.
    pub stages: Vec<usize>,
}

/// Stages, resources, places: a marked graph with costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Net {
    /// Resources.
    pub resources: Vec<Resource>,
    /// Stages.
    pub stages: Vec<Stage>,
    /// Places.
    pub places: Vec<Place>,
    /// The flows' chains.
    pub chains: Vec<Chain>,
}

impl Stage {
    /// A mere delay of so many ps that starts as soon as it can; name what differs with `..`.
    pub fn new(name: &str, cost_ps: u64) -> Stage {
        Stage {
            name: name.to_owned(),
            resource: None,
            priority: 1,
            cost_ps,
            spread: Spread::None,
            trigger: Trigger::Tokens,
            on_missing: OnMissing::Wait,
        }
    }
}

impl Place {
    /// Where frames wait on their way from one stage to another.
    pub fn frames(from: usize, to: usize) -> Place {
        Place {
            name: "frames".into(),
            from,
            to,
            tokens: 0,
            carries_frames: true,
        }
    }

    /// So much room that one stage gives back and another takes.
    pub fn room(name: &str, from: usize, to: usize, tokens: u32) -> Place {
        Place {
            name: name.to_owned(),
            from,
            to,
            tokens,
            carries_frames: false,
        }
    }
}
