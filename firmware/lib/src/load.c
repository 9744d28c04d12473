/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CPU load from a calibrated idle loop. */
#include "wirelab/load.h"

#define MOST_PASSES (1u << 30)

bool wl_load_calibrate(struct wl_load *load, void (*pass)(void *context), void *context, uint64_t ticks)
{
	uint64_t took = 0;
	uint32_t rounds = 0;

	*load = (struct wl_load){ 0 };
	/* The clock is read once a batch, so that reading it does not slow down the measured loop. */
	for (uint32_t passes = 1; passes <= MOST_PASSES && took < ticks; passes *= 2) {
		wl_load_begin(load);
		for (uint32_t n = 0; n < passes; n++)
			pass(context);
		took = WL_CLOCK() - load->began_ticks;
		rounds = load->rounds - load->began_rounds;
	}
	if (took == 0 || rounds == 0)
		return false;
	load->calibrated_ticks = took;
	load->calibrated_rounds = rounds;
	wl_load_begin(load);
	return true;
}

void wl_load_begin(struct wl_load *load)
{
	load->began_rounds = load->rounds;
	load->began_ticks = WL_CLOCK();
}

bool wl_load_read(const struct wl_load *load, struct wl_load_figure *figure)
{
	return wl_load_read_until(load, load->rounds, WL_CLOCK(), figure);
}

bool wl_load_read_until(const struct wl_load *load, uint32_t rounds, uint64_t ticks,
			struct wl_load_figure *figure)
{
	uint32_t whole, rest;
	uint64_t idle;

	rounds -= load->began_rounds;
	figure->window_ticks = ticks - load->began_ticks;
	if (load->calibrated_rounds == 0 || figure->window_ticks == 0)
		return false;
	whole = rounds / load->calibrated_rounds;
	rest = rounds % load->calibrated_rounds;
	/* Two parts, so that the product stays within 64 bits. */
	idle = whole * load->calibrated_ticks + rest * load->calibrated_ticks / load->calibrated_rounds;
	/* A window may begin and end within a round, so idle may come out a little too long. */
	figure->busy_ticks = idle < figure->window_ticks ? figure->window_ticks - idle : 0;
	return true;
}
