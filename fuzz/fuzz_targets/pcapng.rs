//! Any bytes as a capture: nothing panics, memory stays bounded, and the count identity holds for what is found.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wirelab_port::pcapng::fuzz_capture(bytes));
