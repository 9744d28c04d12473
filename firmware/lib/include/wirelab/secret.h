/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers that a stranger cannot compute from others that he has received: a keyed one-way function of a counter. */
#ifndef WIRELAB_SECRET_H
#define WIRELAB_SECRET_H

#include <stddef.h>
#include <stdint.h>

/* The purpose of a number. Numbers of one purpose reveal nothing about those of another. */
enum wl_secret_use { WL_SECRET_SESSION, WL_SECRET_CONNECTION, WL_SECRET_KEY_LOW, WL_SECRET_KEY_HIGH };

/* All zero before the first wl_secret_stir(). */
struct wl_secret {
	uint64_t key[2];
	uint64_t count; /* of drawn numbers */
};

/* Only if WL_CONTROL_SECRET is not 0: SipHash-2-4 (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012) of `count`
 * bytes; the key's words are its 16 bytes read little-endian. */
uint64_t wl_siphash(const uint64_t key[2], const uint8_t *bytes, size_t count);

/* Mix a word into the key. The new key does not lead back to the old one. */
void wl_secret_stir(struct wl_secret *secret, uint64_t word);

/* The next number. */
uint32_t wl_secret_draw(struct wl_secret *secret, enum wl_secret_use use);

#endif
