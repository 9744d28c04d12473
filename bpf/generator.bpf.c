// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The generator of the fast path: run over live frames, it turns each into the next test frame of a port and passes
 * it to that port's driver. Ports take turns; a paced run waits here for each frame's due time.
 *
 * Pages of live frames are reused as the last receiver left them: a stack that removes a tag, routes or joins frames
 * writes into them. So every byte is written each time.
 */
#include "device.h"
#include "generator.h"

volatile struct wl_gen_cfg cfg SEC(".data.cfg");
struct wl_gen_state state SEC(".data.state");
const volatile struct wl_window window SEC(".rodata.window");
/* Folded sums of the window's 16-bit words before each word, so that a UDP checksum needs two look-ups. */
const volatile __u16 window_sum[WL_WINDOW_SUMS] SEC(".rodata.sums");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, WL_GEN_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wl_step);
} steps SEC(".maps");

/* Makes the compiler forget what it knows of a value, so that a later bounds check is kept. */
#define FORGET(x) asm volatile("" : "+r"(x))

struct wait {
	__u64 due;
	__u64 now;
};

static long wait_step(__u32 i, struct wait *w)
{
	w->now = bpf_ktime_get_ns();
	return w->now >= w->due || state.stop;
}

static __always_inline void move_schedule(__u64 ns)
{
	state.shift_ns += ns;
	state.slipped_ns += ns;
	state.slips += 1;
}

/* Wait for the frame's due time and return the time it leaves. A sender that was paused catches up within a limit,
 * and moves its schedule by the rest; the rule of crates/trial/src/pace.rs. */
static __always_inline __u64 wait_until_due(struct wl_gen_port_state *s, __u64 now)
{
	struct wait w = { .now = now };

	w.due = s->due_ns + state.shift_ns;
	if (s->emission == 0 || w.due > s->last_ns)
		s->burst = 0;
	s->burst += 1;
	if (s->burst > s->longest_burst)
		s->longest_burst = s->burst;
	if (now < w.due)
		bpf_loop(1 << 22, wait_step, &w, 0);
	else if (now - w.due > cfg.limit_ns)
		move_schedule(cfg.strict ? now - w.due : now - w.due - cfg.limit_ns);
	else if (s->burst >= cfg.most_frames && now - w.due >= cfg.interval_ns)
		move_schedule(now - w.due);
	s->due_ns += cfg.interval_ns;
	s->due_ps += cfg.interval_ps;
	if (s->due_ps >= 1000) {
		s->due_ps -= 1000;
		s->due_ns += 1;
	}
	return w.now;
}

/* A paced frame has its own time. At maximum load the kernel passes frames to the driver in bulks, and the frames of a bulk
 * leave together. They share the time of the first, because reading the clock costs as much as the rest of a small
 * frame. */
static __always_inline __u64 departure_time(struct wl_gen_port_state *s)
{
	if (!cfg.interval_ns && s->emission & (WL_BULK - 1))
		return s->last_ns;
	return bpf_ktime_get_ns();
}

static __always_inline void note_bulk(struct wl_gen_port_state *s, __u64 took)
{
	wl_hist_add(&s->gap, took / WL_BULK);
	if (took > WL_HOLD_NS) {
		state.slips += 1;
		state.slipped_ns += took;
	}
}

static __always_inline void note_departure(struct wl_gen_port_state *s, __u64 now)
{
	if (s->emission == 0)
		s->first_ns = now;
	else if (cfg.interval_ns)
		wl_hist_add(&s->gap, now - s->last_ns);
	else if (!(s->emission & (WL_BULK - 1)))
		note_bulk(s, now - s->last_ns);
	s->last_ns = now;
}

static __always_inline __u32 fold(__u32 sum)
{
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (sum & 0xFFFF) + (sum >> 16);
}

/* UDP checksum of prefix sum and LFSR part; the test header's own checksum makes its words add nothing. */
static __always_inline __u16 udp_checksum(__u32 sum, __u32 start, __u32 len)
{
	__u32 first = start / 2, last = (start + len) / 2;

	if (first > WL_WINDOW_BYTES / 2 || last > WL_WINDOW_BYTES / 2)
		return 0;
	sum += window_sum[last] + (0xFFFF & ~window_sum[first]);
	if (len & 1) {
		__u32 odd = start + len - 1;

		FORGET(odd);
		if (odd < WL_WINDOW_BYTES)
			sum += (__u32)window.bytes[odd] << 8;
	}
	sum = 0xFFFF & ~fold(fold(sum));
	return sum ? sum : 0xFFFF;
}

