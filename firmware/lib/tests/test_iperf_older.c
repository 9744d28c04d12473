/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clients of iperf 2.0.5 to 2.0.13, whose flows are replayed as they were captured (crates/iperf/tests/v2_older.rs, and
 * for TCP crates/iperf/src/v2/client_header/tests.rs). */
#include "iperf_datagrams.h"

#define DATAGRAM_BYTES 100

struct captured {
	const char *name;
	unsigned at; /* where header and report lie */
	bool greets; /* a datagram with the header alone comes before the data; both have the number 0 */
	const char *rest; /* behind number and time */
	uint32_t last;
};

static const struct captured flows[] = {
	{ "2.0.9 -u -l 100 -n 500", 12, false,
	  "00000000000000010000c3490000006400000000000001f4009896803031323334353637", 0xFFFFFFFBu },
	{ "2.0.9 -u -l 100 -n 500 -r", 12, false,
	  "8000000000000001000017710000006400000000000001f4009896803031323334353637", 0xFFFFFFFBu },
	{ "2.0.10 -u -l 100 -n 500", 16, false,
	  "323334350000000030313233343536373839303132333435363738393031323334353637", 0x80000005u },
	{ "2.0.12 -u -l 100 -n 500", 16, false,
	  "323334350000000030313233343536373839303132333435363738393031003434353637", 0x80000005u },
	{ "2.0.12 -u -l 100 -n 500 -r", 16, true,
	  "32333435c000000000000001000017710000006832333435000001f4000000010000001c0000000000020000000d000000"
	  "00000000989680",
	  0x80000005u },
	{ "2.0.13 -u -l 100 -n 500", 16, false,
	  "000000000800000030313233343536373839303132333435363738393031003434353637", 0xFFFFFFFBu },
	{ "2.0.13 -u -l 100 -n 500 -b 1M -r", 16, true,
	  "00000000c800000000000001000017710000007032333435000001f4000000010000001c0000000000020000000d000300"
	  "0000000010000038393031",
	  0xFFFFFFFBu },
};

/* Whether its numbers have 64 bits. */
static bool is_wide(const struct captured *flow)
{
	return flow->at == 16 && flow->last == 0xFFFFFFFBu;
}

static void take_bytes(const struct captured *flow, uint32_t number, uint32_t behind, size_t count)
{
	uint8_t whole[DATAGRAM_BYTES];
	/* A buffer of the datagram's length, so that a read beyond it is found. */
	uint8_t *bytes = malloc(count);

	memset(whole, '5', sizeof whole);
	put(whole, number);
	put(whole + 4, 0x6B05C631u);
	put(whole + 8, number * 700 & 0xFFFF);
	tap_hex(flow->rest, whole + 12, strlen(flow->rest) / 2);
	if (is_wide(flow))
		put(whole + 12, behind);
	memcpy(bytes, whole, count);
	wl_iperf_datagram(&host.it, 0, &peer, bytes, count, count, host.now);
	free(bytes);
	host.now += 700;
}

static void take(const struct captured *flow, uint32_t number)
{
	take_bytes(flow, number, number >> 31 ? UINT32_MAX : 0, DATAGRAM_BYTES);
}

/* The datagram with only the header; 2.0.13 leaves filling in its high word. */
static void greet(const struct captured *flow, size_t count)
{
	take_bytes(flow, 0, 0x32333435u, count);
}

/* The whole flow, without a loss. */
static void replay(const struct captured *flow)
{
	host_begin();
	peer = host_peer(1, 50000);
	if (flow->greets)
		greet(flow, DATAGRAM_BYTES);
	for (uint32_t number = 0; number < 5; number++)
		take(flow, number);
	take(flow, flow->last);
}

