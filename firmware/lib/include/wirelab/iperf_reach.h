/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For the glue of iperf, about hosts that may receive traffic back: the prefix that a build allows, and texts for refusals.
 *
 * WL_IPERF_ALLOW is a text as "192.0.2.0/24", "2001:db8::/32" or one address: these hosts may always receive traffic. Not
 * defined: no host. CMake builds take it from their cache variable of the same name.
 */
#ifndef WIRELAB_IPERF_REACH_H
#define WIRELAB_IPERF_REACH_H

#include "wirelab/iperf.h"

/* The longest address, as text. */
#define WL_IPERF_TEXT_BYTES 46

/* Parse a prefix: its address into `address`; returns its bits, or more than any address has for a single address. The address
 * is empty if the text is invalid. */
static inline unsigned wl_iperf_prefix(const char *prefix, char address[WL_IPERF_TEXT_BYTES])
{
	unsigned count = 0, bits = 0;

	while (prefix[count] != 0 && prefix[count] != '/' && count < WL_IPERF_TEXT_BYTES - 1) {
		address[count] = prefix[count];
		count++;
	}
	address[count] = 0;
	if (prefix[count] == 0)
		return UINT16_MAX;
	for (prefix += count + 1; *prefix >= '0' && *prefix <= '9' && bits <= 128; prefix++)
		bits = bits * 10 + (unsigned)(*prefix - '0');
	if (*prefix != 0 || prefix[-1] == '/')
		address[0] = 0;
	return bits;
}

/* Whether a host has its first bits in common with this address. */
static inline bool wl_iperf_has(const struct wl_iperf_address *of, unsigned bits,
				const struct wl_iperf_address *host)
{
	const uint8_t *a = (const uint8_t *)of->host, *b = (const uint8_t *)host->host;
	unsigned most = of->version == 4 ? 32 : 128;

	if (of->version != host->version)
		return false;
	if (bits > most)
		bits = most;
	for (; bits >= 8; bits -= 8)
		if (*a++ != *b++)
			return false;
	return bits == 0 || (*a ^ *b) >> (8 - bits) == 0;
}

/* Whether the form of the address shows that it is not one host's: none, multicast, or that of all hosts. */
static inline bool wl_iperf_is_group(const struct wl_iperf_address *peer)
{
	const uint8_t *bytes = (const uint8_t *)peer->host;
	uint32_t any = peer->host[0];

	if (peer->version == 4)
		return any == 0 || any == UINT32_MAX || (bytes[0] & 0xF0) == 0xE0;
	return (any | peer->host[1] | peer->host[2] | peer->host[3]) == 0 || bytes[0] == 0xFF;
}

/* Whether it is the address of all hosts of an IPv4 network, or of none; never on a link of two hosts. The mask is as in a
 * packet, too. */
static inline bool wl_iperf_is_of_all(const struct wl_iperf_address *peer, uint32_t mask)
{
	uint32_t hosts = ~mask, own = peer->host[0] & hosts;

	return peer->version == 4 && (hosts & (hosts - 1)) != 0 && (own == 0 || own == hosts);
}

/* The text of a node with control for unknown hosts. */
#define WL_IPERF_NODE_ASKS                                                                                   \
	"over UDP its address may be forged; fix: connect over TCP within the minute before, use a control " \
	"session, or build with WL_IPERF_ALLOW"

/* The reason and the fix. `not_proven` is the text for hosts without proof. */
static inline const char *wl_iperf_because(enum wl_iperf_why why, const char *not_proven)
{
	switch (why) {
	case WL_IPERF_RECEIVES_ONLY:
		return "this node only receives; fix: set receive_only to false";
	case WL_IPERF_SERVICE_PORT:
		return "the port asked for is one of services; fix: ask for one from 1024 on (-L)";
	default:
		return not_proven;
	}
}

/* Refusals are reported at most once a second: forged datagrams must not keep a node busy with a slow console. */
struct wl_iperf_log {
	uint64_t due; /* ticks */
	uint32_t untold;
};

/* Whether to report one more; *untold then is the number of unreported refusals before it. */
static inline bool wl_iperf_tell_now(struct wl_iperf_log *log, uint64_t now, uint64_t second,
				     uint32_t *untold)
{
	if (now < log->due) {
		log->untold++;
		return false;
	}
	*untold = log->untold;
	*log = (struct wl_iperf_log){ .due = now + second };
	return true;
}

#endif
