/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The packet identifier: headers read once, then compared with each rule. */
#include "wirelab/identify.h"

#include "bytes.h"

#define TPID_CUSTOMER 0x8100
#define TPID_SERVICE 0x88A8
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86DD
#define PROTOCOL_UDP 17

/* Every frame passes this: inlined into one function, the results stay in registers. */
#ifdef __GNUC__
#define INLINE inline __attribute__((always_inline))
#else
#define INLINE inline
#endif

enum { ETHERNET_BYTES = 14, TAG_BYTES = 4, IPV4_BYTES = 20, IPV6_BYTES = 40, UDP_BYTES = 8 };

/* A ones' complement sum does not depend on the byte order (RFC 1071, 2 (B)). */
static uint64_t add(uint64_t sum, const uint8_t *bytes, size_t count)
{
	uint32_t last = 0;

	for (; count >= sizeof last; bytes += sizeof last, count -= sizeof last)
		sum += wl_word(bytes);
	if (count > 0) {
		memcpy(&last, bytes, count);
		sum += last;
	}
	return sum;
}

/* Whether a sum that includes the checksum is correct: folded to 16 bits, all bits are set. */
static inline bool is_whole(uint64_t sum)
{
	uint32_t high = (uint32_t)(sum >> 32), folded = (uint32_t)sum + high;

	/* 2^32 is 1 in this arithmetic. */
	folded += folded < high;
	/* One half is the other's complement, or both are all ones. */
	return folded + (folded >> 16 | folded << 16) == UINT32_MAX || folded == UINT32_MAX;
}

static INLINE void find_udp(struct wl_identified *found)
{
	const uint8_t *udp = found->data;
	size_t datagram;

	if (found->count < UDP_BYTES)
		return;
	datagram = wl_be16(udp + 4);
	/* Less than its header wraps to a huge length. */
	if (datagram - UDP_BYTES > found->count - UDP_BYTES)
		return;
	found->udp = udp;
	found->data = udp + UDP_BYTES;
	found->count = datagram - UDP_BYTES;
}

/* Bytes of an IPv4 header by its first byte; 0 if it is invalid. */
static inline size_t header_bytes(uint8_t first)
{
	/* Nearly always without options. */
	if (first == (4 << 4 | IPV4_BYTES / 4))
		return IPV4_BYTES;
	return first >> 4 == 4 && (first & 15) * 4 >= IPV4_BYTES ? (size_t)(first & 15) * 4 : 0;
}

static INLINE void find_ipv4(struct wl_identified *found)
{
	const uint8_t *ip = found->data;
	size_t header, packet;
	uint64_t sum;

	if (found->count < IPV4_BYTES)
		return;
	header = header_bytes(ip[0]);
	packet = wl_be16(ip + 2);
	if (header == 0 || packet < header || packet > found->count)
		return;
	/* A fragment: the offset, or the flag that more follow. */
	if ((wl_be16(ip + 6) & 0x3FFF) != 0)
		return;
	sum = (uint64_t)wl_word(ip) + wl_word(ip + 4) + wl_word(ip + 8) + wl_word(ip + 12) + wl_word(ip + 16);
	if (header > IPV4_BYTES)
		sum = add(sum, ip + IPV4_BYTES, header - IPV4_BYTES);
	if (!is_whole(sum))
		return;
	found->ip = ip;
	found->protocol = ip[9];
	found->data = ip + header;
	found->count = packet - header;
	if (found->protocol == PROTOCOL_UDP)
		find_udp(found);
}

static void find_ipv6(struct wl_identified *found)
{
	const uint8_t *ip = found->data;
	size_t payload;

	if (found->count < IPV6_BYTES || ip[0] >> 4 != 6)
		return;
	payload = wl_be16(ip + 4);
	if (payload > found->count - IPV6_BYTES)
		return;
	found->ip = ip;
	found->protocol = ip[6];
	found->data = ip + IPV6_BYTES;
	found->count = payload;
	if (found->protocol == PROTOCOL_UDP)
		find_udp(found);
}

