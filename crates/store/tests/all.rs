//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

#[macro_use]
mod common;
mod grafana;
mod places;
mod processes;
mod runs;
mod tls;
mod typed;
