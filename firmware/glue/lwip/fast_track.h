/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fast track of a board: what the packet identifier (wirelab/identify.h) finds goes from the driver to the
 * application where it lies, before it is copied and before the stack sees it.
 */
#ifndef WIRELAB_FAST_TRACK_H
#define WIRELAB_FAST_TRACK_H

#include "wirelab/identify.h"

struct wl_fast_track {
	const struct wl_rule *rules;
	size_t count;
};

/* Set by the main loop alone, where frames are looked at too. */
extern struct wl_fast_track wl_fast;

#define BOARD_TAKES(frame, length)                                                                           \
	(wl_fast.count > 0 && wl_fast_track(wl_fast.rules, wl_fast.count, (frame), (length)))

#endif
