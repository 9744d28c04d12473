/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points with a clock that the test moves: order, paging, a full ring, and the cost of nested functions. */
#include "tap.h"
#include "wirelab/points.h"

static uint64_t now, tick_of_a_read;

uint64_t wl_clock(void)
{
	return now += tick_of_a_read;
}

static void records_come_back_in_order(void)
{
	struct wl_record record;

	wl_capture_start(100);
	for (uint32_t n = 0; n < 50; n++) {
		now = 1000 + n;
		WL_POINT(1, n);
		WL_POINT(n % 2 ? 2 : 3, n);
	}
	EQUAL(wl_capture_count(1), 50);
	EQUAL(wl_capture_count(2), 25);
	EQUAL(wl_capture_count(4), 0);
	for (uint32_t n = 0; n < 50; n++) {
		CHECK(wl_capture_read(1, n, &record));
		CHECK(record.sequence == n && record.ticks == 1000 + n && record.point == 1);
		CHECK(wl_capture_read(n % 2 ? 2 : 3, n / 2, &record)); /* another point in between */
		EQUAL(record.sequence, n);
	}
	CHECK(!wl_capture_read(1, 50, &record));
	CHECK(wl_capture_read(1, 7, &record)); /* back again */
	EQUAL(record.sequence, 7);
}

static void what_does_not_fit_is_counted(void)
{
	struct wl_record record;

	wl_capture_start(WL_CAPTURE_RECORDS);
	for (uint32_t n = 0; n < WL_CAPTURE_RECORDS + 10; n++)
		WL_POINT(0, n);
	WL_POINT(1, 0);
	EQUAL(wl_capture_count(0), WL_CAPTURE_RECORDS);
	EQUAL(wl_capture_lost(0), 10);
	EQUAL(wl_capture_lost(1), 1);
	CHECK(wl_capture_read(0, 0, &record) && record.sequence == 0);
	/* Space again: the ring wraps, and no kept record is overwritten. */
	for (uint32_t n = 0; n < 3 * WL_CAPTURE_RECORDS; n++) {
		CHECK(wl_capture_drop(&record));
		EQUAL(record.sequence, n);
		WL_POINT(0, WL_CAPTURE_RECORDS + n);
	}
	EQUAL(wl_capture_count(0), WL_CAPTURE_RECORDS);
	EQUAL(wl_capture_lost(0), 10);
}

static void only_as_many_as_were_asked(void)
{
	wl_capture_start(5);
	for (uint32_t n = 0; n < 8; n++)
		WL_POINT(0, n);
	EQUAL(wl_capture_count(0), 5);
	EQUAL(wl_capture_lost(0), 3);
	wl_capture_start(0);
	WL_POINT(0, 0);
	EQUAL(wl_capture_count(0), 0);
	EQUAL(wl_capture_lost(0), 0); /* off is not lost */
	wl_capture_start(5);
	wl_capture_take(WL_CAPTURE_POINTS, WL_CAPTURE_POINT, 0);
	EQUAL(wl_capture_count(WL_CAPTURE_POINTS), 0);
}

enum { OUTER = 1, INNER = 2 };

static void inner(uint64_t ticks)
{
	WL_ENTER(INNER, 0);
	now += ticks;
	WL_LEAVE(INNER, 0);
}

static void outer(uint64_t own)
{
	WL_ENTER(OUTER, 0);
	now += own;
	inner(30);
	WL_POINT(3, 0);
	inner(50);
	WL_LEAVE(OUTER, 0);
}

static void nested_functions_pay_for_themselves(void)
{
	struct wl_cost cost;

	wl_capture_start(100);
	outer(7);
	outer(5);
	wl_capture_cost(OUTER, &cost);
	EQUAL(cost.calls, 2);
	EQUAL(cost.total_ticks, 2 * 80 + 12);
	EQUAL(cost.own_ticks, 12);
	EQUAL(cost.least_own_ticks, 5);
	wl_capture_cost(INNER, &cost);
	EQUAL(cost.calls, 4);
	EQUAL(cost.own_ticks, 160);
	EQUAL(cost.least_own_ticks, 30);
	EQUAL(cost.unmatched, 0);
}

