/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf as a server over UDP: datagrams as captured from iperf 2.1.8, its counting, its report, and traffic back. */
#include "iperf_datagrams.h"

static void count_is_as_iperf_counts(void)
{
	/* The answer of `iperf -s -u` 2.1.8 to these numbers in datagrams of 200 bytes, except its times. */
	static const char report[] =
		"00000000000000000000000000000000880000000000000000000898000000000000048D00000000"
		"000000020000000B";
	static const int ids[] = { 1, 2, 4, 5, 5, 6, 8, 7, 9, 10, -11 };
	uint8_t wanted[48];

	begin(0x48010098, "00000000", 3000);
	for (unsigned n = 0; n < sizeof ids / sizeof ids[0]; n++) {
		host.now = 5000000 + 0x48Du * n / 10;
		send(ids[n], 200);
	}
	tap_hex(report, wanted, sizeof wanted);
	EQUAL(host.datagrams, 1);
	EQUAL(host.count, 128);
	EQUAL(host.head_count, 128);
	CHECK(memcmp(host.head, wanted, sizeof wanted) == 0);
	CHECK(host.to.port == 50000 && host.flow->handle.number == 0);
	EQUAL(word(host.head + 48), 0);
	for (int n = 56; n < 128; n++)
		EQUAL(host.head[n], 0);
	EQUAL(host.told, 1);
	CHECK(host.result.complete && host.result.udp && !host.result.sent && !host.result.client);
	EQUAL(host.result.here.bytes, 2200);
	EQUAL(host.result.here.duration_us, 0x48D);
	/* The same again for the same final datagram, a bounded number of times, and nothing for data after the end. */
	for (int n = 0; n < 1000; n++)
		send(-11, 200);
	EQUAL(host.datagrams, 250);
	CHECK(memcmp(host.head, wanted, sizeof wanted) == 0);
	send(12, 200);
	EQUAL(host.told, 1);
	host_pass(4000 * HOST_MS);
	EQUAL(wl_iperf_running(&host.it, true), 0);
	EQUAL(host.closed, 1);
}

static void losses_and_numbers_of_64_bits(void)
{
	begin(0x48010098, "00000000", 3000);
	send(1, 100);
	send(0x200000005, 100);
	send(-0x200000007, 100);
	EQUAL(word(host.head + 36), 4);
	EQUAL(word(host.head + 44), 7);
	EQUAL(word(host.head + 116), 2);
	EQUAL(word(host.head + 124), 2);
	EQUAL(host.result.here.lost, 0x200000004);
	EQUAL(host.result.here.datagrams, 0x200000007);
}

static void a_peer_of_2_0_5_gets_its_own_layout(void)
{
	begin(0, "00000000", 0);
	tap_hex("000000010000138900000000000FFFFFFFFFFC18", datagram + 16, 20);
	put(datagram, 1);
	put(datagram + 12, 0x80000000u);
	put(datagram + 16, 1);
	put(datagram + 20, 5001);
	for (int id = 1; id <= 4; id++) {
		put(datagram, (uint32_t)(id < 4 ? id : -4));
		wl_iperf_datagram(&host.it, 0, &peer, datagram, 128, 1470, host.now);
		host.now += 1000;
	}
	EQUAL(word(host.head), 0);
	EQUAL(word(host.head + 8), 0);
	EQUAL(word(host.head + 12), 0x80000000u);
	EQUAL(word(host.head + 20), 4 * 1470);
	EQUAL(word(host.head + 28), 3000);
	EQUAL(word(host.head + 40), 4);
	EQUAL(host.count, 128);
	/* -r: back in datagrams of 12-byte heads, with the peer's clock, at the rate in the word of the window. */
	host_pass(300 * HOST_MS);
	EQUAL(host.opened, 1);
	EQUAL(host.head_count, 12);
	EQUAL(host.to.port, 5001);
}

