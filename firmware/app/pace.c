/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The schedule of a paced sender. */
#include "pace.h"

#define LEAST_PAUSE_PS 20000000u
#define PAUSE_INTERVALS 10u
#define PS_PER_S 1000000000000u
#define MOST_S 1000000u

void wl_pace_init(struct wl_pace *p, uint64_t start_ticks, uint64_t interval_ps, uint32_t tick_ps)
{
	uint64_t pause_ps =
		interval_ps < UINT64_MAX / PAUSE_INTERVALS ? PAUSE_INTERVALS * interval_ps : UINT64_MAX;

	*p = (struct wl_pace){
		.due_ticks = start_ticks,
		.interval_ticks = interval_ps / tick_ps,
		.interval_ps = (uint32_t)(interval_ps % tick_ps),
		.pause_ticks = (pause_ps > LEAST_PAUSE_PS ? pause_ps : LEAST_PAUSE_PS) / tick_ps,
		.tick_ps = tick_ps,
	};
}

void wl_pace_start(struct wl_pace *p, uint64_t now_ticks)
{
	uint64_t late = now_ticks > p->due_ticks ? now_ticks - p->due_ticks : 0;

	if (!wl_pace_is_set(p)) {
		p->due_ticks = now_ticks;
		return;
	}
	if (late > p->pause_ticks) {
		p->slips++;
		p->slipped_ticks += late;
		p->due_ticks = now_ticks;
	}
	p->due_ticks += p->interval_ticks;
	p->due_ps += p->interval_ps;
	if (p->due_ps >= p->tick_ps) {
		p->due_ps -= p->tick_ps;
		p->due_ticks++;
	}
}

uint64_t wl_pace_bits_ps(uint64_t bits, uint64_t rate)
{
	uint64_t whole_s, rest, whole_us;

	if (rate == 0 || bits / rate > MOST_S)
		return UINT64_MAX;
	whole_s = bits / rate;
	/* In two steps of 10^6, so that products stay within 64 bits. */
	rest = bits % rate * 1000000u;
	whole_us = rest / rate;
	rest = rest % rate * 1000000u;
	return whole_s * PS_PER_S + whole_us * 1000000u + rest / rate;
}
