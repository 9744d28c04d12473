//! iperf3: its control connection, its data, its JSON.
//!
//! What is on the wire was checked against the distribution's iperf3 3.12; keys of other versions are tolerated.
//!
//! - [`control`]: cookie, states, and the framing of JSON on the control connection;
//! - [`parameters`], [`results`]: what the two ends tell each other; [`datagram`]: the head of UDP datagrams;
//! - [`client_control`], [`server_control`]: both ends of the control connection without I/O;
//! - [`receive`]: counting what arrives.

pub mod client_control;
pub mod control;
pub mod datagram;
mod fuzz;
mod json;
pub mod parameters;
pub mod receive;
pub mod results;
pub mod server_control;

pub use client_control::{ClientControl, ClientEvent};
pub use control::{ControlError, Cookie, State};
pub use fuzz::{fuzz_control, fuzz_datagram, fuzz_json};
pub use parameters::Parameters;
pub use results::{Results, StreamResult};
pub use server_control::{ServerControl, ServerEvent};

/// The port that iperf3 listens on where none is given.
pub const DEFAULT_PORT: u16 = 5201;
