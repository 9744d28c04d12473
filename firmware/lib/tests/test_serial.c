/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A node whose session numbers are not secret (WL_CONTROL_SECRET=0): it answers only serial lines. */
#include "control_client.h"

static void a_serial_line_is_answered_and_a_host_is_not(void)
{
	struct client client;

	begin();
	EQUAL(hello(1, host(1)), 0);
	EQUAL(strlen(answer), 0);
	EQUAL(hello(1, datagram(1)), 0);
	EQUAL(strlen(answer), 0);
	client = join(serial(0));
	CHECK(client.session != 0);
	ask(&client, "status");
	CHECK(has(" state=idle "));
	client.peer = host(1);
	ask(&client, "status");
	EQUAL(strlen(answer), 0);
}

static void no_number_comes_twice_nor_after_a_restart(void)
{
	uint32_t numbers[200];

	for (unsigned n = 0; n < 200; n++) {
		if (n % 20 == 0) {
			begin();
			wl_control_init(&c, &demo_node, n / 20);
		}
		now_ms += 5000;
		numbers[n] = hello(n, serial(0));
		CHECK(numbers[n] != 0);
		for (unsigned m = 0; m < n; m++)
			CHECK(numbers[m] != numbers[n]);
	}
}

int main(void)
{
	RUN(a_serial_line_is_answered_and_a_host_is_not);
	RUN(no_number_comes_twice_nor_after_a_restart);
	return tap_end();
}
