/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The receiver of a trial: every byte judged, and sent back in an echo. */
#include "app_parts.h"
#include "wirelab/echo.h"

/* Lower ports are of services (RFC 6335): port 7 would answer an echo forever. */
#define FIRST_OWN_PORT 1024

/* Jitter (RFC 3550, 6.4.1) from the transmit times of good frames, on whatever clock. */
static void take_jitter(struct wl_app *app, const uint8_t *data, uint64_t now)
{
	struct wl_app_receiver *r = &app->receiver;
	uint32_t sent_ns =
		(uint32_t)data[10] << 24 | (uint32_t)data[11] << 16 | (uint32_t)data[12] << 8 | data[13];
	uint32_t transit, change;

	if (!(data[2] & WL_FLAG_TIME_VALID))
		return;
	/* Modulo 2^32, which is four seconds: only differences count. */
	transit = (uint32_t)wl_app_ns(app, now) - sent_ns;
	change = transit - r->transit_ns;
	if (change & 0x80000000u)
		change = 0u - change;
	if (r->transit_known) {
		r->jitter_16th_ns += change;
		r->jitter_16th_ns -= (r->jitter_16th_ns - change + 8) >> 4;
		r->has_jitter = true;
	}
	r->transit_ns = transit;
	r->transit_known = true;
}

/* Takes the record of a datagram or frame and returns its time. Only the magic shows that there is a sequence. */
static uint64_t arrive(struct wl_app *app, const uint8_t *data, size_t count)
{
	if (app->asked.captures > 0 && count >= WL_HEADER_BYTES && data[0] == 'W' && data[1] == 'L')
		WL_POINT(WL_RX_APPLICATION, (uint32_t)data[4] << 24 | (uint32_t)data[5] << 16 |
						    (uint32_t)data[6] << 8 | data[7]);
	return WL_CLOCK();
}

/* Counts a frame that was judged. */
static void came(struct wl_app *app, enum wl_verdict verdict, const uint8_t *data, uint64_t now)
{
	if (verdict == WL_FOREIGN)
		return;
	wl_app_span(app, &app->receiver.span, now);
	if (verdict == WL_GOOD)
		take_jitter(app, data, now);
}

/* The receiver counts the stream of the first frame that it echoes. */
static void take_stream(struct wl_app *app, const uint8_t *data)
{
	struct wl_flow *flow = &app->receiver.judged.flow;

	if (!flow->stream_known)
		flow->stream = data[3];
	flow->stream_known = true;
}

static void sent_back(struct wl_app *app, enum wl_sent sent)
{
	if (sent == WL_SENT)
		app->receiver.echoed++;
	else
		app->receiver.refused++;
}

static bool listens(const struct wl_app *app)
{
	return app->state == WL_RUNNING && app->receiver.on && !app->receiver.over;
}

void wl_app_udp(struct wl_app *app, const struct wl_ip *from, uint16_t port, const uint8_t *bytes,
		size_t count)
{
	const struct wl_net *net = app->config.net;
	struct wl_app_receiver *r = &app->receiver;
	bool ours;
	uint64_t now;

	WL_MARK(WL_RX_APPLICATION);
	if (!listens(app) || app->asked.layer == WL_ETHERNET || wl_app_is_tcp(app))
		return;
	now = arrive(app, bytes, count);
	ours = app->peer.version != 0 && wl_app_same_host(from, &app->peer);
	if (app->peer.version != 0 && !ours) {
		r->judged.foreign++;
		return;
	}
	if (r->echo && wl_echo_is_test(bytes, count)) {
		if (port < FIRST_OWN_PORT) {
			r->judged.foreign++;
			return;
		}
		WL_POINT(WL_TX_APPLICATION, (uint32_t)bytes[4] << 24 | (uint32_t)bytes[5] << 16 |
						    (uint32_t)bytes[6] << 8 | bytes[7]);
		WL_MARK(WL_TX_APPLICATION);
		sent_back(app, net->udp_send(net->context, from, port, bytes, count));
		take_stream(app, bytes);
	}
	came(app, wl_receive_data(&r->judged, bytes, count, ours), bytes, now);
}

