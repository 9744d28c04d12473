/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The EMAC's rings as the scenarios and the receiver see them, with their capture points. */
#include <string.h>

#include "lpc1768.h"
#include "node.h"

#include "wirelab/points.h"

static struct trial *const trial = &node.trial;

/* A point that is not requested costs a load and a branch. */
#define POINT(point, sequence)                                                                               \
	do {                                                                                                 \
		if (trial->asked.captures > 0)                                                               \
			WL_POINT(point, (sequence));                                                         \
	} while (0)

static uint32_t ring_open(void *context, uint32_t descriptors)
{
	(void)context;
	return emac_open(descriptors);
}

static uint8_t *ring_buffer(void *context, uint32_t slot)
{
	(void)context;
	POINT(WL_TX_APPLICATION, (uint32_t)trial->sent.frames);
	return emac_buffer(slot);
}

static void ring_describe(void *context, uint32_t slot, size_t length)
{
	(void)context;
	emac_describe(slot, length);
}

static void ring_start(void *context, uint32_t slot)
{
	(void)context;
	POINT(WL_TX_DRIVER, (uint32_t)trial->sent.frames);
	emac_start(slot);
	POINT(WL_TX_MAC, (uint32_t)trial->sent.frames);
}

static uint32_t ring_held(void *context)
{
	(void)context;
	return emac_held();
}

static void ring_copy(void *context, uint8_t *to, const uint8_t *from, size_t count)
{
	(void)context;
	BOARD_COPY(to, from, count);
}

static void ring_copy_ahead(void *context, uint8_t *to, const uint8_t *from, size_t count)
{
	(void)context;
	board_copy_words(to, from, count);
}

static void ring_dma_start(void *context, uint8_t *to, const uint8_t *from, size_t count)
{
	(void)context;
	gpdma_start(to, from, count);
}

static bool ring_dma_busy(void *context)
{
	(void)context;
	return gpdma_busy();
}

static void ring_pin(void *context, bool up)
{
	(void)context;
	board_pin(up);
}

static uint32_t ring_ticks(void *context)
{
	(void)context;
	return board_ticks();
}

static bool ring_go_on(void *context)
{
	(void)context;
	if (trial->asked.direction == WL_BOTH)
		reception_poll();
	return trial_goes_on();
}

const struct wl_ring trial_ring = { 0,	       ring_open,  ring_buffer,	    ring_describe,  ring_start,
				    ring_held, ring_copy,  ring_copy_ahead, ring_dma_start, ring_dma_busy,
				    ring_pin,  ring_ticks, ring_go_on };

/* --- receiving ------------------------------------------------------------------------------------------------- */

static size_t inlet_frame(void *context, const uint8_t **bytes)
{
	uint8_t *frame;
	size_t length = emac_frame(&frame);

	(void)context;
	*bytes = frame;
	return length;
}

static void inlet_done(void *context)
{
	(void)context;
	emac_done();
}

static bool own(const uint8_t *frame)
{
	return memcmp(frame, node.address, 6) == 0;
}

/* Send a test frame back to where it came from. */
static void echo(uint8_t *frame, size_t length)
{
	uint32_t slots = trial->scenario.descriptors + 1, slot = (uint32_t)(trial->echoed_frames % slots);
	uint8_t address[6];

	if (emac_held() >= trial->scenario.descriptors) {
		trial->dropped_frames++;
		return;
	}
	memcpy(address, frame + 6, 6);
	memcpy(frame + 6, frame, 6);
	memcpy(frame, address, 6);
	emac_swap(slot, length);
	trial->echoed_frames++;
	trial->echoed_bytes += length;
}

static bool inlet_take(void *context, const uint8_t *bytes, size_t length)
{
	uint32_t sequence = 0;
	enum wl_verdict verdict;

	(void)context;
	if (trial->reception.received == 0)
		wl_load_begin(&node.idle);
	if (trial->asked.captures > 0 && wl_points_sequence(bytes, length, &sequence))
		WL_POINT(WL_RX_DRIVER, sequence);
	verdict = wl_receive_frame(&trial->receiver, bytes, length);
	if (verdict == WL_FOREIGN)
		return false;
	POINT(WL_RX_APPLICATION, sequence);
	trial->heard_ticks = wl_clock();
	trial->last_rounds = node.idle.rounds;
	if (trial->asked.direction == WL_ECHO && wl_has_header(verdict) && own(bytes))
		echo((uint8_t *)(uintptr_t)bytes, length);
	return true;
}

/* While sending, the pin is the sender's. */
static void inlet_pin(void *context, bool up)
{
	(void)context;
	if (trial->asked.direction != WL_BOTH)
		board_pin(up);
}

static const struct wl_inlet inlet = { 0, inlet_frame, inlet_done, inlet_take, inlet_pin };

/* Take all frames that wait; false if there was none. */
bool reception_poll(void)
{
	bool any = false;

	while (wl_reception_poll(&trial->reception, &inlet))
		any = true;
	return any;
}