static void what_has_no_counterpart_is_said(void)
{
	struct wl_cost cost;

	wl_capture_start(100);
	WL_LEAVE(OUTER, 0);
	WL_ENTER(OUTER, 0);
	WL_LEAVE(INNER, 0);
	outer(1);
	WL_ENTER(OUTER, 0);
	wl_capture_cost(OUTER, &cost);
	EQUAL(cost.calls, 1);
	EQUAL(cost.own_ticks, 1);
	EQUAL(cost.unmatched, 3);
	wl_capture_start(100);
	for (int n = 0; n < 2 * WL_CAPTURE_DEPTH; n++)
		WL_ENTER(OUTER, 0);
	wl_capture_cost(OUTER, &cost);
	CHECK(cost.calls == 0 && cost.unmatched > 0);
}

static void the_cost_of_a_point_is_measured(void)
{
	tick_of_a_read = 12;
	EQUAL(wl_capture_overhead(), 12);
	tick_of_a_read = 0;
	EQUAL(wl_capture_count(0), 0);
}

static void a_time_taken_earlier_is_kept(void)
{
	struct wl_record record;

	wl_capture_start(2);
	now = 500;
	wl_capture_note(1, 7, 123);
	WL_POINT(1, 8);
	wl_capture_note(1, 9, 501);
	wl_capture_note(WL_CAPTURE_POINTS, 9, 501);
	EQUAL(wl_capture_count(1), 2);
	EQUAL(wl_capture_lost(1), 1);
	CHECK(wl_capture_read(1, 0, &record) && record.sequence == 7 && record.ticks == 123);
	EQUAL(record.kind, WL_CAPTURE_POINT);
	CHECK(wl_capture_read(1, 1, &record) && record.sequence == 8 && record.ticks == 500);
}

static void points_see_frames_of_a_test_flow_alone(void)
{
	uint8_t frame[60] = { [12] = 0x88, [13] = 0xB5, [14] = 'W', [15] = 'L', [18] = 1, [21] = 4 };
	uint32_t sequence = 0;

	CHECK(wl_points_sequence(frame, 60, &sequence));
	EQUAL(sequence, 0x01000004);
	CHECK(!wl_points_sequence(frame, 31, &sequence));
	frame[15] = 'M';
	CHECK(!wl_points_sequence(frame, 60, &sequence));
	memset(frame, 0, sizeof frame);
	frame[12] = 8;
	frame[14] = 0x45;
	frame[23] = 17;
	memcpy(frame + 42, "WL\x10\0\0\0\2\3", 8);
	CHECK(wl_points_sequence(frame, 60, &sequence));
	EQUAL(sequence, 0x0203);
	CHECK(!wl_points_sequence(frame, 59, &sequence));
	frame[23] = 6;
	CHECK(!wl_points_sequence(frame, 60, &sequence));
	wl_points_name();
	CHECK(strcmp(wl_capture_name_of(WL_TX_MAC), "mac") == 0);
}

static void points_have_names(void)
{
	wl_capture_name(2, "driver");
	CHECK(strcmp(wl_capture_name_of(2), "driver") == 0);
	CHECK(wl_capture_name_of(WL_CAPTURE_POINTS) == NULL);
}

int main(void)
{
	RUN(records_come_back_in_order);
	RUN(what_does_not_fit_is_counted);
	RUN(only_as_many_as_were_asked);
	RUN(nested_functions_pay_for_themselves);
	RUN(what_has_no_counterpart_is_said);
	RUN(the_cost_of_a_point_is_measured);
	RUN(a_time_taken_earlier_is_kept);
	RUN(points_see_frames_of_a_test_flow_alone);
	RUN(points_have_names);
	return tap_end();
}
