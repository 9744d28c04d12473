/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A host that sends iperf's datagrams in another host's name causes no more traffic to that host than it sends itself, in every
 * layout; and the destinations of traffic back with proof.
 */
#include "iperf_datagrams.h"

#include "wirelab/iperf_reach.h"

#define LONGEST_MS (700 * 1000 * HOST_MS)

/* Every request for traffic back, in the layouts of all generations. */
static const struct kind {
	uint32_t flags;
	const char *upper;
	bool narrow; /* 2.0.5 and before: the header behind 12 bytes */
	bool asks;
	bool greets; /* 2.0.13: the first is the header alone, without a high word */
} kinds[] = {
	{ 0x80000000u, "00000000", true, true, false }, /* 2.0.5 -r, -d */
	{ 0x80000001u, "00000000", true, true, false },
	{ 0x88000000u, "00000000", false, true, false }, /* 64-bit numbers, no extension */
	{ 0x88000001u, "00000000", false, true, false },
	{ 0xC8000000u, "00000000", false, true, true }, /* 2.0.13 -r, -d; then without their first */
	{ 0xC8000001u, "00000000", false, true, true },
	{ 0xC8000000u, "00000000", false, true, false },
	{ 0xC8000001u, "00000000", false, true, false },
	{ 0xC8010098u, "00000000", false, true, false }, /* 2.1 -r, -d, -R, --full-duplex */
	{ 0xC8010099u, "00000000", false, true, false },
	{ 0x6C010098u, "04000000", false, true, false },
	{ 0x6C010098u, "08080000", false, true, false },
	{ 0x6C0100A0u, "04000000", false, true, false }, /* 2.2 */
	{ 0xEC0100A1u, "0C000000", false, true, false },
	{ 0x48010098u, "00000000", false, false, false }, /* no request */
	{ 0, "00000000", false, false, false },
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static uint64_t came;

/* A fresh host without any proof, and the first datagram of a flow. */
static void begin_forged(const struct kind *kind, uint32_t amount)
{
	uint8_t header[60];

	begin(kind->flags, kind->upper, amount);
	host.unproven = true;
	came = 0;
	if (kind->greets)
		put(datagram + 52, 0x00020000u);
	if (!kind->narrow)
		return;
	memcpy(header, datagram + 16, sizeof header);
	memcpy(datagram + 12, header, sizeof header);
}

static void forge(const struct kind *kind, int32_t id, size_t count)
{
	uint8_t *copy = malloc(count);

	put(datagram, (uint32_t)id);
	put(datagram + 4, 100);
	put(datagram + 8, (uint32_t)(host.now % 1000000));
	if (!kind->narrow)
		put(datagram + 12, id < 0 ? UINT32_MAX : 0);
	if (kind->greets && id == 1) {
		put(datagram, 0);
		wl_iperf_fill(datagram + 12, 4, 2);
	}
	memcpy(copy, datagram, count);
	wl_iperf_datagram(&host.it, 0, &peer, copy, count, count, host.now);
	free(copy);
	came += count;
	CHECK(host.datagram_bytes <= came);
}

static void one_datagram_makes_it_send_nothing(void)
{
	static const uint32_t amounts[] = { (uint32_t)-2000000, INT32_MAX, 0 };
	static const size_t lengths[] = { 12, 16, 36, 40, 52, 56, 76, 128, 1470 };

	for (unsigned n = 0; n < KINDS; n++) {
		for (unsigned m = 0; m < sizeof amounts / sizeof amounts[0] * 9; m++) {
			begin_forged(&kinds[n], amounts[m % 3]);
			forge(&kinds[n], 1, lengths[m / 3]);
			host_pass(LONGEST_MS);
			EQUAL(host.datagrams, 0);
			EQUAL(host.opened + host.connected, 0);
			EQUAL(wl_iperf_running(&host.it, true), 0);
		}
		/* The reason is reported once. */
		begin_forged(&kinds[n], amounts[0]);
		forge(&kinds[n], 1, 1470);
		forge(&kinds[n], 2, 1470);
		forge(&kinds[n], -3, 1470);
		forge(&kinds[n], -3, 1470);
		host_pass(LONGEST_MS);
		EQUAL(host.refusals, kinds[n].asks);
		EQUAL(host.it.refused, kinds[n].asks);
		CHECK(!kinds[n].asks || host.why == WL_IPERF_NOT_PROVEN);
		EQUAL(host.opened, 0);
	}
}

static void reports_have_room_in_what_came(void)
{
	static const size_t lengths[] = { 12, 16, 40, 64, 100, 127, 128, 129, 200, 1470 };

	for (unsigned n = 0; n < KINDS; n++) {
		for (unsigned first = 0; first < 10; first++) {
			for (unsigned last = 0; last < 10; last++) {
				size_t data = lengths[first], final = lengths[last];
				uint64_t all = (kinds[n].greets ? 1 : 2) * data + final;

				begin_forged(&kinds[n], 3000);
				forge(&kinds[n], 1, data);
				forge(&kinds[n], 2, data);
				for (unsigned again = 0; again < 30; again++) {
					host.now += HOST_MS;
					forge(&kinds[n], -3, final);
				}
				host_pass(LONGEST_MS);
				CHECK(host.datagram_bytes <= came && host.opened == 0);
				/* A real client gets its report if there is space for one. */
				if (all >= 128 && host.told > 0 && kinds[n].upper[1] != '8' &&
				    kinds[n].upper[1] != 'C' && final >= 16 && data >= 76)
					CHECK(host.datagrams > 0);
			}
		}
	}
	/* Short final datagrams of a long flow: each is answered while there is space. */
	begin_forged(&kinds[12], 3000);
	for (int id = 1; id <= 20; id++)
		forge(&kinds[12], id, 64);
	for (unsigned again = 0; again < 300; again++)
		forge(&kinds[12], -21, 64);
	EQUAL(host.datagrams, 21 * 64 / 128);
	/* With proof there is no such bound. */
	host.unproven = false;
	came = UINT64_MAX / 2;
	for (unsigned again = 0; again < 300; again++)
		forge(&kinds[12], -21, 64);
	EQUAL(host.datagrams, 250);
}

/* Any flags, numbers, lengths and pauses, on one port or on many. */
static void whatever_comes_no_more_goes_back(void)
{
	unsigned answered = 0;

	for (unsigned story = 0; story < 3000; story++) {
		const struct kind *kind = &kinds[random_below(KINDS)];

		begin_forged(kind, random_below(2) ? (uint32_t)-2000000 : INT32_MAX);
		for (unsigned n = 1 + random_below(20); n > 0; n--) {
			int32_t id = (int32_t)random_below(5) - 2;
			size_t length = 12 + random_below(random_below(2) ? 200 : 1459);

			if (random_below(4) == 0)
				datagram[12 + random_below(64)] ^= (uint8_t)(1 << random_below(8));
			if (random_below(8) == 0)
				peer.port = (uint16_t)(50000 + random_below(2));
			forge(kind, id, length);
			if (random_below(4) == 0)
				host_pass(random_below(6000) * HOST_MS);
			CHECK(host.datagram_bytes <= came);
		}
		host_pass(LONGEST_MS);
		CHECK(host.datagram_bytes <= came && host.opened == 0 && host.connected == 0);
		answered += host.datagrams > 0;
	}
	CHECK(answered > 100);
}

/* The proof is needed when the traffic begins: -r begins after the flow. */
static void proof_counts_when_traffic_goes(void)
{
	begin(0xC8010098, "00000000", 640);
	send(1, 100);
	send(-2, 100);
	EQUAL(host.datagrams, 1);
	host.unproven = true;
	host_pass(1000 * HOST_MS);
	EQUAL(host.opened, 0);
	EQUAL(host.refusals, 1);
	begin(0xC8010098, "00000000", 640);
	host.unproven = true;
	send(1, 100);
	host.unproven = false;
	send(-2, 100);
	host_pass(1000 * HOST_MS);
	EQUAL(host.opened, 1);
	EQUAL(host.refusals, 0);
	/* A glue without proof of addresses sends to no host. */
	begin(0x6C010098, "04000000", 640);
	static struct wl_iperf_io io;
	io = *host.it.io;
	io.may_send = 0;
	io.refused = 0;
	wl_iperf_init(&host.it, &io, 1000000);
	send(1, 100);
	host_pass(1000 * HOST_MS);
	EQUAL(host.datagrams, 0);
	EQUAL(host.it.refused, 1);
}

static void a_port_of_services_gets_nothing(void)
{
	static const struct {
		uint32_t flags;
		uint16_t port;
		bool goes;
	} all[] = { { 0xC8010099, 53, false },	{ 0xC8010098, 53, false },  { 0xC8010099, 1023, false },
		    { 0xC8010099, 1024, true }, { 0xC8010098, 1024, true }, { 0xC8010099, 65535, true } };

	for (unsigned n = 0; n < sizeof all / sizeof all[0]; n++) {
		begin(all[n].flags, "00000000", 640);
		put(datagram + 16 + 8, all[n].port);
		send(1, 100);
		send(-2, 100);
		host_pass(1000 * HOST_MS);
		EQUAL(host.opened, all[n].goes);
		EQUAL(host.refusals, !all[n].goes);
		CHECK(all[n].goes ? host.to.port == all[n].port : host.why == WL_IPERF_SERVICE_PORT);
		EQUAL(host.to.host[0], peer.host[0]);
	}
}

/* Over TCP the client's address is proven, and nothing goes to another host: the client names a port, not a host. */
static void over_tcp_only_the_client_is_connected_to(void)
{
	for (unsigned n = 0; n < 6; n++) {
		static const uint16_t ports[] = { 22, 1023, 5001 };
		struct wl_iperf_address client = host_peer(1, 40000);
		struct wl_iperf_flow *flow;
		uint16_t port = ports[n % 3];

		begin(n < 3 ? 0xC0010078 : 0xC0010079, "00000000", 1000);
		host.unproven = true;
		put(datagram + 16 + 8, port);
		flow = wl_iperf_accept(&host.it, &client, host.now);
		flow->handle.number = 1;
		wl_iperf_bytes(&host.it, flow, datagram + 16, 60, 60, host.now);
		if (n < 3)
			wl_iperf_closed(&host.it, flow, false, host.now);
		host_pass(10 * HOST_MS);
		EQUAL(host.connected, port >= 1024);
		EQUAL(host.refusals, port < 1024);
		if (port >= 1024)
			CHECK(host.to.host[0] == client.host[0] && host.to.port == port);
		EQUAL(host.datagrams, 0);
	}
}

static void traffic_back_is_no_faster_than_the_link_and_ends(void)
{
	static const struct {
		uint32_t flags;
		const char *upper;
	} all[] = { { 0xC8010099, "00000000" }, { 0x6C010098, "04000000" }, { 0x6C010098, "08080000" } };

	for (unsigned n = 0; n < 3; n++) {
		uint64_t rate, limit_us = WL_IPERF_UDP_BACK_S * 1000000u;

		begin(all[n].flags, all[n].upper, INT32_MAX);
		host.it.back_bits_per_s = 1000000;
		put(datagram + 16 + 48, 100000000);
		for (int id = 1; id < WL_IPERF_UDP_BACK_S; id++) {
			send(id, 100);
			host_pass(1000 * HOST_MS);
		}
		host_pass(7000 * HOST_MS);
		/* The final datagrams come after the time, and the first datagram at its begin. */
		rate = host.datagram_bytes * 8 * 1000000 / limit_us;
		CHECK(rate > 900000 && rate < 1010000);
		for (unsigned told = 0; told < host.told; told++)
			if (host.results[told % 8].sent)
				CHECK(host.results[told % 8].here.duration_us <= limit_us + 10 * HOST_MS);
		CHECK(host.told > 0);
	}
}

static struct wl_iperf_address address(const char *text)
{
	struct wl_iperf_address found = { .version = strchr(text, ':') ? 6 : 4 };

	tap_hex(text + (found.version == 6), (uint8_t *)found.host, found.version == 4 ? 4 : 16);
	return found;
}

static void a_build_allows_the_hosts_of_a_prefix(void)
{
	static const struct {
		const char *prefix, *address;
		unsigned bits;
	} all[] = { { "192.0.2.0/24", "192.0.2.0", 24 },
		    { "192.0.2.7", "192.0.2.7", UINT16_MAX },
		    { "2001:db8::/32", "2001:db8::", 32 },
		    { "0.0.0.0/0", "0.0.0.0", 0 },
		    { "192.0.2.0/", "", 0 },
		    { "192.0.2.0/x", "", 0 },
		    { "192.0.2.0/24x", "", 24 } };
	/* In hexadecimal, of IPv6 behind a colon. */
	struct wl_iperf_address net = address("C0000200"), six = address(":20010db8000000000000000000000000");
	struct wl_iperf_address near = address("C00002FF"), far = address("C0000300");
	char text[WL_IPERF_TEXT_BYTES];

	for (unsigned n = 0; n < sizeof all / sizeof all[0]; n++) {
		unsigned bits = wl_iperf_prefix(all[n].prefix, text);

		CHECK(strcmp(text, all[n].address) == 0 && (text[0] == 0 || bits == all[n].bits));
	}
	CHECK(wl_iperf_prefix("999999999999/99999999999999999999", text) > 128);
	CHECK(wl_iperf_has(&net, 24, &near) && !wl_iperf_has(&net, 24, &far) && wl_iperf_has(&net, 23, &far));
	CHECK(wl_iperf_has(&net, 0, &far) && !wl_iperf_has(&net, 25, &near) && !wl_iperf_has(&net, 0, &six));
	CHECK(wl_iperf_has(&net, UINT16_MAX, &net) && !wl_iperf_has(&net, UINT16_MAX, &near));
	near = address(":20010db8000000000000000000000001");
	CHECK(wl_iperf_has(&six, 127, &near) && !wl_iperf_has(&six, 128, &near));
}

static void no_address_of_many_is_one(void)
{
	static const char *const groups[] = { "00000000",
					      "FFFFFFFF",
					      "E0000001",
					      "EFFFFFFA",
					      ":00000000000000000000000000000000",
					      ":FF020000000000000000000000000001" };
	static const struct {
		const char *host, *mask;
		bool all;
	} networks[] = { { "0A3700FF", "FFFFFF00", true },  { "0A370000", "FFFFFF00", true },
			 { "0A3700FE", "FFFFFF00", false }, { "0A3701FF", "FFFFFE00", true },
			 { "0A3700FF", "FFFFFE00", false }, { "0A3700FF", "FFFFFFFE", false },
			 { "0A3700FF", "FFFFFFFF", false }, { "0A370003", "FFFFFFFC", true } };
	static const char *const hosts[] = { "0A370001", "7F000001", ":00000000000000000000000000000001",
					     ":FE800000000000000000000000000001" };

	for (unsigned n = 0; n < sizeof groups / sizeof groups[0]; n++) {
		struct wl_iperf_address one = address(groups[n]);

		CHECK(wl_iperf_is_group(&one));
	}
	for (unsigned n = 0; n < sizeof hosts / sizeof hosts[0]; n++) {
		struct wl_iperf_address one = address(hosts[n]);

		CHECK(!wl_iperf_is_group(&one));
	}
	for (unsigned n = 0; n < sizeof networks / sizeof networks[0]; n++) {
		struct wl_iperf_address one = address(networks[n].host), mask = address(networks[n].mask);

		CHECK(wl_iperf_is_of_all(&one, mask.host[0]) == networks[n].all);
	}
}

static void a_console_is_told_once_a_second(void)
{
	struct wl_iperf_log log = { 0 };
	uint32_t untold = 99;

	CHECK(wl_iperf_tell_now(&log, 5000, 1000, &untold) && untold == 0);
	for (uint64_t now = 5000; now < 6000; now++)
		CHECK(!wl_iperf_tell_now(&log, now, 1000, &untold));
	CHECK(wl_iperf_tell_now(&log, 6000, 1000, &untold) && untold == 1000);
	CHECK(wl_iperf_tell_now(&log, 7000, 1000, &untold) && untold == 0);
	CHECK(strstr(wl_iperf_because(WL_IPERF_NOT_PROVEN, WL_IPERF_NODE_ASKS), "fix: ") != NULL);
	CHECK(strstr(wl_iperf_because(WL_IPERF_SERVICE_PORT, ""), "fix: ") != NULL);
}

int main(void)
{
	RUN(one_datagram_makes_it_send_nothing);
	RUN(reports_have_room_in_what_came);
	RUN(whatever_comes_no_more_goes_back);
	RUN(proof_counts_when_traffic_goes);
	RUN(a_port_of_services_gets_nothing);
	RUN(over_tcp_only_the_client_is_connected_to);
	RUN(traffic_back_is_no_faster_than_the_link_and_ends);
	RUN(a_build_allows_the_hosts_of_a_prefix);
	RUN(no_address_of_many_is_one);
	RUN(a_console_is_told_once_a_second);
	return tap_end();
}
