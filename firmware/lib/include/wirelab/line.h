/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lines of the node control protocol (spec/node-control.md, section 1): read in place, written into a fixed buffer. */
#ifndef WIRELAB_LINE_H
#define WIRELAB_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WL_LINE_BYTES 512
#define WL_KEY_BYTES 32

/* Bytes in another buffer, not ended by a zero. */
struct wl_text {
	const char *at;
	size_t count;
};

struct wl_line {
	char mark; /* '?', '=' or '!' */
	bool checked;
	uint32_t session;
	uint32_t number;
	struct wl_text name;
	struct wl_text fields;
};

enum wl_fault {
	WL_LINE_OK,
	WL_LINE_NOISE, /* not the start of a line: never answered */
	WL_LINE_TOO_LONG,
	WL_LINE_BAD_CHECK,
	WL_LINE_NO_CHECK,
	WL_LINE_BAD,
};

struct wl_field {
	struct wl_text key;
	struct wl_text value; /* still encoded */
};

/* CRC-16/IBM-3740 ("123456789" gives 29B1). */
uint16_t wl_crc16(const char *bytes, size_t count);

/* Read a line, with or without its line feed. In a bad line, session and number are its id as far as it can be trusted, else
 * 0. */
enum wl_fault wl_line_read(const char *bytes, size_t count, bool need_check, struct wl_line *line);

/* The next field; `rest` begins as line->fields. False behind the last. */
bool wl_line_next(struct wl_text *rest, struct wl_field *field);

/* The value of a key; false if it is absent. */
bool wl_line_get(const struct wl_line *line, const char *key, struct wl_text *value);

bool wl_text_is(struct wl_text text, const char *word);
bool wl_text_is_word(struct wl_text text);
bool wl_text_number(struct wl_text text, uint64_t *number);

/* The next byte of a value, decoded; -1 at its end. */
int wl_text_decode(struct wl_text *rest);

/* A line being written. Excess is noted, not written. */
struct wl_out {
	char bytes[WL_LINE_BYTES];
	uint16_t count;
	bool overflow;
};

void wl_out_begin(struct wl_out *out, char mark, uint32_t session, uint32_t number, const char *name);
void wl_out_key(struct wl_out *out, const char *prefix, const char *key);
void wl_out_number(struct wl_out *out, uint64_t number);
void wl_out_text(struct wl_out *out, const char *text, size_t count); /* encoded if necessary */
void wl_out_number_field(struct wl_out *out, const char *key, uint64_t number);
void wl_out_word_field(struct wl_out *out, const char *key, const char *word);

/* Marks the begin of an item that may not fit; wl_out_keep removes it and returns false unless `spare` bytes are left. */
uint16_t wl_out_mark(const struct wl_out *out);
bool wl_out_keep(struct wl_out *out, uint16_t mark, size_t spare);

/* Add check and line feed; false if the line was too long. */
bool wl_out_end(struct wl_out *out);

/* Lines out of a stream of bytes, e.g. a UART's. It resynchronizes at the next line feed after any bytes. */
struct wl_assembler {
	char bytes[WL_LINE_BYTES];
	uint16_t count;
	bool dropping;
};

enum wl_assembled {
	WL_NOT_YET,
	WL_LINE_DONE, /* bytes and count of the assembler, until the next byte */
	WL_LINE_DROPPED, /* too long; an answer is due if bytes[0] is '?' */
};

enum wl_assembled wl_assemble(struct wl_assembler *assembler, char byte, size_t *count);

#endif
