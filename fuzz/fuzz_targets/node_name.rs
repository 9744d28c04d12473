//! Any bytes as the name of a node.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirelab_trial::node_name::fuzz_node_name(data));
