//! eBPF programs on this host: loading, attaching to a port, and memory shared with user space.

mod attach;
mod hist;
mod object;
mod sys;

pub use attach::{Mode, attach, program_on};
pub use hist::Hist;
pub use object::{LOADING, Loaded, load, silence_libbpf};
pub use sys::{
    MapMemory, Plain, XdpLink, attach_tracing, program_name, run_into, run_once, zeroed,
};
