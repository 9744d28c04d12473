//! Any text as an amount and a rate of iperf 2.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_iperf::v2::fuzz_amount(data));
