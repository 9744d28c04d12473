/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The times at which frames of the test flow pass the capture points of a Linux node, shared by the XDP program of
 * the port and the programs that trace the kernel; mirrored in crates/stages/src/abi.rs.
 *
 * Each point has its own records: the first ones up to the capacity are kept, the rest is counted.
 */
#ifndef WIRELAB_CAPTURE_H
#define WIRELAB_CAPTURE_H

#include "test_frame.h"

/* In the order of a frame's path, received then sent. Names and kernel functions: crates/stages/src/point.rs. */
enum wl_point {
	WL_IN_WIRE = 0, /* the time in the frame */
	WL_IN_INTERRUPT = 1,
	WL_IN_DRIVER = 2,
	WL_IN_STACK = 3,
	WL_IN_SOCKET = 4,
	WL_IN_COPY = 5,
	WL_IN_CALL = 6,
	WL_OUT_CALL = 7,
	WL_OUT_QUEUE = 8,
	WL_OUT_DRIVER = 9,
	WL_OUT_WIRE = 10, /* seen by the other end */
	WL_POINTS = 12,
};

#define WL_CAP_PORTS 8
#define WL_CAP_CPUS 256 /* a power of two */
#define WL_ANY_STREAM 0xFFFF
#define WL_SLOTS 8192 /* a power of two: more frames than wait in a socket's queue */
#define WL_COST_MASK 7 /* the cost is measured for each eighth frame */

/* The filter of the test flow. Written by user space. */
struct wl_cap_cfg {
	__u32 on;
	__u32 capacity; /* records of each point */
	__u32 ethernet; /* frames of the test EtherType too */
	__u32 port_count;
	__u16 udp_ports[WL_CAP_PORTS];
	__u16 stream_in;
	__u16 stream_out;
	__u32 ifindex;
	__u64 netns; /* inode number of the port's network namespace */
	__u32 no_driver; /* no XDP program records the driver's point */
	__u32 one_clock; /* the frames carry times of the clock that is read here */
	__u64 socket; /* cookie of the socket that receives the flow (SO_COOKIE); 0: any possible one */
};

struct wl_cap_head {
	__u64 taken; /* records requested so far; those beyond the capacity are not kept */
	__u64 unreadable; /* possible frames of the flow whose headers could not be read here */
	__u64 unmatched; /* frames of the flow whose time here is unknown */
	__u64 dropped; /* frames of the flow that the kernel dropped before this point */
	__u64 corrupt; /* frames to the flow's port with a damaged test header, which may be of any flow */
	__u64 unseen; /* frames of the flow that reached a later point without a run of the program here */
};

struct wl_cap_record {
	__u64 ns; /* CLOCK_MONOTONIC */
	__u32 sequence;
	__u8 stream;
	__u8 pad;
	__u16 cpu;
};

/* The state of a CPU's receive work; written only on that CPU. */
struct wl_cap_poll {
	__u64 begin_ns; /* start of the present poll; 0 if unknown */
	__u32 frames; /* of the flow, in this poll */
	__u32 softirq; /* whether it runs in the receive softirq */
	__u64 pad[6];
};

/* The progress of a frame, in `state` of its slot. */
#define WL_SLOT_DRIVER 0x100
#define WL_SLOT_STACK 0x200
#define WL_SLOT_COPIED 0x400
#define WL_SLOT_GONE 0x800 /* it arrived, was dropped, or went past the stack: nothing is in flight */

/* A frame of the flow between the driver and the application. User space clears all before another trial. */
struct wl_slot {
	__u64 head; /* address of its data in the kernel, once it is in the stack */
	__u64 since_ns; /* when it reached the stack, or its socket */
	__u32 sequence;
	__u32 state; /* stream, and WL_SLOT_*; 0 if unused */
	__u64 pad; /* two slots for each cache line */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wl_cap_cfg);
} wl_cap_cfg SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WL_POINTS);
	__type(key, __u32);
	__type(value, struct wl_cap_head);
} wl_cap_heads SEC(".maps");

