/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Receiving with the LAN9118: its interrupt moves frames word by word out of the FIFO into a ring of buffers.
 *
 * The FIFO holds seven large frames, so the interrupt empties it at once and does not wait for the main loop. When the ring is
 * full, the interrupt stays off until half of the ring is free: an overloaded node still runs its main loop, and the MAC drops
 * and counts the excess.
 */
#include "board_config.h"
#include "hooks.h"
#include "lan9118.h"

#define BUFFER_WORDS 384u
#define PAD 2u /* in front of each frame */
#define WANTED (ON_RX_STATUS | ON_RX_DROPPED | ON_RX_ERROR)
#define ETHERNET_HEADER_BYTES 14u

struct buffer {
	uint32_t words[BUFFER_WORDS];
};

_Static_assert(PAD + MAC_MOST_BYTES + FCS_BYTES <= sizeof(struct buffer), "a buffer holds the largest frame");

static struct buffer buffers[BOARD_RX_BUFFERS];
static uint16_t lengths[BOARD_RX_BUFFERS];

/* Free-running counts; the interrupt writes `in`, the main loop `out`. */
static struct {
	volatile uint32_t in, out;
	volatile bool stalled; /* the ring was full: the interrupt is off */
	volatile bool damaged; /* the FIFO has to be dumped: the interrupt is off */
} ring;

/* Words out of the FIFO, eight at a time: all eight addresses read the same FIFO. */
static void read_words(uint32_t *to, uint32_t words)
{
	const volatile uint32_t *fifo = &RX_DATA;

	for (; words >= 8; words -= 8)
		__asm__ volatile("ldm %1, {r4-r6, r8-r12}\n\tstm %0!, {r4-r6, r8-r12}"
				 : "+r"(to)
				 : "r"(fifo)
				 : "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "memory");
	while (words-- > 0)
		*to++ = *fifo;
}

static void skip_words(uint32_t words)
{
	while (words-- > 0)
		(void)RX_DATA;
}

static void count_error(uint32_t status, uint32_t length)
{
	counters[RX_ERRORS]++;
	if (status & RX_CRC)
		counters[RX_CRC_ERRORS]++;
	if ((status & RX_RUNT) || length < ETHERNET_HEADER_BYTES)
		counters[RX_RUNTS]++;
	if ((status & RX_TOO_LONG) || (length > MAC_MOST_BYTES && length <= UINT16_MAX))
		counters[RX_OVERSIZED]++;
}

/* One frame, for which the MAC reported this status. */
static void take(uint32_t status)
{
	uint32_t bytes = RX_LENGTH(status), words = (PAD + bytes + 3) / 4;
	/* A frame shorter than its FCS wraps to a length that no frame has. */
	uint32_t length = bytes - FCS_BYTES, slot = ring.in % BOARD_RX_BUFFERS;

	if ((status & RX_BAD) || length - ETHERNET_HEADER_BYTES > MAC_MOST_BYTES - ETHERNET_HEADER_BYTES) {
		count_error(status, bytes < FCS_BYTES ? 0 : length);
		skip_words(words);
		return;
	}
	read_words(buffers[slot].words, words);
	lengths[slot] = (uint16_t)length;
	counters[RX_FRAMES]++;
	counters[RX_BYTES] += length;
	ring.in = ring.in + 1;
}

static void empty_fifo(void)
{
	while (STATUS_WORDS(RX_INFO) > 0) {
		if (ring.in - ring.out == BOARD_RX_BUFFERS) {
			INT_ENABLE = WANTED & ~ON_RX_STATUS;
			ring.stalled = true;
			counters[RX_RING_FULL]++;
			return;
		}
		take(RX_STATUS);
	}
}

void lan9118_interrupt(void)
{
	uint32_t status;

	BOARD_ON_MAC_INTERRUPT();
	status = INT_STATUS;
	INT_STATUS = status;
	counters[INTERRUPTS]++;
	if (status & ON_RX_ERROR) {
		INT_ENABLE = 0;
		ring.damaged = true;
	} else if (!ring.stalled) {
		empty_fifo();
	}
}

void lan9118_receive_stop(void)
{
	INT_ENABLE = 0;
	lan9118_set_csr(MAC_CONTROL, lan9118_csr(MAC_CONTROL) & ~MAC_RX_ENABLE);
}

void lan9118_receive_start(void)
{
	RX_CONFIG = RX_DUMP | RX_OFFSET_BYTES(PAD);
	/* It takes at most 40 ns for each word of the FIFO. */
	for (unsigned tries = 0; tries < 10000 && (RX_CONFIG & RX_DUMP) != 0; tries++)
		;
	ring.in = ring.out;
	ring.stalled = false;
	ring.damaged = false;
	INT_STATUS = 0xFFFFFFFFu;
	lan9118_set_csr(MAC_CONTROL, lan9118_csr(MAC_CONTROL) | MAC_RX_ENABLE);
	INT_ENABLE = WANTED;
}

bool mac_pending(void)
{
	return ring.in != ring.out || ring.damaged;
}

static void recover(void)
{
	uint32_t was = board_irq_off();

	lan9118_receive_stop();
	lan9118_receive_start();
	counters[RX_RECOVERIES]++;
	board_irq_on(was);
}

size_t mac_receive(uint8_t **frame)
{
	uint32_t slot = ring.out % BOARD_RX_BUFFERS;

	if (ring.in == ring.out) {
		if (ring.damaged)
			recover();
		return 0;
	}
	*frame = (uint8_t *)buffers[slot].words + PAD;
	return lengths[slot];
}

void mac_receive_done(void)
{
	uint32_t was;

	ring.out = ring.out + 1;
	if (!ring.stalled || ring.in - ring.out > BOARD_RX_BUFFERS / 2)
		return;
	was = board_irq_off();
	ring.stalled = false;
	INT_STATUS = ON_RX_STATUS;
	INT_ENABLE = WANTED;
	empty_fifo();
	board_irq_on(was);
}
