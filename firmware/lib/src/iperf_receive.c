/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Received datagrams of iperf 2: sequence numbers, losses and jitter, without a division. */
#include "iperf_flow.h"

/* A transit time that changes by a second (in 1/16 us) is a step of the sender's clock, not jitter. */
#define STEP 16000000
/* The sender's seconds are compared only within this distance. */
#define NEAR_S 60

static void take_stamp(const struct wl_iperf *it, struct wl_iperf_rx *rx, const uint8_t *bytes)
{
	uint32_t s = wl_be32(bytes + 4), us = wl_be32(bytes + 8), moved_s = s - rx->stamp_s;

	if (rx->stamped && moved_s + NEAR_S <= 2 * NEAR_S) {
		uint32_t ticks = (uint32_t)(it->now - rx->last);
		uint32_t here = (uint32_t)((uint64_t)ticks * it->us_per_tick_part >> 28) +
				(ticks * it->us_per_tick << 4);
		uint32_t there = (moved_s * 1000000 + us - rx->stamp_us) << 4;
		uint32_t change = here - there;

		if (change & 0x80000000u)
			change = 0 - change;
		/* RFC 3550, A.8, in 1/256 us. */
		if (change < STEP)
			rx->jitter += change - ((rx->jitter + 8) >> 4);
	}
	rx->stamp_s = s;
	rx->stamp_us = us;
	rx->stamped = true;
}

bool wl_iperf_take(const struct wl_iperf *it, struct wl_iperf_flow *f, const uint8_t *bytes, size_t count)
{
	struct wl_iperf_rx *rx = &f->rx;
	uint32_t low = wl_be32(bytes), high;
	uint64_t id;
	bool is_final;

	if ((f->layout & LAYOUT_WIDE) != 0) {
		if (count < WIDE_BYTES)
			return false;
		high = wl_be32(bytes + 12);
	} else {
		/* 2.0.10 to 2.0.13 set the top bit of the last number; nobody sends 2^30 datagrams with narrow ones. */
		if (low >> 30 == 2)
			low = 0x80000000u - low;
		high = low & 0x80000000u ? UINT32_MAX : 0;
	}
	is_final = (high & 0x80000000u) != 0;
	if (f->receiving != RX_DATA)
		return is_final;
	id = (uint64_t)high << 32 | low;
	if (is_final)
		id = 0 - id;
	else
		take_stamp(it, rx, bytes);
	rx->bytes += count;
	rx->last = it->now;
	if (id < rx->next) {
		rx->out_of_order++;
	} else {
		if (id != rx->next) {
			/* A copy of the header alone, which 2.0.13 sends before its data, has no number. */
			if (high == FILLING_AT_12)
				return false;
			rx->lost += id - rx->next;
		}
		rx->next = id + 1;
	}
	return is_final;
}

/* Not inline, because a call is smaller. */

uint64_t wl_iperf_us(const struct wl_iperf *it, uint64_t ticks)
{
	uint32_t part = it->us_per_tick_part;

	return ticks * it->us_per_tick + (ticks >> 32) * part + ((uint64_t)(uint32_t)ticks * part >> 32);
}

uint64_t wl_iperf_later(const struct wl_iperf *it, uint64_t than, uint32_t ms)
{
	return than + ms * 1000000000ull / it->tick_ps;
}

void wl_iperf_receive(struct wl_iperf *it, struct wl_iperf_flow *f, uint8_t how_far)
{
	f->receiving = how_far;
	f->rx.start = f->rx.last = it->now;
	it->due = 0;
}