/* Record i of point p is at i * WL_POINTS + p, so that the times of one frame are adjacent and share cache lines;
 * user space sets the size before the program is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WL_POINTS);
	__type(key, __u32);
	__type(value, struct wl_cap_record);
} wl_cap_records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WL_CAP_CPUS);
	__type(key, __u32);
	__type(value, struct wl_cap_poll);
} wl_cap_polls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WL_SLOTS);
	__type(key, __u32);
	__type(value, struct wl_slot);
} wl_cap_slots SEC(".maps");

/* The cost of recording at a point, in nanoseconds; WL_POINTS further on, the difference of two clock readings with
 * nothing between them, which is part of that cost. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * WL_POINTS);
	__type(key, __u32);
	__type(value, struct wl_hist);
} wl_cap_costs SEC(".maps");

static __always_inline struct wl_cap_cfg *wl_cap_config(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wl_cap_cfg, &zero);
}

#define WL_COUNT(name)                                                                                       \
	static __always_inline void wl_count_##name(__u32 point)                                             \
	{                                                                                                    \
		struct wl_cap_head *head = bpf_map_lookup_elem(&wl_cap_heads, &point);                       \
                                                                                                             \
		if (head)                                                                                    \
			__sync_fetch_and_add(&head->name, 1);                                                \
	}

WL_COUNT(unreadable)
WL_COUNT(unmatched)
WL_COUNT(dropped)
WL_COUNT(corrupt)
WL_COUNT(unseen)

static __always_inline struct wl_slot *wl_slot_of(__u8 stream, __u32 sequence)
{
	__u32 at = (sequence + stream * 8191) & (WL_SLOTS - 1);

	return bpf_map_lookup_elem(&wl_cap_slots, &at);
}

/* Whether the slot holds this frame, and the frame is in flight. */
static __always_inline int wl_slot_is(const struct wl_slot *slot, __u8 stream, __u32 sequence)
{
	__u32 state = slot->state;

	return slot->sequence == sequence && (__u8)state == stream &&
	       state & (WL_SLOT_DRIVER | WL_SLOT_STACK) && !(state & WL_SLOT_GONE);
}

/* A frame reaches the driver or the stack, whichever comes first: it gets the slot. */
static __always_inline struct wl_slot *wl_slot_enter(__u8 stream, __u32 sequence, __u32 place)
{
	struct wl_slot *slot = wl_slot_of(stream, sequence);
	__u32 state;

	if (!slot)
		return 0;
	state = slot->state;
	if (wl_slot_is(slot, stream, sequence) && !(state & place)) {
		slot->state = state | place;
		return slot;
	}
	/* The slot's previous frame was never read. */
	if (state & WL_SLOT_STACK && !(state & WL_SLOT_GONE))
		wl_count_unmatched(WL_IN_CALL);
	slot->head = 0;
	slot->since_ns = 0;
	slot->sequence = sequence;
	slot->state = stream | place;
	return slot;
}

/* The frame will reach no later place. */
static __always_inline void wl_slot_leave(__u8 stream, __u32 sequence)
{
	struct wl_slot *slot = wl_slot_of(stream, sequence);

	if (slot && wl_slot_is(slot, stream, sequence))
		slot->state |= WL_SLOT_GONE;
}

/* Whether a test header with the right magic is valid. */
static __always_inline int wl_is_right(const struct wl_header *h)
{
	return h->version_flags >> 4 == WL_VERSION && h->checksum == (__u16)~wl_sum16(h);
}

/* The transmit time in a test frame, if it is of the clock that is read here; otherwise 0. A time in the future is
 * invalid, and counted. */
static __always_inline __u64 wl_carried_time(const struct wl_cap_cfg *cfg, const struct wl_header *h,
					     __u64 now)
{
	__u64 sent, transit;

	if (!cfg->one_clock || (h->version_flags & (WL_FLAG_TIME | WL_FLAG_NODE_CLOCK)) != WL_FLAG_TIME)
		return 0;
	sent = (__u64)bpf_ntohs(h->time_high) << 32 | bpf_ntohl(h->time_low);
	transit = (now - sent) & ((1ULL << 48) - 1);
	if (transit >> 47) {
		wl_count_unmatched(WL_IN_WIRE);
		return 0;
	}
	return now - transit;
}

