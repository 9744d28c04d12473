//! Any bytes as the datagrams of a flow of iperf 2.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/iperf/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::iperf2_receiver(data));
