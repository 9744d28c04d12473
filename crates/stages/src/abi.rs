//! The structures that the eBPF programs and user space share, in the layout of `bpf/capture.h` and
//! `bpf/stages.bpf.c`.
//!
//! Joining a program to a [`crate::Store`] compares each size with that of its map.

/// Maximum number of points.
pub const POINTS: usize = 12;
/// CPUs whose receive work is traced; further CPUs have no `interrupt`.
pub const CPUS: usize = 256;
/// Ports of the flow.
pub const PORTS: usize = 8;
/// Instead of a stream: any stream.
pub const ANY_STREAM: u16 = 0xFFFF;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Cfg {
    pub on: u32,
    pub capacity: u32,
    pub ethernet: u32,
    pub port_count: u32,
    pub udp_ports: [u16; PORTS],
    pub stream_in: u16,
    pub stream_out: u16,
    pub ifindex: u32,
    pub netns: u64,
    pub no_driver: u32,
    pub one_clock: u32,
    pub socket: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Head {
    pub taken: u64,
    pub unreadable: u64,
    pub unmatched: u64,
    pub dropped: u64,
    pub corrupt: u64,
    pub unseen: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Record {
    pub ns: u64,
    pub sequence: u32,
    pub stream: u8,
    pub pad: u8,
    pub cpu: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Poll {
    pub begin_ns: u64,
    pub frames: u32,
    pub softirq: u32,
    pub pad: [u64; 6],
}

/// Most frames between the driver and the application.
pub const SLOTS: usize = 8192;

/// The record of one of these frames; empty if all fields are 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Slot(pub [u64; 4]);

/// A single variable of a program.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Word(pub u64);
