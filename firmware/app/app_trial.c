/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A trial from its start to its end: what is due, when it is done, and how it ends. */
#include "app_parts.h"

#define NEVER UINT64_MAX
#define POLL_MS 100
#define PS_PER_MS 1000000000u

void wl_app_init(struct wl_app *app, const struct wl_app_config *config)
{
	memset(app, 0, sizeof(*app));
	app->config = *config;
	app->ms_ticks = PS_PER_MS / config->tick_ps;
	app->node = wl_app_node;
	app->node.identity = config->identity;
	app->node.context = app;
	wl_lfsr_init();
	wl_points_name();
	wl_control_init(&app->control, &app->node, config->seed);
	app->ended_at = WL_CLOCK();
}

/* A stranger can hardly know when lines and connections come. */
static void stir(struct wl_app *app, uint64_t now)
{
	wl_control_stir(&app->control, now);
}

uint32_t wl_app_random(struct wl_app *app)
{
	stir(app, WL_CLOCK());
	return wl_control_random(&app->control);
}

size_t wl_app_line(struct wl_app *app, const char *bytes, size_t count, const struct wl_peer *peer,
		   const char **reply)
{
	uint64_t now = WL_CLOCK();

	stir(app, now);
	return wl_control_handle(&app->control, bytes, count, peer, now / app->ms_ticks, reply);
}

void wl_app_further(const struct wl_app *app, uint64_t values[WL_APP_FURTHER])
{
	const char *name;

	for (uint32_t n = 0; n < WL_APP_FURTHER; n++) {
		values[n] = 0;
		if (app->config.further != 0)
			app->config.further(app->config.further_context, n, &name, &values[n]);
	}
}

/* Take no more records; the points with records are reported, in the order in which a frame passes them. */
static void end_captures(struct wl_app *app)
{
	app->point_count = 0;
	if (wl_app_has_unit(app)) {
		app->config.unit->stop();
		if (app->config.unit->count() > 0)
			app->point_count = app->asked.unit_point == WL_POINTS ? WL_POINTS + 2 : 2;
		return;
	}
	if (app->asked.captures > 0 && app->config.net->points != 0)
		app->config.net->points(app->config.net->context, false);
	wl_capture_stop();
	for (uint8_t point = 0; app->asked.captures > 0 && point < WL_POINTS; point++) {
		if (wl_capture_count(point) > 0)
			app->points[app->point_count++] = point;
	}
}

/* Closes the ports of the trial; its results stay. */
static void finish(struct wl_app *app, uint8_t state)
{
	const struct wl_net *net = app->config.net;

	/* Incomplete frames of a stream: a received one is judged as it is, a sent one counts as refused. */
	if (wl_app_is_tcp(app))
		wl_app_tcp_ended(app, 0);
	app->sender.refused += app->sender.cut_left > 0;
	app->sender.cut_left = 0;
	if (app->asked.path == WL_PATH_LOOPBACK)
		net->loopback(net->context, false);
	if (app->asked.path == WL_PATH_FAST_TRACK)
		net->fast_track(net->context, 0, false);
	if (app->asked.layer == WL_ETHERNET)
		net->frames(net->context, false);
	else if (wl_app_is_tcp(app))
		net->tcp_close(net->context);
	else
		net->udp_close(net->context);
	app->sender.over = app->receiver.over = true;
	app->state = state;
	end_captures(app);
	wl_app_further(app, app->further_after);
	app->ended_at = WL_CLOCK();
	app->idle_at_end = app->idle;
}

void wl_app_fail(struct wl_app *app, const char *why)
{
	if (app->state != WL_RUNNING)
		return;
	/* After a stop request the peer may be gone. */
	if (app->ending == WL_IDLE)
		app->why = why;
	finish(app, app->ending == WL_IDLE ? WL_FAILED : app->ending);
}

void wl_app_stop(void *context, enum wl_state state, uint64_t now_ms)
{
	struct wl_app *app = context;

	(void)now_ms;
	if (app->state != WL_RUNNING)
		return;
	if (state == WL_ABANDONED) {
		finish(app, state);
		return;
	}
	if (app->ending == WL_IDLE) {
		app->ending = (uint8_t)state;
		app->ending_since = WL_CLOCK();
	}
}

/* Whether each side has reached its extent. */
static bool is_done(const struct wl_app *app)
{
	const struct wl_app_receiver *r = &app->receiver;

	return (!app->sender.on || app->sender.over) &&
	       (!r->on || r->over || r->judged.received + r->missed >= r->frames);
}

/* Whether the frames under way have arrived or are given up. */
static bool is_quiet(const struct wl_app *app, uint64_t now)
{
	uint64_t since = app->ending_since, last = app->receiver.span.last_ticks;

	if (now - since >= LONGEST_TAIL_MS * app->ms_ticks)
		return true;
	if (app->sender.cut_left > 0)
		return false;
	if (!app->receiver.on || app->receiver.over)
		return true;
	return now - (last > since ? last : since) >= WL_QUIET_MS * app->ms_ticks;
}

/* Whether the peer's address is known, and its connections are there. */
static void await_peer(struct wl_app *app, uint64_t now)
{
	const struct wl_net *net = app->config.net;
	uint8_t mac[6];

	if (app->resolving && net->neighbour(net->context, &app->peer, mac)) {
		app->resolving = false;
		app->sender.pace.due_ticks = now;
	}
	if (now < app->connect_by)
		return;
	if (app->resolving)
		wl_app_fail(app, "no link-layer address is known for the peer");
	else if (wl_app_is_tcp(app) && app->connections > 0)
		wl_app_fail(app, "the peer did not connect to the port of the trial within 5 s");
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static uint64_t run(struct wl_app *app, uint64_t now)
{
	bool waiting = app->resolving || (wl_app_is_tcp(app) && app->connections > 0);
	uint64_t next = NEVER;

	if (waiting) {
		await_peer(app, now);
		next = earlier(app->connect_by, now + app->ms_ticks);
	}
	if (app->sender.on && !app->resolving)
		next = wl_app_send(app, now);
	if (app->state != WL_RUNNING)
		return now;
	if (app->ending == WL_IDLE && (is_done(app) || now >= app->limit)) {
		app->ending = is_done(app) ? WL_DONE : WL_STOPPED;
		app->ending_since = now;
	}
	if (app->ending == WL_IDLE)
		return earlier(next, app->limit);
	if (is_quiet(app, now)) {
		finish(app, app->ending);
		return now;
	}
	return earlier(next, now + app->ms_ticks);
}

uint64_t wl_app_poll(struct wl_app *app)
{
	uint64_t now = WL_CLOCK();

	/* Nothing else that is due may change the counted instructions. */
	if (wl_app_quiet(app))
		return run(app, now);
	if (now >= app->control_due) {
		wl_control_poll(&app->control, now / app->ms_ticks);
		app->control_due = now + POLL_MS * app->ms_ticks;
	}
	if (app->state != WL_RUNNING)
		return app->control_due;
	return earlier(run(app, now), app->control_due);
}
