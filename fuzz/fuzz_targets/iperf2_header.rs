//! Any bytes as a datagram, a TCP header and a report of iperf 2.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_iperf::v2::fuzz_header(data));
