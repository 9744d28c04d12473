/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Builds 100 test frames, loses one and damages one, and counts the rest. */
#include <wirelab.h>

static struct wl_receiver receiver;
static uint8_t frame[256];

void setup()
{
	static const uint8_t to[6] = { 2, 0, 0, 0, 0, 2 }, from[6] = { 2, 0, 0, 0, 0, 1 };

	Serial.begin(115200);
	for (uint32_t sequence = 0; sequence < 100; sequence++) {
		struct wl_header header = {};
		size_t length;

		header.sequence = sequence;
		length = wl_frame_ethernet(&header, to, from, frame, sizeof frame);
		if (sequence == 60)
			frame[length - 1] ^= 1;
		if (sequence != 40)
			wl_receive_frame(&receiver, frame, length);
	}
	Serial.print("wirelab: good ");
	Serial.print((unsigned long)receiver.good);
	Serial.print(", lost ");
	Serial.print((unsigned long)wl_track_lost(&receiver.tracker, 100));
	Serial.print(", corrupted ");
	Serial.println((unsigned long)receiver.corrupted);
}

void loop()
{
}
