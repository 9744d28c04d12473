/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry for libFuzzer: any bytes as what comes from a UART and as lines from hosts, with time passing between. Every
 * answer must be a line that can be read and is no request. */
#include <stdlib.h>

#include "../tests/demo_node.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void must_be_readable(const char *reply, size_t count)
{
	struct wl_line line;

	if (count > 0 && (wl_line_read(reply, count, true, &line) != WL_LINE_OK || line.mark == '?'))
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
					   { .host = { 6, { 0x20, 1 } } } };

		if (what == WL_LINE_DROPPED) {
			size_t answer = wl_control_too_long(&control, &reply);

			must_be_readable(reply, answer);
		}
		for (int n = 0; what == WL_LINE_DONE && n < 3; n++, now_ms += 700) {
			size_t answer = wl_control_handle(&control, assembler.bytes, length, &peers[n],
							  now_ms, &reply);

			must_be_readable(reply, answer);
		}
	}
	/* Without an assembler, as a datagram. */
	length = wl_control_handle(&control, (const char *)bytes, count,
				   &(struct wl_peer){ .host = { 4, { 1 } } }, now_ms, &reply);
	must_be_readable(reply, length);
	return 0;
}
