//! Any bytes as one line of the node control protocol.
#![no_main]

#[path = "../../crates/control/tests/common/demo.rs"]
mod demo;

libfuzzer_sys::fuzz_target!(|data: &[u8]| demo::fuzz_line(data));
