/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scenarios on a simulated ring: the frames that leave, their times, the pin and the counters. */
#include "tap.h"
#include "wirelab/scenario.h"
#include "wirelab/track.h"

#define MOST_SLOTS 9
#define WIRE 12304u /* ticks of 10 ns of a frame of 1514 bytes on a wire of 100 Mbit/s */
#define COPY 7000u
#define COPY_AHEAD 3500u
#define DMA 1700u
#define MOST_FRAMES 300

/* A ring that sends one frame after another, each WIRE ticks long. Every call of a function takes one tick. */
static struct {
	uint64_t now;
	uint32_t slots, spare, limit;
	uint8_t buffers[MOST_SLOTS][WL_SCENARIO_MAX_LENGTH + 2],
		started[MOST_SLOTS][WL_SCENARIO_MAX_LENGTH + 2];
	size_t lengths[MOST_SLOTS];
	uint32_t head, tail; /* running numbers of frames started and left */
	uint64_t tail_leaves;
	uint64_t dma_ends, pin_rose, pin_fell;
	unsigned rises, falls, go_ons, go_on_until, touched, most_held;
	bool stuck;
	struct wl_receiver receiver;
	struct wl_header last;
	unsigned bad;
} sim;

uint64_t wl_clock(void)
{
	return ++sim.now;
}

static const uint8_t to[6] = { 2, 0, 0, 0, 0, 1 }, from[6] = { 2, 0, 0, 0, 0, 2 };

/* Let frames leave whose time has come. */
static void settle(void)
{
	while (!sim.stuck && sim.tail != sim.head && sim.now >= sim.tail_leaves) {
		uint32_t slot = sim.tail % sim.slots;

		/* A buffer that the MAC still owns must not be written. */
		sim.touched += memcmp(sim.buffers[slot], sim.started[slot], sim.lengths[slot]) != 0;
		wl_receive_frame(&sim.receiver, sim.buffers[slot], sim.lengths[slot]);
		sim.bad += wl_frame_judge(sim.buffers[slot], sim.lengths[slot], &sim.receiver.flow,
					  &sim.last) != WL_GOOD;
		sim.tail++;
		sim.tail_leaves += WIRE;
	}
}

static uint32_t sim_open(void *context, uint32_t descriptors)
{
	(void)context;
	sim.slots = descriptors + sim.spare < sim.limit ? descriptors + sim.spare : sim.limit;
	return sim.slots;
}

static uint8_t *sim_buffer(void *context, uint32_t slot)
{
	(void)context;
	return sim.buffers[slot];
}

static void sim_describe(void *context, uint32_t slot, size_t length)
{
	(void)context;
	sim.lengths[slot] = length;
}

static void sim_start(void *context, uint32_t slot)
{
	(void)context;
	sim.now++;
	settle();
	sim.bad += slot != sim.head % sim.slots || sim.head - sim.tail >= sim.slots;
	memcpy(sim.started[slot], sim.buffers[slot], sim.lengths[slot]);
	if (sim.head == sim.tail)
		sim.tail_leaves = sim.now + WIRE;
	sim.head++;
	if (sim.head - sim.tail > sim.most_held)
		sim.most_held = sim.head - sim.tail;
}

static uint32_t sim_held(void *context)
{
	(void)context;
	sim.now++;
	settle();
	return sim.head - sim.tail;
}

static void sim_copy(void *context, uint8_t *out, const uint8_t *data, size_t count)
{
	(void)context;
	memcpy(out, data, (count + 3) & ~(size_t)3);
	sim.now += COPY;
}

static void sim_copy_ahead(void *context, uint8_t *out, const uint8_t *data, size_t count)
{
	(void)context;
	memcpy(out, data, count);
	sim.now += COPY_AHEAD;
}

static void sim_dma_start(void *context, uint8_t *out, const uint8_t *data, size_t count)
{
	(void)context;
	memcpy(out, data, count);
	sim.dma_ends = sim.now + DMA;
}

static bool sim_dma_busy(void *context)
{
	(void)context;
	return ++sim.now < sim.dma_ends;
}

