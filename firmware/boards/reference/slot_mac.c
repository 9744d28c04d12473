/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The slot MAC: two slots in each direction. The processor itself reads and writes each word, one access at a time.
 *
 * A frame begins with its slot, and in lwIP's buffers two bytes behind a word (ETH_PAD_SIZE), so that the headers of IP lie
 * on words: each copy shifts by half a word.
 */
#include "board.h"
#include "hooks.h"
#include "reference.h"
#include "wirelab/points.h"

#define RX_STATUS(slot) REGISTER(PLACE(slot_mac.rx_status) + 4 * (slot))
#define TX_LENGTH(slot) REGISTER(PLACE(slot_mac.tx_length) + 4 * (slot))
#define RX_SLOT(slot)                                                                                        \
	(&REGISTER(PLACE(slot_mac.rx_slot) + (PLACE(slot_mac.rx_slot[1]) - PLACE(slot_mac.rx_slot)) * (slot)))
#define TX_SLOT(slot)                                                                                        \
	(&REGISTER(PLACE(slot_mac.tx_slot) + (PLACE(slot_mac.tx_slot[1]) - PLACE(slot_mac.tx_slot)) * (slot)))

static uint32_t rx_next, tx_next;

void slot_start(void)
{
	NODE(slot_mac.control) = BITS(SLOT_MAC__CONTROL__ENABLE) | BITS(SLOT_MAC__CONTROL__IRQ_ENABLE);
}

static void take(uint32_t slot, uint32_t status)
{
	uint32_t length = VALUE(status, SLOT_MAC__RX_STATUSX__LENGTH);
	uint8_t *buffer;

	if (!mac_takes(length))
		return;
	buffer = receive_spare();
	if (buffer == 0)
		return;
	mac_read_frame((uint32_t *)(void *)buffer, RX_SLOT(slot), length);
	receive_queue(buffer, length, (status & BITS(SLOT_MAC__RX_STATUSX__WANTED)) != 0);
	WL_MARK(WL_RX_DRIVER);
}

/* One frame for each interrupt, which repeats while a slot is full: a look for a second frame would cost every frame an access
 * to the bus. */
void slot_interrupt(void)
{
	uint32_t slot = rx_next, status = RX_STATUS(slot);

	if ((status & BITS(SLOT_MAC__RX_STATUSX__FULL)) == 0)
		return;
	take(slot, status);
	NODE(slot_mac.rx_done) = 1u << slot;
	rx_next = slot ^ 1;
}

/* Bytes on their way into words of a slot, the first lowest. */
struct packer {
	volatile uint32_t *to;
	uint32_t word, bytes;
};

static void pack_byte(struct packer *p, uint8_t byte)
{
	p->word |= (uint32_t)byte << 8 * p->bytes++;
	if (p->bytes < 4)
		return;
	*p->to++ = p->word;
	p->word = 0;
	p->bytes = 0;
}

/* Aligned whole words, joined to the waiting bytes: lwIP's headers and data are aligned and follow two odd bytes. */
static const uint8_t *pack_words(struct packer *p, const uint8_t *from, size_t words)
{
	const uint32_t *at = (const uint32_t *)(const void *)from;
	unsigned left = 8 * p->bytes, right = 32 - left;
	uint32_t before = p->word;

	if (left == 0)
		for (; words > 0; words--)
			*p->to++ = *at++;
	for (; words >= 4; words -= 4, at += 4, p->to += 4) {
		uint32_t a = at[0], b = at[1], c = at[2], d = at[3];

		p->to[0] = before | a << left;
		p->to[1] = a >> right | b << left;
		p->to[2] = b >> right | c << left;
		p->to[3] = c >> right | d << left;
		before = d >> right;
	}
	for (; words > 0; words--, at++) {
		*p->to++ = before | *at << left;
		before = *at >> right;
	}
	p->word = before;
	return (const uint8_t *)at;
}

static void pack(struct packer *p, const uint8_t *from, size_t count)
{
	for (; count > 0 && (uintptr_t)from % 4 != 0; count--)
		pack_byte(p, *from++);
	from = pack_words(p, from, count / 4);
	for (count %= 4; count > 0; count--)
		pack_byte(p, *from++);
}

bool slot_send(const struct wl_piece *pieces, unsigned count, uint32_t length)
{
	uint32_t slot = tx_next;
	struct packer packer = { .to = TX_SLOT(slot) };

	if (NODE(slot_mac.tx_status) & 1u << slot)
		return false;
	WL_MARK(WL_TX_DRIVER);
	for (unsigned n = 0; n < count; n++)
		pack(&packer, pieces[n].bytes, pieces[n].count);
	if (packer.bytes > 0)
		*packer.to = packer.word;
	TX_LENGTH(slot) = length;
	WL_MARK(WL_TX_MAC);
	NODE(slot_mac.tx_go) = 1u << slot;
	tx_next = slot ^ 1;
	return true;
}
