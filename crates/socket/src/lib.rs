//! Traffic over the sockets of the system: UDP and TCP, test frames and their echo.
//!
//! - [`udp`], [`tcp`]: flows of test frames, every byte compared;
//! - [`echo`]: a reflector, and the latency of echoes;
//! - [`serve`]: frames one by one, with the application's own times;
//! - [`ceiling`]: the tester's own ceiling;
//! - [`calendar`]: times of the wall clock in the host's calendar;
//! - [`flow`]: their requests and reports;
//! - [`access`], [`prefix`]: who may use a server, and to whom it may send;
//! - [`batch`]: many datagrams with few system calls;
//! - [`mtu`]: whether datagrams fit the packets of a path.
//!
//! `agent`, `control`, `iperf`, `remote`, `stages` and the command line use it. It knows `trial` and `wire`. Start
//! reading at `flow`, then `udp/send.rs` and `udp/receive.rs`.

pub mod access;
pub mod batch;
pub mod calendar;
pub mod ceiling;
pub mod echo;
pub mod flow;
mod frames;
pub mod mtu;
pub mod prefix;
pub mod serve;
mod stamps;
mod sys;
pub mod tcp;
pub mod udp;

pub use batch::{Batch, Datagram, Receiver, lengthen_queue};
pub use flow::{Capture, Expect, FlowProgress, Offer, Reception, Sent};
pub use frames::Progressing;
pub use tcp::{TcpInfo, unacked_bytes};
