//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod corpora;
mod fuzz;
mod lines;
mod linux;
mod sessions;
#[path = "../../trial/tests/common/table.rs"]
mod table;
