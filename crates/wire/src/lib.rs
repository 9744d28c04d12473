//! The frame on the wire: sizes, line-rate arithmetic, addresses, and wirelab's test frame.
//!
//! No I/O, no allocation, no `std`: a Rust firmware can use it, too. `spec/test-frame.md` specifies the formats.
//!
//! All crates but `console`, `cores`, `ebpf-build`, `serve`, `sim`, `statistics` and `store` use it. It knows no other
//! crate. Start reading at [`frame::FrameSpec`], which builds a test frame, and [`check::classify`], which judges one;
//! [`size::Sizes`] holds the four sizes that are never mixed.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod check;
pub mod fcs;
pub mod frame;
pub mod header;
pub mod lfsr;
pub mod mac;
pub mod rate;
pub mod rule;
pub mod size;

pub use check::{Flow, Verdict, classify};
pub use frame::{FrameSpec, Transport};
pub use header::{Flags, Header};
pub use mac::{Mac, MacError};
pub use rate::{LineRate, Overhead};
pub use rule::{PortAddresses, Rule, Rules};
pub use size::{Framing, Layer, Size, SizeError, SizeUnit, Sizes};
