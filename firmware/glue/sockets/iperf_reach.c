/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hosts to which the iperf on sockets sends datagrams back: those that a build allows, and those that have proven their
 * address or, if no proof is possible, are on a link of this host. A system without getifaddrs() provides its own `proven`.
 */
#define _GNU_SOURCE
#include "iperf_sockets.h"
#include "wirelab/iperf_reach.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

static bool to_peer(const struct sockaddr *from, struct wl_iperf_address *to)
{
	memset(to, 0, sizeof *to);
	if (from != NULL && from->sa_family == AF_INET) {
		to->version = 4;
		memcpy(to->host, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	} else if (from != NULL && from->sa_family == AF_INET6) {
		to->version = 6;
		memcpy(to->host, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
	}
	return to->version != 0;
}

/* The number of bits set in a mask. */
static unsigned bits_of(const struct wl_iperf_address *mask)
{
	unsigned bits = 0;

	for (unsigned n = 0; n < 4; n++)
		bits += (unsigned)__builtin_popcount(mask->host[n]);
	return bits;
}

static bool is_on_link(const struct wl_iperf_address *peer, bool *all)
{
	struct ifaddrs *first;
	bool found = false;

	if (getifaddrs(&first) != 0)
		return false;
	for (const struct ifaddrs *at = first; at != NULL; at = at->ifa_next) {
		struct wl_iperf_address own, mask;

		if (!to_peer(at->ifa_addr, &own) || !to_peer(at->ifa_netmask, &mask) || bits_of(&mask) == 0 ||
		    !wl_iperf_has(&own, bits_of(&mask), peer))
			continue;
		found = true;
		*all = *all || wl_iperf_is_of_all(peer, mask.host[0]);
	}
	freeifaddrs(first);
	return found;
}

static bool is_allowed(const struct wl_iperf_address *peer)
{
#ifdef WL_IPERF_ALLOW
	char text[WL_IPERF_TEXT_BYTES];
	unsigned bits = wl_iperf_prefix(WL_IPERF_ALLOW, text);
	struct wl_iperf_address prefix = { .version = strchr(text, ':') != NULL ? 6 : 4 };

	return inet_pton(prefix.version == 4 ? AF_INET : AF_INET6, text, prefix.host) == 1 &&
	       wl_iperf_has(&prefix, bits, peer);
#else
	(void)peer;
	return false;
#endif
}

bool wl_iperf_sockets_may_send(void *context, const struct wl_iperf_address *peer)
{
	const struct wl_iperf_sockets *s = context;
	bool all = false, on_link = is_on_link(peer, &all);

	if (all || wl_iperf_is_group(peer))
		return false;
	return is_allowed(peer) || (s->proven != NULL ? s->proven(s->proven_context, peer) : on_link);
}