static void each_is_counted_and_answered_in_its_layout(void)
{
	for (unsigned n = 0; n < sizeof flows / sizeof flows[0]; n++) {
		const struct captured *flow = &flows[n];
		const uint8_t *at = host.head + flow->at;

		printf("# %s\n", flow->name);
		replay(flow);
		EQUAL(host.datagrams, 1);
		EQUAL(host.count, 128);
		EQUAL(word(host.head), 0);
		EQUAL(word(at), is_wide(flow) ? 0x88000000u : 0x80000000u);
		EQUAL(word(at + 4), 0);
		EQUAL(word(at + 8), 6 * DATAGRAM_BYTES);
		EQUAL(word(at + 12), 0);
		EQUAL(word(at + 16), (5 + flow->greets) * 700);
		EQUAL(word(at + 20), 0);
		EQUAL(word(at + 24), 0);
		EQUAL(word(at + 28), 5);
		EQUAL(host.result.here.lost, 0);
		EQUAL(host.result.here.datagrams, 5);
		CHECK(host.result.complete);
	}
}

static void what_is_lost_is_told_where_its_client_reads_it(void)
{
	host_begin();
	peer = host_peer(1, 50000);
	for (uint32_t number = 0; number < 5; number++)
		if (number != 2)
			take(&flows[3], number);
	/* Five of a second, so that there is a jitter. */
	host.now += 200000;
	take(&flows[3], 5);
	take(&flows[3], 0x80000006u);
	EQUAL(word(host.head + 36), 1);
	EQUAL(word(host.head + 44), 6);
	/* Upper words of the datagrams and seconds of the jitter, then its us. */
	EQUAL(word(host.head + 48), 0);
	EQUAL(word(host.head + 52), 0);
	EQUAL(word(host.head + 56), host.result.here.jitter_us);
	CHECK(host.result.here.jitter_us > 1000);
	/* The same flow of 2.0.9 has it one word earlier. */
	host_begin();
	take(&flows[0], 0);
	host.now += 200000;
	take(&flows[0], 1);
	take(&flows[0], 0xFFFFFFFEu);
	EQUAL(word(host.head + 44), 0);
	EQUAL(word(host.head + 48), host.result.here.jitter_us);
	CHECK(host.result.here.jitter_us > 1000);
}

static void traffic_back_ends_as_its_client_expects(void)
{
	replay(&flows[4]);
	host_pass(300 * HOST_MS);
	EQUAL(host.opened, 1);
	EQUAL(host.to.port, 6001);
	host_pass(3000 * HOST_MS);
	/* 500 bytes of 100 each, then the final datagram again and again; no flags behind an unused word. */
	EQUAL(host.head_count, 20);
	EQUAL(word(host.head), 0x80000006u);
	EQUAL(word(host.head + 12), 0);
	EQUAL(word(host.head + 16), 0);
	/* Numbers of 64 bits. Five datagrams of 112 bytes at 2^20 bit/s, though the high word of the rate holds digits. */
	replay(&flows[6]);
	host_pass(3300 * HOST_MS);
	EQUAL(host.opened, 1);
	EQUAL(host.to.port, 6001);
	EQUAL(host.head_count, 16);
	EQUAL(word(host.head), 0xFFFFFFFAu);
	EQUAL(word(host.head + 12), UINT32_MAX);
	CHECK(host.result.sent);
	EQUAL(host.result.here.bytes, 5 * 112 - 60);
	EQUAL(host.result.here.duration_us, 4 * 112 * 8 * 1000000ull / 1048576);
	replay(&flows[1]);
	host_pass(3300 * HOST_MS);
	EQUAL(host.head_count, 12);
	EQUAL(word(host.head), 0xFFFFFFFAu);
}

/* An invalid last number must not count as billions of losses. */
static void a_hostile_last_number_counts_no_more_than_it_says(void)
{
	host_begin();
	peer = host_peer(1, 50000);
	take(&flows[3], 0);
	take(&flows[3], 0x80000000u);
	take(&flows[3], 0xBFFFFFFFu);
	EQUAL(host.result.here.lost, 0x3FFFFFFFu - 2);
}

