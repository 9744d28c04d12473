/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Losses, duplicates, reordering and slots, and the counters of a receiver. */
#include "wirelab/track.h"

#define MASK (WL_TRACK_WINDOW - 1)

static uint32_t *seen_word(struct wl_tracker *t, uint64_t sequence)
{
	return &t->seen[(sequence & MASK) / 32];
}

static uint32_t seen_bit(uint64_t sequence)
{
	return 1u << (sequence & 31);
}

static enum wl_arrival track_late(struct wl_tracker *t, uint32_t age)
{
	uint64_t sequence = t->next - age;
	uint32_t *word = seen_word(t, sequence);

	if (age > WL_TRACK_WINDOW || age > t->next) {
		t->too_late++;
		return WL_TOO_LATE;
	}
	if (*word & seen_bit(sequence)) {
		t->duplicated++;
		return WL_DUPLICATE;
	}
	*word |= seen_bit(sequence);
	t->distinct++;
	t->reordered++;
#if WL_TRACK_EXTENT
	uint32_t extent = (uint32_t)(t->received - 1) - t->jumped_at[sequence & MASK];

	if (extent > t->max_extent)
		t->max_extent = extent;
#endif
	return WL_REORDERED;
}

/* Mark sequences as missing since the arrival just counted; only one window before `end` is kept. */
static void open_gap(struct wl_tracker *t, uint64_t end, uint32_t missing)
{
	uint32_t kept = missing < WL_TRACK_WINDOW ? missing : WL_TRACK_WINDOW;

	for (uint64_t sequence = end - kept; sequence != end; sequence++) {
		*seen_word(t, sequence) &= ~seen_bit(sequence);
#if WL_TRACK_EXTENT
		t->jumped_at[sequence & MASK] = (uint32_t)(t->received - 1);
#endif
	}
}

enum wl_arrival wl_track(struct wl_tracker *t, uint32_t sequence)
{
	/* The 32 bits on the wire stand for the sequence nearest to the expected one. */
	uint32_t ahead = sequence - (uint32_t)t->next;
	uint64_t unwrapped = t->next + ahead;

	t->received++;
	if (ahead & 0x80000000u)
		return track_late(t, 0u - ahead);
	if (ahead > 0)
		open_gap(t, unwrapped, ahead);
	*seen_word(t, unwrapped) |= seen_bit(unwrapped);
	t->distinct++;
	t->next = unwrapped + 1;
	return ahead > 0 ? WL_GAP : WL_IN_ORDER;
}

void wl_track_slot(struct wl_slots *s, uint32_t slot)
{
	uint32_t expected = s->following < s->slots ? s->following : 0;

	s->received++;
	if (slot >= s->slots) {
		s->order_breaks++;
		return;
	}
	if (s->following && slot != expected) {
		s->order_breaks++;
		/* The same slot again may be a duplicate, so no frame counts as missing. */
		if (slot + 1 != s->following)
			s->skipped += slot > expected ? slot - expected : s->slots - expected + slot;
	}
	s->following = slot + 1;
}

static void count(struct wl_receiver *r, enum wl_verdict verdict, const struct wl_header *header,
		  size_t bytes)
{
	if (verdict == WL_FOREIGN) {
		r->foreign++;
		return;
	}
	r->received++;
	r->received_bytes += bytes;
	switch (verdict) {
	case WL_HEADER_CORRUPT:
		r->header_corrupt++;
		return;
	case WL_TRUNCATED:
		r->truncated++;
		break;
	case WL_STALE:
		r->stale++;
		break;
	case WL_CORRUPTED:
		r->corrupted++;
		break;
	default:
		r->good++;
		r->verified_bytes += (uint64_t)WL_HEADER_BYTES + header->lfsr_bytes;
	}
	if (header->flags & WL_FLAG_REPEATING)
		wl_track_slot(&r->slots, header->sequence);
	else
		wl_track(&r->tracker, header->sequence);
}

enum wl_verdict wl_receive_frame(struct wl_receiver *r, const uint8_t *frame, size_t length)
{
	struct wl_header header;
	enum wl_verdict verdict = wl_frame_judge(frame, length, &r->flow, &header);

	count(r, verdict, &header, length);
	return verdict;
}

enum wl_verdict wl_receive_data(struct wl_receiver *r, const uint8_t *bytes, size_t count_bytes, bool ours)
{
	struct wl_header header;
	enum wl_verdict verdict = wl_data_judge(bytes, count_bytes, &r->flow, ours, &header);

	count(r, verdict, &header, count_bytes);
	return verdict;
}

bool wl_receiver_agrees(const struct wl_receiver *r, uint64_t sent)
{
	const struct wl_tracker *t = &r->tracker;
	uint64_t states = r->good + r->header_corrupt + r->truncated + r->stale + r->corrupted;
	uint64_t arrivals = t->distinct + t->duplicated + t->too_late + r->slots.received + r->header_corrupt;

	if (states != r->received || arrivals != r->received)
		return false;
	return r->slots.received > 0 || t->distinct + wl_track_lost(t, sent) == sent;
}

bool wl_receiver_counter(const struct wl_receiver *r, bool sent_known, uint64_t sent, uint32_t index,
			 const char **name, uint64_t *value)
{
	const struct wl_tracker *t = &r->tracker;
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "received_frames", r->received },
		{ "received_bytes", r->received_bytes },
		{ "good_frames", r->good },
		{ "header_corrupt_frames", r->header_corrupt },
		{ "truncated_frames", r->truncated },
		{ "stale_frames", r->stale },
		{ "corrupted_frames", r->corrupted },
		{ "foreign_frames", r->foreign },
		{ "verified_payload_bytes", r->verified_bytes },
		{ "duplicated_frames", t->duplicated },
		{ "reordered_frames", t->reordered },
#if WL_TRACK_EXTENT
		{ "reordering_extent_frames", t->max_extent },
#endif
		{ "too_late_frames", t->too_late },
		{ "distinct_sequences", t->distinct },
		{ "lost_frames", wl_track_lost(t, sent) },
	};
	uint32_t there = sizeof(counters) / sizeof(counters[0]) - (sent_known ? 0 : 1);

	if (index >= there)
		return false;
	*name = counters[index].name;
	*value = counters[index].value;
	return true;
}
