/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A test program in the Test Anything Protocol: tests are functions, CHECK says what must hold. */
#ifndef WIRELAB_TAP_H
#define WIRELAB_TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool tap_good;
static int tap_number, tap_failed;

#define CHECK(condition) tap_check((condition), #condition, __FILE__, __LINE__)
#define EQUAL(one, other) tap_equal((uint64_t)(one), (uint64_t)(other), #one, __FILE__, __LINE__)

static inline bool tap_check(bool good, const char *what, const char *file, int line)
{
	if (!good) {
		tap_good = false;
		printf("# %s:%d: not so: %s\n", file, line, what);
	}
	return good;
}

static inline void tap_equal(uint64_t one, uint64_t other, const char *what, const char *file, int line)
{
	if (one == other)
		return;
	tap_good = false;
	printf("# %s:%d: %s is %llu, not %llu\n", file, line, what, (unsigned long long)one,
	       (unsigned long long)other);
}

static inline void tap_run(const char *name, void (*test)(void))
{
	tap_good = true;
	test();
	tap_failed += !tap_good;
	printf("%sok %d - %s\n", tap_good ? "" : "not ", ++tap_number, name);
	fflush(stdout);
}

#define RUN(test) tap_run(#test, test)

static inline int tap_end(void)
{
	printf("1..%d\n", tap_number);
	return tap_failed > 0;
}

/* Converts hexadecimal text to bytes; returns their number. */
static inline size_t tap_hex(const char *text, uint8_t *out, size_t room)
{
	size_t count = 0;
	unsigned byte;

	for (; count < room && sscanf(text, "%2x", &byte) == 1; text += 2)
		out[count++] = (uint8_t)byte;
	return count;
}

/* A number below `below`; each run has the same sequence. */
static inline uint32_t random_below(uint32_t below)
{
	static uint64_t state = 88172645463325252u;

	/* xorshift64 (Marsaglia 2003) */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 11) % below;
}

#endif
