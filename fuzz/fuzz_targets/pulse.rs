//! Hostile bytes read as the recording of a pin.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wirelab_pulse::fuzz_pulse(bytes));
