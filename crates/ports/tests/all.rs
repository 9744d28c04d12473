//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod bad_days;
mod capture;
mod common;
mod departures;
mod dscp;
mod held_back;
mod late;
mod learned;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod stopped;
mod trials;
mod wire_bytes;
