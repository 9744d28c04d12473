/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Control lines: writing them, and collecting them from a stream of bytes. */
#include "bytes.h"
#include "wirelab/line.h"

#define TAIL 7 /* " *XXXX\n", kept free until the end */

static const char digits[] = "0123456789ABCDEF";

static void push(struct wl_out *out, const char *bytes, size_t count)
{
	if (out->overflow || count > (size_t)(WL_LINE_BYTES - TAIL - out->count)) {
		out->overflow = true;
		return;
	}
	memcpy(out->bytes + out->count, bytes, count);
	out->count = (uint16_t)(out->count + count);
}

static void push_word(struct wl_out *out, const char *word)
{
	size_t count = 0;

	while (word[count] != 0)
		count++;
	push(out, word, count);
}

void wl_out_begin(struct wl_out *out, char mark, uint32_t session, uint32_t number, const char *name)
{
	out->count = 0;
	out->overflow = false;
	push(out, &mark, 1);
	wl_out_number(out, session);
	push(out, ".", 1);
	wl_out_number(out, number);
	push(out, " ", 1);
	push_word(out, name);
}

void wl_out_key(struct wl_out *out, const char *prefix, const char *key)
{
	push(out, " ", 1);
	push_word(out, prefix);
	push_word(out, key);
	push(out, "=", 1);
}

void wl_out_number(struct wl_out *out, uint64_t number)
{
	char text[20];
	size_t at = sizeof(text);
	uint32_t low;

	/* A division of 64 bits takes hundreds of clocks on a core of 32 bits, and most numbers need none. */
	for (; number > UINT32_MAX; number /= 10)
		text[--at] = digits[number % 10];
	low = (uint32_t)number;
	do {
		text[--at] = digits[low % 10];
		low /= 10;
	} while (low > 0);
	push(out, text + at, sizeof(text) - at);
}

void wl_out_text(struct wl_out *out, const char *text, size_t count)
{
	for (; count > 0; text++, count--) {
		uint8_t byte = (uint8_t)*text;
		char code[3] = { '%', digits[byte >> 4], digits[byte & 15] };

		if (byte > 0x20 && byte < 0x7F && byte != '%')
			push(out, text, 1);
		else
			push(out, code, 3);
	}
}

void wl_out_number_field(struct wl_out *out, const char *key, uint64_t number)
{
	wl_out_key(out, "", key);
	wl_out_number(out, number);
}

void wl_out_word_field(struct wl_out *out, const char *key, const char *word)
{
	wl_out_key(out, "", key);
	push_word(out, word);
}

uint16_t wl_out_mark(const struct wl_out *out)
{
	return out->count;
}

bool wl_out_keep(struct wl_out *out, uint16_t mark, size_t spare)
{
	if (!out->overflow && out->count + spare <= WL_LINE_BYTES - TAIL)
		return true;
	/* The line was not too long before the mark, or it would have ended. */
	out->count = mark;
	out->overflow = false;
	return false;
}

bool wl_out_end(struct wl_out *out)
{
	uint16_t crc = wl_crc16(out->bytes, out->count);
	char *tail = out->bytes + out->count;

	if (out->overflow)
		return false;
	tail[0] = ' ';
	tail[1] = '*';
	for (int n = 0; n < 4; n++)
		tail[2 + n] = digits[crc >> (12 - 4 * n) & 15];
	tail[6] = '\n';
	out->count = (uint16_t)(out->count + TAIL);
	return true;
}

enum wl_assembled wl_assemble(struct wl_assembler *a, char byte, size_t *count)
{
	bool dropped;

	if (a->count < WL_LINE_BYTES)
		a->bytes[a->count++] = byte;
	else
		a->dropping = true;
	if (byte != '\n')
		return WL_NOT_YET;
	dropped = a->dropping;
	*count = a->count;
	a->count = 0;
	a->dropping = false;
	if (dropped)
		return WL_LINE_DROPPED;
	return *count > 1 ? WL_LINE_DONE : WL_NOT_YET;
}
