/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the capture unit (docs/blocks/capture_unit.md): clocks from one edge to another, 512 records.
 *
 * `base` is the address of the block's registers: those of a port's capture unit are at wl_port_capture(port). A software point
 * costs one write to the bus; the start of the unit prepares the words.
 *
 *     wl_capture_unit_start(&unit, base, WL_EDGE_RECEIVED, WL_EDGE_SOFTWARE);
 *     …
 *     wl_capture_unit_mark_stop(&unit);       (at the point to be timed)
 *     wl_capture_unit_rearm(&unit);           (later, outside of the timed section)
 *     …
 *     while (wl_capture_unit_take(&unit, &clocks)) …
 */
#ifndef WIRELAB_CAPTURE_UNIT_H
#define WIRELAB_CAPTURE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "wl_registers.h"

enum { WL_CAPTURE_UNIT_RECORDS = 512 };

enum wl_edge {
	WL_EDGE_SOFTWARE, /* wl_capture_unit_mark_start and wl_capture_unit_mark_stop */
	WL_EDGE_RECEIVING, /* the line's receive enable rises */
	WL_EDGE_RECEIVED, /* … and falls */
	WL_EDGE_TRANSMITTING, /* the line's transmit enable rises */
	WL_EDGE_WANTED, /* the packet identifier wants the frame */
};

struct wl_capture_unit {
	uintptr_t base;
	uintptr_t control;
	/* The control words, each for a single write. */
	uint32_t idle;
	uint32_t start;
	uint32_t stop;
};

struct wl_capture_unit_state {
	uint32_t waiting; /* records */
	uint32_t missed; /* starts while a count ran, which goes on from its first start */
	bool is_busy; /* a count runs */
	bool has_overflown; /* sticky: a record did not fit and is lost */
	bool has_saturated; /* sticky: a record, or missed, reached 2^32 - 1 */
};

/* Forget all records and count from each `start` to the next `stop`. */
void wl_capture_unit_start(struct wl_capture_unit *unit, uintptr_t base, enum wl_edge start,
			   enum wl_edge stop);

/* Stop counting; the records stay. */
void wl_capture_unit_stop(const struct wl_capture_unit *unit);

/* Take the oldest record, in clocks; false if there is none. */
bool wl_capture_unit_take(const struct wl_capture_unit *unit, uint32_t *clocks);

/* The state of the unit. */
void wl_capture_unit_read(const struct wl_capture_unit *unit, struct wl_capture_unit_state *state);

/* The software edges that start and stop a count: one write to the bus each. */
static inline void wl_capture_unit_mark_start(const struct wl_capture_unit *unit)
{
	wl_register_write(unit->control, unit->start);
}

static inline void wl_capture_unit_mark_stop(const struct wl_capture_unit *unit)
{
	wl_register_write(unit->control, unit->stop);
}

/* Set both levels back to 0, so that the next mark is an edge again. Between a start and its stop this is not needed. */
static inline void wl_capture_unit_rearm(const struct wl_capture_unit *unit)
{
	wl_register_write(unit->control, unit->idle);
}

#endif
