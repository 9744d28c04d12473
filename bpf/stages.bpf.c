// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Records the time at which frames of the test flow pass places in a node's kernel. Each place exists twice: for raw
 * tracepoints, and for kernels that let programs trace functions; user space decides which set is loaded.
 *
 * A frame is recognised by its test header, its port, its device and its network namespace. If the kernel shows less
 * at a place, it is recognised by what was stored at the place before.
 */
#include "stages.h"
#include "stages_calls.h"

/* A frame whose Ethernet header the driver has removed. */
static __always_inline int find_received(const struct wl_cap_cfg *cfg, const struct sk_buff *skb,
					 const struct wl_bounds *bounds, struct wl_found_frame *found)
{
	struct wl_linear linear;
	struct wl_room room;

	wl_read_linear(&linear, skb);
	room.whole = linear.len + WL_ETHERNET_HEADER;
	room.first = room.whole - linear.data_len;
	return wl_find(cfg, bounds->data - WL_ETHERNET_HEADER, room, 0, found);
}

/* The frame is in the stack: store it for the later places. */
static __always_inline int on_stack(const struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	const struct wl_cap_cfg *cfg = wl_cap_config();
	struct wl_found_frame found;
	struct wl_bounds bounds;
	struct wl_slot *slot;
	struct wl_line *line;
	__u32 sequence, at;

	if (!cfg || !cfg->on || !wl_of_port(cfg, WL_READ(struct sk_buff, skb, dev)))
		return 0;
	wl_read_bounds(&bounds, skb);
	if (!wl_is_ours(find_received(cfg, skb, &bounds, &found), WL_IN_STACK))
		return 0;
	sequence = bpf_ntohl(found.h.sequence);
	wl_capture(cfg, WL_IN_STACK, found.h.stream, sequence, now);
	slot = wl_slot_enter(found.h.stream, sequence, WL_SLOT_STACK);
	if (slot) {
		slot->since_ns = now;
		slot->head = bounds.head;
	}
	line = wl_this_line();
	if (line) {
		at = line->last;
		if (at < WL_LINE) {
			struct wl_waiting *frame = wl_waiting_at(line, at);

			frame->skb = (__u64)skb;
			frame->sequence = sequence;
			frame->port = found.port;
			frame->stream = found.h.stream;
			frame->gone = 0;
			line->last = at + 1;
		} else {
			wl_count_unmatched(WL_IN_SOCKET);
		}
	}
	wl_cost(WL_IN_STACK, sequence, now);
	if (cfg->no_driver) /* what an XDP program would have recorded before */
		wl_capture_arrival(cfg, &found.h, sequence, now, 0);
	return 0;
}

/* The frame at `at` is gone: as the first it leaves the line. An empty line starts again. */
static __always_inline void advance(struct wl_line *line, __u32 at)
{
	if (at == line->first)
		line->first = at + 1;
	if (line->first >= line->last) {
		line->first = 0;
		line->last = 0;
	}
}

static __always_inline void take_socket(const struct wl_cap_cfg *cfg, struct wl_line *line, __u32 at,
					__u64 now)
{
	struct wl_waiting *frame = wl_waiting_at(line, at);
	struct wl_slot *slot = wl_slot_of(frame->stream, frame->sequence);

	frame->gone = 1;
	if (slot && wl_slot_is(slot, frame->stream, frame->sequence))
		slot->since_ns = now;
	wl_capture(cfg, WL_IN_SOCKET, frame->stream, frame->sequence, now);
	wl_cost(WL_IN_SOCKET, frame->sequence, now);
	advance(line, at);
}

/* A socket of the node's namespace reports data: the first waiting frame for its port, which this CPU passed to the
 * stack. The consumer may already have read it, so the queue is not checked. */
static __always_inline int on_ready(const struct sock *sk)
{
	struct wl_line *line = wl_this_line();
	const struct wl_cap_cfg *cfg;
	struct wl_waiting *frame;
	__u64 now;
	__u32 at, i;
	__u16 port;

	if (!line || line->first == line->last)
		return 0;
	now = bpf_ktime_get_ns();
	cfg = wl_cap_config();
	if (!cfg || (__u64)WL_READ(struct sock, sk, __sk_common.skc_net.net) != known.net ||
	    !is_socket(cfg, sk))
		return 0;
	switch (WL_READ(struct sock, sk, __sk_common.skc_family)) {
	case 2: /* AF_INET */
	case 10: /* AF_INET6 */
		if (WL_READ(struct sock, sk, sk_protocol) != 17)
			return 0;
		port = WL_READ(struct sock, sk, __sk_common.skc_num);
		break;
	case 17: /* AF_PACKET */
		port = 0;
		break;
	default:
		return 0;
	}
	at = line->first;
	for (i = 0; i < WL_LINE; i++, at++) {
		if (at >= line->last || at >= WL_LINE)
			return 0;
		frame = wl_waiting_at(line, at);
		if (!frame->gone && frame->port == port)
			goto found;
	}
	return 0;
found:
	take_socket(cfg, line, at, now);
	return 0;
}

