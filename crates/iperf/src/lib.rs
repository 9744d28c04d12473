//! iperf 2 and iperf3 on the wire: codecs without I/O, then client and server.
//!
//! `agent`, `remote` and the command line use it. It knows `cores`, `socket`, `statistics`, `trial` and `wire`. Start
//! reading at `v2::ClientConfig`, then `v2/client/udp.rs`; the codecs without I/O are `v2/send.rs`, `v2/receive.rs`
//! and `v2/client_header.rs`.
#![forbid(unsafe_code)]

mod connecting;
mod options;
mod queue;
mod sending;
pub mod v2;
pub mod v3;

pub use options::{Name, NameError, RefusedOption, SocketOptions, TosError, parse_dscp, parse_tos};
pub use sending::SendOptions;
