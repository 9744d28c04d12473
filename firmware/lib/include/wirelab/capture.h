/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points: the times at which frames pass named places in the node.
 *
 * WL_POINT(point, sequence) takes one time. WL_ENTER and WL_LEAVE stand around a function and may be nested, also by
 * interrupts: wl_capture_cost() then returns the cost of the function alone. Points are numbers below WL_CAPTURE_POINTS,
 * best an enum. With WL_CAPTURE 0 all of this is gone from the image.
 *
 * Records go into one ring in the order they were taken. When it is full, new ones are counted as lost: an old record is never
 * overwritten during reading. wl_capture_drop() makes room.
 */
#ifndef WIRELAB_CAPTURE_H
#define WIRELAB_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "wirelab/options.h"

enum wl_capture_kind {
	WL_CAPTURE_POINT,
	WL_CAPTURE_ENTER,
	WL_CAPTURE_LEAVE,
};

struct wl_record {
	uint64_t ticks;
	uint32_t sequence;
	uint8_t point;
	uint8_t kind;
};

/* The cost of the calls of a point marked by WL_ENTER and WL_LEAVE, in ticks. */
struct wl_cost {
	uint32_t calls;
	uint64_t total_ticks; /* from enter to leave */
	uint64_t own_ticks; /* the same without nested calls */
	uint64_t least_own_ticks; /* of the cheapest call */
	uint32_t unmatched; /* records without their end, or nested too deeply */
};

#if WL_CAPTURE

#define WL_POINT(point, sequence) wl_capture_take((point), WL_CAPTURE_POINT, (sequence))
#define WL_ENTER(point, sequence) wl_capture_take((point), WL_CAPTURE_ENTER, (sequence))
#define WL_LEAVE(point, sequence) wl_capture_take((point), WL_CAPTURE_LEAVE, (sequence))

/* Take a record; use the macros. Usable in interrupts if WL_CLOCK and WL_LOCK are. */
void wl_capture_take(uint8_t point, enum wl_capture_kind kind, uint32_t sequence);

/* Take a record of a point whose time was read earlier, e.g. in an interrupt before its frame was known. */
void wl_capture_note(uint8_t point, uint32_t sequence, uint64_t ticks);

#else

static inline void wl_capture_note(uint8_t point, uint32_t sequence, uint64_t ticks)
{
	(void)point;
	(void)sequence;
	(void)ticks;
}

#define WL_POINT(point, sequence) ((void)0)
#define WL_ENTER(point, sequence) ((void)0)
#define WL_LEAVE(point, sequence) ((void)0)

#endif

/* Forget all records and start to take at most so many of each point; 0 stops. */
void wl_capture_start(uint32_t records_of_each_point);

/* Stop taking records; existing ones can still be read. */
void wl_capture_stop(void);

/* Name a point, e.g. "driver"; the text must stay valid. */
void wl_capture_name(uint8_t point, const char *name);
const char *wl_capture_name_of(uint8_t point);

/* Records that a point has in the ring, and those that did not fit. */
uint32_t wl_capture_count(uint8_t point);
uint64_t wl_capture_lost(uint8_t point);

/* Record `index` of a point, 0 being the oldest; false behind the last. Reading on is quick, going back is not. */
bool wl_capture_read(uint8_t point, uint32_t index, struct wl_record *record);

/* Record `index` of the ring, whatever its point; false behind the last. */
bool wl_capture_at(uint32_t index, struct wl_record *record);

/* Take the oldest record out of the ring; false if there is none. */
bool wl_capture_drop(struct wl_record *record);

/* The rest is in capture_cost.c, which a project may leave out. The cost of a point's functions, from the records in the ring.
 * It includes the cost of the points themselves: see wl_capture_overhead. */
void wl_capture_cost(uint8_t point, struct wl_cost *cost);

/* Ticks from one point to the next with nothing between: the least of sixteen. It uses the ring and forgets its
 * records, so call it before the trial. */
uint64_t wl_capture_overhead(void);

#endif
