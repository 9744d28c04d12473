/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The copy loops of the scenarios, as plain C. Their machine code decides the time of `copied`; copy-loop.sh shows it. They
 * have a file of their own, so that the code does not depend on its surroundings. */
#include "lpc1768.h"

/* These may point to data of any type. */
typedef uint16_t halfword __attribute__((may_alias));
typedef uint32_t word __attribute__((may_alias));

/* By halfwords, as in the board's driver by NXP and Keil. */
void board_copy_halfwords(uint8_t *to, const uint8_t *from, size_t count)
{
	const halfword *in = (const halfword *)(const void *)from, *end = in + (count + 1) / 2;
	halfword *out = (halfword *)(void *)to;

	while (in < end)
		*out++ = *in++;
}

/* The same through a pointer in memory, which is loaded and stored for each halfword: as in a driver whose place variable the
 * compiler does not keep in a register. */
void board_copy_pointer(uint8_t *to, const uint8_t *from, size_t count)
{
	static halfword *volatile place;
	const halfword *in = (const halfword *)(const void *)from, *end = in + (count + 1) / 2;

	place = (halfword *)(void *)to;
	while (in < end) {
		halfword *out = place;

		*out = *in++;
		place = out + 1;
	}
}

void board_copy_words(uint8_t *to, const uint8_t *from, size_t count)
{
	const word *in = (const word *)(const void *)from, *end = in + (count + 3) / 4;
	word *out = (word *)(void *)to;

	while (in < end)
		*out++ = *in++;
}
