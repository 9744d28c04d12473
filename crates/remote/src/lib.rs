//! Peers somewhere on the network as nodes: `iperf:HOST[:PORT]` and `node:HOST[:PORT]`, and `lab:` on this host.
//!
//! An iperf 2 server is what most boards have; it is asked by [`IperfNode`], and what it cannot do or tell is said.
//! A node that speaks the control protocol (a Linux box with `wirelab node serve`, firmware, also on an emulated
//! board) is asked by [`ControlNode`], over the stack of this host or over a wire of whole frames.
//!
//! The command line uses it, and boards, which are such nodes in an emulator; of other node types it knows pairs of ports, which a
//! lab is without a Linux node in it. Start reading at `kind.rs`, then `ControlNode` and `IperfNode`; each has a `plan.rs`, a
//! runner and an `observe.rs`.
#![forbid(unsafe_code)]

pub mod ceiling;
mod host;
pub mod iperf;
mod kind;
pub mod lab;
mod leaving;
pub mod node;
pub mod opinion;
mod path;
mod route;

pub use ceiling::ceiling_frames_per_s;
pub use host::HostPort;
pub use iperf::IperfNode;
pub use kind::{IPERF, IPERF3, LAB, NODE};
pub use node::{Connect, ControlNode, Ends};
