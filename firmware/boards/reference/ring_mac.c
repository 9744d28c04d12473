/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ring MAC: it moves frames between the line and RAM by DMA, with two rings of descriptors.
 *
 * A received frame is copied out of its buffer in the interrupt, as the handler of the source document does; the buffer begins
 * with the frame, while lwIP needs IP headers on words. A sent frame is taken in lwIP's pieces. The driver waits until the MAC
 * has fetched them, which it does before the line starts; the caller may then reuse them. After a fault the MAC returns them
 * unsent, so that the wait ends; `mac_sticky` shows it. Descriptors and buffers are reached past the data cache, which writes
 * through.
 */
#include "board.h"
#include "board_config.h"
#include "hooks.h"
#include "reference.h"
#include "wirelab/points.h"

#define BUFFER_BYTES 1536u

/* Of a descriptor (rtl/registers/reference_node.rdl). */
#define RX_USED (1u << 0)
#define RX_WRAP (1u << 1)
#define RX_LENGTH 0x3FFFu
#define RX_WHOLE (3u << 14) /* the frame begins and ends here */
#define RX_WANTED (1u << 16)
#define TX_LAST (1u << 15)
#define TX_WRAP (1u << 30)
#define TX_USED (1u << 31)

struct descriptor {
	uint32_t address, state;
};

static struct descriptor rx_memory[BOARD_RX_DESCRIPTORS] __attribute__((aligned(32)));
static struct descriptor tx_memory[BOARD_TX_DESCRIPTORS] __attribute__((aligned(32)));
static uint8_t buffers[BOARD_RX_DESCRIPTORS][BUFFER_BYTES] __attribute__((section(".noinit"), aligned(32)));
static uint32_t rx_next, tx_next;

static volatile struct descriptor *uncached(const struct descriptor *at)
{
	return (volatile struct descriptor *)(uintptr_t)UNCACHED(at);
}

/* The address word gives the buffer to the MAC, so it is written last. */
static void arm(uint32_t index)
{
	volatile struct descriptor *at = uncached(&rx_memory[index]);

	at->state = 0;
	at->address = (uint32_t)(uintptr_t)buffers[index] | (index == BOARD_RX_DESCRIPTORS - 1 ? RX_WRAP : 0);
}

void ring_start(void)
{
	for (uint32_t n = 0; n < BOARD_RX_DESCRIPTORS; n++)
		arm(n);
	for (uint32_t n = 0; n < BOARD_TX_DESCRIPTORS; n++)
		uncached(&tx_memory[n])->state = TX_USED;
	NODE(ring_mac.rx_ring) = (uint32_t)(uintptr_t)rx_memory;
	NODE(ring_mac.tx_ring) = (uint32_t)(uintptr_t)tx_memory;
	NODE(ring_mac.rx_buffer_bytes) = BUFFER_BYTES;
	NODE(ring_mac.irq_enable) = BITS(RING_MAC__IRQ_ENABLE__RECEIVED);
	NODE(ring_mac.control) = BITS(RING_MAC__CONTROL__RX_ENABLE) | BITS(RING_MAC__CONTROL__TX_ENABLE);
}

static void take(uint32_t index, uint32_t state)
{
	uint32_t length = state & RX_LENGTH;
	uint8_t *to;

	if ((state & RX_WHOLE) != RX_WHOLE || !mac_takes(length))
		return;
	to = receive_spare();
	if (to == 0)
		return;
	mac_read_frame((uint32_t *)(void *)to, &REGISTER(UNCACHED(buffers[index])), length);
	receive_queue(to, length, (state & RX_WANTED) != 0);
	WL_MARK(WL_RX_DRIVER);
}

/* The event is cleared first, so that a later frame interrupts again. */
void ring_interrupt(void)
{
	NODE(ring_mac.status) = BITS(RING_MAC__STATUS__RECEIVED);
	while (uncached(&rx_memory[rx_next])->address & RX_USED) {
		take(rx_next, uncached(&rx_memory[rx_next])->state);
		arm(rx_next);
		rx_next = (rx_next + 1) % BOARD_RX_DESCRIPTORS;
	}
}

static void describe(uint32_t index, const struct wl_piece *piece, bool last)
{
	volatile struct descriptor *at = uncached(&tx_memory[index]);

	at->address = (uint32_t)(uintptr_t)piece->bytes;
	at->state = (uint32_t)piece->count | (last ? TX_LAST : 0) |
		    (index == BOARD_TX_DESCRIPTORS - 1 ? TX_WRAP : 0);
}

/* A descriptor is free as soon as its piece is fetched, so no frame finds the ring full. The first descriptor is written last,
 * because the MAC may already look at it behind the previous frame. */
bool ring_send(const struct wl_piece *pieces, unsigned count)
{
	uint32_t last = (tx_next + count - 1) % BOARD_TX_DESCRIPTORS;

	if (count == 0 || count >= BOARD_TX_DESCRIPTORS)
		return false;
	WL_MARK(WL_TX_DRIVER);
	for (unsigned n = count; n-- > 0;)
		describe((tx_next + n) % BOARD_TX_DESCRIPTORS, &pieces[n], n + 1 == count);
	tx_next = (last + 1) % BOARD_TX_DESCRIPTORS;
	WL_MARK(WL_TX_MAC);
	NODE(ring_mac.control) = BITS(RING_MAC__CONTROL__RX_ENABLE) | BITS(RING_MAC__CONTROL__TX_ENABLE) |
				 BITS(RING_MAC__CONTROL__TX_START);
	while ((uncached(&tx_memory[last])->state & TX_USED) == 0)
		;
	return true;
}
