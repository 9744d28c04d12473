//! The node control protocol: codec, client, server core and transports.
//!
//! A tester asks a node, whatever it is, to run a trial and to tell what it saw: lines of at most 512 bytes of text,
//! over TCP, UDP or a UART. `spec/node-control.md` specifies it; `firmware/` has the other implementation.
//!
//! - [`line`] is the checked view of one line and the buffer to write one: no I/O, no allocation;
//! - [`message`] and [`refusal`] are the plain representation;
//! - [`client::Client`] asks over any [`transport::Transport`] and gets each thing done once;
//! - [`node_report::NodeReport`] is what a node says after a trial, in the terms of an observation;
//! - [`token::Token`] is the secret of a node that not everybody may use;
//! - [`server::Server`] is a node without I/O around a [`server::NodeHandler`]; [`serve`] connects it.
//!
//! `agent`, `board`, `hdl`, `remote` and the command line use it; it knows `socket`, `trial` and `wire`. Start reading at
//! `message.rs`, then `client::Client` and `server::Server`.
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