struct plan {
	__u32 sequence;
	__u32 content; /* sequence whose LFSR part is sent */
	__u32 mutation;
	__u32 arg;
};

/* The emission's content: the plain sequence, or the next step of the injector's schedule. */
static __always_inline void plan_emission(struct wl_gen_port_state *s, volatile struct wl_gen_port_cfg *c,
					  struct plan *plan)
{
	struct wl_step *step;
	__u32 at;

	plan->mutation = WL_MUT_NONE;
	plan->arg = 0;
	plan->sequence = (__u32)(s->emission + s->offset);
	plan->content = plan->sequence;
	if (s->step >= c->step_count)
		return;
	at = c->first_step + s->step;
	step = bpf_map_lookup_elem(&steps, &at);
	if (!step || step->emission != s->emission)
		return;
	plan->sequence = step->sequence;
	plan->content = step->sequence;
	plan->mutation = step->mutation;
	plan->arg = step->arg;
	if (step->mutation == WL_MUT_STALE)
		plan->content -= step->arg;
	s->offset = step->offset_after;
	s->step += 1;
}

static __always_inline void flip(struct xdp_md *ctx, __u32 at, __u32 bit)
{
	__u8 byte;

	at += bit / 8;
	if (at >= WL_MAX_LENGTH || bpf_xdp_load_bytes(ctx, at, &byte, 1))
		return;
	byte ^= 0x80 >> (bit % 8);
	bpf_xdp_store_bytes(ctx, at, &byte, 1);
}

static __noinline int mutate(struct xdp_md *ctx, struct plan *plan, __u32 header_at)
{
	if (!plan)
		return 0;
	switch (plan->mutation) {
	case WL_MUT_HEADER_BIT:
		flip(ctx, header_at, plan->arg);
		break;
	case WL_MUT_LFSR_BIT:
		flip(ctx, header_at + WL_HEADER_LEN, plan->arg);
		break;
	case WL_MUT_TRUNCATE:
		bpf_xdp_adjust_tail(ctx, -(int)plan->arg);
		break;
	}
	return 0;
}

/* Whole words: the excess is overwritten by the test header, which is written next. */
static __always_inline int write_prefix(void *to, void *end, const volatile __u64 *from, __u32 len)
{
	__u32 i;

	for (i = 0; i < WL_PREFIX_MAX / 8; i++) {
		if (i * 8 >= len)
			break;
		if (to + 8 > end)
			return -1;
		*(wl_u64 *)to = from[i];
		to += 8;
	}
	return 0;
}

/* Up to this many bytes of LFSR part are written here, because a call of the helper costs more. */
#define WL_SHORT_LFSR 63

static __always_inline int write_short(void *to, void *end, const volatile __u8 *from, __u32 len)
{
	__u32 i;

	for (i = 0; i < WL_SHORT_LFSR / 8; i++) {
		if (len < 8)
			break;
		if (to + 8 > end)
			return -1;
		*(__u64 *)to = *(__u64 *)from;
		to += 8;
		from += 8;
		len -= 8;
	}
	if (len & 4) {
		if (to + 4 > end)
			return -1;
		*(__u32 *)to = *(__u32 *)from;
		to += 4;
		from += 4;
	}
	if (len & 2) {
		if (to + 2 > end)
			return -1;
		*(__u16 *)to = *(__u16 *)from;
		to += 2;
		from += 2;
	}
	if (len & 1) {
		if (to + 1 > end)
			return -1;
		*(__u8 *)to = *from;
	}
	return 0;
}

static __always_inline int write_frame(struct xdp_md *ctx, volatile struct wl_gen_port_cfg *c,
				       struct plan *plan, __u64 now)
{
	__u32 at = c->prefix_len, start = (plan->content & (WL_START_WORDS - 1)) * 4, len = c->lfsr_len;
	struct wl_header header = {
		.magic = WL_MAGIC_LE,
		.version_flags = (WL_VERSION << 4) | cfg.flags,
		.stream = c->stream,
		.sequence = bpf_htonl(plan->sequence),
		.time_high = bpf_htons((__u16)(now >> 32)),
		.time_low = bpf_htonl((__u32)now),
		.lfsr_len = bpf_htons(len),
	};

