/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The example of every SDK: test frames, one lost and one damaged on purpose, and the counts of a receiver. */
#include "example.h"

#include <stdio.h>

#include "wirelab/frame.h"
#include "wirelab/track.h"

#define FRAMES 100u
#define LOST 40u
#define DAMAGED 60u
#define LENGTH_BYTES 256u

static struct wl_receiver receiver;
static uint8_t frame[LENGTH_BYTES];

static int report(void)
{
	uint64_t lost = wl_track_lost(&receiver.tracker, FRAMES);
	bool right = receiver.good == FRAMES - 2 && lost == 1 && receiver.corrupted == 1 &&
		     wl_receiver_agrees(&receiver, FRAMES);

	printf("wirelab: %u frames of %u bytes, one lost and one damaged on purpose\n", FRAMES, LENGTH_BYTES);
	printf("wirelab: good %lu, lost %lu, corrupted %lu\n", (unsigned long)receiver.good,
	       (unsigned long)lost, (unsigned long)receiver.corrupted);
	printf("wirelab: the counts are %s\n", right ? "right" : "WRONG");
	return right ? 0 : 1;
}

int wl_example(void)
{
	static const uint8_t to[6] = { 2, 0, 0, 0, 0, 2 }, from[6] = { 2, 0, 0, 0, 0, 1 };

	receiver = (struct wl_receiver){ 0 };
	for (uint32_t sequence = 0; sequence < FRAMES; sequence++) {
		struct wl_header header = { .sequence = sequence };
		size_t length = wl_frame_ethernet(&header, to, from, frame, sizeof frame);

		if (sequence == DAMAGED)
			frame[length - 1] ^= 1;
		if (sequence != LOST)
			(void)wl_receive_frame(&receiver, frame, length);
	}
	return report();
}
