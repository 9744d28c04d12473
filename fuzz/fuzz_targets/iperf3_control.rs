//! Any bytes as a control connection of iperf3, at either end.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/iperf/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::iperf3_control(data));
