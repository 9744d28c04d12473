/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the tracing programs remember of frames, of threads and of each CPU, and how they know a frame of the flow. */
#ifndef WIRELAB_STAGES_H
#define WIRELAB_STAGES_H

#include "capture.h"
#include "kernel.h"

#define WL_SLOTS 8192 /* a power of two: more frames than wait in a socket's queue */
#define WL_THREADS 16384
#define WL_LINE 128 /* a power of two: frames of the flow that one poll brings, at most */
#define WL_SYSCALLS 512
#define WL_ETHERNET_HEADER 14

#define WL_STATE_COPIED 0x100

/* What a system call does, by its number; written by user space before the load. */
enum wl_call {
	WL_CALL_OTHER = 0,
	WL_CALL_SEND = 1,
	WL_CALL_BUFFER = 2, /* receives into a buffer: recvfrom, read */
	WL_CALL_VECTOR = 3, /* readv */
	WL_CALL_MESSAGE = 4, /* recvmsg */
	WL_CALL_MESSAGES = 5, /* recvmmsg */
};

const volatile __u8 calls[WL_SYSCALLS] SEC(".rodata.calls");

/* A frame of the flow on its way from the stack to the application. User space empties all before another trial. */
struct wl_slot {
	__u64 head; /* of its data in the kernel; 0 where nothing is on its way */
	__u64 since_ns; /* it reached the stack, or its socket */
	__u32 sequence;
	__u32 state; /* stream, and WL_STATE_* */
	__u64 pad; /* two slots a cache line */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WL_SLOTS);
	__type(key, __u32);
	__type(value, struct wl_slot);
} slots SEC(".maps");

/* A thread that sends; outside of a system call its time is 0. */
struct wl_thread {
	__u32 tid;
	__u32 pad;
	__u64 enter_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WL_THREADS);
	__type(key, __u32);
	__type(value, struct wl_thread);
} threads SEC(".maps");

/* When a thread was last given a CPU. */
struct wl_run {
	__u32 tid;
	__u32 pad;
	__u64 ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WL_THREADS);
	__type(key, __u32);
	__type(value, struct wl_run);
} runs SEC(".maps");

/* Frames of the flow that one poll of a CPU handed to the stack and that are in no socket yet, in their order. */
struct wl_waiting {
	__u64 skb;
	__u32 sequence;
	__u16 port; /* 0 for the test EtherType */
	__u8 stream;
	__u8 gone;
};

struct wl_line {
	__u32 first;
	__u32 last;
	__u64 pad;
	struct wl_waiting frames[WL_LINE];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WL_CAP_CPUS);
	__type(key, __u32);
	__type(value, struct wl_line);
} lines SEC(".maps");

/* Frames that a NAPI poll took, of polls in which one of the flow was. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wl_hist);
} polls SEC(".maps");

/* The port's device and its namespace, once a frame has shown where they are: one comparison instead of three reads. */
struct {
	__u64 dev;
	__u64 net;
	__u64 reader; /* the thread that received a frame last */
} known SEC(".bss.known");

static __always_inline int wl_of_port(const struct wl_cap_cfg *cfg, const struct net_device *dev)
{
	struct net *net;

	if ((__u64)dev == known.dev)
		return 1;
	if ((__u32)WL_READ(struct net_device, dev, ifindex) != cfg->ifindex)
		return 0;
	net = WL_READ(struct net_device, dev, nd_net.net);
	if (WL_READ(struct net, net, ns.inum) != cfg->netns)
		return 0;
	known.dev = (__u64)dev;
	known.net = (__u64)net;
	return 1;
}

static __always_inline int wl_is_port(const struct wl_cap_cfg *cfg, __u16 port)
{
	__u32 i;

	for (i = 0; i < WL_CAP_PORTS; i++) {
		if (i >= cfg->port_count)
			break;
		if (cfg->udp_ports[i] == port)
			return 1;
	}
	return 0;
}

static __always_inline int wl_is_test(const struct wl_header *h)
{
	return h->magic == WL_MAGIC_LE && h->version_flags >> 4 == WL_VERSION &&
	       h->checksum == (__u16)~wl_sum16(h);
}

enum wl_found {
	WL_FOREIGN = 0,
	WL_OURS = 1,
	WL_UNREADABLE = 2,
};

struct wl_found_frame {
	struct wl_header h;
	__u16 port; /* of the node; 0 for the test EtherType */
};

/* So that what is looked at lies where it can be written in words. */
struct wl_front {
	__u8 pad[4];
	__u8 f[60];
} __attribute__((aligned(8)));

