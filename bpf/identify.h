/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The packet identifier in XDP: headers read once, then compared with each rule.
 *
 * Only whole packets match, by the rules of crates/wire/src/rule.rs, which is the reference: a damaged or truncated
 * packet and a fragment do not count as IP here.
 */
#ifndef WIRELAB_IDENTIFY_H
#define WIRELAB_IDENTIFY_H

#include "node.h"
#include "test_frame.h"

#define WL_TPID_CUSTOMER 0x8100
#define WL_TPID_SERVICE 0x88A8
#define WL_ETHERTYPE_IPV4 0x0800
#define WL_ETHERTYPE_IPV6 0x86DD
#define WL_PROTOCOL_UDP 17
#define WL_UNTAGGED 0xFF

/* Keeps a check in place: the compiler forgets what it knows of x. */
#define WL_FORGET(x) asm volatile("" : "+r"(x))

struct wl_found {
	__u32 ether_type;
	__u32 priority; /* WL_UNTAGGED: no tag */
	__u32 is_ip; /* a whole IP packet */
	__u32 is_udp; /* a whole UDP datagram */
	__u32 protocol;
	__u32 udp_port; /* destination */
	__u32 ip_at; /* offsets from the start of the frame */
	__u32 udp_at;
	__u32 data_at; /* after UDP, else after Ethernet and tags */
	__u32 data_end;
	__u32 source[4]; /* IPv4 mapped into IPv6 */
	__u32 destination[4];
};

static __always_inline __u32 wl_be16(const void *at)
{
	return bpf_ntohs(*(const wl_u16 *)at);
}

static __always_inline __u32 wl_word(const void *at)
{
	return *(const wl_u32 *)at;
}

static __always_inline void wl_find_udp(void *data, void *end, struct wl_found *found, __u32 at, __u32 left)
{
	__u32 length;
	void *udp;

	WL_FORGET(at);
	if (at > 200)
		return;
	udp = data + at;
	if (left < 8 || udp + 8 > end)
		return;
	length = wl_be16(udp + 4);
	if (length < 8 || length > left)
		return;
	found->is_udp = 1;
	found->udp_port = wl_be16(udp + 2);
	found->udp_at = at;
	found->data_at = at + 8;
	found->data_end = at + length;
}

static __noinline int wl_find_ipv4(void *data, void *end, struct wl_found *found, __u32 at)
{
	__u32 header, packet, sum = 0, i;
	void *ip;

	WL_FORGET(at);
	if (!found || at > 32)
		return 0;
	ip = data + at;
	if (ip + 20 > end)
		return 0;
	header = (*(__u8 *)ip & 15) * 4;
	packet = wl_be16(ip + 2);
	if (*(__u8 *)ip >> 4 != 4 || header < 20 || packet < header || packet > end - ip)
		return 0;
	if (wl_be16(ip + 6) & 0x3FFF)
		return 0;
	for (i = 0; i < 15; i++) {
		if (i * 4 >= header || ip + i * 4 + 4 > end)
			break;
		sum += *(wl_u16 *)(ip + i * 4) + *(wl_u16 *)(ip + i * 4 + 2);
	}
	/* At most 30 words: folded once, only a right sum is all ones. */
	if ((sum & 0xFFFF) + (sum >> 16) != 0xFFFF)
		return 0;
	found->is_ip = 1;
	found->ip_at = at;
	found->protocol = *(__u8 *)(ip + 9);
	found->source[2] = found->destination[2] = bpf_htonl(0xFFFF);
	found->source[3] = wl_word(ip + 12);
	found->destination[3] = wl_word(ip + 16);
	if (found->protocol == WL_PROTOCOL_UDP)
		wl_find_udp(data, end, found, at + header, packet - header);
	return 0;
}

