/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracking and counting: each kind of event, the edges of the window, slots, and the count identity. */
#include "tap.h"
#include "wirelab/track.h"

static struct wl_tracker t;

static void begin(void)
{
	memset(&t, 0, sizeof t);
}

static void each_event_by_its_name(void)
{
	static const struct {
		uint32_t sequence;
		enum wl_arrival arrival;
	} story[] = { { 0, WL_IN_ORDER },  { 1, WL_IN_ORDER },	{ 1, WL_DUPLICATE },
		      { 5, WL_GAP },	   { 6, WL_IN_ORDER },	{ 3, WL_REORDERED },
		      { 3, WL_DUPLICATE }, { 2, WL_REORDERED }, { UINT32_MAX, WL_TOO_LATE },
		      { 7, WL_IN_ORDER } };

	begin();
	for (size_t n = 0; n < sizeof story / sizeof story[0]; n++)
		EQUAL(wl_track(&t, story[n].sequence), story[n].arrival);
	EQUAL(t.received, 10);
	EQUAL(t.distinct, 7);
	EQUAL(t.duplicated, 2);
	EQUAL(t.reordered, 2);
	EQUAL(t.too_late, 1);
	EQUAL(wl_track_lost(&t, 8), 1); /* sequence 4, although two duplicates came */
#if WL_TRACK_EXTENT
	EQUAL(t.max_extent, 4);
#endif
}

static void the_edge_of_the_window(void)
{
	begin();
	EQUAL(wl_track(&t, WL_TRACK_WINDOW), WL_GAP);
	EQUAL(wl_track(&t, 0), WL_TOO_LATE);
	EQUAL(wl_track(&t, 1), WL_REORDERED);
	EQUAL(wl_track(&t, WL_TRACK_WINDOW + 1), WL_IN_ORDER);
	EQUAL(wl_track(&t, 1), WL_TOO_LATE);
	EQUAL(wl_track(&t, 2), WL_REORDERED);
}

static void the_farthest_jump_forgets_everything_once(void)
{
	uint32_t jump = 0x7FFFFFFF;

	begin();
	wl_track(&t, 0);
	EQUAL(wl_track(&t, jump + 1), WL_GAP);
	EQUAL(wl_track(&t, jump), WL_REORDERED);
	EQUAL(wl_track(&t, jump + 1 - (WL_TRACK_WINDOW - 1)), WL_REORDERED);
	EQUAL(wl_track(&t, jump + 1 - WL_TRACK_WINDOW), WL_TOO_LATE);
	EQUAL(wl_track_lost(&t, 1u << 31), (1u << 31) - 4);
}

static void sequences_wrap(void)
{
	begin();
	wl_track(&t, 0x7FFFFFFF);
	wl_track(&t, 0xFFFFFFFE);
	EQUAL(wl_track(&t, 1), WL_GAP);
	EQUAL(t.next, 0x100000002);
	EQUAL(wl_track(&t, 0xFFFFFFFF), WL_REORDERED);
	EQUAL(wl_track(&t, 0), WL_REORDERED);
	EQUAL(wl_track(&t, 0), WL_DUPLICATE);
	EQUAL(wl_track(&t, 2), WL_IN_ORDER);
}

/* The plainest tracker: a list of all arrivals. */
static void random_arrivals_against_a_plain_list(void)
{
	static bool came[5000];
	uint64_t distinct = 0, duplicated = 0, reordered = 0, too_late = 0, highest = 0;

	begin();
	for (int n = 0; n < 20000; n++) {
		uint32_t base = (uint32_t)n / 5, sequence = base + random_below(300);

		if (random_below(50) == 0)
			sequence = random_below(base + 1);
		if (sequence + WL_TRACK_WINDOW < highest) {
			too_late++;
		} else if (came[sequence]) {
			duplicated++;
		} else {
			distinct++;
			reordered += sequence < highest;
		}
		if (sequence + WL_TRACK_WINDOW >= highest)
			came[sequence] = true;
		if (sequence >= highest)
			highest = sequence + 1u;
		wl_track(&t, sequence);
	}
	EQUAL(t.distinct, distinct);
	EQUAL(t.duplicated, duplicated);
	EQUAL(t.reordered, reordered);
	EQUAL(t.too_late, too_late);
	CHECK(distinct > 1000 && duplicated > 1000 && reordered > 1000);
	CHECK(too_late > 0 || WL_TRACK_WINDOW > 4000);
}

static void slots_follow_one_another(void)
{
	static const struct {
		uint32_t slot;
		uint64_t skipped, breaks;
	} story[] = { { 2, 0, 0 }, { 3, 0, 0 }, { 0, 0, 0 }, { 2, 1, 1 },
		      { 1, 3, 2 }, { 1, 3, 3 }, { 4, 3, 4 }, { 2, 3, 4 } };
	struct wl_slots slots = { .slots = 4 };

	for (size_t n = 0; n < sizeof story / sizeof story[0]; n++) {
		wl_track_slot(&slots, story[n].slot);
		EQUAL(slots.skipped, story[n].skipped);
		EQUAL(slots.order_breaks, story[n].breaks);
	}
	EQUAL(slots.received, 8);
}

