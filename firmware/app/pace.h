/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When each frame of a paced sender is due: absolute times, late where it must be; a pause is never caught up with.
 * The rules are those of Pacer in crates/trial; a pause is ten intervals, and 20 us at least.
 */
#ifndef WIRELAB_APP_PACE_H
#define WIRELAB_APP_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct wl_pace {
	uint64_t due_ticks; /* of the next frame */
	uint64_t interval_ticks; /* with interval_ps 0: as fast as can be */
	uint64_t pause_ticks;
	uint64_t slips; /* how often the schedule was moved */
	uint64_t slipped_ticks; /* by how much in all */
	uint32_t tick_ps;
	uint32_t interval_ps; /* beyond interval_ticks, less than a tick */
	uint32_t due_ps; /* beyond due_ticks, less than a tick */
};

/* The first frame is due at `start_ticks`. */
void wl_pace_init(struct wl_pace *pace, uint64_t start_ticks, uint64_t interval_ps, uint32_t tick_ps);

/* Whether there is a pace at all. */
static inline bool wl_pace_is_set(const struct wl_pace *pace)
{
	return (pace->interval_ticks | pace->interval_ps) != 0;
}

/* The next frame starts now. */
void wl_pace_start(struct wl_pace *pace, uint64_t now_ticks);

/* Time in ps of so many bits at a rate of 1 to 10^13 bit/s, or the greatest number. */
uint64_t wl_pace_bits_ps(uint64_t bits, uint64_t bits_per_s);

#endif
