/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sending past the stack: the blaster gives test frames straight to the driver (`path=driver`). */
#include "app_parts.h"

#define NEVER UINT64_MAX
/* A full driver is retried after a millisecond divided by this. */
#define FULL_PART 50
#define MOST_BLASTED 32

static bool send(void *context, const uint8_t *frame, size_t length)
{
	struct wl_app *app = context;
	const struct wl_net *net = app->config.net;
	struct wl_app_sender *s = &app->sender;

	WL_POINT(WL_TX_APPLICATION, (uint32_t)s->sequences);
	if (!net->driver_send(net->context, frame, length))
		return false;
	s->sequences++;
	s->bytes += app->sizes.data_bytes;
	wl_app_span(app, &s->span, app->blast_now);
	return true;
}

/* Frames and schedule as requested. */
static bool begin(struct wl_app *app, uint64_t now)
{
	const struct wl_net *net = app->config.net;
	const struct wl_pace *pace = &app->sender.pace;
	struct wl_blast_frames *frames = &app->blast_frames;
	bool ready = (app->asked.has & WL_HAS_BUFFERS) && app->asked.buffers == WL_PREFILLED;

	*frames = (struct wl_blast_frames){ .udp = app->asked.layer == WL_UDP_IPV4,
					    .port_to = app->asked.peer_port,
					    .port_from = app->asked.node_port,
					    .stream = app->sender.stream,
					    .length = app->sizes.length_bytes,
					    .slots = ready ? WL_APP_SLOTS : 0,
					    .memory = ready ? app->slots : app->out,
					    .room = ready ? sizeof app->slots : sizeof app->out };
	memcpy(frames->from, app->config.mac, 6);
	memcpy(frames->to, app->peer_mac, 6);
	memcpy(frames->ip_from, app->config.ip.bytes, 4);
	memcpy(frames->ip_to, app->peer.bytes, 4);
	if (frames->udp && !net->neighbour(net->context, &app->peer, frames->to)) {
		wl_app_fail(app, "no link-layer address is known for the peer");
		return false;
	}
	if (!wl_blast_prepare(frames)) {
		wl_app_fail(app, "frames of this size do not lie ready in this node");
		return false;
	}
	app->blast = (struct wl_blast){ .next = wl_blast_frame,
					.next_context = frames,
					.send = send,
					.send_context = app,
					.frames = app->sender.frames == UINT64_MAX ? 0 : app->sender.frames,
					.interval_ticks = pace->interval_ticks,
					.patience_ticks = pace->pause_ticks };
	app->blast.interval_fraction = (uint32_t)(((uint64_t)pace->interval_ps << 32) / pace->tick_ps);
	wl_blast_begin(&app->blast, now);
	app->blasting = true;
	return true;
}

uint64_t wl_app_blast(struct wl_app *app, uint64_t now)
{
	struct wl_app_sender *s = &app->sender;
	struct wl_blast *blast = &app->blast;
	uint64_t full;

	if (!app->blasting && !begin(app, now))
		return now;
	if (app->ending != WL_IDLE || now >= s->end_ticks)
		wl_blast_stop(blast);
	full = blast->full;
	app->blast_now = now;
	wl_blast_poll(blast, now, MOST_BLASTED);
	s->pace.slips = blast->slips;
	s->pace.slipped_ticks = blast->slipped_ticks;
	if (wl_blast_done(blast)) {
		app->blasting = false;
		s->over = true;
		return now;
	}
	if (blast->full > full)
		return now + app->ms_ticks / FULL_PART;
	if (!wl_pace_is_set(&s->pace))
		return now;
	return blast->due_ticks < s->end_ticks ? blast->due_ticks : s->end_ticks;
}
