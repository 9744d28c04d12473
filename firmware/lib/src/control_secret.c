/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SipHash-2-4 and the numbers from it. Without a table, because it draws only a few numbers a second. */
#include "wirelab/secret.h"

#include "wirelab/options.h"

#if WL_CONTROL_SECRET

static uint64_t rotated(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static void rounds(uint64_t v[4], unsigned count)
{
	while (count-- > 0) {
		v[0] += v[1];
		v[1] = rotated(v[1], 13) ^ v[0];
		v[0] = rotated(v[0], 32);
		v[2] += v[3];
		v[3] = rotated(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotated(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotated(v[1], 17) ^ v[2];
		v[2] = rotated(v[2], 32);
	}
}

static void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

uint64_t wl_siphash(const uint64_t key[2], const uint8_t *bytes, size_t count)
{
	uint64_t v[4] = { key[0] ^ 0x736F6D6570736575u, key[1] ^ 0x646F72616E646F6Du,
			  key[0] ^ 0x6C7967656E657261u, key[1] ^ 0x7465646279746573u };
	uint64_t word = 0;

	for (size_t n = 0; n < count; n++) {
		word |= (uint64_t)bytes[n] << 8 * (n % 8);
		if (n % 8 == 7) {
			absorb(v, word);
			word = 0;
		}
	}
	absorb(v, word | (uint64_t)count << 56);
	v[2] ^= 0xFF;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The function of a word and of its purpose. */
static uint64_t derived(const struct wl_secret *secret, uint64_t word, enum wl_secret_use use)
{
	uint8_t bytes[9];

	for (unsigned n = 0; n < 8; n++)
		bytes[n] = (uint8_t)(word >> 8 * n);
	bytes[8] = (uint8_t)use;
	return wl_siphash(secret->key, bytes, sizeof bytes);
}

void wl_secret_stir(struct wl_secret *secret, uint64_t word)
{
	uint64_t low = derived(secret, word, WL_SECRET_KEY_LOW);

	secret->key[1] = derived(secret, word, WL_SECRET_KEY_HIGH);
	secret->key[0] = low;
}

uint32_t wl_secret_draw(struct wl_secret *secret, enum wl_secret_use use)
{
	/* Half of the result is not revealed. */
	return (uint32_t)derived(secret, secret->count++, use);
}

#else /* A number only has to differ each time, and after a restart. */

#define ODD 0x9E3779B97F4A7C15u /* 2^64 divided by the golden ratio: neighbours end up far apart */

void wl_secret_stir(struct wl_secret *secret, uint64_t word)
{
	secret->key[0] = (secret->key[0] ^ word) * ODD;
}

uint32_t wl_secret_draw(struct wl_secret *secret, enum wl_secret_use use)
{
	(void)use;
	return (uint32_t)((secret->key[0] + secret->count++) * ODD >> 32);
}

#endif
