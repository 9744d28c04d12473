//! Any bytes as the parameters and the results of an iperf3 peer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_iperf::v3::fuzz_json(data));
