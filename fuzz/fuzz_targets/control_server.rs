//! Any bytes as what reaches a node's control port.
#![no_main]

#[path = "../../crates/control/tests/common/demo.rs"]
mod demo;

libfuzzer_sys::fuzz_target!(|data: &[u8]| demo::fuzz_server(data));
