/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf 2 on lwIP's raw API, NO_SYS or within the core lock; IPv4, IPv6 or both, as lwIP is set up. lwIP is not patched.
 *
 *     static struct wl_iperf_lwip it;
 *     wl_iperf_lwip_open(&it, WL_IPERF_PORT, tick_ps, 0, 0);      once, when the interface is up
 *     due = wl_iperf_lwip_poll(&it);                              in the main loop; sleep no longer than until `due`
 *
 * The clock is WL_CLOCK() (wirelab/options.h), with a tick of tick_ps.
 */
#ifndef WIRELAB_LWIP_IPERF_H
#define WIRELAB_LWIP_IPERF_H

#include "wirelab/iperf.h"

#include "lwip/tcp.h"
#include "lwip/udp.h"

/* The longest datagram sent, and the longest piece of a stream; it takes RAM once. */
#define WL_IPERF_LWIP_FILLING 1472

struct wl_iperf_lwip;

struct wl_iperf_lwip_flow {
	struct wl_iperf_lwip *glue;
	struct wl_iperf_flow *flow;
};

struct wl_iperf_lwip {
	struct wl_iperf iperf;
	struct wl_iperf_io io;
	struct udp_pcb *udp; /* the server's */
	struct tcp_pcb *tcp;
	/* Whether a host has proven its address, for datagrams that it requests. 0: hosts on a link of this node need no proof.
	 * May be set after opening. */
	bool (*proven)(void *context, const struct wl_iperf_address *peer);
	void *proven_context;
	const void *aborted; /* the connection aborted within lwIP's call for it */
	struct wl_iperf_lwip_flow flows[WL_IPERF_FLOWS];
	uint8_t filling[WL_IPERF_LWIP_FILLING];
};

/* Serve on a port, UDP and TCP. `ended`, or 0, is called for each flow with `context`; so is io.refused, which may be set after
 * opening. False if lwIP has no space or the port is taken. */
bool wl_iperf_lwip_open(struct wl_iperf_lwip *s, uint16_t port, uint32_t tick_ps,
			void (*ended)(void *context, const struct wl_iperf_result *result), void *context);

/* Begin a test as client; see wl_iperf_run. */
bool wl_iperf_lwip_run(struct wl_iperf_lwip *s, const struct wl_iperf_test *test);

/* Whether datagrams may go to a host that requests them; the context is a `struct wl_iperf_lwip`. */
bool wl_iperf_lwip_may_send(void *context, const struct wl_iperf_address *peer);

/* Let time pass; see wl_iperf_poll. */
uint64_t wl_iperf_lwip_poll(struct wl_iperf_lwip *s);

/* Convert an address of lwIP to the library's. */
static inline struct wl_iperf_address wl_iperf_lwip_address(const ip_addr_t *from, uint16_t port)
{
	struct wl_iperf_address to = { .port = port, .version = 4 };

#if LWIP_IPV6
	if (IP_IS_V6(from)) {
		to.version = 6;
		for (unsigned n = 0; n < 4; n++)
			to.host[n] = ip_2_ip6(from)->addr[n];
		to.zone = ip6_addr_zone(ip_2_ip6(from));
		return to;
	}
#endif
#if LWIP_IPV4
	to.host[0] = ip4_addr_get_u32(ip_2_ip4(from));
#endif
	return to;
}

#endif
