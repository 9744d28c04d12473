// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The checker of the fast path: an XDP program on the receiving port that compares every byte of every test frame and
 * counts the results. Frames of others pass unchanged.
 *
 * The rules and their precedence are those of spec/test-frame.md, the same as classify() in crates/wire.
 */
#include "checker.h"
#include "tracker.h"

volatile struct wl_chk_cfg cfg SEC(".data.cfg");
struct wl_chk_state state SEC(".data.state");
const volatile struct wl_window window SEC(".rodata.window");

/* Start word by the first word of its content, looked up only for frames that do not match. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WL_START_WORDS);
	__type(key, __u32);
	__type(value, __u32);
} starts SEC(".maps");

#define FORGET(x) asm volatile("" : "+r"(x))
#define NOT_FOUND 0

static __always_inline __u32 be16_at(void *data, void *end, __u32 at)
{
	if (data + at + 2 > end)
		return 0;
	return bpf_ntohs(*(__u16 *)(data + at));
}

struct location {
	__u32 at; /* of the test header; NOT_FOUND if the frame cannot be of the flow */
	__u32 end; /* of the data it may describe */
	__u32 payload; /* bytes after the Ethernet header and its tags */
};

static __noinline int locate_udp(void *data, void *end, struct location *l, __u32 at)
{
	__u32 length;

	if (!l)
		return 0;
	FORGET(at);
	if (at > 200 || data + at + 8 > end)
		return 0;
	if (be16_at(data, end, at + 2) != cfg.udp_port)
		return 0;
	length = be16_at(data, end, at + 4);
	if (length < 8)
		return 0;
	l->at = at + 8;
	if (at + length < l->end)
		l->end = at + length;
	return 0;
}

/* Tags, IP and UDP; the plain Ethernet frame is handled before. */
static __noinline int locate(void *data, void *end, struct location *l)
{
	__u32 at = 12, type = be16_at(data, end, 12), ihl;

	if (!l)
		return 0;
	if (type == 0x8100 || type == 0x88A8) {
		at = 16;
		type = be16_at(data, end, 16);
		if (type == 0x8100 || type == 0x88A8) {
			at = 20;
			type = be16_at(data, end, 20);
		}
	}
	at += 2;
	l->payload = end - data - at;
	if (type == WL_ETHERTYPE) {
		l->at = at;
		return 0;
	}
	if (data + at + 20 > end)
		return 0;
	if (type == 0x0800) {
		ihl = (*(__u8 *)(data + at) & 15) * 4;
		if (*(__u8 *)(data + at) >> 4 != 4 || ihl < 20 || be16_at(data, end, at + 6) & 0x3FFF ||
		    *(__u8 *)(data + at + 9) != 17)
			return 0;
		if (cfg.dscp_known && *(__u8 *)(data + at + 1) >> 2 != cfg.dscp)
			return 0;
		return locate_udp(data, end, l, at + ihl);
	}
	if (type == 0x86DD) {
		if (*(__u8 *)(data + at) >> 4 != 6 || *(__u8 *)(data + at + 6) != 17)
			return 0;
		return locate_udp(data, end, l, at + 40);
	}
	return 0;
}

/* Whether `len` bytes at `at` are the stream from `start` on. Not static, so that the verifier checks it once for all
 * callers instead of once for each path that leads to it. */
__noinline int matches(struct xdp_md *ctx, __u32 at, __u32 start, __u32 len)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const volatile __u8 *w;
	__u8 *p;
	__u32 i;

	FORGET(at);
	FORGET(start);
	if (at > 200 || start > (WL_START_WORDS - 1) * 4 || len > WL_MAX_LENGTH)
		return 0;
	p = data + at;
	w = &window.bytes[start];
	for (i = 0; i < WL_MAX_LENGTH / 32; i++) {
		if (len < 32)
			break;
		if ((void *)p + 32 > end)
			return 0;
		if (((*(__u64 *)p ^ *(__u64 *)w) | (*(__u64 *)(p + 8) ^ *(__u64 *)(w + 8)) |
		     (*(__u64 *)(p + 16) ^ *(__u64 *)(w + 16)) | (*(__u64 *)(p + 24) ^ *(__u64 *)(w + 24))))
			return 0;
		p += 32;
		w += 32;
		len -= 32;
	}
	for (i = 0; i < 3; i++) {
		if (len < 8)
			break;
		if ((void *)p + 8 > end || *(__u64 *)p != *(__u64 *)w)
			return 0;
		p += 8;
		w += 8;
		len -= 8;
	}
	if (len & 4) {
		if ((void *)p + 4 > end || *(__u32 *)p != *(__u32 *)w)
			return 0;
		p += 4;
		w += 4;
	}
	if (len & 2) {
		if ((void *)p + 2 > end || *(__u16 *)p != *(__u16 *)w)
			return 0;
		p += 2;
		w += 2;
	}
	if (len & 1) {
		if ((void *)p + 1 > end || *p != *w)
			return 0;
	}
	return 1;
}

__noinline int is_stale(struct xdp_md *ctx, __u32 at, __u32 len)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 word, *start;

	FORGET(at);
	if (len < 4 || at > 200 || data + at + 4 > end)
		return 0;
	word = *(__u32 *)(data + at);
	start = bpf_map_lookup_elem(&starts, &word);
	return start && matches(ctx, at, *start * 4, len);
}

