/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trials over BSD sockets: one UDP port, or one listener with its connections. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ethernet.h"
#include "glue.h"
#include "loop.h"

/* Datagrams, or pieces of a stream, taken before others have their turn. */
#define MOST_AT_ONCE 64
#define MOST_PIECES 2
/* Datagrams that wait while this process has no core must not be lost. */
#define QUEUE_BYTES (8 << 20)

/* When the driver handed a datagram over: the kernel's stamp, in ns of wl_clock(). */
#ifdef SCM_TIMESTAMPNS
static void note_arrival(const struct msghdr *message, const uint8_t *data, size_t count)
{
	const struct cmsghdr *control = CMSG_FIRSTHDR(message);
	struct timespec stamp, now;
	uint64_t age_ns;

	if (control == NULL || control->cmsg_type != SCM_TIMESTAMPNS || count < WL_HEADER_BYTES ||
	    data[0] != 'W' || data[1] != 'L')
		return;
	memcpy(&stamp, CMSG_DATA(control), sizeof stamp);
	clock_gettime(CLOCK_REALTIME, &now);
	age_ns = (uint64_t)(now.tv_sec - stamp.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec -
		 (uint64_t)stamp.tv_nsec;
	/* A clock that was set in between gives any number. */
	if (age_ns < 1000000000u)
		wl_capture_note(WL_RX_DRIVER,
				(uint32_t)data[4] << 24 | (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 |
					data[7],
				WL_CLOCK() - age_ns);
}
#else
/* NuttX's UDP has no time stamps; NuttX has points around its driver instead. */
static void note_arrival(const struct msghdr *message, const uint8_t *data, size_t count)
{
	(void)message;
	(void)data;
	(void)count;
}
#endif

static void datagrams(void *context, int fd, short events)
{
	static uint8_t data[WL_APP_BYTES + 1];
	struct wl_flows *flows = context;
	char control[64];

	(void)events;
	for (int n = 0; n < MOST_AT_ONCE && flows->udp == fd; n++) {
		struct sockaddr_in from;
		struct iovec part = { data, sizeof data };
		struct msghdr message = { .msg_name = &from,
					  .msg_namelen = sizeof from,
					  .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = control,
					  .msg_controllen = sizeof control };
		ssize_t count = recvmsg(fd, &message, 0);
		struct wl_ip ip;

		if (count < 0)
			return;
		if (flows->app->asked.captures > 0)
			note_arrival(&message, data, (size_t)count);
		ip = wl_ip_of(from.sin_addr);
		wl_app_udp(flows->app, &ip, ntohs(from.sin_port), data, (size_t)count);
	}
}

static bool udp_open(void *context, uint16_t *port)
{
	struct wl_flows *flows = context;
	int bytes = QUEUE_BYTES, on = 1;

	flows->udp = wl_socket_bound(SOCK_DGRAM, flows->address, port, true);
	if (flows->udp < 0)
		return false;
	if (setsockopt(flows->udp, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
		setsockopt(flows->udp, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	setsockopt(flows->udp, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
	return wl_loop_add(flows->udp, POLLIN, datagrams, flows);
}

static void end(int *fd)
{
	if (*fd < 0)
		return;
	wl_loop_remove(*fd);
	close(*fd);
	*fd = -1;
}

static void udp_close(void *context)
{
	end(&((struct wl_flows *)context)->udp);
}

static enum wl_sent sent_or_why(ssize_t count)
{
	if (count >= 0)
		return WL_SENT;
	/* ICMP reports a peer that has closed its port; it may open it again. */
	return errno == EAGAIN || errno == ENOBUFS || errno == EINTR || errno == ECONNREFUSED ? WL_NO_ROOM
											      : WL_NO_WAY;
}

static enum wl_sent udp_send(void *context, const struct wl_ip *to, uint16_t port, const uint8_t *bytes,
			     size_t count)
{
	struct wl_flows *flows = context;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	memcpy(&at.sin_addr, to->bytes, 4);
	return sent_or_why(sendto(flows->udp, bytes, count, 0, (struct sockaddr *)&at, sizeof at));
}

static void stream(void *context, int fd, short events)
{
	static uint8_t data[65536];
	struct wl_flows *flows = context;
	unsigned connection = flows->connections[0] == fd ? 0 : 1;

	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return;
	for (int n = 0; n < MOST_PIECES && flows->connections[connection] == fd; n++) {
		ssize_t count = recv(fd, data, sizeof data, 0);

		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (count > 0) {
			wl_app_tcp_data(flows->app, connection, data, (size_t)count);
			continue;
		}
		wl_loop_remove(fd);
		if (count == 0)
			wl_app_tcp_ended(flows->app, connection);
		else
			wl_app_tcp_broken(flows->app, connection);
		return;
	}
}

static void connected(void *context, int fd, short events)
{
	struct wl_flows *flows = context;
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	int new = accept4(fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
	struct wl_ip ip;

	(void)events;
	if (new < 0)
		return;
	ip = wl_ip_of(from.sin_addr);
	if (flows->taken == flows->wanted ||
	    (flows->peer.version != 0 && memcmp(&ip, &flows->peer, 5) != 0) ||
	    !wl_loop_add(new, POLLIN, stream, flows)) {
		close(new);
		return;
	}
	setsockopt(new, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	flows->connections[flows->taken] = new;
	wl_app_tcp_open(flows->app, flows->taken++);
	if (flows->taken == flows->wanted)
		end(&flows->listener);
}

static bool tcp_listen(void *context, uint16_t *port, const struct wl_ip *peer, unsigned wanted)
{
	struct wl_flows *flows = context;

	flows->listener = wl_socket_bound(SOCK_STREAM, flows->address, port, true);
	if (flows->listener < 0)
		return false;
	flows->taken = 0;
	flows->wanted = wanted;
	flows->peer = *peer;
	return listen(flows->listener, WL_NET_CONNECTIONS) == 0 &&
	       wl_loop_add(flows->listener, POLLIN, connected, flows);
}

static void tcp_close(void *context)
{
	struct wl_flows *flows = context;

	end(&flows->listener);
	for (unsigned n = 0; n < WL_NET_CONNECTIONS; n++)
		end(&flows->connections[n]);
}

static size_t tcp_write(void *context, unsigned connection, const uint8_t *bytes, size_t count)
{
	struct wl_flows *flows = context;
	ssize_t taken = send(flows->connections[connection], bytes, count, MSG_NOSIGNAL);

	if (taken >= 0)
		return (size_t)taken;
	if (errno != EAGAIN && errno != EINTR)
		wl_app_tcp_broken(flows->app, connection);
	return 0;
}

static void tcp_end(void *context, unsigned connection)
{
	struct wl_flows *flows = context;

	if (flows->connections[connection] >= 0)
		shutdown(flows->connections[connection], SHUT_WR);
}

void wl_flows_net(struct wl_flows *flows, struct wl_net *net)
{
	*net = (struct wl_net){
		.context = flows,
		.udp_open = udp_open,
		.udp_close = udp_close,
		.udp_send = udp_send,
		.tcp_listen = tcp_listen,
		.tcp_close = tcp_close,
		.tcp_write = tcp_write,
		.tcp_end = tcp_end,
		.frames = wl_ethernet_frames,
		.frame_send = wl_ethernet_send,
		.neighbour = wl_ethernet_neighbour,
		.points = WL_SOCKETS_POINTS,
	};
}