	void *data, *end;

	header.checksum = ~wl_sum16(&header);
	FORGET(at);
	if (at < 14 || at > WL_PREFIX_MAX)
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (write_prefix(data, end, (const volatile __u64 *)c->prefix, at))
		return -1;
	if (data + at + WL_HEADER_LEN > end)
		return -1;
	if (c->with_udp) {
		/* The checksum of the faultless frame, also with stale content: the fault is as if on the path. */
		__u32 right = (plan->sequence & (WL_START_WORDS - 1)) * 4, sum_at = at - 2;

		FORGET(sum_at);
		if (sum_at > WL_PREFIX_MAX || data + sum_at + 2 > end)
			return -1;
		*(wl_u16 *)(data + sum_at) = bpf_htons(udp_checksum(c->udp_sum, right, len));
	}
	wl_copy_header(data + at, &header);
	FORGET(len);
	FORGET(start);
	if (start > (WL_START_WORDS - 1) * 4)
		return -1;
	if (len <= WL_SHORT_LFSR)
		return write_short(data + at + WL_HEADER_LEN, end, &window.bytes[start], len);
	if (len > WL_MAX_LENGTH)
		return -1;
	if (bpf_xdp_store_bytes(ctx, at + WL_HEADER_LEN, (void *)&window.bytes[start], len))
		return -1;
	return 0;
}

SEC("xdp")
int generate(struct xdp_md *ctx)
{
	__u64 turn = state.turn, now;
	volatile struct wl_gen_port_cfg *c;
	struct wl_gen_port_state *s;
	struct plan plan;

	state.turn = turn + 1 < cfg.ports ? turn + 1 : 0;
	if (turn >= WL_GEN_PORTS)
		return XDP_DROP;
	c = &cfg.port[turn];
	s = &state.port[turn];
	if (state.stop || s->emission >= c->emissions)
		return XDP_DROP;
	if (s->emission == 0)
		state.task = bpf_get_current_task();
	now = departure_time(s);
	if (cfg.interval_ns) {
		if (state.start_ns == 0)
			state.start_ns = now;
		if (s->emission == 0)
			s->due_ns = state.start_ns + c->phase_ns;
		now = wait_until_due(s, now);
		if (state.stop)
			return XDP_DROP;
	}
	plan_emission(s, c, &plan);
	note_departure(s, now);
	s->emission += 1;
	if (write_frame(ctx, c, &plan, now)) {
		s->write_errors += 1;
		return XDP_ABORTED;
	}
	if (plan.mutation)
		mutate(ctx, &plan, c->prefix_len);
	return bpf_redirect_map(&ports, turn, XDP_ABORTED);
}

static __always_inline __u32 port_of(__u64 device)
{
	const struct net_device *dev = (void *)device;
	__u32 i, ifindex, netns;

	for (i = 0; i < WL_GEN_PORTS; i++)
		if (i < cfg.ports && state.port[i].device == device)
			return i;
	ifindex = BPF_CORE_READ(dev, ifindex);
	netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	for (i = 0; i < WL_GEN_PORTS; i++) {
		if (i < cfg.ports && cfg.port[i].ifindex == ifindex && cfg.port[i].netns == netns) {
			state.port[i].device = device;
			return i;
		}
	}
	return WL_GEN_PORTS;
}

/* After each bulk that the sending thread passed to a driver: frames that the driver took have left. */
SEC("raw_tp/xdp_devmap_xmit")
int note_transmit(struct bpf_raw_tracepoint_args *args)
{
	struct wl_gen_port_state *s;
	__u32 port;

	if (bpf_get_current_task() != state.task)
		return 0;
	port = port_of(args->args[1]);
	if (port >= WL_GEN_PORTS)
		return 0;
	s = &state.port[port];
	s->left += (__u32)args->args[2];
	if ((__u32)args->args[3]) {
		s->refused += (__u32)args->args[3];
		s->error = (__s32)args->args[4];
	}
	return 0;
}

char wl_license[] SEC("license") = "Dual MIT/GPL";
