/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of a port's MAC. */
#include "wl_port_mac.h"

#include "fields.h"

void wl_port_mac_gap(uintptr_t base, uint8_t gap_bytes)
{
	WRITE(base, mac, gap, gap_bytes);
}

bool wl_port_mac_longest(uintptr_t base, uint32_t frame_bytes)
{
	if (frame_bytes > MAC_REGISTERS__MAX_FRAME__VALUE_bm)
		return false;
	WRITE(base, mac, max_frame, frame_bytes);
	return true;
}

void wl_port_mac_clear(uintptr_t base)
{
	WRITE(base, mac, control, FIELD(MAC_REGISTERS__CONTROL__CLEAR, 1));
}

void wl_port_mac_read(uintptr_t base, struct wl_mac_counts *counts)
{
	counts->sent = READ(base, mac, sent);
	counts->underruns = READ(base, mac, underruns);
	counts->received = READ(base, mac, received);
	counts->bad_fcs = READ(base, mac, bad_fcs);
	counts->rx_errors = READ(base, mac, rx_errors);
	counts->runts = READ(base, mac, runts);
	counts->oversizes = READ(base, mac, oversizes);
	counts->without_sfd = READ(base, mac, without_sfd);
	counts->too_short = READ(base, mac, too_short);
	counts->bad_preambles = READ(base, mac, bad_preambles);
	counts->overflow = (uint16_t)READ(base, mac, overflow);
}
