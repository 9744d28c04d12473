/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points: the ring of records. */
#include "wirelab/capture.h"

#if WL_CAPTURE

#define MASK (WL_CAPTURE_RECORDS - 1)

static struct {
	struct wl_record ring[WL_CAPTURE_RECORDS];
	/* Free-running numbers of records, so that full and empty differ; both wrap together. */
	volatile uint32_t head;
	volatile uint32_t tail;
	uint32_t most;
	uint32_t taken[WL_CAPTURE_POINTS];
	uint64_t lost[WL_CAPTURE_POINTS];
	const char *names[WL_CAPTURE_POINTS];
	/* Where the last read of a point ended, so that paging does not start again each time. */
	uint32_t read_at;
	uint32_t read_index;
	uint8_t read_point;
} capture;

void wl_capture_take(uint8_t point, enum wl_capture_kind kind, uint32_t sequence)
{
	struct wl_record *record;

	if (point >= WL_CAPTURE_POINTS)
		return;
	WL_LOCK();
	if (capture.taken[point] >= capture.most || capture.head - capture.tail >= WL_CAPTURE_RECORDS) {
		/* Records while off are not lost. */
		if (capture.most > 0)
			capture.lost[point]++;
		WL_UNLOCK();
		return;
	}
	capture.taken[point]++;
	record = &capture.ring[capture.head & MASK];
	record->sequence = sequence;
	record->point = point;
	record->kind = (uint8_t)kind;
	/* Read last, so that the time is close to the code that follows; inside the lock, so that records are in order. */
	record->ticks = WL_CLOCK();
	capture.head = capture.head + 1;
	WL_UNLOCK();
}

void wl_capture_note(uint8_t point, uint32_t sequence, uint64_t ticks)
{
	uint32_t head;

	WL_LOCK();
	head = capture.head;
	wl_capture_take(point, WL_CAPTURE_POINT, sequence);
	if (capture.head != head)
		capture.ring[head & MASK].ticks = ticks;
	WL_UNLOCK();
}

void wl_capture_start(uint32_t records_of_each_point)
{
	WL_LOCK();
	for (unsigned point = 0; point < WL_CAPTURE_POINTS; point++) {
		capture.taken[point] = 0;
		capture.lost[point] = 0;
	}
	capture.head = 0;
	capture.tail = 0;
	capture.read_index = 0;
	capture.read_at = 0;
	capture.most = records_of_each_point;
	WL_UNLOCK();
}

void wl_capture_stop(void)
{
	capture.most = 0;
}

void wl_capture_name(uint8_t point, const char *name)
{
	if (point < WL_CAPTURE_POINTS)
		capture.names[point] = name;
}

const char *wl_capture_name_of(uint8_t point)
{
	return point < WL_CAPTURE_POINTS ? capture.names[point] : (const char *)0;
}

uint32_t wl_capture_count(uint8_t point)
{
	uint32_t count = 0;

	for (uint32_t at = capture.tail; at != capture.head; at++)
		count += capture.ring[at & MASK].point == point;
	return count;
}

uint64_t wl_capture_lost(uint8_t point)
{
	uint64_t lost;

	if (point >= WL_CAPTURE_POINTS)
		return 0;
	/* Two words on a 32-bit core. */
	WL_LOCK();
	lost = capture.lost[point];
	WL_UNLOCK();
	return lost;
}

bool wl_capture_read(uint8_t point, uint32_t index, struct wl_record *record)
{
	uint32_t at = capture.tail, found = 0;

	if (capture.read_point == point && capture.read_index > 0 && capture.read_index <= index) {
		at = capture.read_at;
		found = capture.read_index;
	}
	for (; at != capture.head; at++) {
		if (capture.ring[at & MASK].point != point || found++ < index)
			continue;
		*record = capture.ring[at & MASK];
		capture.read_point = point;
		capture.read_index = index + 1;
		capture.read_at = at + 1;
		return true;
	}
	return false;
}

bool wl_capture_at(uint32_t index, struct wl_record *record)
{
	if (index >= capture.head - capture.tail)
		return false;
	*record = capture.ring[(capture.tail + index) & MASK];
	return true;
}

bool wl_capture_drop(struct wl_record *record)
{
	if (capture.tail == capture.head)
		return false;
	*record = capture.ring[capture.tail & MASK];
	WL_LOCK();
	/* Frees a place in the ring, and one of the point's share. */
	capture.taken[record->point]--;
	capture.tail = capture.tail + 1;
	WL_UNLOCK();
	capture.read_index = 0;
	return true;
}

#else

/* An empty file is not C. */
typedef int wl_capture_is_off;

#endif
