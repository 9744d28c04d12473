/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The blaster past the stack: frames straight into the driver, as fast as it takes them or by a schedule.
 *
 * blast.c is the schedule: it gets each frame and gives it to the driver. blast_frame.c provides test frames, built each time
 * or prepared; it needs the module frame. Call wl_blast_poll() from the main loop:
 *
 *     static uint8_t memory[1514];
 *     struct wl_blast_frames frames = { .to = { … }, .from = { … }, .length = 1514, .memory = memory,
 *                                       .room = sizeof memory };
 *     struct wl_blast blast = { .next = wl_blast_frame, .next_context = &frames, .send = my_driver_send,
 *                               .frames = 1000 };
 *     if (wl_blast_prepare(&frames)) {
 *             wl_blast_begin(&blast, now);
 *             while (!wl_blast_done(&blast))
 *                     wl_blast_poll(&blast, wl_clock(), 16);
 *     }
 */
#ifndef WIRELAB_BLAST_H
#define WIRELAB_BLAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wirelab/options.h"

struct wl_blast {
	/* Frame `number`, from 0 on, and its length; it must stay unchanged until the driver has taken it. */
	const uint8_t *(*next)(void *context, uint64_t number, size_t *length);
	void *next_context;
	/* Send or copy a frame; false if there is no space: the next poll offers it again. */
	bool (*send)(void *context, const uint8_t *frame, size_t length);
	void *send_context;
	uint64_t frames; /* 0: until wl_blast_stop */
	/* From one frame to the next; both 0: at the driver's highest rate. */
	uint64_t interval_ticks;
	uint32_t interval_fraction; /* of 2^32 of a tick */
	uint64_t patience_ticks; /* a longer delay moves the schedule; 0: always catch up */

	/* Its result. */
	uint64_t sent;
	uint64_t full; /* polls that found the driver full */
	uint64_t slips, slipped_ticks; /* how often the schedule moved, and by how much in total */
	uint64_t first_ticks, last_ticks; /* when the first and the last frame went to the driver */

	/* Private. */
	uint64_t due_ticks;
	uint32_t due_fraction;
	bool stopped;
	const uint8_t *waiting; /* built, and not yet taken */
	size_t waiting_bytes;
};

/* Start again: the first frame is due now. */
void wl_blast_begin(struct wl_blast *blast, uint64_t now);

/* Send what is due, at most so many frames; returns how many went to the driver. */
unsigned wl_blast_poll(struct wl_blast *blast, uint64_t now, unsigned most);

/* Stop sending. */
void wl_blast_stop(struct wl_blast *blast);

/* Whether all frames went to the driver, or the blaster was stopped. */
bool wl_blast_done(const struct wl_blast *blast);

/* Set the interval for a load in thousandths of a frame a second, with a tick of less than 2^32 ps; a load of 0 gives an
 * interval of 0. */
void wl_blast_pace(struct wl_blast *blast, uint64_t milliframes_per_s, uint64_t tick_ps);

/* Test frames (spec/test-frame.md) for a blaster. */
struct wl_blast_frames {
	uint8_t to[6], from[6];
	bool udp; /* datagrams of UDP over IPv4, without a UDP checksum; else frames of EtherType 0x88B5 */
	uint8_t ip_to[4], ip_from[4];
	uint16_t port_to, port_from;
	uint8_t stream;
	size_t length; /* of a frame without FCS */
	uint16_t slots; /* 0: each frame is built when it is sent; K: K prepared frames repeat */
	uint8_t *memory; /* for one frame, or for K with each length rounded up to a multiple of 4 */
	size_t room;
};

/* Write the headers, and all prepared frames. False if a size is out of bounds or the memory is too small. */
bool wl_blast_prepare(const struct wl_blast_frames *frames);

/* `next` for a blaster; the context is a struct wl_blast_frames. */
const uint8_t *wl_blast_frame(void *frames, uint64_t number, size_t *length);

#endif
