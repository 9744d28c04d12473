/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hosts to which the iperf on lwIP sends datagrams back: those that a build allows, and those that have proven their
 * address or, if no proof is possible, are on a link of this node.
 */
#include "iperf.h"
#include "wirelab/iperf_reach.h"

#include "lwip/netif.h"

#if LWIP_IPV4
/* Whether the host is on the link of an interface, by its mask. */
static bool on_link4(const struct netif *netif, const struct wl_iperf_address *peer, bool *all)
{
	uint32_t own = ip4_addr_get_u32(netif_ip4_addr(netif)),
		 mask = ip4_addr_get_u32(netif_ip4_netmask(netif));

	/* Without an address it is on no link. */
	if (own == 0 || mask == 0 || ((own ^ peer->host[0]) & mask) != 0)
		return false;
	*all = *all || wl_iperf_is_of_all(peer, mask);
	return true;
}
#endif

#if LWIP_IPV6
/* lwIP's links have prefixes of 64 bits. */
static bool on_link6(const struct netif *netif, const struct wl_iperf_address *peer)
{
	for (unsigned n = 0; n < LWIP_IPV6_NUM_ADDRESSES; n++) {
		const ip6_addr_t *own = netif_ip6_addr(netif, n);

		if (ip6_addr_isvalid(netif_ip6_addr_state(netif, n)) && own->addr[0] == peer->host[0] &&
		    own->addr[1] == peer->host[1])
			return true;
	}
	return false;
}
#endif

static bool is_on_link(const struct wl_iperf_address *peer, bool *all)
{
	const struct netif *netif;
	bool found = false;

	NETIF_FOREACH(netif)
	{
		if (!netif_is_up(netif))
			continue;
#if LWIP_IPV4
		if (peer->version == 4)
			found = on_link4(netif, peer, all) || found;
#endif
#if LWIP_IPV6
		if (peer->version == 6)
			found = on_link6(netif, peer) || found;
#endif
	}
	return found;
}

static bool is_allowed(const struct wl_iperf_address *peer)
{
#ifdef WL_IPERF_ALLOW
	char text[WL_IPERF_TEXT_BYTES];
	unsigned bits = wl_iperf_prefix(WL_IPERF_ALLOW, text);
	struct wl_iperf_address prefix;
	ip_addr_t address;

	if (!ipaddr_aton(text, &address))
		return false;
	prefix = wl_iperf_lwip_address(&address, 0);
	return wl_iperf_has(&prefix, bits, peer);
#else
	(void)peer;
	return false;
#endif
}

bool wl_iperf_lwip_may_send(void *context, const struct wl_iperf_address *peer)
{
	const struct wl_iperf_lwip *s = context;
	bool all = false, on_link = is_on_link(peer, &all);

	if (all || wl_iperf_is_group(peer))
		return false;
	return is_allowed(peer) || (s->proven != 0 ? s->proven(s->proven_context, peer) : on_link);
}
