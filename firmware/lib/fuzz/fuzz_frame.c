/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry for libFuzzer: any bytes as a frame. Building a good frame again must give the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "wirelab/track.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void judge(const uint8_t *bytes, size_t count, const struct wl_flow *flow)
{
	static uint8_t again[WL_HEADER_BYTES + WL_LFSR_MAX_BYTES];
	struct wl_header header;
	size_t offset, end, built;

	if (wl_frame_judge(bytes, count, flow, &header) != WL_GOOD)
		return;
	if (!wl_frame_locate(bytes, count, flow->udp_port, &offset, &end) || offset > end || end > count)
		abort();
	built = wl_frame_data(&header, again, sizeof again);
	if (built == 0 || built > end - offset || memcmp(again, bytes + offset, built) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static struct wl_receiver receiver;
	struct wl_flow flow = { .stream_known = true, .udp_port = 7 };

	wl_lfsr_init();
	judge(bytes, count, &receiver.flow);
	receiver.flow.source_known = count >= 12;
	if (count >= 12)
		memcpy(receiver.flow.source, bytes + 6, 6);
	judge(bytes, count, &receiver.flow);
	judge(bytes, count, &flow);
	receiver.slots.slots = count % 5;
	wl_receive_frame(&receiver, bytes, count);
	wl_receive_data(&receiver, bytes, count, true);
	if (!wl_receiver_agrees(&receiver, receiver.tracker.next))
		abort();
	return 0;
}
