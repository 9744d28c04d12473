/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Transmit scenarios: prefilled frames, and frames whose data the CPU or a DMA copies, waiting or ahead. */
#include "wirelab/scenario.h"

#include "bytes.h"

#define HEADERS_BYTES (WL_ETHERNET_HEADER_BYTES + WL_HEADER_BYTES)
/* Reads of the MAC between two calls of go_on, so that waiting reacts quickly. */
#define LOOKS 256
/* Reads of the MAC for frames on their way after go_on ends a trial: some ms, much more than eight frames need. */
#define LAST_LOOKS 65536

struct run {
	const struct wl_ring *ring;
	const struct wl_scenario *scenario;
	struct wl_scenario_result *result;
	struct wl_header header;
	uint32_t slots, slot;
	uint64_t due_q16;
	uint64_t began_ticks;
};

static const char *fault(const struct wl_ring *ring, const struct wl_scenario *scenario)
{
	enum wl_buffers buffers = scenario->buffers;

	if (scenario->descriptors < WL_SCENARIO_MIN_DESCRIPTORS ||
	    scenario->descriptors > WL_SCENARIO_MAX_DESCRIPTORS)
		return "2 to 8 descriptors are possible";
	if (scenario->length < WL_MIN_LENGTH || scenario->length > WL_SCENARIO_MAX_LENGTH)
		return "frames of 60 to 1514 bytes without FCS are possible";
	if (buffers == WL_DMA_COPIED && (ring->dma_start == 0 || ring->dma_busy == 0))
		return "there is no DMA that copies";
	if (buffers != WL_PREFILLED && buffers != WL_IN_PLACE && scenario->data == 0)
		return "there are no data to copy";
	return 0;
}

/* The headers in front of the data. */
static void write_headers(const struct run *run, uint8_t *frame)
{
	memcpy(frame, run->scenario->to, 6);
	memcpy(frame + 6, run->scenario->from, 6);
	wl_put16(frame + 12, WL_ETHERTYPE);
	wl_header_write(&run->header, frame + WL_ETHERNET_HEADER_BYTES);
}

/* Wait until the MAC holds fewer than so many frames; false if go_on ends the trial. */
static bool wait_below(const struct run *run, uint32_t limit)
{
	const struct wl_ring *ring = run->ring;
	uint32_t began = ring->ticks(ring->context);
	bool go_on = true;

	for (uint32_t looks = 1; go_on && ring->held(ring->context) >= limit; looks++)
		go_on = looks % LOOKS != 0 || ring->go_on(ring->context);
	run->result->wait_ticks += ring->ticks(ring->context) - began;
	return go_on;
}

static bool wait_for_dma(const struct run *run)
{
	const struct wl_ring *ring = run->ring;
	uint32_t began = ring->ticks(ring->context);
	bool go_on = true;

	for (uint32_t looks = 1; go_on && ring->dma_busy(ring->context); looks++)
		go_on = looks % LOOKS != 0 || ring->go_on(ring->context);
	run->result->wait_ticks += ring->ticks(ring->context) - began;
	return go_on;
}

/* Wait until the next frame is due. */
static bool wait_for_time(struct run *run)
{
	const struct wl_ring *ring = run->ring;
	uint64_t began = WL_CLOCK() - run->began_ticks, due = run->due_q16 >> 16, now = began;

	while (now < due) {
		if (!ring->go_on(ring->context))
			return false;
		now = WL_CLOCK() - run->began_ticks;
	}
	run->result->wait_ticks += now - began;
	run->due_q16 += run->scenario->interval_q16;
	return true;
}

/* Bring a frame into its buffer as the scenario does. */
static bool fill(struct run *run)
{
	const struct wl_ring *ring = run->ring;
	const struct wl_scenario *scenario = run->scenario;
	size_t count = run->header.lfsr_bytes;
	uint8_t *frame = ring->buffer(ring->context, run->slot);
	uint32_t began = ring->ticks(ring->context), headed;
	const uint8_t *data = 0;

	if (scenario->buffers != WL_IN_PLACE)
		data = scenario->data(ring->context, run->header.sequence, count);
	if (scenario->buffers == WL_DMA_COPIED) {
		/* The CPU builds the header while the DMA copies what follows it. */
		ring->dma_start(ring->context, frame + HEADERS_BYTES, data, count);
		headed = ring->ticks(ring->context);
		write_headers(run, frame);
		run->result->header_ticks += ring->ticks(ring->context) - headed;
		if (!wait_for_dma(run))
			return false;
		run->result->copy_ticks += ring->ticks(ring->context) - began;
		return true;
	}
	write_headers(run, frame);
	headed = ring->ticks(ring->context);
	if (scenario->buffers == WL_COPIED)
		ring->copy(ring->context, frame + HEADERS_BYTES, data, count);
	else if (scenario->buffers == WL_COPIED_AHEAD)
		ring->copy_ahead(ring->context, frame + HEADERS_BYTES, data, count);
	else
		wl_lfsr_fill(run->header.sequence, frame + HEADERS_BYTES, count);
	run->result->header_ticks += headed - began;
	run->result->copy_ticks += ring->ticks(ring->context) - headed;
	return true;
}

