/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fast track's rule in the hardware's packet identifier, which gives its verdict with each frame. */
#include "reference.h"
#include "wirelab/identify.h"
#include "wl_packet_identifier.h"

#define BLOCK PLACE(identifier)
#define WHOLE_PORT 0xFFFFu

void identifier_start(const uint8_t mac[6], const uint8_t ip[4])
{
	wl_packet_identifier_reset(BLOCK);
	wl_packet_identifier_own(BLOCK, mac);
	wl_packet_identifier_ipv4(BLOCK, 0, ip);
}

void identifier_rule(const struct wl_rule *rule)
{
	struct wl_packet_rule asked = { 0 };

	if (rule == 0) {
		wl_packet_identifier_rule(BLOCK, 0, 0);
		return;
	}
	asked.asks_own = true;
	asked.asks_type = (rule->match & WL_MATCH_ETHERTYPE) != 0;
	asked.ethertype = rule->ethertype;
	if (rule->match & WL_MATCH_UDP_PORT) {
		wl_packet_identifier_port(BLOCK, 0, rule->ports[0], WHOLE_PORT);
		asked.ports = 1u << 0;
	}
	wl_packet_identifier_rule(BLOCK, 0, &asked);
}
