/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the files of the iperf module: the states of a flow, and operations on flows. */
#ifndef WIRELAB_IPERF_FLOW_H
#define WIRELAB_IPERF_FLOW_H

#include "iperf_wire.h"

/* The state of the receiving half. */
enum {
	RX_NONE,
	RX_HEADER /* TCP: until its first bytes arrive */,
	RX_DATA,
	RX_OVER /* UDP: only answers */
};

/* The state of the sending half. */
enum {
	TX_NONE,
	TX_WAIT, /* until it is time to begin */
	TX_CONNECT,
	TX_KNOCK, /* UDP: requests traffic back until some arrives */
	TX_SEND,
	TX_FINAL /* UDP: until the report arrives; TCP: until the other end has read everything */
};

/* Microseconds of so many ticks. */
uint64_t wl_iperf_us(const struct wl_iperf *it, uint64_t ticks);

/* So many ms after a time, and after now. */
uint64_t wl_iperf_later(const struct wl_iperf *it, uint64_t than, uint32_t ms);
uint64_t wl_iperf_in(const struct wl_iperf *it, uint32_t ms);

/* Have wl_iperf_poll do something at `at`. */
void wl_iperf_wake(struct wl_iperf *it, uint64_t at);

static inline bool wl_iperf_same_host(const struct wl_iperf_address *a, const struct wl_iperf_address *b)
{
	return a->host[0] == b->host[0] && a->version == b->version &&
	       (a->version == 4 || (a->zone == b->zone && memcmp(a->host, b->host, 16) == 0));
}

static inline bool wl_iperf_same(const struct wl_iperf_address *a, const struct wl_iperf_address *b)
{
	return a->port == b->port && wl_iperf_same_host(a, b);
}

/* A place for a flow with a peer, otherwise all zero: a free one, or that of an ended UDP flow or of one with a single
 * datagram, so that forged senders replace no test. 0: none. */
struct wl_iperf_flow *wl_iperf_place(struct wl_iperf *it, const struct wl_iperf_address *peer);

/* Free a flow's place. */
void wl_iperf_release(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Report the result of one half. */
void wl_iperf_tell(struct wl_iperf *it, const struct wl_iperf_flow *flow, bool sent, bool complete);

/* End and report one half; the flow ends with the other half. */
void wl_iperf_over(struct wl_iperf *it, struct wl_iperf_flow *flow, bool sent, bool complete);

/* A flow receives from now on. */
void wl_iperf_receive(struct wl_iperf *it, struct wl_iperf_flow *flow, uint8_t how_far);

/* Take a datagram of a flow. Returns whether it was a final one. */
bool wl_iperf_take(const struct wl_iperf *it, struct wl_iperf_flow *flow, const uint8_t *bytes, size_t count);

/* Begin to send as flow->ask requests. */
void wl_iperf_begin(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Send as flow->ask requests, to its port; the flow receives no more. */
void wl_iperf_back(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Whether the peer of a flow has proven its address. */
bool wl_iperf_proven(const struct wl_iperf *it, const struct wl_iperf_flow *flow);

/* Limit a peer's request; false if it gets nothing. */
bool wl_iperf_limit(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Do what is due in the sending half. */
void wl_iperf_step(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* The other end does not accept the connection: retry a little later, or give up. */
void wl_iperf_unreached(struct wl_iperf *it, struct wl_iperf_flow *flow);

#endif
