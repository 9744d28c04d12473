/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cost of functions between WL_ENTER and WL_LEAVE, and of a capture point itself. */
#include "wirelab/capture.h"

#if WL_CAPTURE

struct call {
	uint64_t began;
	uint64_t nested; /* ticks of the calls inside */
	uint8_t point;
};

/* Close the innermost call with this record; its ticks count as nested in its caller. */
static void leave(struct call *stack, uint32_t depth, const struct wl_record *record, uint8_t point,
		  struct wl_cost *cost)
{
	struct call *call = &stack[depth];
	uint64_t total = record->ticks - call->began;
	uint64_t own = total - call->nested;

	if (depth > 0)
		stack[depth - 1].nested += total;
	if (call->point != point)
		return;
	if (cost->calls == 0 || own < cost->least_own_ticks)
		cost->least_own_ticks = own;
	cost->calls++;
	cost->total_ticks += total;
	cost->own_ticks += own;
}

void wl_capture_cost(uint8_t point, struct wl_cost *cost)
{
	struct call stack[WL_CAPTURE_DEPTH];
	struct wl_record next;
	uint32_t depth = 0;

	*cost = (struct wl_cost){ 0 };
	for (uint32_t index = 0; wl_capture_at(index, &next); index++) {
		const struct wl_record *record = &next;

		if (record->kind == WL_CAPTURE_ENTER && depth < WL_CAPTURE_DEPTH) {
			stack[depth++] = (struct call){ .began = record->ticks, .point = record->point };
		} else if (record->kind == WL_CAPTURE_LEAVE && depth > 0 &&
			   stack[depth - 1].point == record->point) {
			leave(stack, --depth, record, point, cost);
		} else if (record->kind != WL_CAPTURE_POINT) {
			/* The other record is missing, so the calls around it are unknown. */
			cost->unmatched++;
			depth = 0;
		}
	}
	cost->unmatched += depth;
}

uint64_t wl_capture_overhead(void)
{
	uint64_t least = UINT64_MAX;

	wl_capture_start(2);
	for (int round = 0; round < 16; round++) {
		struct wl_record first = { 0 }, second = { 0 };
		uint64_t ticks;

		WL_POINT(0, 0);
		WL_POINT(0, 1);
		wl_capture_at(0, &first);
		wl_capture_at(1, &second);
		ticks = second.ticks - first.ticks;
		if (ticks < least)
			least = ticks;
		wl_capture_start(2);
	}
	wl_capture_start(0);
	return least;
}

#else

/* An empty file is not C. */
typedef int wl_capture_cost_is_off;

#endif
