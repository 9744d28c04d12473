/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ring MAC: it reads and writes frames in RAM by itself, by two rings of descriptors.
 *
 * Received frames lie where the stack wants them, so nothing is copied. A frame to be sent goes out in its pieces as lwIP
 * has them; the driver waits until the MAC has fetched them, which it does before the line starts, since the pieces are
 * the caller's again afterwards. Descriptors are read past the data cache, which writes through.
 */
#include "board.h"
#include "board_config.h"
#include "hooks.h"
#include "reference.h"
#include "wirelab/points.h"

#include <string.h>

#define WRAP (1u << 1) /* of a receive descriptor's address */
#define RX_USED (1u << 0)
#define TX_USED (1u << 31)
#define TX_WRAP (1u << 30)
#define TX_LAST (1u << 15)
#define RX_LENGTH 0x3FFFu
#define RX_WANTED (1u << 16)

#define MOST_PIECES 8u

struct descriptor {
	uint32_t address, status;
};

static struct descriptor rx_memory[BOARD_RX_DESCRIPTORS] __attribute__((aligned(32)));
static struct descriptor tx_memory[BOARD_TX_DESCRIPTORS] __attribute__((aligned(32)));
static uint8_t *rx_buffers[BOARD_RX_DESCRIPTORS];
static uint32_t rx_next, tx_next;

static volatile struct descriptor *rx_ring(void)
{
	return (volatile struct descriptor *)(uintptr_t)UNCACHED(rx_memory);
}

static volatile struct descriptor *tx_ring(void)
{
	return (volatile struct descriptor *)(uintptr_t)UNCACHED(tx_memory);
}

/* A buffer for what comes; the word of the address goes last, since that is what gives it to the MAC. */
static void arm(uint32_t index, uint8_t *buffer)
{
	rx_buffers[index] = buffer;
	rx_ring()[index].status = 0;
	rx_ring()[index].address =
		(uint32_t)(uintptr_t)buffer | (index == BOARD_RX_DESCRIPTORS - 1 ? WRAP : 0);
}

void ring_start(void)
{
	cache_forget();
	for (uint32_t n = 0; n < BOARD_RX_DESCRIPTORS; n++)
		arm(n, receive_spare());
	for (uint32_t n = 0; n < BOARD_TX_DESCRIPTORS; n++)
		tx_ring()[n].status = TX_USED | (n == BOARD_TX_DESCRIPTORS - 1 ? TX_WRAP : 0);
	NODE(ring_mac.rx_base) = (uint32_t)(uintptr_t)rx_memory;
	NODE(ring_mac.tx_base) = (uint32_t)(uintptr_t)tx_memory;
	NODE(ring_mac.irq_enable) = BITS(RING_MAC__IRQ_ENABLE__RECEIVED);
	NODE(ring_mac.control) = BITS(RING_MAC__CONTROL__ENABLE);
}

/* Where no buffer is free, the frame's own one is taken back at once and the frame is lost. */
static void take(uint32_t index, uint32_t status)
{
	uint32_t length = status & RX_LENGTH;
	uint8_t *buffer = rx_buffers[index], *other = mac_takes(length) ? receive_spare() : 0;

	if (other != 0) {
		receive_queue(buffer, length, (status & RX_WANTED) != 0);
		WL_MARK(WL_RX_DRIVER);
	}
	arm(index, other != 0 ? other : buffer);
}

void ring_interrupt(void)
{
	NODE(ring_mac.status) = BITS(RING_MAC__STATUS__RECEIVED);
	while (rx_ring()[rx_next].address & RX_USED) {
		take(rx_next, rx_ring()[rx_next].status);
		rx_next = (rx_next + 1) % BOARD_RX_DESCRIPTORS;
	}
}

/* What the MAC takes as it lies: the first piece begins where lwIP's frames do, and each further one where the one before
 * has ended, on words. */
static bool lies_well(const struct wl_piece *pieces, unsigned count)
{
	uint32_t at = PAD;

	if (count > MOST_PIECES)
		return false;
	for (unsigned n = 0; n < count; n++) {
		if (((uint32_t)(uintptr_t)pieces[n].bytes - at) % 4 != 0)
			return false;
		at += (uint32_t)pieces[n].count;
	}
	return true;
}

/* Into one piece that does. */
static struct wl_piece gather(const struct wl_piece *pieces, unsigned count, uint32_t length)
{
	static uint32_t whole[(PAD + MAC_MOST_BYTES + 3) / 4];
	uint8_t *to = (uint8_t *)whole + PAD;

	for (unsigned n = 0; n < count; to += pieces[n++].count)
		memcpy(to, pieces[n].bytes, pieces[n].count);
	counters[TX_GATHERED]++;
	return (struct wl_piece){ (uint8_t *)whole + PAD, length };
}

static void describe(uint32_t index, const struct wl_piece *piece, bool last)
{
	tx_ring()[index].address = (uint32_t)(uintptr_t)piece->bytes;
	tx_ring()[index].status = (uint32_t)piece->count | (last ? TX_LAST : 0) |
				  (index == BOARD_TX_DESCRIPTORS - 1 ? TX_WRAP : 0);
}

/* The first descriptor is given to the MAC last, so that it finds all of the frame. */
bool ring_send(const struct wl_piece *pieces, unsigned count, uint32_t length)
{
	struct wl_piece gathered;
	uint32_t first = tx_next;

	WL_MARK(WL_TX_DRIVER);
	if (!lies_well(pieces, count)) {
		gathered = gather(pieces, count, length);
		pieces = &gathered;
		count = 1;
	}
	for (unsigned n = count; n-- > 0;)
		describe((first + n) % BOARD_TX_DESCRIPTORS, &pieces[n], n + 1 == count);
	tx_next = (first + count) % BOARD_TX_DESCRIPTORS;
	WL_MARK(WL_TX_MAC);
	NODE(ring_mac.control) = BITS(RING_MAC__CONTROL__ENABLE) | BITS(RING_MAC__CONTROL__SEND);
	while ((tx_ring()[first].status & TX_USED) == 0)
		;
	return true;
}
