//! Any bytes as what a console printed, read by each profile.
#![no_main]

#[path = "../../crates/console/tests/fuzz/mod.rs"]
mod shared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::fuzz_session(bytes));
