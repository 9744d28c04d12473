/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The capture points of a node with a stack (spec/node-control.md, "captures"), and the frames that leave a record there.
 *
 * Reception first, each direction in a frame's order. A point that a node lacks takes no record and is not listed. Between two
 * points of one direction lies a stage.
 */
#ifndef WIRELAB_POINTS_H
#define WIRELAB_POINTS_H

#include "wirelab/capture.h"
#include "wirelab/frame.h"

enum wl_point {
	WL_RX_INTERRUPT, /* the interrupt's function is entered */
	WL_RX_DRIVER, /* the driver hands the frame to the stack, after any copy */
	WL_RX_APPLICATION, /* the application has the data */
	WL_TX_APPLICATION, /* the application hands the data over */
	WL_TX_DRIVER, /* the stack gives the frame to the driver */
	WL_TX_MAC, /* the MAC is started: the write to its register has returned */
	WL_POINTS
};

/* Name the six points in the ring. */
static inline void wl_points_name(void)
{
	static const char *const names[WL_POINTS] = { "interrupt",   "driver", "application",
						      "application", "driver", "mac" };

	for (uint8_t n = 0; n < WL_POINTS; n++)
		wl_capture_name(n, names[n]);
}

/* Whether a frame may be of a test flow, and then its sequence: EtherType 0x88B5, or UDP in IPv4 without options, with the
 * magic of a test header in its place. It takes a few loads, for points that every frame passes, and judges nothing. */
static inline bool wl_points_sequence(const uint8_t *frame, size_t length, uint32_t *sequence)
{
	const uint8_t *at = frame + WL_ETHERNET_HEADER_BYTES;

	if (length < WL_ETHERNET_HEADER_BYTES + WL_HEADER_BYTES)
		return false;
	if (frame[12] == 0x08 && frame[13] == 0x00) {
		if (length < WL_ETHERNET_HEADER_BYTES + 28 + WL_HEADER_BYTES || at[0] != 0x45 || at[9] != 17)
			return false;
		at += 28;
	} else if (frame[12] != WL_ETHERTYPE >> 8 || frame[13] != (WL_ETHERTYPE & 0xFF)) {
		return false;
	}
	if (at[0] != 'W' || at[1] != 'L')
		return false;
	*sequence = (uint32_t)at[4] << 24 | (uint32_t)at[5] << 16 | (uint32_t)at[6] << 8 | at[7];
	return true;
}

#endif
