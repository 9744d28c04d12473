/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry for libFuzzer: any bytes as a frame, and rules from its first bytes. All results must lie inside the frame. */
#include <stdlib.h>
#include <string.h>

#include "wirelab/identify.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const uint8_t *whole;
static size_t whole_bytes;

static bool inside(const uint8_t *at, size_t count)
{
	return at >= whole && count <= whole_bytes && (size_t)(at - whole) <= whole_bytes - count;
}

static void take(void *context, const struct wl_identified *found)
{
	const struct wl_rule *rule = context;

	if (!inside(found->data, found->count) || (found->ip && !inside(found->ip, 20)) ||
	    (found->udp && (!found->ip || found->protocol != 17 || found->data != found->udp + 8)))
		abort();
	if ((rule->match & (WL_MATCH_UDP_PORT | WL_MATCH_UDP_CHECKSUM)) && !found->udp)
		abort();
	if ((rule->match & (WL_MATCH_IP | WL_MATCH_PROTOCOL)) && !found->ip)
		abort();
	if ((rule->match & WL_MATCH_ETHERTYPE) && found->ethertype != rule->ethertype)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct wl_identified found;
	struct wl_rule rule = { .take = take, .context = &rule, .protocol = 17, .priorities = 0x5A };

	whole = bytes;
	whole_bytes = count;
	if (wl_identify(bytes, count, &found)) {
		/* A rule made of the frame itself matches it. */
		memcpy(rule.mac, bytes, 6);
		rule.ethertype = found.ethertype;
		rule.match = WL_MATCH_MAC | WL_MATCH_ETHERTYPE;
		if (found.ip) {
			bool four = found.ethertype == 0x0800;

			rule.ip.version = four ? 4 : 6;
			memcpy(rule.ip.bytes, found.ip + (four ? 16 : 24), four ? 4 : 16);
			rule.protocol = found.protocol;
			rule.match |= WL_MATCH_IP | WL_MATCH_PROTOCOL;
		}
		if (found.udp) {
			rule.ports[WL_IDENTIFY_PORTS - 1] = (uint16_t)(found.udp[2] << 8 | found.udp[3]);
			rule.port_count = WL_IDENTIFY_PORTS;
			rule.match |= WL_MATCH_UDP_PORT;
		}
		if (!wl_fast_track(&rule, 1, bytes, count))
			abort();
	}
	/* Any other rule may match or not, but must not read outside. */
	for (unsigned match = 0; match < 128; match++) {
		rule.match = (uint8_t)match;
		wl_fast_track(&rule, 1, bytes, count);
	}
	return 0;
}
