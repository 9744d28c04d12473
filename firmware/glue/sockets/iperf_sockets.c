/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf 2 on BSD sockets: the core's functions, and the events of the sockets. */
#define _GNU_SOURCE
#include "iperf_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/errqueue.h>
#endif

/* The events that a flow's socket waits for. */
#define CONNECTING 1
#define FULL 2
#define ENDED 4
/* Its peer refused a datagram (ICMP), which the next send returned. */
#define REFUSED 8
/* Datagrams or reads of one socket before the others have their turn. */
#define TURN 64

#ifdef MSG_TRUNC
#define READ_FLAGS MSG_TRUNC /* Linux returns the length of a datagram that does not fit */
#else
#define READ_FLAGS 0
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void from_system(const union address *from, struct wl_iperf_address *to)
{
	memset(to, 0, sizeof *to);
	to->version = 4;
	if (from->any.sa_family == AF_INET) {
		to->port = ntohs(from->v4.sin_port);
		memcpy(to->host, &from->v4.sin_addr, 4);
		return;
	}
	to->port = ntohs(from->v6.sin6_port);
	if (IN6_IS_ADDR_V4MAPPED(&from->v6.sin6_addr)) {
		memcpy(to->host, from->v6.sin6_addr.s6_addr + 12, 4);
		return;
	}
	to->version = 6;
	to->zone = from->v6.sin6_scope_id;
	memcpy(to->host, &from->v6.sin6_addr, 16);
}

static socklen_t to_system(const struct wl_iperf_address *from, bool mapped, union address *to)
{
	memset(to, 0, sizeof *to);
	if (from->version == 4 && !mapped) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons(from->port);
		memcpy(&to->v4.sin_addr, from->host, 4);
		return sizeof to->v4;
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons(from->port);
	if (from->version == 4) {
		to->v6.sin6_addr.s6_addr[10] = to->v6.sin6_addr.s6_addr[11] = 0xFF;
		memcpy(to->v6.sin6_addr.s6_addr + 12, from->host, 4);
	} else {
		to->v6.sin6_scope_id = from->zone;
		memcpy(&to->v6.sin6_addr, from->host, 16);
	}
	return sizeof to->v6;
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void set_unblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL, 0);

	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static uint8_t *state_of(struct wl_iperf_sockets *s, const struct wl_iperf_flow *flow)
{
	return &s->state[flow - s->iperf.flows];
}

/* A socket that is connecting to flow->peer. */
static bool reach(struct wl_iperf_sockets *s, struct wl_iperf_flow *flow, int type)
{
	union address peer;
	socklen_t length = to_system(&flow->peer, false, &peer);
	int fd = socket(peer.any.sa_family, type, 0);

	if (fd < 0)
		return false;
	set_unblocking(fd);
	if (connect(fd, &peer.any, length) != 0 && errno != EINPROGRESS) {
		close(fd);
		return false;
	}
	flow->handle.number = fd + 1;
	*state_of(s, flow) = type == SOCK_STREAM ? CONNECTING : 0;
	return true;
}

static bool udp_open(void *context, struct wl_iperf_flow *flow)
{
	return reach(context, flow, SOCK_DGRAM);
}

static bool tcp_connect(void *context, struct wl_iperf_flow *flow)
{
	return reach(context, flow, SOCK_STREAM);
}

