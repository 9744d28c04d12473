/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node's reports on itself and on its last trial: set-up, state, counters, CPU load and capture points. */
#include "app_parts.h"

/* A shorter window gives no idle baseline. */
#define LEAST_BASELINE_MS 50
#define MOST_COUNTERS 48

static bool setup(void *context, uint32_t index, const char **key, const char **text)
{
	const struct wl_app *app = context;

	if (index >= app->config.setup_count)
		return false;
	*key = app->config.setup[index][0];
	*text = app->config.setup[index][1];
	return true;
}

/* From the first to the last frame, with the last one's gap (the design's `wire`); 0 for fewer than two. */
static uint64_t elapsed(const struct wl_app_span *span)
{
	uint64_t ticks = span->last_ticks - span->first_ticks;

	if (span->frames < 2)
		return 0;
	return ticks + ticks / (span->frames - 1);
}

static void status(void *context, uint64_t now_ms, struct wl_status *status)
{
	const struct wl_app *app = context;
	const struct wl_app_receiver *r = &app->receiver;

	(void)now_ms;
	status->state = app->state;
	status->why = app->why;
	if (app->state == WL_IDLE)
		return;
	status->counts = true;
	status->tx_frames = r->echo ? r->echoed : app->sender.sequences - app->sender.refused;
	status->rx_frames = r->judged.received;
	status->elapsed_ticks = elapsed(r->on ? &r->span : &app->sender.span);
	status->timed = status->elapsed_ticks > 0;
	status->spans = WL_SPANS_WIRE;
	status->clock = WL_CLOCK_WALL;
	status->tick_ps = app->config.tick_ps;
}

struct list {
	struct {
		const char *name;
		uint64_t value;
	} all[MOST_COUNTERS];
	uint32_t count;
};

static void put(struct list *list, const char *name, uint64_t value)
{
	if (list->count == MOST_COUNTERS)
		return;
	list->all[list->count].name = name;
	list->all[list->count++].value = value;
}

static void put_sent(const struct wl_app *app, struct list *list)
{
	const struct wl_app_sender *s = &app->sender;

	put(list, "sent_frames", s->sequences);
	put(list, "sent_bytes", s->bytes);
	put(list, "sent_refused_frames", s->refused);
	put(list, "sent_slips", s->pace.slips);
	put(list, "sent_slipped_ns", wl_app_ns(app, s->pace.slipped_ticks));
	if (s->span.frames == 0)
		return;
	put(list, "sent_first_ns", wl_app_ns(app, s->span.first_ticks));
	put(list, "sent_last_ns", wl_app_ns(app, s->span.last_ticks));
}

static void put_received(const struct wl_app *app, struct list *list)
{
	const struct wl_app_receiver *r = &app->receiver;
	const char *name;
	uint64_t value;

	for (uint32_t n = 0; wl_receiver_counter(&r->judged, false, 0, n, &name, &value); n++)
		put(list, name, value);
	if (r->echo) {
		put(list, "sent_frames", r->echoed);
		put(list, "sent_refused_frames", r->refused);
	}
	if (r->missed > 0)
		put(list, "loop_missed_frames", r->missed);
	if (r->has_jitter)
		put(list, "received_jitter_ns", r->jitter_16th_ns >> 4);
	if (r->span.frames == 0)
		return;
	put(list, "received_first_ns", wl_app_ns(app, r->span.first_ticks));
	put(list, "received_last_ns", wl_app_ns(app, r->span.last_ticks));
}

/* How much the counters of driver and stack grew in the trial. */
static void put_further(const struct wl_app *app, struct list *list)
{
	uint64_t now[WL_APP_FURTHER], value;
	const char *name;

	wl_app_further(app, now);
	for (uint32_t n = 0; app->config.further != 0 && n < WL_APP_FURTHER; n++) {
		if (!app->config.further(app->config.further_context, n, &name, &value))
			return;
		value = app->state == WL_RUNNING ? now[n] : app->further_after[n];
		put(list, name, value - app->further_before[n]);
	}
}

static void put_all(const struct wl_app *app, struct list *list)
{
	list->count = 0;
	if (app->sender.on)
		put_sent(app, list);
	if (app->receiver.on)
		put_received(app, list);
	if (app->asked.captures > 0)
		put(list, "capture_point_ticks", app->point_ticks);
	put_further(app, list);
}

/* Counters are read in order, so the list is made at the first one. */
static bool counter(void *context, uint32_t port, uint32_t index, const char **name, uint64_t *value)
{
	static const struct wl_app *whose;
	static struct list list;
	const struct wl_app *app = context;

	if (port > 0 || app->state == WL_IDLE)
		return false;
	if (index == 0 || whose != app)
		put_all(app, &list);
	whose = app;
	if (index >= list.count)
		return false;
	*name = list.all[index].name;
	*value = list.all[index].value;
	return true;
}

