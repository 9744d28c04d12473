/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points of driver and stack: the time is read first, then the frame that it belongs to is found. */
#include "probes.h"

#include "wirelab/piece.h"
#include "wirelab/points.h"

#define UDP_HEADERS_BYTES (WL_ETHERNET_HEADER_BYTES + 20 + 8)

bool wl_probes_on;

static struct {
	volatile bool interrupted; /* no frame has taken the time yet */
	volatile uint64_t interrupt_ticks;
	bool sending; /* a frame of a test flow is on its way through the driver */
	uint32_t sequence;
} probes;

void wl_probe_interrupt(void)
{
	if (probes.interrupted)
		return;
	probes.interrupt_ticks = WL_CLOCK();
	probes.interrupted = true;
}

void wl_probe_received(const uint8_t *frame, size_t length)
{
	bool interrupted = probes.interrupted;
	uint32_t sequence;

	/* Read before the next interrupt may write it. */
	uint64_t ticks = probes.interrupt_ticks;

	probes.interrupted = false;
	if (!wl_points_sequence(frame, length, &sequence))
		return;
	if (interrupted)
		wl_capture_note(WL_RX_INTERRUPT, sequence, ticks);
	WL_POINT(WL_RX_DRIVER, sequence);
}

/* lwIP puts its headers into a buffer of their own, in front of the application's. */
bool wl_probe_sequence(const struct wl_piece *pieces, unsigned count, uint32_t *sequence)
{
	const uint8_t *headers = pieces[0].bytes, *data;

	if (count < 2 || pieces[0].count != UDP_HEADERS_BYTES)
		return count > 0 && wl_points_sequence(headers, pieces[0].count, sequence);
	data = pieces[1].bytes;
	if (headers[12] != 0x08 || headers[13] != 0 || headers[23] != 17 ||
	    pieces[1].count < WL_HEADER_BYTES || data[0] != 'W' || data[1] != 'L')
		return false;
	*sequence = (uint32_t)data[4] << 24 | (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7];
	return true;
}

void wl_probe_send(const struct wl_piece *pieces, unsigned count)
{
	probes.sending = wl_probe_sequence(pieces, count, &probes.sequence);
	if (probes.sending)
		WL_POINT(WL_TX_DRIVER, probes.sequence);
}

void wl_probe_started(void)
{
	if (probes.sending)
		WL_POINT(WL_TX_MAC, probes.sequence);
	probes.sending = false;
}
