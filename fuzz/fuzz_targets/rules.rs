//! Any bytes as rules of the fast track and a frame to which they are applied.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_wire::rule::fuzz_rules(data));
