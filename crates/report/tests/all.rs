//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod audit;
mod common;
mod datasheet;
mod explain;
#[path = "common/explained.rs"]
mod explained;
mod figures;
mod formats;
mod held_back;
mod intervals;
mod judge;
mod limits;
mod loaded;
mod loss_ranges;
mod over_time;
mod page_words;
mod provenance;
mod repeated;
mod safe;
mod stages;
mod studies;
