//! Any bytes as what iperf3's authentication reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_iperf::v3::fuzz_auth(data));
