/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf over TCP, and as a client: headers as captured from iperf 2.1.8, in any pieces, and connections that end in any
 * way. */
#include "tap.h"

#include "iperf_host.h"

/* The header of `iperf -c` from its second word on; then its extension. */
#define TAIL                                                                                                 \
	"00000001000013890000000000000000%s0000000000000000%s0002000100080003000000000000000000000000"       \
	"00000000"

static uint8_t header[128];

static size_t make(const char *flags, const char *amount, const char *upper)
{
	char text[200];

	sprintf(text, "%s" TAIL, flags, amount, upper);
	return tap_hex(text, header, sizeof header);
}

/* A connection whose first bytes come one by one. */
static struct wl_iperf_flow *open(const char *flags, const char *amount, const char *upper)
{
	struct wl_iperf_address peer = host_peer(1, 40000);
	struct wl_iperf_flow *flow;
	size_t count;

	host_begin();
	count = make(flags, amount, upper);
	EQUAL(count, 60);
	flow = wl_iperf_accept(&host.it, &peer, host.now);
	CHECK(flow != 0);
	flow->handle.number = 1;
	for (size_t n = 0; n < count; n++) {
		uint8_t *one = malloc(1);

		*one = header[n];
		wl_iperf_bytes(&host.it, flow, one, 1, 1, host.now);
		free(one);
	}
	return flow;
}

static void bytes_are_counted(void)
{
	struct wl_iperf_flow *flow = open("40010078", "FFFFFC18", "00000000");

	for (int n = 0; n < 10; n++) {
		host.now += 100000;
		wl_iperf_bytes(&host.it, flow, header, 128, 100000, host.now);
	}
	wl_iperf_closed(&host.it, flow, false, host.now);
	EQUAL(host.told, 1);
	EQUAL(host.closed, 1);
	EQUAL(host.result.here.bytes, 1000060);
	EQUAL(host.result.here.duration_us, 1000000);
	CHECK(!host.result.udp && !host.result.sent && host.result.complete);
	EQUAL(host.sent, 0);
	EQUAL(wl_iperf_running(&host.it, true), 0);
}

static void what_is_no_header_is_data(void)
{
	static const char *const starts[] = { "30313233343536373839", "00800000000000640000", "C0",
					      "FFFFFFFF" };

	for (unsigned n = 0; n < sizeof starts / sizeof starts[0]; n++) {
		struct wl_iperf_address peer = host_peer(1, 40000);
		struct wl_iperf_flow *flow;
		size_t count = tap_hex(starts[n], header, sizeof header);

		host_begin();
		flow = wl_iperf_accept(&host.it, &peer, host.now);
		wl_iperf_bytes(&host.it, flow, header, count, count, host.now);
		wl_iperf_closed(&host.it, flow, false, host.now);
		EQUAL(host.result.here.bytes, count);
		host_pass(1000 * HOST_MS);
		EQUAL(host.connected, 0);
		EQUAL(wl_iperf_running(&host.it, true), 0);
	}
}

static void an_acknowledgement_where_it_is_wanted(void)
{
	static const char wanted[] = "000000020000001C0000000000020001000800030000000000000000";
	uint8_t bytes[28];

	host_begin();
	open("46010078", "FFFFFC18", "00000000");
	EQUAL(host.first_count, 0);
	host.room = 1000;
	make("46010078", "FFFFFC18", "00000000");
	wl_iperf_bytes(&host.it, wl_iperf_accept(&host.it, &(struct wl_iperf_address){ .port = 1 }, host.now),
		       header, 60, 60, host.now);
	tap_hex(wanted, bytes, sizeof bytes);
	EQUAL(host.first_count, 28);
	CHECK(memcmp(host.first, bytes, 28) == 0);
}

