/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application on a fake stack: every layer, refusals, and the ends of trials. */
#include "fake_net.h"

#define UDP "layer=udp-ipv4 datagram_bytes=118"
#define TCP "layer=tcp-ipv4 datagram_bytes=1000"

static void a_pace_does_not_drift_and_never_makes_up_for_a_pause(void)
{
	struct wl_pace pace;

	wl_pace_init(&pace, 1000, 6720333, TICK_PS);
	for (int n = 0; n < 1000000; n++)
		wl_pace_start(&pace, pace.due_ticks);
	EQUAL(pace.due_ticks, 1000 + 672033300);
	EQUAL(pace.slips, 0);
	/* Ten intervals are not a pause, one more is. */
	wl_pace_init(&pace, 0, 1000000000, TICK_PS);
	wl_pace_start(&pace, 10 * MS);
	EQUAL(pace.due_ticks, MS);
	wl_pace_start(&pace, 11 * MS + 1);
	EQUAL(pace.slips, 1);
	EQUAL(pace.slipped_ticks, 10 * MS + 1);
	EQUAL(pace.due_ticks, 12 * MS + 1);
	wl_pace_init(&pace, 0, 0, TICK_PS);
	wl_pace_start(&pace, 1000 * MS);
	EQUAL(pace.slips, 0);
	CHECK(!wl_pace_is_set(&pace));
	EQUAL(wl_pace_bits_ps(8 * 1538, 1000000000), 12304000);
	EQUAL(wl_pace_bits_ps(8 * 1538, 3), 4101333333333333);
	EQUAL(wl_pace_bits_ps(1, 0), UINT64_MAX);
}

static void datagrams_go_one_by_one_when_they_are_due(void)
{
	begin();
	CHECK(says("start direction=transmit " UDP " load_milliframes_per_s=1000000 frames=50 tx_stream=7 "
		   "peer_port=4000",
		   "frame_bytes=164 node_ip=10.55.0.2 node_port=5003 peer_ip=10.55.0.1 peer_port=4000"));
	pass(19);
	EQUAL(fake.sent, 0); /* the reply goes first */
	for (unsigned n = 1; n <= 50; n++) {
		pass(1);
		CHECK(fake.sent == n - 1 || fake.sent == n);
	}
	pass(30);
	EQUAL(fake.sent, 50);
	EQUAL(fake.judged.good, 50);
	EQUAL(fake.port, 4000);
	CHECK(memcmp(fake.to.bytes, peer.host.bytes, 4) == 0);
	EQUAL(fake.last[3], 7);
	EQUAL(fake.last[2], 0x10 | WL_FLAG_TIME_VALID | WL_FLAG_NODE_CLOCK);
	CHECK(says("status trial=1", "state=done tx_frames=50 rx_frames=0 elapsed_ticks=5000000 spans=wire"));
	CHECK(says("counters trial=1 from=0", "c.sent_frames=50 c.sent_bytes=5900 c.sent_refused_frames=0 "
					      "c.sent_slips=0"));
	CHECK(!fake.open);
}

static void every_load_has_its_interval(void)
{
	/* A frame of 164 bytes takes 1,472 bits of the link, a datagram of 118 bytes has 944. */
	static const struct {
		const char *load;
		uint64_t ps;
	} loads[] = { { "load_ppm=500000", 2944000 },
		      { "load_bits_per_s=94400000", 10000000 },
		      { "load_gap_bytes=12", 1472000 },
		      { "load_milliframes_per_s=1", 1000000000000000 },
		      { "load=max", 0 } };
	char text[200];

	for (size_t n = 0; n < sizeof loads / sizeof loads[0]; n++) {
		begin();
		snprintf(text, sizeof text, "start direction=transmit " UDP " frames=1 %s", loads[n].load);
		CHECK(says(text, "start trial="));
		EQUAL(app.sender.pace.interval_ticks * TICK_PS + app.sender.pace.interval_ps, loads[n].ps);
	}
	app.config.link_bits_per_s = 0;
	pass(100);
	CHECK(says("start direction=transmit " UDP " frames=1 load_ppm=1000000",
		   "unsupported field=load_ppm"));
}

