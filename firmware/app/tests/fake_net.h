/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A fake stack: it keeps sent frames and refuses on command; the test sets the time. */
#ifndef WIRELAB_FAKE_NET_H
#define WIRELAB_FAKE_NET_H

#include "tap.h"
#include "wl_app.h"

#define TICK_PS 10000 /* 10 ns */
#define MS (1000000000u / TICK_PS)

static struct {
	uint64_t now;
	enum wl_sent answer; /* to what is sent next */
	unsigned sent, sent_bytes;
	uint64_t sent_at;
	uint8_t last[WL_APP_BYTES + WL_ETHERNET_HEADER_BYTES];
	struct wl_receiver judged; /* of what was sent */
	struct wl_ip to;
	uint16_t port;
	bool open, frames, looped, known, cut, full;
	/* TCP: the bytes that fit at once, and the taken bytes. */
	size_t room, streamed;
	uint8_t stream[100000];
	bool ended;
} fake;

static struct wl_app app;
static char answer[WL_LINE_BYTES + 1];
static uint32_t session, number;
static struct wl_peer peer = { .stream = true, .host = { .version = 4, .bytes = { 10, 55, 0, 1 } } };
static const struct wl_ip own = { .version = 4, .bytes = { 10, 55, 0, 2 } };
static const uint8_t own_mac[6] = { 2, 0, 10, 55, 0, 2 }, peer_mac[6] = { 2, 0, 10, 55, 0, 1 };

uint64_t wl_clock(void)
{
	return fake.now;
}

static bool port_open(void *context, uint16_t *port)
{
	(void)context;
	if (fake.full)
		return false;
	*port = *port == 5003 ? 5003 : 40000;
	return fake.open = true;
}

static void port_close(void *context)
{
	(void)context;
	fake.open = false;
}

static enum wl_sent keep(const uint8_t *bytes, size_t count)
{
	if (fake.answer != WL_SENT)
		return fake.answer;
	memcpy(fake.last, bytes, count);
	fake.sent++;
	fake.sent_bytes = (unsigned)count;
	fake.sent_at = fake.now;
	return WL_SENT;
}

static enum wl_sent udp_send(void *context, const struct wl_ip *to, uint16_t port, const uint8_t *bytes,
			     size_t count)
{
	(void)context;
	fake.to = *to;
	fake.port = port;
	if (fake.answer == WL_SENT)
		wl_receive_data(&fake.judged, bytes, count, true);
	if (fake.looped && !fake.cut)
		wl_app_udp(&app, &own, 5003, bytes, count);
	return keep(bytes, count);
}

static bool tcp_listen(void *context, uint16_t *port, const struct wl_ip *from, unsigned connections)
{
	(void)from;
	(void)connections;
	return port_open(context, port);
}

static size_t tcp_write(void *context, unsigned connection, const uint8_t *bytes, size_t count)
{
	(void)context;
	(void)connection;
	count = count < fake.room ? count : fake.room;
	memcpy(fake.stream + fake.streamed, bytes, count);
	fake.streamed += count;
	fake.room -= count;
	return count;
}

static void tcp_end(void *context, unsigned connection)
{
	(void)context;
	(void)connection;
	fake.ended = true;
}

static bool frames(void *context, bool wanted)
{
	(void)context;
	fake.frames = wanted;
	return true;
}

static enum wl_sent frame_send(void *context, const uint8_t *frame, size_t length)
{
	(void)context;
	if (fake.answer == WL_SENT)
		wl_receive_frame(&fake.judged, frame, length);
	return keep(frame, length);
}

static bool neighbour(void *context, const struct wl_ip *ip, uint8_t mac[6])
{
	(void)context;
	(void)ip;
	memcpy(mac, peer_mac, 6);
	return fake.known;
}

static bool loopback(void *context, bool on)
{
	(void)context;
	fake.looped = on;
	return true;
}

static const struct wl_net net = { .udp_open = port_open,
				   .udp_close = port_close,
				   .udp_send = udp_send,
				   .tcp_listen = tcp_listen,
				   .tcp_close = port_close,
				   .tcp_write = tcp_write,
				   .tcp_end = tcp_end,
				   .frames = frames,
				   .frame_send = frame_send,
				   .neighbour = neighbour,
				   .loopback = loopback };

/* Send a request in the session; returns the answer. */
static const char *ask(const char *text)
{
	char line[WL_LINE_BYTES], check[8];
	const char *reply;
	size_t count;

	snprintf(line, sizeof line, "?%u.%u %s", session, ++number, text);
	snprintf(check, sizeof check, " *%04X", wl_crc16(line, strlen(line)));
	strcat(line, check);
	count = wl_app_line(&app, line, strlen(line), &peer, &reply);
	memcpy(answer, reply, count);
	answer[count] = 0;
	return answer;
}

static inline bool says(const char *text, const char *what)
{
	if (strstr(ask(text), what) != NULL)
		return true;
	printf("# %s: %s", text, answer);
	return false;
}

/* A fresh node with a session. */
static void begin(void)
{
	static const struct wl_identity identity = {
		.name = "fake",
		.directions = 15,
		.layers = WL_SET(WL_ETHERNET) | WL_SET(WL_UDP_IPV4) | WL_SET(WL_TCP_IPV4),
		.buffers = WL_SET(WL_COPIED_AHEAD),
		.traffic = WL_SET(WL_TRAFFIC_TEST),
		.paths = WL_SET(WL_PATH_STACK) | WL_SET(WL_PATH_LOOPBACK),
		.ports = 1,
		.min_frame_bytes = 64,
		.max_frame_bytes = 1518,
		.max_frames = 1000000,
		.max_time_ps = 60000000000000,
		.max_captures = 64,
		.idle_ms = 5000,
	};
	struct wl_app_config config = { .identity = &identity,
					.tick_ps = TICK_PS,
					.link_bits_per_s = 1000000000,
					.net = &net,
					.ip = own };

	memset(&fake, 0, sizeof fake);
	fake.now = 1000 * MS;
	fake.known = true;
	memcpy(config.mac, own_mac, 6);
	peer.serial = false;
	session = number = 0;
	wl_app_init(&app, &config);
	session = (uint32_t)strtoul(strstr(ask("hello version=1"), "session=") + 8, NULL, 10);
	number = 0;
}

/* Run the node for so many ms, woken when it requests. */
static inline void pass(unsigned ms)
{
	uint64_t end = fake.now + (uint64_t)ms * MS;

	while (fake.now < end) {
		uint64_t due = wl_app_poll(&app);

		fake.now = due > fake.now ? (due < end ? due : end) : fake.now + 1000;
	}
}

/* A datagram of the tester's stream. */
static inline void arrive(uint32_t sequence)
{
	struct wl_header header = { .sequence = sequence, .lfsr_bytes = 100 };
	uint8_t data[WL_HEADER_BYTES + 100];

	wl_frame_data(&header, data, sizeof data);
	wl_app_udp(&app, &peer.host, 40001, data, sizeof data);
}

#endif
