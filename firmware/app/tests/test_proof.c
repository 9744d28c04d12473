/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hosts that have proven their address to the node application. */
#include "fake_net.h"

static const struct wl_ip one = { 4, { 192, 0, 2, 1 } }, six = { 6, { 0x20, 1, 0x0D, 0xB8, 1 } };

static bool proven(const struct wl_ip *host)
{
	return wl_app_proven(&app, host);
}

static void a_connection_proves_its_host_for_a_minute(void)
{
	begin();
	CHECK(!proven(&one) && !proven(&six));
	wl_app_connected(&app, &one);
	CHECK(proven(&one) && !proven(&six));
	fake.now += 59999ull * MS;
	CHECK(proven(&one));
	fake.now += MS;
	CHECK(!proven(&one));
	/* Counted from the last time that the host was heard. */
	wl_app_connected(&app, &one);
	wl_app_connected(&app, &six);
	fake.now += 40000ull * MS;
	wl_app_connected(&app, &one);
	fake.now += 40000ull * MS;
	CHECK(proven(&one) && !proven(&six));
}

static void the_last_few_hosts_are_remembered(void)
{
	struct wl_ip host = one;

	begin();
	for (uint8_t n = 1; n <= WL_APP_PROOFS; n++) {
		host.bytes[3] = n;
		fake.now += MS;
		wl_app_connected(&app, &host);
	}
	/* A known host takes no other's place, and is no longer the oldest. */
	fake.now += MS;
	wl_app_connected(&app, &one);
	for (host.bytes[3] = 1; host.bytes[3] <= WL_APP_PROOFS; host.bytes[3]++)
		CHECK(proven(&host));
	host.bytes[3] = 100;
	wl_app_connected(&app, &host);
	CHECK(proven(&host) && proven(&one));
	host.bytes[3] = 2;
	CHECK(!proven(&host));
}

static void a_session_proves_its_host_for_a_minute_after_a_request(void)
{
	begin();
	CHECK(!proven(&peer.host));
	CHECK(says("status", "state=idle"));
	fake.now += 59999ull * MS;
	CHECK(proven(&peer.host) && !proven(&one));
	fake.now += MS;
	CHECK(!proven(&peer.host));
	CHECK(says("status", "state=idle") && proven(&peer.host));
}

/* A stack takes the first sequence numbers of connections from here. */
static void numbers_of_connections_are_no_row(void)
{
	uint32_t before, differences[8];

	begin();
	before = wl_app_random(&app);
	for (unsigned n = 0; n < 8; n++) {
		uint32_t next = wl_app_random(&app);

		differences[n] = next - before;
		before = next;
		for (unsigned m = 0; m < n; m++)
			CHECK(differences[m] != differences[n]);
	}
}

int main(void)
{
	RUN(a_connection_proves_its_host_for_a_minute);
	RUN(the_last_few_hosts_are_remembered);
	RUN(a_session_proves_its_host_for_a_minute_after_a_request);
	RUN(numbers_of_connections_are_no_row);
	return tap_end();
}