/* For kernels that do not report when a socket has data: the flow's sleeping reader is about to be woken. It is
 * unknown which of several frames in the line woke it. */
static __always_inline int on_waking(__u32 tid)
{
	struct wl_line *line = wl_this_line();
	const struct wl_cap_cfg *cfg = wl_cap_config();
	__u64 now;

	if (!line || !cfg || line->last - line->first != 1 || tid != known.reader)
		return 0;
	now = bpf_ktime_get_ns();
	if (!wl_waiting_at(line, line->first)->gone)
		take_socket(cfg, line, line->first, now);
	return 0;
}

/* A frame between driver and stack is dropped: the queue to another CPU is full. */
static __always_inline void drop_before_stack(const struct sk_buff *skb)
{
	const struct wl_cap_cfg *cfg = wl_cap_config();
	struct wl_found_frame found;
	struct wl_bounds bounds;
	struct wl_slot *slot;
	__u32 sequence;

	if (!cfg || !cfg->on || cfg->no_driver || !wl_of_port(cfg, WL_READ(struct sk_buff, skb, dev)))
		return;
	wl_read_bounds(&bounds, skb);
	if (find_received(cfg, skb, &bounds, &found) != WL_OURS)
		return;
	sequence = bpf_ntohl(found.h.sequence);
	slot = wl_slot_of(found.h.stream, sequence);
	if (!slot || !wl_slot_is(slot, found.h.stream, sequence) || slot->state & WL_SLOT_STACK)
		return;
	slot->state |= WL_SLOT_GONE;
	wl_count_dropped(WL_IN_STACK);
}

/* A buffer is dropped; if it waits in the line, it will reach no socket. */
static __always_inline int on_dropped(const struct sk_buff *skb)
{
	struct wl_line *line = wl_this_line();
	struct wl_waiting *frame;
	__u32 at, i;

	if (!line)
		return 0;
	at = line->first;
	for (i = 0; i < WL_LINE; i++, at++) {
		if (at >= line->last || at >= WL_LINE)
			break;
		frame = wl_waiting_at(line, at);
		if (!frame->gone && frame->skb == (__u64)skb)
			goto found;
	}
	drop_before_stack(skb);
	return 0;
found:
	frame->gone = 1;
	wl_slot_leave(frame->stream, frame->sequence);
	wl_count_dropped(WL_IN_SOCKET);
	advance(line, at);
	return 0;
}

/* Frames that still wait at the end of a poll took another path. */
static __always_inline void clear_line(void)
{
	struct wl_line *line = wl_this_line();
	__u32 at, i;

	if (!line || line->first == line->last)
		return;
	at = line->first;
	for (i = 0; i < WL_LINE; i++, at++) {
		if (at >= line->last || at >= WL_LINE)
			break;
		if (!wl_waiting_at(line, at)->gone)
			wl_count_unmatched(WL_IN_SOCKET);
	}
	line->first = 0;
	line->last = 0;
}

/* The data of a frame are about to be copied to the application. */
static __always_inline int on_copy(const struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	const struct wl_cap_cfg *cfg = wl_cap_config();
	struct wl_bounds bounds;
	struct wl_slot *slot;
	struct wl_header h;
	__u32 sequence;
	__u8 type[2];

	if (!cfg || !cfg->on)
		return 0;
	wl_read_bounds(&bounds, skb);
	if (wl_read_header(&h, bounds.data))
		return 0;
	if (cfg->ethernet && h.magic != WL_MAGIC_LE) {
		if (bpf_probe_read_kernel(type, 2, (void *)(bounds.data + 12)) ||
		    wl_be16(type) != WL_ETHERTYPE || wl_read_header(&h, bounds.data + WL_ETHERNET_HEADER))
			return 0;
		/* Copies for other packet sockets share the data. */
		if (cfg->socket && !is_socket(cfg, WL_READ(struct sk_buff, skb, sk)))
			return 0;
	}
	if (h.magic != WL_MAGIC_LE || !wl_is_right(&h))
		return 0;
	sequence = bpf_ntohl(h.sequence);
	slot = wl_slot_of(h.stream, sequence);
	if (!slot || !wl_slot_is(slot, h.stream, sequence) || slot->head != bounds.head)
		return 0;
	if (__sync_fetch_and_or(&slot->state, WL_SLOT_COPIED) & WL_SLOT_COPIED)
		return 0;
	wl_capture(cfg, WL_IN_COPY, h.stream, sequence, now);
	wl_cost(WL_IN_COPY, sequence, now);
	return 0;
}