static INLINE bool identify(const uint8_t *frame, size_t length, struct wl_identified *found)
{
	size_t at = ETHERNET_BYTES;
	int8_t priority = -1;
	uint16_t type;

	if (length < at)
		return false;
	type = wl_be16(frame + at - 2);
	for (int tags = 0; tags < 2 && (type == TPID_CUSTOMER || type == TPID_SERVICE); tags++) {
		if (length < at + TAG_BYTES)
			return false;
		if (tags == 0)
			priority = (int8_t)(frame[at] >> 5);
		at += TAG_BYTES;
		type = wl_be16(frame + at - 2);
	}
	*found = (struct wl_identified){ .frame = frame,
					 .length = length,
					 .data = frame + at,
					 .count = length - at,
					 .ethertype = type,
					 .priority = priority };
	if (type == ETHERTYPE_IPV4)
		find_ipv4(found);
	else if (type == ETHERTYPE_IPV6)
		find_ipv6(found);
	return true;
}

/* The checksum over addresses, length, protocol, header and data (RFC 768; RFC 8200, 8.1). */
static bool udp_is_whole(const struct wl_identified *found)
{
	const uint8_t *udp = found->udp;
	size_t datagram = found->count + UDP_BYTES;
	uint8_t rest[4] = { 0, PROTOCOL_UDP, udp[4], udp[5] };
	uint64_t sum;

	if (found->ethertype == ETHERTYPE_IPV4) {
		if (wl_be16(udp + 6) == 0)
			return true;
		sum = add(wl_word(rest), found->ip + 12, 8);
	} else {
		if (wl_be16(udp + 6) == 0)
			return false;
		sum = add(wl_word(rest), found->ip + 8, 32);
	}
	return is_whole(add(sum, udp, datagram));
}

static INLINE bool is_to(const struct wl_rule_ip *ip, const struct wl_identified *found)
{
	if (!found->ip)
		return false;
	if (found->ethertype == ETHERTYPE_IPV4)
		return ip->version == 4 && wl_word(ip->bytes) == wl_word(found->ip + 16);
	return ip->version == 6 && memcmp(ip->bytes, found->ip + 24, 16) == 0;
}

static INLINE bool has_port(const struct wl_rule *rule, uint16_t port)
{
	for (size_t n = 0; n < WL_IDENTIFY_PORTS && n < rule->port_count; n++) {
		if (rule->ports[n] == port)
			return true;
	}
	return false;
}

static INLINE bool matches(const struct wl_rule *rule, const struct wl_identified *found)
{
	unsigned match = rule->match;

	/* The most selective test comes first. */
	if ((match & WL_MATCH_UDP_PORT) && !(found->udp && has_port(rule, wl_be16(found->udp + 2))))
		return false;
	if ((match & WL_MATCH_ETHERTYPE) && found->ethertype != rule->ethertype)
		return false;
	if ((match & WL_MATCH_PRIORITY) &&
	    !(found->priority >= 0 && (rule->priorities >> found->priority & 1) != 0))
		return false;
	if ((match & WL_MATCH_IP) && !is_to(&rule->ip, found))
		return false;
	if ((match & WL_MATCH_PROTOCOL) && !(found->ip && found->protocol == rule->protocol))
		return false;
	if ((match & WL_MATCH_MAC) && !(wl_word(rule->mac) == wl_word(found->frame) &&
					wl_be16(rule->mac + 4) == wl_be16(found->frame + 4)))
		return false;
	return !(match & WL_MATCH_UDP_CHECKSUM) || (found->udp && udp_is_whole(found));
}

bool wl_identify(const uint8_t *frame, size_t length, struct wl_identified *found)
{
	return identify(frame, length, found);
}

bool wl_rule_matches(const struct wl_rule *rule, const struct wl_identified *found)
{
	return matches(rule, found);
}

bool wl_fast_track(const struct wl_rule *rules, size_t count, const uint8_t *frame, size_t length)
{
	struct wl_identified found;

	if (!identify(frame, length, &found))
		return false;
	for (size_t n = 0; n < count; n++) {
		if (matches(&rules[n], &found)) {
			rules[n].take(rules[n].context, &found);
			return true;
		}
	}
	return false;
}
