/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums of the cost of lwIP's functions, in total and alone. */
#include "probes_perf.h"

#include "wirelab/options.h"

#define STAGES 4

/* Ticks of nested calls that have ended, within the current call. */
static uint64_t nested_ticks;
static struct wl_perf stages[STAGES];

struct wl_perf_begin wl_perf_start(void)
{
	struct wl_perf_begin begin = { .nested_ticks = nested_ticks };

	nested_ticks = 0;
	begin.ticks = WL_CLOCK();
	return begin;
}

/* Equal literals of several files may have different addresses. */
static struct wl_perf *find(const char *stage)
{
	for (unsigned n = 0; n < STAGES; n++) {
		const char *one = stage, *other = stages[n].stage;

		if (!other) {
			stages[n].stage = stage;
			return &stages[n];
		}
		while (*one && *one == *other)
			one++, other++;
		if (*one == *other)
			return &stages[n];
	}
	return 0;
}

void wl_perf_stop(const struct wl_perf_begin *begin, const char *stage)
{
	uint64_t total = WL_CLOCK() - begin->ticks;
	uint64_t own = total > nested_ticks ? total - nested_ticks : 0;
	struct wl_perf *perf = find(stage);

	nested_ticks = begin->nested_ticks + total;
	if (!perf)
		return;
	if (perf->calls == 0 || own < perf->least_own_ticks)
		perf->least_own_ticks = own;
	perf->calls++;
	perf->total_ticks += total;
	perf->own_ticks += own;
}

const struct wl_perf *wl_perf_read(unsigned index)
{
	return index < STAGES && stages[index].stage ? &stages[index] : 0;
}

void wl_perf_clear(void)
{
	for (unsigned n = 0; n < STAGES; n++)
		stages[n] = (struct wl_perf){ 0 };
	nested_ticks = 0;
}
