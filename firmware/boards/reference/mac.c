/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The MAC of board.h: the straps attach one of two blocks. */
#include "board.h"
#include "board_config.h"
#include "hooks.h"
#include "reference.h"
#include "wirelab/points.h"

/* The same in both blocks. */
#define COUNTS (PLACE(slot_mac.counts) - PLACE(slot_mac))
#define OWN_LOW (PLACE(slot_mac.own) - PLACE(slot_mac))
#define OWN_HIGH (OWN_LOW + 4)

static const char *const counter_names[COUNTERS] = {
	"rx_frames", "rx_bytes", "rx_odd_frames", "interrupts",
	"tx_frames", "tx_bytes", "tx_full",	  "tx_too_long",
};
/* The block's own counters, in the order of its registers. */
static const char *const block_names[BLOCK_COUNTERS] = { "mac_received_frames", "mac_dropped_frames",
							 "mac_bad_fcs_frames",	"mac_error_frames",
							 "mac_runts",		"mac_oversizes",
							 "mac_filtered_frames", "mac_sent_frames" };

uint64_t counters[COUNTERS];

static bool ring;

static uint32_t block(void)
{
	return ring ? PLACE(ring_mac) : PLACE(slot_mac);
}

/* The address in the block, or else the board's. The low word has the last four bytes, the first of them highest. */
static void address_init(uint8_t address[6])
{
	static const uint8_t own[6] = BOARD_MAC;
	uint32_t low = REGISTER(block() + OWN_LOW), high = REGISTER(block() + OWN_HIGH) & 0xFFFFu;

	if (low == 0 && high == 0) {
		low = (uint32_t)own[2] << 24 | (uint32_t)own[3] << 16 | (uint32_t)own[4] << 8 | own[5];
		high = (uint32_t)own[0] << 8 | own[1];
	}
	REGISTER(block() + OWN_LOW) = low;
	REGISTER(block() + OWN_HIGH) = high;
	for (unsigned n = 0; n < 4; n++)
		address[2 + n] = (uint8_t)(low >> (24 - 8 * n));
	address[0] = (uint8_t)(high >> 8);
	address[1] = (uint8_t)high;
}

bool mac_init(uint8_t address[6])
{
	uint32_t was = board_irq_off();

	ring = VALUE(NODE(system.straps), SYSTEM__STRAPS__ATTACHMENT) == ATTACHMENT_RING;
	receive_init();
	address_init(address);
	identifier_start(address, address + 2);
	if (ring)
		ring_start();
	else
		slot_start();
	interrupts_enable(IRQ_MAC);
	board_irq_on(was);
	return true;
}

void mac_interrupt(void)
{
	WL_MARK(WL_RX_INTERRUPT);
	BOARD_ON_MAC_INTERRUPT();
	counters[INTERRUPTS]++;
	if (ring)
		ring_interrupt();
	else
		slot_interrupt();
	unit_again();
}

bool mac_takes(uint32_t length)
{
	if (length - ETHERNET_HEADER_BYTES > MAC_MOST_BYTES - ETHERNET_HEADER_BYTES) {
		counters[RX_ODD]++;
		return false;
	}
	counters[RX_FRAMES]++;
	counters[RX_BYTES] += length;
	return true;
}

/* Each word of the buffer joins halves of two words of the frame. Four words a round keep the loop's overhead low. */
void mac_read_frame(uint32_t *to, const volatile uint32_t *from, uint32_t length)
{
	uint32_t words = (length + 3) / 4, before = 0;

	for (; words >= 4; words -= 4, to += 4, from += 4) {
		uint32_t a = from[0], b, c, d;

		to[0] = before >> 16 | a << 16;
		b = from[1];
		to[1] = a >> 16 | b << 16;
		c = from[2];
		to[2] = b >> 16 | c << 16;
		d = from[3];
		to[3] = c >> 16 | d << 16;
		before = d;
	}
	for (; words > 0; words--) {
		uint32_t next = *from++;

		*to++ = before >> 16 | next << 16;
		before = next;
	}
	*to = before >> 16;
}

bool mac_send(const struct wl_piece *pieces, unsigned count)
{
	uint32_t length = 0;
	bool sent;

	BOARD_ON_SEND(pieces, count);
	for (unsigned n = 0; n < count; n++) {
		if (pieces[n].count > MAC_MOST_BYTES - length) {
			counters[TX_TOO_LONG]++;
			return false;
		}
		length += (uint32_t)pieces[n].count;
	}
	sent = ring ? ring_send(pieces, count) : slot_send(pieces, count, length);
	if (!sent) {
		counters[TX_FULL]++;
		return false;
	}
	BOARD_ON_MAC_STARTED();
	unit_sent(pieces, count);
	counters[TX_FRAMES]++;
	counters[TX_BYTES] += length;
	return true;
}

/* Never called, because board.loopback is false. */
void mac_loopback(bool on)
{
	(void)on;
}

bool mac_link(void)
{
	return true;
}

uint32_t mac_link_bits_per_s(void)
{
	return BOARD_LINK_BITS_PER_S;
}

/* The counters of the driver and of the block. */
bool mac_counted(uint32_t index, const char **name, uint64_t *value)
{
	uint32_t was;

	if (index >= COUNTERS + BLOCK_COUNTERS)
		return false;
	if (index >= COUNTERS) {
		*name = block_names[index - COUNTERS];
		*value = REGISTER(block() + COUNTS + 4 * (index - COUNTERS));
		return true;
	}
	*name = counter_names[index];
	/* The interrupt counts too, and 64 bits take two reads. */
	was = board_irq_off();
	*value = counters[index];
	board_irq_on(was);
	return true;
}