static void sim_pin(void *context, bool up)
{
	(void)context;
	*(up ? &sim.pin_rose : &sim.pin_fell) = sim.now;
	sim.rises += up;
	sim.falls += !up;
}

static uint32_t sim_ticks(void *context)
{
	(void)context;
	return (uint32_t)++sim.now;
}

static bool sim_go_on(void *context)
{
	(void)context;
	return ++sim.go_ons < sim.go_on_until;
}

static const uint8_t *sim_data(void *context, uint32_t sequence, size_t count)
{
	static uint32_t words[WL_SCENARIO_MAX_LENGTH / 4 + 1];

	(void)context;
	wl_lfsr_fill(sequence, (uint8_t *)words, count);
	return (uint8_t *)words;
}

static struct wl_ring ring(void)
{
	return (struct wl_ring){ 0,	   sim_open,  sim_buffer,     sim_describe,  sim_start,
				 sim_held, sim_copy,  sim_copy_ahead, sim_dma_start, sim_dma_busy,
				 sim_pin,  sim_ticks, sim_go_on };
}

static struct wl_scenario scenario(enum wl_buffers buffers, uint32_t descriptors, uint64_t frames)
{
	struct wl_scenario made = { .buffers = buffers,
				    .descriptors = descriptors,
				    .frames = frames,
				    .length = 1514,
				    .stream = 7,
				    .data = sim_data };

	memcpy(made.to, to, 6);
	memcpy(made.from, from, 6);
	memset(&sim, 0, sizeof sim);
	sim.spare = 1;
	sim.limit = MOST_SLOTS;
	sim.go_on_until = UINT32_MAX;
	sim.receiver.flow = (struct wl_flow){ .stream_known = true, .stream = 7 };
	sim.receiver.slots.slots = wl_scenario_repeats(buffers) ? descriptors + 1 : 0;
	return made;
}

static struct wl_scenario_result run(const struct wl_scenario *asked)
{
	struct wl_ring made = ring();
	struct wl_scenario_result result;
	const char *why;

	CHECK(wl_scenario_run(&made, asked, &result, &why));
	CHECK(why == 0);
	EQUAL(sim.rises, 1);
	EQUAL(sim.falls, 1);
	return result;
}

/* Within the few ticks that the calls take. */
static bool near(uint64_t one, uint64_t other, uint64_t calls)
{
	return one >= other && one - other <= calls;
}

static void prefilled_frames_repeat_and_leave_back_to_back(void)
{
	struct wl_scenario asked = scenario(WL_PREFILLED, 3, 50);
	struct wl_scenario_result result = run(&asked);

	EQUAL(result.frames, 50);
	EQUAL(result.slots, 4);
	EQUAL(result.most_held, 3);
	EQUAL(sim.most_held, 3);
	EQUAL(result.header_ticks, 0);
	EQUAL(result.copy_ticks, 0);
	EQUAL(sim.receiver.good, 50);
	EQUAL(sim.receiver.slots.skipped, 0);
	CHECK(sim.last.flags == WL_FLAG_REPEATING);
	CHECK(near(result.ticks, 50 * WIRE, 10));
	CHECK(near(sim.pin_fell - sim.pin_rose, result.ticks, 2));
	CHECK(result.full_events > 0);
}

static void copied_frames_wait_for_each_to_leave(void)
{
	struct wl_scenario asked = scenario(WL_COPIED, 3, 50);
	struct wl_scenario_result result = run(&asked);

	EQUAL(result.frames, 50);
	EQUAL(result.slots, 0);
	EQUAL(sim.most_held, 1);
	EQUAL(sim.receiver.tracker.distinct, 50);
	EQUAL(sim.receiver.good, 50);
	CHECK(near(result.ticks, 50 * (WIRE + COPY), 50 * 10));
	CHECK(near(result.copy_ticks, 50 * COPY, 50 * 2));
	CHECK(near(result.wait_ticks + 250, 50 * WIRE, 500));
	CHECK(result.header_ticks >= 50 && result.header_ticks <= 50 * 4);
}