static void back_after_the_end_of_the_first(void)
{
	struct wl_iperf_flow *flow = open("C0010078", "000186A0", "00000000");

	host_pass(1000 * HOST_MS);
	EQUAL(host.connected, 0);
	wl_iperf_closed(&host.it, flow, false, host.now);
	EQUAL(host.told, 1);
	host_pass(1 * HOST_MS);
	EQUAL(host.connected, 1);
	EQUAL(host.to.port, 5001);
	/* The client was not there yet. */
	wl_iperf_closed(&host.it, host.flow, true, host.now);
	host_pass(90 * HOST_MS);
	EQUAL(host.connected, 1);
	host_pass(20 * HOST_MS);
	EQUAL(host.connected, 2);
	host.room = 70000;
	wl_iperf_connected(&host.it, host.flow, host.now);
	EQUAL(host.sent, 70000);
	host_pass(500 * HOST_MS);
	EQUAL(host.sent, 70000);
	host.room = 70000;
	wl_iperf_room(&host.it, host.flow, host.now);
	EQUAL(host.sent, 100000);
	EQUAL(host.first_count, 0);
	EQUAL(host.ended, 1);
	EQUAL(host.told, 1);
	wl_iperf_closed(&host.it, host.flow, false, host.now);
	EQUAL(host.told, 2);
	CHECK(host.result.sent && host.result.complete);
	EQUAL(host.result.here.bytes, 100000);
	EQUAL(wl_iperf_running(&host.it, true), 0);
}

static void nobody_takes_the_connection_back(void)
{
	struct wl_iperf_flow *flow = open("C0010079", "FFFFFF9C", "00000000");

	/* The connection is never answered, or refused at once, or cannot even begin. */
	host_pass(20000 * HOST_MS);
	EQUAL(host.connected, 4);
	EQUAL(host.told, 2);
	host_begin();
	flow = open("C0010079", "FFFFFF9C", "00000000");
	host.refuses = true;
	wl_iperf_bytes(&host.it, flow, header, 60, 60, host.now);
	host_pass(2000 * HOST_MS);
	EQUAL(host.told, 1);
	CHECK(host.result.sent && !host.result.complete);
	/* The first connection is not affected. */
	EQUAL(wl_iperf_running(&host.it, true), 1);
}

static void back_on_the_same_connection(void)
{
	struct wl_iperf_flow *flow = open("44010078", "FFFFFFF6", "04000000");

	/* 100 ms; the client finishes sending at once. */
	host.room = 1u << 20;
	wl_iperf_closed(&host.it, flow, false, host.now);
	host_pass(50 * HOST_MS);
	EQUAL(host.sent, 1u << 20);
	host_pass(60 * HOST_MS);
	EQUAL(host.closed, 1);
	EQUAL(host.told, 1);
	CHECK(host.result.sent && host.result.complete);
	/* Both directions: either may end first. */
	for (int first = 0; first < 2; first++) {
		flow = open("44010078", "FFFFFFF6", "08000000");
		host.room = 1u << 16;
		if (first)
			wl_iperf_closed(&host.it, flow, false, host.now);
		host_pass(110 * HOST_MS);
		/* The end that finishes last has nothing to wait for. */
		EQUAL(host.ended, !first);
		EQUAL(host.told, first ? 2 : 0);
		if (!first)
			wl_iperf_closed(&host.it, flow, false, host.now);
		EQUAL(host.told, 2);
		CHECK(host.results[0].complete && host.results[1].complete);
		EQUAL(wl_iperf_running(&host.it, true), 0);
	}
	/* Gone in the middle. */
	flow = open("44010078", "FFFFFFF6", "08000000");
	wl_iperf_closed(&host.it, flow, true, host.now);
	EQUAL(host.told, 2);
	CHECK(!host.results[0].complete && !host.results[1].complete);
}

static void a_peer_that_reads_nothing_does_not_keep_its_place(void)
{
	struct wl_iperf_flow *flow = open("44010078", "7FFFFFFF", "04000000");

	host.room = 100000;
	wl_iperf_room(&host.it, flow, host.now);
	host_pass(4000 * HOST_MS);
	host.room = 1;
	wl_iperf_room(&host.it, flow, host.now);
	host_pass(4900 * HOST_MS);
	EQUAL(host.told, 0);
	host_pass(200 * HOST_MS);
	EQUAL(host.told, 1);
	CHECK(!host.result.complete);
	EQUAL(host.result.here.bytes, 100001);
	EQUAL(host.closed, 1);
}

