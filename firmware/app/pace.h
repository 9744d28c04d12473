/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When each frame of a paced sender is due, in absolute times. A late sender catches up, except after a pause: ten intervals,
 * at least 20 us. The rules are those of Pacer in crates/trial.
 */
#ifndef WIRELAB_APP_PACE_H
#define WIRELAB_APP_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct wl_pace {
	uint64_t due_ticks; /* of the next frame */
	uint64_t interval_ticks; /* 0, with interval_ps 0: the highest rate */
	uint64_t pause_ticks;
	uint64_t slips; /* how often the schedule was moved */
	uint64_t slipped_ticks; /* by this much in total */
	uint32_t tick_ps;
	uint32_t interval_ps; /* beyond interval_ticks, less than a tick */
	uint32_t due_ps; /* beyond due_ticks, less than a tick */
};

/* The first frame is due at `start_ticks`. */
void wl_pace_init(struct wl_pace *pace, uint64_t start_ticks, uint64_t interval_ps, uint32_t tick_ps);

static inline bool wl_pace_is_set(const struct wl_pace *pace)
{
	return (pace->interval_ticks | pace->interval_ps) != 0;
}

/* The next frame starts now. */
void wl_pace_start(struct wl_pace *pace, uint64_t now_ticks);

/* Time in ps of so many bits at 1 to 10^13 bit/s; UINT64_MAX beyond 10^6 s. */
uint64_t wl_pace_bits_ps(uint64_t bits, uint64_t bits_per_s);

#endif