#define wl_be16(p) ((__u16)((p)[0] << 8 | (p)[1]))

static __always_inline int wl_port_of(const struct wl_cap_cfg *cfg, const __u8 *udp, int out, __u16 *port)
{
	*port = wl_be16(udp + 2);
	if (wl_is_port(cfg, *port))
		return 1;
	*port = wl_be16(udp);
	return out && wl_is_port(cfg, *port);
}

/* What the kernel has of a frame's front: type and the first ten bytes behind it, UDP ports, and where there is no cast
 * all of it. Beyond a short frame's data lies the rest of its buffer, which holds no test header of a length that the
 * frame allows. */
static __always_inline int wl_read_front(__u8 *f, __u64 l2)
{
	const void *w;

	if (!casts)
		return bpf_probe_read_kernel(f, 60, (void *)l2);
	w = wl_words(l2 + 12);
	*(wl_u64 *)(f + 12) = *(const wl_u64 *)w;
	*(wl_u32 *)(f + 20) = *(const wl_u32 *)(w + 8);
	w = wl_words(l2 + 34);
	*(wl_u16 *)(f + 34) = *(const wl_u16 *)w;
	*(wl_u16 *)(f + 36) = *(const wl_u16 *)(w + 2);
	return 0;
}

static __always_inline int wl_read_header(struct wl_header *h, __u64 from)
{
	if (!casts)
		return bpf_probe_read_kernel(h, WL_HEADER_LEN, (void *)from);
	wl_copy_header(h, wl_words(from));
	return 0;
}

/* Whether the frame at `l2`, of which `room` bytes lie in one piece, is one of the flow. */
static __always_inline int wl_find(const struct wl_cap_cfg *cfg, __u64 l2, __u32 room, int out,
				   struct wl_found_frame *found)
{
	struct wl_front front;
	__u8 *f = front.f, udp[4];
	__u32 at = 0, i;
	__u16 type, stream = out ? cfg->stream_out : cfg->stream_in;

	for (i = 0; i < 3; i++) {
		if (wl_read_front(f, l2))
			return WL_UNREADABLE;
		type = wl_be16(f + 12);
		if (type != 0x8100 && type != 0x88A8)
			break;
		l2 += 4;
		room -= 4;
	}
	if (type == WL_ETHERTYPE) {
		if (!cfg->ethernet)
			return WL_FOREIGN;
		found->port = 0;
		at = WL_ETHERNET_HEADER;
	} else if (type == 0x0800) {
		if (room < 34)
			return WL_UNREADABLE;
		if (f[23] != 17 || (wl_be16(f + 20) & 0x3FFF))
			return WL_FOREIGN;
		at = WL_ETHERNET_HEADER + (f[14] & 15) * 4;
	} else if (type == 0x86DD) {
		if (room < 54)
			return WL_UNREADABLE;
		if (f[20] != 17)
			return WL_FOREIGN;
		at = WL_ETHERNET_HEADER + 40;
	} else {
		return WL_FOREIGN;
	}
	if (type != WL_ETHERTYPE) {
		if (at + 8 > room)
			return WL_UNREADABLE;
		if (at == 34)
			__builtin_memcpy(udp, f + 34, 4);
		else if (bpf_probe_read_kernel(udp, 4, (void *)(l2 + at)))
			return WL_UNREADABLE;
		if (!wl_port_of(cfg, udp, out, &found->port))
			return WL_FOREIGN;
		at += 8;
	}
	if (at + WL_HEADER_LEN > room)
		return WL_UNREADABLE;
	if (wl_read_header(&found->h, l2 + at))
		return WL_UNREADABLE;
	if (!wl_is_test(&found->h) || (stream != WL_ANY_STREAM && stream != found->h.stream))
		return WL_FOREIGN;
	return WL_OURS;
}

static __always_inline struct wl_slot *wl_slot_of(__u8 stream, __u32 sequence)
{
	__u32 at = (sequence + stream * 8191) & (WL_SLOTS - 1);

	return bpf_map_lookup_elem(&slots, &at);
}

static __always_inline int wl_slot_is(const struct wl_slot *slot, __u8 stream, __u32 sequence)
{
	return slot->sequence == sequence && (__u8)slot->state == stream;
}

static __always_inline struct wl_line *wl_this_line(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&lines, &cpu);
}

/* The verifier is to see the bound itself, not what the compiler makes of it. */
static __always_inline struct wl_waiting *wl_waiting_at(struct wl_line *line, __u32 at)
{
	asm volatile("" : "+r"(at));
	return &line->frames[at & (WL_LINE - 1)];
}

#endif
