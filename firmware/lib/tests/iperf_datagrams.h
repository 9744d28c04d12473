/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Datagrams of a peer as iperf 2.1.8 sends them, for the tests of the server. */
#ifndef WIRELAB_IPERF_DATAGRAMS_H
#define WIRELAB_IPERF_DATAGRAMS_H

#include "tap.h"

#include "iperf_host.h"

/* The first datagram of `iperf -u -l 64`, from its flags on; then of -r, -d, -R and --full-duplex. */
#define HEADER "00000001000013890000004000000000"
#define EXTENSION "0000000000000000%s000200010008000300000000001000000000000000000000"

static uint8_t datagram[2048];
static struct wl_iperf_address peer;

static inline uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void put(uint8_t *at, uint32_t value)
{
	for (int n = 0; n < 4; n++)
		at[n] = (uint8_t)(value >> (24 - 8 * n));
}

/* Send a datagram of the peer, with its own time. */
static inline void send_at(int64_t id, size_t count, uint32_t us)
{
	uint8_t *copy = malloc(count);

	put(datagram, (uint32_t)id);
	put(datagram + 4, 100 + us / 1000000);
	put(datagram + 8, us % 1000000);
	put(datagram + 12, (uint32_t)(id >> 32));
	memcpy(copy, datagram, count);
	wl_iperf_datagram(&host.it, 0, &peer, copy, count, count, host.now);
	free(copy);
}

static inline void send(int64_t id, size_t count)
{
	send_at(id, count, (uint32_t)host.now);
}

static inline void begin(uint32_t flags, const char *upper, uint32_t amount)
{
	char text[200];

	host_begin();
	peer = host_peer(1, 50000);
	memset(datagram, 0, sizeof datagram);
	wl_iperf_fill(datagram, sizeof datagram, 0);
	sprintf(text, "%08X" HEADER "%08X" EXTENSION, (unsigned)flags, (unsigned)amount, upper);
	tap_hex(text, datagram + 16, 60);
}

#endif
