/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trials over FreeRTOS+TCP: one UDP port, or one listener with its connections. */
#include "node.h"

#include <string.h>

#include "FreeRTOS_ARP.h"

#define MOST_AT_ONCE 16

static uint32_t address_of(const struct wl_ip *ip)
{
	return FreeRTOS_inet_addr_quick(ip->bytes[0], ip->bytes[1], ip->bytes[2], ip->bytes[3]);
}

static bool udp_open(void *context, uint16_t *port)
{
	struct wl_ftcp_node *node = context;

	node->udp = wl_ftcp_bound(FREERTOS_SOCK_DGRAM, FREERTOS_IPPROTO_UDP, port, true);
	return node->udp != NULL;
}

static void udp_close(void *context)
{
	struct wl_ftcp_node *node = context;

	if (node->udp != NULL)
		FreeRTOS_closesocket(node->udp);
	node->udp = NULL;
}

static enum wl_sent udp_send(void *context, const struct wl_ip *to, uint16_t port, const uint8_t *bytes,
			     size_t count)
{
	struct wl_ftcp_node *node = context;
	struct freertos_sockaddr at = { .sin_family = FREERTOS_AF_INET, .sin_port = FreeRTOS_htons(port) };

	at.sin_address.ulIP_IPv4 = address_of(to);
	/* 0: no buffer is free, or the datagram is longer than a buffer. */
	if (FreeRTOS_sendto(node->udp, bytes, count, 0, &at, sizeof at) > 0)
		return WL_SENT;
	return count > ipconfigNETWORK_MTU - 28 ? WL_NO_WAY : WL_NO_ROOM;
}

static bool tcp_listen(void *context, uint16_t *port, const struct wl_ip *peer, unsigned connections)
{
	struct wl_ftcp_node *node = context;

	node->listener = wl_ftcp_bound(FREERTOS_SOCK_STREAM, FREERTOS_IPPROTO_TCP, port, true);
	if (node->listener == NULL)
		return false;
	if (FreeRTOS_listen(node->listener, WL_NET_CONNECTIONS) != 0) {
		FreeRTOS_closesocket(node->listener);
		node->listener = NULL;
		return false;
	}
	node->taken = 0;
	node->wanted = connections;
	node->peer = *peer;
	return true;
}

static void tcp_close(void *context)
{
	struct wl_ftcp_node *node = context;

	if (node->listener != NULL)
		FreeRTOS_closesocket(node->listener);
	node->listener = NULL;
	for (unsigned n = 0; n < WL_NET_CONNECTIONS; n++) {
		if (node->connections[n] != NULL)
			wl_ftcp_linger(node, node->connections[n]);
		node->connections[n] = NULL;
	}
}

static size_t tcp_write(void *context, unsigned connection, const uint8_t *bytes, size_t count)
{
	struct wl_ftcp_node *node = context;
	BaseType_t taken = 0;

	if (node->connections[connection] != NULL)
		taken = FreeRTOS_send(node->connections[connection], bytes, count, FREERTOS_MSG_DONTWAIT);
	return taken > 0 ? (size_t)taken : 0;
}

static void tcp_end(void *context, unsigned connection)
{
	struct wl_ftcp_node *node = context;

	if (node->connections[connection] != NULL)
		FreeRTOS_shutdown(node->connections[connection], FREERTOS_SHUT_RDWR);
}

static bool frames(void *context, bool wanted)
{
	(void)context;
	return !wanted;
}

static enum wl_sent frame_send(void *context, const uint8_t *frame, size_t length)
{
	(void)context;
	(void)frame;
	(void)length;
	return WL_NO_WAY;
}

static bool neighbour(void *context, const struct wl_ip *ip, uint8_t mac[6])
{
	uint32_t address = address_of(ip);
	MACAddress_t found;
	NetworkEndPoint_t *by = NULL;

	(void)context;
	if (eARPGetCacheEntry(&address, &found, &by) != eResolutionCacheHit) {
		FreeRTOS_OutputARPRequest(address);
		return false;
	}
	memcpy(mac, found.ucBytes, 6);
	return true;
}

void wl_ftcp_flows_net(struct wl_ftcp_node *node)
{
	node->net = (struct wl_net){
		.context = node,
		.udp_open = udp_open,
		.udp_close = udp_close,
		.udp_send = udp_send,
		.tcp_listen = tcp_listen,
		.tcp_close = tcp_close,
		.tcp_write = tcp_write,
		.tcp_end = tcp_end,
		.frames = frames,
		.frame_send = frame_send,
		.neighbour = neighbour,
		.points = wl_ftcp_points,
	};
}

static bool datagrams(struct wl_ftcp_node *node)
{
	static uint8_t data[WL_APP_BYTES + 1];
	bool any = false;

	for (unsigned n = 0; n < MOST_AT_ONCE && node->udp != NULL; n++) {
		struct freertos_sockaddr from;
		socklen_t size = sizeof from;
		int32_t count = FreeRTOS_recvfrom(node->udp, data, sizeof data, 0, &from, &size);
		struct wl_ip ip;

		if (count < 0)
			break;
		any = true;
		ip = wl_ftcp_ip(&from);
		wl_app_udp(&node->app, &ip, FreeRTOS_ntohs(from.sin_port), data, (size_t)count);
	}
	return any;
}

static void accept(struct wl_ftcp_node *node)
{
	struct freertos_sockaddr from;
	socklen_t size = sizeof from;
	Socket_t socket = FreeRTOS_accept(node->listener, &from, &size);
	struct wl_ip ip;

	if (socket == NULL || socket == FREERTOS_INVALID_SOCKET)
		return;
	ip = wl_ftcp_ip(&from);
	if (node->taken == node->wanted ||
	    (node->peer.version != 0 && memcmp(ip.bytes, node->peer.bytes, 4) != 0)) {
		FreeRTOS_closesocket(socket);
		return;
	}
	node->connections[node->taken] = socket;
	wl_app_tcp_open(&node->app, node->taken++);
}

/* Bytes of a connection, or its end. */
static bool stream(struct wl_ftcp_node *node, unsigned connection)
{
	static uint8_t data[1460];
	bool any = false;

	for (unsigned n = 0; n < MOST_AT_ONCE && node->connections[connection] != NULL; n++) {
		Socket_t socket = node->connections[connection];
		BaseType_t count = FreeRTOS_recv(socket, data, sizeof data, FREERTOS_MSG_DONTWAIT);

		if (count == 0)
			break;
		any = true;
		if (count > 0) {
			wl_app_tcp_data(&node->app, connection, data, (size_t)count);
			continue;
		}
		/* No more bytes arrive: the peer ended the connection, or it broke. */
		node->connections[connection] = NULL;
		wl_ftcp_linger(node, socket);
		if (count == -pdFREERTOS_ERRNO_ENOTCONN)
			wl_app_tcp_ended(&node->app, connection);
		else
			wl_app_tcp_broken(&node->app, connection);
		break;
	}
	return any;
}

bool wl_ftcp_flows_poll(struct wl_ftcp_node *node)
{
	bool any = datagrams(node);

	if (node->listener != NULL)
		accept(node);
	for (unsigned n = 0; n < WL_NET_CONNECTIONS; n++)
		any |= stream(node, n);
	return any;
}
