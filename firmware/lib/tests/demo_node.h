/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A node without hardware, as in crates/control: it computes its sent frames from the given time. */
#ifndef WIRELAB_DEMO_NODE_H
#define WIRELAB_DEMO_NODE_H

#include <stdio.h>
#include <string.h>

#include "wirelab/control.h"

#define DEMO_SETUP 40
#define DEMO_COUNTERS 31

static struct {
	struct wl_identity identity;
	bool any, ended;
	uint8_t state;
	uint64_t frames, began_ms, limit_ms, ended_ms;
	uint32_t captures, starts;
} demo;

static uint64_t demo_frames(uint64_t now_ms)
{
	uint64_t sent = (demo.ended ? demo.ended_ms : now_ms) - demo.began_ms; /* one each ms */

	return sent < demo.frames ? sent : demo.frames;
}

static bool demo_setup(void *context, uint32_t index, const char **key, const char **text)
{
	static char name[16], value[200];

	(void)context;
	if (index >= DEMO_SETUP)
		return false;
	snprintf(name, sizeof name, "key_%u", index);
	memset(value, 'v', 3 * index);
	value[3 * index] = 0;
	*key = index == 0 ? "core" : index == 2 ? "stack" : name;
	*text = index == 0 ? "Cortex-M0" : index == 2 ? "none, 100 % \xC2\xB5" : value;
	return true;
}

static bool demo_start(void *context, uint32_t trial, const struct wl_start *start,
		       const struct wl_peer *peer, uint64_t now_ms, struct wl_started *started,
		       struct wl_refusal *refusal)
{
	(void)context;
	(void)trial;
	(void)peer;
	(void)refusal;
	demo.any = true;
	demo.ended = false;
	demo.starts++;
	demo.frames = start->has & WL_HAS_TIME ? start->extent / 1000000000 : start->extent;
	demo.captures = start->captures;
	demo.began_ms = now_ms;
	demo.limit_ms = start->limit_ps / 1000000000;
	started->has = start->has & (WL_HAS_BUFFERS | WL_HAS_NODE_PORT | WL_HAS_PEER_PORT | WL_HAS_PEER_MAC |
				     WL_HAS_PEER_IP);
	started->buffers = start->buffers;
	started->node_port = start->node_port;
	started->peer_port = start->peer_port;
	memcpy(started->peer_mac, start->peer_mac, 6);
	started->peer_ip = start->peer_ip;
	return true;
}

static void demo_stop(void *context, enum wl_state state, uint64_t now_ms)
{
	(void)context;
	if (demo.ended)
		return;
	demo.ended = true;
	demo.state = (uint8_t)state;
	demo.ended_ms = now_ms;
}

static void demo_status(void *context, uint64_t now_ms, struct wl_status *status)
{
	if (!demo.any)
		return;
	if (demo_frames(now_ms) >= demo.frames)
		demo_stop(context, WL_DONE, now_ms);
	else if (now_ms - demo.began_ms >= demo.limit_ms)
		demo_stop(context, WL_STOPPED, demo.began_ms + demo.limit_ms);
	status->state = demo.ended ? demo.state : WL_RUNNING;
	status->counts = status->timed = true;
	status->tx_frames = demo_frames(now_ms);
	status->elapsed_ticks = (demo.ended ? demo.ended_ms : now_ms) - demo.began_ms;
	status->tick_ps = 1000000000;
	status->spans = WL_SPANS_CALL;
	status->clock = WL_CLOCK_SIMULATED;
}

static bool demo_counter(void *context, uint32_t port, uint32_t index, const char **name, uint64_t *value)
{
	static char text[16];

	(void)context;
	snprintf(text, sizeof text, "counter_%u", index - 1);
	*name = index == 0 ? "sent_frames" : text;
	*value = index == 0 ? demo.frames : UINT64_MAX - (index - 1);
	return port == 0 && index < DEMO_COUNTERS;
}

static bool demo_load(void *context, uint32_t core, struct wl_cpu_load *load, struct wl_refusal *refusal)
{
	(void)context;
	if (core > 0)
		return wl_refuse_limit(refusal, "core", 0);
	*load = (struct wl_cpu_load){
		.cores = 1, .busy_ticks = 24, .window_ticks = 100, .clock = WL_CLOCK_INSTRUCTIONS
	};
	return true;
}

static bool demo_point(void *context, uint32_t point, struct wl_capture_point *about,
		       struct wl_refusal *refusal)
{
	static const char *const names[] = { "isr", "copied", "udp-callback" };

	(void)context;
	if (point > 2)
		return wl_refuse_limit(refusal, "point", 2);
	*about = (struct wl_capture_point){ .name = names[point],
					    .points = 3,
					    .count = demo.captures,
					    .tick_ps = 10000,
					    .resolution_ticks = 1 };
	return true;
}

/* Close to both moduli, so that differences wrap. */
static void demo_record(void *context, uint32_t point, uint32_t index, uint32_t *sequence, uint64_t *ticks)
{
	(void)context;
	*sequence = UINT32_MAX - 99 + index;
	*ticks = UINT64_MAX - 1000000 + index * 12345ull + point;
}

static const struct wl_node demo_node = { &demo.identity, NULL,		demo_setup, demo_start, demo_status,
					  demo_stop,	  demo_counter, demo_load,  demo_point, demo_record };

static void demo_begin(struct wl_control *control)
{
	memset(&demo, 0, sizeof demo);
	demo.identity = (struct wl_identity){
		.name = "demo",
		.directions = 15,
		.layers = WL_SET(WL_ETHERNET) | WL_SET(WL_UDP_IPV4),
		.buffers = WL_SET(WL_PREFILLED) | WL_SET(WL_COPIED),
		.traffic = WL_SET(WL_TRAFFIC_TEST),
		.paths = WL_SET(WL_PATH_STACK) | WL_SET(WL_PATH_LOOPBACK),
		.ports = 1,
		.min_frame_bytes = 64,
		.max_frame_bytes = 1518,
		.max_frames = 1000000,
		.max_time_ps = 60000000000000,
		.max_captures = 512,
		.idle_ms = 5000,
	};
	wl_control_init(control, &demo_node, 42);
}

#endif