static const uint8_t node[6] = { 2, 0, 0, 0, 0, 2 };
static struct wl_receiver r;

static uint64_t counter(const char *wanted, uint64_t sent)
{
	const char *name;
	uint64_t value;

	for (uint32_t index = 0; wl_receiver_counter(&r, true, sent, index, &name, &value); index++)
		if (strcmp(name, wanted) == 0)
			return value;
	return UINT64_MAX;
}

/* Each change to the frames is counted correctly, and the sums hold. */
static void faults_are_counted_as_what_they_are(void)
{
	enum { GOOD, DROP, TWICE, BIT, HEADER, CUT, OLD, FAULTS };
	uint64_t done[FAULTS] = { 0 }, sent = 3000;
	uint8_t frame[128];

	memset(&r, 0, sizeof r);
	r.flow.source_known = true;
	memcpy(r.flow.source, node, 6);
	for (uint32_t n = 0; n < sent; n++) {
		struct wl_header header = { .sequence = n };
		uint32_t fault = random_below(3 * FAULTS);
		size_t length = 60 + random_below(68);

		fault = fault < FAULTS ? fault : GOOD;
		wl_frame_ethernet(&header, node, node, frame, length);
		done[fault]++;
		if (fault == BIT)
			frame[32 + random_below(header.lfsr_bytes)] ^= (uint8_t)(1 << random_below(8));
		else if (fault == HEADER)
			frame[14 + random_below(WL_HEADER_BYTES)] ^= (uint8_t)(1 << random_below(8));
		else if (fault == OLD)
			wl_lfsr_fill(n - 1, frame + 32, header.lfsr_bytes);
		if (fault != DROP)
			wl_receive_frame(&r, frame, fault == CUT ? length - 1 - random_below(27) : length);
		if (fault == TWICE)
			wl_receive_frame(&r, frame, length);
	}
	CHECK(wl_receiver_agrees(&r, sent));
	EQUAL(counter("lost_frames", sent), done[DROP] + done[HEADER]);
	EQUAL(counter("duplicated_frames", sent), done[TWICE]);
	EQUAL(counter("corrupted_frames", sent), done[BIT]);
	EQUAL(counter("header_corrupt_frames", sent), done[HEADER]);
	EQUAL(counter("truncated_frames", sent), done[CUT]);
	EQUAL(counter("stale_frames", sent), done[OLD]);
	EQUAL(counter("good_frames", sent), done[GOOD] + 2 * done[TWICE]);
	EQUAL(counter("reordered_frames", sent), 0);
	EQUAL(counter("foreign_frames", sent), 0);
	for (int fault = 0; fault < FAULTS; fault++)
		CHECK(done[fault] > 50);
	/* A wrong counter is noticed. */
	CHECK(!wl_receiver_agrees(&r, 10));
	r.good++;
	CHECK(!wl_receiver_agrees(&r, sent));
}

static void swapped_frames_are_reordered(void)
{
	uint8_t data[64];

	memset(&r, 0, sizeof r);
	for (uint32_t n = 0; n < 100; n++) {
		struct wl_header header = { .sequence = n ^ 1, .lfsr_bytes = 40 };

		EQUAL(wl_receive_data(&r, data, wl_frame_data(&header, data, sizeof data), false), WL_GOOD);
	}
	EQUAL(counter("reordered_frames", 100), 50);
	EQUAL(counter("lost_frames", 100), 0);
	CHECK(wl_receiver_agrees(&r, 100));
#if WL_TRACK_EXTENT
	EQUAL(counter("reordering_extent_frames", 100), 1);
#endif
}

static void repeating_frames_are_checked_by_slot(void)
{
	uint8_t data[64];

	memset(&r, 0, sizeof r);
	r.slots.slots = 3;
	for (uint32_t n = 0; n < 50; n++) {
		struct wl_header header = { .flags = WL_FLAG_REPEATING, .sequence = n % 3, .lfsr_bytes = 40 };

		wl_frame_data(&header, data, sizeof data);
		if (n != 20)
			wl_receive_data(&r, data, 58, false);
	}
	EQUAL(r.slots.skipped, 1);
	EQUAL(r.slots.order_breaks, 1);
	EQUAL(r.good, 49);
	EQUAL(r.tracker.received, 0);
	CHECK(wl_receiver_agrees(&r, 50));
}

int main(void)
{
	wl_lfsr_init();
	RUN(each_event_by_its_name);
	RUN(the_edge_of_the_window);
	RUN(the_farthest_jump_forgets_everything_once);
	RUN(sequences_wrap);
	RUN(random_arrivals_against_a_plain_list);
	RUN(slots_follow_one_another);
	RUN(faults_are_counted_as_what_they_are);
	RUN(swapped_frames_are_reordered);
	RUN(repeating_frames_are_checked_by_slot);
	return tap_end();
}
