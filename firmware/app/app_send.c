/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sender of a trial: frames when they are due, one at a time, over UDP, TCP or Ethernet. */
#include "app_parts.h"

#define NEVER UINT64_MAX
/* A frame that has not returned through the MAC's loopback after this time is missed. */
#define LOOP_MS 100
/* With more missed frames there is no loop, and the trial ends: the node hears no host while it waits. */
#define LOOP_MOST_MISSED 8

/* When the stack has no space, the send is retried after a millisecond divided by this, or when something arrives. */
#define FULL_PART 10

/* Build the next frame's test data at `out`. */
static void build(struct wl_app *app, uint8_t *out, uint64_t now)
{
	struct wl_app_sender *s = &app->sender;
	struct wl_header header = {
		.flags = WL_FLAG_NODE_CLOCK,
		.stream = s->stream,
		.sequence = (uint32_t)s->sequences,
		.lfsr_bytes = (uint16_t)(app->sizes.data_bytes - WL_HEADER_BYTES),
	};

	if (wl_pace_is_set(&s->pace)) {
		header.flags |= WL_FLAG_TIME_VALID;
		header.time_ns = wl_app_ns(app, now);
	}
	if (app->asked.layer != WL_ETHERNET)
		wl_frame_data(&header, out, app->sizes.data_bytes);
	else
		wl_frame_ethernet(&header, app->peer_mac, app->config.mac, out, app->sizes.length_bytes);
}

/* Hand the built frame to the stack. */
static enum wl_sent hand_over(struct wl_app *app)
{
	const struct wl_net *net = app->config.net;

	WL_POINT(WL_TX_APPLICATION, (uint32_t)app->sender.sequences);
	WL_MARK(WL_TX_APPLICATION);
	if (app->asked.layer == WL_ETHERNET)
		return net->frame_send(net->context, app->out, app->sizes.length_bytes);
	return net->udp_send(net->context, &app->peer,
			     app->asked.path == WL_PATH_LOOPBACK ? app->asked.node_port
								 : app->asked.peer_port,
			     app->out, app->sizes.data_bytes);
}

/* A sequence is used. */
static void count(struct wl_app *app, bool sent, uint64_t now)
{
	struct wl_app_sender *s = &app->sender;

	wl_pace_start(&s->pace, now);
	s->sequences++;
	if (!sent) {
		s->refused++;
		return;
	}
	s->bytes += app->sizes.data_bytes;
	wl_app_span(app, &s->span, now);
}

/* Send one datagram or frame; false if it has to wait. */
static bool send_one(struct wl_app *app, uint64_t now)
{
	build(app, app->out, now);
	switch (hand_over(app)) {
	case WL_SENT:
		count(app, true, now);
		return true;
	case WL_NO_ROOM:
		/* An unpaced frame is retried. The time of a paced frame is over, and its sequence is used. */
		if (!wl_pace_is_set(&app->sender.pace))
			return false;
		count(app, false, now);
		return true;
	default:
		wl_app_fail(app, "the stack has no way to the peer for a frame of this size");
		return false;
	}
}

/* Go on with a frame that the stack took in part. Returns whether the stack has all of it. */
static bool write_rest(struct wl_app *app)
{
	const struct wl_net *net = app->config.net;
	struct wl_app_sender *s = &app->sender;
	unsigned connection = app->asked.direction == WL_BOTH ? 1 : 0;
	size_t taken = net->tcp_write(net->context, connection, app->out + s->cut_at, s->cut_left);

	s->cut_at += taken;
	s->cut_left -= taken;
	return s->cut_left == 0;
}

/* The next frame of a stream; false if the stack has no space. */
static bool write_one(struct wl_app *app, uint64_t now)
{
	struct wl_app_sender *s = &app->sender;

	if (s->cut_left > 0)
		return write_rest(app);
	build(app, app->out, now);
	s->cut_at = 0;
	s->cut_left = app->sizes.data_bytes;
	count(app, true, now);
	return write_rest(app);
}

/* The sender has reached its extent or has to stop. */
static void end(struct wl_app *app)
{
	const struct wl_net *net = app->config.net;

	if (app->sender.over)
		return;
	app->sender.over = true;
	if (wl_app_is_tcp(app))
		net->tcp_end(net->context, app->asked.direction == WL_BOTH ? 1 : 0);
}

/* Whether the previous frame has returned or is given up. */
static bool is_back(struct wl_app *app, uint64_t now)
{
	const struct wl_app_sender *s = &app->sender;
	struct wl_app_receiver *r = &app->receiver;

	if (r->judged.received + r->missed >= s->sequences)
		return true;
	if (now - s->span.last_ticks < LOOP_MS * app->ms_ticks)
		return false;
	r->missed++;
	return true;
}

/* Through the MAC's loopback the next frame is sent only when the last has arrived. */
static uint64_t send_in_turn(struct wl_app *app, uint64_t now)
{
	const struct wl_net *net = app->config.net;
	struct wl_app_sender *s = &app->sender;

	if (s->sequences == 0 && !net->loopback(net->context, true)) {
		wl_app_fail(app, "the MAC's loopback could not be switched on");
		return now;
	}
	if (!is_back(app, now))
		return now;
	if (app->receiver.missed > LOOP_MOST_MISSED) {
		wl_app_fail(app, "frames do not come back from the MAC's loopback");
		return now;
	}
	if (s->sequences >= s->frames || app->ending != WL_IDLE)
		end(app);
	else
		send_one(app, now);
	return now;
}

uint64_t wl_app_send(struct wl_app *app, uint64_t now)
{
	struct wl_app_sender *s = &app->sender;
	bool tcp = wl_app_is_tcp(app);
	int most = wl_pace_is_set(&s->pace) ? 1 : tcp ? MOST_OF_A_STREAM : MOST_AT_ONCE;

	if (s->over)
		return NEVER;
	if (tcp && app->connections > 0 && app->ending == WL_IDLE)
		return NEVER;
	if (now < s->pace.due_ticks && s->cut_left == 0 && app->ending == WL_IDLE)
		return s->pace.due_ticks < s->end_ticks ? s->pace.due_ticks : s->end_ticks;
	if (app->asked.path == WL_PATH_LOOPBACK)
		return send_in_turn(app, now);
	if (app->asked.path == WL_PATH_DRIVER)
		return wl_app_blast(app, now);
	for (int n = 0; n < most; n++) {
		bool over = s->sequences >= s->frames || app->ending != WL_IDLE ||
			    (wl_pace_is_set(&s->pace) ? s->pace.due_ticks : now) >= s->end_ticks;

		if (over && s->cut_left == 0) {
			end(app);
			return now;
		}
		if (!(tcp ? write_one(app, now) : send_one(app, now)))
			return now + app->ms_ticks / FULL_PART;
		if (app->state != WL_RUNNING)
			return now;
		if (!wl_pace_is_set(&s->pace))
			now = WL_CLOCK();
	}
	return wl_pace_is_set(&s->pace) && s->pace.due_ticks < s->end_ticks ? s->pace.due_ticks : now;
}