static void a_full_ring_costs_a_paced_frame_and_holds_up_an_unpaced_one(void)
{
	begin();
	ask("start direction=transmit " UDP " load_milliframes_per_s=1000000 frames=10");
	fake.answer = WL_NO_ROOM;
	pass(25);
	fake.answer = WL_SENT;
	pass(50);
	CHECK(app.sender.refused >= 4 && app.sender.refused <= 6);
	EQUAL(fake.sent + app.sender.refused, 10);
	EQUAL(app.sender.sequences, 10);
	CHECK(says("status", "state=done"));
	begin();
	ask("start direction=transmit " UDP " load=max frames=10");
	fake.answer = WL_NO_ROOM;
	pass(50);
	EQUAL(app.sender.sequences, 0);
	fake.answer = WL_SENT;
	pass(50);
	EQUAL(fake.sent, 10);
	EQUAL(fake.judged.tracker.distinct, 10);
	EQUAL(app.sender.refused, 0);
	begin();
	ask("start direction=transmit " UDP " load=max frames=10");
	fake.answer = WL_NO_WAY;
	pass(50);
	CHECK(says("status", "state=failed") && strstr(answer, "why=") != NULL);
}

static void what_comes_is_judged_and_what_was_under_way_still_counts(void)
{
	struct wl_ip other = { .version = 4, .bytes = { 10, 55, 0, 9 } };
	uint8_t junk[64] = { 'W' };

	begin();
	fake.now += 200 * MS;
	CHECK(says("start direction=receive layer=udp-ipv4 frames=100 captures=64", "node_port=5003"));
	for (uint32_t n = 0; n < 60; n++) {
		arrive(n);
		pass(1);
	}
	wl_app_udp(&app, &peer.host, 1, junk, sizeof junk);
	wl_app_udp(&app, &other, 1, junk, sizeof junk);
	CHECK(says("stop trial=1", "state=running"));
	pass(10);
	arrive(61);
	pass(10);
	CHECK(says("status", "state=running tx_frames=0 rx_frames=62"));
	pass(20);
	CHECK(says("status", "state=stopped"));
	arrive(62); /* too late: it is over */
	CHECK(says("counters trial=1 from=0", "c.received_frames=62") && strstr(answer, "c.good_frames=61 "));
	CHECK(strstr(answer, "c.header_corrupt_frames=1 ") && strstr(answer, "c.foreign_frames=1 "));
	CHECK(says("captures trial=1 point=0 from=0", "points=1 name=application stream=0"));
	CHECK(strstr(answer, "lost=0 ") && strstr(answer, "count=61 "));
	CHECK(says("load trial=1", "idle_busy_ticks=20000000 idle_window_ticks=20000000"));
}

static void a_receiver_is_done_when_all_have_come(void)
{
	begin();
	ask("start direction=receive layer=udp-ipv4 frames=3");
	for (uint32_t n = 0; n < 3; n++)
		arrive(n);
	pass(1);
	CHECK(says("status", "state=running"));
	pass(25);
	CHECK(says("status", "state=done"));
	ask("start direction=receive layer=udp-ipv4 time_ps=1000000000 limit_ps=50000000000");
	pass(290);
	CHECK(says("status", "state=running"));
	pass(40);
	CHECK(says("status", "state=stopped"));
}

static void jitter_is_that_of_rfc_3550(void)
{
	struct wl_header header = { .flags = WL_FLAG_TIME_VALID, .lfsr_bytes = 10 };
	uint8_t data[28];

	begin();
	ask("start direction=receive layer=udp-ipv4 frames=100");
	/* Sent each ms, each under way for 100 us more: J approaches D by a sixteenth. */
	for (uint32_t n = 0; n < 3; n++) {
		header.sequence = n;
		header.time_ns = (1ull << 32) - 1000000 + n * 1000000;
		wl_frame_data(&header, data, sizeof data);
		wl_app_udp(&app, &peer.host, 1, data, sizeof data);
		fake.now += MS + MS / 10;
	}
	EQUAL(app.receiver.jitter_16th_ns, 100000 + 100000 - ((100000 + 8) >> 4));
}

static void a_stream_is_cut_into_frames_wherever_its_pieces_end(void)
{
	static uint8_t stream[20 * 1000];
	struct wl_header header = { .lfsr_bytes = 1000 - WL_HEADER_BYTES };

	for (uint32_t n = 0; n < 20; n++) {
		header.sequence = n;
		wl_frame_data(&header, stream + 1000 * n, 1000);
	}
	for (size_t piece = 1; piece < 2500; piece += 37) {
		begin();
		ask("start direction=receive " TCP " frames=20");
		wl_app_tcp_open(&app, 0);
		/* The last frame is cut. */
		for (size_t at = 0; at < sizeof stream - 1; at += piece) {
			size_t left = sizeof stream - 1 - at;

			wl_app_tcp_data(&app, 0, stream + at, left < piece ? left : piece);
		}
		wl_app_tcp_ended(&app, 0);
		pass(1);
		CHECK(says("status", "state=done"));
		EQUAL(app.receiver.judged.good, 19);
		EQUAL(app.receiver.judged.truncated, 1);
	}
}