static void nodes_without_a_header(void)
{
	begin(0, "00000000", 0);
	/* ESP-IDF: numbers from 0, zeros behind. */
	memset(datagram, 0, sizeof datagram);
	for (uint32_t id = 0; id < 3; id++) {
		put(datagram, id);
		wl_iperf_datagram(&host.it, 0, &peer, datagram, 64, 64, host.now);
	}
	host_pass(6000 * HOST_MS);
	EQUAL(host.told, 1);
	CHECK(!host.result.complete);
	EQUAL(host.result.here.bytes, 192);
	EQUAL(host.result.here.out_of_order, 0);
	EQUAL(host.result.here.lost, 0);
	/* NuttX: the filling from offset 0 on, which is not a header. */
	peer.port++;
	wl_iperf_fill(datagram, 64, 0);
	put(datagram, 1);
	wl_iperf_datagram(&host.it, 0, &peer, datagram, 64, 64, host.now);
	put(datagram, 2);
	wl_iperf_datagram(&host.it, 0, &peer, datagram, 12, 12, host.now);
	EQUAL(wl_iperf_running(&host.it, true), 1);
	EQUAL(host.it.flows[0].rx.next, 3);
	EQUAL(host.opened, 0);
	/* Too short to be a datagram of iperf, and a late final one. */
	peer.port++;
	wl_iperf_datagram(&host.it, 0, &peer, datagram, 11, 11, host.now);
	send(-5, 100);
	EQUAL(wl_iperf_running(&host.it, true), 1);
	EQUAL(host.datagrams, 0);
}

static void jitter_is_that_of_rfc_3550(void)
{
	double jitter = 0;

	begin(0x48010098, "00000000", 3000);
	for (uint32_t n = 0; n < 500; n++) {
		uint32_t late = n * 7919 % 400;
		static uint32_t before;

		host.now = 5000000 + n * 1000 + late;
		send_at(n + 1, 100, n * 1000);
		if (n > 0)
			jitter += ((late > before ? late - before : before - late) - jitter) / 16;
		before = late;
	}
	CHECK(jitter > 50);
	/* A step of the sender's clock is not jitter. */
	send_at(501, 100, 800000000);
	send_at(-502, 100, 800000000);
	CHECK(host.result.here.jitter_us + 2 > jitter && host.result.here.jitter_us < jitter + 2);
}

static void both_at_once_on_a_port_of_the_client(void)
{
	uint32_t last;

	/* -d for 200 ms at 1 Mibit/s in datagrams of 64 bytes. */
	begin(0xC8010099, "00000000", (uint32_t)-20);
	send(1, 100);
	host_pass(100 * HOST_MS);
	send(2, 100);
	EQUAL(host.opened, 1);
	EQUAL(host.to.port, 5001);
	EQUAL(host.to.host[0], peer.host[0]);
	EQUAL(host.head_count, 16);
	EQUAL(host.count, 64);
	host_pass(110 * HOST_MS);
	/* 1,048,576 bit/s in 200 ms are 410 datagrams of 64 bytes, and then the final one is sent. */
	last = word(host.head);
	CHECK(last >= (uint32_t)-412 && last <= (uint32_t)-409);
	EQUAL(word(host.head + 12), UINT32_MAX);
	EQUAL(host.datagrams, (uint32_t)-last);
	host_pass(1000 * HOST_MS);
	CHECK(word(host.head) == last);
	EQUAL(host.datagrams, (uint32_t)-last + 4);
	/* Its report arrives at the socket of that flow, and from no other host. */
	memset(datagram, 0, 128);
	put(datagram + 16, 0x88000000u);
	put(datagram + 24, 6400);
	put(datagram + 36, 7);
	put(datagram + 44, 410);
	peer.port = 5001;
	peer.host[0]++;
	wl_iperf_datagram(&host.it, host.flow, &peer, datagram, 128, 128, host.now);
	EQUAL(host.told, 0);
	peer.host[0]--;
	wl_iperf_datagram(&host.it, host.flow, &peer, datagram, 128, 128, host.now);
	EQUAL(host.told, 1);
	CHECK(host.result.sent && host.result.reported && host.result.complete);
	EQUAL(host.result.there.bytes, 6400);
	EQUAL(host.result.there.lost, 7);
	EQUAL(host.result.there.datagrams, 410);
	EQUAL(host.result.here.datagrams, (uint32_t)-last - 1);
}

