//! The engine's tables: stages, places, resources, sources, and pending events.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use super::arrivals::ArrivalClock;
use crate::net::Spread;

/// When a stage with all its tokens becomes ready.
#[derive(Clone, Copy, Debug)]
pub enum Wake {
    Tokens,
    Paced { period_ps: u64 },
    Polled { period_ps: u64 },
}

/// A stage; ranges refer to the engine's tables of links and marks.
#[derive(Debug)]
pub struct StageState {
    pub resource: u32,
    pub priority: u8,
    pub wake: Wake,
    pub takes_all: bool,
    pub drops: bool,
    pub cost_ps: u64,
    pub spread: Spread,
    /// Inputs without a token.
    pub missing: u32,
    pub since_ps: u64,
    /// Start of the next period of a paced stage.
    pub next_ps: u64,
    pub source: u32,
    /// The chain it is in, and the chain it is the last of.
    pub chain: u32,
    pub ends: u32,
    pub frame_inputs: Range<usize>,
    pub room_inputs: Range<usize>,
    pub room_outputs: Range<usize>,
    pub frame_outputs: Range<usize>,
    pub freed_by_drop: Range<usize>,
    pub at_start: Range<usize>,
    pub at_end: Range<usize>,
}

#[derive(Debug)]
pub struct PlaceState {
    pub to: u32,
    pub tokens: u64,
    pub frames: VecDeque<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct ResourceState {
    pub busy: bool,
    /// Whether it is in the list of resources and delays to check.
    pub woken: bool,
    pub ready: Vec<u32>,
}

/// Where a chain's frames originate.
#[derive(Debug)]
pub struct Source {
    pub stage: u32,
    pub chain: usize,
    /// Frames still to make or to arrive.
    pub remaining: u64,
    /// Frames that arrived and were not taken yet.
    pub waiting: VecDeque<u64>,
    pub next_id: u64,
    pub arrivals: Option<ArrivalClock>,
}

impl Source {
    #[inline]
    pub fn is_open(&self) -> bool {
        self.remaining > 0 || !self.waiting.is_empty()
    }
}

/// A watch that begins or ends at an edge.
#[derive(Clone, Copy, Debug)]
pub struct WatchEdge {
    pub watch: usize,
    pub begins: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A stage has finished `count` tokens: `frame` is its frame, or a batch where there are several.
    End { frame: u32, count: u32 },
    /// A paced or polled stage looks at its inputs.
    Look,
    /// Frames arrive at a source.
    Arrival,
    /// All sources end.
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub time_ps: u64,
    pub sequence: u64,
    /// Stage or source.
    pub index: u32,
    pub kind: EventKind,
}

impl Ord for Event {
    /// The earliest event is the greatest, because the heap returns the greatest first.
    #[inline]
    fn cmp(&self, other: &Event) -> Ordering {
        (other.time_ps, other.sequence).cmp(&(self.time_ps, self.sequence))
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
