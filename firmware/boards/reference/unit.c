/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One point of the way, taken by the capture unit: clocks from the end of a frame on the line to the point, or from the
 * point to the first byte of a frame on the line.
 *
 * A point is one write to the bus (WL_MARK of wirelab_options.h). All else is done when the frame is through: the record is
 * read and given the frame's sequence. A record that may be of another frame, since more than one was under way, is lost
 * and counted, and so is a frame without a record.
 */
#include "reference.h"
#include "probes.h"
#include "wirelab/points.h"
#include "wl_app.h"
#include "wl_capture_unit.h"

#define OFF WL_POINTS
#define PS_PER_TICK 10000u
#define CALIBRATIONS 4

struct unit_mark unit_mark = { .point = OFF };

static struct wl_capture_unit driver;
static struct {
	uint32_t most, count, missed, cost_ticks, sequence;
	uint32_t skip; /* received frames whose record is gone */
	uint64_t lost;
	bool incoming;
	bool pending, test; /* a frame was given to the MAC, and its record has not been looked for yet */
	uint32_t sequences[WL_UNIT_RECORDS];
	uint64_t totals[WL_UNIT_RECORDS];
} taken;

/* Clocks from one mark to the next: the write that each point is. */
static uint32_t calibrate(void)
{
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

static void start(uint8_t point, uint32_t records)
{
	bool incoming = point <= WL_RX_APPLICATION;

	unit_mark.point = OFF;
	taken.most = records;
	taken.count = 0;
	taken.lost = 0;
	taken.missed = 0;
	taken.skip = 0;
	taken.pending = false;
	taken.incoming = incoming;
	taken.cost_ticks = calibrate();
	wl_capture_unit_start(&driver, PLACE(capture), incoming ? WL_EDGE_RECEIVED : WL_EDGE_SOFTWARE,
			      incoming ? WL_EDGE_SOFTWARE : WL_EDGE_TRANSMITTING);
	unit_mark.control = &REGISTER(driver.control);
	unit_mark.value = incoming ? driver.stop : driver.start;
	unit_mark.point = point;
}

static void stop(void)
{
	unit_mark.point = OFF;
	wl_capture_unit_stop(&driver);
}

bool unit_is_on(void)
{
	return unit_mark.point != OFF;
}

void unit_again(void)
{
	if (unit_mark.point < WL_RX_APPLICATION)
		wl_capture_unit_rearm(&driver);
}

/* A count that nothing will end is given up. */
static void give_up(void)
{
	wl_capture_unit_stop(&driver);
	wl_capture_unit_rearm(&driver);
}

static void keep(uint32_t sequence, uint32_t clocks)
{
	if (taken.count == taken.most)
		return;
	taken.sequences[taken.count] = sequence;
	taken.totals[taken.count] = clocks + (taken.count > 0 ? taken.totals[taken.count - 1] : 0);
	taken.count++;
}

/* All records that wait are nobody's: a start that the unit missed may be of any of their frames. */
static void drop_all(const struct wl_capture_unit_state *state)
{
	uint32_t clocks;

	taken.missed = state->missed;
	while (wl_capture_unit_take(&driver, &clocks))
		;
	if (state->is_busy)
		give_up();
}

/* The oldest record is this frame's. Whether it had one. */
static bool take(bool test, uint32_t sequence)
{
	struct wl_capture_unit_state state;
	uint32_t clocks;

	wl_capture_unit_read(&driver, &state);
	if (state.waiting == 0 || state.missed != taken.missed) {
		drop_all(&state);
		taken.lost += test;
		return false;
	}
	wl_capture_unit_take(&driver, &clocks);
	if (test)
		keep(sequence, clocks);
	return true;
}

void unit_received(bool test, uint32_t sequence, uint32_t queued)
{
	if (!taken.incoming)
		return;
	if (taken.skip > 0) {
		taken.skip--;
		taken.lost += test;
		return;
	}
	if (unit_mark.point == WL_RX_APPLICATION) {
		wl_capture_unit_rearm(&driver);
		take(test, sequence);
	} else if (!take(test, sequence)) {
		/* Those of the frames that wait for the main loop went with it. */
		taken.skip = queued;
	}
}

void unit_sent(const struct wl_piece *pieces, unsigned count)
{
	if (!unit_is_on() || taken.incoming)
		return;
	/* The frame before has no record of its own any more. */
	if (taken.pending && taken.test)
		taken.lost++;
	taken.pending = true;
	taken.test = wl_probe_sequence(pieces, count, &taken.sequence);
}

void unit_poll(void)
{
	struct wl_capture_unit_state state;

	if (!unit_is_on() || !taken.pending)
		return;
	wl_capture_unit_read(&driver, &state);
	/* The frame has not begun on the line yet. */
	if (state.waiting == 0 && state.is_busy)
		return;
	wl_capture_unit_rearm(&driver);
	taken.pending = false;
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

static void record(uint32_t index, uint32_t *sequence, uint64_t *total_ticks)
{
	*sequence = taken.sequences[index];
	*total_ticks = taken.totals[index];
}

const struct wl_unit unit = {
	.tick_ps = PS_PER_TICK,
	.start = start,
	.stop = stop,
	.count = count,
	.lost = lost,
	.cost_ticks = cost_ticks,
	.record = record,
};
