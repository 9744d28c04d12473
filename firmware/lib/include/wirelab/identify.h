/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The packet identifier: it finds the frames that an application needs at once, and hands them over past the stack.
 *
 * A driver gives each received frame to wl_fast_track() before it gives it to the stack. The first matching rule gets the frame
 * in place, without a copy. Frames without a matching rule, and damaged, truncated or fragmented packets, are left to the
 * stack.
 *
 *     static const struct wl_rule rules[] = { { .match = WL_MATCH_MAC | WL_MATCH_IP | WL_MATCH_UDP_PORT,
 *                                               .mac = { … }, .ip = { 4, { 10, 55, 0, 2 } },
 *                                               .ports = { 5003 }, .port_count = 1, .take = my_data } };
 *     if (!wl_fast_track(rules, 1, frame, length))
 *             my_stack_input(frame, length);
 *
 * Frames are untagged or have one or two VLAN tags. The MAC checks the FCS; the UDP checksum is only computed if a rule
 * requires it.
 */
#ifndef WIRELAB_IDENTIFY_H
#define WIRELAB_IDENTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wirelab/options.h"

/* Conditions of a rule, in any combination. */
enum wl_match {
	WL_MATCH_ETHERTYPE = 1 << 0, /* the EtherType behind the tags is `ethertype` */
	WL_MATCH_MAC = 1 << 1, /* sent to `mac`, not to a group */
	WL_MATCH_PRIORITY = 1 << 2, /* the outer tag's priority is in the set `priorities`; there is a tag */
	WL_MATCH_IP = 1 << 3, /* a whole packet of IP to the address `ip` */
	WL_MATCH_PROTOCOL = 1 << 4, /* a whole packet of IP that carries `protocol` */
	WL_MATCH_UDP_PORT = 1 << 5, /* a whole datagram of UDP to one of `ports` */
	WL_MATCH_UDP_CHECKSUM = 1 << 6, /* a UDP datagram with a correct checksum, or, with IPv4, none */
};

/* The fields found in a frame, valid until the driver takes the frame back. */
struct wl_identified {
	const uint8_t *frame;
	size_t length;
	const uint8_t *data; /* behind the last header known: UDP, else IP, else Ethernet with its tags */
	size_t count; /* bytes of data; without padding if a header has their number */
	const uint8_t *ip; /* the header of a whole packet of IP, or 0 */
	const uint8_t *udp; /* the header of a whole datagram of UDP, or 0 */
	uint16_t ethertype;
	uint8_t protocol; /* if there is `ip` */
	int8_t priority; /* -1: untagged */
};

struct wl_rule_ip {
	uint8_t version; /* 4 or 6 */
	uint8_t bytes[16]; /* version 4: the first four */
};

struct wl_rule {
	uint8_t match; /* of wl_match; 0 matches all */
	uint8_t protocol;
	uint8_t priorities; /* bit n for priority n */
	uint8_t port_count;
	uint16_t ethertype;
	uint16_t ports[WL_IDENTIFY_PORTS];
	uint8_t mac[6];
	struct wl_rule_ip ip;
	/* Gets the frame, in the context of the caller of wl_fast_track. */
	void (*take)(void *context, const struct wl_identified *found);
	void *context;
};

/* Read the headers of a frame (destination address first, without FCS). False if it is shorter than its Ethernet header:
 * `found` is then not written. */
bool wl_identify(const uint8_t *frame, size_t length, struct wl_identified *found);

/* Whether a rule matches. */
bool wl_rule_matches(const struct wl_rule *rule, const struct wl_identified *found);

/* Give the frame to the first matching rule; false if there is none. */
bool wl_fast_track(const struct wl_rule *rules, size_t count, const uint8_t *frame, size_t length);

#endif
