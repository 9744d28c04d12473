/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The blaster's schedule: when the next frame is due, and what happens when the driver is full or time was lost. */
#include "wirelab/blast.h"

#define PS_PER_S 1000000000000u

void wl_blast_begin(struct wl_blast *blast, uint64_t now)
{
	blast->sent = 0;
	blast->full = 0;
	blast->slips = 0;
	blast->slipped_ticks = 0;
	blast->first_ticks = now;
	blast->last_ticks = now;
	blast->due_ticks = now;
	blast->due_fraction = 0;
	blast->stopped = false;
	blast->waiting = 0;
}

void wl_blast_stop(struct wl_blast *blast)
{
	blast->stopped = true;
	blast->waiting = 0;
}

bool wl_blast_done(const struct wl_blast *blast)
{
	return blast->stopped || (blast->frames > 0 && blast->sent >= blast->frames);
}

/* A clock may wrap: less than half its range ahead is the future. */
static bool is_due(const struct wl_blast *blast, uint64_t now)
{
	return (int64_t)(now - blast->due_ticks) >= 0;
}

static void move_schedule(struct wl_blast *blast, uint64_t now)
{
	uint64_t late = now - blast->due_ticks;

	if (blast->patience_ticks == 0 || late <= blast->patience_ticks)
		return;
	blast->slips++;
	blast->slipped_ticks += late;
	blast->due_ticks = now;
}

static void took(struct wl_blast *blast, uint64_t now)
{
	uint32_t fraction = blast->due_fraction + blast->interval_fraction;

	blast->due_ticks += blast->interval_ticks + (fraction < blast->due_fraction);
	blast->due_fraction = fraction;
	blast->waiting = 0;
	if (blast->sent++ == 0)
		blast->first_ticks = now;
	blast->last_ticks = now;
}

unsigned wl_blast_poll(struct wl_blast *blast, uint64_t now, unsigned most)
{
	bool paced = blast->interval_ticks > 0 || blast->interval_fraction > 0;
	unsigned count = 0;

	if (paced && is_due(blast, now))
		move_schedule(blast, now);
	for (; count < most && !wl_blast_done(blast) && (!paced || is_due(blast, now)); count++) {
		if (!blast->waiting)
			blast->waiting = blast->next(blast->next_context, blast->sent, &blast->waiting_bytes);
		if (!blast->send(blast->send_context, blast->waiting, blast->waiting_bytes)) {
			blast->full++;
			break;
		}
		took(blast, now);
	}
	return count;
}

void wl_blast_pace(struct wl_blast *blast, uint64_t milliframes_per_s, uint64_t tick_ps)
{
	uint64_t ps, rest;

	blast->interval_ticks = 0;
	blast->interval_fraction = 0;
	if (milliframes_per_s == 0 || tick_ps == 0 || tick_ps > UINT32_MAX)
		return;
	ps = PS_PER_S * 1000 / milliframes_per_s;
	rest = PS_PER_S * 1000 % milliframes_per_s;
	/* The rest of a ps, in 2^-32; ignored above 4 million frames a second. */
	rest = rest < UINT32_MAX ? (rest << 32) / milliframes_per_s : 0;
	blast->interval_ticks = ps / tick_ps;
	blast->interval_fraction = (uint32_t)(((ps % tick_ps << 32) + rest) / tick_ps);
}
