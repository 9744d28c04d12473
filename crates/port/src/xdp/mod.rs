//! The fast path: frames generated and checked inside the kernel by the eBPF programs of `bpf/`.
//!
//! A [`Generator`] runs a program over live frames on one core and serves up to 16 ports; a [`Checker`] is an XDP
//! program on a receiving port. Both need a driver with native XDP and kernel 6.1 or newer. Frames that XDP sends or
//! drops bypass packet taps and queueing disciplines: a capture sees them only if the checker passes them on, and
//! `tc` does not shape them.

mod abi;
mod checker;
mod error;
mod generator;
mod object;
mod sys;

pub use crate::ebpf::{Mode, program_on};
pub use checker::{Checker, CheckerOptions};
pub use error::XdpError;
pub use generator::{Generator, GeneratorOptions, probe};

/// The longest frame of the fast path in bytes without FCS.
pub const MAX_LENGTH: u32 = abi::MAX_LENGTH;
/// Frames that share a transmit time at maximum load: the kernel passes redirected frames to the driver in bulks of
/// this many (`XDP_BULK_QUEUE_SIZE` in include/net/xdp.h), and a bulk leaves together. Each paced frame has its own
/// time.
pub const FRAMES_A_TIME: u64 = 16;
/// Ports that one generator can serve.
pub const MAX_PORTS: usize = abi::GEN_PORTS;

use std::path::Path;

/// The compiled generator, also for `wirelab selftest` and tests.
const GENERATOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/generator.bpf.o"));
/// The compiled checker.
const CHECKER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/checker.bpf.o"));

/// Whether the kernel compiles eBPF with its JIT compiler; without it the fast path is slow.
pub fn jit_enabled() -> Option<bool> {
    let text = std::fs::read_to_string(Path::new("/proc/sys/net/core/bpf_jit_enable")).ok()?;
    Some(text.trim() != "0")
}
