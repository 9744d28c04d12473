/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies and comparisons by whole words: the core has no access to a word that is not aligned. The speed of memcpy() is part of
 * the node's figures.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint32_t)

static uint32_t place(const void *at)
{
	return (uint32_t)(uintptr_t)at % WORD;
}

/* Eight words a round: the loads go before the stores, so that none waits for the one before it. */
static void copy_words(uint32_t *to, const uint32_t *from, size_t words)
{
	for (; words >= 8; words -= 8, to += 8, from += 8) {
		uint32_t a = from[0], b = from[1], c = from[2], d = from[3];
		uint32_t e = from[4], f = from[5], g = from[6], h = from[7];

		to[0] = a;
		to[1] = b;
		to[2] = c;
		to[3] = d;
		to[4] = e;
		to[5] = f;
		to[6] = g;
		to[7] = h;
	}
	while (words-- > 0)
		*to++ = *from++;
}

/* Source and destination are aligned differently: each word joins parts of two. */
static void copy_shifted(uint32_t *to, const uint8_t *from, size_t words)
{
	unsigned right = 8 * place(from), left = 32 - right;
	const uint32_t *at = (const uint32_t *)(const void *)(from - place(from));
	uint32_t before = *at++;

	while (words-- > 0) {
		uint32_t next = *at++;

		*to++ = before >> right | next << left;
		before = next;
	}
}

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
	uint8_t *out = to;
	const uint8_t *in = from;
	size_t words;

	for (; count > 0 && place(out) != 0; count--)
		*out++ = *in++;
	words = count / WORD;
	if (place(in) == 0)
		copy_words((uint32_t *)(void *)out, (const uint32_t *)(const void *)in, words);
	else if (words > 0)
		copy_shifted((uint32_t *)(void *)out, in, words);
	out += WORD * words;
	in += WORD * words;
	for (count %= WORD; count > 0; count--)
		*out++ = *in++;
	return to;
}

void *memmove(void *to, const void *from, size_t count)
{
	uint8_t *out = to;
	const uint8_t *in = from;

	/* Copying forwards reads every word before it is overwritten. */
	if (out <= in || out >= in + count)
		return memcpy(to, from, count);
	while (count-- > 0)
		out[count] = in[count];
	return to;
}

void *memset(void *to, int byte, size_t count)
{
	uint8_t *out = to;
	uint32_t all = (uint8_t)byte * 0x01010101u, *at;

	for (; count > 0 && place(out) != 0; count--)
		*out++ = (uint8_t)byte;
	at = (uint32_t *)(void *)out;
	for (size_t words = count / WORD; words > 0; words--)
		*at++ = all;
	out = (uint8_t *)at;
	for (count %= WORD; count > 0; count--)
		*out++ = (uint8_t)byte;
	return to;
}

int memcmp(const void *one, const void *other, size_t count)
{
	const uint8_t *a = one, *b = other;

	if (place(a) == place(b)) {
		for (; count > 0 && place(a) != 0 && *a == *b; count--, a++, b++)
			;
		for (; place(a) == 0 && count >= WORD; count -= WORD, a += WORD, b += WORD)
			if (*(const uint32_t *)(const void *)a != *(const uint32_t *)(const void *)b)
				break;
	}
	for (; count > 0; count--, a++, b++)
		if (*a != *b)
			return *a - *b;
	return 0;
}

size_t strlen(const char *text)
{
	size_t count = 0;

	while (text[count])
		count++;
	return count;
}

int strncmp(const char *one, const char *other, size_t count)
{
	for (; count > 0; count--, one++, other++)
		if (*one != *other || *one == 0)
			return (uint8_t)*one - (uint8_t)*other;
	return 0;
}

int atoi(const char *text)
{
	int number = 0;

	while (*text >= '0' && *text <= '9')
		number = 10 * number + (*text++ - '0');
	return number;
}
