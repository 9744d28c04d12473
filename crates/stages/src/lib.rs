//! Where time is spent inside a Linux node: capture points in the kernel (eBPF), and a fast track past its stack.
//!
//! `agent`, `remote` and the command line use it. It knows `cores`, `ebpf-build`, `port`, `socket`, `trial` and
//! `wire`. Start reading at [`Tracer`], then [`Store`] and `bpf/stages.bpf.c`; [`FastTrack`] is the path past the
//! stack, and [`Watch`] times frames that another program sends.

mod abi;
mod clock;
mod counters;
mod error;
mod fast_track;
mod point;
mod programs;
mod reflector;
mod store;
mod sys;
mod tracer;
mod watch;
mod watch_load;
mod xdp;

pub use error::StagesError;
pub use fast_track::{DEFAULT_FRAMES, FastTrack, FastTrackCounters, FastTrackOptions, MOST_FRAMES};
pub use point::Point;
pub use programs::ProbeSet;
pub use reflector::Reflector;
pub use store::{Cost, Counts, FlowFilter, MOST_RECORDS, NODE_NS, Store};
pub use tracer::{Choice, PointInfo, Tracer, TracerOptions};
pub use watch::{HERE, Watch};
pub use xdp::{MAX_QUEUES, NodeCounters, NodeOptions, NodeXdp, Reflect, Xdp, own_addresses};
