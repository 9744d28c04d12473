//! Any bytes as one line of the node control protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_control::fuzz_line(data));
