/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The blaster: its schedule against a driver and a clock that the test moves, and the frames it provides. */
#include "tap.h"
#include "wirelab/blast.h"

static uint64_t order[64];
static unsigned offered, accepted, room;
static uint8_t only[4];
static struct wl_blast blast;

static const uint8_t *next(void *context, uint64_t number, size_t *length)
{
	CHECK(context == order);
	if (offered < 64)
		order[offered] = number;
	offered++;
	*length = sizeof only;
	return only;
}

static bool send(void *context, const uint8_t *frame, size_t length)
{
	CHECK(context == only && frame == only && length == sizeof only);
	if (room == 0)
		return false;
	room--;
	accepted++;
	return true;
}

static void begin(uint64_t frames, uint64_t now)
{
	blast = (struct wl_blast){ .next = next, .next_context = order, .send = send, .send_context = only };
	blast.frames = frames;
	offered = accepted = 0;
	room = UINT32_MAX;
	wl_blast_begin(&blast, now);
}

static void as_fast_as_the_driver_takes_them(void)
{
	begin(10, 1000);
	room = 3;
	EQUAL(wl_blast_poll(&blast, 1000, 8), 3);
	EQUAL(blast.full, 1);
	room = UINT32_MAX;
	EQUAL(wl_blast_poll(&blast, 1001, 4), 4);
	CHECK(!wl_blast_done(&blast));
	EQUAL(wl_blast_poll(&blast, 1007, 4), 3);
	CHECK(wl_blast_done(&blast));
	EQUAL(wl_blast_poll(&blast, 1008, 4), 0);
	EQUAL(blast.sent, 10);
	EQUAL(accepted, 10);
	EQUAL(offered, 10); /* what was refused was not built again */
	for (unsigned n = 0; n < 10; n++)
		EQUAL(order[n], n);
	EQUAL(blast.first_ticks, 1000);
	EQUAL(blast.last_ticks, 1007);
}

static void a_schedule_is_kept_to_a_fraction_of_a_tick(void)
{
	begin(0, 0);
	/* 3,333.333 frames a second at 10 ns a tick: 30,000.003 ticks. */
	wl_blast_pace(&blast, 3333333, 10000);
	EQUAL(blast.interval_ticks, 30000);
	EQUAL(blast.interval_fraction, 12884903); /* 0.0030000003 of 2^32 */
	for (uint64_t now = 0; now <= 30000000u; now += 100)
		wl_blast_poll(&blast, now, 1);
	/* Frame 1000 is due 1000 intervals after the first, less than a tick before 30,000,003. */
	EQUAL(blast.sent, 1000);
	wl_blast_poll(&blast, 30000001, 9);
	EQUAL(blast.sent, 1000);
	wl_blast_poll(&blast, 30000003, 9);
	EQUAL(blast.sent, 1001);
}

static void loads_of_every_size(void)
{
	begin(0, 0);
	wl_blast_pace(&blast, 0, 10000);
	EQUAL(blast.interval_ticks + blast.interval_fraction, 0);
	wl_blast_pace(&blast, 1, 10000); /* a frame in 1,000 s */
	EQUAL(blast.interval_ticks, 100000000000u);
	EQUAL(blast.interval_fraction, 0);
	wl_blast_pace(&blast, 1488095238, 40000); /* line rate of a gigabit: 672 ns */
	EQUAL(blast.interval_ticks, 16);
	CHECK(blast.interval_fraction > 3435970000u && blast.interval_fraction < 3435980000u); /* 0.8 */
	wl_blast_pace(&blast, UINT64_MAX, 1);
	EQUAL(blast.interval_ticks, 0);
	wl_blast_pace(&blast, 1000000, UINT64_MAX);
	EQUAL(blast.interval_ticks + blast.interval_fraction, 0);
}

static void lost_time_is_caught_up_with_or_given_up(void)
{
	begin(0, UINT64_MAX - 50); /* a clock about to wrap */
	blast.interval_ticks = 10;
	EQUAL(wl_blast_poll(&blast, UINT64_MAX - 50, 9), 1);
	EQUAL(wl_blast_poll(&blast, UINT64_MAX - 41, 9), 0);
	EQUAL(wl_blast_poll(&blast, 49, 99), 10); /* 100 ticks on: all that were due */
	EQUAL(blast.slips, 0);
	blast.patience_ticks = 20;
	EQUAL(wl_blast_poll(&blast, 1049, 99), 1);
	EQUAL(blast.slips, 1);
	EQUAL(blast.slipped_ticks, 990);
	EQUAL(wl_blast_poll(&blast, 1058, 99), 0);
	EQUAL(wl_blast_poll(&blast, 1059, 99), 1);
}

static void stopped_is_done(void)
{
	begin(0, 0);
	room = 1;
	EQUAL(wl_blast_poll(&blast, 0, 5), 1);
	CHECK(!wl_blast_done(&blast));
	wl_blast_stop(&blast);
	CHECK(wl_blast_done(&blast));
	room = 5;
	EQUAL(wl_blast_poll(&blast, 0, 5), 0);
	wl_blast_begin(&blast, 7);
	EQUAL(wl_blast_poll(&blast, 7, 2), 2);
	EQUAL(order[2], 0);
}

int main(void)
{
	RUN(as_fast_as_the_driver_takes_them);
	RUN(a_schedule_is_kept_to_a_fraction_of_a_tick);
	RUN(loads_of_every_size);
	RUN(lost_time_is_caught_up_with_or_given_up);
	RUN(stopped_is_done);
	return tap_end();
}
