//! Plays every frame of a net: a discrete-event simulation in integer ps, the same for the same seed.
//!
//! - A stage starts when each place that leads to it has a token and its resource is free; nothing interrupts it.
//!   Among the stages that wait for one resource the lowest `priority` goes first, then the one whose tokens have
//!   been complete for longest, then the one of the lowest index. All that ends at one instant ends before anything
//!   starts, and room comes free before frames arrive.
//! - A stage without a resource is a delay that any number of frames share.
//! - The first stage of a chain to which no place brings frames makes them, one a start, as fast as its other places
//!   and its resource let it; or they arrive there ([`Trigger::Arrivals`]) and wait for it.
//! - A paced stage starts no sooner than its period after its last start; a polled one becomes ready at multiples of
//!   its period. Both take all that waits, as far as every place has a token for each, at one cost; all leave at its
//!   end. The first stage of a chain takes one frame even so.
//! - A frame that comes to a stage that drops ([`OnMissing::Drop`]) takes its token of every other place in mind at
//!   once: it is lost where one has no more tokens than frames wait already. Room places from that stage back to
//!   earlier ones get their token, for the frame is out of the way.

mod arrivals;
mod cost;
mod engine;
mod flow;
mod frames;
mod setup;
mod state;
mod trouble;

use wirelab_trial::Cancel;

pub use crate::net::Edge;
use crate::net::{Net, NetError};
#[cfg(doc)]
use crate::net::{OnMissing, Trigger};

/// Most events of a run, unless asked otherwise.
pub const EVENTS_MAX: u64 = 500_000_000;
/// Most frames under way at a time.
pub const FRAMES_UNDER_WAY_MAX: usize = 1 << 20;
/// Most samples of a watch, frames of a chain or firings that are kept, whatever is asked.
pub const KEPT_MAX: usize = 1 << 20;

/// A time that is taken of every frame: between two edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Stage and edge where the clock starts.
    pub from: (usize, Edge),
    /// Stage and edge where it stops.
    pub to: (usize, Edge),
}

/// What to simulate, and what to keep of it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// For each chain after how many frames it stops, counted at its first stage and with those that are lost;
    /// a chain without a number, or without an entry, goes on until `time_ps`.
    pub frames: Vec<Option<u64>>,
    /// From this instant on no first stage starts a frame and none arrives; those under way go on to their end.
    pub time_ps: Option<u64>,
    /// Where the random figures start.
    pub seed: u64,
    /// Times to take.
    pub watches: Vec<Watch>,
    /// Samples kept of each watch, the first ones.
    pub samples_kept: usize,
    /// Frames of each chain whose times are kept, the first ones to leave.
    pub frames_kept: usize,
    /// Firings kept, in the order of their starts.
    pub firings_kept: usize,
    /// Firings are kept from this instant on.
    pub firings_from_ps: u64,
    /// More events than this are an error.
    pub events_max: u64,
    /// Ends the run early.
    pub cancel: Cancel,
}

impl Default for Ask {
    fn default() -> Ask {
        Ask {
            frames: Vec::new(),
            time_ps: None,
            seed: 1,
            watches: Vec::new(),
            samples_kept: 65_536,
            frames_kept: 0,
            firings_kept: 0,
            firings_from_ps: 0,
            events_max: EVENTS_MAX,
            cancel: Cancel::new(),
        }
    }
}

impl Ask {
    /// So many frames through each chain of a net.
    pub fn frames(net: &Net, frames: u64) -> Ask {
        Ask {
            frames: vec![Some(frames); net.chains.len()],
            ..Ask::default()
        }
    }
}

/// The result of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainRun {
    /// Frames that its first stage made or that were sent to it; at the end done + lost + lost before.
    pub offered: u64,
    /// Frames that left its last stage.
    pub done: u64,
    /// Frames lost at one of its stages.
    pub lost: u64,
    /// Frames that never reached the node.
    pub lost_before: u64,
    /// When its first stage first started, in ps.
    pub first_start_ps: Option<u64>,
    /// When the first frame left, in ps.
    pub first_end_ps: Option<u64>,
    /// When the last frame left, in ps.
    pub last_end_ps: Option<u64>,
    /// Times of the frames that left first.
    pub frames: Vec<FrameTimes>,
}

/// When a frame went through its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTimes {
    /// Number of the frame, from 0, with those lost before it counted.
    pub id: u64,
    /// Start of the first stage in ps.
    pub start_ps: u64,
    /// End of the last stage in ps.
    pub end_ps: u64,
}

