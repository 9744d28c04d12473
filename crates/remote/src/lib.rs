//! Peers somewhere on the network as nodes: `iperf:HOST[:PORT]` and `node:HOST[:PORT]`.
//!
//! An iperf 2 server is what most boards have; it is asked by [`IperfNode`], and what it cannot do or tell is said.
//! A node that speaks the control protocol (a Linux box with `wirelab node serve`, firmware, also on an emulated
//! board) is asked by [`ControlNode`], over the stack of this host or over a wire of whole frames.
//!
//! The command line alone uses it, and it knows no other node type. Start reading at `ControlNode` and `IperfNode`; each has
//! a `plan.rs`, a runner and an `observe.rs`.
#![forbid(unsafe_code)]

pub mod ceiling;
mod host;
pub mod iperf;
mod leaving;
pub mod node;
pub mod opinion;
mod path;
mod route;

pub use ceiling::ceiling_frames_per_s;
pub use host::HostPort;
pub use iperf::IperfNode;
pub use node::{Connect, ControlNode, Ends};