static void a_dma_copy_is_waited_for_and_the_header_hides_behind_it(void)
{
	struct wl_scenario asked = scenario(WL_DMA_COPIED, 3, 50);
	struct wl_scenario_result result = run(&asked);

	EQUAL(sim.most_held, 1);
	EQUAL(sim.receiver.good, 50);
	CHECK(near(result.ticks, 50 * (WIRE + DMA), 50 * 10));
	CHECK(near(result.copy_ticks, 50 * DMA, 50 * 6));
	CHECK(near(result.wait_ticks + 250, 50 * (DMA + WIRE), 500));
	CHECK(result.header_ticks > 0);
}

static void copying_ahead_costs_the_first_copy_alone(void)
{
	struct wl_scenario asked = scenario(WL_COPIED_AHEAD, 3, 50);
	struct wl_scenario_result result = run(&asked);

	EQUAL(sim.most_held, 3);
	EQUAL(sim.receiver.good, 50);
	CHECK(near(result.ticks, 50 * WIRE + COPY_AHEAD, 20));
}

static void every_kind_is_right_with_two_to_eight_descriptors(void)
{
	static const enum wl_buffers kinds[] = { WL_PREFILLED, WL_COPIED, WL_DMA_COPIED, WL_COPIED_AHEAD,
						 WL_IN_PLACE };

	for (unsigned kind = 0; kind < 5; kind++) {
		for (uint32_t descriptors = 2; descriptors <= 8; descriptors++) {
			for (size_t length = 60; length <= 1514; length += 1454 / 3 + 1) {
				struct wl_scenario asked = scenario(kinds[kind], descriptors, MOST_FRAMES);
				struct wl_scenario_result result;

				asked.length = length;
				result = run(&asked);
				EQUAL(result.frames, MOST_FRAMES);
				EQUAL(sim.receiver.good, MOST_FRAMES);
				EQUAL(sim.receiver.slots.order_breaks, 0);
				EQUAL(sim.bad, 0);
				EQUAL(sim.touched, 0);
				CHECK(sim.most_held <= descriptors);
				CHECK(kind == 0 || wl_receiver_agrees(&sim.receiver, result.frames));
			}
		}
	}
}

static void a_ring_without_a_spare_slot_is_filled_whole(void)
{
	struct wl_scenario asked = scenario(WL_PREFILLED, 4, 50);
	struct wl_scenario_result result;

	sim.spare = 0;
	sim.receiver.slots.slots = 4;
	result = run(&asked);
	EQUAL(result.slots, 4);
	EQUAL(sim.most_held, 4);
	EQUAL(sim.receiver.slots.skipped, 0);
}

static void frames_are_paced(void)
{
	struct wl_scenario asked = scenario(WL_COPIED_AHEAD, 3, 50);
	struct wl_scenario_result result;

	asked.interval_q16 = (uint64_t)20000 << 16 | 0x8000;
	result = run(&asked);
	EQUAL(sim.receiver.good, 50);
	/* Every frame is late by its copy, because the wait comes before. */
	CHECK(near(result.ticks, 49 * 20000 + 24 + COPY_AHEAD + WIRE, 20));
	CHECK(near(result.wait_ticks + 500, 49 * 20000 + WIRE - 49 * COPY_AHEAD, 1000));
	EQUAL(result.full_events, 0);
}

static void go_on_ends_a_trial_and_what_is_on_its_way_leaves(void)
{
	struct wl_scenario asked = scenario(WL_COPIED_AHEAD, 3, 50);
	struct wl_scenario_result result;

	sim.go_on_until = 10;
	result = run(&asked);
	CHECK(result.ended);
	CHECK(result.frames > 0 && result.frames <= 10);
	EQUAL(result.frames, sim.receiver.good);
	EQUAL(sim.head, sim.tail);
}

static void a_mac_that_stands_still_does_not_hang_the_node(void)
{
	struct wl_scenario asked = scenario(WL_PREFILLED, 3, 50);
	struct wl_scenario_result result;

	sim.stuck = true;
	sim.go_on_until = 1000;
	result = run(&asked);
	CHECK(result.ended);
	EQUAL(result.frames, 0);
	asked = scenario(WL_DMA_COPIED, 3, 50);
	sim.stuck = true;
	sim.go_on_until = 1000;
	result = run(&asked);
	EQUAL(result.frames, 0);
}

