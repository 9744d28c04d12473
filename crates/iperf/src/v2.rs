//! iperf 2: its header generations, reports and table.
//!
//! The wire format was checked against the distribution's iperf 2.1.8; the generations that this binary does not use
//! follow literal bytes in the tests.
//!
//! - [`datagram`], [`client_header`], [`report`], [`flags`]: codecs without I/O, and detection of the generation;
//! - [`receive`], [`send`], [`sent`]: both ends of a UDP flow without I/O, [`stream`] those of a TCP flow; all use the
//!   caller's clock;
//! - [`schedule`], [`intervals`]: when packets and lines are due; [`clock`]: timestamps of datagrams;
//! - [`server`], [`client`]: both on sockets; [`outcome`] is their result;
//! - [`amount`]: amounts and rates of options; [`table`], [`enhanced`], [`sums`], [`csv`]: the text that iperf prints;
//!   [`json`]: a result as JSON.

pub mod amount;
mod bytes;
pub mod client;
pub mod client_header;
pub mod clock;
pub mod csv;
pub mod datagram;
pub mod enhanced;
pub mod flags;
mod fuzz;
pub mod intervals;
mod io;
pub mod json;
pub mod outcome;
mod peer_count;
pub mod progress;
pub mod receive;
pub mod report;
pub mod schedule;
pub mod send;
pub mod sent;
pub mod server;
mod sockets;
pub mod stream;
pub mod sums;
pub mod table;

pub use amount::{Amount, Rate};
pub use client::{ClientConfig, ClientEvent, Protocol};
pub use client_header::{ClientHeader, Mode};
pub use datagram::{Generation, Head, IdWidth};
pub use fuzz::fuzz_header;
pub use outcome::{Leg, Outcome, Trouble, UdpReceived};
pub use receive::{Arrival, Received, Receiver};
pub use report::ServerReport;
pub use send::{SendAction, SendPlan, Sender, Sent};
pub use server::{Server, ServerConfig, ServerEvent};

/// The port of an iperf 2 server.
pub const DEFAULT_PORT: u16 = 5001;
