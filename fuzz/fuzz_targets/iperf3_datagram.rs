//! Any bytes as the UDP datagrams of an iperf3 stream.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/iperf/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::iperf3_datagram(data));
