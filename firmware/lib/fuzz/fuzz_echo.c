/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry for libFuzzer: any bytes as a frame to echo. A refused frame stays unchanged. An echo goes to the sender, and the echo
 * of an echo is the frame again.
 */
#include <stdlib.h>
#include <string.h>

#include "wirelab/echo.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

typedef bool echoing(const struct wl_echo *echo, uint8_t *frame, size_t length);

static void twice(echoing *go, size_t ip, const struct wl_echo *echo, const uint8_t *bytes, size_t count)
{
	uint8_t *frame = malloc(count ? count : 1);
	struct wl_echo other = *echo;

	if (!frame)
		abort();
	memcpy(frame, bytes, count);
	if (!go(echo, frame, count)) {
		if (memcmp(frame, bytes, count) != 0)
			abort();
		free(frame);
		return;
	}
	if (memcmp(frame, bytes + 6, 6) != 0 || memcmp(frame + 6, bytes, 6) != 0)
		abort();
	/* The way back, from the other host. Only the time to live and its checksum differ. */
	memcpy(other.own, frame, 6);
	memcpy(other.peer, frame + 6, 6);
	if (ip == 0 && (!go(&other, frame, count) || memcmp(frame, bytes, count) != 0))
		abort();
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct wl_echo echo = { .udp_port = 0 };

	/* As if it were for this node. */
	if (count >= 12) {
		memcpy(echo.own, bytes, 6);
		memcpy(echo.peer, bytes + 6, 6);
	}
	if (count >= 38) {
		memcpy(echo.own_ip, bytes + 30, 4);
		echo.udp_port = (uint16_t)(bytes[36] << 8 | bytes[37]);
	}
	/* In the other direction one of the two may be a group. */
	if (count >= 12 && !(bytes[0] & 1))
		twice(wl_echo_ethernet, 0, &echo, bytes, count);
	twice(wl_echo_udp, 14, &echo, bytes, count);
	echo.peer_known = true;
	twice(wl_echo_udp, 14, &echo, bytes, count);
	return 0;
}
