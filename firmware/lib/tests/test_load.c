/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CPU load with a clock that the test moves: 10 ticks an idle round, 3 for reading the clock. */
#include "tap.h"
#include "wirelab/load.h"

static uint64_t now, round_ticks = 10;
static struct wl_load load;

uint64_t wl_clock(void)
{
	return now += 3;
}

static void pass(void *context)
{
	(void)context;
	now += round_ticks;
	wl_load_idle(&load);
}

static void never_idle(void *context)
{
	(void)context;
	now += round_ticks;
}

static void near(uint64_t value, uint64_t wanted, uint64_t by)
{
	CHECK(value + by >= wanted && value <= wanted + by);
}

static void idle_and_busy_shares_come_out(void)
{
	struct wl_load_figure figure;

	CHECK(wl_load_calibrate(&load, pass, NULL, 1000000));
	for (unsigned busy = 0; busy <= 100; busy += 20) {
		wl_load_begin(&load);
		for (unsigned n = 0; n < 10000; n++) {
			now += busy;
			for (unsigned idle = 0; idle < 100 - busy; idle += 10)
				pass(NULL);
		}
		CHECK(wl_load_read(&load, &figure));
		near(figure.window_ticks, 1000000, 20);
		near(figure.busy_ticks, 10000 * busy, 100);
	}
}

static void long_windows_do_not_overflow(void)
{
	struct wl_load_figure figure;

	round_ticks = 1u << 20;
	CHECK(wl_load_calibrate(&load, pass, NULL, 1ull << 34));
	wl_load_begin(&load);
	load.rounds += 3u << 30; /* an hour of rounds, across the wrap */
	now += 4ull << 50;
	CHECK(wl_load_read(&load, &figure));
	near(figure.window_ticks, 4ull << 50, 1000);
	near(figure.busy_ticks, 1ull << 50, 1ull << 36);
	round_ticks = 10;
}

static void no_figure_without_calibration(void)
{
	struct wl_load_figure figure;
	struct wl_load fresh = { 0 };

	CHECK(!wl_load_read(&fresh, &figure));
	CHECK(!wl_load_calibrate(&load, never_idle, NULL, 1000));
	CHECK(!wl_load_read(&load, &figure));
}

static void a_window_ends_where_it_is_said(void)
{
	struct wl_load_figure figure;
	uint64_t ended;
	uint32_t rounds;

	CHECK(wl_load_calibrate(&load, pass, NULL, 1000000));
	wl_load_begin(&load);
	for (unsigned n = 0; n < 1000; n++) {
		now += 90;
		pass(NULL);
	}
	rounds = load.rounds;
	ended = now;
	for (unsigned n = 0; n < 1000; n++)
		pass(NULL);
	CHECK(wl_load_read_until(&load, rounds, ended, &figure));
	EQUAL(figure.window_ticks, 100000);
	near(figure.busy_ticks, 90000, 20);
	/* Before its begin there is no figure. */
	CHECK(!wl_load_read_until(&load, load.began_rounds, load.began_ticks, &figure));
}

int main(void)
{
	RUN(idle_and_busy_shares_come_out);
	RUN(long_windows_do_not_overflow);
	RUN(a_window_ends_where_it_is_said);
	RUN(no_figure_without_calibration);
	return tap_end();
}
