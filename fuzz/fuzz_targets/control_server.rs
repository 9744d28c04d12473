//! Any bytes as what reaches a node's control port.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_control::fuzz_server(data));
