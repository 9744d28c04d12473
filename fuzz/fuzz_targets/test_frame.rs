//! Any bytes as a frame: it is judged without panic, and nothing is called good that is not.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wirelab_wire::check::fuzz_classify(bytes));
