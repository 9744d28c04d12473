/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Transmit scenarios on a ring of descriptors: the cost of bringing the application's data into the MAC's buffers.
 *
 * They send N frames. For an oscilloscope a pin is up from before the first until the last has left. The application's data lie
 * in SRAM. The header in front of them is built within the timed section, and its time is reported. Receive trials count the
 * frames of a flow from the first to the last, as a share of the node's own transmission.
 *
 * The hardware is a table of functions (wl_ring, wl_inlet): a MAC needs about a dozen short ones, and a test on the host no
 * hardware. The module needs `frame`, and WL_CLOCK.
 */
#ifndef WIRELAB_SCENARIO_H
#define WIRELAB_SCENARIO_H

#include "wirelab/control.h"
#include "wirelab/frame.h"

#define WL_SCENARIO_MIN_DESCRIPTORS 2
#define WL_SCENARIO_MAX_DESCRIPTORS 8
#define WL_SCENARIO_MAX_LENGTH 1514

/* A MAC with a ring of slots, which are used in turn. Each slot has a buffer of WL_SCENARIO_MAX_LENGTH bytes, aligned to words,
 * which the MAC itself reads. */
struct wl_ring {
	void *context;
	/* Empty the ring, and let so many descriptors be in use at a time. Returns its slots, at least as many: a MAC that
	 * distinguishes full from empty by indices has one more. 0: not possible. */
	uint32_t (*open)(void *context, uint32_t descriptors);
	uint8_t *(*buffer)(void *context, uint32_t slot);
	/* Fill in the descriptor, except the owner bit or index that makes the MAC send it. */
	void (*describe)(void *context, uint32_t slot, size_t length);
	/* Give the slot to the MAC: the write that starts it. */
	void (*start)(void *context, uint32_t slot);
	/* Frames that were started and have not left. */
	uint32_t (*held)(void *context);
	/* The CPU's copy, for `copied` and for `copied-ahead`; it may write whole words. */
	void (*copy)(void *context, uint8_t *to, const uint8_t *from, size_t count);
	void (*copy_ahead)(void *context, uint8_t *to, const uint8_t *from, size_t count);
	/* A copy by DMA; both 0: none. */
	void (*dma_start)(void *context, uint8_t *to, const uint8_t *from, size_t count);
	bool (*dma_busy)(void *context);
	void (*pin)(void *context, bool up);
	/* The low 32 bits of the clock, as quickly as possible. */
	uint32_t (*ticks)(void *context);
	/* Called once for each frame, while it is on the wire, and from time to time while waiting; false ends the trial. */
	bool (*go_on)(void *context);
};

struct wl_scenario {
	enum wl_buffers buffers;
	uint32_t descriptors; /* that may be in use: 2 to 8 */
	uint64_t frames;
	size_t length; /* of a frame, without FCS: 60 to 1514 */
	uint8_t to[6], from[6];
	uint8_t stream;
	uint64_t interval_q16; /* from frame to frame, in 2^-16 ticks; 0: the highest rate */
	/* The application's data: the LFSR part of a sequence, in SRAM, aligned to words. Not needed for frames that are
	 * prefilled or built in place. */
	const uint8_t *(*data)(void *context, uint32_t sequence, size_t count);
};

struct wl_scenario_result {
	uint64_t frames; /* that have left */
	uint64_t ticks; /* the pin was up */
	uint64_t header_ticks; /* of these for headers; with `dma-copied` during the copy */
	uint64_t copy_ticks; /* for copies, or waits for the DMA */
	uint64_t wait_ticks; /* for waits for the MAC, the DMA or the next frame's time: the CPU is free */
	uint64_t full_events; /* the ring was full when a frame was ready */
	uint32_t slots; /* of repeating frames; else 0 */
	uint32_t most_held;
	bool ended; /* by go_on */
};

/* Run a scenario to its end. False, with the reason, if it cannot run. */
bool wl_scenario_run(const struct wl_ring *ring, const struct wl_scenario *scenario,
		     struct wl_scenario_result *result, const char **why);

/* Whether frames of this kind repeat: their sequence is then their slot (spec/test-frame.md). */
static inline bool wl_scenario_repeats(enum wl_buffers buffers)
{
	return buffers == WL_PREFILLED;
}

/* Frames that come in. */
struct wl_inlet {
	void *context;
	/* The oldest waiting frame, in place, without FCS; 0: none. */
	size_t (*frame)(void *context, const uint8_t **bytes);
	/* Give its buffer back. */
	void (*done)(void *context);
	/* The application's work on a frame; returns whether it is of the flow. */
	bool (*take)(void *context, const uint8_t *bytes, size_t length);
	void (*pin)(void *context, bool up);
};

/* A receive trial; all zero before it, except `frames`. */
struct wl_reception {
	uint64_t frames; /* expected; 0: no end */
	uint64_t received;
	uint64_t first_ticks, last_ticks;
};

/* Take one frame; false if none waits. The pin is up from the first to the last frame of the flow. */
bool wl_reception_poll(struct wl_reception *reception, const struct wl_inlet *inlet);

static inline bool wl_reception_done(const struct wl_reception *reception)
{
	return reception->frames != 0 && reception->received >= reception->frames;
}

/* Rate of a reception as a share of the node's own transmission of that length, in millionths; 0 with too few frames. N frames
 * have N - 1 intervals. */
uint64_t wl_reception_share_ppm(const struct wl_reception *reception,
				const struct wl_scenario_result *own_transmit);

#endif
