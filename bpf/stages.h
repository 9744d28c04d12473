/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tracing programs' state of frames, threads and CPUs, and how they recognise a frame of the flow. */
#ifndef WIRELAB_STAGES_H
#define WIRELAB_STAGES_H

#include "capture.h"
#include "kernel.h"

#define WL_THREADS 16384
#define WL_LINE 128 /* a power of two: most frames of the flow in one poll */
#define WL_SYSCALLS 512
#define WL_ETHERNET_HEADER 14

/* The effect of a system call, by its number; written by user space before the load. */
enum wl_call {
	WL_CALL_OTHER = 0,
	WL_CALL_SEND = 1,
	WL_CALL_BUFFER = 2, /* receives into a buffer: recvfrom, read */
	WL_CALL_VECTOR = 3, /* readv */
	WL_CALL_MESSAGE = 4, /* recvmsg */
	WL_CALL_MESSAGES = 5, /* recvmmsg */
};

const volatile __u8 calls[WL_SYSCALLS] SEC(".rodata.calls");

/* A sending thread; outside a system call its time is 0. */
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

/* When a thread last got a CPU. */
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

/* Frames of the flow that one poll of a CPU passed to the stack and that are in no socket yet, in their order. */
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

/* Frames in each NAPI poll that took at least one frame of the flow. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wl_hist);
} polls SEC(".maps");

/* The port's device and its namespace, once a frame has shown their addresses: one comparison instead of three reads. */
struct {
	__u64 dev;
	__u64 net;
	__u64 reader; /* the thread that last received a frame */
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

/* Whether this socket receives the flow, as far as known. */
static __always_inline int is_socket(const struct wl_cap_cfg *cfg, const struct sock *sk)
{
	return !cfg->socket || (__u64)WL_READ(struct sock, sk, __sk_common.skc_cookie.counter) == cfg->socket;
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

enum wl_found {
	WL_FOREIGN = 0,
	WL_OURS = 1,
	WL_UNREADABLE = 2,
	WL_CORRUPT = 3,
};

struct wl_found_frame {
	struct wl_header h;
	__u16 port; /* of the node; 0 for the test EtherType */
};

/* Aligned, so that it can be written in words. */
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

/* Reads a frame's front from the kernel: type, IPv4 header and the first six bytes after it; without casts all of it.
 * After a short frame's data come other bytes of its buffer, in which no test header has a length that the frame
 * allows. */
static __always_inline int wl_read_front(__u8 *f, __u64 l2)
{
	const void *w;

	if (!casts)
		return bpf_probe_read_kernel(f, 60, (void *)l2);
	w = wl_words(l2 + 12);
	*(wl_u64 *)(f + 12) = *(const wl_u64 *)w;
	*(wl_u64 *)(f + 20) = *(const wl_u64 *)(w + 8);
	*(wl_u32 *)(f + 28) = *(const wl_u32 *)(w + 16);
	*(wl_u16 *)(f + 32) = *(const wl_u16 *)(w + 20);
	*(wl_u16 *)(f + 34) = *(const wl_u16 *)(w + 22);
	*(wl_u16 *)(f + 36) = *(const wl_u16 *)(w + 24);
	*(wl_u16 *)(f + 38) = *(const wl_u16 *)(w + 26);
	return 0;
}

static __always_inline int wl_read_header(struct wl_header *h, __u64 from)
{
	if (!casts)
		return bpf_probe_read_kernel(h, WL_HEADER_LEN, (void *)from);
	wl_copy_header(h, wl_words(from));
	return 0;
}

/* Whether the checksum of the IPv4 header at `ip` with `length` bytes is right (RFC 1071); its options are at
 * `options` in the kernel. */
static __always_inline int wl_adds_up(const __u8 *ip, __u32 length, __u64 options)
{
	__u16 words[32] = {}; /* at most 40 bytes; the verifier sees the bound of 6 bits */
	__u32 sum = 0, i;

#pragma unroll
	for (i = 0; i < 10; i++)
		sum += *(const wl_u16 *)(ip + 2 * i);
	if (length > 20) {
		if (bpf_probe_read_kernel(words, (length - 20) & 63, (void *)options))
			return 0;
#pragma unroll
		for (i = 0; i < 20; i++)
			sum += words[i];
	}
	return (sum & 0xFFFF) + (sum >> 16) == 0xFFFF;
}

/* Bytes of a frame: in its first piece, and in total. */
struct wl_room {
	__u32 first;
	__u32 whole;
};

/* Offset of the datagram in a whole IP packet, and the bytes that the packet has for it; by the rules of identify.h.
 * The Ethernet header is at `f` and, in the kernel, at `l2`. */
static __always_inline int wl_find_datagram(const __u8 *f, __u64 l2, struct wl_room room, __u32 *at,
					    __u32 *left)
{
	__u32 header, packet;

	if (wl_be16(f + 12) == 0x0800) {
		if (room.whole < 34)
			return WL_FOREIGN;
		if (room.first < 34)
			return WL_UNREADABLE;
		header = (f[14] & 15) * 4;
		packet = wl_be16(f + 16);
		if (f[14] >> 4 != 4 || header < 20 || packet < header || packet > room.whole - 14)
			return WL_FOREIGN;
		if (f[23] != 17 || (wl_be16(f + 20) & 0x3FFF))
			return WL_FOREIGN;
		if (14 + header > room.first)
			return WL_UNREADABLE;
		if (!wl_adds_up(f + 14, header, l2 + 34))
			return WL_FOREIGN;
	} else {
		if (room.whole < 54)
			return WL_FOREIGN;
		if (room.first < 54)
			return WL_UNREADABLE;
		header = 40;
		packet = wl_be16(f + 18) + header;
		if (f[14] >> 4 != 6 || f[20] != 17 || packet > room.whole - 14)
			return WL_FOREIGN;
	}
	*at = WL_ETHERNET_HEADER + header;
	*left = packet - header;
	return WL_OURS;
}

/* Whether the frame at `l2` belongs to the flow; node.bpf.c gives the same result for it. */
static __always_inline int wl_find(const struct wl_cap_cfg *cfg, __u64 l2, struct wl_room room, int out,
				   struct wl_found_frame *found)
{
	struct wl_front front;
	__u8 *f = front.f, udp[6];
	__u32 at = WL_ETHERNET_HEADER, left, length, i;
	__u16 type = 0, stream = out ? cfg->stream_out : cfg->stream_in;
	int is;

	for (i = 0; i < 3; i++) {
		if (room.whole < WL_ETHERNET_HEADER)
			return WL_FOREIGN;
		if (wl_read_front(f, l2))
			return WL_UNREADABLE;
		type = wl_be16(f + 12);
		if (type != 0x8100 && type != 0x88A8)
			break;
		l2 += 4;
		room.first -= 4;
		room.whole -= 4;
	}
	found->port = 0;
	left = room.whole - at;
	if (type == WL_ETHERTYPE) {
		if (!cfg->ethernet)
			return WL_FOREIGN;
	} else if (type == 0x0800 || type == 0x86DD) {
		is = wl_find_datagram(f, l2, room, &at, &left);
		if (is != WL_OURS)
			return is;
		if (left < 8)
			return WL_FOREIGN;
		if (at + 8 > room.first)
			return WL_UNREADABLE;
		if (at == 34)
			__builtin_memcpy(udp, f + 34, 6);
		else if (bpf_probe_read_kernel(udp, 6, (void *)(l2 + at)))
			return WL_UNREADABLE;
		length = wl_be16(udp + 4);
		if (length < 8 || length > left || !wl_port_of(cfg, udp, out, &found->port))
			return WL_FOREIGN;
		at += 8;
		left = length - 8;
	} else {
		return WL_FOREIGN;
	}
	if (left < WL_HEADER_LEN)
		return WL_FOREIGN;
	if (at + WL_HEADER_LEN > room.first)
		return WL_UNREADABLE;
	if (wl_read_header(&found->h, l2 + at))
		return WL_UNREADABLE;
	if (found->h.magic != WL_MAGIC_LE)
		return WL_FOREIGN;
	if (!wl_is_right(&found->h))
		return WL_CORRUPT;
	if (stream != WL_ANY_STREAM && stream != found->h.stream)
		return WL_FOREIGN;
	return WL_OURS;
}

/* Counts a frame that may belong to the flow, but cannot be recognised. */
static __always_inline int wl_is_ours(int is, __u32 point)
{
	if (is == WL_UNREADABLE)
		wl_count_unreadable(point);
	if (is == WL_CORRUPT)
		wl_count_corrupt(point);
	return is == WL_OURS;
}

static __always_inline struct wl_line *wl_this_line(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&lines, &cpu);
}

/* The verifier must see the bound itself, not the compiler's transformation of it. */
static __always_inline struct wl_waiting *wl_waiting_at(struct wl_line *line, __u32 at)
{
	asm volatile("" : "+r"(at));
	return &line->frames[at & (WL_LINE - 1)];
}

#endif
