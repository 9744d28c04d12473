/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sending with the LAN9118: the pieces of a frame go into its FIFO with any alignment, and the last word starts the MAC. */
#include <string.h>

#include "hooks.h"
#include "lan9118.h"

#define LEAST_BYTES 60u
#define LEAST_MIDDLE_BYTES 4u

static const uint32_t zeros[LEAST_BYTES / 4];

/* Words into the FIFO, eight at a time: all eight addresses write the same FIFO. */
static const uint32_t *write_words(const uint32_t *from, uint32_t words)
{
	volatile uint32_t *fifo = &TX_DATA;

	for (; words >= 8; words -= 8)
		__asm__ volatile("ldm %0!, {r4-r6, r8-r12}\n\tstm %1, {r4-r6, r8-r12}"
				 : "+r"(from)
				 : "r"(fifo)
				 : "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "memory");
	while (words-- > 0)
		*fifo = *from++;
	return from;
}

static void collect(uint32_t info)
{
	for (uint32_t statuses = STATUS_WORDS(info); statuses > 0; statuses--) {
		if (TX_STATUS & TX_BAD)
			counters[TX_FAILED]++;
	}
}

void lan9118_collect(void)
{
	collect(TX_INFO);
}

/* Whether the FIFO has space for so many words. Each frame collects the status of the previous one, so that no frame pays for
 * many. */
static bool has_room(uint32_t words)
{
	uint32_t info = TX_INFO;

	collect(info);
	return TX_FREE_BYTES(info) >= 4 * words;
}

/* The piece's two command words, and all except the last of the memory words that hold its bytes. */
static const uint32_t *write_piece(const struct wl_piece *piece, uint32_t place, uint32_t length)
{
	uint32_t offset = (uint32_t)(uintptr_t)piece->bytes & 3u;
	const uint32_t *from = (const uint32_t *)(const void *)((const uint8_t *)piece->bytes - offset);

	TX_DATA = TX_OFFSET_BYTES(offset) | place | (uint32_t)piece->count;
	TX_DATA = length;
	return write_words(from, (offset + (uint32_t)piece->count + 3) / 4 - 1);
}

/* The last word of the last piece. An interrupt of this frame comes only after the capture point. */
static void start(uint32_t last)
{
	uint32_t was = board_irq_off();

	TX_DATA = last;
	BOARD_ON_MAC_STARTED();
	board_irq_on(was);
}

static void write_frame(const struct wl_piece *pieces, unsigned count, uint32_t length, uint32_t padded)
{
	const struct wl_piece padding = { zeros, padded - length };
	const struct wl_piece *last = padded > length ? &padding : &pieces[count - 1];
	const struct wl_piece *end = padded > length ? &pieces[count] : last;
	uint32_t place = TX_FIRST;

	for (const struct wl_piece *piece = pieces; piece < end; piece++) {
		if (piece->count == 0)
			continue;
		TX_DATA = *write_piece(piece, place, padded);
		place = 0;
	}
	start(*write_piece(last, place | TX_LAST, padded));
}

/* Gathers a frame that the MAC does not take in pieces: middle pieces need at least a word (3.11.3). */
static struct wl_piece gather(const struct wl_piece *pieces, unsigned count, uint32_t length)
{
	static uint32_t whole[(MAC_MOST_BYTES + 3) / 4];
	uint8_t *to = (uint8_t *)whole;

	for (unsigned n = 0; n < count; to += pieces[n++].count)
		memcpy(to, pieces[n].bytes, pieces[n].count);
	return (struct wl_piece){ whole, length };
}

bool mac_send(const struct wl_piece *pieces, unsigned count)
{
	uint32_t length = 0, padded, words = 2 + LEAST_BYTES / 4;
	struct wl_piece gathered;
	bool small = false;

	BOARD_ON_SEND(pieces, count);
	while (count > 0 && pieces[count - 1].count == 0)
		count--;
	for (unsigned n = 0; n < count; n++) {
		if (pieces[n].count > MAC_MOST_BYTES - length) {
			counters[TX_TOO_LONG]++;
			return false;
		}
		length += (uint32_t)pieces[n].count;
		/* Two command words, and a partial word at either end. */
		words += 3 + (uint32_t)pieces[n].count / 4 + 1;
		small |= n > 0 && n + 1 < count && pieces[n].count < LEAST_MIDDLE_BYTES;
	}
	if (!lan9118.link_up && !lan9118.loopback) {
		counters[TX_NO_LINK]++;
		return false;
	}
	if (!has_room(words)) {
		counters[TX_FULL]++;
		return false;
	}
	padded = length < LEAST_BYTES ? LEAST_BYTES : length;
	if (small) {
		gathered = gather(pieces, count, length);
		pieces = &gathered;
		count = 1;
	}
	write_frame(pieces, count, length, padded);
	counters[TX_FRAMES]++;
	counters[TX_BYTES] += padded;
	return true;
}