/* A record for a frame that passes a point; frames that do not fit are counted. */
static __always_inline struct wl_cap_record *wl_reserve(const struct wl_cap_cfg *cfg, __u32 point)
{
	struct wl_cap_head *head = bpf_map_lookup_elem(&wl_cap_heads, &point);
	__u64 taken;
	__u32 at;

	if (!head)
		return 0;
	taken = __sync_fetch_and_add(&head->taken, 1);
	if (taken >= cfg->capacity)
		return 0;
	at = (__u32)taken * WL_POINTS + point;
	return bpf_map_lookup_elem(&wl_cap_records, &at);
}

static __always_inline void wl_fill(struct wl_cap_record *record, __u8 stream, __u32 sequence, __u64 ns)
{
	if (!record)
		return;
	record->ns = ns;
	record->sequence = sequence;
	record->stream = stream;
	record->cpu = (__u16)bpf_get_smp_processor_id();
}

static __always_inline void wl_capture(const struct wl_cap_cfg *cfg, __u32 point, __u8 stream, __u32 sequence,
				       __u64 ns)
{
	wl_fill(wl_reserve(cfg, point), stream, sequence, ns);
}

static __always_inline void wl_cost_add(__u32 at, __u64 ns)
{
	struct wl_hist *cost = bpf_map_lookup_elem(&wl_cap_costs, &at);

	if (cost)
		wl_hist_add(cost, ns);
}

/* At the end of a program: its time since `began`, which includes one reading of the clock, and the time of that
 * reading alone. */
static __always_inline void wl_cost(__u32 point, __u32 sequence, __u64 began)
{
	__u64 ended, after;

	if (sequence & WL_COST_MASK)
		return;
	ended = bpf_ktime_get_ns();
	after = bpf_ktime_get_ns();
	wl_cost_add(point, ended - began);
	wl_cost_add(point + WL_POINTS, after - ended);
}

static __always_inline struct wl_cap_poll *wl_this_poll(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&wl_cap_polls, &cpu);
}

/* When the receive work of this frame began; 0 if it did not wait for the work. A frame that left (`wire`, 0 if
 * unknown) after the work had begun arrived during it and waited for no interrupt. If that time is unknown, as with
 * the clock of another host, only the first frame of a poll certainly waited. */
static __always_inline __u64 wl_interrupt_of(__u64 wire)
{
	struct wl_cap_poll *poll = wl_this_poll();
	int waited;

	if (!poll || !poll->begin_ns)
		return 0;
	poll->frames += 1;
	waited = wire ? wire <= poll->begin_ns : poll->frames == 1;
	return waited ? poll->begin_ns : 0;
}

/* A frame arrives: the points `wire` if its time is known, `interrupt` and, if `driver`, `driver`. All records are
 * reserved before the first is written, because the next reservation would wait for the write. */
static __always_inline void wl_capture_arrival(const struct wl_cap_cfg *cfg, const struct wl_header *h,
					       __u32 sequence, __u64 now, int driver)
{
	struct wl_cap_record *at_wire = 0, *at_interrupt = 0, *at_driver = 0;
	__u64 wire = wl_carried_time(cfg, h, now), begin = wl_interrupt_of(wire);

	if (wire)
		at_wire = wl_reserve(cfg, WL_IN_WIRE);
	if (begin)
		at_interrupt = wl_reserve(cfg, WL_IN_INTERRUPT);
	else
		wl_count_unmatched(WL_IN_INTERRUPT);
	if (driver)
		at_driver = wl_reserve(cfg, WL_IN_DRIVER);
	wl_fill(at_wire, h->stream, sequence, wire);
	wl_fill(at_interrupt, h->stream, sequence, begin);
	wl_fill(at_driver, h->stream, sequence, now);
}

#endif