static __noinline int wl_find_ipv6(void *data, void *end, struct wl_found *found, __u32 at)
{
	__u32 payload, i;
	void *ip;

	WL_FORGET(at);
	if (!found || at > 32)
		return 0;
	ip = data + at;
	if (ip + 40 > end)
		return 0;
	payload = wl_be16(ip + 4);
	if (*(__u8 *)ip >> 4 != 6 || payload > end - ip - 40)
		return 0;
	found->is_ip = 1;
	found->ip_at = at;
	found->protocol = *(__u8 *)(ip + 6);
	for (i = 0; i < 4; i++) {
		found->source[i] = wl_word(ip + 8 + 4 * i);
		found->destination[i] = wl_word(ip + 24 + 4 * i);
	}
	if (found->protocol == WL_PROTOCOL_UDP)
		wl_find_udp(data, end, found, at + 40, payload);
	return 0;
}

/* Reads the headers of a frame; false if it ends inside its Ethernet header or tags. */
static __always_inline int wl_identify(void *data, void *end, struct wl_found *found)
{
	__u32 type, at = 14, tag;

	if (data + 14 > end)
		return 0;
	type = wl_be16(data + 12);
	found->priority = WL_UNTAGGED;
	for (tag = 0; tag < 2; tag++) {
		if (type != WL_TPID_CUSTOMER && type != WL_TPID_SERVICE)
			break;
		if (data + at + 4 > end)
			return 0;
		if (tag == 0)
			found->priority = *(__u8 *)(data + at) >> 5;
		type = wl_be16(data + at + 2);
		at += 4;
	}
	found->ether_type = type;
	found->data_at = at;
	found->data_end = end - data;
	if (type == WL_ETHERTYPE_IPV4)
		wl_find_ipv4(data, end, found, at);
	else if (type == WL_ETHERTYPE_IPV6)
		wl_find_ipv6(data, end, found, at);
	return 1;
}

/* Whether one of the ports is `port`; all entries are compared without a branch, which keeps the verifier's work
 * small. */
static __always_inline int wl_has_port(const __u16 *ports, __u32 port)
{
	__u32 hit = 0, i;

#pragma unroll
	for (i = 0; i < WL_NODE_PORTS; i++)
		hit |= ((__u32)ports[i] ^ port) - 1;
	return hit >> 31;
}

static __always_inline int wl_is_own(const struct wl_node_cfg *cfg, void *data, const struct wl_found *found)
{
	__u64 hit = 0;
	__u32 i;

	if (wl_word(data) != wl_word(cfg->mac) || *(wl_u16 *)(data + 4) != *(const wl_u16 *)(cfg->mac + 4))
		return 0;
	if (found->ether_type != WL_ETHERTYPE_IPV4 && found->ether_type != WL_ETHERTYPE_IPV6)
		return 1;
	if (!found->is_ip || !cfg->address_count)
		return 0;
#pragma unroll
	for (i = 0; i < WL_NODE_ADDRESSES; i++) {
		const __u32 *own = cfg->addresses[i];
		__u32 differs = (own[0] ^ found->destination[0]) | (own[1] ^ found->destination[1]) |
				(own[2] ^ found->destination[2]) | (own[3] ^ found->destination[3]);

		hit |= (__u64)differs - 1;
	}
	return hit >> 63;
}

__noinline int matches(const struct wl_node_rule *rule, const struct wl_found *found, int own)
{
	__u32 ask;

	if (!rule || !found)
		return 0;
	ask = rule->ask;
	if ((ask & WL_ASK_UDP_PORT) && !(found->is_udp && wl_has_port(rule->ports, found->udp_port)))
		return 0;
	if ((ask & WL_ASK_ETHERTYPE) && found->ether_type != rule->ether_type)
		return 0;
	if ((ask & WL_ASK_PRIORITY) && found->priority != rule->priority)
		return 0;
	if ((ask & WL_ASK_PROTOCOL) && !(found->is_ip && found->protocol == rule->protocol))
		return 0;
	return !(ask & WL_ASK_OWN) || own;
}

#endif
