//! The net of one trial: stages over exclusive resources, and places whose tokens are frames, descriptors or buffers.
//!
//! All costs are integer picoseconds. A stage takes one token from each place that leads to it, holds its resource for
//! its cost, and puts one token into each place that leaves it. Whether stages are serial or pipelined is a number of
//! tokens.

mod check;

pub use check::{MAX_COST_PS, MAX_ITEMS, MAX_TOKENS, NetError};

/// Something that one stage at a time can hold: CPU, bus, copy DMA, MAC DMA, wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: String,
}

/// The scatter of a cost around its mean, truncated at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Constant.
    #[default]
    None,
    /// Uniform over this many ps around the mean; σ is the width over √12.
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
    /// A polling loop: it looks at its inputs only at multiples of the period, and takes everything that waits.
    Polled {
        /// Time between two looks in ps.
        period_ps: u64,
    },
    /// Frames arrive from outside, independent of the node; the stage has no input.
    Arrivals(Arrivals),
}

/// Frames from outside: bursts at even distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Frames/s on average.
    pub frames_per_s: f64,
    /// Frames in a burst, which arrive at the same instant; 1 for an even stream.
    pub burst: u32,
    /// Share of frames that never reach the node, 0 to 1, spread evenly (not at random).
    pub lost_before_ratio: f64,
}

/// The fate of a frame that finds no token in another place of its stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// The frame waits for a token.
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
    /// When the stage has finished it.
    End,
}

/// A step of a frame's processing.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Index of the resource it holds while it works; `None` for a pure delay, which any number of frames share.
    pub resource: Option<usize>,
    /// Among stages that wait for one resource the lowest goes first; then the one that has waited longest.
    pub priority: u8,
    /// Mean cost in ps.
    pub cost_ps: u64,
    /// Scatter of the cost in the simulation; the closed form uses the mean.
    pub spread: Spread,
    /// When it starts.
    pub trigger: Trigger,
    /// What happens to a frame when another token is missing.
    pub on_missing: OnMissing,
}

/// Where tokens wait between two stages, as in a Petri net.
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
    /// Whether its tokens are frames, which have an identity; otherwise they are room for frames.
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
    /// A pure delay of `cost_ps` that starts as soon as it can; override other fields with `..`.
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
    /// A place where frames wait between two stages.
    pub fn frames(from: usize, to: usize) -> Place {
        Place {
            name: "frames".into(),
            from,
            to,
            tokens: 0,
            carries_frames: true,
        }
    }

    /// A place of room: stage `from` returns its tokens, and stage `to` takes them.
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
