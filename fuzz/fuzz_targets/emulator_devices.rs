//! Any bytes as accesses to the devices of the emulated LPC1768: nothing panics, and time passes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wirelab_emulator::fuzz::fuzz_devices(bytes));
