/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Losses, duplicates and reordering of one stream; the rules are those of spec/test-frame.md and the same as
 * Tracker in crates/trial, which tests compare with this.
 */
#ifndef WIRELAB_TRACKER_H
#define WIRELAB_TRACKER_H

#include "checker.h"

#define WL_TRACK_MASK (WL_TRACK_WINDOW - 1)

struct wl_gap {
	struct wl_track *track;
	__u64 first;
	__u32 at;
};

static __always_inline __u64 *wl_seen_word(struct wl_track *t, __u64 sequence)
{
	return &t->seen[(sequence & WL_TRACK_MASK) / 64];
}

static long wl_open_gap(__u32 i, struct wl_gap *gap)
{
	__u64 sequence = gap->first + i;

	*wl_seen_word(gap->track, sequence) &= ~(1ULL << (sequence & 63));
	gap->track->jumped_at[sequence & WL_TRACK_MASK] = gap->at;
	return 0;
}

static __noinline int wl_track_late(struct wl_track *t, __u32 age)
{
	__u64 sequence, bit, *word;
	__u32 extent;

	if (!t)
		return 0;
	sequence = t->next - age;
	if (age > WL_TRACK_WINDOW || age > t->next) {
		t->too_late += 1;
		return 0;
	}
	word = wl_seen_word(t, sequence);
	bit = 1ULL << (sequence & 63);
	if (*word & bit) {
		t->duplicated += 1;
		return 0;
	}
	*word |= bit;
	t->distinct += 1;
	t->reordered += 1;
	extent = (__u32)(t->observed - 1) - t->jumped_at[sequence & WL_TRACK_MASK];
	if (extent > t->max_extent)
		t->max_extent = extent;
	return 0;
}

static __always_inline void wl_track(struct wl_track *t, __u32 sequence32)
{
	__s32 distance = (__s32)(sequence32 - (__u32)t->next);
	__u64 sequence;

	t->observed += 1;
	if (distance < 0) {
		wl_track_late(t, -(__u32)distance);
		return;
	}
	sequence = t->next + distance;
	if (distance > 0) {
		struct wl_gap gap = { .track = t, .first = t->next, .at = (__u32)(t->observed - 1) };
		__u32 missing = distance;

		if (missing > WL_TRACK_WINDOW) {
			gap.first = sequence - WL_TRACK_WINDOW;
			missing = WL_TRACK_WINDOW;
		}
		bpf_loop(missing, wl_open_gap, &gap, 0);
	}
	*wl_seen_word(t, sequence) |= 1ULL << (sequence & 63);
	t->distinct += 1;
	t->next = sequence + 1;
}

/* Repeating frames carry their slot number: slots follow each other modulo K, as in SlotTracker of crates/trial. */
static __always_inline void wl_track_slot(struct wl_track *t, __u32 slot, __u32 slots)
{
	__u32 expected = t->next_slot < slots ? t->next_slot : 0;

	t->observed += 1;
	t->distinct += 1;
	if (slot >= slots) {
		t->order_breaks += 1;
		return;
	}
	if (t->next_slot && slot != expected) {
		t->order_breaks += 1;
		if (slot + 1 != t->next_slot)
			t->slot_lost += slot > expected ? slot - expected : slots - expected + slot;
	}
	t->next_slot = slot + 1;
}

#endif
