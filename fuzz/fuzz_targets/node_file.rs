//! Any bytes as a node file: what is accepted answers a trial on each path, and errors point into the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wirelab_model::file::fuzz_node_file(bytes));
