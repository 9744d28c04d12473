/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fast track of a board: frames that the packet identifier (wirelab/identify.h) selects go from the driver to the
 * application in place, before the copy and before the stack.
 */
#ifndef WIRELAB_FAST_TRACK_H
#define WIRELAB_FAST_TRACK_H

#include "wirelab/identify.h"

struct wl_fast_track {
	const struct wl_rule *rules;
	size_t count;
};

/* Only the main loop sets it, and reads frames there too. */
extern struct wl_fast_track wl_fast;

#define BOARD_TAKES(frame, length)                                                                           \
	(wl_fast.count > 0 && wl_fast_track(wl_fast.rules, wl_fast.count, (frame), (length)))

#endif
