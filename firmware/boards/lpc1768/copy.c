/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The copy loops of the scenarios, as plain C; what the compiler makes of them decides what `copied` takes, so
 * copy-loop.sh shows it. In a file of their own, so that their code does not depend on what surrounds them. */
#include "lpc1768.h"

/* Bytes of any type lie behind these. */
typedef uint16_t halfword __attribute__((may_alias));
typedef uint32_t word __attribute__((may_alias));

/* By halfwords, as the driver does that NXP and Keil ship for the board. */
void board_copy_halfwords(uint8_t *to, const uint8_t *from, size_t count)
{
	const halfword *in = (const halfword *)(const void *)from, *end = in + (count + 1) / 2;
	halfword *out = (halfword *)(void *)to;

	while (in < end)
		*out++ = *in++;
}

/* The same through a pointer that lies in memory and is loaded and stored for each halfword, as it is where a driver
 * keeps its place in a variable and the compiler does not keep that in a register. */
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