static bool load(void *context, uint32_t core, struct wl_cpu_load *load, struct wl_refusal *refusal)
{
	const struct wl_app *app = context;
	uint64_t window = app->last_at - app->first_at, idle = app->last_idle - app->first_idle;

	if (core > 0)
		return wl_refuse_limit(refusal, "core", 0);
	if (window == 0)
		return wl_refuse(refusal, "unsupported", "core",
				 "no time lies between the first frame and the last");
	*load = (struct wl_cpu_load){
		.cores = 1,
		.busy_ticks = idle < window ? window - idle : 0,
		.window_ticks = window,
		.tick_ps = app->config.tick_ps,
		.clock = WL_CLOCK_WALL,
		.shared = app->config.shared,
	};
	if (app->before_window >= LEAST_BASELINE_MS * app->ms_ticks) {
		idle = app->before_idle;
		load->idle_window_ticks = app->before_window;
		load->idle_busy_ticks = idle < app->before_window ? app->before_window - idle : 0;
	}
	return true;
}

/* The stream of the frames that pass a point (of wl_point). */
static uint8_t stream_at(const struct wl_app *app, uint8_t at)
{
	return app->receiver.on && (at <= WL_RX_APPLICATION || app->receiver.echo)
		       ? app->receiver.judged.flow.stream
		       : app->sender.stream;
}

/* Behind all points: the line on reception and on transmission. */
enum { LINE_IN = WL_POINTS, LINE_OUT };

/* A capture unit's point at a place of the list: of wl_point, or the line, which is first on reception and last on
 * transmission. */
static unsigned unit_at(const struct wl_app *app, uint32_t index)
{
	uint8_t asked = app->asked.unit_point;

	if (asked == WL_POINTS)
		return index == 0 ? LINE_IN : index > WL_POINTS ? LINE_OUT : index - 1;
	if (asked <= WL_RX_APPLICATION)
		return index == 0 ? LINE_IN : asked;
	return index == 0 ? asked : LINE_OUT;
}

static void unit_point(const struct wl_app *app, uint32_t index, struct wl_capture_point *about)
{
	const struct wl_unit *unit = app->config.unit;
	unsigned at = unit_at(app, index);

	*about = (struct wl_capture_point){
		.name = at >= WL_POINTS ? "line" : wl_capture_name_of((uint8_t)at),
		.points = app->point_count,
		.count = unit->count(),
		.lost = unit->lost(),
		.tick_ps = unit->tick_ps,
		.resolution_ticks = 1,
		.clock = WL_CLOCK_WALL,
		.stream = stream_at(app, at == LINE_IN ? WL_RX_INTERRUPT : (uint8_t)at),
	};
}

/* The unit's clocks run only while it counts: a frame is at the first point of a path at the time of the previous frame at the
 * last. */
static void unit_record(const struct wl_app *app, uint32_t index, uint32_t from, uint32_t *sequence,
			uint64_t *ticks)
{
	const struct wl_unit_record *record = app->config.unit->record(from);
	unsigned at = unit_at(app, index);
	uint32_t apart = at >= WL_POINTS ? 0 : record->ticks[at];

	*sequence = record->sequence;
	if (at <= WL_RX_APPLICATION || at == LINE_IN)
		*ticks = record->in_before + apart;
	else
		*ticks = record->out_before + wl_unit_longest(record, false) - apart;
}

static bool point(void *context, uint32_t index, struct wl_capture_point *about, struct wl_refusal *refusal)
{
	const struct wl_app *app = context;
	uint32_t count = app->point_count;
	uint8_t at;

	if (app->state == WL_RUNNING)
		return wl_refuse(refusal, "unsupported", "point", "the trial still runs");
	if (count == 0)
		return wl_refuse(refusal, "unsupported", "point",
				 "no captures were asked for, or none were taken");
	if (index >= count)
		return wl_refuse_limit(refusal, "point", count - 1);
	if (wl_app_has_unit(app)) {
		unit_point(app, index, about);
		return true;
	}
	at = app->points[index];
	*about = (struct wl_capture_point){
		.name = wl_capture_name_of(at),
		.points = count,
		.count = wl_capture_count(at),
		.tick_ps = app->config.tick_ps,
		.resolution_ticks = 1,
		.clock = WL_CLOCK_WALL,
		.stream = stream_at(app, at),
	};
	/* Frames beyond the requested number are not lost. */
	if (about->count < app->asked.captures)
		about->lost = wl_capture_lost(at);
	return true;
}

static void record_at(void *context, uint32_t index, uint32_t from, uint32_t *sequence, uint64_t *ticks)
{
	const struct wl_app *app = context;
	struct wl_record record = { 0 };

	if (index < app->point_count && wl_app_has_unit(app)) {
		unit_record(app, index, from, sequence, ticks);
		return;
	}
	if (index < app->point_count)
		wl_capture_read(app->points[index], from, &record);
	*sequence = record.sequence;
	*ticks = record.ticks;
}

const struct wl_node wl_app_node = {
	.setup = setup,
	.start = wl_app_start,
	.status = status,
	.stop = wl_app_stop,
	.counter = counter,
	.load = load,
	.point = point,
	.record = record_at,
};
