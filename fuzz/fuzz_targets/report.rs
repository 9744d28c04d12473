//! Hostile bytes read as a results file, and shown in every format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wirelab_report::fuzz_report(bytes));
