/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trials over lwIP: one UDP port, or one listener with its connections, or frames of EtherType 0x88B5. */
#include "glue.h"

#include <string.h>

#include "lwip/etharp.h"
#include "lwip/prot/ethernet.h"
#include "netif/ethernet.h"
/* Drivers without hooks have no capture points to switch. */
#ifdef BOARD_HOOKS_HEADER
#include "probes.h"
#endif

/* The node that gets the frames unknown to lwIP; there is only one. */
static struct wl_flows *unknown;

static void datagram(void *context, struct udp_pcb *pcb, struct pbuf *data, const ip_addr_t *from, u16_t port)
{
	static uint8_t whole[WL_APP_BYTES + 1];
	struct wl_flows *flows = context;
	struct wl_ip ip = wl_lwip_ip(from);

	(void)pcb;
	if (data->len == data->tot_len)
		wl_app_udp(flows->app, &ip, port, data->payload, data->len);
	else
		wl_app_udp(flows->app, &ip, port, whole, pbuf_copy_partial(data, whole, sizeof whole, 0));
	pbuf_free(data);
}

static bool udp_open(void *context, uint16_t *port)
{
	struct wl_flows *flows = context;

	flows->udp = udp_new();
	if (flows->udp == NULL)
		return false;
	if (udp_bind(flows->udp, IP4_ADDR_ANY, *port) != ERR_OK &&
	    udp_bind(flows->udp, IP4_ADDR_ANY, 0) != ERR_OK) {
		udp_remove(flows->udp);
		flows->udp = NULL;
		return false;
	}
	*port = flows->udp->local_port;
	udp_recv(flows->udp, datagram, flows);
	return true;
}

static void udp_close(void *context)
{
	struct wl_flows *flows = context;

	if (flows->udp != NULL)
		udp_remove(flows->udp);
	flows->udp = NULL;
}

static enum wl_sent sent_or_why(const struct wl_flows *flows, err_t error)
{
	if (error == ERR_OK)
		return WL_SENT;
	/* A link that is down may come up again. */
	if (error == ERR_MEM || error == ERR_BUF || !netif_is_link_up(flows->netif))
		return WL_NO_ROOM;
	return WL_NO_WAY;
}

/* The bytes are not copied here: the driver copies them, and lwIP if a frame has to wait for an address. */
static enum wl_sent send_datagram(void *context, const struct wl_ip *to, uint16_t port, const uint8_t *bytes,
				  size_t count)
{
	struct wl_flows *flows = context;
	struct pbuf *data = pbuf_alloc(PBUF_RAW, (u16_t)count, PBUF_REF);
	ip_addr_t address = wl_lwip_address(to);
	err_t error;

	if (data == NULL)
		return WL_NO_ROOM;
	/* lwIP's type lacks const, but lwIP does not write. */
	data->payload = (void *)(uintptr_t)bytes;
	error = udp_sendto(flows->udp, data, &address, port);
	pbuf_free(data);
	return sent_or_why(flows, error);
}

static void forget(struct wl_flow_connection *c)
{
	tcp_arg(c->pcb, NULL);
	tcp_recv(c->pcb, NULL);
	tcp_err(c->pcb, NULL);
	c->pcb = NULL;
}

static err_t piece(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	struct wl_flow_connection *c = argument;

	(void)error;
	if (data == NULL) {
		wl_app_tcp_ended(c->flows->app, c->number);
		return ERR_OK;
	}
	tcp_recved(pcb, data->tot_len);
	/* The trial may end meanwhile, and the connection with it. */
	for (struct pbuf *part = data; part != NULL; part = part->next)
		wl_app_tcp_data(c->flows->app, c->number, part->payload, part->len);
	pbuf_free(data);
	return ERR_OK;
}

static void broke(void *argument, err_t error)
{
	struct wl_flow_connection *c = argument;

	(void)error;
	c->pcb = NULL;
	wl_app_tcp_broken(c->flows->app, c->number);
}

static void end_listener(struct wl_flows *flows)
{
	if (flows->listener != NULL)
		tcp_close(flows->listener);
	flows->listener = NULL;
}

static err_t connected(void *context, struct tcp_pcb *pcb, err_t error)
{
	struct wl_flows *flows = context;
	struct wl_flow_connection *c;
	struct wl_ip from;

	if (error != ERR_OK || pcb == NULL)
		return ERR_VAL;
	from = wl_lwip_ip(&pcb->remote_ip);
	if (flows->taken == flows->wanted ||
	    (flows->peer.version != 0 && memcmp(from.bytes, flows->peer.bytes, 4) != 0)) {
		tcp_abort(pcb);
		return ERR_ABRT;
	}
	c = &flows->connections[flows->taken];
	*c = (struct wl_flow_connection){ .flows = flows, .pcb = pcb, .number = flows->taken };
	tcp_nagle_disable(pcb);
	tcp_arg(pcb, c);
	tcp_recv(pcb, piece);
	tcp_err(pcb, broke);
	wl_app_tcp_open(flows->app, flows->taken++);
	return ERR_OK;
}