static void traffic_back_begins_when_the_client_has_had_its_report(void)
{
	begin(0xC8010098, "00000000", 640);
	send(1, 100);
	send(-2, 100);
	EQUAL(host.told, 1);
	host_pass(200 * HOST_MS);
	send(-2, 100);
	host_pass(240 * HOST_MS);
	EQUAL(host.opened, 0);
	host_pass(20 * HOST_MS);
	EQUAL(host.opened, 1);
	/* 640 bytes are ten datagrams; nobody answers. */
	host_pass(4000 * HOST_MS);
	EQUAL(host.datagrams, 2 + 10 + 10);
	EQUAL(host.told, 2);
	CHECK(host.result.sent && !host.result.complete && !host.result.reported);
	EQUAL(host.result.here.bytes, 640);
	EQUAL(wl_iperf_running(&host.it, true), 0);
}

static void traffic_back_on_the_same_socket(void)
{
	begin(0x6C010098, "04000000", (uint32_t)-10);
	send(1, 100);
	host_pass(50 * HOST_MS);
	/* The client repeats its request until something arrives. */
	send(1, 100);
	host_pass(150 * HOST_MS);
	EQUAL(host.opened, 0);
	EQUAL(host.to.port, 50000);
	EQUAL(host.told, 1);
	CHECK(host.result.sent && host.result.complete);
	EQUAL(host.result.here.datagrams + 3, host.datagrams);
	/* Both: no report, which would look like data. */
	begin(0x6C010098, "08080000", (uint32_t)-10);
	send(1, 100);
	send(-2, 100);
	EQUAL(host.told, 1);
	EQUAL(host.datagrams, 0);
	host_pass(150 * HOST_MS);
	EQUAL(host.told, 2);
	CHECK(host.result.sent && host.result.complete && word(host.head) > INT32_MAX);
}

static void what_is_asked_is_limited(void)
{
	begin(0xC8010099, "00000000", (uint32_t)-2000000);
	host.it.receive_only = true;
	send(1, 100);
	peer.port++;
	send(1, 100);
	peer.port--;
	send(2, 100);
	EQUAL(host.it.flows[0].rx.next, 3);
	host_pass(1000 * HOST_MS);
	EQUAL(host.opened, 0);
	EQUAL(host.it.refused, 2);
	begin(0xC8010099, "00000000", (uint32_t)-2000000);
	put(datagram + 16 + 48, UINT32_MAX);
	put(datagram + 16 + 52, 0x0FFFFF00u);
	put(datagram + 16 + 12, 65000);
	send(1, 100);
	EQUAL(host.it.flows[1].ask.time_cs, WL_IPERF_UDP_BACK_S * 100);
	EQUAL(host.it.flows[1].ask.bits_per_s, WL_IPERF_BACK_BITS_PER_S);
	host_pass(2 * HOST_MS);
	EQUAL(host.count, 1470);
	/* Traffic back ends when the requesting flow falls silent: forged requests cost the forger as much. */
	host_pass(20000 * HOST_MS);
	EQUAL(wl_iperf_running(&host.it, true), 0);
	EQUAL(host.told, 2);
}

static void what_costs_the_peer_nothing_ends_sooner_over_udp(void)
{
	/* -R for 20,000 s, and for 2^31 - 1 bytes, each at 1 Mibit/s: from an address that may be forged. */
	static const uint32_t amounts[] = { (uint32_t)-2000000, INT32_MAX };

	for (size_t n = 0; n < 2; n++) {
		begin(0x6C010098, "04000000", amounts[n]);
		send(1, 100);
		EQUAL(host.it.flows[0].ask.time_cs, WL_IPERF_UDP_BACK_S * 100);
		host_pass((WL_IPERF_UDP_BACK_S - 1) * 1000 * HOST_MS);
		EQUAL(host.told, 0);
		host_pass(2000 * HOST_MS);
		/* The client gets the usual end. */
		EQUAL(host.told, 1);
		CHECK(host.result.sent && host.result.complete && word(host.head) > INT32_MAX);
		EQUAL((host.result.here.duration_us + 500000) / 1000000, WL_IPERF_UDP_BACK_S);
		EQUAL(wl_iperf_running(&host.it, true), 0);
	}
	/* So does -r. */
	begin(0xC8010098, "00000000", (uint32_t)-2000000);
	send(1, 100);
	send(-2, 100);
	host_pass(300 * HOST_MS);
	EQUAL(host.it.flows[0].ask.time_cs, WL_IPERF_UDP_BACK_S * 100);
}

