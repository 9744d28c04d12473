/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the packet identifier (docs/blocks/packet_identifier.md): which frames are wanted, decided while they arrive.
 *
 * `base` is the address of the block's registers: those of a port's identifier are at wl_port_identifier(port). Rules
 * share four ports and two own IP addresses. Frames that are on their way while a rule changes may be judged by either.
 *
 *     wl_packet_identifier_port(base, 0, 1026, 0xFFFF);
 *     wl_packet_identifier_rule(base, 0, &(struct wl_packet_rule){ .ports = 1 << 0 });
 */
#ifndef WIRELAB_PACKET_IDENTIFIER_H
#define WIRELAB_PACKET_IDENTIFIER_H

#include <stdbool.h>
#include <stdint.h>

enum { WL_PACKET_RULES = 4, WL_PACKET_PORTS = 4, WL_PACKET_ADDRESSES = 2 };

/* A rule wants a frame that meets all its conditions. */
struct wl_packet_rule {
	bool asks_own; /* to the own MAC address and, for IP, a whole packet to an own IP address */
	bool asks_type;
	uint16_t ethertype; /* behind at most two tags */
	bool asks_protocol;
	uint8_t protocol; /* of a whole packet of IP */
	bool asks_priority;
	uint8_t priority; /* of the outer tag, 0 to 7 */
	uint8_t ports; /* bit n: a whole datagram of UDP to port n of wl_packet_identifier_port; 0: any frame */
};

struct wl_packet_identifier_state {
	bool is_wanted; /* the last frame that has ended */
	uint8_t rules; /* bit n: rule n wanted it */
	uint32_t frames; /* ended frames */
	uint32_t wanted; /* of them */
	uint8_t overflow; /* sticky until the counts are cleared, a bit for each count, in this order */
};

/* Remove all rules and own IP addresses. */
void wl_packet_identifier_reset(uintptr_t base);

/* The own MAC address. */
void wl_packet_identifier_own(uintptr_t base, const uint8_t mac[6]);

/* Own IP address `index` (0 or 1); false for an index that is not there. */
bool wl_packet_identifier_ipv4(uintptr_t base, unsigned index, const uint8_t address[4]);
bool wl_packet_identifier_ipv6(uintptr_t base, unsigned index, const uint8_t address[16]);

/* UDP port `index` (0 to 3): met if the destination port equals `number` in the bits of `mask`. False for an index
 * that is not there. */
bool wl_packet_identifier_port(uintptr_t base, unsigned index, uint16_t number, uint16_t mask);

/* Rule `index` (0 to 3) from now on; NULL: the rule is not used. False for an index that is not there. */
bool wl_packet_identifier_rule(uintptr_t base, unsigned index, const struct wl_packet_rule *wanted);

/* Set the counts to 0; the last frame's result stays. */
void wl_packet_identifier_clear(uintptr_t base);

/* The results. */
void wl_packet_identifier_read(uintptr_t base, struct wl_packet_identifier_state *state);

#endif
