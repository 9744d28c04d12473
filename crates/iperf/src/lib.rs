//! iperf 2 and iperf3 on the wire: codecs without I/O, then client and server.
#![forbid(unsafe_code)]

mod queue;
mod sending;
pub mod v2;
pub mod v3;

pub use sending::SendOptions;
