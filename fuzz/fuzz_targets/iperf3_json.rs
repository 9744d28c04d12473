//! Any bytes as the parameters and the results of an iperf3 peer.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/iperf/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::iperf3_json(data));
