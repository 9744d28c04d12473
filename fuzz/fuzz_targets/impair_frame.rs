//! Any bytes as a frame from the kernel: tag, checksum and bit errors of the impairer stay inside of it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wirelab_impair::fuzz_frame(bytes));
