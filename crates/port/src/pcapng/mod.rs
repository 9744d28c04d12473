//! Captures: written, read and judged (pcapng; pcap is read too).
//!
//! - [`CaptureWriter`] writes frames of several interfaces with ns times; a full disk leaves a readable file;
//! - [`CaptureReader`] walks the frames of any capture, in bounded memory;
//! - [`verify`] judges it: whether every frame is there, and every byte right;
//! - [`generate`] writes test frames into a capture instead of sending them.
//!
//! Formats: draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap. `docs/captures.md` is the page for users.

mod classic;
mod decode;
mod encode;
mod error;
mod generate;
mod interface;
mod judge;
mod reader;
mod report;
mod slots;
mod verify;
mod window;
mod writer;

pub use encode::InterfaceSpec;
pub use error::{CaptureError, End};
pub use generate::{GenerateSpec, Generated, generate, generate_into};
pub use interface::{Interface, LINKTYPE_ETHERNET, Resolution};
pub use reader::{CaptureReader, CapturedFrame};
pub use report::{
    FINDINGS, Fault, Finding, FlowReport, LENGTHS, Lengths, SlotReport, VerifyReport, WrongByte,
};
pub use verify::{VerifyOptions, fuzz_capture, verify, verify_from};
pub use writer::{
    CaptureSummary, CaptureWriter, SharedCapture, WriterOptions, end_of_node, end_shared,
    start_of_node,
};
