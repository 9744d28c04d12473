//! Any bytes as a plan file: what is accepted expands, and errors point into the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wirelab_bench::fuzz_plan(bytes));
