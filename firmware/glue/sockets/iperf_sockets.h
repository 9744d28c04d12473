/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf 2 on BSD sockets: one thread, poll() and sockets that do not block. Linux, NuttX and Zephyr have these.
 *
 *     static struct wl_iperf_sockets it;
 *     if (wl_iperf_sockets_open(&it, &(struct wl_iperf_address){ .port = WL_IPERF_PORT }, 0, 0))
 *             for (;;) wl_iperf_sockets_wait(&it, 1000);
 *
 * A program with sockets of its own polls them together: wl_iperf_sockets_list, poll, wl_iperf_sockets_serve.
 */
#ifndef WIRELAB_IPERF_SOCKETS_H
#define WIRELAB_IPERF_SOCKETS_H

#include <poll.h>

#include "wirelab/iperf.h"

/* The longest read, and the longest sent datagram or write. */
#ifndef WL_SOCKETS_BYTES
#define WL_SOCKETS_BYTES 8192
#endif

#define WL_IPERF_SOCKETS (2 + WL_IPERF_FLOWS)

struct wl_iperf_sockets {
	struct wl_iperf iperf;
	struct wl_iperf_io io;
	/* Whether a host has proven its address, for datagrams that it requests. 0: hosts on a link of this host need no proof.
	 * May be set after opening. */
	bool (*proven)(void *context, const struct wl_iperf_address *peer);
	void *proven_context;
	int udp, tcp; /* the server's */
	bool both; /* they carry IPv4 in IPv6 */
	uint8_t state[WL_IPERF_FLOWS];
	uint8_t in[WL_SOCKETS_BYTES], filling[WL_SOCKETS_BYTES];
};

/* Listen on an address and its port; with version 0 on all addresses of IPv6 and IPv4. False with errno if it cannot. `ended`,
 * or 0, is called for each flow; so is io.refused, which may be set after opening. */
bool wl_iperf_sockets_open(struct wl_iperf_sockets *s, const struct wl_iperf_address *at,
			   void (*ended)(void *context, const struct wl_iperf_result *result), void *context);

void wl_iperf_sockets_close(struct wl_iperf_sockets *s);

/* Whether datagrams may go to a host that requests them; the context is a `struct wl_iperf_sockets`. */
bool wl_iperf_sockets_may_send(void *context, const struct wl_iperf_address *peer);

/* Begin a test as client; see wl_iperf_run. */
bool wl_iperf_sockets_run(struct wl_iperf_sockets *s, const struct wl_iperf_test *test);

/* Serve for at most so many ms, or until something arrives. */
void wl_iperf_sockets_wait(struct wl_iperf_sockets *s, unsigned most_ms);

/* What to poll for: WL_IPERF_SOCKETS entries, those without a socket with fd -1. */
void wl_iperf_sockets_list(const struct wl_iperf_sockets *s, struct pollfd *list);

/* Handle the polled entries and do what is due. Returns after how many ms to call again at the latest, as poll() takes it. */
int wl_iperf_sockets_serve(struct wl_iperf_sockets *s, const struct pollfd *list);

#endif
