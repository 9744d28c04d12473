/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf 2 on lwIP's raw API: the core's functions, and lwIP's callbacks. */
#include "iperf.h"

#include <string.h>

/* Pieces of a stream handed over at once: more than a send buffer holds. */
#define MOST_PIECES 64
/* The filling is limited; with large frames a segment may be longer. */
#define MOST_FILLING (TCP_MSS < WL_IPERF_LWIP_FILLING ? TCP_MSS : WL_IPERF_LWIP_FILLING)

static ip_addr_t address_of(const struct wl_iperf_address *from)
{
	ip_addr_t to;

	memset(&to, 0, sizeof to);
#if LWIP_IPV6
	if (from->version == 6) {
		IP_SET_TYPE_VAL(to, IPADDR_TYPE_V6);
		for (unsigned n = 0; n < 4; n++)
			ip_2_ip6(&to)->addr[n] = from->host[n];
		ip6_addr_set_zone(ip_2_ip6(&to), (u8_t)from->zone);
		return to;
	}
#endif
#if LWIP_IPV4
	IP_SET_TYPE_VAL(to, IPADDR_TYPE_V4);
	ip4_addr_set_u32(ip_2_ip4(&to), from->host[0]);
#endif
	return to;
}

static struct wl_iperf_lwip_flow *slot_of(struct wl_iperf_lwip *s, struct wl_iperf_flow *flow)
{
	struct wl_iperf_lwip_flow *slot = &s->flows[flow - s->iperf.flows];

	slot->glue = s;
	slot->flow = flow;
	return slot;
}

/* --- UDP ---------------------------------------------------------------------------------------------------------- */

static void hand_over(struct wl_iperf_lwip *s, struct wl_iperf_flow *flow, struct pbuf *p,
		      const ip_addr_t *from, u16_t port)
{
	struct wl_iperf_address peer = wl_iperf_lwip_address(from, port);
	uint8_t head[WL_IPERF_HEAD_BYTES];
	const uint8_t *bytes = p->payload;
	size_t have = p->len;

	/* A chain with a short first part, as fragments and some drivers make it. */
	if (have < sizeof head && have < p->tot_len) {
		have = pbuf_copy_partial(p, head, sizeof head, 0);
		bytes = head;
	}
	wl_iperf_datagram(&s->iperf, flow, &peer, bytes, have, p->tot_len, WL_CLOCK());
	pbuf_free(p);
}

static void server_came(void *argument, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from,
			u16_t port)
{
	(void)pcb;
	hand_over(argument, 0, p, from, port);
}

static void flow_came(void *argument, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
	const struct wl_iperf_lwip_flow *slot = argument;

	(void)pcb;
	hand_over(slot->glue, slot->flow, p, from, port);
}

static bool udp_open(void *context, struct wl_iperf_flow *flow)
{
	ip_addr_t to = address_of(&flow->peer);
	struct udp_pcb *pcb = udp_new_ip_type(IP_GET_TYPE(&to));

	if (pcb == NULL)
		return false;
	if (udp_connect(pcb, &to, flow->peer.port) != ERR_OK) {
		udp_remove(pcb);
		return false;
	}
	udp_recv(pcb, flow_came, slot_of(context, flow));
	flow->handle.pointer = pcb;
	return true;
}

static bool udp_send_datagram(void *context, struct wl_iperf_flow *flow, const uint8_t *head,
			      size_t head_count, size_t count)
{
	struct wl_iperf_lwip *s = context;
	struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)head_count, PBUF_RAM), *rest;
	err_t error;

	if (p == NULL)
		return false;
	memcpy(p->payload, head, head_count);
	if (count > head_count) {
		rest = pbuf_alloc(PBUF_RAW, (u16_t)(count - head_count), PBUF_ROM);
		if (rest == NULL) {
			pbuf_free(p);
			return false;
		}
		rest->payload = s->filling + head_count;
		pbuf_cat(p, rest);
	}
	if (flow->handle.pointer != NULL) {
		error = udp_send(flow->handle.pointer, p);
	} else {
		ip_addr_t to = address_of(&flow->peer);

		error = udp_sendto(s->udp, p, &to, flow->peer.port);
	}
	pbuf_free(p);
	/* Without a route the datagram is lost, as anywhere else on its path. */
	return error != ERR_MEM && error != ERR_BUF;
}

