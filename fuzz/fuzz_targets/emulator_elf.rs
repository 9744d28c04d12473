//! Any bytes as a program file for the emulated LPC1768: refused with a reason, or run; nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wirelab_emulator::fuzz::fuzz_elf(bytes));
