//! The structures that eBPF programs and user space share, as `bpf/generator.h` and `bpf/checker.h` lay them out.
//!
//! Loading a program compares each size with that of its map, so a change on one side alone is refused.

use crate::ebpf::Hist;
use crate::inject::{ChangedEmission, Mutation};

pub const GEN_PORTS: usize = 16;
pub const PREFIX_MAX: usize = 80;
/// The longest live frame of Linux 6.1; later kernels allow a few bytes more (3408 in 6.18).
pub const MAX_LENGTH: u32 = 3368;
pub const WINDOW_BYTES: usize = 4096 * 4 + 9200;
pub const WINDOW_SUMS: usize = WINDOW_BYTES / 2 + 8;
pub const CHK_CPUS: usize = 64;
pub const SAMPLES: usize = 65_536;
pub const TRACK_WINDOW: usize = 65_536;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct GenPortCfg {
    pub prefix: [u8; PREFIX_MAX],
    pub prefix_len: u32,
    pub lfsr_len: u32,
    pub length: u32,
    pub with_udp: u32,
    pub udp_sum: u32,
    pub stream: u32,
    pub first_step: u32,
    pub step_count: u32,
    pub emissions: u64,
    pub phase_ns: u64,
    pub ifindex: u32,
    pub netns: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct GenCfg {
    pub ports: u32,
    pub flags: u32,
    pub interval_ns: u64,
    pub interval_ps: u32,
    pub strict: u32,
    pub limit_ns: u64,
    pub most_frames: u64,
    pub port: [GenPortCfg; GEN_PORTS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct GenPortState {
    pub emission: u64,
    pub offset: i64,
    pub step: u64,
    pub due_ns: u64,
    pub due_ps: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub write_errors: u64,
    pub burst: u64,
    pub longest_burst: u64,
    pub device: u64,
    pub left: u64,
    pub refused: u64,
    pub error: i64,
    pub gap: Hist,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct GenState {
    pub stop: u64,
    pub turn: u64,
    pub task: u64,
    pub start_ns: u64,
    pub shift_ns: u64,
    pub slips: u64,
    pub slipped_ns: u64,
    pub port: [GenPortState; GEN_PORTS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawStep {
    pub emission: u64,
    pub offset_after: i64,
    pub sequence: u32,
    pub mutation: u32,
    pub arg: u32,
    pub pad: u32,
}

impl From<&ChangedEmission> for RawStep {
    fn from(step: &ChangedEmission) -> RawStep {
        let (mutation, arg) = match step.mutation {
            Mutation::None => (0, 0),
            Mutation::HeaderBit(bit) => (1, u32::from(bit)),
            Mutation::Truncate(bytes) => (2, u32::from(bytes)),
            Mutation::Stale(back) => (3, u32::from(back)),
            Mutation::LfsrBit(bit) => (4, bit),
        };
        let (emission, offset_after, sequence) = (step.emission, step.offset_after, step.sequence);
        RawStep {
            emission,
            offset_after,
            sequence,
            mutation,
            arg,
            pad: 0,
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ChkCfg {
    pub source: [u8; 6],
    pub source_known: u8,
    pub stream: u8,
    pub stream_known: u8,
    pub pass: u8,
    pub udp_port: u16,
    pub time_mask: u32,
    pub latency: u32,
    pub slots: u32,
    pub since_known: u32,
    pub sample_shift: u32,
    pub dscp_known: u32,
    pub dscp: u32,
    pub since_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ChkCounts {
    pub good: u64,
    pub header_corrupt: u64,
    pub truncated: u64,
    pub stale: u64,
    pub corrupted: u64,
    pub foreign: u64,
    pub verified_bytes: u64,
    pub too_long: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Track {
    pub next: u64,
    pub observed: u64,
    pub distinct: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub max_extent: u64,
    pub too_late: u64,
    pub slot_lost: u64,
    pub order_breaks: u64,
    pub next_slot: u64,
    pub taken: [u64; TRACK_WINDOW / 64],
    pub jumped_at: [u32; TRACK_WINDOW],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ChkState {
    pub counts: [ChkCounts; CHK_CPUS],
    pub first_ns: u64,
    pub first_frame: u64,
    pub last_ns: u64,
    pub last_frame: u64,
    pub queue: u64,
    pub queue_moved: u64,
    pub transit: u64,
    pub jitter: u64,
    pub jitter_frames: u64,
    pub other_run: u64,
    pub unreadable: u64,
    pub latency: Hist,
    pub samples: [u32; SAMPLES],
    pub track: Track,
}
