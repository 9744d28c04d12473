//! Any bytes as a program file for the emulated LPC1768: refused with a reason, or run; nothing panics.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/emulator/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::fuzz_elf(bytes));
