//! Any bytes as the file of a profile of a console.
#![no_main]

#[path = "../../crates/console/tests/fuzz/mod.rs"]
mod shared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::fuzz_profile(bytes));
