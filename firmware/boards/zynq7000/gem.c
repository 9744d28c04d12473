/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GEM0 with a ring of descriptors in each direction; the buffers lie in memory that is not cached.
 *
 * Received frames raise one interrupt, which stays masked until the ring is empty: under load only the ring is read. A MAC
 * without a free descriptor is restarted as soon as there is one.
 */
#include <string.h>

#include "board.h"
#include "board_config.h"
#include "gem.h"
#include "hooks.h"

#define BUFFER_BYTES 1536u
#define PAD 2u /* in front of each frame: RX_OFFSET_2, and the same alignment for copies to be sent */
#define LEAST_BYTES 60u

static struct gem_descriptor rx_ring[BOARD_RX_DESCRIPTORS] __attribute__((section(".dma"), aligned(64)));
static struct gem_descriptor tx_ring[BOARD_TX_DESCRIPTORS] __attribute__((section(".dma"), aligned(64)));
static uint8_t rx_buffers[BOARD_RX_DESCRIPTORS][BUFFER_BYTES] __attribute__((section(".dma"), aligned(64)));
static uint8_t tx_buffers[BOARD_TX_DESCRIPTORS][BUFFER_BYTES] __attribute__((section(".dma"), aligned(64)));

static struct {
	uint32_t rx_next, tx_next;
	uint32_t control; /* NET_CONTROL without start bits */
	volatile bool pending;
	bool link_up;
	uint32_t bits_per_s;
} gem;

/* Counters, in the order of their names. */
enum {
	RX_FRAMES,
	RX_BYTES,
	MAC_ERRORS,
	MAC_DROPPED,
	RX_STARVATIONS,
	INTERRUPTS,
	TX_FRAMES,
	TX_BYTES,
	TX_FULL,
	TX_TOO_LONG,
	TX_NO_LINK,
	TX_FAILED,
	LINK_CHANGES,
	COUNTERS
};
static const char *const counter_names[COUNTERS] = {
	"rx_frames",	"rx_bytes", "mac_error_frames", "mac_dropped_frames", "rx_starvations", "interrupts",
	"tx_frames",	"tx_bytes", "tx_full",		"tx_too_long",	      "tx_no_link",	"tx_errors",
	"link_changes",
};
static uint64_t counters[COUNTERS];

static void rings_init(void)
{
	for (uint32_t n = 0; n < BOARD_RX_DESCRIPTORS; n++) {
		rx_ring[n].status = 0;
		rx_ring[n].address =
			(uint32_t)(uintptr_t)rx_buffers[n] | (n == BOARD_RX_DESCRIPTORS - 1 ? RX_WRAP : 0);
	}
	for (uint32_t n = 0; n < BOARD_TX_DESCRIPTORS; n++) {
		tx_ring[n].address = (uint32_t)(uintptr_t)(tx_buffers[n] + PAD);
		tx_ring[n].status = TX_OURS | (n == BOARD_TX_DESCRIPTORS - 1 ? TX_WRAP : 0);
	}
	gem.rx_next = 0;
	gem.tx_next = 0;
	barrier();
	RX_QUEUE = (uint32_t)(uintptr_t)rx_ring;
	TX_QUEUE = (uint32_t)(uintptr_t)tx_ring;
}

/* The address in the MAC, or else the board's. Writing the high half enables the filter. */
static void address_init(uint8_t address[6])
{
	static const uint8_t own[6] = BOARD_MAC;
	uint32_t low = ADDRESS_LOW, high = ADDRESS_HIGH & 0xFFFFu;

	if (low == 0 && high == 0) {
		low = own[0] | (uint32_t)own[1] << 8 | (uint32_t)own[2] << 16 | (uint32_t)own[3] << 24;
		high = own[4] | (uint32_t)own[5] << 8;
	}
	ADDRESS_LOW = low;
	ADDRESS_HIGH = high;
	for (unsigned n = 0; n < 4; n++)
		address[n] = (uint8_t)(low >> 8 * n);
	for (unsigned n = 0; n < 2; n++)
		address[4 + n] = (uint8_t)(high >> 8 * n);
}

