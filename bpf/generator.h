/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the generator and user space; mirrored in crates/port/src/xdp/abi.rs. */
#ifndef WIRELAB_GENERATOR_H
#define WIRELAB_GENERATOR_H

#include "test_frame.h"

#define WL_GEN_PORTS 16
#define WL_PREFIX_MAX 80
/* Redirected frames that the kernel collects before it calls the driver (its DEV_MAP_BULK_SIZE). */
#define WL_BULK 16
/* A longer silence at maximum load is a pause by the host; the same as in crates/trial/src/holds.rs. */
#define WL_HOLD_NS 2000000

enum wl_mutation {
	WL_MUT_NONE = 0,
	WL_MUT_HEADER_BIT = 1,
	WL_MUT_TRUNCATE = 2,
	WL_MUT_STALE = 3,
	WL_MUT_LFSR_BIT = 4,
};

/* One emission that differs from the plain sequence; see Step in crates/port/src/inject.rs. */
struct wl_step {
	__u64 emission;
	__s64 offset_after;
	__u32 sequence;
	__u32 mutation;
	__u32 arg;
	__u32 pad;
};

/* The job of one port of the generator. Written by user space before the run. */
struct wl_gen_port_cfg {
	__u8 prefix[WL_PREFIX_MAX]; /* everything before the test header */
	__u32 prefix_len;
	__u32 lfsr_len;
	__u32 length; /* of the frame, without FCS */
	__u32 with_udp; /* the prefix ends with a UDP checksum */
	__u32 udp_sum; /* folded sum of pseudo header and UDP header with a checksum of 0 */
	__u32 stream;
	__u32 first_step; /* in the array of steps */
	__u32 step_count;
	__u64 emissions; /* stop after this many */
	__u64 phase_ns; /* how much later than the first port this one starts */
	__u32 ifindex;
	__u32 netns; /* inode number of the port's network namespace */
};

struct wl_gen_cfg {
	__u32 ports;
	__u32 flags; /* test header flags */
	__u64 interval_ns; /* of one port; 0 for maximum load */
	__u32 interval_ps; /* the rest, 0 to 999 */
	__u32 strict; /* no catching up: a late schedule moves */
	__u64 limit_ns; /* lateness up to this is caught up */
	__u64 most_frames; /* limit of a catch-up, in frames */
	struct wl_gen_port_cfg port[WL_GEN_PORTS];
};

struct wl_gen_port_state {
	__u64 emission;
	__s64 offset;
	__u64 step;
	__u64 due_ns;
	__u64 due_ps;
	__u64 first_ns;
	__u64 last_ns;
	__u64 write_errors;
	__u64 burst; /* frames of the present catch-up */
	__u64 longest_burst;
	__u64 device; /* the kernel's address of the port, once the driver was called */
	__u64 left; /* frames that the driver took */
	__u64 refused; /* frames that it did not take */
	__s64 error; /* its error at the last refusal: 0 for a full queue, else negative */
	struct wl_hist gap; /* of paced frames one by one, otherwise means over a bulk */
};

struct wl_gen_state {
	__u64 stop; /* set by user space */
	__u64 turn;
	__u64 task; /* the kernel's address of the sending thread */
	__u64 start_ns;
	__u64 shift_ns;
	__u64 slips;
	__u64 slipped_ns;
	struct wl_gen_port_state port[WL_GEN_PORTS];
};

#endif
