/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trials past lwIP: the trial's frames that the packet identifier selects go from the driver to the application in place, and
 * frames of the application go to the driver unchanged.
 */
#include "fast_track.h"
#include "glue.h"
#include "probes.h"

#include <string.h>

static void take_datagram(void *context, const struct wl_identified *found)
{
	struct wl_flows *flows = context;
	struct wl_ip from;

	BOARD_ON_RECEIVED(found->frame, found->length);
	from.version = 4;
	for (unsigned n = 0; n < 4; n++)
		from.bytes[n] = found->ip[12 + n];
	wl_app_udp(flows->app, &from, (uint16_t)(found->udp[0] << 8 | found->udp[1]), found->data,
		   found->count);
}

static void take_frame(void *context, const struct wl_identified *found)
{
	struct wl_flows *flows = context;

	BOARD_ON_RECEIVED(found->frame, found->length);
	/* The driver owns the buffer, and no longer needs its contents. */
	wl_app_frame(flows->app, (uint8_t *)(uintptr_t)found->frame, found->length);
}

void wl_flows_fast_track(void *context, uint16_t port, bool on)
{
	static struct wl_rule rule;
	struct wl_flows *flows = context;
	uint32_t own = ip4_addr_get_u32(netif_ip4_addr(flows->netif));

	if (!on) {
		wl_fast.count = 0;
		if (flows->identifier_rule != NULL)
			flows->identifier_rule(NULL);
		return;
	}
	rule = (struct wl_rule){ .context = flows };
	if (port == 0) {
		rule.match = WL_MATCH_ETHERTYPE;
		rule.ethertype = WL_ETHERTYPE;
		rule.take = take_frame;
	} else {
		rule.match = WL_MATCH_UDP_PORT | WL_MATCH_IP | WL_MATCH_MAC;
		rule.ports[0] = port;
		rule.port_count = 1;
		rule.ip.version = 4;
		memcpy(rule.ip.bytes, &own, sizeof own);
		memcpy(rule.mac, flows->netif->hwaddr, sizeof rule.mac);
		rule.take = take_datagram;
	}
	wl_fast = (struct wl_fast_track){ &rule, 1 };
	if (flows->identifier_rule != NULL)
		flows->identifier_rule(&rule);
}

bool wl_flows_driver_send(void *context, const uint8_t *frame, size_t length)
{
	struct wl_flows *flows = context;

	return flows->driver_send(frame, length);
}
