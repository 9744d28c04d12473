/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracking of a stream's arrivals (in order, twice, late or missing), and the counters of a receiver.
 *
 * The rules are those of spec/test-frame.md, "Tracking a stream", and the same as Tracker in crates/trial.
 */
#ifndef WIRELAB_TRACK_H
#define WIRELAB_TRACK_H

#include "wirelab/frame.h"

/* Sequences of one stream, which starts at 0. All zero before the first arrival. */
struct wl_tracker {
	uint64_t next; /* highest sequence seen plus one, not wrapped */
	uint64_t received;
	uint64_t distinct;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t too_late;
	uint32_t seen[WL_TRACK_WINDOW / 32]; /* a bit for each sequence of the window: it arrived */
#if WL_TRACK_EXTENT
	uint32_t max_extent; /* frames, RFC 4737, 4.2.2 */
	uint32_t jumped_at[WL_TRACK_WINDOW]; /* for each missing one: the arrival that skipped it */
#endif
};

enum wl_arrival {
	WL_IN_ORDER,
	WL_GAP,
	WL_DUPLICATE,
	WL_REORDERED,
	WL_TOO_LATE,
};

/* Track one arrival with an intact header. A frame in order changes one bit, a jump at most the window. */
enum wl_arrival wl_track(struct wl_tracker *tracker, uint32_t sequence);

/* The lost sequences of the sender's; their number comes from the sender. */
static inline uint64_t wl_track_lost(const struct wl_tracker *tracker, uint64_t sent)
{
	return sent > tracker->distinct ? sent - tracker->distinct : 0;
}

/* Repeating frames, whose sequence is their slot 0 to K-1. A loss of exactly K frames leaves no trace here. */
struct wl_slots {
	uint32_t slots; /* K; 0 without repeating frames */
	uint32_t following; /* last slot plus one; 0 before the first */
	uint64_t received;
	uint64_t skipped; /* skipped slots: at least so many frames are missing */
	uint64_t order_breaks; /* arrivals whose slot did not follow the one before */
};

void wl_track_slot(struct wl_slots *slots, uint32_t slot);

/* A receiver: one flow of frames, judged, tracked and counted. */
struct wl_receiver {
	struct wl_flow flow;
	struct wl_tracker tracker;
	struct wl_slots slots; /* set `slots.slots` if repeating frames are expected */
	uint64_t received; /* of the flow, in any state */
	uint64_t good;
	uint64_t header_corrupt;
	uint64_t truncated;
	uint64_t stale;
	uint64_t corrupted;
	uint64_t foreign;
	uint64_t received_bytes; /* lengths of the flow's frames, or bytes of its datagrams */
	uint64_t verified_bytes; /* header and LFSR part of good frames */
};

/* Judge, track and count a frame, or bytes that begin with a test header. */
enum wl_verdict wl_receive_frame(struct wl_receiver *receiver, const uint8_t *frame, size_t length);
enum wl_verdict wl_receive_data(struct wl_receiver *receiver, const uint8_t *bytes, size_t count, bool ours);

/* The count identity, checked in every run (spec/test-frame.md): whether the counters agree with one another and with the
 * sender's count. Frames of repeating flows have no sequence, so only the states are summed. */
bool wl_receiver_agrees(const struct wl_receiver *receiver, uint64_t sent);

/* Counter `index` under its name in spec/node-control.md, section 6; false behind the last. `sent` as above; without
 * `sent_known` the lost frames are left out. */
bool wl_receiver_counter(const struct wl_receiver *receiver, bool sent_known, uint64_t sent, uint32_t index,
			 const char **name, uint64_t *value);

#endif
