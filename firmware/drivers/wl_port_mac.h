/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of a port's MAC (docs/blocks/mac_tx.md, docs/blocks/mac_rx.md): the gap, the longest frame, and its counts.
 *
 * `base` is the address of the block's registers: those of a port's MAC are at wl_port_mac(port).
 */
#ifndef WIRELAB_PORT_MAC_H
#define WIRELAB_PORT_MAC_H

#include <stdbool.h>
#include <stdint.h>

struct wl_mac_counts {
	uint32_t sent;
	uint32_t underruns;
	uint32_t received; /* frames that ended, good or bad */
	uint32_t bad_fcs;
	uint32_t rx_errors;
	uint32_t runts;
	uint32_t oversizes;
	uint32_t without_sfd;
	uint32_t too_short; /* ended within five bytes of the SFD */
	uint32_t bad_preambles;
	uint16_t overflow; /* sticky, a bit for each count, in this order */
};

/* Bytes between an FCS and the next preamble: 12 by IEEE 802.3, 255 at most. */
void wl_port_mac_gap(uintptr_t base, uint8_t gap_bytes);

/* The longest frame that is received whole, FCS included; false above 16,383. */
bool wl_port_mac_longest(uintptr_t base, uint32_t frame_bytes);

/* Set the counts to 0. */
void wl_port_mac_clear(uintptr_t base);

/* The counts, each read at its own moment. */
void wl_port_mac_read(uintptr_t base, struct wl_mac_counts *counts);

#endif
