// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The XDP program of a node's port. For each frame, in this order: it records the times of a test frame of the flow;
 * a frame that matches a rule goes to the AF_XDP socket of its queue; if the node reflects, a test frame to its own
 * address is sent back; everything else passes to the stack unchanged.
 */
#include "capture.h"
#include "identify.h"

struct wl_node_cfg cfg SEC(".data.cfg");
struct wl_node_state state SEC(".data.state");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, WL_NODE_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

/* Reads a frame's possible test header; false if the frame is too short for one, or has no magic. */
static __always_inline int read_header(void *data, void *end, const struct wl_found *found,
				       struct wl_header *h)
{
	__u32 at = found->data_at;

	WL_FORGET(at);
	if (at > 200 || data + at + WL_HEADER_LEN > end || at + WL_HEADER_LEN > found->data_end)
		return 0;
	wl_copy_header(h, data + at);
	return h->magic == WL_MAGIC_LE;
}

static __always_inline int is_of_flow(const struct wl_cap_cfg *cap, const struct wl_found *found)
{
	__u32 port = found->udp_port, hit = 0, i;

	if (found->ether_type == WL_ETHERTYPE)
		return cap->ethernet;
	if (!found->is_udp)
		return 0;
#pragma unroll
	for (i = 0; i < WL_CAP_PORTS; i++)
		hit |= i < cap->port_count && cap->udp_ports[i] == port;
	return hit;
}

/* The points `wire`, `interrupt` and `driver`; returns whether it is a frame of the flow. Not static, like others here,
 * so that the verifier checks it once and not once for each path that leads to it. */
__noinline int take_times(const struct wl_cap_cfg *cap, const struct wl_header *h)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 sequence;

	if (!cap || !h)
		return 0;
	if (!wl_is_right(h)) {
		wl_count_corrupt(WL_IN_DRIVER);
		return 0;
	}
	if (cap->stream_in != WL_ANY_STREAM && cap->stream_in != h->stream)
		return 0;
	sequence = bpf_ntohl(h->sequence);
	wl_capture_arrival(cap, h, sequence, now, 1);
	wl_slot_enter(h->stream, sequence, WL_SLOT_DRIVER);
	wl_cost(WL_IN_DRIVER, sequence, now);
	return 1;
}

/* A frame of the flow that the stack will not see. */
__noinline int leaves(const struct wl_header *h)
{
	if (h)
		wl_slot_leave(h->stream, bpf_ntohl(h->sequence));
	return 0;
}

static __always_inline void swap_words(void *data, __u32 a, __u32 b, __u32 words)
{
	__u32 i, word;

#pragma unroll
	for (i = 0; i < words; i++) {
		word = *(wl_u16 *)(data + a + 2 * i);
		*(wl_u16 *)(data + a + 2 * i) = *(wl_u16 *)(data + b + 2 * i);
		*(wl_u16 *)(data + b + 2 * i) = word;
	}
}

/* Whether the sender may get a reply: it is a single other host, and the peer if one is given. */
static __always_inline int may_answer(void *data, const struct wl_found *found)
{
	const __u32 *from = found->source;
	__u32 high;

	if (*(__u8 *)(data + 6) & 1)
		return 0;
	if (wl_word(data + 6) == wl_word(cfg.mac) && *(wl_u16 *)(data + 10) == *(wl_u16 *)(cfg.mac + 4))
		return 0;
	if (wl_word(cfg.peer_mac) | wl_word(cfg.peer_mac + 4) &&
	    (wl_word(data + 6) != wl_word(cfg.peer_mac) ||
	     *(wl_u16 *)(data + 10) != *(wl_u16 *)(cfg.peer_mac + 4)))
		return 0;
	if (!found->is_ip)
		return 1;
	if (cfg.peer_known && ((from[0] ^ cfg.peer[0]) | (from[1] ^ cfg.peer[1]) | (from[2] ^ cfg.peer[2]) |
			       (from[3] ^ cfg.peer[3])))
		return 0;
	if (found->ether_type == WL_ETHERTYPE_IPV6)
		return (bpf_ntohl(from[0]) >> 24) != 0xFF && (from[0] | from[1] | from[2] | from[3]);
	high = bpf_ntohl(from[3]) >> 24;
	return high != 0 && high != 127 && high < 224;
}

