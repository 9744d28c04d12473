/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A part of a frame in memory, for drivers that gather. */
#ifndef WIRELAB_PIECE_H
#define WIRELAB_PIECE_H

#include <stddef.h>

struct wl_piece {
	const void *bytes;
	size_t count;
};

#endif