static __always_inline struct wl_thread *this_thread(__u32 tid)
{
	__u32 at = tid & (WL_THREADS - 1);

	return bpf_map_lookup_elem(&threads, &at);
}

/* A thread enters or leaves a system call that sends. */
static __always_inline int on_send(__u32 enters)
{
	const struct wl_cap_cfg *cfg = wl_cap_config();
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct wl_thread *thread = this_thread(tid);

	if (!cfg || !cfg->on || !thread)
		return 0;
	thread->tid = tid;
	thread->enter_ns = enters ? bpf_ktime_get_ns() : 0;
	return 0;
}

/* A sent frame passes `point`; at the first point, the system call of its thread is recorded too. */
static __always_inline int on_sent(const struct sk_buff *skb, const struct net_device *dev, __u32 point)
{
	__u64 now = bpf_ktime_get_ns();
	const struct wl_cap_cfg *cfg = wl_cap_config();
	__u32 tid, sequence;
	struct wl_thread *thread;
	struct wl_found_frame found;
	struct wl_linear linear;
	struct wl_room room;

	if (!cfg || !cfg->on || !wl_of_port(cfg, dev))
		return 0;
	wl_read_linear(&linear, skb);
	room.whole = linear.len;
	room.first = linear.len - linear.data_len;
	if (!wl_is_ours(wl_find(cfg, (__u64)WL_READ(struct sk_buff, skb, data), room, 1, &found), point))
		return 0;
	sequence = bpf_ntohl(found.h.sequence);
	wl_capture(cfg, point, found.h.stream, sequence, now);
	wl_cost(point, sequence, now);
	if (point != WL_OUT_QUEUE)
		return 0;
	tid = (__u32)bpf_get_current_pid_tgid();
	thread = this_thread(tid);
	if (thread && thread->tid == tid && thread->enter_ns)
		wl_capture(cfg, WL_OUT_CALL, found.h.stream, sequence, thread->enter_ns);
	else
		wl_count_unmatched(WL_OUT_CALL);
	return 0;
}

#define NET_RX 3 /* NET_RX_SOFTIRQ of linux/interrupt.h */

static __always_inline int on_softirq(__u64 vector, __u32 begins)
{
	struct wl_cap_poll *poll;

	if ((__u32)vector != NET_RX)
		return 0;
	poll = wl_this_poll();
	if (!poll)
		return 0;
	poll->begin_ns = begins ? bpf_ktime_get_ns() : 0;
	poll->softirq = begins;
	poll->frames = 0;
	clear_line();
	return 0;
}

/* A poll is over. In the softirq the next one begins; a thread that polls does not report its beginning. */
static __always_inline int on_polled(__u32 work)
{
	struct wl_cap_poll *poll = wl_this_poll();
	struct wl_hist *hist;
	__u32 zero = 0;

	if (!poll)
		return 0;
	if (poll->frames) {
		hist = bpf_map_lookup_elem(&polls, &zero);
		if (hist)
			wl_hist_add(hist, work);
	}
	poll->frames = 0;
	poll->begin_ns = poll->softirq ? bpf_ktime_get_ns() : 0;
	clear_line();
	return 0;
}

static __always_inline int on_run(__u32 tid)
{
	__u32 at = tid & (WL_THREADS - 1);
	struct wl_run *run = bpf_map_lookup_elem(&runs, &at);

	if (!run)
		return 0;
	run->tid = tid;
	run->ns = bpf_ktime_get_ns();
	return 0;
}

#include "stages_sets.h"

/* Run by user space, to compare this clock with its own. */
__u64 clock_ns SEC(".bss.clock");

SEC("xdp")
int st_clock(struct xdp_md *ctx)
{
	clock_ns = bpf_ktime_get_ns();
	return XDP_PASS;
}

char wl_license[] SEC("license") = "Dual MIT/GPL";
