/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Big-endian access to unaligned bytes, and the four memory functions that even freestanding C needs. */
#ifndef WIRELAB_BYTES_H
#define WIRELAB_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* GCC and Clang call these themselves, so every platform has them, with <string.h> or without. */
void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *one, const void *other, size_t count);

/* Four bytes in the machine's own order. The builtin, because a freestanding memcpy is a call. */
static inline uint32_t wl_word(const uint8_t *at)
{
	uint32_t value;

#ifdef __GNUC__
	__builtin_memcpy(&value, at, sizeof value);
#else
	memcpy(&value, at, sizeof value);
#endif
	return value;
}

static inline uint16_t wl_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t wl_be32(const uint8_t *at)
{
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* GCC finds two loads of a half each only when optimizing for speed; this is also shorter. */
	return __builtin_bswap32(wl_word(at));
#else
	return (uint32_t)wl_be16(at) << 16 | wl_be16(at + 2);
#endif
}

static inline void wl_put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static inline void wl_put32(uint8_t *at, uint32_t value)
{
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* GCC makes one store of it only when optimizing for speed; this is also shorter. The builtin, because a freestanding
	 * memcpy is a call. */
	value = __builtin_bswap32(value);
	__builtin_memcpy(at, &value, sizeof value);
#else
	wl_put16(at, (uint16_t)(value >> 16));
	wl_put16(at + 2, (uint16_t)value);
#endif
}

#endif
