//! Any bytes as the UDP datagrams of an iperf3 stream.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_iperf::v3::fuzz_datagram(data));
