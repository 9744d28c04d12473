//! An NXP LPC1768 in software: a Cortex-M3 with its published timing, the buses and memories round it, and its devices.
//!
//! There is one clock, the cycle of the CPU. The core executes an instruction at a time and knows from the rules in
//! [`timing`] when it ends; devices are woken when something of theirs is due; each access of a bus master books its
//! cycles in the [`matrix`], so that masters wait for each other. What a rule assumes is said where it stands.
//!
//! [`lpc1768::Lpc1768`] is all of it together, as somebody sees it who stands in front of the board.
//!
//! It knows `wire` alone, and `board` makes a node of it. Start reading at [`lpc1768::Lpc1768`], then
//! [`Machine::run_until`], `cpu/mod.rs` and one device, e.g. [`timer`].
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

pub use bus::{Device, Fault, Master, Masters, Width};
pub use cpu::{Crash, Reason, Spent, disassemble};
pub use elf::{ElfError, symbol};
pub use machine::{Machine, Stop};
pub use memory::Memory;
