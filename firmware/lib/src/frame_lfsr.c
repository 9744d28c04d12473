/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The LFSR payload: one canonical stream of 32-bit words, x^32+x^7+x^6+x^2+1 in Galois form (spec/test-frame.md). */
#include "wirelab/frame.h"

#include "bytes.h"

#define CHECKPOINT_WORDS 64

/* The feedback of eight steps by the byte that leaves at the top; 16 bits, because the polynomial ends at x^7. */
/* clang-format off */
static const uint16_t leap8[256] = {
	0x0000, 0x00C5, 0x018A, 0x014F, 0x0314, 0x03D1, 0x029E, 0x025B, 0x0628, 0x06ED, 0x07A2, 0x0767,
	0x053C, 0x05F9, 0x04B6, 0x0473, 0x0C50, 0x0C95, 0x0DDA, 0x0D1F, 0x0F44, 0x0F81, 0x0ECE, 0x0E0B,
	0x0A78, 0x0ABD, 0x0BF2, 0x0B37, 0x096C, 0x09A9, 0x08E6, 0x0823, 0x18A0, 0x1865, 0x192A, 0x19EF,
	0x1BB4, 0x1B71, 0x1A3E, 0x1AFB, 0x1E88, 0x1E4D, 0x1F02, 0x1FC7, 0x1D9C, 0x1D59, 0x1C16, 0x1CD3,
	0x14F0, 0x1435, 0x157A, 0x15BF, 0x17E4, 0x1721, 0x166E, 0x16AB, 0x12D8, 0x121D, 0x1352, 0x1397,
	0x11CC, 0x1109, 0x1046, 0x1083, 0x3140, 0x3185, 0x30CA, 0x300F, 0x3254, 0x3291, 0x33DE, 0x331B,
	0x3768, 0x37AD, 0x36E2, 0x3627, 0x347C, 0x34B9, 0x35F6, 0x3533, 0x3D10, 0x3DD5, 0x3C9A, 0x3C5F,
	0x3E04, 0x3EC1, 0x3F8E, 0x3F4B, 0x3B38, 0x3BFD, 0x3AB2, 0x3A77, 0x382C, 0x38E9, 0x39A6, 0x3963,
	0x29E0, 0x2925, 0x286A, 0x28AF, 0x2AF4, 0x2A31, 0x2B7E, 0x2BBB, 0x2FC8, 0x2F0D, 0x2E42, 0x2E87,
	0x2CDC, 0x2C19, 0x2D56, 0x2D93, 0x25B0, 0x2575, 0x243A, 0x24FF, 0x26A4, 0x2661, 0x272E, 0x27EB,
	0x2398, 0x235D, 0x2212, 0x22D7, 0x208C, 0x2049, 0x2106, 0x21C3, 0x6280, 0x6245, 0x630A, 0x63CF,
	0x6194, 0x6151, 0x601E, 0x60DB, 0x64A8, 0x646D, 0x6522, 0x65E7, 0x67BC, 0x6779, 0x6636, 0x66F3,
	0x6ED0, 0x6E15, 0x6F5A, 0x6F9F, 0x6DC4, 0x6D01, 0x6C4E, 0x6C8B, 0x68F8, 0x683D, 0x6972, 0x69B7,
	0x6BEC, 0x6B29, 0x6A66, 0x6AA3, 0x7A20, 0x7AE5, 0x7BAA, 0x7B6F, 0x7934, 0x79F1, 0x78BE, 0x787B,
	0x7C08, 0x7CCD, 0x7D82, 0x7D47, 0x7F1C, 0x7FD9, 0x7E96, 0x7E53, 0x7670, 0x76B5, 0x77FA, 0x773F,
	0x7564, 0x75A1, 0x74EE, 0x742B, 0x7058, 0x709D, 0x71D2, 0x7117, 0x734C, 0x7389, 0x72C6, 0x7203,
	0x53C0, 0x5305, 0x524A, 0x528F, 0x50D4, 0x5011, 0x515E, 0x519B, 0x55E8, 0x552D, 0x5462, 0x54A7,
	0x56FC, 0x5639, 0x5776, 0x57B3, 0x5F90, 0x5F55, 0x5E1A, 0x5EDF, 0x5C84, 0x5C41, 0x5D0E, 0x5DCB,
	0x59B8, 0x597D, 0x5832, 0x58F7, 0x5AAC, 0x5A69, 0x5B26, 0x5BE3, 0x4B60, 0x4BA5, 0x4AEA, 0x4A2F,
	0x4874, 0x48B1, 0x49FE, 0x493B, 0x4D48, 0x4D8D, 0x4CC2, 0x4C07, 0x4E5C, 0x4E99, 0x4FD6, 0x4F13,
	0x4730, 0x47F5, 0x46BA, 0x467F, 0x4424, 0x44E1, 0x45AE, 0x456B, 0x4118, 0x41DD, 0x4092, 0x4057,
	0x420C, 0x42C9, 0x4386, 0x4343,
};