static __always_inline __u64 sent_ns(struct wl_header *h)
{
	return (__u64)bpf_ntohs(h->time_high) << 32 | bpf_ntohl(h->time_low);
}

/* Whether the tester sent this frame before the run began: half of the 48-bit range of ns is before it. */
static __always_inline int is_of_other_run(struct wl_header *h)
{
	if (!cfg.since_known || (h->version_flags & (WL_FLAG_TIME | WL_FLAG_NODE_CLOCK)) != WL_FLAG_TIME)
		return 0;
	return ((sent_ns(h) - cfg.since_ns) & ((1ULL << 48) - 1)) >> 47;
}

static __always_inline void time_frame(struct wl_header *h, __u64 number)
{
	__u64 now = bpf_ktime_get_ns(), transit, kept, d;

	if (!state.first_ns) {
		state.first_ns = now;
		state.first_frame = number;
	}
	state.last_ns = now;
	state.last_frame = number;
	if (!cfg.latency || (h->version_flags & (WL_FLAG_TIME | WL_FLAG_NODE_CLOCK)) != WL_FLAG_TIME)
		return;
	transit = (now - sent_ns(h)) & ((1ULL << 48) - 1);
	if (transit >> 47) /* sent after it arrived: another clock */
		return;
	kept = state.latency.count >> cfg.sample_shift;
	if (kept < WL_SAMPLES && state.latency.count == kept << cfg.sample_shift)
		state.samples[kept & (WL_SAMPLES - 1)] = transit >> 32 ? ~0U : transit;
	wl_hist_add(&state.latency, transit);
	if (cfg.time_mask == 0) {
		if (state.jitter_frames) {
			d = transit > state.transit ? transit - state.transit : state.transit - transit;
			state.jitter += d - ((state.jitter + 8) >> 4);
		}
		state.transit = transit;
		state.jitter_frames += 1;
	}
}

static __always_inline void check_content(struct xdp_md *ctx, struct wl_chk_counts *c, struct location *l,
					  struct wl_header *h)
{
	__u32 at = l->at + WL_HEADER_LEN, len = bpf_ntohs(h->lfsr_len), avail = l->end - at;
	__u32 start = (bpf_ntohl(h->sequence) & (WL_START_WORDS - 1)) * 4;

	if (avail < len) {
		c->truncated += 1;
	} else if (matches(ctx, at, start, len)) {
		c->good += 1;
		c->verified_bytes += l->payload;
	} else if (is_stale(ctx, at, len)) {
		c->stale += 1;
	} else {
		c->corrupted += 1;
		c->too_long += len > WL_MAX_LENGTH;
	}
}

static __always_inline int count_foreign(struct wl_chk_counts *c)
{
	c->foreign += 1;
	return XDP_PASS;
}

static __always_inline void count_header_corrupt(struct wl_chk_counts *c)
{
	c->header_corrupt += 1;
	state.unreadable += 1;
}

SEC("xdp")
int check(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct location l = { .end = end - data, .payload = end - data - 14 };
	__u32 cpu = bpf_get_smp_processor_id(), at, queue;
	struct wl_chk_counts *c = &state.counts[cpu & (WL_CHK_CPUS - 1)];
	struct wl_header h;
	int ours;

	if (data + 14 > end)
		return count_foreign(c);
	if (*(__u16 *)(data + 12) == bpf_htons(WL_ETHERTYPE))
		l.at = 14;
	else
		locate(data, end, &l);
	at = l.at;
	FORGET(at);
	if (at == NOT_FOUND || at > 200)
		return count_foreign(c);
	ours = cfg.source_known && *(__u32 *)(data + 6) == *(volatile __u32 *)&cfg.source[0] &&
	       *(__u16 *)(data + 10) == *(volatile __u16 *)&cfg.source[4];
	if (data + at + WL_HEADER_LEN > end || at + WL_HEADER_LEN > l.end) {
		if (!ours)
			return count_foreign(c);
		count_header_corrupt(c);
		goto done;
	}
	wl_copy_header(&h, data + at);
	if (h.magic != WL_MAGIC_LE && !ours)
		return count_foreign(c);
	if (h.magic != WL_MAGIC_LE || h.checksum != (__u16)~wl_sum16(&h)) {
		count_header_corrupt(c);
		goto done;
	}
	if (h.version_flags >> 4 != WL_VERSION || (cfg.stream_known && h.stream != cfg.stream))
		return count_foreign(c);
	if (is_of_other_run(&h)) {
		state.other_run += 1;
		goto done;
	}
	queue = ctx->rx_queue_index + 1;
	if (!state.queue)
		state.queue = queue;
	state.queue_moved += state.queue != queue;
	if (!(state.track.observed & cfg.time_mask))
		time_frame(&h, state.track.observed + state.unreadable);
	if (cfg.slots)
		wl_track_slot(&state.track, bpf_ntohl(h.sequence), cfg.slots);
	else
		wl_track(&state.track, bpf_ntohl(h.sequence));
	check_content(ctx, c, &l, &h);
done:
	return cfg.pass ? XDP_PASS : XDP_DROP;
}

char wl_license[] SEC("license") = "Dual MIT/GPL";