/* --- TCP ---------------------------------------------------------------------------------------------------------- */

/* The result for lwIP of a call that may have aborted its connection. */
static err_t result(struct wl_iperf_lwip *s, const struct tcp_pcb *pcb)
{
	return s->aborted == pcb ? ERR_ABRT : ERR_OK;
}

static err_t stream_came(void *argument, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
	const struct wl_iperf_lwip_flow *slot = argument;
	struct wl_iperf_lwip *s = slot->glue;
	uint64_t now = WL_CLOCK();

	(void)error;
	s->aborted = NULL;
	if (p == NULL) {
		wl_iperf_closed(&s->iperf, slot->flow, false, now);
		return result(s, pcb);
	}
	tcp_recved(pcb, p->tot_len);
	for (const struct pbuf *part = p; part != NULL; part = part->next)
		wl_iperf_bytes(&s->iperf, slot->flow, part->payload, part->len, part->len, now);
	pbuf_free(p);
	return result(s, pcb);
}

static err_t stream_went(void *argument, struct tcp_pcb *pcb, u16_t count)
{
	const struct wl_iperf_lwip_flow *slot = argument;

	(void)count;
	slot->glue->aborted = NULL;
	wl_iperf_room(&slot->glue->iperf, slot->flow, WL_CLOCK());
	return result(slot->glue, pcb);
}

static void stream_gone(void *argument, err_t error)
{
	const struct wl_iperf_lwip_flow *slot = argument;

	(void)error;
	/* lwIP has freed the connection. */
	slot->flow->handle.pointer = NULL;
	wl_iperf_closed(&slot->glue->iperf, slot->flow, true, WL_CLOCK());
}

static err_t stream_there(void *argument, struct tcp_pcb *pcb, err_t error)
{
	const struct wl_iperf_lwip_flow *slot = argument;

	(void)error;
	slot->glue->aborted = NULL;
	wl_iperf_connected(&slot->glue->iperf, slot->flow, WL_CLOCK());
	return result(slot->glue, pcb);
}

static void attach(struct wl_iperf_lwip *s, struct wl_iperf_flow *flow, struct tcp_pcb *pcb)
{
	flow->handle.pointer = pcb;
	tcp_arg(pcb, slot_of(s, flow));
	tcp_recv(pcb, stream_came);
	tcp_sent(pcb, stream_went);
	tcp_err(pcb, stream_gone);
}

static void detach(struct tcp_pcb *pcb)
{
	tcp_arg(pcb, NULL);
	tcp_recv(pcb, NULL);
	tcp_sent(pcb, NULL);
	tcp_err(pcb, NULL);
}

static err_t accepted(void *argument, struct tcp_pcb *pcb, err_t error)
{
	struct wl_iperf_lwip *s = argument;
	struct wl_iperf_address peer;
	struct wl_iperf_flow *flow;

	if (error != ERR_OK || pcb == NULL)
		return ERR_VAL;
	peer = wl_iperf_lwip_address(&pcb->remote_ip, pcb->remote_port);
	flow = wl_iperf_accept(&s->iperf, &peer, WL_CLOCK());
	if (flow == 0) {
		tcp_abort(pcb);
		return ERR_ABRT;
	}
	attach(s, flow, pcb);
	return ERR_OK;
}

static bool connect_stream(void *context, struct wl_iperf_flow *flow)
{
	ip_addr_t to = address_of(&flow->peer);
	struct tcp_pcb *pcb = tcp_new_ip_type(IP_GET_TYPE(&to));

	if (pcb == NULL)
		return false;
	attach(context, flow, pcb);
	if (tcp_connect(pcb, &to, flow->peer.port, stream_there) == ERR_OK)
		return true;
	detach(pcb);
	tcp_abort(pcb);
	flow->handle.pointer = NULL;
	return false;
}

