/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf 2 without I/O: server and client, UDP with final datagram and report, TCP, -r, -d, -R, --full-duplex and -P.
 *
 * Calls report events (a datagram or bytes arrived, a connection opened or closed, time has passed); the functions of
 * wl_iperf_io act. Glue for lwIP and for BSD sockets is in firmware/glue; this file is all that another one needs:
 *
 *     wl_iperf_init(&it, &io, tick_ps);      then listen on port 5001, UDP and TCP, and hand over arrivals
 *     for (;;) sleep until wl_iperf_poll(&it, now) or until something comes
 *
 * One struct wl_iperf is one port. It serves while its datagrams and connections are handed over; wl_iperf_run() starts a
 * client beside the server. Nothing is allocated: there are WL_IPERF_FLOWS flows, each with 336 bytes. No call may come from an
 * interrupt while another runs. `now` is in ticks of any steady clock of 64 bits.
 *
 * The other end is not trusted. Over UDP its address may be forged: traffic goes only to hosts that may_send() accepts, and any
 * other host gets no more bytes in answer to a flow than arrived of it. Over TCP traffic goes to the requesting host. Traffic
 * ends after WL_IPERF_UDP_BACK_S or WL_IPERF_BACK_S at the latest, goes to no port of services, and is refused if every flow is
 * taken or `receive_only` is set.
 */
#ifndef WIRELAB_IPERF_H
#define WIRELAB_IPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wirelab/options.h"

#define WL_IPERF_PORT 5001
/* The first bytes of a datagram that are read, and the most that udp_send gets besides filling. */
#define WL_IPERF_HEAD_BYTES 128

struct wl_iperf_address {
	uint32_t host[4]; /* as in a packet; an IPv4 address in the first word */
	uint16_t port; /* in the processor's order */
	uint8_t version; /* 4 or 6 */
	uint32_t zone; /* the interface of a link-local address, or 0 */
};

/* One direction of a test, in iperf's arithmetic: an out-of-order datagram (a duplicate is one, too) takes one from
 * the losses, and the final datagram is counted. */
struct wl_iperf_count {
	uint64_t bytes, duration_us;
	uint64_t datagrams, lost, out_of_order; /* UDP */
	uint32_t jitter_us; /* UDP */
};

/* The result of one flow. Without `complete` the other end disappeared, or never connected. */
struct wl_iperf_result {
	struct wl_iperf_address peer;
	bool udp, sent, client, complete;
	bool reported; /* the other end has sent its report: `there` */
	struct wl_iperf_count here, there;
};

/* The senders: the client; then the server (-r); both, the server on its own connection (-d); only the server, on the client's
 * connection (-R); both on one connection (--full-duplex). */
enum wl_iperf_mode {
	WL_IPERF_FORWARD,
	WL_IPERF_TRADEOFF,
	WL_IPERF_DUAL,
	WL_IPERF_REVERSE,
	WL_IPERF_FULL_DUPLEX
};

/* A test that this end begins. Fields of 0 have iperf's default. */
struct wl_iperf_test {
	struct wl_iperf_address server; /* port 0: 5001 */
	bool udp;
	uint8_t mode;
	uint8_t streams; /* -P */
	uint16_t length_bytes; /* -l */
	uint16_t back_port; /* this end's port, for -r and -d; 0: the server's */
	uint32_t time_ms; /* -t; 10 s */
	uint32_t bytes; /* -n, of each stream, below 2^31, instead of the time; for WL_IPERF_BACK_S at most */
	uint32_t bits_per_s; /* -b, of each stream; 0: no limit, for UDP too */
};

struct wl_iperf_flow;

/* Why traffic back is not sent: this node sends none; the requested port is one of services (below 1024); or, over UDP, the
 * receiving host has not proven that it sent the request. */
enum wl_iperf_why { WL_IPERF_RECEIVES_ONLY, WL_IPERF_SERVICE_PORT, WL_IPERF_NOT_PROVEN };