/* A checksum that the sender's stack left to a network device, and that no device completed: it is the sum of the
 * pseudo header alone. Frames between two ends of a veth pair have it. With IPv4 it may be omitted instead (RFC 768). */
static __always_inline int is_unfinished(const void *ip, const void *udp)
{
	__u32 sum = bpf_htons(WL_PROTOCOL_UDP) + *(const wl_u16 *)(udp + 4), i;

#pragma unroll
	for (i = 12; i < 20; i += 2)
		sum += *(const wl_u16 *)(ip + i);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return *(const wl_u16 *)(udp + 6) == sum;
}

/* Reverse a test frame in place: the sums of its checksums do not change. */
__noinline int turn(struct xdp_md *ctx, const struct wl_found *found)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 ip, udp;

	if (!found || data + 14 > end || !may_answer(data, found))
		return 0;
	if (found->is_udp) {
		ip = found->ip_at;
		udp = found->udp_at;
		WL_FORGET(ip);
		WL_FORGET(udp);
		if (ip > 32 || udp > 200 || data + ip + 40 > end || data + udp + 8 > end)
			return 0;
		if (!*(wl_u16 *)(data + udp))
			return 0;
		if (found->ether_type == WL_ETHERTYPE_IPV4) {
			if (is_unfinished(data + ip, data + udp))
				*(wl_u16 *)(data + udp + 6) = 0;
			swap_words(data + ip, 12, 16, 2);
		} else {
			swap_words(data + ip, 8, 24, 8);
		}
		swap_words(data + udp, 0, 2, 1);
	}
	swap_words(data, 0, 6, 3);
	return 1;
}

static __always_inline int is_to_reflect(const struct wl_found *found)
{
	if (found->ether_type == WL_ETHERTYPE)
		return cfg.ethernet;
	return found->is_udp && cfg.udp_port_count && wl_has_port(cfg.udp_ports, found->udp_port);
}

static __always_inline int pass(struct wl_node_counts *c)
{
	c->passed += 1;
	return XDP_PASS;
}

SEC("xdp")
int node(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct wl_node_counts *c = &state.counts[bpf_get_smp_processor_id() & (WL_NODE_CPUS - 1)];
	struct wl_cap_cfg *cap = wl_cap_config();
	struct wl_found found = {};
	struct wl_header h = {};
	int is_test, own, action, taken = 0;
	__u32 i;

	c->frames += 1;
	if (!wl_identify(data, end, &found))
		return pass(c);
	is_test = (found.ether_type == WL_ETHERTYPE || found.is_udp) && read_header(data, end, &found, &h);
	if (is_test && cap && cap->on && is_of_flow(cap, &found))
		taken = take_times(cap, &h);
	own = wl_is_own(&cfg, data, &found);
	for (i = 0; i < WL_NODE_RULES; i++) {
		if (i >= cfg.rule_count)
			break;
		if (!matches(&cfg.rules[i], &found, own))
			continue;
		c->matched[i] += 1;
		action = bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
		if (action == XDP_REDIRECT) {
			if (taken)
				leaves(&h);
			return action;
		}
		c->no_socket += 1;
		return pass(c);
	}
	if (cfg.reflect && own && is_test && is_to_reflect(&found) && wl_is_right(&h)) {
		if (turn(ctx, &found)) {
			if (taken)
				leaves(&h);
			c->reflected += 1;
			return XDP_TX;
		}
		c->not_reflected += 1;
	}
	return pass(c);
}

char wl_license[] SEC("license") = "Dual MIT/GPL";
