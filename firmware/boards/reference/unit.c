/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The points of a frame's path by the capture units: clocks from the end of a frame on the line to the point, or from the point
 * to the first byte of a frame on the line. One unit takes one point; or three units take six points of each echoed frame, each
 * one on reception and then one on transmission.
 *
 * A point is one write to the bus (WL_MARK of wirelab_options.h). All else is done after the frame: the record is read and
 * given the frame's sequence. With more than one frame under way a record may be another frame's: it is dropped and counted as
 * lost, and so is a frame without a record.
 */
#include "reference.h"
#include "probes.h"
#include "wirelab/points.h"
#include "wl_app.h"
#include "wl_capture_unit.h"

#include <string.h>

#define PS_PER_TICK 10000u
#define CALIBRATIONS 4
#define UNITS 3

struct unit_mark unit_marks[WL_POINTS];
bool unit_takes_both, unit_on, unit_pending;

/* Each unit's driver for a received frame, and for a sent one. */
static struct wl_capture_unit in[UNITS], out[UNITS];
static struct {
	uint8_t point; /* of wl_point, or WL_POINTS for all */
	uint32_t most, count, missed[UNITS], cost_ticks, sequence;
	uint32_t skip; /* received frames without a record */
	uint64_t lost;
	bool test; /* of the frame whose record is pending */
} taken;
static struct wl_unit_record records[WL_UNIT_RECORDS];

static bool is_incoming(void)
{
	return taken.point <= WL_RX_APPLICATION;
}

/* The unit of the single point. */
static const struct wl_capture_unit *single(void)
{
	return is_incoming() ? &in[0] : &out[0];
}

/* Clocks from one mark to the next: the cost of a point, which is one write. */
static uint32_t calibrate(void)
{
	struct wl_capture_unit driver;
	uint32_t clocks = 0;

	wl_capture_unit_start(&driver, PLACE(capture), WL_EDGE_SOFTWARE, WL_EDGE_SOFTWARE);
	/* The first ones wait for the instruction cache. */
	for (unsigned n = 0; n < CALIBRATIONS; n++) {
		wl_capture_unit_rearm(&driver);
		wl_capture_unit_mark_start(&driver);
		wl_capture_unit_mark_stop(&driver);
		wl_capture_unit_rearm(&driver);
		while (!wl_capture_unit_take(&driver, &clocks))
			;
	}
	return clocks;
}

static void marks_off(void)
{
	unit_takes_both = unit_on = unit_pending = false;
	for (unsigned at = 0; at < WL_POINTS; at++)
		unit_marks[at].control = 0;
}

static void mark(unsigned at, const struct wl_capture_unit *driver, uint32_t value)
{
	unit_marks[at] = (struct unit_mark){ .control = &REGISTER(driver->control), .value = value };
}

/* Every unit takes received frames at first. */
static void start_units(void)
{
	static const uint32_t places[UNITS] = { PLACE(capture), PLACE(capture_2), PLACE(capture_3) };

	for (unsigned n = 0; n < UNITS; n++) {
		wl_capture_unit_start(&out[n], places[n], WL_EDGE_SOFTWARE, WL_EDGE_TRANSMITTING);
		wl_capture_unit_start(&in[n], places[n], WL_EDGE_RECEIVED, WL_EDGE_SOFTWARE);
	}
}

static void start(uint8_t point, uint32_t most)
{
	marks_off();
	memset(&taken, 0, sizeof taken);
	taken.point = point;
	taken.most = most;
	taken.cost_ticks = calibrate();
	start_units();
	unit_on = true;
	if (point == WL_POINTS) {
		for (unsigned n = 0; n < UNITS; n++) {
			mark(WL_RX_INTERRUPT + n, &in[n], in[n].stop);
			mark(WL_TX_APPLICATION + n, &out[n], out[n].start);
		}
		unit_takes_both = true;
		return;
	}
	if (!is_incoming())
		wl_capture_unit_start(&out[0], PLACE(capture), WL_EDGE_SOFTWARE, WL_EDGE_TRANSMITTING);
	mark(point, single(), is_incoming() ? in[0].stop : out[0].start);
}

static void stop(void)
{
	marks_off();
	for (unsigned n = 0; n < UNITS; n++)
		wl_capture_unit_stop(&in[n]);
}

void unit_again(void)
{
	if (unit_on && taken.point < WL_RX_APPLICATION)
		wl_capture_unit_rearm(&in[0]);
}

void unit_turn(void)
{
	for (unsigned n = 0; n < UNITS; n++)
		wl_capture_unit_rearm(&out[n]);
}

/* The next record, for the counts of a frame; 0 if all requested records are taken. */
static struct wl_unit_record *next_record(uint32_t sequence)
{
	struct wl_unit_record *next = &records[taken.count];