/* The glue's functions. Each gets `context`. None may block or call back into the library. */
struct wl_iperf_io {
	void *context;
	/* Open a UDP socket on its own port for a flow to flow->peer; store it in flow->handle. */
	bool (*udp_open)(void *context, struct wl_iperf_flow *flow);
	/* Send a datagram of `count` bytes to flow->peer: `head_count` bytes, then filling (wl_iperf_fill). On the flow's
	 * socket, or on the server's if the flow has none. False: no space now, it will be retried. */
	bool (*udp_send)(void *context, struct wl_iperf_flow *flow, const uint8_t *head, size_t head_count,
			 size_t count);
	/* Begin to connect to flow->peer. If true, wl_iperf_connected or wl_iperf_closed follows. */
	bool (*tcp_connect)(void *context, struct wl_iperf_flow *flow);
	/* Send at most `count` bytes; filling if `bytes` is 0. Returns the number taken. If it is less than `count`,
	 * wl_iperf_room follows once there is space again. */
	size_t (*tcp_send)(void *context, struct wl_iperf_flow *flow, const uint8_t *bytes, size_t count);
	/* Stop sending: taken bytes are still sent, and arrivals still handed over. */
	void (*tcp_end)(void *context, struct wl_iperf_flow *flow);
	/* Release the flow's socket or connection, if it has one. Taken bytes are still sent; no call with this flow may
	 * follow. */
	void (*close)(void *context, struct wl_iperf_flow *flow);
	/* Whether a host, on any port, has proven its address. 0: none has. */
	bool (*may_send)(void *context, const struct wl_iperf_address *peer);
	/* A flow is over; the function has its own context. Or 0. */
	void (*ended)(void *ended_context, const struct wl_iperf_result *result);
	/* Traffic back is refused; called once for each flow that requests it. Or 0. */
	void (*refused)(void *ended_context, const struct wl_iperf_address *peer, enum wl_iperf_why why);
	void *ended_context;
};

/* The requests of a client's header. */
struct wl_iperf_ask {
	uint8_t mode;
	bool wants_ack;
	uint16_t port, length_bytes; /* the client's port for traffic back; 0: the default */
	uint32_t time_cs; /* units of 10 ms: the time, or the limit for `bytes` */
	uint32_t bytes; /* 1 to INT32_MAX; else only the time counts */
	uint32_t bits_per_s; /* 0: not said */
};

/* The receiving half of a flow. */
struct wl_iperf_rx {
	uint64_t next; /* the number expected */
	uint64_t bytes, start, last; /* ticks */
	uint64_t lost, out_of_order;
	uint32_t stamp_s, stamp_us; /* of the sender, in the last datagram */
	uint32_t jitter; /* 1/256 us */
	bool stamped;
};

/* The sending half. */
struct wl_iperf_tx {
	uint64_t next; /* number of the next datagram */
	uint64_t bytes, start, last; /* ticks */
	uint64_t left, due, end;
	uint64_t interval; /* ticks from one datagram or write to the next */
	uint32_t interval_part, part; /* 2^-32 ticks */
	uint32_t owed; /* bytes of the write that has begun */
	uint16_t length;
	uint8_t tries;
	bool full; /* TCP: there was no space */
};

struct wl_iperf_flow {
	/* Of the glue: a socket, or 0. */
	union {
		void *pointer;
		int number;
	} handle;
	bool udp, client;
	/* Private; here because short instructions read fields near the front. */
	uint8_t layout; /* of the peer */
	bool own_socket, reported, half_closed;
	uint8_t receiving, sending; /* the state of each half */
	uint8_t head_count, head_want;
	struct wl_iperf_address peer;
	/* The rest is private, too. */
	struct wl_iperf_ask ask;
	struct wl_iperf_tx tx;
	struct wl_iperf_rx rx;
	uint8_t head[80]; /* the first bytes to send, or the first received over TCP */
	struct wl_iperf_count there;
};

