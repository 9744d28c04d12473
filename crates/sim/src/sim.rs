//! Simulates every frame of a net by discrete events in integer ps; the same seed gives the same result.
//!
//! - A stage starts when each place that leads to it has a token and its resource is free; nothing interrupts it. Among
//!   the stages that wait for one resource the lowest `priority` goes first, then the one whose tokens have been
//!   complete for longest, then the one of the lowest index. Everything that ends at an instant ends before anything
//!   starts, and room is freed before frames arrive.
//! - A stage without a resource is a delay that any number of frames share.
//! - The first stage of a chain, if no place brings it frames, makes one at each start, as fast as its other places and
//!   its resource let it; or frames arrive there ([`Trigger::Arrivals`]) and wait for it.
//! - A paced stage starts no sooner than its period after its last start; a polled one becomes ready at multiples of
//!   its period. Both take everything that waits, as far as every place has a token for each, at one cost; all leave at
//!   its end. As the first stage of a chain they still take one frame.
//! - A frame that reaches a stage that drops ([`OnMissing::Drop`]) claims its token of every other place at once. It is
//!   lost if one of them has no more tokens than frames already wait. Room places from that stage back to earlier ones
//!   get their token, because the frame is gone.

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

/// Most events of a run by default.
pub const EVENTS_MAX: u64 = 500_000_000;
/// Most frames in flight at a time.
pub const FRAMES_IN_FLIGHT_MAX: usize = 1 << 20;
/// Most samples of a watch, frames of a chain or firings that a run keeps.
pub const KEPT_MAX: usize = 1 << 20;

/// A time measured for every frame, between two edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeTimer {
    /// Stage and edge where the clock starts.
    pub from: (usize, Edge),
    /// Stage and edge where it stops.
    pub to: (usize, Edge),
}

/// What to simulate, and what to keep.
#[derive(Clone, Debug)]
pub struct SimRequest {
    /// Frames after which each chain stops, counted at its first stage and including lost ones. A chain without a number or an
    /// entry goes on until `time_ps`.
    pub frames: Vec<Option<u64>>,
    /// From this instant on no first stage starts a frame and none arrives; those in flight finish.
    pub time_ps: Option<u64>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Times to measure.
    pub watches: Vec<EdgeTimer>,
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

impl Default for SimRequest {
    fn default() -> SimRequest {
        SimRequest {
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

impl SimRequest {
    /// A run of `frames` frames through each chain of a net.
    pub fn frames(net: &Net, frames: u64) -> SimRequest {
        SimRequest {
            frames: vec![Some(frames); net.chains.len()],
            ..SimRequest::default()
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
    /// Number of the frame, from 0, including those lost before it.
    pub id: u64,
    /// Start of the first stage in ps.
    pub start_ps: u64,
    /// End of the last stage in ps.
    pub end_ps: u64,
}

/// The result of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageRun {
    /// Number of its starts.
    pub starts: u64,
    /// Tokens that went through it; more than its starts where it takes several at once.
    pub frames: u64,
    /// Sum of its costs in ps.
    pub busy_ps: u64,
    /// Frames lost at it.
    pub lost: u64,
}

/// One piece of work of a stage, as in a Petri net.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// Index of the stage.
    pub stage: usize,
    /// Number of the first frame it took; `None` where it took only room.
    pub frame: Option<u64>,
    /// Frames it took.
    pub frames: u32,
    /// Its start in ps.
    pub start_ps: u64,
    /// Its end in ps.
    pub end_ps: u64,
}

/// Samples of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerSamples {
    /// The first samples, in ps, in the order of their ends.
    pub kept_ps: Vec<u64>,
    /// Number of all samples.
    pub count: u64,
}

/// The result of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimResult {
    /// When the last frame had left the net, in ps.
    pub end_ps: u64,
    /// Ends of stages, arrivals and looks at the clock.
    pub events: u64,
    /// Whether it ran to its end and was not cancelled.
    pub complete: bool,
    /// One for each chain.
    pub chains: Vec<ChainRun>,
    /// One for each stage.
    pub stages: Vec<StageRun>,
    /// Busy time of each resource in ps.
    pub busy_ps: Vec<u64>,
    /// One for each watch.
    pub samples: Vec<TimerSamples>,
    /// Firings, as many as were requested.
    pub firings: Vec<Firing>,
}

impl SimResult {
    /// Until when every chain had frames to offer, in ps; `None` where no times of frames were kept. After one flow
    /// ends, the others have its share of the resources, so the state is no longer steady.
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
    /// A chain that would never end.
    #[error("chain '{0}' has no end; fix: ask for a number of frames or for a time")]
    NoEnd(String),
    /// A watch of a stage that does not exist.
    #[error(
        "a watch names stage {stage}, but there are {count}; fix: name one of them, counted from 0"
    )]
    NoSuchStage {
        /// The index.
        stage: usize,
        /// How many there are.
        count: usize,
    },
    /// Nothing can proceed although frames are left.
    #[error(
        "at {at_ps} ps the net is stuck with {frames} frames in flight: stage '{stage}' waits for \
         a token of place '{place}'; fix: give that place more tokens"
    )]
    Stuck {
        /// The instant in ps.
        at_ps: u64,
        /// Frames that are left.
        frames: usize,
        /// A stage that waits.
        stage: String,
        /// The place that it waits for.
        place: String,
    },
    /// Simulated time does not advance.
    #[error(
        "at {at_ps} ps time stands still: {events} events at one instant, most of them of stage '{stage}'; fix: give it a cost"
    )]
    NoProgress {
        /// The instant in ps.
        at_ps: u64,
        /// Number of events.
        events: u64,
        /// The stage with the most events.
        stage: String,
    },
    /// Frames pile up.
    #[error(
        "more than {FRAMES_IN_FLIGHT_MAX} frames are in flight at once: nothing limits stage '{stage}'; fix: give it a place with room"
    )]
    Backlog {
        /// The stage that makes them.
        stage: String,
    },
    /// Too many events.
    #[error("more than {0} events; fix: ask for fewer frames or less time")]
    TooManyEvents(u64),
    /// An instant beyond 63 bits of ps.
    #[error(
        "stage '{0}' would end more than 106 days after the start; fix: ask for fewer frames or less time"
    )]
    TooLong(String),
}

/// Simulates a net until the requested frames have left it.
///
/// # Errors
/// [`SimError`], where the net cannot run or the run would not end.
///
/// ```
/// use wirelab_sim::net::{Chain, Net, Place, Resource, Stage};
/// use wirelab_sim::sim::{SimRequest, simulate};
///
/// let stage = |name: &str, resource, cost_ps| Stage { resource: Some(resource), ..Stage::new(name, cost_ps) };
/// let net = Net {
///     resources: vec![Resource { name: "cpu".into() }, Resource { name: "wire".into() }],
///     stages: vec![stage("copy", 0, 70), stage("wire", 1, 100)],
///     places: vec![Place::frames(0, 1), Place::room("descriptors", 1, 0, 2)],
///     chains: vec![Chain { name: "transmit".into(), stages: vec![0, 1] }],
/// };
/// let run = simulate(&net, &SimRequest::frames(&net, 10))?;
/// assert_eq!(run.end_ps, 70 + 10 * 100);
/// # Ok::<(), wirelab_sim::sim::SimError>(())
/// ```
pub fn simulate(net: &Net, ask: &SimRequest) -> Result<SimResult, SimError> {
    net.check()?;
    setup::engine(net, ask)?.run()
}