static void start(void)
{
	NET_CONTROL = gem.control;
	rings_init();
	TX_STATUS = 0xFFFFFFFFu;
	RX_STATUS = 0xFFFFFFFFu;
	(void)INT_STATUS;
	NET_CONTROL = gem.control |= RX_ENABLE | TX_ENABLE;
}

bool mac_init(uint8_t address[6])
{
	NET_CONTROL = 0;
	INT_DISABLE = 0xFFFFFFFFu;
	NET_CONTROL = CLEAR_STATISTICS;
	NET_CONFIG = SPEED_1000 | FULL_DUPLEX | RECEIVE_1536 | RX_OFFSET_2 | STRIP_FCS | MDC_DIVIDE_48;
	DMA_CONFIG = BURST_16 | RX_MEMORY_FULL | TX_MEMORY_FULL | RX_BUFFER_BYTES(BUFFER_BYTES);
	HASH_LOW = 0;
	HASH_HIGH = 0;
	address_init(address);
	gem.control = MANAGEMENT;
	NET_CONTROL = gem.control;
	if (!gem_phy_init())
		return false;
	start();
	mac_link();
	interrupts_enable(IRQ_GEM0);
	INT_ENABLE = ON_RECEIVE;
	return true;
}

void gem_interrupt(void)
{
	BOARD_ON_MAC_INTERRUPT();
	(void)INT_STATUS; /* reading clears it */
	counters[INTERRUPTS]++;
	INT_DISABLE = ON_RECEIVE;
	gem.pending = true;
}

bool mac_pending(void)
{
	return gem.pending;
}

static bool is_filled(void)
{
	return (rx_ring[gem.rx_next].address & RX_OURS) != 0;
}

/* The MAC found no free descriptor: it looks again when NET_CONTROL is written. */
static void restart_if_starved(void)
{
	if ((RX_STATUS & RX_NO_BUFFER) == 0)
		return;
	counters[RX_STARVATIONS]++;
	RX_STATUS = RX_NO_BUFFER;
	NET_CONTROL = gem.control;
}

/* The ring was found empty: unmask the interrupt. A frame that arrived while it was masked may leave no trace in the interrupt
 * status, so the ring is checked once more. A function of its own, so that the path of a frame saves no registers for it. */
static __attribute__((noinline)) bool came_meanwhile(void)
{
	uint32_t was;
	bool came;

	if (!gem.pending)
		return false;
	was = board_irq_off();
	(void)INT_STATUS;
	INT_ENABLE = ON_RECEIVE;
	restart_if_starved();
	came = is_filled();
	if (came)
		INT_DISABLE = ON_RECEIVE;
	else
		gem.pending = false;
	board_irq_on(was);
	return came;
}

size_t mac_receive(uint8_t **frame)
{
	while (is_filled() || came_meanwhile()) {
		uint32_t next = gem.rx_next, status = rx_ring[next].status, length = status & RX_LENGTH;

		/* A frame is one buffer. Parts of longer frames and buffers without a length are returned unread. */
		if ((status & (RX_START | RX_END)) == (RX_START | RX_END) && length - 1 < MAC_MOST_BYTES) {
			counters[RX_FRAMES]++;
			counters[RX_BYTES] += length;
			*frame = rx_buffers[next] + PAD;
			return length;
		}
		counters[MAC_ERRORS]++;
		mac_receive_done();
	}
	return 0;
}

void mac_receive_done(void)
{
	uint32_t next = gem.rx_next;

	gem.rx_next = (next + 1) % BOARD_RX_DESCRIPTORS;
	barrier();
	rx_ring[next].address &= ~RX_OURS;
}

/* In loopback an interrupt of this frame comes only after the capture point. */
static void start_sending(void)
{
	uint32_t was = board_irq_off();

	NET_CONTROL = gem.control | TX_START;
	BOARD_ON_MAC_STARTED();
	board_irq_on(was);
}

