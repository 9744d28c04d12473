//! Any bytes as a study: accepted figures print as they were read, and errors point into the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wirelab_study::reader::fuzz_study(bytes));
