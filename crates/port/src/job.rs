//! What every sender and checker of this crate is requested to do, on any path. Their reports are in
//! [`wirelab_trial::job`], which all transports of test frames share.

use wirelab_trial::{Buffers, Extent};
use wirelab_wire::{Flow, FrameSpec, Sizes};

pub use wirelab_trial::job::{CheckReport, Missed, Pace, SendReport};

use crate::inject::Schedule;

/// What a sender sends on one port.
#[derive(Clone, Debug)]
pub struct SendJob {
    /// Addresses, tags and transport.
    pub frame: FrameSpec,
    /// Size of every frame.
    pub sizes: Sizes,
    /// Stream number.
    pub stream: u8,
    /// Whether each frame carries its transmit time.
    pub with_time: bool,
    /// The requested rate.
    pub pace: Pace,
    /// When to stop.
    pub extent: Extent,
    /// Faults to make; empty for a clean run.
    pub faults: Schedule,
    /// How frame data reach the kernel; `None` leaves the choice to the path.
    pub buffers: Option<Buffers>,
}

/// What a checker expects on one port.
#[derive(Clone, Copy, Debug)]
pub struct CheckJob {
    /// The flow: source address, UDP port, stream.
    pub flow: Flow,
    /// Slots K of repeating frames, if the flow sends such frames.
    pub slots: Option<u32>,
    /// Record the arrival time of one frame in this many (a power of two); 1 for every frame.
    pub time_every: u32,
}
