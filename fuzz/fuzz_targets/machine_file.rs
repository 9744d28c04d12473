//! Any bytes as a machine file.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_board::machine::file::fuzz_machine_file(data));
