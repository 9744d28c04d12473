//! Any bytes as an image whose functions are read.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_board::machine::symbols::fuzz_image(data));