/// What a stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageRun {
    /// How often it started.
    pub starts: u64,
    /// Tokens that went through it; more than its starts where it takes several at once.
    pub frames: u64,
    /// Sum of its costs in ps.
    pub busy_ps: u64,
    /// Frames lost at it.
    pub lost: u64,
}

/// One piece of work of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// Index of the stage.
    pub stage: usize,
    /// Number of the first frame it took; none where it took only room.
    pub frame: Option<u64>,
    /// Frames it took.
    pub frames: u32,
    /// Its start in ps.
    pub start_ps: u64,
    /// Its end in ps.
    pub end_ps: u64,
}

/// Times taken by a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The first ones, in ps, in the order of their ends.
    pub kept_ps: Vec<u64>,
    /// How many there were.
    pub seen: u64,
}

/// What was simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// When the last frame had left the net, in ps.
    pub end_ps: u64,
    /// Ends of stages, arrivals and looks at the clock.
    pub events: u64,
    /// Whether it went on to its end; not so where it was cancelled.
    pub complete: bool,
    /// One for each chain.
    pub chains: Vec<ChainRun>,
    /// One for each stage.
    pub stages: Vec<StageRun>,
    /// Busy time of each resource in ps.
    pub busy_ps: Vec<u64>,
    /// One for each watch.
    pub samples: Vec<Samples>,
    /// Pieces of work, as many as were asked for.
    pub firings: Vec<Firing>,
}

impl Run {
    /// Until when every chain had frames to offer, in ps; none where no times of frames were kept. What a flow does
    /// after another is done is no steady state, since it has the other's share.
    pub fn offered_until_ps(&self) -> Option<u64> {
        let last_start = |chain: &ChainRun| chain.frames.iter().map(|f| f.start_ps).max();
        self.chains.iter().filter_map(last_start).min()
    }
}

/// Why a simulation gave no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The net cannot run.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A chain that would go on for ever.
    #[error("chain '{0}' has no end; fix: ask for a number of frames or for a time")]
    NoEnd(String),
    /// A watch of a stage that is not there.
    #[error("a watch names stage {stage}, but there are {count}, counted from 0")]
    NoSuchStage {
        /// The index.
        stage: usize,
        /// How many there are.
        count: usize,
    },
    /// Nothing can go on although frames are left.
    #[error(
        "at {at_ps} ps nothing goes on any more although {frames} frames are under way; stage '{stage}' waits for \
         a token of place '{place}'"
    )]
    Stuck {
        /// When, in ps.
        at_ps: u64,
        /// Frames that are left.
        frames: usize,
        /// A stage that waits.
        stage: String,
        /// What it waits for.
        place: String,
    },
    /// Simulated time does not advance.
    #[error(
        "at {at_ps} ps time stands still: {events} events at one instant, most of them of stage '{stage}'; fix: give it a cost"
    )]
    NoProgress {
        /// When, in ps.
        at_ps: u64,
        /// How many events.
        events: u64,
        /// The stage of most.
        stage: String,
    },
    /// Frames pile up.
    #[error(
        "more than {FRAMES_UNDER_WAY_MAX} frames are under way at once; nothing holds back stage '{stage}', \
         give it a place with room"
    )]
    Backlog {
        /// The stage that makes them.
        stage: String,
    },
    /// Too many events.
    #[error("more than {0} events; fix: ask for fewer frames or less time")]
    TooManyEvents(u64),
    /// Beyond what 63 bits of ps hold.
    #[error(
        "stage '{0}' would end more than 106 days after the start; fix: ask for fewer frames or less time"
    )]
    TooLong(String),
}

/// Plays a net until the frames that were asked for have left it.
///
/// # Errors
/// [`SimError`], where the net cannot run or the run would not end.
///
/// ```
/// use wirelab_model::net::{Chain, Net, Place, Resource, Stage};
/// use wirelab_model::sim::{Ask, simulate};
///
/// let stage = |name: &str, resource, cost_ps| Stage { resource: Some(resource), ..Stage::new(name, cost_ps) };
/// let net = Net {
///     resources: vec![Resource { name: "cpu".into() }, Resource { name: "wire".into() }],
///     stages: vec![stage("copy", 0, 70), stage("wire", 1, 100)],
///     places: vec![Place::frames(0, 1), Place::room("descriptors", 1, 0, 2)],
///     chains: vec![Chain { name: "transmit".into(), stages: vec![0, 1] }],
/// };
/// let run = simulate(&net, &Ask::frames(&net, 10))?;
/// assert_eq!(run.end_ps, 70 + 10 * 100);
/// # Ok::<(), wirelab_model::sim::SimError>(())
/// ```
pub fn simulate(net: &Net, ask: &Ask) -> Result<Run, SimError> {
    net.check()?;
    setup::engine(net, ask)?.run()
}
