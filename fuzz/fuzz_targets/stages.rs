//! Any bytes as what a node tells of its capture points, and the stages between them.
#![no_main]

#[path = "../../crates/control/tests/common/demo.rs"]
mod demo;

libfuzzer_sys::fuzz_target!(|data: &[u8]| demo::fuzz_stages(data));
