/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry for libFuzzer: bytes as a sequence of requests and arrivals at a node. Each step is an opcode, a length and so many
 * bytes. The counts must always agree, and nothing may stay open after a trial.
 */
#include "fake_net.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Starts of trials, so that the fuzzer need not find the words. */
static const char *const starts[] = {
	"start direction=receive layer=udp-ipv4 frames=20 captures=64",
	"start direction=echo layer=udp-ipv4 frames=20",
	"start direction=transmit layer=udp-ipv4 datagram_bytes=100 load=max frames=20",
	"start direction=both layer=udp-ipv4 datagram_bytes=100 load_milliframes_per_s=1000000 frames=20 "
	"captures=9",
	"start direction=receive layer=tcp-ipv4 datagram_bytes=30 frames=20",
	"start direction=transmit layer=tcp-ipv4 datagram_bytes=300 load=max time_ps=90000000000",
	"start direction=both layer=tcp-ipv4 datagram_bytes=77 load=max frames=20",
	"start direction=receive layer=ethernet frames=20",
	"start direction=echo layer=ethernet frames=20",
	"start direction=both layer=ethernet length_bytes=60 load=max frames=20",
	"start direction=both layer=udp-ipv4 path=loopback length_bytes=64 load=max frames=20 captures=20",
};

static void step(uint8_t what, uint8_t *bytes, size_t count)
{
	static const char *const reads[] = { "status",
					     "stop trial=1",
					     "counters trial=1 from=0",
					     "load trial=1",
					     "captures trial=1 point=0 from=0",
					     "hello from=0" };
	uint8_t detail = count > 0 ? bytes[0] : 0;
	const char *reply;

	switch (what % 10) {
	case 0:
		ask(starts[detail % (sizeof starts / sizeof starts[0])]);
		break;
	case 1:
		ask(reads[detail % (sizeof reads / sizeof reads[0])]);
		break;
	case 2:
		wl_app_line(&app, (const char *)bytes, count, &peer, &reply);
		break;
	case 3:
		wl_app_udp(&app, &peer.host, 4000, bytes, count);
		break;
	case 4:
		if (count >= 6)
			memcpy(bytes, own_mac, 6);
		wl_app_frame(&app, bytes, count);
		break;
	case 5:
		if (app.connections > 0)
			wl_app_tcp_open(&app, detail & 1);
		break;
	case 6:
		wl_app_tcp_data(&app, 0, bytes, count);
		break;
	case 7:
		if (detail & 1)
			wl_app_tcp_ended(&app, detail >> 1 & 1);
		else
			wl_app_tcp_broken(&app, detail >> 1 & 1);
		break;
	case 8:
		fake.answer = (enum wl_sent)(detail % 3);
		fake.known = detail & 4;
		break;
	default:
		pass(detail % 64);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	begin();
	for (int steps = 0; count >= 2 && steps < 64; steps++) {
		size_t length = bytes[1] < count - 2 ? bytes[1] : count - 2;
		uint8_t *own_copy = malloc(length ? length : 1);

		if (!own_copy)
			abort();
		memcpy(own_copy, bytes + 2, length);
		fake.room = length * 7;
		fake.streamed = 0;
		step(bytes[0], own_copy, length);
		free(own_copy);
		if (!wl_receiver_agrees(&app.receiver.judged, app.receiver.judged.tracker.next) ||
		    app.sender.refused > app.sender.sequences)
			abort();
		if (app.state != WL_RUNNING && (fake.open || fake.frames || fake.looped))
			abort();
		bytes += 2 + length;
		count -= 2 + length;
	}
	return 0;
}
