/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reference node's own memcpy() and the like, on the host, for every alignment of both sides. */
#include "tap.h"

#include <stdint.h>

/* The host has functions of these names too. */
#define memcpy own_memcpy
#define memmove own_memmove
#define memset own_memset
#define memcmp own_memcmp
#define strlen own_strlen
#define strncmp own_strncmp
#define atoi own_atoi
void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *one, const void *other, size_t count);
size_t strlen(const char *text);
int strncmp(const char *one, const char *other, size_t count);
int atoi(const char *text);
#include "../reference/memory.c"

#define MOST 150
#define GUARD 8

static uint8_t from[MOST + 4 * GUARD] __attribute__((aligned(4)));
static uint8_t to[MOST + 4 * GUARD] __attribute__((aligned(4)));

static void fill(void)
{
	for (unsigned n = 0; n < sizeof from; n++) {
		from[n] = (uint8_t)(37 * n + 11);
		to[n] = 0xEE;
	}
}

/* Whether `count` bytes at to + offset are those at `bytes`, and their neighbours are untouched. */
static bool is_copy(unsigned offset, const uint8_t *bytes, unsigned count)
{
	for (unsigned n = 0; n < sizeof to; n++) {
		bool inside = n >= offset && n < offset + count;

		if (to[n] != (inside ? bytes[n - offset] : 0xEE))
			return false;
	}
	return true;
}

static void every_place_and_length_is_copied(void)
{
	for (unsigned there = GUARD; there < GUARD + 4; there++)
		for (unsigned here = GUARD; here < GUARD + 4; here++)
			for (unsigned count = 0; count <= MOST; count++) {
				fill();
				CHECK(memcpy(to + there, from + here, count) == to + there);
				CHECK(is_copy(there, from + here, count));
			}
}

static void what_overlaps_is_moved_whole(void)
{
	static uint8_t expected[MOST];

	for (unsigned there = GUARD; there < GUARD + 8; there++)
		for (unsigned here = GUARD; here < GUARD + 8; here++)
			for (unsigned count = 0; count <= 100; count++) {
				fill();
				for (unsigned n = 0; n < count; n++)
					expected[n] = from[here + n];
				memmove(from + there, from + here, count);
				EQUAL(memcmp(from + there, expected, count), 0);
			}
}

static void every_place_and_length_is_set(void)
{
	static uint8_t same[MOST];

	for (unsigned n = 0; n < MOST; n++)
		same[n] = 0xA5;
	for (unsigned there = GUARD; there < GUARD + 4; there++)
		for (unsigned count = 0; count <= MOST; count++) {
			fill();
			CHECK(memset(to + there, 0x1A5, count) == to + there);
			CHECK(is_copy(there, same, count));
		}
}

static void the_first_difference_decides(void)
{
	for (unsigned there = GUARD; there < GUARD + 4; there++)
		for (unsigned here = GUARD; here < GUARD + 4; here++)
			for (unsigned at = 0; at < 40; at++) {
				fill();
				memcpy(to + there, from + here, 40);
				EQUAL(memcmp(to + there, from + here, 40), 0);
				to[there + at] ^= 0x80;
				CHECK((memcmp(to + there, from + here, 40) > 0) ==
				      (to[there + at] > from[here + at]));
				CHECK(memcmp(to + there, from + here, 40) != 0);
				EQUAL(memcmp(to + there, from + here, at), 0);
			}
}

static void texts_and_numbers(void)
{
	EQUAL(strlen(""), 0);
	EQUAL(strlen("en0"), 3);
	CHECK(strncmp("en0", "en1", 3) < 0 && strncmp("en1", "en0", 3) > 0);
	EQUAL(strncmp("en0", "en1", 2), 0);
	EQUAL(strncmp("en", "en", 9), 0);
	CHECK(strncmp("e", "en", 9) < 0);
	EQUAL(atoi("105x"), 105);
	EQUAL(atoi("x"), 0);
}

int main(void)
{
	RUN(every_place_and_length_is_copied);
	RUN(what_overlaps_is_moved_whole);
	RUN(every_place_and_length_is_set);
	RUN(the_first_difference_decides);
	RUN(texts_and_numbers);
	return tap_end();
}
