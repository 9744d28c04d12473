/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A line on standard error for a host to which iperf does not send back. */
#ifndef WIRELAB_IPERF_TELL_H
#define WIRELAB_IPERF_TELL_H

#include <arpa/inet.h>
#include <stdio.h>
#include <time.h>

#include "wirelab/iperf_reach.h"

static inline void wl_iperf_tell_refused(const struct wl_iperf_address *peer, const char *because)
{
	static struct wl_iperf_log log;
	char host[INET6_ADDRSTRLEN] = "?";
	struct timespec now;
	uint32_t untold;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!wl_iperf_tell_now(&log, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, 1000,
			       &untold))
		return;
	inet_ntop(peer->version == 4 ? AF_INET : AF_INET6, peer->host, host, sizeof host);
	fprintf(stderr, "iperf: nothing is sent back to %s port %u: %s", host, peer->port, because);
	if (untold > 0)
		fprintf(stderr, "; before, not told: %u", untold);
	fprintf(stderr, "\n");
}

#endif
