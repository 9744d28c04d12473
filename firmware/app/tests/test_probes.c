/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points of driver and stack with a clock that the test moves: which frames leave a record, with which time; and the
 * own cost of nested functions of lwIP. */
#include "board.h"
#include "fast_track.h"
#include "probes.h"
#include "probes_perf.h"
#include "tap.h"
#include "wirelab/points.h"

static uint64_t now;

uint64_t wl_clock(void)
{
	return now;
}

/* A test frame in UDP of sequence 0x01020304; `data` begins behind the headers of Ethernet, IP and UDP. */
static uint8_t frame[60] = { [12] = 8, [14] = 0x45, [23] = 17, [42] = 'W', 'L', 0x10, 0, 1, 2, 3, 4 };
static uint8_t foreign[60] = { [12] = 8, [13] = 6 };

static void begin(void)
{
	wl_capture_start(8);
	wl_probes_on = true;
	now = 100;
}

static uint64_t time_of(uint8_t point, uint32_t index)
{
	struct wl_record record = { 0 };

	CHECK(wl_capture_read(point, index, &record));
	EQUAL(record.sequence, 0x01020304);
	return record.ticks;
}

static void a_received_frame_has_the_time_of_its_interrupt(void)
{
	begin();
	BOARD_ON_MAC_INTERRUPT();
	now = 120;
	BOARD_ON_MAC_INTERRUPT(); /* the first interrupt reported the frame */
	now = 150;
	BOARD_ON_RECEIVED(frame, sizeof frame);
	now = 160;
	BOARD_ON_RECEIVED(frame, sizeof frame); /* came with the same interrupt */
	EQUAL(wl_capture_count(WL_RX_INTERRUPT), 1);
	EQUAL(time_of(WL_RX_INTERRUPT, 0), 100);
	EQUAL(wl_capture_count(WL_RX_DRIVER), 2);
	EQUAL(time_of(WL_RX_DRIVER, 0), 150);
	EQUAL(time_of(WL_RX_DRIVER, 1), 160);
}

static void a_frame_of_somebody_else_takes_its_interrupt_with_it(void)
{
	begin();
	BOARD_ON_MAC_INTERRUPT();
	BOARD_ON_RECEIVED(foreign, sizeof foreign);
	now = 200;
	BOARD_ON_RECEIVED(frame, sizeof frame);
	EQUAL(wl_capture_count(WL_RX_INTERRUPT), 0);
	EQUAL(wl_capture_count(WL_RX_DRIVER), 1);
}

static void a_sent_frame_is_known_in_one_piece_and_in_two(void)
{
	const struct wl_piece whole[] = { { frame, sizeof frame } };
	const struct wl_piece parts[] = { { frame, 42 }, { frame + 42, 18 } };
	const struct wl_piece short_parts[] = { { frame, 42 }, { frame + 42, 17 } };
	const struct wl_piece other[] = { { foreign, 42 }, { frame + 42, 18 } };

	begin();
	BOARD_ON_SEND(whole, 1);
	now = 110;
	BOARD_ON_MAC_STARTED();
	BOARD_ON_SEND(parts, 2);
	now = 120;
	BOARD_ON_MAC_STARTED();
	EQUAL(wl_capture_count(WL_TX_DRIVER), 2);
	EQUAL(time_of(WL_TX_DRIVER, 0), 100);
	EQUAL(time_of(WL_TX_MAC, 0), 110);
	EQUAL(time_of(WL_TX_DRIVER, 1), 110);
	EQUAL(time_of(WL_TX_MAC, 1), 120);
	BOARD_ON_SEND(short_parts, 2);
	BOARD_ON_MAC_STARTED();
	BOARD_ON_SEND(other, 2);
	BOARD_ON_MAC_STARTED();
	BOARD_ON_SEND(whole, 0);
	BOARD_ON_MAC_STARTED();
	EQUAL(wl_capture_count(WL_TX_DRIVER), 2);
	EQUAL(wl_capture_count(WL_TX_MAC), 2);
}

static void off_takes_nothing(void)
{
	begin();
	wl_probes_on = false;
	BOARD_ON_MAC_INTERRUPT();
	BOARD_ON_RECEIVED(frame, sizeof frame);
	wl_probes_on = true;
	BOARD_ON_RECEIVED(frame, sizeof frame);
	EQUAL(wl_capture_count(WL_RX_INTERRUPT), 0);
	EQUAL(wl_capture_count(WL_RX_DRIVER), 1);
}

static unsigned taken;

static void take(void *context, const struct wl_identified *found)
{
	(void)context;
	taken += found->frame == frame;
}

static void the_fast_track_takes_what_its_rules_want(void)
{
	static const struct wl_rule rule = { .match = WL_MATCH_ETHERTYPE, .ethertype = 0x0800, .take = take };

	CHECK(!BOARD_TAKES(frame, sizeof frame));
	wl_fast = (struct wl_fast_track){ &rule, 1 };
	CHECK(BOARD_TAKES(frame, sizeof frame));
	CHECK(!BOARD_TAKES(foreign, sizeof foreign));
	EQUAL(taken, 1);
	wl_fast.count = 0;
	CHECK(!BOARD_TAKES(frame, sizeof frame));
}

/* As lwIP's functions: some work of their own, and a nested call. */
static void inner(uint64_t ticks)
{
	PERF_START;

	now += ticks;
	PERF_STOP("pbuf_free");
}

static void outer(void)
{
	PERF_START;

	now += 10;
	inner(100);
	inner(30);
	now += 7;
	PERF_STOP("udp_input");
}

static void functions_are_told_what_they_cost_alone(void)
{
	const struct wl_perf *perf;

	wl_perf_clear();
	CHECK(!wl_perf_read(0));
	outer();
	inner(5);
	perf = wl_perf_read(0);
	CHECK(perf && strcmp(perf->stage, "pbuf_free") == 0);
	EQUAL(perf->calls, 3);
	EQUAL(perf->own_ticks, 135);
	EQUAL(perf->least_own_ticks, 5);
	perf = wl_perf_read(1);
	CHECK(perf && strcmp(perf->stage, "udp_input") == 0);
	EQUAL(perf->calls, 1);
	EQUAL(perf->total_ticks, 147);
	EQUAL(perf->own_ticks, 17);
	CHECK(!wl_perf_read(2) && !wl_perf_read(99));
}

static void more_stages_than_there_is_room_for_are_left_out(void)
{
	static const char *const names[] = { "a", "ab", "b", "", "c" };

	wl_perf_clear();
	for (unsigned n = 0; n < 5; n++) {
		struct wl_perf_begin begun = wl_perf_start();

		now += n;
		wl_perf_stop(&begun, names[n]);
	}
	for (unsigned n = 0; n < 4; n++)
		CHECK(wl_perf_read(n) && wl_perf_read(n)->calls == 1 && wl_perf_read(n)->own_ticks == n);
	CHECK(!wl_perf_read(4));
}

int main(void)
{
	RUN(a_received_frame_has_the_time_of_its_interrupt);
	RUN(a_frame_of_somebody_else_takes_its_interrupt_with_it);
	RUN(a_sent_frame_is_known_in_one_piece_and_in_two);
	RUN(off_takes_nothing);
	RUN(the_fast_track_takes_what_its_rules_want);
	RUN(functions_are_told_what_they_cost_alone);
	RUN(more_stages_than_there_is_room_for_are_left_out);
	return tap_end();
}
