/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the capture unit. */
#include "wl_capture_unit.h"

#include "fields.h"

#define CONTROL(name, value) FIELD(CAPTURE_REGISTERS__CONTROL__##name, value)

void wl_capture_unit_start(struct wl_capture_unit *unit, uintptr_t base, enum wl_edge start,
			   enum wl_edge stop)
{
	uint32_t edges = CONTROL(START, start) | CONTROL(STOP, stop);

	unit->base = base;
	unit->control = AT(base, capture, control);
	unit->idle = edges | CONTROL(ENABLE, 1);
	unit->start = unit->idle | CONTROL(SOFTWARE_START, 1);
	unit->stop = unit->idle | CONTROL(SOFTWARE_STOP, 1);
	/* Selecting an edge may cause one, so its record is cleared before any is read. */
	wl_register_write(unit->control, edges);
	wl_register_write(unit->control, edges | CONTROL(CLEAR, 1));
	wl_capture_unit_rearm(unit);
}

void wl_capture_unit_stop(const struct wl_capture_unit *unit)
{
	wl_register_write(unit->control, unit->idle & ~CONTROL(ENABLE, 1));
}

bool wl_capture_unit_take(const struct wl_capture_unit *unit, uint32_t *clocks)
{
	if (VALUE(READ(unit->base, capture, status), CAPTURE_REGISTERS__STATUS__WAITING) == 0)
		return false;
	*clocks = READ(unit->base, capture, oldest);
	return true;
}

void wl_capture_unit_read(const struct wl_capture_unit *unit, struct wl_capture_unit_state *state)
{
	uint32_t status = READ(unit->base, capture, status);

	state->waiting = VALUE(status, CAPTURE_REGISTERS__STATUS__WAITING);
	state->missed = READ(unit->base, capture, missed);
	state->is_busy = VALUE(status, CAPTURE_REGISTERS__STATUS__BUSY) != 0;
	state->has_overflown = VALUE(status, CAPTURE_REGISTERS__STATUS__OVERFLOW) != 0;
	state->has_saturated = VALUE(status, CAPTURE_REGISTERS__STATUS__SATURATED) != 0;
}
