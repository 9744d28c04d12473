//! The node control protocol: codec, client, server core and transports.
//!
//! A tester requests a trial from a node of any type and reads its results: lines of at most 512 bytes of text, over
//! TCP, UDP or a UART. `spec/node-control.md` specifies it; `firmware/` has the other implementation.
//!
//! - [`line`] is the checked view of one line and the buffer to write one, without I/O or allocation;
//! - [`message`] and [`refusal`] are the plain representation;
//! - [`client::Client`] sends requests over any [`transport::Transport`] and gets each executed once;
//! - [`node_report::NodeReport`] is a node's report after a trial, in the terms of an observation;
//! - [`token::Token`] is the secret of a node with restricted access;
//! - [`server::Server`] is a node without I/O around a [`server::NodeHandler`]; [`serve`] connects it.
//!
//! `agent`, `board`, `hdl`, `remote` and the command line use it. It knows `socket`, `trial` and `wire`. Start reading
//! at `message.rs`, then `client::Client` and `server::Server`.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod client;
pub mod line;
pub mod message;
pub mod node_report;
pub mod refusal;
pub mod refused;
pub mod serve;
pub mod server;
pub mod slices;
pub mod token;
pub mod transport;
pub mod value;

mod linebuf;

pub use client::{Client, ClientError};
pub use line::{Line, LineBuf, RequestId};
pub use message::{PORT, Reply, Request, VERSION};
pub use refusal::{Code, Refusal};
pub use server::{Config, NodeHandler, Peer, Server};
pub use transport::Transport;