static void what_comes_by_another_layer_is_nobodys(void)
{
	uint8_t bytes[40] = { 0 };

	begin();
	ask("start direction=receive layer=udp-ipv4 frames=20");
	wl_app_tcp_data(&app, 0, bytes, sizeof bytes);
	wl_app_tcp_ended(&app, 0);
	wl_app_tcp_broken(&app, 0);
	CHECK(says("status", "state=running tx_frames=0 rx_frames=0"));
	begin();
	ask("start direction=receive " TCP " frames=20");
	arrive(0);
	CHECK(says("status", "state=running tx_frames=0 rx_frames=0"));
}

static void a_stream_is_written_as_there_is_room(void)
{
	struct wl_receiver judged = { 0 };

	begin();
	ask("start direction=both " TCP " load=max frames=30");
	wl_app_tcp_open(&app, 0);
	pass(100);
	EQUAL(fake.streamed, 0); /* the second connection is the node's */
	wl_app_tcp_open(&app, 1);
	for (size_t room = 1; !fake.ended && room < 4000; room += 7) {
		fake.room = room;
		pass(1);
	}
	EQUAL(fake.streamed, 30000);
	for (size_t n = 0; n < 30; n++)
		wl_receive_data(&judged, fake.stream + 1000 * n, 1000, true);
	EQUAL(judged.good, 30);
	CHECK(says("status", "state=running"));
	wl_app_tcp_ended(&app, 0);
	pass(5);
	CHECK(says("status", "state=done"));
}

static void a_stream_that_is_stopped_ends_with_a_whole_frame(void)
{
	begin();
	ask("start direction=transmit " TCP " load=max frames=30");
	wl_app_tcp_open(&app, 0);
	fake.room = 2500;
	pass(30);
	ask("stop trial=1");
	pass(30);
	CHECK(says("status", "state=running"));
	fake.room = 10000;
	pass(30);
	EQUAL(fake.streamed, 3000);
	CHECK(fake.ended);
	CHECK(says("status", "state=stopped tx_frames=3"));
	/* The node does not wait for a peer that takes no more: a partial frame does not count. */
	begin();
	ask("start direction=transmit " TCP " load=max frames=30");
	wl_app_tcp_open(&app, 0);
	fake.room = 2500;
	pass(30);
	ask("stop trial=1");
	pass(520);
	CHECK(says("status", "state=stopped tx_frames=2"));
	CHECK(says("counters trial=1 from=0", "c.sent_frames=3 ") &&
	      strstr(answer, "c.sent_refused_frames=1 "));
}

static void who_does_not_connect_or_breaks_off_is_told(void)
{
	begin();
	ask("start direction=receive " TCP " frames=5");
	for (int n = 0; n < 6; n++) {
		pass(900);
		ask("status");
	}
	CHECK(says("status", "state=failed") && strstr(answer, "did%20not%20connect"));
	ask("start direction=receive " TCP " frames=5");
	wl_app_tcp_open(&app, 0);
	wl_app_tcp_broken(&app, 0);
	CHECK(says("status", "state=failed") && strstr(answer, "broke"));
	ask("start direction=receive " TCP " frames=5");
	pass(100);
	ask("stop trial=3");
	wl_app_tcp_broken(&app, 0);
	CHECK(says("status", "state=stopped"));
}

static void echoes_go_back_to_where_they_came_from(void)
{
	uint8_t frame[60] = { 0 };
	struct wl_header header = { .stream = 5, .lfsr_bytes = 28 };

	begin();
	ask("start direction=echo layer=udp-ipv4 frames=100");
	arrive(3);
	EQUAL(fake.port, 40001);
	EQUAL(fake.sent_bytes, 118);
	fake.answer = WL_NO_ROOM;
	arrive(4);
	ask("stop trial=1");
	pass(30);
	CHECK(says("counters trial=1 from=12", "c.sent_frames=1 c.sent_refused_frames=1"));
	begin();
	CHECK(says("start direction=echo layer=ethernet frames=100", "node_mac=02:00:0a:37:00:02 "
								     "peer_mac=02:00:0a:37:00:01"));
	wl_frame_ethernet(&header, own_mac, peer_mac, frame, 60);
	wl_app_frame(&app, frame, 60);
	EQUAL(fake.sent, 1);
	CHECK(memcmp(fake.last, peer_mac, 6) == 0 && memcmp(fake.last + 6, own_mac, 6) == 0);
	EQUAL(app.receiver.judged.good, 1);
	wl_frame_ethernet(&header, own_mac, own_mac, frame, 60);
	wl_app_frame(&app, frame, 60);
	EQUAL(app.receiver.judged.foreign, 1);
	EQUAL(fake.sent, 1);
}

