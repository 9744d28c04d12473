//! A Linux box as a node under test: it speaks the node control protocol, sends, receives and reflects test frames,
//! and tells how busy its cores were meanwhile. iperf servers run beside it.
//!
//! [`Serving`] is the whole of it: it listens on one address and on no other, sends only to the peer that asked, and
//! puts back what it changed on the host when it ends.
//!
//! The other end of `node:HOST` on Linux: the command line uses it, and tests of `remote`. Start reading at `serve.rs`, then
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
mod planning;
mod reports;
mod request;
mod senders;
mod serve;
mod supervisor;
mod sys;
mod tcp;
mod udp;
mod ways;

pub use limits::Limits;
pub use options::{AgentError, OnRefusal, Options, OptionsError};
pub use serve::{Serving, Started};
pub use wirelab_stages::Xdp;
