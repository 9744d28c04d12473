/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layouts of iperf 2: a client header follows the head of a datagram, and comes first over TCP.
 *
 *  0  flags                  12  length, 0: default       24  type, length    44  type of service
 *  4  streams                16  window or rate (2.0.5)   32  upper flags     48  rate, low word
 *  8  port of -r and -d      20  amount                   36  version         52  rate, high word << 8
 *
 * The extension of 2.0.13 and later begins at 24: 36 bytes in 2.1, and in 2.2 four more that are not read.
 */
#include "iperf_wire.h"

#define VERSION1 0x80000000u
#define EXTEND 0x40000000u
#define UDP_TESTS 0x20000000u
#define IDS_64 0x08000000u
#define VERSION2 0x04000000u
#define WANTS_ACK 0x02000000u
#define BOUNCEBACK 0x00800000u
#define HAS_LENGTH 0x00010000u
#define LENGTH_MASK 0x000001FEu
#define RUN_NOW 0x00000001u
#define UPPER_NO_FINAL 0x0008u
#define UPPER_PACKETS 0x0080u
#define UPPER_REVERSE 0x0400u
#define UPPER_FULL_DUPLEX 0x0800u
/* 2.2 keeps an identification above the number of streams. */
#define STREAMS_MASK 0x000FFFFFu
/* The filling at offset 16: no flags, although some bits are set. */
#define FILLING_AT_16 0x36373839u
/* The upper half of the version of 2.0.10 to 2.0.13. */
#define VERSION_2_0 0x00020000u
/* The version sent to peers: 2.1.8, whose layout is used. */
#define VERSION_UPPER 0x00020001u
#define VERSION_LOWER 0x00080003u

static bool plausible(uint32_t streams, uint32_t port, uint32_t most)
{
	return (streams & STREAMS_MASK) - 1 < most && port - 1 < 65535;
}

unsigned wl_iperf_layout(const uint8_t *bytes, size_t have)
{
	unsigned layout = LAYOUT_HEADER;
	uint32_t before, mark;
	bool extends;

	if (have < WIDE_BYTES + 4)
		return 0;
	before = wl_be32(bytes + 12);
	mark = wl_be32(bytes + 16);
	/* No first datagram has a number beyond 32 bits, so the high word is the sign. */
	extends = before == ((bytes[0] & 0x80) != 0 ? UINT32_MAX : 0);
	if (extends && (mark == FILLING_AT_16 || mark >> 16 == 2))
		return LAYOUT_WIDE;
	/* But 2.0.13 sets it only after a datagram with only the header, which precedes the data of -r and -d. */
	if ((mark & IDS_64) != 0 &&
	    (extends || (have >= 56 && before == FILLING_AT_12 && wl_be32(bytes + 52) == VERSION_2_0)))
		return LAYOUT_WIDE | LAYOUT_HEADER;
	/* 2.0.10 to 2.0.12 do not write the word before, and their flags are 0 without a request. */
	if (mark == 0 && before == FILLING_AT_12)
		return LAYOUT_FLAGGED;
	if ((before & VERSION1) == 0) {
		bytes += 4;
		have -= 4;
		layout = LAYOUT_FLAGGED | LAYOUT_HEADER;
	}
	/* The payload of a 12-byte head may be anything, so a header counts only if all of its fields are valid. */
	if (have >= NARROW_BYTES + V1_BYTES && (wl_be32(bytes + 12) & (VERSION1 | IDS_64)) == VERSION1 &&
	    plausible(wl_be32(bytes + 16), wl_be32(bytes + 20), 128))
		return layout;
	return 0;
}

size_t wl_iperf_header_bytes(uint32_t first)
{
	uint32_t said = (first & LENGTH_MASK) >> 1;

	if ((first & BOUNCEBACK) != 0 || (first & (VERSION1 | EXTEND)) == 0)
		return 0;
	if ((first & HAS_LENGTH) == 0 || said < V1_BYTES)
		return V1_BYTES;
	return said < HEADER_BYTES ? said : HEADER_BYTES;
}

static uint8_t mode_of(uint32_t flags, uint32_t upper)
{
	if ((flags & VERSION2) != 0) {
		upper &= UPPER_REVERSE | UPPER_FULL_DUPLEX;
		return upper == 0		? WL_IPERF_FORWARD
		       : upper == UPPER_REVERSE ? WL_IPERF_REVERSE
						: WL_IPERF_FULL_DUPLEX;
	}
	if ((flags & VERSION1) == 0)
		return WL_IPERF_FORWARD;
	return (flags & RUN_NOW) != 0 ? WL_IPERF_DUAL : WL_IPERF_TRADEOFF;
}

bool wl_iperf_header_read(const uint8_t *bytes, size_t have, struct wl_iperf_ask *ask)
{
	uint32_t flags, amount, length, rate, upper = 0;

	if (have < V1_BYTES)
		return false;
	flags = wl_be32(bytes);
	if (wl_iperf_header_bytes(flags) == 0 || !plausible(wl_be32(bytes + 4), wl_be32(bytes + 8), 65535))
		return false;
	length = wl_be32(bytes + 12);
	amount = wl_be32(bytes + 20);
	ask->wants_ack = (flags & WANTS_ACK) != 0;
	ask->port = wl_be16(bytes + 10);
	ask->length_bytes = length > UINT16_MAX ? UINT16_MAX : (uint16_t)length;
	/* Some nodes send 0 for the default of 10 s. */
	ask->time_cs = amount == 0 ? 1000 : amount > INT32_MAX ? 0 - amount : WL_IPERF_BACK_S * 100;
	ask->bytes = amount;
	rate = wl_be32(bytes + 16);
	if ((flags & EXTEND) != 0) {
		/* A client with short datagrams cuts the end off. */
		if (have >= V1_BYTES + 12)
			upper = wl_be16(bytes + 32);
		/* 2.0.10 to 2.0.13 do not write the high word. */
		if (have < 56)
			rate = 0;
		else if (wl_be32(bytes + 52) >> 8 != 0 && wl_be16(bytes + 38) != 0)
			rate = UINT32_MAX;
		else
			rate = wl_be32(bytes + 48);
		if ((upper & UPPER_PACKETS) != 0) {
			uint32_t bits = (ask->length_bytes ? ask->length_bytes : 1470u) * 8;

			rate = rate > UINT32_MAX / bits ? UINT32_MAX : rate * bits;
		}
	}
	ask->bits_per_s = rate;
	ask->mode = mode_of(flags, upper);
	return true;
}