static void nothing_goes_back_to_a_service(void)
{
	struct wl_header header = { .lfsr_bytes = 100 };
	uint8_t data[WL_HEADER_BYTES + 100];

	begin();
	CHECK(says("start direction=echo layer=udp-ipv4 frames=100", "start trial="));
	wl_frame_data(&header, data, sizeof data);
	wl_app_udp(&app, &peer.host, 7, data, sizeof data);
	wl_app_udp(&app, &peer.host, 1023, data, sizeof data);
	wl_app_udp(&app, &peer.host, 0, data, sizeof data);
	EQUAL(fake.sent, 0);
	EQUAL(app.receiver.judged.foreign, 3);
	EQUAL(app.receiver.judged.good, 0);
	wl_app_udp(&app, &peer.host, 1024, data, sizeof data);
	EQUAL(fake.sent, 1);
	EQUAL(app.receiver.judged.good, 1);
}

static void a_start_that_fails_leaves_the_trial_before_as_it_was(void)
{
	static const char *const others[] = { "start direction=echo layer=udp-ipv4 frames=9",
					      "start direction=both " TCP " load=max frames=9" };

	begin();
	ask("start direction=receive " UDP " frames=100 captures=64");
	for (uint32_t n = 0; n < 10; n++)
		arrive(n);
	ask("stop trial=1");
	pass(30);
	fake.full = true;
	for (size_t n = 0; n < sizeof others / sizeof others[0]; n++)
		CHECK(says(others[n], "failed"));
	EQUAL(app.sizes.data_bytes, 118);
	EQUAL(app.asked.captures, 64);
	CHECK(says("status trial=1", "state=stopped tx_frames=0 rx_frames=10"));
	CHECK(says("captures trial=1 point=0 from=0", "count=10 "));
	CHECK(says("counters trial=1 from=0", "c.received_frames=10"));
	fake.full = false;
	CHECK(says(others[0], "start trial="));
	EQUAL(app.asked.captures, 0);
}

static void ethernet_goes_to_the_host_that_asks_alone(void)
{
	begin();
	CHECK(says("start direction=transmit layer=ethernet length_bytes=60 load=max frames=9 "
		   "peer_mac=02:00:0a:37:00:09",
		   "peer field=peer_mac"));
	CHECK(says("start direction=transmit layer=ethernet length_bytes=60 load=max frames=9", "peer_mac="));
	pass(50);
	EQUAL(fake.sent, 9);
	EQUAL(fake.judged.good, 9);
	CHECK(memcmp(fake.last, peer_mac, 6) == 0);
	fake.known = false;
	CHECK(says("start direction=transmit layer=ethernet length_bytes=60 load=max frames=9",
		   "peer field=peer_mac"));
}

static void what_it_cannot_do_is_said(void)
{
	static const char *const asked[][2] = {
		{ "start direction=echo " TCP " frames=1", "unsupported field=direction" },
		{ "start direction=receive layer=tcp-ipv4 frames=1", "missing-field field=datagram_bytes" },
		{ "start direction=receive layer=tcp-ipv4 datagram_bytes=17 frames=1",
		  "limit field=datagram_bytes limit=18" },
		{ "start direction=receive layer=tcp-ipv4 datagram_bytes=99999 frames=1",
		  "limit field=datagram_bytes limit=9216" },
		{ "start direction=receive layer=tcp-ipv4 frame_bytes=64 frames=1",
		  "limit field=frame_bytes limit=76" },
		{ "start direction=receive " TCP " frames=1 captures=1", "unsupported field=captures" },
		{ "start direction=receive " UDP " frames=1 buffers=copied-ahead",
		  "unsupported field=buffers" },
		{ "start direction=receive layer=ethernet frames=1 descriptors=3",
		  "unsupported field=descriptors" },
		{ "start direction=receive layer=ethernet frames=1 vlan_tags=1",
		  "unsupported field=vlan_tags" },
		{ "start direction=receive " UDP " frames=1 path=loopback", "unsupported field=path" },
		{ "start direction=receive layer=udp-ipv4 frame_bytes=4000000000 frames=1",
		  "limit field=frame_bytes" },
	};

	begin();
	for (size_t n = 0; n < sizeof asked / sizeof asked[0]; n++)
		CHECK(says(asked[n][0], asked[n][1]));
	CHECK(says("captures trial=0 point=0 from=0", "no-trial"));
}

