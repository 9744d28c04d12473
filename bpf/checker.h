/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the checker and user space; mirrored in crates/port/src/xdp/abi.rs. */
#ifndef WIRELAB_CHECKER_H
#define WIRELAB_CHECKER_H

#include "test_frame.h"

#define WL_CHK_CPUS 64
#define WL_TRACK_WINDOW 65536
#define WL_SAMPLES 65536

/* Written by user space before the program is attached. */
struct wl_chk_cfg {
	__u8 source[6];
	__u8 source_known;
	__u8 stream;
	__u8 stream_known;
	__u8 pass; /* pass frames to the stack after the check, e.g. for a capture */
	__u16 udp_port;
	__u32 time_mask; /* record the time of frames whose number & mask is 0 */
	__u32 latency; /* record latency of timed frames */
	__u32 slots; /* K of repeating frames, 0 for none */
	__u32 since_known;
	__u32 sample_shift; /* keep the latencies whose number is a multiple of 1 << this */
	__u32 dscp_known;
	__u32 dscp; /* of the flow's IPv4 headers; frames with another are foreign */
	__u64 since_ns; /* frames with an earlier transmit time belong to another run */
};

/* Counted by each CPU separately. Each frame of the flow is in exactly one of the first five. */
struct wl_chk_counts {
	__u64 good;
	__u64 header_corrupt;
	__u64 truncated;
	__u64 stale;
	__u64 corrupted;
	__u64 foreign;
	__u64 verified_bytes; /* payload bytes of frames in which every byte was compared */
	__u64 too_long; /* longer than the fast path checks; also counted as corrupted */
};

/* Sequences of the stream. One receive queue at a time runs the checker, and a flow stays on one queue. */
struct wl_track {
	__u64 next;
	__u64 observed;
	__u64 distinct;
	__u64 duplicated;
	__u64 reordered;
	__u64 max_extent;
	__u64 too_late;
	__u64 slot_lost;
	__u64 order_breaks;
	__u64 next_slot; /* 1 + the last slot, 0 before the first */
	__u64 seen[WL_TRACK_WINDOW / 64];
	__u32 jumped_at[WL_TRACK_WINDOW];
};

struct wl_chk_state {
	struct wl_chk_counts counts[WL_CHK_CPUS];
	__u64 first_ns;
	__u64 first_frame;
	__u64 last_ns;
	__u64 last_frame;
	__u64 queue; /* 1 + the queue on which the flow arrived */
	__u64 queue_moved; /* frames of the flow that arrived on another */
	__u64 transit;
	__u64 jitter; /* RFC 3550, times 16 */
	__u64 jitter_frames;
	__u64 other_run; /* frames of another run: only counted */
	__u64 unreadable; /* frames of the flow with a corrupt header, for numbering the timed ones */
	struct wl_hist latency;
	__u32 samples[WL_SAMPLES]; /* latencies in ns: all, or one in 1 << cfg.sample_shift */
	struct wl_track track;
};

#endif
