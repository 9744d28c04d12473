//! Peers on the network as nodes: `iperf:HOST`, `iperf3:HOST` and `node:HOST`, `serial:DEVICE` on a line, and `lab:` on this host.
//!
//! Most boards have an iperf 2 server; [`IperfNode`] uses it, and names what it cannot do or report. [`ControlNode`]
//! uses a node with the control protocol (a Linux host with `wirelab node serve`, firmware, also on an emulated board),
//! over the stack of this host or over a wire of whole frames.
//!
//! `board` and the command line use it: boards are such nodes in an emulator, and a lab without a Linux node is a pair
//! of ports. It knows `console`, `control`, `cores`, `iperf`, `port`, `ports`, `socket`, `stages`, `trial` and `wire`.
//! Start reading at `node_type.rs`, then `ControlNode` and `IperfNode`; each has a `plan.rs`, a runner and an `observe.rs`.
#![forbid(unsafe_code)]

pub mod ceiling;
mod host;
pub mod iperf;
pub mod lab;
mod leaving;
pub mod manners;
pub mod node;
mod node_type;
pub mod opinion;
mod path;
mod route;
mod serial;

pub use ceiling::ceiling_frames_per_s;
pub use iperf::IperfNode;
pub use node::{Connect, ControlNode, Ends, HostedBoard};
pub use node_type::{IPERF, IPERF3, LAB, NODE};
pub use serial::SERIAL;
