//! Any bytes as a published page: what is written of it is a study that can be read.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wirelab_study::import::fuzz_import(bytes));
