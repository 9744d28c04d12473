//! iperf 2 and iperf3 on the wire: codecs without I/O, then client and server.
#![forbid(unsafe_code)]

mod connecting;
mod options;
mod queue;
mod sending;
pub mod v2;
pub mod v3;

pub use options::{Name, NameError, RefusedOption, SocketOptions, TosError, parse_dscp, parse_tos};
pub use sending::SendOptions;