static void silent_connections_end(void)
{
	struct wl_iperf_address peer = host_peer(1, 1);

	host_begin();
	for (int n = 0; n < 3 * WL_IPERF_FLOWS; n++)
		wl_iperf_accept(&host.it, &peer, host.now);
	EQUAL(wl_iperf_running(&host.it, true), WL_IPERF_FLOWS);
	EQUAL(host.it.refused, 2 * WL_IPERF_FLOWS);
	host_pass(5100 * HOST_MS);
	EQUAL(wl_iperf_running(&host.it, true), 0);
	EQUAL(host.told, WL_IPERF_FLOWS);
	CHECK(!host.result.complete);
}

/* A test over TCP as client, with a header as 2.1.8 writes it. */
static void client_headers_over_tcp(void)
{
	static const struct {
		const char *flags, *upper;
		uint8_t mode;
	} all[] = { { "40010078", "00000000", WL_IPERF_FORWARD },
		    { "C0010078", "00000000", WL_IPERF_TRADEOFF },
		    { "C0010079", "00000000", WL_IPERF_DUAL },
		    { "44010078", "04000000", WL_IPERF_REVERSE },
		    { "44010078", "08000000", WL_IPERF_FULL_DUPLEX } };

	for (unsigned n = 0; n < 5; n++) {
		struct wl_iperf_test test = { .server = host_peer(9, 0),
					      .mode = all[n].mode,
					      .time_ms = 1000 };

		host_begin();
		make(all[n].flags, "FFFFFF9C", all[n].upper);
		CHECK(wl_iperf_run(&host.it, &test, host.now));
		host_pass(1 * HOST_MS);
		EQUAL(host.connected, 1);
		EQUAL(host.to.port, 5001);
		/* In pieces, as space allows. */
		host.room = 7;
		wl_iperf_connected(&host.it, host.flow, host.now);
		host.room = 53 + 1000;
		wl_iperf_room(&host.it, host.flow, host.now);
		EQUAL(host.first_count, 60);
		CHECK(memcmp(host.first, header, 60) == 0);
		EQUAL(host.sent, all[n].mode == WL_IPERF_REVERSE ? 60 : 1060);
		if (all[n].mode >= WL_IPERF_REVERSE)
			wl_iperf_bytes(&host.it, host.flow, header, 100, 5000, host.now);
		host_pass(1100 * HOST_MS);
		wl_iperf_closed(&host.it, host.flow, false, host.now);
		EQUAL(host.told, all[n].mode == WL_IPERF_FULL_DUPLEX ? 2 : 1);
		CHECK(host.result.client && host.result.complete);
		EQUAL(host.result.here.bytes, all[n].mode >= WL_IPERF_REVERSE ? 5000 : 1060);
		EQUAL(wl_iperf_running(&host.it, true), 0);
	}
}

