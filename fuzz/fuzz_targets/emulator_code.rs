//! Any bytes as code of the emulated LPC1768: nothing panics, and time passes.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/emulator/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::fuzz_code(bytes));
