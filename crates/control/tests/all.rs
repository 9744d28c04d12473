//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod common;
mod corpus;
mod patience;
mod properties;
mod protocol;
mod strangers;
mod transports;
mod vectors;
