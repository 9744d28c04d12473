/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A test that this end begins. Traffic back on a connection of its own (-r, -d) comes to the server's port. */
#include "iperf_flow.h"

#if WL_IPERF_CLIENT

/* From the start of one stream to that of the next: some servers open their UDP port again for each. */
#define APART_MS 30

bool wl_iperf_run(struct wl_iperf *it, const struct wl_iperf_test *test, uint64_t now)
{
	struct wl_iperf_ask ask = { .mode = test->mode,
				    .length_bytes = test->length_bytes,
				    .bytes = test->bytes,
				    .bits_per_s = test->bits_per_s,
				    .time_cs = WL_IPERF_BACK_S * 100 };
	struct wl_iperf_address server = test->server;
	unsigned streams = test->streams > 0 ? test->streams : 1;

	it->now = now;
	if (streams + wl_iperf_running(it, true) > WL_IPERF_FLOWS)
		return false;
	if (server.port == 0)
		server.port = WL_IPERF_PORT;
	ask.port = test->back_port != 0 ? test->back_port : server.port;
	if (test->bytes == 0)
		ask.time_cs = ((test->time_ms ? test->time_ms : 10000) + 9) / 10;
	for (unsigned n = 0; n < streams; n++) {
		struct wl_iperf_flow *f = wl_iperf_place(it, &server);
		uint8_t *header = f->head + (test->udp ? WIDE_BYTES : 0);

		f->udp = test->udp;
		f->client = f->own_socket = true;
		f->layout = LAYOUT_WIDE;
		f->ask = ask;
		wl_iperf_header_write(&ask, test->udp, streams, header);
		f->head_count = test->udp ? WIDE_BYTES + HEADER_BYTES : HEADER_BYTES;
		f->sending = TX_WAIT;
		f->tx.due = wl_iperf_in(it, n * APART_MS);
		f->tx.tries = 1;
		it->due = 0;
	}
	return true;
}

#endif
