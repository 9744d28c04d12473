//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod attached;
mod common;
mod ethernet;
mod hostile;
mod inside;
mod load;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod past;
mod sockets;