/* One frame up to its start; false if go_on ends the trial. */
static bool send_one(struct run *run)
{
	const struct wl_ring *ring = run->ring;
	uint32_t held = ring->held(ring->context);
	bool go_on;

	run->result->most_held = held > run->result->most_held ? held : run->result->most_held;
	if (held >= run->scenario->descriptors) {
		run->result->full_events++;
		if (!wait_below(run, run->scenario->descriptors))
			return false;
	}
	/* Before the wait for a buffer: the pacing is not part of the application's time for a frame. */
	if (run->scenario->interval_q16 != 0 && !wait_for_time(run))
		return false;
	if (run->scenario->buffers != WL_PREFILLED) {
		if (!fill(run))
			return false;
		ring->describe(ring->context, run->slot, run->scenario->length);
	}
	ring->start(ring->context, run->slot);
	run->result->frames++;
	run->header.sequence++;
	run->slot = run->slot + 1 == run->slots ? 0 : run->slot + 1;
	/* While the frame is on the wire this takes nothing from the scenario. */
	go_on = ring->go_on(ring->context);
	if (run->scenario->buffers == WL_COPIED || run->scenario->buffers == WL_DMA_COPIED)
		go_on = go_on && wait_below(run, 1);
	return go_on;
}

/* Frames that repeat lie ready in all slots. */
static void prefill(struct run *run)
{
	const struct wl_ring *ring = run->ring;

	run->header.flags = WL_FLAG_REPEATING;
	for (uint32_t slot = 0; slot < run->slots; slot++) {
		run->header.sequence = slot;
		wl_frame_ethernet(&run->header, run->scenario->to, run->scenario->from,
				  ring->buffer(ring->context, slot), run->scenario->length);
		ring->describe(ring->context, slot, run->scenario->length);
	}
	run->result->slots = run->slots;
}

bool wl_scenario_run(const struct wl_ring *ring, const struct wl_scenario *scenario,
		     struct wl_scenario_result *result, const char **why)
{
	struct run run = { .ring = ring, .scenario = scenario, .result = result };
	bool go_on = true;

	*result = (struct wl_scenario_result){ 0 };
	*why = fault(ring, scenario);
	if (*why != 0)
		return false;
	run.slots = ring->open(ring->context, scenario->descriptors);
	if (run.slots < scenario->descriptors) {
		*why = "the ring has fewer descriptors than asked";
		return false;
	}
	run.header.stream = scenario->stream;
	run.header.lfsr_bytes = (uint16_t)(scenario->length - HEADERS_BYTES);
	if (wl_scenario_repeats(scenario->buffers))
		prefill(&run);
	ring->pin(ring->context, true);
	run.began_ticks = WL_CLOCK();
	while (go_on && result->frames < scenario->frames)
		go_on = send_one(&run);
	go_on = go_on && wait_below(&run, 1);
	/* Frames on their way leave even after go_on ends the trial, unless the MAC is stuck. */
	for (uint32_t looks = 0; !go_on && looks < LAST_LOOKS && ring->held(ring->context) > 0; looks++)
		;
	result->ticks = WL_CLOCK() - run.began_ticks;
	ring->pin(ring->context, false);
	result->frames -= ring->held(ring->context);
	result->ended = !go_on;
	return true;
}

bool wl_reception_poll(struct wl_reception *reception, const struct wl_inlet *inlet)
{
	const uint8_t *bytes;
	size_t length = inlet->frame(inlet->context, &bytes);
	uint64_t now;

	if (length == 0)
		return false;
	now = WL_CLOCK();
	if (inlet->take(inlet->context, bytes, length)) {
		if (reception->received++ == 0) {
			reception->first_ticks = now;
			inlet->pin(inlet->context, true);
		}
		reception->last_ticks = now;
		if (wl_reception_done(reception))
			inlet->pin(inlet->context, false);
	}
	inlet->done(inlet->context);
	return true;
}

uint64_t wl_reception_share_ppm(const struct wl_reception *reception,
				const struct wl_scenario_result *own_transmit)
{
	uint64_t ticks = reception->last_ticks - reception->first_ticks;
	uint64_t parts;

	if (reception->received < 2 || ticks == 0 || own_transmit->frames == 0 || own_transmit->ticks == 0)
		return 0;
	/* An interval of the own transmission over one of the reception; nothing overflows below 2^44 ticks. */
	parts = 1000000 * own_transmit->ticks / own_transmit->frames;
	return parts * (reception->received - 1) / ticks;
}
