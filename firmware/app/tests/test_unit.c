/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture unit in hardware behind the node application: which point is told to it, and how its records are told on. */
#include "fake_net.h"

#define RECEIVE "start direction=receive layer=udp-ipv4 frames=3 captures=64 capture_unit="

/* A unit that counts 100 clocks for the first frame, one more for each further one. */
static struct {
	uint8_t point;
	bool on;
	uint32_t most, count, told[WL_POINTS], sequences[64];
	uint64_t totals[64];
} unit;

void unit_told(unsigned point)
{
	unit.told[point]++;
	if (!unit.on || unit.point != point || unit.count == unit.most)
		return;
	unit.sequences[unit.count] = 1000 + unit.count;
	unit.totals[unit.count] = 100 + unit.count + (unit.count > 0 ? unit.totals[unit.count - 1] : 0);
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

static void record(uint32_t index, uint32_t *sequence, uint64_t *total_ticks)
{
	*sequence = unit.sequences[index];
	*total_ticks = unit.totals[index];
}

static void begin_with_unit(void)
{
	static const struct wl_unit table = { 10000, start, stop, taken, lost, cost_ticks, record };
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

static void the_points_of_software_are_off_meanwhile(void)
{
	begin_with_unit();
	ask(RECEIVE "in.interrupt");
	for (uint32_t n = 0; n < 3; n++)
		arrive(n);
	EQUAL(wl_capture_count(WL_RX_APPLICATION), 0);
	pass(100);
	/* No interrupt was told, so there is nothing to read. */
	CHECK(says("captures trial=1 point=0 from=0", "unsupported field=point"));
	/* And the next trial has its own again. */
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
	RUN(the_points_of_software_are_off_meanwhile);
	RUN(what_it_cannot_take_is_said);
	return tap_end();
}
