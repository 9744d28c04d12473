/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the packet checker. */
#include "wl_checker.h"

#include "fields.h"

#define CONTROL(name, value) FIELD(CHECKER_REGISTERS__CONTROL__##name, value)

/* The size of the sequence window (spec/test-frame.md). */
enum { MOST_SLOTS = 4096 };

bool wl_checker_start(uintptr_t base, const struct wl_checker_flow *flow)
{
	uint32_t control = CONTROL(SOURCE_KNOWN, flow->has_source) | CONTROL(STREAM_KNOWN, flow->has_stream);

	/* The flow may change only between frames, so none is judged meanwhile. */
	wl_checker_stop(base);
	if (flow->slots > MOST_SLOTS)
		return false;
	WRITE(base, checker, slots, flow->slots);
	write_mac(AT(base, checker, source), flow->source);
	WRITE(base, checker, flow,
	      FIELD(CHECKER_REGISTERS__FLOW__UDP_PORT, flow->udp_port) |
		      FIELD(CHECKER_REGISTERS__FLOW__STREAM, flow->stream));
	WRITE(base, checker, control, control | CONTROL(CLEAR, 1));
	WRITE(base, checker, control, control | CONTROL(ENABLE, 1));
	return true;
}

bool wl_checker_ready(uintptr_t base)
{
	return (READ(base, checker, status) & CHECKER_REGISTERS__STATUS__CHECKING_bm) != 0;
}

void wl_checker_stop(uintptr_t base)
{
	WRITE(base, checker, control, READ(base, checker, control) & ~CONTROL(ENABLE, 1));
}

void wl_checker_read(uintptr_t base, struct wl_checker_counts *counts)
{
	uint32_t status = READ(base, checker, status);

	counts->good = READ(base, checker, good);
	counts->header_corrupt = READ(base, checker, header_corrupt);
	counts->truncated = READ(base, checker, truncated);
	counts->stale = READ(base, checker, stale);
	counts->corrupted = READ(base, checker, corrupted);
	counts->foreign = READ(base, checker, foreign);
	counts->distinct = READ(base, checker, distinct);
	counts->duplicated = READ(base, checker, duplicated);
	counts->reordered = READ(base, checker, reordered);
	counts->too_late = READ(base, checker, too_late);
	counts->lost = READ(base, checker, lost);
	counts->next_sequence = READ(base, checker, next_sequence);
	counts->order_breaks = READ(base, checker, order_breaks);
	counts->mixed = READ(base, checker, mixed);
	counts->bad_fcs = READ(base, checker, bad_fcs);
	counts->damaged = READ(base, checker, damaged);
	counts->verified_bytes = READ_WIDE(base, checker, verified_bytes);
	counts->has_times = (status & CHECKER_REGISTERS__STATUS__TIMES_bm) != 0;
	counts->first_ns = READ_WIDE(base, checker, first_time);
	counts->last_ns = READ_WIDE(base, checker, last_time);
	counts->overflow = (uint16_t)READ(base, checker, overflow);
	counts->has_missed_stale = (status & CHECKER_REGISTERS__STATUS__SEARCH_OVERRUN_bm) != 0;
}
