/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A host for the tests of iperf: its I/O only notes the requests. A tick is a microsecond. */
#ifndef WIRELAB_IPERF_HOST_H
#define WIRELAB_IPERF_HOST_H

#include <stdlib.h>
#include <string.h>

#include "wirelab/iperf.h"

#define HOST_MS 1000u

/* The last request, and how many there were. */
struct host {
	struct wl_iperf it;
	uint64_t now;
	unsigned opened, connected, ended, closed, told, refusals;
	enum wl_iperf_why why; /* of the last refusal */
	unsigned datagrams, most; /* datagrams sent, and how many more fit */
	uint64_t datagram_bytes;
	uint64_t room, sent; /* bytes of streams */
	struct wl_iperf_flow *flow; /* of the last call */
	struct wl_iperf_address to;
	uint8_t head[WL_IPERF_HEAD_BYTES], first[WL_IPERF_HEAD_BYTES];
	size_t head_count, count, first_count;
	bool refuses;
	bool unproven; /* any host may be forged */
	struct wl_iperf_result result, results[8];
};

static struct host host;

static bool host_udp_open(void *context, struct wl_iperf_flow *flow)
{
	struct host *h = context;

	h->flow = flow;
	h->opened += !h->refuses;
	flow->handle.number = 1;
	return !h->refuses;
}

static bool host_udp_send(void *context, struct wl_iperf_flow *flow, const uint8_t *head, size_t head_count,
			  size_t count)
{
	struct host *h = context;

	if (head_count > count || head_count > sizeof h->head || count > 65535)
		abort();
	if (h->datagrams >= h->most)
		return false;
	h->flow = flow;
	h->to = flow->peer;
	memcpy(h->head, head, head_count);
	h->head_count = head_count;
	h->count = count;
	h->datagrams++;
	h->datagram_bytes += count;
	return true;
}

static bool host_tcp_connect(void *context, struct wl_iperf_flow *flow)
{
	struct host *h = context;

	h->flow = flow;
	h->to = flow->peer;
	h->connected += !h->refuses;
	flow->handle.number = 1;
	return !h->refuses;
}

static size_t host_tcp_send(void *context, struct wl_iperf_flow *flow, const uint8_t *bytes, size_t count)
{
	struct host *h = context;
	size_t taken = count < h->room ? count : (size_t)h->room;

	h->flow = flow;
	h->room -= taken;
	h->sent += taken;
	if (bytes != 0 && h->first_count + taken <= sizeof h->first) {
		memcpy(h->first + h->first_count, bytes, taken);
		h->first_count += taken;
	}
	return taken;
}

static void host_tcp_end(void *context, struct wl_iperf_flow *flow)
{
	(void)flow;
	((struct host *)context)->ended++;
}

static void host_close(void *context, struct wl_iperf_flow *flow)
{
	flow->handle.number = 0;
	((struct host *)context)->closed++;
}

static bool host_may_send(void *context, const struct wl_iperf_address *peer)
{
	(void)peer;
	return !((struct host *)context)->unproven;
}

static void host_refused(void *context, const struct wl_iperf_address *peer, enum wl_iperf_why why)
{
	struct host *h = context;

	(void)peer;
	h->refusals++;
	h->why = why;
}

static void host_told(void *context, const struct wl_iperf_result *result)
{
	struct host *h = context;

	h->result = h->results[h->told % 8] = *result;
	h->told++;
}

static inline void host_begin(void)
{
	static const struct wl_iperf_io io = { .context = &host,
					       .udp_open = host_udp_open,
					       .udp_send = host_udp_send,
					       .tcp_connect = host_tcp_connect,
					       .tcp_send = host_tcp_send,
					       .tcp_end = host_tcp_end,
					       .close = host_close,
					       .may_send = host_may_send,
					       .refused = host_refused,
					       .ended = host_told,
					       .ended_context = &host };

	memset(&host, 0, sizeof host);
	host.most = UINT32_MAX;
	host.now = 5000000;
	wl_iperf_init(&host.it, &io, 1000000);
}

/* Let time pass, as a main loop that sleeps as long as possible. */
static inline void host_pass(uint64_t ticks)
{
	uint64_t end = host.now + ticks, due;

	while ((due = wl_iperf_poll(&host.it, host.now)) < end) {
		if (due > host.now)
			host.now = due;
		else
			host.now += host.datagrams >= host.most ? 100 : 1;
		if (host.now > end)
			break;
	}
	host.now = end;
}

static struct wl_iperf_address host_peer(uint8_t last, uint16_t port)
{
	return (struct wl_iperf_address){ .host = { 0x0A370000u + last }, .port = port, .version = 4 };
}

#endif
