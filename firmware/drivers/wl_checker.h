/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the packet checker (docs/blocks/packet_checker.md): a verdict on every byte of every received frame.
 *
 * `base` is the address of the block's registers: those of a port's checker are at wl_port_checker(port).
 *
 *     wl_checker_start(base, &(struct wl_checker_flow){ .udp_port = 5003 });
 *     while (!wl_checker_ready(base)) { }
 *     …
 *     wl_checker_read(base, &counts);
 */
#ifndef WIRELAB_CHECKER_H
#define WIRELAB_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

/* Which frames belong to the flow. */
struct wl_checker_flow {
	bool has_source; /* then a damaged magic of this sender is header-corrupt, else foreign */
	uint8_t source[6];
	uint16_t udp_port;
	bool has_stream; /* the flow has only this stream */
	uint8_t stream;
	uint16_t slots; /* 1 to 4,096 in a repeating flow; 0: sequences increase */
};

struct wl_checker_counts {
	/* Each judged frame is in one of these. */
	uint32_t good;
	uint32_t header_corrupt;
	uint32_t truncated;
	uint32_t stale;
	uint32_t corrupted;
	uint32_t foreign;
	/* In addition, of the sequences. */
	uint32_t distinct;
	uint32_t duplicated;
	uint32_t reordered;
	uint32_t too_late; /* older than 4,096 sequences */
	uint32_t lost; /* below next_sequence; only the sender knows of losses beyond */
	uint32_t next_sequence;
	/* With slots each arrival counts as distinct, only the sender knows the losses, and next_sequence is the next slot. */
	uint32_t order_breaks; /* slots out of order, or that do not exist */
	uint32_t mixed; /* repeating frames in a flow of sequences, or the reverse */
	/* Frames that the MAC found damaged; they are not judged. */
	uint32_t bad_fcs;
	uint32_t damaged; /* runt, oversize or rx_er */
	uint64_t verified_bytes; /* payloads of the good frames */
	bool has_times;
	uint64_t first_ns; /* when the first and the last frame of the flow ended, by the port's clock */
	uint64_t last_ns;
	uint16_t overflow; /* sticky, a bit a count, in the order that the block's page has */
	bool has_missed_stale; /* sticky: stale frames came too close, so some count as corrupted */
};

/* Forget everything and judge the frames of a flow, from wl_checker_ready on. False, and nothing is judged, with more than
 * 4,096 slots. */
bool wl_checker_start(uintptr_t base, const struct wl_checker_flow *flow);

/* Whether frames that begin now are judged: true from 514 clocks after the start. */
bool wl_checker_ready(uintptr_t base);

/* Stop judging; the counts stay. */
void wl_checker_stop(uintptr_t base);

/* The counts. Each is read at its own moment, so read them after the frames have arrived. */
void wl_checker_read(uintptr_t base, struct wl_checker_counts *counts);

#endif
