//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod bad_days;
mod common;
mod lpc1768;
mod lpc1768_firmware;
mod lpc1768_traffic;
mod machine_cross;
mod machine_interrupts;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod plugin;
mod qemu;
