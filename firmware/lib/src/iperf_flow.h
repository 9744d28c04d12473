/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the files of the iperf module share: how far a flow is, and what is done with flows. */
#ifndef WIRELAB_IPERF_FLOW_H
#define WIRELAB_IPERF_FLOW_H

#include "iperf_wire.h"

/* How far the receiving half is. */
enum {
	RX_NONE,
	RX_HEADER /* TCP: until its first bytes are there */,
	RX_DATA,
	RX_OVER /* UDP: only answers */
};

/* How far the sending half is. */
enum {
	TX_NONE,
	TX_WAIT, /* until it is time to begin */
	TX_CONNECT,
	TX_KNOCK, /* UDP: asks for the traffic back until some comes */
	TX_SEND,
	TX_FINAL /* UDP: until the report comes; TCP: until the other end has read everything */
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

/* A place for a flow with a peer, all zero but for that: a free one, or that of a UDP flow that is over, or of one
 * that never got beyond a datagram, so that forged senders push no test out. 0 where there is none. */
struct wl_iperf_flow *wl_iperf_place(struct wl_iperf *it, const struct wl_iperf_address *peer);

/* Give a flow's place back. */
void wl_iperf_release(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Report the result of one half. */
void wl_iperf_tell(struct wl_iperf *it, const struct wl_iperf_flow *flow, bool sent, bool complete);

/* One half is over and is reported; with the other half the flow is over. */
void wl_iperf_over(struct wl_iperf *it, struct wl_iperf_flow *flow, bool sent, bool complete);

/* A flow receives from now on. */
void wl_iperf_receive(struct wl_iperf *it, struct wl_iperf_flow *flow, uint8_t how_far);

/* Take a datagram of a flow; whether it was a final one. */
bool wl_iperf_take(const struct wl_iperf *it, struct wl_iperf_flow *flow, const uint8_t *bytes, size_t count);

/* Begin to send what flow->ask says. */
void wl_iperf_begin(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Send what flow->ask says, to the port it names; the flow receives no more. */
void wl_iperf_back(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Whether the peer of a flow is known to receive what is sent to its address. */
bool wl_iperf_proven(const struct wl_iperf *it, const struct wl_iperf_flow *flow);

/* Keep what a peer asks for within the limits; false where it gets nothing. */
bool wl_iperf_limit(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* Do what is due in the sending half. */
void wl_iperf_step(struct wl_iperf *it, struct wl_iperf_flow *flow);

/* The other end does not take the connection: try again a little later, or give up. */
void wl_iperf_unreached(struct wl_iperf *it, struct wl_iperf_flow *flow);

#endif
