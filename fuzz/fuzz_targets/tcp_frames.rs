//! Any bytes as a stream of test frames: cut without panic, and counted the same in whatever pieces it comes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wirelab_socket::tcp::fuzz_stream(bytes));
