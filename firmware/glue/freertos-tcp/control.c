/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Node control over FreeRTOS+TCP, UDP and TCP port 5002, and the echo of UDP port 7 (RFC 862). */
#include "node.h"

#include <string.h>

#define ECHO_PORT 7
#define LOWEST_CLIENT_PORT 1024
#define MOST_AT_ONCE 16
#define ECHO_BYTES 1472

bool wl_ftcp_control_open(struct wl_ftcp_node *node)
{
	uint16_t control = WL_CONTROL_PORT, echo = ECHO_PORT;

	node->lines = wl_ftcp_bound(FREERTOS_SOCK_DGRAM, FREERTOS_IPPROTO_UDP, &control, false);
	node->control_listener = wl_ftcp_bound(FREERTOS_SOCK_STREAM, FREERTOS_IPPROTO_TCP, &control, false);
	node->echo = wl_ftcp_bound(FREERTOS_SOCK_DGRAM, FREERTOS_IPPROTO_UDP, &echo, false);
	return node->lines != NULL && node->echo != NULL && node->control_listener != NULL &&
	       FreeRTOS_listen(node->control_listener, WL_FTCP_CONTROL) == 0;
}

static bool datagrams(struct wl_ftcp_node *node)
{
	bool any = false;

	for (unsigned n = 0; n < MOST_AT_ONCE; n++) {
		char line[WL_LINE_BYTES + 1];
		struct freertos_sockaddr from;
		socklen_t size = sizeof from;
		int32_t count = FreeRTOS_recvfrom(node->lines, line, sizeof line, 0, &from, &size);
		struct wl_peer peer = { 0 };
		const char *reply;
		size_t bytes;

		if (count < 0)
			break;
		any = true;
		peer.host = wl_ftcp_ip(&from);
		bytes = from.sin_port != 0 ? wl_app_line(&node->app, line, (size_t)count, &peer, &reply) : 0;
		if (bytes > 0)
			FreeRTOS_sendto(node->lines, reply, bytes, 0, &from, size);
	}
	return any;
}

/* Never to a port of a service: two echoes would continue forever. */
static bool echoes(struct wl_ftcp_node *node)
{
	static uint8_t bytes[ECHO_BYTES];
	struct freertos_sockaddr from;
	socklen_t size = sizeof from;
	int32_t count = FreeRTOS_recvfrom(node->echo, bytes, sizeof bytes, 0, &from, &size);

	if (count >= 0 && FreeRTOS_ntohs(from.sin_port) >= LOWEST_CLIENT_PORT)
		FreeRTOS_sendto(node->echo, bytes, (size_t)count, 0, &from, size);
	return count >= 0;
}

static void accept(struct wl_ftcp_node *node)
{
	struct wl_ftcp_control *place = node->control;
	struct freertos_sockaddr from;
	socklen_t size = sizeof from;
	Socket_t socket = FreeRTOS_accept(node->control_listener, &from, &size);

	if (socket == NULL || socket == FREERTOS_INVALID_SOCKET)
		return;
	for (struct wl_ftcp_control *c = node->control; c < node->control + WL_FTCP_CONTROL; c++) {
		if (c->socket == NULL) {
			place = c;
			break;
		}
		if (c->heard < place->heard)
			place = c;
	}
	if (place->socket != NULL)
		wl_ftcp_linger(node, place->socket);
	*place = (struct wl_ftcp_control){ .socket = socket, .host = wl_ftcp_ip(&from), .heard = WL_CLOCK() };
	wl_app_connected(&node->app, &place->host);
}

/* A client that does not read its answers is disconnected: no answer is buffered. */
static bool answer(const struct wl_ftcp_control *c, const char *reply, size_t count)
{
	return count == 0 ||
	       FreeRTOS_send(c->socket, reply, count, FREERTOS_MSG_DONTWAIT) == (BaseType_t)count;
}

static bool take(struct wl_ftcp_node *node, struct wl_ftcp_control *c, char byte)
{
	struct wl_peer peer = { .stream = true, .host = c->host };
	const char *reply;
	size_t line, count = 0;

	switch (wl_assemble(&c->line, byte, &line)) {
	case WL_LINE_DONE:
		count = wl_app_line(&node->app, c->line.bytes, line, &peer, &reply);
		break;
	case WL_LINE_DROPPED:
		count = c->line.bytes[0] == '?' ? wl_control_too_long(&node->app.control, &reply) : 0;
		break;
	default:
		break;
	}
	return count == 0 || answer(c, reply, count);
}

static bool stream(struct wl_ftcp_node *node, struct wl_ftcp_control *c)
{
	char bytes[128];
	BaseType_t count = FreeRTOS_recv(c->socket, bytes, sizeof bytes, FREERTOS_MSG_DONTWAIT);
	bool good = count >= 0;

	if (count == 0)
		return false;
	for (BaseType_t n = 0; n < count && good; n++)
		good = take(node, c, bytes[n]);
	if (count > 0) {
		c->heard = WL_CLOCK();
		wl_app_connected(&node->app, &c->host);
	}
	if (!good) {
		wl_ftcp_linger(node, c->socket);
		c->socket = NULL;
	}
	return true;
}

bool wl_ftcp_control_poll(struct wl_ftcp_node *node)
{
	bool any = datagrams(node);

	any |= echoes(node);
	accept(node);
	for (unsigned n = 0; n < WL_FTCP_CONTROL; n++)
		if (node->control[n].socket != NULL)
			any |= stream(node, &node->control[n]);
	return any;
}
