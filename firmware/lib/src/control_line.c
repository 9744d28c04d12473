/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Control lines: the checked view of input. */
#include "bytes.h"
#include "wirelab/line.h"

/* The remainders of four bits; a line of 512 bytes has a thousand of them. */
static const uint16_t crc_of_4[16] = { 0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50A5, 0x60C6, 0x70E7,
				       0x8108, 0x9129, 0xA14A, 0xB16B, 0xC18C, 0xD1AD, 0xE1CE, 0xF1EF };

uint16_t wl_crc16(const char *bytes, size_t count)
{
	uint16_t crc = 0xFFFF;

	for (; count > 0; bytes++, count--) {
		uint8_t byte = (uint8_t)*bytes;

		crc = (uint16_t)(crc << 4 ^ crc_of_4[crc >> 12 ^ byte >> 4]);
		crc = (uint16_t)(crc << 4 ^ crc_of_4[crc >> 12 ^ (byte & 15)]);
	}
	return crc;
}

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static bool is_lower(char byte)
{
	return byte >= 'a' && byte <= 'z';
}

bool wl_text_is(struct wl_text text, const char *word)
{
	size_t at = 0;

	while (at < text.count && word[at] != 0 && text.at[at] == word[at])
		at++;
	return at == text.count && word[at] == 0;
}

bool wl_text_is_word(struct wl_text text)
{
	if (text.count == 0 || text.count > WL_KEY_BYTES || !is_lower(text.at[0]))
		return false;
	for (size_t at = 1; at < text.count; at++) {
		char byte = text.at[at];

		if (!is_lower(byte) && !(byte >= '0' && byte <= '9') && byte != '_' && byte != '-' &&
		    byte != '.')
			return false;
	}
	return true;
}

bool wl_text_number(struct wl_text text, uint64_t *number)
{
	uint64_t value = 0;

	if (text.count == 0 || (text.at[0] == '0' && text.count > 1))
		return false;
	for (size_t at = 0; at < text.count; at++) {
		unsigned digit = (unsigned)(text.at[at] - '0');

		if (digit > 9 || value > UINT64_MAX / 10 || value * 10 > UINT64_MAX - digit)
			return false;
		value = value * 10 + digit;
	}
	*number = value;
	return true;
}

int wl_text_decode(struct wl_text *rest)
{
	int byte;

	if (rest->count == 0)
		return -1;
	byte = (uint8_t)*rest->at++;
	rest->count--;
	if (byte != '%' || rest->count < 2)
		return byte;
	byte = hex(rest->at[0]) << 4 | hex(rest->at[1]);
	rest->at += 2;
	rest->count -= 2;
	return byte;
}

/* Take the text before the next `end`, and `end` itself, off the front of `rest`. False without an `end`: `part` is then all of
 * it. */
static bool split(struct wl_text *rest, char end, struct wl_text *part)
{
	size_t at = 0;

	while (at < rest->count && rest->at[at] != end)
		at++;
	*part = (struct wl_text){ rest->at, at };
	if (at == rest->count) {
		rest->at += at;
		rest->count = 0;
		return false;
	}
	rest->at += at + 1;
	rest->count -= at + 1;
	return true;
}

bool wl_line_next(struct wl_text *rest, struct wl_field *field)
{
	struct wl_text part;

	if (rest->count == 0)
		return false;
	split(rest, ' ', &part);
	split(&part, '=', &field->key);
	field->value = part;
	return true;
}

bool wl_line_get(const struct wl_line *line, const char *key, struct wl_text *value)
{
	struct wl_text rest = line->fields;
	struct wl_field field;

	while (wl_line_next(&rest, &field)) {
		if (wl_text_is(field.key, key)) {
			*value = field.value;
			return true;
		}
	}
	return false;
}

static bool is_value(struct wl_text text)
{
	for (size_t at = 0; at < text.count; at++) {
		uint8_t byte = (uint8_t)text.at[at];

		if (byte < 0x21 || byte > 0x7E)
			return false;
		if (byte != '%')
			continue;
		if (text.count - at < 3 || hex(text.at[at + 1]) < 0 || hex(text.at[at + 2]) < 0)
			return false;
		at += 2;
	}
	return true;
}

static bool occurs_before(struct wl_text fields, struct wl_text key)
{
	struct wl_field other;

	while (wl_line_next(&fields, &other) && other.key.at != key.at)
		if (other.key.count == key.count && memcmp(other.key.at, key.at, key.count) == 0)
			return true;
	return false;
}

static bool are_fields(struct wl_text fields)
{
	struct wl_text rest = fields, part, key;

	/* A space at the end would be an empty field, which the loop does not see. */
	if (fields.count > 0 && fields.at[fields.count - 1] == ' ')
		return false;
	while (rest.count > 0) {
		split(&rest, ' ', &part);
		if (!split(&part, '=', &key) || !wl_text_is_word(key) || !is_value(part) ||
		    occurs_before(fields, key))
			return false;
	}
	return true;
}

/* Take the check off the end. */
static enum wl_fault split_check(struct wl_text *text, bool *checked)
{
	size_t at = text->count;
	unsigned sum = 0;

	*checked = false;
	while (at > 0 && text->at[at - 1] != ' ')
		at--;
	if (at == 0 || at == text->count || text->at[at] != '*')
		return WL_LINE_OK;
	if (text->count - at != 5)
		return WL_LINE_BAD_CHECK;
	for (size_t n = 1; n < 5; n++) {
		if (hex(text->at[at + n]) < 0)
			return WL_LINE_BAD_CHECK;
		sum = sum << 4 | (unsigned)hex(text->at[at + n]);
	}
	text->count = at - 1;
	*checked = true;
	return sum == wl_crc16(text->at, text->count) ? WL_LINE_OK : WL_LINE_BAD_CHECK;
}

static bool read_id(struct wl_text text, struct wl_line *line)
{
	struct wl_text session;
	uint64_t first, second;

	if (!split(&text, '.', &session) || !wl_text_number(session, &first) ||
	    !wl_text_number(text, &second))
		return false;
	if (first > UINT32_MAX || second > UINT32_MAX)
		return false;
	line->session = (uint32_t)first;
	line->number = (uint32_t)second;
	return true;
}

enum wl_fault wl_line_read(const char *bytes, size_t count, bool need_check, struct wl_line *line)
{
	struct wl_text text = { bytes, count }, id;
	enum wl_fault fault;

	*line = (struct wl_line){ 0 };
	if (count > WL_LINE_BYTES)
		return WL_LINE_TOO_LONG;
	if (text.count > 0 && bytes[text.count - 1] == '\n')
		text.count--;
	if (text.count > 0 && bytes[text.count - 1] == '\r')
		text.count--;
	if (text.count == 0 || (bytes[0] != '?' && bytes[0] != '=' && bytes[0] != '!'))
		return WL_LINE_NOISE;
	line->mark = bytes[0];
	fault = split_check(&text, &line->checked);
	if (fault != WL_LINE_OK)
		return fault;
	if (need_check && !line->checked)
		return WL_LINE_NO_CHECK;
	text.at++;
	text.count--;
	bool more = split(&text, ' ', &id);

	if (!read_id(id, line) || !more)
		return WL_LINE_BAD;
	more = split(&text, ' ', &line->name);
	line->fields = text;
	if (!wl_text_is_word(line->name) || (more && text.count == 0) || !are_fields(text))
		return WL_LINE_BAD;
	return WL_LINE_OK;
}
