//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod common;
mod example;
mod fast_track;
mod node_program;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod reflector;
mod rig;
mod tracer;
mod tracer_frames;
mod tracer_load;
mod tracer_paused;
mod tracer_sockets;
mod tracer_steered;
mod tracer_trouble;
mod trouble;
