/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CPU load: the rounds of the idle loop, compared with those of a loop with nothing to do.
 *
 *     wl_load_calibrate(&load, pass, 0, hz / 10);   at start, interrupts quiet
 *     for (;;) pass(0);                             pass() polls everything, then calls wl_load_idle(&load)
 *
 * It needs no timer interrupt and no hook in a scheduler, and it includes interrupts, which reduce the rounds. A pass that did
 * work must not call wl_load_idle.
 */
#ifndef WIRELAB_LOAD_H
#define WIRELAB_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "wirelab/options.h"

struct wl_load {
	volatile uint32_t rounds; /* idle rounds, modulo 2^32 */
	uint32_t calibrated_rounds;
	uint64_t calibrated_ticks;
	uint32_t began_rounds;
	uint64_t began_ticks;
};

struct wl_load_figure {
	uint64_t busy_ticks;
	uint64_t window_ticks;
};

/* One idle round. */
static inline void wl_load_idle(struct wl_load *load)
{
	load->rounds = load->rounds + 1;
}

/* Run `pass` alone for about `ticks`, at most eight times as long. False, without a figure, if the clock stands still or the
 * pass was never idle. */
bool wl_load_calibrate(struct wl_load *load, void (*pass)(void *context), void *context, uint64_t ticks);

/* Begin a window. */
void wl_load_begin(struct wl_load *load);

/* The window so far, up to 2^32 idle rounds. False before calibration, or if no time has passed. */
bool wl_load_read(const struct wl_load *load, struct wl_load_figure *figure);

/* The window up to an earlier moment, with its `load->rounds` and clock: a trial ends with its last frame, but only later it is
 * known to be the last. */
bool wl_load_read_until(const struct wl_load *load, uint32_t rounds, uint64_t ticks,
			struct wl_load_figure *figure);

#endif
