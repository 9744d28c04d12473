/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The test frame for eBPF programs: header layout, checksum, and the LFSR window.
 *
 * The format is that of spec/test-frame.md. User space fills the window before the program is loaded, so that there
 * is one definition of the LFSR (crates/wire) and not two.
 */
#ifndef WIRELAB_TEST_FRAME_H
#define WIRELAB_TEST_FRAME_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define WL_HEADER_LEN 18
#define WL_ETHERTYPE 0x88B5
#define WL_MAGIC_LE 0x4C57 /* "WL" read as a little-endian 16-bit number */
#define WL_VERSION 1
#define WL_START_WORDS 4096
#define WL_FLAG_TIME 1
#define WL_FLAG_NODE_CLOCK 2
#define WL_FLAG_REPEATING 4
/* The longest frame of the fast path: what a live frame's page holds besides its headroom. */
#define WL_MAX_LENGTH 3368 /* the longest live frame of Linux 6.1; later kernels allow a few bytes more */
#define WL_WINDOW_BYTES (WL_START_WORDS * 4 + 9200)

/* One sum before each 16-bit word and one after the last; the rest lets the verifier see the bound. */
#define WL_WINDOW_SUMS (WL_WINDOW_BYTES / 2 + 8)

#define WL_HIST_BUCKETS 2048

struct wl_window {
	__u8 bytes[WL_WINDOW_BYTES];
};

struct wl_header {
	__u16 magic;
	__u8 version_flags;
	__u8 stream;
	__u32 sequence;
	__u16 time_high;
	__u32 time_low;
	__u16 lfsr_len;
	__u16 checksum;
} __attribute__((packed, aligned(8)));

typedef __u64 __attribute__((may_alias)) wl_u64;
typedef __u32 __attribute__((may_alias)) wl_u32;
typedef __u16 __attribute__((may_alias)) wl_u16;

/* Copies the header's 18 bytes in words; for memcpy the compiler would copy single bytes, because it knows no
 * alignment. */
static __always_inline void wl_copy_header(void *to, const void *from)
{
	*(wl_u64 *)to = *(const wl_u64 *)from;
	*(wl_u64 *)(to + 8) = *(const wl_u64 *)(from + 8);
	*(wl_u16 *)(to + 16) = *(const wl_u16 *)(from + 16);
}

/* Ones' complement sum of the first 16 bytes, folded (RFC 1071; the sum does not depend on byte order). */
static __always_inline __u16 wl_sum16(const void *header)
{
	const wl_u16 *w = header;
	__u32 sum = (__u32)w[0] + w[1] + w[2] + w[3] + w[4] + w[5] + w[6] + w[7];

	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (__u16)sum;
}

/* Bucket of a log-linear histogram: exact below 64, 32 buckets a power of two above; the same rule as
 * Histogram::from_log_linear in crates/trial. */
static __always_inline __u32 wl_bucket(__u64 v)
{
	__u32 e = 0;
	__u64 x = v;

	if (v < 64)
		return (__u32)v;
	if (x >> 32) {
		e += 32;
		x >>= 32;
	}
	if (x >> 16) {
		e += 16;
		x >>= 16;
	}
	if (x >> 8) {
		e += 8;
		x >>= 8;
	}
	if (x >> 4) {
		e += 4;
		x >>= 4;
	}
	if (x >> 2) {
		e += 2;
		x >>= 2;
	}
	if (x >> 1)
		e += 1;
	return (64 + (e - 6) * 32 + (__u32)((v >> (e - 5)) & 31)) & (WL_HIST_BUCKETS - 1);
}

struct wl_hist {
	__u64 count;
	__u64 sum;
	__u64 min;
	__u64 max;
	__u64 buckets[WL_HIST_BUCKETS];
};

static __always_inline void wl_hist_add(struct wl_hist *h, __u64 v)
{
	h->count += 1;
	h->sum += v;
	if (h->count == 1 || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->buckets[wl_bucket(v) & (WL_HIST_BUCKETS - 1)] += 1;
}

#endif