static void a_clock_without_whole_ticks_a_millisecond_keeps_time(void)
{
	/* 32,768 Hz: -R for 10 s at 1 Mibit/s are 20,480 datagrams of 64 bytes. */
	begin(0x6C010098, "04000000", (uint32_t)-1000);
	wl_iperf_init(&host.it, host.it.io, 30517578);
	send(1, 100);
	host_pass(11 * 32768);
	EQUAL(host.told, 1);
	CHECK(host.result.here.duration_us > 9990000 && host.result.here.duration_us < 10010000);
	CHECK(host.result.here.datagrams > 20460 && host.result.here.datagrams < 20500);
}

static void the_time_goes_on_after_a_long_idle(void)
{
	begin(0x6C010098, "04000000", (uint32_t)-10);
	wl_iperf_set_time(&host.it, 100, 250000, host.now);
	host.now += 1000000000ull * 1000000 + 7;
	send(1, 100);
	host_pass(1);
	EQUAL(word(host.head + 4), 1000000100);
	EQUAL(word(host.head + 8), 250007);
}

static void a_ring_that_is_full_loses_nothing(void)
{
	begin(0xC8010099, "00000000", 6400);
	send(1, 100);
	host.most = 0;
	host_pass(50 * HOST_MS);
	EQUAL(host.datagrams, 0);
	host.most = 5;
	host_pass(50 * HOST_MS);
	EQUAL(host.datagrams, 5);
	host.most = UINT32_MAX;
	host_pass(100 * HOST_MS);
	EQUAL(host.datagrams, 101);
	EQUAL(word(host.head), (uint32_t)-101);
}

static void forged_senders_push_no_test_out(void)
{
	begin(0x48010098, "00000000", 3000);
	for (int id = 1; id < 100; id++)
		send(id, 100);
	for (int n = 0; n < 100; n++) {
		peer = host_peer(2, (uint16_t)(1000 + n));
		host.now += 10;
		send(1, 100);
	}
	peer = host_peer(1, 50000);
	send(-100, 100);
	EQUAL(host.result.here.datagrams, 100);
	EQUAL(host.result.here.lost, 0);
	/* Nor does a flow that requests traffic back replace itself: it is received, and nothing is sent. */
	for (int n = 1; n < WL_IPERF_FLOWS; n++) {
		for (int id = 1; id < 4; id++) {
			peer = host_peer(3, (uint16_t)n);
			send(id, 100);
		}
	}
	peer = host_peer(1, 50001);
	put(datagram + 16, 0xC8010099u);
	for (int id = 1; id < 10; id++)
		send(id, 100);
	EQUAL(host.opened, 0);
	send(-10, 100);
	EQUAL(host.result.here.datagrams, 10);
	EQUAL(host.result.peer.port, 50001);
	put(datagram + 16, 0x48010098u);
	/* If all flows are real, one more is refused. */
	host_pass(10000 * HOST_MS);
	for (int id = 1; id < 4; id++) {
		for (int n = 0; n <= WL_IPERF_FLOWS; n++) {
			peer = host_peer(2, (uint16_t)(2000 + n));
			send(id, 100);
		}
	}
	CHECK(host.it.refused > 0);
	EQUAL(wl_iperf_running(&host.it, true), WL_IPERF_FLOWS);
}

static void a_port_is_used_again(void)
{
	begin(0x48010098, "00000000", 3000);
	send(1, 100);
	send(-2, 100);
	send(1, 100);
	send(2, 100);
	send(-3, 100);
	EQUAL(host.told, 2);
	EQUAL(host.result.here.datagrams, 3);
	EQUAL(host.result.here.lost, 0);
}

int main(void)
{
	RUN(count_is_as_iperf_counts);
	RUN(losses_and_numbers_of_64_bits);
	RUN(a_peer_of_2_0_5_gets_its_own_layout);
	RUN(nodes_without_a_header);
	RUN(jitter_is_that_of_rfc_3550);
	RUN(both_at_once_on_a_port_of_the_client);
	RUN(traffic_back_begins_when_the_client_has_had_its_report);
	RUN(traffic_back_on_the_same_socket);
	RUN(what_is_asked_is_limited);
	RUN(what_costs_the_peer_nothing_ends_sooner_over_udp);
	RUN(a_clock_without_whole_ticks_a_millisecond_keeps_time);
	RUN(the_time_goes_on_after_a_long_idle);
	RUN(a_ring_that_is_full_loses_nothing);
	RUN(forged_senders_push_no_test_out);
	RUN(a_port_is_used_again);
	return tap_end();
}
