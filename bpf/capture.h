/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The times that frames of the test flow pass the capture points of a Linux node, shared by the XDP program of the port
 * and the programs that trace the kernel; mirrored in crates/stages/src/abi.rs.
 *
 * Each point has records of its own: the first so many are kept, the rest is counted.
 */
#ifndef WIRELAB_CAPTURE_H
#define WIRELAB_CAPTURE_H

#include "test_frame.h"

/* In the order of a frame's way, received then sent. Names and kernel functions: crates/stages/src/point.rs. */
enum wl_point {
	WL_IN_WIRE = 0, /* the time that the frame carries */
	WL_IN_INTERRUPT = 1,
	WL_IN_DRIVER = 2,
	WL_IN_STACK = 3,
	WL_IN_SOCKET = 4,
	WL_IN_COPY = 5,
	WL_IN_CALL = 6,
	WL_OUT_CALL = 7,
	WL_OUT_QUEUE = 8,
	WL_OUT_DRIVER = 9,
	WL_OUT_WIRE = 10, /* seen on the other end */
	WL_POINTS = 12,
};

#define WL_CAP_PORTS 8
#define WL_CAP_CPUS 256 /* a power of two */
#define WL_ANY_STREAM 0xFFFF
/* A frame that left less than this before now was stamped by the clock of this host. */
#define WL_SAME_CLOCK_NS 10000000000ULL
#define WL_COST_MASK 7 /* the cost is measured of each eighth frame */

/* Which frames are the test flow's. Written by user space. */
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
	__u32 no_driver; /* no XDP program takes the driver's point */
	__u32 pad;
};

struct wl_cap_head {
	__u64 taken; /* records wanted so far; those beyond the capacity are not kept */
	__u64 unreadable; /* frames that may be the flow's, whose headers could not be read here */
	__u64 unmatched; /* frames of the flow that passed here at a time that cannot be known */
	__u64 dropped; /* frames of the flow that the kernel gave up on the way here */
};

struct wl_cap_record {
	__u64 ns; /* CLOCK_MONOTONIC */
	__u32 sequence;
	__u8 stream;
	__u8 pad;
	__u16 cpu;
};

/* What a CPU's receive work is at; written on that CPU alone. */
struct wl_cap_poll {
	__u64 begin_ns; /* the poll that goes on began; 0 where that is not known */
	__u32 frames; /* of the flow, in this poll */
	__u32 softirq; /* whether it runs in the receive softirq */
	__u64 pad[6];
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

/* Record i of point p lies at i * WL_POINTS + p, so that the times of one frame lie side by side and share cache lines;
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

/* What taking a point costs, in nanoseconds; WL_POINTS further on, what a pair of clock readings gives there with nothing
 * between them, which is in that cost. */
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

static __always_inline void wl_count_unreadable(__u32 point)
{
	struct wl_cap_head *head = bpf_map_lookup_elem(&wl_cap_heads, &point);

	if (head)
		__sync_fetch_and_add(&head->unreadable, 1);
}

static __always_inline void wl_count_unmatched(__u32 point)
{
	struct wl_cap_head *head = bpf_map_lookup_elem(&wl_cap_heads, &point);

	if (head)
		__sync_fetch_and_add(&head->unmatched, 1);
}

/* The time that a test frame carries: `sent`, 48 bits, 0 where it carries none of the tester's clock, and `wire`, the same
 * in full, 0 where it cannot be. Whether it says that the frame left after it came: that is another clock. */
static __always_inline int wl_carried_time(const struct wl_header *h, __u64 now, __u64 *sent, __u64 *wire)
{
	__u64 transit;

	*sent = 0;
	*wire = 0;
	if ((h->version_flags & (WL_FLAG_TIME | WL_FLAG_NODE_CLOCK)) != WL_FLAG_TIME)
		return 0;
	*sent = (__u64)bpf_ntohs(h->time_high) << 32 | bpf_ntohl(h->time_low);
	transit = (now - *sent) & ((1ULL << 48) - 1);
	if (transit >> 47)
		return 1;
	*wire = now - transit;
	return 0;
}

/* A record for a frame that passes a point; what does not fit is counted. */
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

/* At the end of a program: what it took since `began`, one reading of the clock included, and what that alone takes. */
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

/* When the receive work began that brought this frame, 0 where it did not wait for it. A frame that left (`sent`, 48
 * bits, 0 where it says nothing) after the work had begun came while it went on and waited for no interrupt. With a
 * clock of another host the two cannot be compared, and only the first frame of a poll surely waited; the same is asked
 * where the frame carries no time. */
static __always_inline __u64 wl_interrupt_of(__u64 sent, __u64 now)
{
	struct wl_cap_poll *poll = wl_this_poll();
	__u64 age, mask = (1ULL << 48) - 1;
	int waited;

	if (!poll || !poll->begin_ns)
		return 0;
	age = (now - sent) & mask;
	poll->frames += 1;
	waited = poll->frames == 1;
	if (sent && age < WL_SAME_CLOCK_NS)
		waited = age >= now - poll->begin_ns;
	return waited ? poll->begin_ns : 0;
}

/* A frame arrives: the points `wire` (0 where its time is not known), `interrupt` and, if `driver`, `driver`. All places
 * are reserved before the first is filled, since the next reservation would wait for what was written. */
static __always_inline void wl_capture_arrival(const struct wl_cap_cfg *cfg, __u8 stream, __u32 sequence,
					       __u64 wire, __u64 sent, __u64 now, int driver)
{
	struct wl_cap_record *at_wire = 0, *at_interrupt = 0, *at_driver = 0;
	__u64 begin = wl_interrupt_of(sent, now);

	if (wire)
		at_wire = wl_reserve(cfg, WL_IN_WIRE);
	if (begin)
		at_interrupt = wl_reserve(cfg, WL_IN_INTERRUPT);
	else
		wl_count_unmatched(WL_IN_INTERRUPT);
	if (driver)
		at_driver = wl_reserve(cfg, WL_IN_DRIVER);
	wl_fill(at_wire, stream, sequence, wire);
	wl_fill(at_interrupt, stream, sequence, begin);
	wl_fill(at_driver, stream, sequence, now);
}

#endif
