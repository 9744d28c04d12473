/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Node control over lwIP: UDP and TCP port 5002. */
#include <string.h>

#include "glue.h"

static struct connection {
	struct tcp_pcb *pcb; /* 0: free */
	struct wl_assembler assembler;
	uint64_t heard;
} connections[WL_LWIP_CONTROL];

static struct wl_app *app;

uint32_t wl_lwip_first_sequence(void)
{
	return app != NULL ? wl_app_random(app) : (uint32_t)WL_CLOCK();
}

static void datagram(void *unused, struct udp_pcb *pcb, struct pbuf *data, const ip_addr_t *from, u16_t port)
{
	char line[WL_LINE_BYTES + 1];
	u16_t count = pbuf_copy_partial(data, line, sizeof line, 0);
	struct wl_peer peer = { .host = wl_lwip_ip(from) };
	const char *reply;
	struct pbuf *out;
	size_t bytes;

	(void)unused;
	pbuf_free(data);
	if (port == 0 || (bytes = wl_app_line(app, line, count, &peer, &reply)) == 0)
		return;
	/* Without memory there is no answer, and the client repeats its request. */
	out = pbuf_alloc(PBUF_TRANSPORT, (u16_t)bytes, PBUF_RAM);
	if (out == NULL)
		return;
	pbuf_take(out, reply, (u16_t)bytes);
	udp_sendto(pcb, out, from, port);
	pbuf_free(out);
}

static void forget(struct connection *c)
{
	tcp_arg(c->pcb, NULL);
	tcp_recv(c->pcb, NULL);
	tcp_err(c->pcb, NULL);
	c->pcb = NULL;
}

static void end(struct connection *c)
{
	struct tcp_pcb *pcb = c->pcb;

	forget(c);
	tcp_close(pcb);
}

/* A client that does not read its answers is disconnected: no answer is buffered. */
static bool answer(struct connection *c, const char *reply, size_t count)
{
	return count == 0 || (tcp_sndbuf(c->pcb) >= count &&
			      tcp_write(c->pcb, reply, (u16_t)count, TCP_WRITE_FLAG_COPY) == ERR_OK);
}

/* Bytes of a connection; false if it has to be closed. */
static bool take(struct connection *c, const char *bytes, size_t count)
{
	struct wl_peer peer = { .stream = true, .host = wl_lwip_ip(&c->pcb->remote_ip) };
	const char *reply;
	size_t line, said;

	for (size_t n = 0; n < count; n++) {
		switch (wl_assemble(&c->assembler, bytes[n], &line)) {
		case WL_LINE_DONE:
			said = wl_app_line(app, c->assembler.bytes, line, &peer, &reply);
			break;
		case WL_LINE_DROPPED:
			said = c->assembler.bytes[0] == '?' ? wl_control_too_long(&app->control, &reply) : 0;
			break;
		default:
			continue;
		}
		if (!answer(c, reply, said))
			return false;
	}
	return true;
}

static void hear(struct connection *c)
{
	struct wl_ip host = wl_lwip_ip(&c->pcb->remote_ip);

	c->heard = WL_CLOCK();
	wl_app_connected(app, &host);
}

static err_t came(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	struct connection *c = argument;
	bool good = true;

	(void)error;
	hear(c);
	if (data == NULL) {
		end(c);
		return ERR_OK;
	}
	tcp_recved(pcb, data->tot_len);
	for (struct pbuf *part = data; part != NULL && good; part = part->next)
		good = take(c, part->payload, part->len);
	pbuf_free(data);
	if (good) {
		tcp_output(pcb);
		return ERR_OK;
	}
	forget(c);
	tcp_abort(pcb);
	return ERR_ABRT;
}

static void broke(void *argument, err_t error)
{
	(void)error;
	((struct connection *)argument)->pcb = NULL;
}

/* A free place, else that of the longest silent client. */
static struct connection *place(void)
{
	struct connection *oldest = connections;

	for (struct connection *c = connections; c < connections + WL_LWIP_CONTROL; c++) {
		if (c->pcb == NULL)
			return c;
		if (c->heard < oldest->heard)
			oldest = c;
	}
	end(oldest);
	return oldest;
}

static err_t connected(void *unused, struct tcp_pcb *pcb, err_t error)
{
	struct connection *c;

	(void)unused;
	if (error != ERR_OK || pcb == NULL)
		return ERR_VAL;
	c = place();
	memset(c, 0, sizeof(*c));
	c->pcb = pcb;
	hear(c);
	tcp_nagle_disable(pcb);
	tcp_arg(pcb, c);
	tcp_recv(pcb, came);
	tcp_err(pcb, broke);
	return ERR_OK;
}

bool wl_lwip_control(struct wl_app *node)
{
	struct udp_pcb *udp = udp_new();
	struct tcp_pcb *tcp = tcp_new(), *listener;

	app = node;
	if (udp == NULL || tcp == NULL || udp_bind(udp, IP4_ADDR_ANY, WL_CONTROL_PORT) != ERR_OK ||
	    tcp_bind(tcp, IP4_ADDR_ANY, WL_CONTROL_PORT) != ERR_OK)
		return false;
	listener = tcp_listen_with_backlog(tcp, WL_LWIP_CONTROL);
	if (listener == NULL)
		return false;
	udp_recv(udp, datagram, NULL);
	tcp_accept(listener, connected);
	return true;
}
