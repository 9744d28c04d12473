//! Traffic over the sockets of the system: UDP and TCP, many datagrams with few system calls.

pub mod batch;
pub mod mtu;
mod sys;

pub use batch::{Batch, Datagram, Receiver};