static bool udp_send(void *context, struct wl_iperf_flow *flow, const uint8_t *head, size_t head_count,
		     size_t count)
{
	struct wl_iperf_sockets *s = context;
	/* Both are only read. */
	struct iovec parts[] = { { (void *)(uintptr_t)head, head_count },
				 { s->filling + head_count, count - head_count } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	union address peer;
	int fd = flow->handle.number - 1;

	if (fd < 0) {
		message.msg_name = &peer;
		message.msg_namelen = to_system(&flow->peer, s->both, &peer);
		fd = s->udp;
	}
	if (sendmsg(fd, &message, MSG_NOSIGNAL) >= 0)
		return true;
	/* On the server's socket the error may belong to another flow's datagram; it is returned once. */
	if (fd == s->udp && !would_block() && sendmsg(fd, &message, MSG_NOSIGNAL) >= 0)
		return true;
	/* Any other error ends this datagram. A refusal is returned once, here or when the socket is read. */
	if (errno == ECONNREFUSED && flow->handle.number > 0)
		*state_of(s, flow) |= REFUSED;
	return !would_block() && errno != ENOBUFS;
}

static size_t tcp_send(void *context, struct wl_iperf_flow *flow, const uint8_t *bytes, size_t count)
{
	struct wl_iperf_sockets *s = context;
	size_t taken = 0;

	while (taken < count) {
		size_t piece = count - taken;
		ssize_t sent;

		if (bytes == 0 && piece > sizeof s->filling)
			piece = sizeof s->filling;
		sent = send(flow->handle.number - 1, bytes ? bytes + taken : s->filling, piece, MSG_NOSIGNAL);
		if (sent <= 0) {
			/* A broken connection shows when it is read. */
			*state_of(s, flow) |= FULL;
			break;
		}
		taken += (size_t)sent;
	}
	return taken;
}

static void tcp_end(void *context, struct wl_iperf_flow *flow)
{
	(void)context;
	(void)shutdown(flow->handle.number - 1, SHUT_WR);
}

static void close_flow(void *context, struct wl_iperf_flow *flow)
{
	if (flow->handle.number > 0)
		close(flow->handle.number - 1);
	flow->handle.number = 0;
	*state_of(context, flow) = 0;
}

/* The server's socket of a type; an IPv6 socket takes IPv4 too if it can. */
static int listen_on(int type, const struct wl_iperf_address *at)
{
	union address own;
	socklen_t length = to_system(at, false, &own);
	int no = 0, yes = 1, fd = socket(own.any.sa_family, type, 0);

	if (fd < 0)
		return -1;
	set_unblocking(fd);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if ((at->version == 6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) ||
	    bind(fd, &own.any, length) != 0 || (type == SOCK_STREAM && listen(fd, WL_IPERF_FLOWS) != 0)) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

/* Have the system keep the hosts' ICMP errors about datagrams of the server's socket, with the destinations. Otherwise only the
 * limits end traffic back to a host that refuses it. */
static void keep_refusals(int fd)
{
#ifdef __linux__
	int yes = 1;

	/* A socket of IPv6 may carry both. */
	(void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &yes, sizeof yes);
#else
	(void)fd;
#endif
}

bool wl_iperf_sockets_open(struct wl_iperf_sockets *s, const struct wl_iperf_address *at,
			   void (*ended)(void *context, const struct wl_iperf_result *result), void *context)
{
	struct wl_iperf_address own = *at;
	struct timespec wall;

	memset(s, 0, sizeof *s);
	s->io = (struct wl_iperf_io){ .context = s,
				      .udp_open = udp_open,
				      .udp_send = udp_send,
				      .tcp_connect = tcp_connect,
				      .tcp_send = tcp_send,
				      .tcp_end = tcp_end,
				      .close = close_flow,
				      .may_send = wl_iperf_sockets_may_send,
				      .ended = ended,
				      .ended_context = context };
	wl_iperf_init(&s->iperf, &s->io, 1000);
	s->iperf.max_datagram_bytes = WL_SOCKETS_BYTES;
	if (clock_gettime(CLOCK_REALTIME, &wall) == 0)
		wl_iperf_set_time(&s->iperf, (uint32_t)wall.tv_sec, (uint32_t)(wall.tv_nsec / 1000),
				  now_ns());
	wl_iperf_fill(s->filling, sizeof s->filling, 0);
	own.version = at->version == 4 ? 4 : 6;
	s->udp = listen_on(SOCK_DGRAM, &own);
	if (s->udp < 0 && at->version == 0) {
		own.version = 4;
		s->udp = listen_on(SOCK_DGRAM, &own);
	}
	if (s->udp < 0)
		return false;
	keep_refusals(s->udp);
	s->both = own.version == 6;
	s->tcp = listen_on(SOCK_STREAM, &own);
	if (s->tcp < 0) {
		close(s->udp);
		return false;
	}
	return true;
}

void wl_iperf_sockets_close(struct wl_iperf_sockets *s)
{
	for (struct wl_iperf_flow *flow = s->iperf.flows; flow < s->iperf.flows + WL_IPERF_FLOWS; flow++)
		close_flow(s, flow);
	close(s->udp);
	close(s->tcp);
}

bool wl_iperf_sockets_run(struct wl_iperf_sockets *s, const struct wl_iperf_test *test)
{
	return wl_iperf_run(&s->iperf, test, now_ns());
}

#ifdef __linux__
/* Whether a message of the error queue says that a host refuses datagrams; others report a datagram that was too long. */
static bool is_refusal(struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != 0; part = CMSG_NXTHDR(message, part)) {
		struct sock_extended_err error;

		if (!(part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) &&
		    !(part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR))
			continue;
		memcpy(&error, CMSG_DATA(part), sizeof error);
		return error.ee_errno == ECONNREFUSED || error.ee_errno == EHOSTUNREACH ||
		       error.ee_errno == ENETUNREACH || error.ee_errno == EACCES;
	}
	return false;
}

static bool is_same(const struct wl_iperf_address *a, const struct wl_iperf_address *b)
{
	return a->port == b->port && a->version == b->version && a->zone == b->zone &&
	       memcmp(a->host, b->host, sizeof a->host) == 0;
}
#endif

/* End the flows on the server's socket whose hosts refuse them. */
static void read_refusals(struct wl_iperf_sockets *s)
{
#ifdef __linux__
	for (int turn = 0; turn < TURN; turn++) {
		union address to;
		_Alignas(struct cmsghdr) uint8_t control[256];
		struct wl_iperf_address peer;
		struct msghdr message = { .msg_name = &to,
					  .msg_namelen = sizeof to,
					  .msg_control = control,
					  .msg_controllen = sizeof control };

		if (recvmsg(s->udp, &message, MSG_ERRQUEUE) < 0)
			return;
		if (!is_refusal(&message))
			continue;
		from_system(&to, &peer);
		for (struct wl_iperf_flow *f = s->iperf.flows; f < s->iperf.flows + WL_IPERF_FLOWS; f++)
			if (f->udp && !f->own_socket && is_same(&f->peer, &peer))
				wl_iperf_refused(&s->iperf, f, now_ns());
	}
#else
	(void)s;
#endif
}

static void read_datagrams(struct wl_iperf_sockets *s, int fd, struct wl_iperf_flow *flow)
{
	for (int turn = 0; turn < TURN && (flow == 0 || flow->handle.number == fd + 1); turn++) {
		union address from;
		socklen_t length = sizeof from;
		struct wl_iperf_address peer;
		ssize_t count = recvfrom(fd, s->in, sizeof s->in, READ_FLAGS, &from.any, &length);

		if (count < 0) {
			if (flow != 0 && errno == ECONNREFUSED)
				wl_iperf_refused(&s->iperf, flow, now_ns());
			if (would_block())
				return;
			continue;
		}
		from_system(&from, &peer);
		wl_iperf_datagram(&s->iperf, flow, &peer, s->in,
				  (size_t)count < sizeof s->in ? (size_t)count : sizeof s->in, (size_t)count,
				  now_ns());
	}
}

static void read_stream(struct wl_iperf_sockets *s, int fd, struct wl_iperf_flow *flow)
{
	for (int turn = 0; turn < TURN && flow->handle.number == fd + 1; turn++) {
		ssize_t count = recv(fd, s->in, sizeof s->in, 0);

		if (count < 0 && would_block())
			return;
		if (count > 0) {
			wl_iperf_bytes(&s->iperf, flow, s->in, (size_t)count, (size_t)count, now_ns());
			continue;
		}
		*state_of(s, flow) |= ENDED;
		if (count < 0)
			close_flow(s, flow);
		wl_iperf_closed(&s->iperf, flow, count < 0, now_ns());
		return;
	}
}

static void take_connections(struct wl_iperf_sockets *s)
{
	for (int turn = 0; turn < WL_IPERF_FLOWS; turn++) {
		union address from;
		socklen_t length = sizeof from;
		struct wl_iperf_address peer;
		struct wl_iperf_flow *flow;
		int fd = accept(s->tcp, &from.any, &length);

		if (fd < 0)
			return;
		from_system(&from, &peer);
		flow = wl_iperf_accept(&s->iperf, &peer, now_ns());
		if (flow == 0) {
			close(fd);
			continue;
		}
		set_unblocking(fd);
		flow->handle.number = fd + 1;
	}
}

static void writable(struct wl_iperf_sockets *s, int fd, struct wl_iperf_flow *flow)
{
	uint8_t *state = state_of(s, flow);
	int error = 0;
	socklen_t length = sizeof error;

	if ((*state & CONNECTING) == 0) {
		*state &= (uint8_t)~FULL;
		wl_iperf_room(&s->iperf, flow, now_ns());
		return;
	}
	*state = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0) {
		wl_iperf_connected(&s->iperf, flow, now_ns());
		return;
	}
	close_flow(s, flow);
	wl_iperf_closed(&s->iperf, flow, true, now_ns());
}