static void client_headers_over_udp(void)
{
	/* `iperf -u -l 64 -n 3000 -P 2` 2.1.8, from the flags to the amount. */
	static const char wanted[] = "480100980000000200001389000000400000000000000BB8";
	struct wl_iperf_test test = { .server = host_peer(9, 0),
				      .udp = true,
				      .streams = 2,
				      .length_bytes = 64,
				      .bytes = 3000,
				      .bits_per_s = 1048576 };
	uint8_t bytes[24], report[128] = { 0 };

	host_begin();
	CHECK(wl_iperf_run(&host.it, &test, host.now));
	EQUAL(wl_iperf_running(&host.it, false), 2);
	host_pass(1);
	EQUAL(host.opened, 1);
	EQUAL(host.datagrams, 1);
	EQUAL(host.count, 76);
	EQUAL(host.head_count, 76);
	EQUAL(host.head[3], 1);
	tap_hex(wanted, bytes, 24);
	CHECK(memcmp(host.head + 16, bytes, 24) == 0);
	CHECK(memcmp(host.head + 64, (uint8_t[]){ 0, 0x10, 0, 0, 0, 0, 0, 0 }, 8) == 0);
	host_pass(5 * HOST_MS);
	EQUAL(host.count, 64);
	EQUAL(host.head_count, 64);
	host_pass(1000 * HOST_MS);
	EQUAL(host.opened, 2);
	/* The first of 76 bytes, 45 of 64, one of 44; then the final ones. */
	EQUAL(host.it.flows[0].tx.next, 48);
	EQUAL(host.it.flows[0].tx.bytes, 3000);
	report[16] = 0x88;
	wl_iperf_datagram(&host.it, &host.it.flows[0], &host.to, report, 128, 128, host.now);
	EQUAL(host.told, 1);
	CHECK(host.result.client && host.result.reported);
	/* A late acknowledgement of 2.0.13 is not a report. */
	memset(report, 0xFF, 52);
	memcpy(report, (uint8_t[]){ 0, 0, 0, 2 }, 4);
	wl_iperf_datagram(&host.it, &host.it.flows[1], &host.to, report, 52, 52, host.now);
	EQUAL(host.told, 1);
	wl_iperf_refused(&host.it, &host.it.flows[1], host.now);
	EQUAL(host.told, 2);
	CHECK(!host.result.complete);
	EQUAL(wl_iperf_running(&host.it, true), 0);
}

static void a_client_asks_until_something_comes(void)
{
	struct wl_iperf_test test = { .server = host_peer(9, 0), .udp = true, .mode = WL_IPERF_REVERSE };
	uint8_t data[64];

	for (int answers = 0; answers < 2; answers++) {
		host_begin();
		wl_iperf_fill(data, sizeof data, 0);
		memcpy(data, (uint8_t[]){ 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0 }, 16);
		CHECK(wl_iperf_run(&host.it, &test, host.now));
		host_pass(160 * HOST_MS);
		EQUAL(host.datagrams, 4);
		EQUAL(host.head[3], 1);
		CHECK(memcmp(host.head + 16, (uint8_t[]){ 0x6C, 1, 0, 0x98 }, 4) == 0);
		if (answers) {
			wl_iperf_datagram(&host.it, host.flow, &host.to, data, 64, 1470, host.now);
			memset(data, 0xFF, 4);
			memset(data + 12, 0xFF, 4);
			data[3] = 0xFE;
			host.now += 1000;
			wl_iperf_datagram(&host.it, host.flow, &host.to, data, 64, 1470, host.now);
		}
		host_pass(5000 * HOST_MS);
		EQUAL(host.told, 1);
		EQUAL(host.result.complete, (unsigned)answers);
		EQUAL(host.result.here.datagrams, answers ? 2 : 0);
		EQUAL(wl_iperf_running(&host.it, true), 0);
	}
}

static void more_streams_than_places(void)
{
	struct wl_iperf_test test = { .server = host_peer(9, 0), .streams = WL_IPERF_FLOWS + 1 };

	host_begin();
	CHECK(!wl_iperf_run(&host.it, &test, host.now));
	host_pass(100 * HOST_MS);
	EQUAL(host.connected, 0);
	test.streams--;
	CHECK(wl_iperf_run(&host.it, &test, host.now));
	host_pass(1000 * HOST_MS);
	EQUAL(host.connected, WL_IPERF_FLOWS);
	wl_iperf_stop(&host.it, false, host.now);
	EQUAL(wl_iperf_running(&host.it, true), 0);
	EQUAL(host.told, WL_IPERF_FLOWS);
}

int main(void)
{
	RUN(bytes_are_counted);
	RUN(what_is_no_header_is_data);
	RUN(an_acknowledgement_where_it_is_wanted);
	RUN(back_after_the_end_of_the_first);
	RUN(nobody_takes_the_connection_back);
	RUN(back_on_the_same_connection);
	RUN(a_peer_that_reads_nothing_does_not_keep_its_place);
	RUN(silent_connections_end);
	RUN(client_headers_over_tcp);
	RUN(client_headers_over_udp);
	RUN(a_client_asks_until_something_comes);
	RUN(more_streams_than_places);
	return tap_end();
}