/* The header alone is taken for one of 2.0.13 only where its version says so. */
static void what_resembles_a_first_datagram_of_2_0_13_is_none(void)
{
	struct captured other = flows[6];
	char rest[200];

	strcpy(rest, other.rest);
	other.rest = rest;
	host_begin();
	peer = host_peer(1, 50000);
	/* The version lies at 52, and 12 bytes come before. */
	rest[2 * (52 - 12) + 7] = '1';
	greet(&other, DATAGRAM_BYTES);
	EQUAL(host.it.flows[0].layout, 0);
	EQUAL(host.it.flows[0].rx.bytes, DATAGRAM_BYTES);
	/* Nor where the filling ends before the version. */
	host_begin();
	greet(&flows[6], 55);
	EQUAL(host.it.flows[0].layout, 0);
	/* A peer that begins without it is counted from its first data on. */
	host_begin();
	take(&flows[6], 0);
	take(&flows[6], 1);
	EQUAL(host.it.flows[0].rx.next, 2);
	EQUAL(host.it.flows[0].rx.bytes, 2 * DATAGRAM_BYTES);
	EQUAL(host.it.flows[0].ask.port, 6001);
}

/* A copy of the header alone, or a late one, is not a gap of billions of datagrams. */
static void a_copy_of_the_header_alone_is_no_loss(void)
{
	const struct captured *flow = &flows[6];

	for (unsigned late = 0; late < 3; late++) {
		host_begin();
		peer = host_peer(1, 50000);
		if (late < 2)
			greet(flow, DATAGRAM_BYTES);
		for (uint32_t number = 0; number < 5; number++) {
			if (number == late)
				greet(flow, DATAGRAM_BYTES);
			take(flow, number);
		}
		take(flow, flow->last);
		EQUAL(host.result.here.lost, 0);
		EQUAL(host.result.here.out_of_order, 0);
		EQUAL(host.result.here.datagrams, 5);
		CHECK(host.result.complete);
	}
}

/* The header of `-l 1000 -n 4000 -r -L 6001` over TCP, of 2.0.13 as captured; the same with -d; and with the window of
 * 2.0.5 `-w 64K`. None requests a rate, so as much as fits goes back at once. */
static void the_word_of_the_window_is_no_rate_over_tcp(void)
{
	static const char *const headers[] = { "800000000000000100001771000003e83637383900000fa0",
					       "800000010000000100001771000003e83637383900000fa0",
					       "800000000000000100001771000003e80001000000000fa0" };
	uint8_t bytes[24];

	for (unsigned n = 0; n < sizeof headers / sizeof headers[0]; n++) {
		struct wl_iperf_flow *flow;

		host_begin();
		peer = host_peer(1, 40000);
		EQUAL(tap_hex(headers[n], bytes, sizeof bytes), sizeof bytes);
		flow = wl_iperf_accept(&host.it, &peer, host.now);
		wl_iperf_bytes(&host.it, flow, bytes, sizeof bytes, sizeof bytes, host.now);
		EQUAL(flow->ask.mode, n == 1 ? WL_IPERF_DUAL : WL_IPERF_TRADEOFF);
		wl_iperf_closed(&host.it, flow, false, host.now);
		host_pass(1 * HOST_MS);
		EQUAL(host.connected, 1);
		EQUAL(host.to.port, 6001);
		host.room = 10000;
		wl_iperf_connected(&host.it, host.flow, host.now);
		EQUAL(host.sent, 4000);
	}
}

int main(void)
{
	RUN(each_is_counted_and_answered_in_its_layout);
	RUN(what_is_lost_is_told_where_its_client_reads_it);
	RUN(traffic_back_ends_as_its_client_expects);
	RUN(what_resembles_a_first_datagram_of_2_0_13_is_none);
	RUN(a_hostile_last_number_counts_no_more_than_it_says);
	RUN(a_copy_of_the_header_alone_is_no_loss);
	RUN(the_word_of_the_window_is_no_rate_over_tcp);
	return tap_end();
}
