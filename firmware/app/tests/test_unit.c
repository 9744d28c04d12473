/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture unit in hardware behind the node application: its point, and its records. */
#include "fake_net.h"

#define RECEIVE "start direction=receive layer=udp-ipv4 frames=3 captures=64 capture_unit="

/* A unit that counts 100 clocks for the first frame and one more for each further frame, at every point. */
static struct {
	uint8_t point;
	bool on;
	uint32_t most, count, told[WL_POINTS];
	struct wl_unit_record records[64];
} unit;

void unit_told(unsigned point)
{
	struct wl_unit_record *record = &unit.records[unit.count];
	bool last = unit.point == WL_POINTS ? point == WL_TX_APPLICATION : point == unit.point;

	unit.told[point]++;
	if (!unit.on || !last || unit.count == unit.most)
		return;
	*record = (struct wl_unit_record){ .sequence = 1000 + unit.count };
	for (unsigned at = 0; at < WL_POINTS; at++)
		if (unit.point == at || unit.point == WL_POINTS)
			record->ticks[at] = (unit.point == at ? 100 : 10 * (at + 1)) + unit.count;
	if (unit.count > 0) {
		record->in_before = record[-1].in_before + wl_unit_longest(record - 1, true);
		record->out_before = record[-1].out_before + wl_unit_longest(record - 1, false);
	}
	unit.count++;
}

static void start(uint8_t point, uint32_t records)
{
	unit.point = point;
	unit.most = records;
	unit.count = 0;
	unit.on = true;
}

static void stop(void)
{
	unit.on = false;
}

static uint32_t taken(void)
{
	return unit.count;
}

static uint64_t lost(void)
{
	return 5;
}

static uint32_t cost_ticks(void)
{
	return 7;
}

static const struct wl_unit_record *record_at(uint32_t index)
{
	return &unit.records[index];
}

static void begin_with_unit(void)
{
	static const struct wl_unit table = { 10000, start, stop, taken, lost, cost_ticks, record_at };
	static struct wl_identity identity;

	begin();
	memset(&unit, 0, sizeof unit);
	identity = *app.config.identity;
	identity.capture_unit = true;
	app.config.identity = app.node.identity = &identity;
	app.config.unit = &table;
}

static void a_point_of_received_frames_lies_behind_the_line(void)
{
	begin_with_unit();
	CHECK(says(RECEIVE "in.application", "node_port=5003"));
	EQUAL(unit.point, WL_RX_APPLICATION);
	for (uint32_t n = 0; n < 3; n++)
		arrive(n);
	EQUAL(unit.told[WL_RX_APPLICATION], 3);
	pass(100);
	CHECK(!unit.on);
	CHECK(says("captures trial=1 point=0 from=0", "points=2 name=line stream=0 clock=wall tick_ps=10000 "
						      "resolution_ticks=1 owner=node lost=5"));
	CHECK(strstr(answer, "base_sequence=1000 base_ticks=0 from=0 count=3 data=0:0,1:100,2:201 ") != NULL);
	CHECK(says("captures trial=1 point=1 from=0", "points=2 name=application stream=0"));
	CHECK(strstr(answer, "base_sequence=1000 base_ticks=100 from=0 count=3 data=0:0,1:101,2:203 ") !=
	      NULL);
	CHECK(says("captures trial=1 point=2 from=0", "limit field=point limit=1"));
	CHECK(says("counters trial=1 from=0", "c.capture_point_ticks=7"));
}

static void a_point_of_sent_frames_lies_before_the_line(void)
{
	begin_with_unit();
	CHECK(says(
		"start direction=transmit layer=udp-ipv4 datagram_bytes=118 load_milliframes_per_s=1000000 "
		"frames=2 captures=64 capture_unit=out.application tx_stream=9",
		"start trial="));
	pass(200);
	EQUAL(unit.told[WL_TX_APPLICATION], 2);
	CHECK(says("captures trial=1 point=0 from=0", "points=2 name=application stream=9"));
	CHECK(strstr(answer, "base_ticks=0 from=0 count=2 data=0:0,1:100 ") != NULL);
	CHECK(says("captures trial=1 point=1 from=0", "points=2 name=line stream=9"));
	CHECK(strstr(answer, "base_ticks=100 from=0 count=2 data=0:0,1:101 ") != NULL);
}