struct wl_iperf {
	const struct wl_iperf_io *io;
	uint16_t max_datagram_bytes; /* the longest sent; 1470 */
	bool timed; /* the time has been set */
	bool receive_only; /* refuse traffic back */
	uint32_t back_bits_per_s; /* the highest rate back over UDP: WL_IPERF_BACK_BITS_PER_S or the link's */
	uint32_t tick_ps;
	uint32_t us_per_tick, us_per_tick_part; /* whole, and 2^-32 us */
	uint64_t now;
	uint64_t due; /* when something is to be done next */
	uint64_t second_us; /* when the second in sent datagrams began */
	uint32_t second;
	uint32_t refused; /* refused flows, and refused traffic back */
	struct wl_iperf_flow *last; /* of the last datagram */
	struct wl_iperf_flow flows[WL_IPERF_FLOWS];
};

/* `tick_ps`: picoseconds of a tick of `now`, 1 to 1e9. Correct jitter and pacing need a clock of 1 us or better. */
void wl_iperf_init(struct wl_iperf *it, const struct wl_iperf_io *io, uint32_t tick_ps);

/* Set the wall clock's time, for sent datagrams. Without it, the time of the first peer's datagram is used: iperf 2.1.8 shows a
 * wrong jitter at first if the two clocks are far apart. */
void wl_iperf_set_time(struct wl_iperf *it, uint32_t seconds, uint32_t us, uint64_t now);

/* A datagram of `count` bytes has arrived, of which the first `have` are at `bytes`: all, or WL_IPERF_HEAD_BYTES at
 * least. `flow` is the one whose socket received it, 0 for the server's. */
void wl_iperf_datagram(struct wl_iperf *it, struct wl_iperf_flow *flow, const struct wl_iperf_address *from,
		       const uint8_t *bytes, size_t have, size_t count, uint64_t now);

/* The host of flow->peer refuses datagrams (ICMP); for glue that knows. */
void wl_iperf_refused(struct wl_iperf *it, struct wl_iperf_flow *flow, uint64_t now);

/* The server's port has accepted a connection. 0: there is no place for it, close it. */
struct wl_iperf_flow *wl_iperf_accept(struct wl_iperf *it, const struct wl_iperf_address *from, uint64_t now);

/* A connection from tcp_connect is open. */
void wl_iperf_connected(struct wl_iperf *it, struct wl_iperf_flow *flow, uint64_t now);

/* Bytes have arrived; `have` as above. They count as read: the glue reopens the window. */
void wl_iperf_bytes(struct wl_iperf *it, struct wl_iperf_flow *flow, const uint8_t *bytes, size_t have,
		    size_t count, uint64_t now);

/* tcp_send will take more. */
void wl_iperf_room(struct wl_iperf *it, struct wl_iperf_flow *flow, uint64_t now);

/* The other end has finished sending; or, with `gone`, the connection ended or failed: the handle is void.
 */
void wl_iperf_closed(struct wl_iperf *it, struct wl_iperf_flow *flow, bool gone, uint64_t now);

/* Let time pass: sends what is due and ends silent flows. Returns the latest time of the next call; `now` or less if there is
 * more to do at once. */
uint64_t wl_iperf_poll(struct wl_iperf *it, uint64_t now);

/* Begin a test as client. False, and nothing is sent, if fewer flows are free than it has streams. */
bool wl_iperf_run(struct wl_iperf *it, const struct wl_iperf_test *test, uint64_t now);

/* The number of flows, of this end's own tests or of all; without flows that only answer. */
unsigned wl_iperf_running(const struct wl_iperf *it, bool all);

/* End every flow of this end's own tests, or every flow there is. */
void wl_iperf_stop(struct wl_iperf *it, bool all, uint64_t now);

/* The state of a flow; of one half of it. */
void wl_iperf_result(const struct wl_iperf *it, const struct wl_iperf_flow *flow, bool sent,
		     struct wl_iperf_result *result);

/* The filling of datagrams and streams: the digits 0 to 9 again and again; `from` is the offset of its first byte in
 * the datagram. */
void wl_iperf_fill(uint8_t *bytes, size_t count, size_t from);

#endif
