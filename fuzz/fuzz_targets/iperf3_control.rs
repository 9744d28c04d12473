//! Any bytes as a control connection of iperf3, at either end.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_iperf::v3::fuzz_control(data));
