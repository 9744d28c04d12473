/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the parts of the node application. */
#ifndef WIRELAB_APP_PARTS_H
#define WIRELAB_APP_PARTS_H

#include "wl_app.h"

/* GCC and Clang call these themselves, so every platform has them, with <string.h> or without. */
void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *one, const void *other, size_t count);

/* The first frame waits this long, so that the peer has the reply to its request. */
#define AFTER_REPLY_MS 20
/* The limit for a peer to connect, and for finding its link-layer address. */
#define CONNECT_MS 5000
/* Added to a trial's limit, so that a trial of fixed duration ends before it. */
#define GRACE_MS 250
/* An ending receiver stops once nothing has arrived for WL_QUIET_MS, at the latest after LONGEST_TAIL_MS. A board whose peer is
 * at the other end of its line may set less. */
#ifndef WL_QUIET_MS
#define WL_QUIET_MS 20
#endif
#define LONGEST_TAIL_MS 500
/* Unpaced frames between two polls of the stack. */
#define MOST_AT_ONCE 8
#define MOST_OF_A_STREAM 32

extern const struct wl_node wl_app_node; /* without identity and context */

/* Whether capture units in hardware take the trial's points. */
static inline bool wl_app_has_unit(const struct wl_app *app)
{
	return (app->asked.has & WL_HAS_UNIT) != 0;
}

/* Ticks as ns of the node's clock. */
static inline uint64_t wl_app_ns(const struct wl_app *app, uint64_t ticks)
{
	uint32_t tick_ps = app->config.tick_ps;

	if (tick_ps % 1000 == 0)
		return ticks * (tick_ps / 1000);
	return ticks / 1000 * tick_ps + ticks % 1000 * tick_ps / 1000;
}

static inline bool wl_app_is_tcp(const struct wl_app *app)
{
	return app->asked.layer == WL_TCP_IPV4 || app->asked.layer == WL_TCP_IPV6;
}

static inline bool wl_app_same_host(const struct wl_ip *one, const struct wl_ip *other)
{
	return one->version == other->version &&
	       memcmp(one->bytes, other->bytes, one->version == 6 ? 16 : 4) == 0;
}

/* A frame of the trial was sent or received now. */
static inline void wl_app_span(struct wl_app *app, struct wl_app_span *span, uint64_t now)
{
	if (span->frames++ == 0)
		span->first_ticks = now;
	span->last_ticks = now;
	if (app->first_at == 0) {
		app->first_at = now;
		app->first_idle = app->idle;
	}
	app->last_at = now;
	app->last_idle = app->idle;
}

bool wl_app_start(void *context, uint32_t trial, const struct wl_start *start, const struct wl_peer *peer,
		  uint64_t now_ms, struct wl_started *started, struct wl_refusal *refusal);
void wl_app_stop(void *context, enum wl_state state, uint64_t now_ms);

/* All sizes of the requested frames; false if this node's buffers are too small. */
bool wl_app_sizes(const struct wl_start *start, struct wl_app_sizes *sizes, struct wl_refusal *refusal);

/* The interval between frames in ps; 0: the highest rate. */
bool wl_app_interval(const struct wl_app *app, const struct wl_start *start, const struct wl_app_sizes *sizes,
		     uint64_t *interval_ps, struct wl_refusal *refusal);

/* Send what is due. Returns the time of the next frame. */
uint64_t wl_app_send(struct wl_app *app, uint64_t now);

/* The same past the stack, with the blaster. */
uint64_t wl_app_blast(struct wl_app *app, uint64_t now);

/* The trial failed: it ends at once. */
void wl_app_fail(struct wl_app *app, const char *why);

/* Values of the counters of driver and stack. */
void wl_app_further(const struct wl_app *app, uint64_t values[WL_APP_FURTHER]);

#endif