bool mac_send(const struct wl_piece *pieces, unsigned count)
{
	struct gem_descriptor *descriptor = &tx_ring[gem.tx_next];
	uint8_t *to = tx_buffers[gem.tx_next] + PAD;
	uint32_t length = 0, status = descriptor->status;

	BOARD_ON_SEND(pieces, count);
	if (!gem.link_up && (gem.control & LOOPBACK) == 0) {
		counters[TX_NO_LINK]++;
		return false;
	}
	if ((status & TX_OURS) == 0) {
		counters[TX_FULL]++;
		return false;
	}
	if (status & TX_ERRORS)
		counters[TX_FAILED]++;
	for (unsigned n = 0; n < count; n++) {
		if (pieces[n].count > MAC_MOST_BYTES - length) {
			counters[TX_TOO_LONG]++;
			return false;
		}
		memcpy(to + length, pieces[n].bytes, pieces[n].count);
		length += (uint32_t)pieces[n].count;
	}
	if (length < LEAST_BYTES) {
		memset(to + length, 0, LEAST_BYTES - length);
		length = LEAST_BYTES;
	}
	counters[TX_FRAMES]++;
	counters[TX_BYTES] += length;
	barrier();
	descriptor->status = length | TX_LAST | (status & TX_WRAP);
	gem.tx_next = (gem.tx_next + 1) % BOARD_TX_DESCRIPTORS;
	barrier();
	start_sending();
	return true;
}

void mac_loopback(bool on)
{
	uint32_t was = board_irq_off();

	NET_CONTROL = gem.control &= ~(RX_ENABLE | TX_ENABLE | LOOPBACK);
	if (on)
		gem.control |= LOOPBACK;
	start();
	gem.pending = true;
	board_irq_on(was);
}

static void follow(struct gem_link link)
{
	uint32_t config = NET_CONFIG & ~(SPEED_100 | SPEED_1000 | FULL_DUPLEX);
	/* The transmit clock is 125, 25 or 2.5 MHz out of the I/O PLL: 8 times 1, 5 or 50 (UG585, 25.6). */
	uint32_t second = link.bits_per_s == 1000000000u ? 1u : link.bits_per_s == 100000000u ? 5u : 50u;
	uint32_t first = BOARD_IO_PLL_HZ / 125000000u;

	if (link.bits_per_s == 1000000000u)
		config |= SPEED_1000;
	else if (link.bits_per_s == 100000000u)
		config |= SPEED_100;
	if (link.full_duplex)
		config |= FULL_DUPLEX;
	NET_CONFIG = config;
	SLCR_UNLOCK = SLCR_UNLOCK_KEY;
	SLCR_GEM0_CLOCK = second << 20 | first << 8 | 1u;
}

bool mac_link(void)
{
	struct gem_link link = gem_phy_link();

	if (link.up != gem.link_up)
		counters[LINK_CHANGES]++;
	if (link.up && (!gem.link_up || link.bits_per_s != gem.bits_per_s))
		follow(link);
	gem.link_up = link.up;
	gem.bits_per_s = link.bits_per_s;
	return link.up || (gem.control & LOOPBACK) != 0;
}

uint32_t mac_link_bits_per_s(void)
{
	return gem.bits_per_s;
}

/* The sum of a row of the MAC's counters since their last read, which clears them. */
static uint32_t take(uint32_t first, uint32_t last)
{
	uint32_t sum = 0;

	for (uint32_t offset = first; offset <= last; offset += 4)
		sum += GEM(offset);
	return sum;
}

bool mac_counter(uint32_t index, const char **name, uint64_t *value)
{
	uint32_t was;

	if (index >= COUNTERS)
		return false;
	*name = counter_names[index];
	if (index == MAC_ERRORS)
		counters[index] += take(RX_UNDERSIZE, RX_ALIGNMENT);
	else if (index == MAC_DROPPED)
		counters[index] += take(RX_RESOURCE, RX_OVERRUNS);
	/* The interrupt counts too, and 64 bits take two reads. */
	was = board_irq_off();
	*value = counters[index];
	board_irq_on(was);
	return true;
}