static void an_echo_tells_both_ways(void)
{
	begin_with_unit();
	ask("start direction=echo layer=udp-ipv4 frames=2 captures=64 capture_unit=out.application");
	arrive(0);
	arrive(1);
	EQUAL(unit.told[WL_RX_APPLICATION], 2);
	EQUAL(unit.told[WL_TX_APPLICATION], 2);
	EQUAL(unit.count, 2);
}

static void all_points_of_an_echo_are_told_in_the_order_of_its_way(void)
{
	static const struct {
		const char *name, *ticks;
	} points[] = {
		{ "line", "base_ticks=0 from=0 count=2 data=0:0,1:30 " },
		{ "interrupt", "base_ticks=10 from=0 count=2 data=0:0,1:31 " },
		{ "driver", "base_ticks=20 from=0 count=2 data=0:0,1:31 " },
		{ "application", "base_ticks=30 from=0 count=2 data=0:0,1:31 " },
		/* The last of them has the longest path to the line. */
		{ "application", "base_ticks=20 from=0 count=2 data=0:0,1:60 " },
		{ "driver", "base_ticks=10 from=0 count=2 data=0:0,1:60 " },
		{ "mac", "base_ticks=0 from=0 count=2 data=0:0,1:60 " },
		{ "line", "base_ticks=60 from=0 count=2 data=0:0,1:61 " },
	};
	char asked[64];

	begin_with_unit();
	ask("start direction=echo layer=udp-ipv4 frames=2 captures=64 capture_unit=all");
	arrive(0);
	arrive(1);
	pass(100);
	for (unsigned n = 0; n < sizeof points / sizeof points[0]; n++) {
		snprintf(asked, sizeof asked, "captures trial=1 point=%u from=0", n);
		CHECK(says(asked, "points=8 name="));
		CHECK(strstr(answer, points[n].name) != NULL);
		CHECK(strstr(answer, points[n].ticks) != NULL);
	}
	CHECK(says("captures trial=1 point=8 from=0", "limit field=point limit=7"));
}

static void the_points_of_software_are_off_meanwhile(void)
{
	begin_with_unit();
	ask(RECEIVE "in.interrupt");
	for (uint32_t n = 0; n < 3; n++)
		arrive(n);
	EQUAL(wl_capture_count(WL_RX_APPLICATION), 0);
	pass(100);
	/* No interrupt was reported, so there is nothing to read. */
	CHECK(says("captures trial=1 point=0 from=0", "unsupported field=point"));
	/* The next trial has its own records again. */
	ask("start direction=receive layer=udp-ipv4 frames=1 captures=64");
	arrive(0);
	pass(100);
	CHECK(says("captures trial=2 point=0 from=0", "points=1 name=application"));
}

static void what_it_cannot_take_is_said(void)
{
	begin();
	CHECK(says(RECEIVE "in.driver", "unsupported field=capture_unit"));
	begin_with_unit();
	CHECK(says(RECEIVE "out.mac", "unsupported field=capture_unit"));
	CHECK(says(RECEIVE "in.stack", "bad-value field=capture_unit"));
	CHECK(says(RECEIVE "all", "unsupported field=capture_unit"));
	CHECK(says("start direction=transmit layer=udp-ipv4 datagram_bytes=118 load=max frames=2 captures=4 "
		   "capture_unit=in.driver",
		   "unsupported field=capture_unit"));
	CHECK(says("start direction=receive layer=udp-ipv4 frames=3 capture_unit=in.driver",
		   "missing-field field=captures"));
	CHECK(says("start direction=receive layer=tcp-ipv4 datagram_bytes=1000 frames=3 captures=4 "
		   "capture_unit=in.driver",
		   "unsupported field=captures"));
	CHECK(!unit.on);
}

int main(void)
{
	RUN(a_point_of_received_frames_lies_behind_the_line);
	RUN(a_point_of_sent_frames_lies_before_the_line);
	RUN(an_echo_tells_both_ways);
	RUN(all_points_of_an_echo_are_told_in_the_order_of_its_way);
	RUN(the_points_of_software_are_off_meanwhile);
	RUN(what_it_cannot_take_is_said);
	return tap_end();
}