static void a_loop_waits_for_each_frame(void)
{
	begin();
	CHECK(says("start direction=both " UDP " path=loopback load=max frames=64 captures=64",
		   "peer_ip=10.55.0.2"));
	pass(100);
	CHECK(!fake.looped);
	EQUAL(fake.sent, 64);
	CHECK(says("status", "state=done tx_frames=64 rx_frames=64"));
	CHECK(says("captures trial=1 point=1 from=0", "points=2 name=application"));
	CHECK(says("start direction=both " UDP " path=loopback load=max frames=65537",
		   "limit field=frames limit=65536"));
	/* A frame that does not return is missed; if none returns, there is no loop. */
	fake.cut = true;
	ask("start direction=both " UDP " path=loopback load=max frames=64");
	pass(350);
	EQUAL(app.receiver.missed, 3);
	fake.cut = false;
	pass(150);
	CHECK(says("status", "state=done tx_frames=64 rx_frames=60"));
	fake.cut = true;
	ask("start direction=both " UDP " path=loopback load=max frames=64");
	pass(1000);
	CHECK(says("status", "state=failed") && !fake.looped);
}

static void over_a_serial_line_the_peer_is_asked_for_its_address_first(void)
{
	begin();
	peer.serial = true;
	session = number = 0;
	session = (uint32_t)strtoul(strstr(ask("hello version=1"), "session=") + 8, NULL, 10);
	number = 0;
	fake.known = false;
	CHECK(says("start direction=transmit " UDP " load=max frames=3", "missing-field field=peer_ip"));
	CHECK(says("start direction=transmit " UDP " load=max frames=3 peer_ip=10.55.0.7",
		   "peer_ip=10.55.0.7"));
	pass(100);
	EQUAL(fake.sent, 0);
	fake.known = true;
	pass(50);
	EQUAL(fake.sent, 3);
	EQUAL(fake.to.bytes[3], 7);
	fake.known = false;
	ask("start direction=transmit " UDP " load=max frames=3 peer_ip=10.55.0.8");
	for (int n = 0; n < 6; n++) {
		pass(900);
		ask("status");
	}
	CHECK(says("status", "state=failed"));
}

static void the_trial_of_a_silent_peer_is_given_up(void)
{
	begin();
	ask("start direction=transmit " UDP " load_milliframes_per_s=1000 time_ps=60000000000000");
	pass(4900);
	CHECK(app.state == WL_RUNNING && fake.open);
	pass(300);
	CHECK(app.state == WL_ABANDONED && !fake.open);
	EQUAL(fake.sent, 5);
}

int main(void)
{
	RUN(a_pace_does_not_drift_and_never_makes_up_for_a_pause);
	RUN(datagrams_go_one_by_one_when_they_are_due);
	RUN(every_load_has_its_interval);
	RUN(a_full_ring_costs_a_paced_frame_and_holds_up_an_unpaced_one);
	RUN(what_comes_is_judged_and_what_was_under_way_still_counts);
	RUN(a_receiver_is_done_when_all_have_come);
	RUN(jitter_is_that_of_rfc_3550);
	RUN(a_stream_is_cut_into_frames_wherever_its_pieces_end);
	RUN(what_comes_by_another_layer_is_nobodys);
	RUN(a_stream_is_written_as_there_is_room);
	RUN(a_stream_that_is_stopped_ends_with_a_whole_frame);
	RUN(who_does_not_connect_or_breaks_off_is_told);
	RUN(echoes_go_back_to_where_they_came_from);
	RUN(nothing_goes_back_to_a_service);
	RUN(a_start_that_fails_leaves_the_trial_before_as_it_was);
	RUN(ethernet_goes_to_the_host_that_asks_alone);
	RUN(what_it_cannot_do_is_said);
	RUN(a_loop_waits_for_each_frame);
	RUN(over_a_serial_line_the_peer_is_asked_for_its_address_first);
	RUN(the_trial_of_a_silent_peer_is_given_up);
	return tap_end();
}
