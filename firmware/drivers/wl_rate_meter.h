/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the rate meter (docs/blocks/rate_meter.md): the periods of frames at a point of a port.
 *
 * `base` is the address of the block's registers: those of a port's rate meter are at wl_port_rate(port).
 *
 *     wl_rate_meter_start(base, WL_PROBE_LINE_OUT, 0);
 *     …
 *     wl_rate_meter_read(base, &periods);     (mean: periods.total_ticks / periods.count)
 */
#ifndef WIRELAB_RATE_METER_H
#define WIRELAB_RATE_METER_H

#include <stdbool.h>
#include <stdint.h>

enum wl_probe {
	WL_PROBE_STREAM_OUT, /* the generator's stream, before the MAC */
	WL_PROBE_LINE_OUT, /* the line's transmit enable */
	WL_PROBE_STREAM_IN, /* the MAC's receive stream */
	WL_PROBE_LINE_IN, /* the line's receive enable */
};

enum wl_rate_meter_option {
	WL_RATE_AT_LAST = 1 << 0, /* of a stream: from last byte to last byte instead of first to first */
	WL_RATE_SLOW = 1 << 1, /* four clocks in five are a tick: at 125 MHz a probe of 100 MHz */
};

struct wl_periods {
	uint32_t count;
	uint32_t last_ticks;
	uint32_t shortest_ticks; /* all ones if there is none */
	uint32_t longest_ticks;
	uint64_t total_ticks;
	bool has_overflown; /* sticky: a period of 2^32 - 1 ticks or more, or count or total overflowed */
};

/* Forget the measured periods and watch a probe; `options` of wl_rate_meter_option. */
void wl_rate_meter_start(uintptr_t base, enum wl_probe probe, unsigned options);

/* Stop watching; the results stay. */
void wl_rate_meter_stop(uintptr_t base);

/* The results. Each is read at its own moment, so stop first while frames still arrive. */
void wl_rate_meter_read(uintptr_t base, struct wl_periods *periods);

#endif
