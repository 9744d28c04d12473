//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod buses;
mod code;
mod common;
mod copy_loops;
mod emac_receive;
mod emac_transmit;
mod exceptions;
mod fuzz;
mod gpdma;
mod hostile;
mod semantics;
mod text;
mod timing;
