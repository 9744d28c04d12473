//! Hostile bytes read as a results file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wirelab_trial::results_reader::fuzz_results(bytes));