static void what_cannot_be_run_is_refused_with_a_reason(void)
{
	struct wl_scenario good = scenario(WL_DMA_COPIED, 3, 50), asked;
	struct wl_scenario_result result;
	struct wl_ring made = ring();
	const char *why;

#define REFUSED(reason)                                                                                      \
	do {                                                                                                 \
		CHECK(!wl_scenario_run(&made, &asked, &result, &why));                                       \
		CHECK(why != 0 && strstr(why, reason) != 0);                                                 \
		EQUAL(sim.rises, 0);                                                                         \
	} while (0)
	asked = good;
	asked.descriptors = 1;
	REFUSED("2 to 8");
	asked.descriptors = 9;
	REFUSED("2 to 8");
	asked = good;
	asked.length = 59;
	REFUSED("60 to 1514");
	asked.length = 1515;
	REFUSED("60 to 1514");
	asked = good;
	asked.data = 0;
	REFUSED("no data");
	asked = good;
	sim.limit = 2;
	REFUSED("fewer");
	made.dma_start = 0;
	REFUSED("DMA");
}

static size_t inlet_frame(void *context, const uint8_t **bytes)
{
	(void)context;
	*bytes = sim.buffers[0];
	return sim.tail < sim.head ? sim.lengths[0] : 0;
}

static void inlet_done(void *context)
{
	(void)context;
	sim.tail++;
	sim.now += 20000;
}

static bool inlet_take(void *context, const uint8_t *bytes, size_t length)
{
	(void)context;
	return wl_receive_frame(&sim.receiver, bytes, length) != WL_FOREIGN;
}

static void a_reception_is_a_share_of_the_own_transmit(void)
{
	static const struct wl_inlet inlet = { 0, inlet_frame, inlet_done, inlet_take, sim_pin };
	struct wl_scenario_result own = { .frames = 50, .ticks = 50 * 10001 };
	struct wl_reception reception = { .frames = 50 };
	struct wl_scenario unused = scenario(WL_COPIED, 3, 1);
	struct wl_header header = { .stream = 7 };

	(void)unused;
	CHECK(!wl_reception_poll(&reception, &inlet));
	EQUAL(sim.rises, 0);
	EQUAL(wl_reception_share_ppm(&reception, &own), 0);
	sim.head = 51;
	/* A frame that is not of the flow comes first. */
	sim.lengths[0] = 60;
	CHECK(wl_reception_poll(&reception, &inlet));
	EQUAL(reception.received, 0);
	for (uint32_t n = 0; n < 50; n++) {
		header.sequence = n;
		EQUAL(sim.rises, n > 0);
		EQUAL(sim.falls, 0);
		wl_frame_ethernet(&header, to, from, sim.buffers[0], 60);
		CHECK(wl_reception_poll(&reception, &inlet));
		EQUAL(wl_reception_share_ppm(&reception, &own), n == 0 ? 0 : 500024);
	}
	EQUAL(sim.falls, 1);
	CHECK(wl_reception_done(&reception));
	EQUAL(sim.receiver.good, 50);
	own.frames = 0;
	EQUAL(wl_reception_share_ppm(&reception, &own), 0);
}

int main(void)
{
	RUN(prefilled_frames_repeat_and_leave_back_to_back);
	RUN(copied_frames_wait_for_each_to_leave);
	RUN(a_dma_copy_is_waited_for_and_the_header_hides_behind_it);
	RUN(copying_ahead_costs_the_first_copy_alone);
	RUN(every_kind_is_right_with_two_to_eight_descriptors);
	RUN(a_ring_without_a_spare_slot_is_filled_whole);
	RUN(frames_are_paced);
	RUN(go_on_ends_a_trial_and_what_is_on_its_way_leaves);
	RUN(a_mac_that_stands_still_does_not_hang_the_node);
	RUN(what_cannot_be_run_is_refused_with_a_reason);
	RUN(a_reception_is_a_share_of_the_own_transmit);
	return tap_end();
}
