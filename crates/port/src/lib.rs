//! Frames in and out of Linux interfaces, and the private lab of network namespaces they run in.
//!
//! - [`xdp`]: the fast path, generation and checking inside the kernel (eBPF programs of `bpf/`);
//! - [`ebpf`]: eBPF programs: loading, attaching, and shared memory;
//! - [`packet`]: the portable path, AF_PACKET;
//! - [`tap`]: interfaces whose other end is this process;
//! - [`wire`]: whole frames to and from one other end, without an interface;
//! - [`host`]: the description of the host, for the results of a run;
//! - [`pcapng`]: captures, written and verified;
//! - [`lab`], [`netns`], [`iface`]: namespaces, veth pairs, and the state of interfaces;
//! - [`child`]: a watched process that ends with this one;
//! - [`job`]: the requests to senders and checkers, on any path;
//! - [`inject`]: faults that a sender makes on purpose, with their ledger.
//!
//! `agent`, `board`, `hdl`, `ports`, `remote`, `stages` and the command line use it. It knows `cores`, `ebpf-build`,
//! `statistics`, `trial` and `wire`. Start reading at [`job`], then [`packet::send`] and [`packet::Checker`], and
//! [`lab::Lab`] for the namespaces.

pub mod child;
mod drops;
pub mod ebpf;
pub mod host;
pub mod iface;
pub mod inject;
pub mod job;
pub mod lab;
mod netlink;
pub mod netns;
pub mod packet;
pub mod pcapng;
pub mod tap;
pub mod wire;
pub mod xdp;

use wirelab_trial::host_clock as clock;

pub use wirelab_cores::runtime;
