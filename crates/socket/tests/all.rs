//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod ceiling;
mod common;
mod drops;
mod echo;
mod flows;
mod impaired;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod segmented;
mod stopped;