/* Every 64th of the 4,096 start words, so that each is at most 63 words behind a known one. */
static const uint32_t checkpoints[WL_START_WORDS / CHECKPOINT_WORDS] = {
	0xFFFFFFFF, 0xDB31716F, 0x7AAC0F21, 0x6DA2746C, 0x8D7E6F96, 0x714F73E2, 0x7F1C9A5F, 0x188E6BF5,
	0xEFF32E47, 0x0E6A5F47, 0xF0AAA931, 0x2B96E574, 0x83EFBE8C, 0xA201AACF, 0x0800D469, 0x654B28B3,
	0x543BC4F0, 0x66835F6A, 0x69339144, 0x5CE9EAA2, 0x4DA3D975, 0x92812696, 0xE8494A55, 0x4DBDC92E,
	0xB9689507, 0x3FA50F26, 0x90B47C3A, 0x1D61CB0A, 0x0A1E1F06, 0x5213FC02, 0x51C748C8, 0x2BC321DA,
	0xE2C10174, 0x41EE40B1, 0x164B11B7, 0xE22DF1F8, 0x295EB98C, 0xC1B843EF, 0xB101A05B, 0xBCE54A14,
	0x72127BAC, 0x148C5670, 0x41FD8C27, 0x86278195, 0xBE351103, 0xD600B1AB, 0x8319EF7A, 0x79001B1A,
	0x98FCD6CF, 0xCEBFE9E1, 0xA25DD210, 0x6179BF28, 0x283F2410, 0xC8433BB4, 0x092C3C56, 0x71CC72C2,
	0x53D8802F, 0xEBC6E482, 0x398522F9, 0x18D7660E, 0xAFBFB781, 0xB2A395AC, 0x5BE0B3DF, 0x1A9482DF,
};
/* clang-format on */

/* The word after `x`: 32 steps further. */
static inline uint32_t next_word(uint32_t x)
{
	x = (x << 8) ^ leap8[x >> 24];
	x = (x << 8) ^ leap8[x >> 24];
	x = (x << 8) ^ leap8[x >> 24];
	return (x << 8) ^ leap8[x >> 24];
}

static uint32_t start_word(uint32_t sequence)
{
	uint32_t at = sequence % WL_START_WORDS;
	uint32_t x = checkpoints[at / CHECKPOINT_WORDS];

	for (at %= CHECKPOINT_WORDS; at > 0; at--)
		x = next_word(x);
	return x;
}

#if WL_LFSR_WINDOW

static uint8_t window[WL_WINDOW_BYTES];

void wl_lfsr_init(void)
{
	uint32_t x = checkpoints[0];

	for (size_t at = 0; at < WL_WINDOW_BYTES; at += 4, x = next_word(x))
		wl_put32(window + at, x);
}

void wl_lfsr_fill(uint32_t sequence, uint8_t *out, size_t count)
{
	if (count <= WL_LFSR_MAX_BYTES)
		memcpy(out, window + 4 * (sequence % WL_START_WORDS), count);
}

/* By words: small C libraries do so only if both sides are aligned, and behind UDP headers one is not. A hosted library is
 * better. */
static bool same(const uint8_t *one, const uint8_t *other, size_t count)
{
#if !__STDC_HOSTED__
	for (; count >= 16; count -= 16, one += 16, other += 16) {
		uint32_t differ = wl_word(one) ^ wl_word(other);

		differ |= wl_word(one + 4) ^ wl_word(other + 4);
		differ |= wl_word(one + 8) ^ wl_word(other + 8);
		differ |= wl_word(one + 12) ^ wl_word(other + 12);
		if (differ != 0)
			return false;
	}
#endif
	return memcmp(one, other, count) == 0;
}

bool wl_lfsr_matches(uint32_t sequence, const uint8_t *bytes, size_t count)
{
	return count <= WL_LFSR_MAX_BYTES && same(window + 4 * (sequence % WL_START_WORDS), bytes, count);
}

#else

void wl_lfsr_init(void)
{
}

void wl_lfsr_fill(uint32_t sequence, uint8_t *out, size_t count)
{
	uint32_t x = start_word(sequence);

	if (count > WL_LFSR_MAX_BYTES)
		return;
	for (; count >= 4; count -= 4, out += 4, x = next_word(x))
		wl_put32(out, x);
	for (; count > 0; count--, x <<= 8)
		*out++ = (uint8_t)(x >> 24);
}

#ifdef WL_LFSR_READY

/* By words, which small C libraries do not do. */
static bool same(const uint8_t *one, const uint8_t *other, size_t count)
{
	for (; count >= 4; count -= 4, one += 4, other += 4)
		if (wl_be32(one) != wl_be32(other))
			return false;
	return memcmp(one, other, count) == 0;
}

#endif

bool wl_lfsr_matches(uint32_t sequence, const uint8_t *bytes, size_t count)
{
	uint32_t x;

	if (count > WL_LFSR_MAX_BYTES)
		return false;
#ifdef WL_LFSR_READY
	const uint8_t *ready = WL_LFSR_READY(sequence);

	if (ready != 0)
		return same(ready, bytes, count);
#endif
	x = start_word(sequence);
	for (; count >= 4; count -= 4, bytes += 4, x = next_word(x))
		if (wl_be32(bytes) != x)
			return false;
	for (; count > 0; count--, x <<= 8)
		if (*bytes++ != (uint8_t)(x >> 24))
			return false;
	return true;
}

#endif

int wl_lfsr_find(const uint8_t *bytes, size_t count)
{
	uint32_t x = start_word(0);

	if (count < 4 || count > WL_LFSR_MAX_BYTES)
		return -1;
	/* The start words are distinct, so the first word names the only candidate. */
	for (uint32_t at = 0; at < WL_START_WORDS; at++, x = next_word(x))
		if (wl_be32(bytes) == x)
			return wl_lfsr_matches(at, bytes, count) ? (int)at : -1;
	return -1;
}