void wl_iperf_sockets_list(const struct wl_iperf_sockets *s, struct pollfd *list)
{
	list[0] = (struct pollfd){ .fd = s->udp, .events = POLLIN };
	list[1] = (struct pollfd){ .fd = s->tcp, .events = POLLIN };
	for (int n = 0; n < WL_IPERF_FLOWS; n++) {
		int waits = s->state[n];

		list[2 + n].fd = s->iperf.flows[n].handle.number - 1;
		list[2 + n].revents = 0;
		list[2 + n].events = (short)(waits & ENDED ? 0 : POLLIN);
		if (waits & (CONNECTING | FULL))
			list[2 + n].events |= POLLOUT;
		/* Only an error could still be reported, and it would repeat endlessly. */
		if (list[2 + n].events == 0)
			list[2 + n].fd = -1;
	}
}

int wl_iperf_sockets_serve(struct wl_iperf_sockets *s, const struct pollfd *list)
{
	uint64_t now, due;

	if (list[0].revents & POLLERR)
		read_refusals(s);
	if (list[0].revents)
		read_datagrams(s, s->udp, 0);
	for (int n = 0; n < WL_IPERF_FLOWS; n++) {
		struct wl_iperf_flow *flow = &s->iperf.flows[n];
		int fd = list[2 + n].fd, events = list[2 + n].revents;

		if (s->state[n] & REFUSED) {
			s->state[n] &= (uint8_t)~REFUSED;
			wl_iperf_refused(&s->iperf, flow, now_ns());
		}
		if (fd < 0 || events == 0 || flow->handle.number != fd + 1)
			continue;
		if (s->state[n] & (CONNECTING | FULL) && events & (POLLOUT | POLLERR | POLLHUP))
			writable(s, fd, flow);
		if (events & (POLLIN | POLLERR | POLLHUP) && flow->handle.number == fd + 1 &&
		    (s->state[n] & (CONNECTING | ENDED)) == 0) {
			if (flow->udp)
				read_datagrams(s, fd, flow);
			else
				read_stream(s, fd, flow);
		}
	}
	if (list[1].revents)
		take_connections(s);
	now = now_ns();
	due = wl_iperf_poll(&s->iperf, now);
	return due <= now ? 0 : (int)((due - now + 999999) / 1000000);
}

void wl_iperf_sockets_wait(struct wl_iperf_sockets *s, unsigned most_ms)
{
	struct pollfd list[WL_IPERF_SOCKETS];
	int wait_ms;

	wl_iperf_sockets_list(s, list);
	wait_ms = wl_iperf_sockets_serve(s, list);
	wl_iperf_sockets_list(s, list);
	if (poll(list, WL_IPERF_SOCKETS, wait_ms < (int)most_ms ? wait_ms : (int)most_ms) >= 0)
		(void)wl_iperf_sockets_serve(s, list);
}