void wl_app_frame(struct wl_app *app, uint8_t *frame, size_t length)
{
	const struct wl_net *net = app->config.net;
	struct wl_app_receiver *r = &app->receiver;
	struct wl_echo echo = { .peer_known = app->peer_mac_known };
	const uint8_t *data = frame + WL_ETHERNET_HEADER_BYTES;
	uint64_t now;

	WL_MARK(WL_RX_APPLICATION);
	if (!listens(app) || app->asked.layer != WL_ETHERNET || length < WL_ETHERNET_HEADER_BYTES ||
	    memcmp(frame, app->config.mac, 6) != 0)
		return;
	now = arrive(app, data, length - WL_ETHERNET_HEADER_BYTES);
	if (!r->echo) {
		came(app, wl_receive_frame(&r->judged, frame, length), data, now);
		return;
	}
	memcpy(echo.own, app->config.mac, 6);
	memcpy(echo.peer, app->peer_mac, 6);
	if (!wl_echo_ethernet(&echo, frame, length)) {
		r->judged.foreign++;
		return;
	}
	WL_POINT(WL_TX_APPLICATION,
		 (uint32_t)data[4] << 24 | (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7]);
	WL_MARK(WL_TX_APPLICATION);
	sent_back(app, net->frame_send(net->context, frame, length));
	take_stream(app, data);
	r->judged.flow.source_known = false;
	came(app, wl_receive_frame(&r->judged, frame, length), data, now);
}

void wl_app_tcp_open(struct wl_app *app, unsigned connection)
{
	(void)connection;
	if (app->state == WL_RUNNING && app->connections > 0)
		app->connections--;
	/* The schedule begins when all connections are there. */
	if (app->connections == 0 && app->sender.on && app->sender.sequences == 0) {
		uint64_t now = WL_CLOCK();

		if (app->sender.end_ticks != UINT64_MAX)
			app->sender.end_ticks = now + app->asked.extent / app->config.tick_ps;
		app->sender.pace.due_ticks = now;
	}
}

/* One frame of a stream. The peer of a connection is known, so a damaged magic is a damaged header. */
static void judge_piece(struct wl_app *app, const uint8_t *bytes, size_t count, uint64_t now)
{
	came(app, wl_receive_data(&app->receiver.judged, bytes, count, true), bytes, now);
}

void wl_app_tcp_data(struct wl_app *app, unsigned connection, const uint8_t *bytes, size_t count)
{
	struct wl_app_receiver *r = &app->receiver;
	size_t whole = app->sizes.data_bytes, more;
	uint64_t now;

	/* The connection on which the node sends receives no flow. */
	if (!listens(app) || !wl_app_is_tcp(app) || connection != 0)
		return;
	now = WL_CLOCK();
	if (r->begun > 0) {
		more = whole - r->begun < count ? whole - r->begun : count;
		memcpy(app->in + r->begun, bytes, more);
		r->begun += more;
		bytes += more;
		count -= more;
		if (r->begun < whole)
			return;
		judge_piece(app, app->in, whole, now);
		r->begun = 0;
	}
	for (; count >= whole; bytes += whole, count -= whole)
		judge_piece(app, bytes, whole, now);
	memcpy(app->in, bytes, count);
	r->begun = count;
}

void wl_app_tcp_ended(struct wl_app *app, unsigned connection)
{
	struct wl_app_receiver *r = &app->receiver;

	if (!listens(app) || !wl_app_is_tcp(app) || connection != 0)
		return;
	if (r->begun > 0)
		judge_piece(app, app->in, r->begun, WL_CLOCK());
	r->begun = 0;
	r->over = true;
}

void wl_app_tcp_broken(struct wl_app *app, unsigned connection)
{
	bool sends = app->sender.on && !app->sender.over &&
		     connection == (app->asked.direction == WL_BOTH ? 1u : 0u);

	if (app->state != WL_RUNNING || !wl_app_is_tcp(app))
		return;
	if (sends || (listens(app) && connection == 0))
		wl_app_fail(app, "the peer broke the connection");
}
