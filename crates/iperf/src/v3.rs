//! iperf3: its control connection, its data, its JSON.
//!
//! The wire format was checked against the distribution's iperf3 3.12; keys of other versions are tolerated.
//!
//! - [`control`]: cookie, states, and the framing of JSON on the control connection;
//! - [`parameters`], [`results`]: the JSON that the two ends exchange; [`datagram`]: the head of UDP datagrams;
//! - [`client_control`], [`server_control`]: both ends of the control connection without I/O;
//! - [`receive`]: counting arrivals; [`test`](mod@test): the result of a test; [`report`], [`table`]: the JSON and the
//!   lines that iperf3 prints;
//! - [`client`], [`server`]: both ends on sockets.

pub mod auth;
mod chosen;
pub mod client;
pub mod client_control;
pub mod control;
mod cpu;
pub mod datagram;
mod json;
mod link;
pub mod parameters;
mod payload;
mod pending;
pub mod receive;
pub mod report;
pub mod results;
mod run;
pub mod server;
pub mod server_control;
pub mod server_error;
mod stream;
pub mod table;
pub mod test;
mod watch;

pub use auth::fuzz_auth;
pub use client::{CONNECT_TIMEOUT, Client};
pub use client_control::{ClientControl, ClientEvent};
pub use control::{ControlError, Cookie, State};
pub use parameters::Parameters;
pub use results::{Results, ServerOutput, StreamResult};
pub use server::Server;
pub use server_control::{ServerControl, ServerEvent};
pub use test::{Beginning, Ends, Interval, StreamOutcome, TestError, TestEvent, TestOutcome};

/// The default port of iperf3.
pub const DEFAULT_PORT: u16 = 5201;
