//! An NXP LPC1768 in software: a Cortex-M3 with its published timing, its buses and memories, and its devices.
//!
//! The only clock is the CPU cycle. The core executes one instruction at a time, and computes its end from the rules in
//! [`timing`]. A device runs when an event of it is due. Each access of a bus master books its cycles in the
//! [`matrix`], so that masters wait for each other. Each rule states its assumptions.
//!
//! [`lpc1768::Lpc1768`] is the whole chip with the interfaces that its board has.
//!
//! `board` uses it. It knows `wire`. Start reading at [`lpc1768::Lpc1768`], then [`Machine::run_until`], `cpu/mod.rs`
//! and one device, e.g. [`timer`].
#![forbid(unsafe_code)]

pub mod bus;
mod cpu;
mod devices;
mod elf;
pub mod emac;
pub mod fcs;
mod flash;
pub mod gpdma;
pub mod gpio;
pub mod lpc1768;
mod machine;
pub mod map;
pub mod matrix;
mod memory;
pub mod phy;
mod pipeline;
pub mod syscon;
pub mod timer;
pub mod timing;
pub mod uart;
pub mod vcd;

pub use bus::{BusFault, Device, Master, Masters, Width};
pub use cpu::{Crash, Reason, Spent, disassemble};
pub use elf::{ElfError, symbol};
pub use machine::{Machine, Stop};
pub use memory::Memory;
