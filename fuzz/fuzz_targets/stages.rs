//! Any bytes as what a node tells of its capture points, and the stages between them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_control::fuzz_stages(data));
