/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry for libFuzzer: any bytes as input of a UART and as lines from hosts, with time passing between. Every answer must be a
 * valid line that is not a request; over UDP, outside of a session, it must not be longer than the request. */
#include <stdlib.h>

#include "../tests/demo_node.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void must_be_readable(const char *reply, size_t count)
{
	struct wl_line line;

	if (count > 0 && (wl_line_read(reply, count, true, &line) != WL_LINE_OK || line.mark == '?'))
		abort();
}

/* Whether the answer is in a session of this host. */
static bool is_of_session(const struct wl_control *control, const struct wl_ip *host, const char *reply,
			  size_t count)
{
	struct wl_line line;

	if (wl_line_read(reply, count, true, &line) != WL_LINE_OK || line.session == 0)
		return false;
	for (unsigned n = 0; n < WL_CONTROL_SESSIONS; n++)
		if (control->sessions[n].number == line.session && !control->sessions[n].peer.serial &&
		    memcmp(&control->sessions[n].peer.host, host, sizeof *host) == 0)
			return true;
	return false;
}

static void hand_over(struct wl_control *control, const char *bytes, size_t count, const struct wl_peer *peer,
		      uint64_t now_ms)
{
	const char *reply;
	size_t answer = wl_control_handle(control, bytes, count, peer, now_ms, &reply);

	must_be_readable(reply, answer);
	if (!peer->serial && !peer->stream && answer > count &&
	    !is_of_session(control, &peer->host, reply, answer))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static struct wl_control control;
	struct wl_assembler assembler = { .count = 0 };
	const char *reply;
	uint64_t now_ms = 0;
	size_t length;

	demo_begin(&control);
	for (size_t at = 0; at < count; at++) {
		enum wl_assembled what = wl_assemble(&assembler, (char)bytes[at], &length);
		struct wl_peer peers[] = { { .serial = true },
					   { .host = { 4, { 192, 0, 2, (uint8_t)assembler.bytes[0] } } },
					   { .stream = true, .host = { 6, { 0x20, 1 } } },
					   { .host = { 6, { 0x20, 1 } } } };

		if (what == WL_LINE_DROPPED) {
			size_t answer = wl_control_too_long(&control, &reply);

			must_be_readable(reply, answer);
		}
		for (int n = 0; what == WL_LINE_DONE && n < 4; n++, now_ms += 700)
			hand_over(&control, assembler.bytes, length, &peers[n], now_ms);
	}
	/* Without an assembler, as a datagram. */
	hand_over(&control, (const char *)bytes, count, &(struct wl_peer){ .host = { 4, { 1 } } }, now_ms);
	return 0;
}
