/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clients of iperf 2.0.9 to 2.0.13, whose flows are replayed as they were captured (crates/iperf/tests/v2_older.rs). */
#include "iperf_datagrams.h"

#define DATAGRAM_BYTES 100

struct captured {
	const char *name;
	bool flagged; /* the header lies at 16, and the last number has its top bit set */
	bool greets; /* the number 0 comes twice */
	const char *rest; /* behind number and time */
	uint32_t last;
};

static const struct captured flows[] = {
	{ "2.0.9 -u -l 100 -n 500", false, false,
	  "00000000000000010000c3490000006400000000000001f4009896803031323334353637", 0xFFFFFFFBu },
	{ "2.0.9 -u -l 100 -n 500 -r", false, false,
	  "8000000000000001000017710000006400000000000001f4009896803031323334353637", 0xFFFFFFFBu },
	{ "2.0.10 -u -l 100 -n 500", true, false,
	  "323334350000000030313233343536373839303132333435363738393031323334353637", 0x80000005u },
	{ "2.0.13 -u -l 100 -n 500", true, false,
	  "323334350000000030313233343536373839303132333435363738393031003434353637", 0x80000005u },
	{ "2.0.13 -u -l 100 -n 500 -r", true, true,
	  "32333435c000000000000001000017710000006832333435000001f4000000010000001c0000000000020000000d000000"
	  "00000000989680",
	  0x80000005u },
};

static void take(const struct captured *flow, uint32_t number)
{
	/* As long as the datagram is, so that what reads beyond it is found. */
	uint8_t *bytes = malloc(DATAGRAM_BYTES);

	memset(bytes, '5', DATAGRAM_BYTES);
	put(bytes, number);
	put(bytes + 4, 0x6B05C631u);
	put(bytes + 8, number * 700 & 0xFFFF);
	tap_hex(flow->rest, bytes + 12, strlen(flow->rest) / 2);
	wl_iperf_datagram(&host.it, 0, &peer, bytes, DATAGRAM_BYTES, DATAGRAM_BYTES, host.now);
	free(bytes);
	host.now += 700;
}

/* The whole flow, without a loss. */
static void replay(const struct captured *flow)
{
	host_begin();
	peer = host_peer(1, 50000);
	if (flow->greets)
		take(flow, 0);
	for (uint32_t number = 0; number < 5; number++)
		take(flow, number);
	take(flow, flow->last);
}

static void each_is_counted_and_answered_in_its_layout(void)
{
	for (unsigned n = 0; n < sizeof flows / sizeof flows[0]; n++) {
		const struct captured *flow = &flows[n];
		const uint8_t *at = host.head + (flow->flagged ? 16 : 12);

		printf("# %s\n", flow->name);
		replay(flow);
		EQUAL(host.datagrams, 1);
		EQUAL(host.count, 128);
		EQUAL(word(host.head), 0);
		EQUAL(word(at), 0x80000000u);
		EQUAL(word(at + 4), 0);
		EQUAL(word(at + 8), (6 + flow->greets) * DATAGRAM_BYTES);
		EQUAL(word(at + 12), 0);
		EQUAL(word(at + 16), (5 + flow->greets) * 700);
		EQUAL(word(at + 20), 0);
		EQUAL(word(at + 24), flow->greets);
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
	/* The same flow of 2.0.9 has it a word before. */
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
	/* 500 bytes of 100 each, the final datagram again and again; no flags behind a word that says nothing. */
	EQUAL(host.head_count, 20);
	EQUAL(word(host.head), 0x80000006u);
	EQUAL(word(host.head + 12), 0);
	EQUAL(word(host.head + 16), 0);
	replay(&flows[1]);
	host_pass(3300 * HOST_MS);
	EQUAL(host.head_count, 12);
	EQUAL(word(host.head), 0xFFFFFFFAu);
}

/* A last number that says nothing must not be taken for billions that were lost. */
static void a_hostile_last_number_counts_no_more_than_it_says(void)
{
	host_begin();
	peer = host_peer(1, 50000);
	take(&flows[3], 0);
	take(&flows[3], 0x80000000u);
	take(&flows[3], 0xBFFFFFFFu);
	EQUAL(host.result.here.lost, 0x3FFFFFFFu - 2);
}

int main(void)
{
	RUN(each_is_counted_and_answered_in_its_layout);
	RUN(what_is_lost_is_told_where_its_client_reads_it);
	RUN(traffic_back_ends_as_its_client_expects);
	RUN(a_hostile_last_number_counts_no_more_than_it_says);
	return tap_end();
}