static size_t send_stream(void *context, struct wl_iperf_flow *flow, const uint8_t *bytes, size_t count)
{
	struct wl_iperf_lwip *s = context;
	struct tcp_pcb *pcb = flow->handle.pointer;
	size_t taken = 0;

	for (int n = 0; n < MOST_PIECES && taken < count; n++) {
		size_t piece = count - taken;

		if (bytes == NULL && piece > MOST_FILLING)
			piece = MOST_FILLING;
		if (piece > tcp_sndbuf(pcb))
			piece = tcp_sndbuf(pcb);
		/* The filling stays valid, so it is not copied. */
		if (piece == 0 || tcp_write(pcb, bytes ? bytes + taken : s->filling, (u16_t)piece,
					    bytes ? TCP_WRITE_FLAG_COPY : 0) != ERR_OK)
			break;
		taken += piece;
	}
	if (taken > 0)
		tcp_output(pcb);
	return taken;
}

static void end_stream(void *context, struct wl_iperf_flow *flow)
{
	(void)context;
	/* Without memory now, lwIP itself tries again. */
	tcp_shutdown(flow->handle.pointer, 0, 1);
}

static void close_flow(void *context, struct wl_iperf_flow *flow)
{
	struct wl_iperf_lwip *s = context;

	if (flow->handle.pointer == NULL)
		return;
	if (flow->udp) {
		udp_remove(flow->handle.pointer);
	} else {
		detach(flow->handle.pointer);
		if (tcp_close(flow->handle.pointer) != ERR_OK) {
			tcp_abort(flow->handle.pointer);
			s->aborted = flow->handle.pointer;
		}
	}
	flow->handle.pointer = NULL;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static bool listen_on(struct wl_iperf_lwip *s, uint16_t port)
{
	struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY), *listener = NULL;

	s->udp = udp_new_ip_type(IPADDR_TYPE_ANY);
	if (pcb != NULL && tcp_bind(pcb, IP_ANY_TYPE, port) == ERR_OK)
		listener = tcp_listen(pcb);
	if (listener == NULL && pcb != NULL)
		tcp_close(pcb);
	s->tcp = listener;
	if (s->udp == NULL || listener == NULL || udp_bind(s->udp, IP_ANY_TYPE, port) != ERR_OK) {
		if (s->udp != NULL)
			udp_remove(s->udp);
		if (listener != NULL)
			tcp_close(listener);
		return false;
	}
	udp_recv(s->udp, server_came, s);
	tcp_arg(listener, s);
	tcp_accept(listener, accepted);
	return true;
}

bool wl_iperf_lwip_open(struct wl_iperf_lwip *s, uint16_t port, uint32_t tick_ps,
			void (*ended)(void *context, const struct wl_iperf_result *result), void *context)
{
	memset(s, 0, sizeof *s);
	s->io = (struct wl_iperf_io){ .context = s,
				      .udp_open = udp_open,
				      .udp_send = udp_send_datagram,
				      .tcp_connect = connect_stream,
				      .tcp_send = send_stream,
				      .tcp_end = end_stream,
				      .close = close_flow,
				      .may_send = wl_iperf_lwip_may_send,
				      .ended = ended,
				      .ended_context = context };
	wl_iperf_init(&s->iperf, &s->io, tick_ps);
	wl_iperf_fill(s->filling, sizeof s->filling, 0);
	return listen_on(s, port);
}

bool wl_iperf_lwip_run(struct wl_iperf_lwip *s, const struct wl_iperf_test *test)
{
	return wl_iperf_run(&s->iperf, test, WL_CLOCK());
}

uint64_t wl_iperf_lwip_poll(struct wl_iperf_lwip *s)
{
	return wl_iperf_poll(&s->iperf, WL_CLOCK());
}