static bool tcp_open(void *context, uint16_t *port, const struct wl_ip *peer, unsigned wanted)
{
	struct wl_flows *flows = context;
	struct tcp_pcb *pcb = tcp_new();

	if (pcb == NULL)
		return false;
	ip_set_option(pcb, SOF_REUSEADDR);
	if (tcp_bind(pcb, IP4_ADDR_ANY, *port) != ERR_OK && tcp_bind(pcb, IP4_ADDR_ANY, 0) != ERR_OK) {
		tcp_close(pcb);
		return false;
	}
	*port = pcb->local_port;
	flows->listener = tcp_listen_with_backlog(pcb, WL_NET_CONNECTIONS);
	if (flows->listener == NULL) {
		tcp_close(pcb);
		return false;
	}
	flows->taken = 0;
	flows->wanted = wanted;
	flows->peer = *peer;
	tcp_arg(flows->listener, flows);
	tcp_accept(flows->listener, connected);
	return true;
}

static void tcp_end_all(void *context)
{
	struct wl_flows *flows = context;

	end_listener(flows);
	for (unsigned n = 0; n < WL_NET_CONNECTIONS; n++) {
		struct tcp_pcb *pcb = flows->connections[n].pcb;

		if (pcb == NULL)
			continue;
		forget(&flows->connections[n]);
		/* The written bytes are still sent. Without memory for the end lwIP itself tries again. */
		tcp_close(pcb);
	}
}

static size_t write_stream(void *context, unsigned connection, const uint8_t *bytes, size_t count)
{
	struct wl_flows *flows = context;
	struct tcp_pcb *pcb = flows->connections[connection].pcb;
	size_t room;

	if (pcb == NULL)
		return 0;
	room = tcp_sndbuf(pcb);
	count = count < room ? count : room;
	if (count == 0 || tcp_sndqueuelen(pcb) + 2u > TCP_SND_QUEUELEN ||
	    tcp_write(pcb, bytes, (u16_t)count, TCP_WRITE_FLAG_COPY) != ERR_OK)
		count = 0;
	tcp_output(pcb);
	return count;
}

static void end_of_data(void *context, unsigned connection)
{
	struct wl_flows *flows = context;

	if (flows->connections[connection].pcb != NULL)
		tcp_shutdown(flows->connections[connection].pcb, 0, 1);
}

signed char wl_lwip_unknown_protocol(struct pbuf *frame, const struct netif *netif)
{
	const struct eth_hdr *header = frame->payload;

	if (unknown == NULL || !unknown->frames || netif != unknown->netif ||
	    header->type != PP_HTONS(WL_ETHERTYPE) || frame->len != frame->tot_len)
		return ERR_VAL;
	wl_app_frame(unknown->app, (uint8_t *)frame->payload + ETH_PAD_SIZE,
		     frame->len - (size_t)ETH_PAD_SIZE);
	pbuf_free(frame);
	return ERR_OK;
}

static bool frames(void *context, bool wanted)
{
	struct wl_flows *flows = context;

	flows->frames = wanted;
	return true;
}

static enum wl_sent frame_send(void *context, const uint8_t *frame, size_t length)
{
	struct wl_flows *flows = context;
	/* lwIP's frames begin with a pad. */
	struct pbuf *copy = pbuf_alloc(PBUF_RAW, (u16_t)(length + ETH_PAD_SIZE), PBUF_RAM);
	err_t error;

	if (copy == NULL)
		return WL_NO_ROOM;
	memcpy((uint8_t *)copy->payload + ETH_PAD_SIZE, frame, length);
	error = flows->netif->linkoutput(flows->netif, copy);
	pbuf_free(copy);
	return sent_or_why(flows, error);
}

static bool neighbour(void *context, const struct wl_ip *ip, uint8_t mac[6])
{
	struct wl_flows *flows = context;
	ip_addr_t address = wl_lwip_address(ip);
	const ip4_addr_t *found;
	struct eth_addr *at;

	if (etharp_find_addr(flows->netif, ip_2_ip4(&address), &at, &found) < 0) {
		etharp_request(flows->netif, ip_2_ip4(&address));
		return false;
	}
	memcpy(mac, at->addr, 6);
	return true;
}

static bool loopback(void *context, bool on)
{
	struct wl_flows *flows = context;
	const ip4_addr_t *own = netif_ip4_addr(flows->netif);
	struct eth_addr at;

	memcpy(at.addr, flows->netif->hwaddr, 6);
	if (on && etharp_add_static_entry(own, &at) != ERR_OK)
		return false;
	if (!on)
		etharp_remove_static_entry(own);
	flows->mac_loopback(on);
	return true;
}

static void points(void *context, bool on)
{
	(void)context;
#ifdef BOARD_HOOKS_HEADER
	wl_probes_on = on;
#else
	(void)on;
#endif
}

void wl_flows_init(struct wl_flows *flows, struct wl_app *app, struct netif *netif,
		   void (*mac_loopback)(bool on))
{
	*flows = (struct wl_flows){ .app = app, .netif = netif, .mac_loopback = mac_loopback };
	unknown = flows;
}

void wl_flows_net(struct wl_flows *flows, struct wl_net *net)
{
	*net = (struct wl_net){
		.context = flows,
		.udp_open = udp_open,
		.udp_close = udp_close,
		.udp_send = send_datagram,
		.tcp_listen = tcp_open,
		.tcp_close = tcp_end_all,
		.tcp_write = write_stream,
		.tcp_end = end_of_data,
		.frames = frames,
		.frame_send = frame_send,
		.neighbour = neighbour,
		.loopback = flows->mac_loopback != NULL ? loopback : NULL,
		.points = points,
		.fast_track = flows->driver_send != NULL ? wl_flows_fast_track : NULL,
		.driver_send = flows->driver_send != NULL ? wl_flows_driver_send : NULL,
	};
}
