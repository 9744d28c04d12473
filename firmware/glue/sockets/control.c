/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Node control over UDP and TCP sockets, and the echo of port 7. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "glue.h"
#include "loop.h"

#define ECHO_PORT 7
#define LOWEST_CLIENT_PORT 1024

static struct connection {
	int fd; /* -1: free */
	struct wl_peer peer;
	struct wl_assembler assembler;
	uint64_t heard;
} connections[WL_SOCKETS_CONTROL];

struct wl_ip wl_ip_of(struct in_addr address)
{
	struct wl_ip ip = { .version = 4 };

	memcpy(ip.bytes, &address.s_addr, 4);
	return ip;
}

int wl_socket_bound(int type, struct in_addr address, uint16_t *port, bool other)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr = address };
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, why;

	if (fd < 0)
		return -1;
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&at, size) != 0 && (errno != EADDRINUSE || !other))
		goto failed;
	if (getsockname(fd, (struct sockaddr *)&at, &size) != 0)
		goto failed;
	if (at.sin_port == 0) {
		at.sin_addr = address;
		if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
		    getsockname(fd, (struct sockaddr *)&at, &size) != 0)
			goto failed;
	}
	*port = ntohs(at.sin_port);
	return fd;
failed:
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

static void datagram(void *context, int fd, short events)
{
	char line[WL_LINE_BYTES + 1];
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	ssize_t count = recvfrom(fd, line, sizeof line, 0, (struct sockaddr *)&from, &size);
	struct wl_peer peer = { .host = wl_ip_of(from.sin_addr) };
	const char *reply;
	size_t bytes;

	(void)events;
	if (count <= 0 || from.sin_port == 0)
		return;
	bytes = wl_app_line(context, line, (size_t)count, &peer, &reply);
	if (bytes > 0)
		sendto(fd, reply, bytes, 0, (struct sockaddr *)&from, size);
}

static void end(struct connection *c)
{
	wl_loop_remove(c->fd);
	close(c->fd);
	c->fd = -1;
}

/* A client that does not read its answers is disconnected: no answer is buffered. */
static bool answer(int fd, const char *reply, size_t count)
{
	return count == 0 || send(fd, reply, count, MSG_NOSIGNAL) == (ssize_t)count;
}

static void hear(struct wl_app *app, struct connection *c)
{
	c->heard = WL_CLOCK();
	wl_app_connected(app, &c->peer.host);
}

bool wl_control_connected(const struct wl_ip *host)
{
	for (const struct connection *c = connections; c < connections + WL_SOCKETS_CONTROL; c++)
		if (c->fd >= 0 && memcmp(&c->peer.host, host, sizeof *host) == 0)
			return true;
	return false;
}

static void piece_came(void *context, int fd, short events)
{
	struct connection *c = connections;
	const char *reply;
	char piece[256];
	ssize_t count;

	(void)events;
	while (c->fd != fd)
		c++;
	count = recv(fd, piece, sizeof piece, 0);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	hear(context, c);
	for (ssize_t n = 0; n < count; n++) {
		struct wl_app *app = context;
		size_t line, reply_count = 0;

		switch (wl_assemble(&c->assembler, piece[n], &line)) {
		case WL_NOT_YET:
			continue;
		case WL_LINE_DONE:
			reply_count = wl_app_line(app, c->assembler.bytes, line, &c->peer, &reply);
			break;
		case WL_LINE_DROPPED:
			if (c->assembler.bytes[0] == '?')
				reply_count = wl_control_too_long(&app->control, &reply);
		}
		if (!answer(fd, reply, reply_count)) {
			end(c);
			return;
		}
	}
	if (count <= 0)
		end(c);
}

/* A free place, else that of the longest silent client. */
static struct connection *place(void)
{
	struct connection *oldest = connections;

	for (struct connection *c = connections; c < connections + WL_SOCKETS_CONTROL; c++) {
		if (c->fd < 0)
			return c;
		if (c->heard < oldest->heard)
			oldest = c;
	}
	end(oldest);
	return oldest;
}

static void connected(void *context, int fd, short events)
{
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	int new = accept4(fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *c;

	(void)events;
	if (new < 0)
		return;
	c = place();
	*c = (struct connection){ .fd = new, .peer = { .stream = true, .host = wl_ip_of(from.sin_addr) } };
	hear(context, c);
	if (!wl_loop_add(new, POLLIN, piece_came, context)) {
		close(new);
		c->fd = -1;
	}
}

bool wl_control_serve(struct wl_app *app, struct in_addr address, uint16_t port)
{
	int udp = wl_socket_bound(SOCK_DGRAM, address, &port, false), tcp;

	for (int n = 0; n < WL_SOCKETS_CONTROL; n++)
		connections[n].fd = -1;
	if (udp < 0)
		return false;
	tcp = wl_socket_bound(SOCK_STREAM, address, &port, false);
	if (tcp < 0 || listen(tcp, WL_SOCKETS_CONTROL) != 0)
		return false;
	return wl_loop_add(udp, POLLIN, datagram, app) && wl_loop_add(tcp, POLLIN, connected, app);
}

/* Never to a port of a service: two echoes would continue forever. */
static void echo(void *context, int fd, short events)
{
	static char data[65536];
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	ssize_t count = recvfrom(fd, data, sizeof data, 0, (struct sockaddr *)&from, &size);

	(void)context;
	(void)events;
	if (count >= 0 && ntohs(from.sin_port) >= LOWEST_CLIENT_PORT)
		sendto(fd, data, (size_t)count, 0, (struct sockaddr *)&from, size);
}

bool wl_echo_serve(struct in_addr address)
{
	uint16_t port = ECHO_PORT;
	int fd = wl_socket_bound(SOCK_DGRAM, address, &port, false);

	return fd >= 0 && wl_loop_add(fd, POLLIN, echo, NULL);
}