static void put_words(uint8_t *out, const uint32_t *words, size_t count)
{
	for (; count > 0; count--, out += 4)
		wl_put32(out, *words++);
}

void wl_iperf_header_write(const struct wl_iperf_ask *ask, bool udp, uint32_t streams, uint8_t *out)
{
	uint32_t flags = EXTEND | HAS_LENGTH | HEADER_BYTES << 1, upper = 0;

	if (udp)
		flags += IDS_64 | WIDE_BYTES << 1;
	if (ask->mode >= WL_IPERF_REVERSE) {
		flags |= VERSION2;
		upper = ask->mode == WL_IPERF_REVERSE ? UPPER_REVERSE : UPPER_FULL_DUPLEX;
		if (udp) {
			flags |= UDP_TESTS;
			if (ask->mode != WL_IPERF_REVERSE)
				upper |= UPPER_NO_FINAL;
		}
	} else if (ask->mode != WL_IPERF_FORWARD) {
		flags |= VERSION1 | (ask->mode == WL_IPERF_DUAL ? RUN_NOW : 0);
	}
	put_words(out,
		  (uint32_t[HEADER_BYTES / 4]){ flags, streams, ask->port, ask->length_bytes, 0,
						ask->bytes ? ask->bytes : 0 - ask->time_cs, 0, 0, upper << 16,
						VERSION_UPPER, VERSION_LOWER, 0, ask->bits_per_s, 0, 0 },
		  HEADER_BYTES / 4);
}

void wl_iperf_report_write(const struct wl_iperf_count *c, unsigned layout, uint8_t *out)
{
	uint8_t *at = out + wl_iperf_head(layout);

	/* The head is zero: a copy of the final datagram's head could be taken for one, and answered again. */
	memset(out, 0, REPORT_BYTES);
	put_words(at,
		  (uint32_t[]){ VERSION1 | ((layout & LAYOUT_WIDE) != 0 ? IDS_64 : 0),
				(uint32_t)(c->bytes >> 32), (uint32_t)c->bytes,
				(uint32_t)(c->duration_us / 1000000), (uint32_t)(c->duration_us % 1000000),
				(uint32_t)c->lost, (uint32_t)c->out_of_order, (uint32_t)c->datagrams },
		  8);
	/* Its seconds before it are 0: a step of the clock does not count. 2.0.10 to 2.0.12 have the upper word of the datagrams
	 * before them, and the bit has the value of two words. */
	wl_put32(at + 36 + (layout & LAYOUT_FLAGGED) / 2, c->jitter_us);
	/* Only for 64-bit numbers; other layouts have nothing there. */
	put_words(out + 116,
		  (uint32_t[]){ (uint32_t)(c->lost >> 32), (uint32_t)(c->out_of_order >> 32),
				(uint32_t)(c->datagrams >> 32) },
		  3);
}

static uint64_t joined(const uint8_t *low, const uint8_t *high)
{
	return (uint64_t)wl_be32(high) << 32 | wl_be32(low);
}

bool wl_iperf_report_read(const uint8_t *bytes, size_t have, struct wl_iperf_count *c)
{
	const uint8_t *at = bytes + NARROW_BYTES;
	static const uint8_t none[12] = { 0 };
	uint32_t before;
	const uint8_t *high = none;

	/* Type 2 is a late answer to a header, of 2.0.13; no number of a report is positive. */
	if (have < NARROW_BYTES + 40 || wl_be32(bytes) == 2)
		return false;
	/* In the long head this is the high half of a number: 0, or all bits set. */
	before = wl_be32(at);
	if ((before & VERSION1) == 0 || before == UINT32_MAX) {
		at += 4;
		if (have < WIDE_BYTES + 40 || (wl_be32(at) & VERSION1) == 0)
			return false;
		if (have >= REPORT_BYTES && (wl_be32(at) & IDS_64) != 0)
			high = bytes + 116;
	}
	c->bytes = joined(at + 8, at + 4);
	c->duration_us = (uint64_t)wl_be32(at + 12) * 1000000 + wl_be32(at + 16);
	c->jitter_us = wl_be32(at + 32) * 1000000 + wl_be32(at + 36);
	c->lost = joined(at + 20, high);
	c->out_of_order = joined(at + 24, high + 4);
	c->datagrams = joined(at + 28, high + 8);
	return true;
}

void wl_iperf_ack_write(uint8_t *out)
{
	put_words(out, (uint32_t[]){ 2, ACK_BYTES, 0, VERSION_UPPER, VERSION_LOWER, 0, 0 }, ACK_BYTES / 4);
}

void wl_iperf_fill(uint8_t *bytes, size_t count, size_t from)
{
	unsigned digit = (unsigned)(from % 10);

	for (; count > 0; count--) {
		*bytes++ = (uint8_t)('0' + digit);
		digit = digit == 9 ? 0 : digit + 1;
	}
}
