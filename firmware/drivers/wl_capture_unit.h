/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the capture unit (docs/blocks/capture_unit.md): clocks from one edge to another, 512 records.
 *
 * `base` is the address of the block's registers: those of a port's capture unit are at wl_port_capture(port). A point
 * of software costs one write to the bus, whose words are made ready when the unit is started.
 *
 *     wl_capture_unit_start(&unit, base, WL_EDGE_RECEIVED, WL_EDGE_SOFTWARE);
 *     …
 *     wl_capture_unit_mark_stop(&unit);       (where the time is to be taken)
 *     wl_capture_unit_rearm(&unit);           (later, where it costs nothing that is measured)
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
	/* The words of control for each that is to be done by a single write. */
	uint32_t idle;
	uint32_t start;
	uint32_t stop;
};

struct wl_capture_unit_state {
	uint32_t waiting; /* records */
	uint32_t missed; /* starts while a count ran, which goes on from its first start */
	bool is_busy; /* a count runs */
	bool has_overflown; /* sticky: a record found no place and is lost */
	bool has_saturated; /* sticky: a record stayed at 2^32 - 1, or missed did */
};

/* Forget all records and count from each `start` to the next `stop`. */
void wl_capture_unit_start(struct wl_capture_unit *unit, uintptr_t base, enum wl_edge start,
			   enum wl_edge stop);

/* Count no more; the records stay. */
void wl_capture_unit_stop(const struct wl_capture_unit *unit);

/* The oldest record in clocks, taken out; false where none waits. */
bool wl_capture_unit_take(const struct wl_capture_unit *unit, uint32_t *clocks);

/* What the unit has seen. */
void wl_capture_unit_read(const struct wl_capture_unit *unit, struct wl_capture_unit_state *state);

/* The edge of software that starts, and the one that stops: one write to the bus each. */
static inline void wl_capture_unit_mark_start(const struct wl_capture_unit *unit)
{
	wl_register_write(unit->control, unit->start);
}

static inline void wl_capture_unit_mark_stop(const struct wl_capture_unit *unit)
{
	wl_register_write(unit->control, unit->stop);
}

/* Both levels back to 0, so that the next mark is an edge again. A start that is followed by a stop needs none between. */
static inline void wl_capture_unit_rearm(const struct wl_capture_unit *unit)
{
	wl_register_write(unit->control, unit->idle);
}

#endif
