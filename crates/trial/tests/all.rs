//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod common;
mod hardware_frames;
mod impossible;
mod impossible_leaves;
mod impossible_together;
mod intervals;
mod lowered;
mod names;
mod results;
mod results_samples;
mod retry;
mod series;
mod stages;
mod tracker;
mod warnings;