	if (taken.count == taken.most)
		return 0;
	*next = (struct wl_unit_record){ .sequence = sequence };
	if (taken.count > 0) {
		next->in_before = next[-1].in_before + wl_unit_longest(next - 1, true);
		next->out_before = next[-1].out_before + wl_unit_longest(next - 1, false);
	}
	taken.count++;
	return next;
}

/* Drops the records of a unit: a missed start may be of any of their frames. A count without an end is given up. */
static void drop_all(const struct wl_capture_unit *driver, uint32_t *missed)
{
	struct wl_capture_unit_state state;
	uint32_t clocks;

	wl_capture_unit_read(driver, &state);
	*missed = state.missed;
	while (wl_capture_unit_take(driver, &clocks))
		;
	if (state.is_busy)
		wl_capture_unit_stop(driver);
	wl_capture_unit_rearm(driver);
}

/* Whether a unit has so many records and has missed no start since the last check. */
static bool has(const struct wl_capture_unit *driver, uint32_t waiting, uint32_t missed)
{
	struct wl_capture_unit_state state;

	wl_capture_unit_read(driver, &state);
	return state.waiting >= waiting && state.missed == missed;
}

/* Takes the oldest record as this frame's. Returns whether there was one. */
static bool take(bool test, uint32_t sequence)
{
	struct wl_unit_record *record;
	uint32_t clocks = 0;

	if (!has(single(), 1, taken.missed[0])) {
		drop_all(single(), &taken.missed[0]);
		taken.lost += test;
		return false;
	}
	wl_capture_unit_take(single(), &clocks);
	record = test ? next_record(sequence) : 0;
	if (record != 0)
		record->ticks[taken.point] = clocks;
	return true;
}

/* Drops all records, so that the units wait for the next frame. */
static void begin_anew(void)
{
	for (unsigned n = 0; n < UNITS; n++)
		drop_all(&in[n], &taken.missed[n]);
}

/* Each unit has two records of an echoed frame. */
static void take_both(bool test, uint32_t sequence)
{
	struct wl_unit_record *record = 0;
	bool whole = true;

	for (unsigned n = 0; n < UNITS; n++)
		whole = whole && has(&out[n], 2, taken.missed[n]);
	taken.lost += test && !whole;
	if (whole && test)
		record = next_record(sequence);
	for (unsigned n = 0; record != 0 && n < UNITS; n++) {
		wl_capture_unit_take(&out[n], &record->ticks[WL_RX_INTERRUPT + n]);
		wl_capture_unit_take(&out[n], &record->ticks[WL_TX_APPLICATION + n]);
	}
	begin_anew();
}

void unit_received(bool test, uint32_t sequence, uint32_t queued)
{
	if (taken.point == WL_POINTS) {
		/* The frame was not echoed. */
		if (!unit_pending) {
			taken.lost += test;
			begin_anew();
		}
		return;
	}
	if (!is_incoming())
		return;
	if (taken.skip > 0) {
		taken.skip--;
		taken.lost += test;
		return;
	}
	if (taken.point == WL_RX_APPLICATION) {
		wl_capture_unit_rearm(&in[0]);
		take(test, sequence);
	} else if (!take(test, sequence)) {
		/* The records of the waiting frames were dropped with it. */
		taken.skip = queued;
	}
}

void unit_sent(const struct wl_piece *pieces, unsigned count)
{
	if (!unit_on || is_incoming())
		return;
	/* The previous frame can no longer get a record of its own. */
	if (unit_pending && taken.test)
		taken.lost++;
	unit_pending = true;
	taken.test = wl_probe_sequence(pieces, count, &taken.sequence);
}

void unit_look(void)
{
	struct wl_capture_unit_state state;

	wl_capture_unit_read(taken.point == WL_POINTS ? &out[UNITS - 1] : single(), &state);
	/* The frame is not on the line yet. */
	if (state.is_busy && state.waiting < (taken.point == WL_POINTS ? 2u : 1u))
		return;
	unit_pending = false;
	if (taken.point == WL_POINTS) {
		take_both(taken.test, taken.sequence);
		return;
	}
	wl_capture_unit_rearm(&out[0]);
	take(taken.test, taken.sequence);
}

static uint32_t count(void)
{
	return taken.count;
}

static uint64_t lost(void)
{
	return taken.lost;
}

static uint32_t cost_ticks(void)
{
	return taken.cost_ticks;
}

static const struct wl_unit_record *record_at(uint32_t index)
{
	return &records[index];
}

const struct wl_unit unit = {
	.tick_ps = PS_PER_TICK,
	.start = start,
	.stop = stop,
	.count = count,
	.lost = lost,
	.cost_ticks = cost_ticks,
	.record = record_at,
};
