/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The blaster's test frames, judged by the receiver of the module frame. */
#include "tap.h"
#include "wirelab/blast.h"
#include "wirelab/track.h"

static uint8_t memory[8 * 1516];
static struct wl_blast_frames frames;

static void begin(bool udp, size_t length)
{
	frames = (struct wl_blast_frames){ .to = { 2, 0, 10, 55, 0, 2 },
					   .from = { 2, 0, 10, 55, 0, 1 },
					   .udp = udp,
					   .ip_to = { 10, 55, 0, 2 },
					   .ip_from = { 10, 55, 0, 1 },
					   .port_to = 5003,
					   .port_from = 6000,
					   .stream = 9,
					   .length = length,
					   .memory = memory,
					   .room = sizeof memory };
}

static void a_receiver_finds_every_frame_good(void)
{
	static struct wl_receiver receiver;
	size_t length;

	for (int udp = 0; udp < 2; udp++) {
		for (size_t size = 60; size <= 1514; size += 727) {
			memset(&receiver, 0, sizeof receiver);
			begin(udp, size);
			frames.room = size; /* one frame is enough */
			CHECK(wl_blast_prepare(&frames));
			for (uint64_t n = 0; n < 5000; n++) {
				const uint8_t *frame = wl_blast_frame(&frames, n, &length);

				EQUAL(length, size);
				wl_receive_frame(&receiver, frame, length);
			}
			EQUAL(receiver.good, 5000);
			EQUAL(receiver.tracker.distinct, 5000);
			CHECK(wl_receiver_agrees(&receiver, 5000));
		}
	}
}

static void frames_that_lie_ready_repeat(void)
{
	static struct wl_receiver receiver;
	size_t length;

	memset(&receiver, 0, sizeof receiver);
	receiver.slots.slots = 3;
	begin(true, 1513);
	frames.slots = 3;
	frames.room = 2 * 1516 + 1513;
	CHECK(wl_blast_prepare(&frames));
	for (uint64_t n = 0; n < 30; n++) {
		const uint8_t *frame = wl_blast_frame(&frames, n, &length);

		CHECK(frame == memory + 1516 * (n % 3));
		wl_receive_frame(&receiver, frame, length);
	}
	EQUAL(receiver.good, 30);
	EQUAL(receiver.slots.received, 30);
	EQUAL(receiver.slots.order_breaks, 0);
	frames.room--;
	CHECK(!wl_blast_prepare(&frames));
}

static void headers_are_right_byte_for_byte(void)
{
	/* 100 bytes of IPv4, with a checksum computed by Python. */
	static const char wanted[] = "02000a37000202000a3700010800450000640000400040112619"
				     "0a3700010a3700021770138b00500000574c100900000007000000000000";
	uint8_t bytes[64];
	size_t count = tap_hex(wanted, bytes, sizeof bytes), length;

	begin(true, 114);
	memset(memory, 0xAA, sizeof memory);
	CHECK(wl_blast_prepare(&frames));
	CHECK(memcmp(wl_blast_frame(&frames, 7, &length), bytes, count) == 0);
	EQUAL(length, 114);
	EQUAL(memory[114], 0xAA);
}

static void impossible_sizes_are_refused(void)
{
	begin(false, 59);
	CHECK(!wl_blast_prepare(&frames));
	begin(true, 59);
	CHECK(!wl_blast_prepare(&frames));
	begin(true, 60);
	CHECK(wl_blast_prepare(&frames));
	frames.room = 59;
	CHECK(!wl_blast_prepare(&frames));
	begin(false, 32 + WL_LFSR_MAX_BYTES + 1);
	CHECK(!wl_blast_prepare(&frames));
	begin(true, SIZE_MAX);
	CHECK(!wl_blast_prepare(&frames));
	begin(false, 60);
	frames.slots = WL_START_WORDS + 1;
	frames.room = SIZE_MAX;
	CHECK(!wl_blast_prepare(&frames));
}

int main(void)
{
	wl_lfsr_init();
	RUN(a_receiver_finds_every_frame_good);
	RUN(frames_that_lie_ready_repeat);
	RUN(headers_are_right_byte_for_byte);
	RUN(impossible_sizes_are_refused);
	return tap_end();
}
