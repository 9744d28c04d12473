/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the rate meter. */
#include "wl_rate_meter.h"

#include "fields.h"

#define CONTROL(name, value) FIELD(RATE_REGISTERS__CONTROL__##name, value)

void wl_rate_meter_start(uintptr_t base, enum wl_probe probe, unsigned options)
{
	uint32_t control = CONTROL(PROBE, probe) | CONTROL(AT_LAST, (options & WL_RATE_AT_LAST) != 0) |
			   CONTROL(SLOW, (options & WL_RATE_SLOW) != 0);

	WRITE(base, rate, control, control);
	WRITE(base, rate, control, control | CONTROL(CLEAR, 1));
	WRITE(base, rate, control, control | CONTROL(ENABLE, 1));
}

void wl_rate_meter_stop(uintptr_t base)
{
	WRITE(base, rate, control, READ(base, rate, control) & ~CONTROL(ENABLE, 1));
}

void wl_rate_meter_read(uintptr_t base, struct wl_periods *periods)
{
	periods->count = READ(base, rate, periods);
	periods->last_ticks = READ(base, rate, last_period);
	periods->shortest_ticks = READ(base, rate, shortest);
	periods->longest_ticks = READ(base, rate, longest);
	periods->total_ticks = READ_WIDE(base, rate, total);
	periods->has_overflown = READ(base, rate, status) != 0;
}
