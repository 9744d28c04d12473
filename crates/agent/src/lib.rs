//! A Linux host as a node. It speaks the node control protocol, sends, receives and reflects test frames,
//! and reports the load of its cores. iperf servers run beside it.
//!
//! [`Serving`] is the whole node. It listens on one address, sends only to the peer that requested it, and restores
//! what it changed on the host when it ends.
//!
//! On Linux it is the other end of `node:HOST`, also in the tests of `remote`. The command line uses it. It knows
//! `control`, `cores`, `iperf`, `port`, `socket`, `stages`, `trial` and `wire`. Start reading at `serve.rs`, then
//! `handler.rs`, `planning.rs` and `supervisor.rs`.

mod engine;
mod ethernet;
mod facts;
mod handler;
mod host;
mod inside;
mod limits;
mod location;
mod meter;
mod options;
mod past;
mod path_options;
mod planning;
mod reports;
mod request;
mod senders;
mod serve;
mod supervisor;
mod sys;
mod tcp;
mod udp;

pub use limits::Limits;
pub use options::{AgentError, OnRefusal, Options, OptionsError};
pub use serve::{Serving, Started};
pub use wirelab_stages::Xdp;
