/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Control lines against spec/vectors/node-control.txt, bit errors, encoding, the assembler, and addresses. */
#include "tap.h"
#include "wirelab/control.h"

static const char *vectors_path;
static char file_line[4096];
static const char hello[] = "?0.2596069104 hello version=1 *5340\n";

static struct wl_text text_of(const char *text)
{
	return (struct wl_text){ text, strlen(text) };
}

static size_t unescape(const char *from, char *to)
{
	size_t count = 0;
	unsigned byte;

	for (; *from && *from != '\n'; from++, count++) {
		to[count] = *from;
		if (*from != '\\')
			continue;
		from++;
		if (*from == 'x' && sscanf(from + 1, "%2x", &byte) == 1) {
			to[count] = (char)byte;
			from += 2;
		} else {
			to[count] = *from == 'n' ? '\n' : *from == 'r' ? '\r' : '\\';
		}
	}
	return count;
}

static void say_records(const struct wl_line *line, char *out)
{
	struct wl_text data, value;
	uint64_t base_sequence = 0, base_ticks = 0;
	unsigned long long sequence, ticks;
	int used;

	if (!wl_line_get(line, "data", &data))
		return;
	if (wl_line_get(line, "base_sequence", &value))
		wl_text_number(value, &base_sequence);
	if (wl_line_get(line, "base_ticks", &value))
		wl_text_number(value, &base_ticks);
	for (const char *at = data.at; sscanf(at, "%llu:%llu%n", &sequence, &ticks, &used) == 2;
	     at += used + 1) {
		sprintf(out + strlen(out), "record %u %llu\n", (uint32_t)(base_sequence + sequence),
			(unsigned long long)(base_ticks + ticks));
		if (at[used] != ',')
			break;
	}
}

/* This implementation's result for the bytes, in the file's words. */
static void outcome(const char *bytes, size_t count, bool need_check, char *out)
{
	static const char *const codes[] = { "", "", "too-long", "bad-check", "no-check", "bad-line" };
	struct wl_line line;
	enum wl_fault fault = wl_line_read(bytes, count, need_check, &line);
	struct wl_text rest = line.fields;
	struct wl_field field;
	struct wl_refusal refusal;
	int byte;

	*out = 0;
	if (fault == WL_LINE_NOISE) {
		strcpy(out, "silence\n");
	} else if (fault != WL_LINE_OK) {
		sprintf(out, "error %s %u.%u\n", codes[fault], line.session, line.number);
	}
	if (fault != WL_LINE_OK)
		return;
	out += sprintf(out, "line %s %u.%u %.*s %s\n",
		       line.mark == '?'	  ? "request"
		       : line.mark == '=' ? "reply"
					  : "error",
		       line.session, line.number, (int)line.name.count, line.name.at,
		       line.checked ? "checked" : "plain");
	while (wl_line_next(&rest, &field)) {
		out += sprintf(out, "field %.*s ", (int)field.key.count, field.key.at);
		while ((byte = wl_text_decode(&field.value)) >= 0)
			*out++ = (char)byte;
		*out++ = '\n';
	}
	*out = 0;
	if (line.mark != '?')
		say_records(&line, out);
	else if (!wl_request_check(&line, &refusal))
		sprintf(out, "refused %s %.*s\n", refusal.code,
			refusal.unknown.count ? (int)refusal.unknown.count : 64,
			refusal.unknown.count ? refusal.unknown.at
			: refusal.field	      ? refusal.field
					      : "-");
}

static void every_vector_gives_what_it_says(void)
{
	static char bytes[2048], got[4096], wanted[4096], name[200];
	FILE *file = fopen(vectors_path, "r");
	size_t count = 0;
	bool need_check = false, more = true;
	int vectors = 0;

	CHECK(file != NULL);
	if (!file)
		return;
	while (more) {
		more = fgets(file_line, sizeof file_line, file) != NULL;
		if (!more || file_line[0] == '\n') {
			if (name[0]) {
				vectors++;
				outcome(bytes, count, need_check, got);
				if (!CHECK(strcmp(got, wanted) == 0))
					printf("# %s# wanted %s# got %s", name, wanted, got);
			}
			name[0] = wanted[0] = 0;
		} else if (strncmp(file_line, "name ", 5) == 0) {
			snprintf(name, sizeof name, "%.190s", file_line + 5);
		} else if (strncmp(file_line, "in ", 3) == 0) {
			count = unescape(file_line + 3, bytes);
		} else if (strncmp(file_line, "check ", 6) == 0) {
			need_check = file_line[6] == 'n';
		} else if (file_line[0] != '#') {
			strcat(wanted, file_line);
		}
	}
	fclose(file);
	CHECK(vectors >= 50);
}

static void every_damaged_bit_is_found(void)
{
	struct wl_line line;
	char bytes[sizeof hello];

	EQUAL(wl_crc16("123456789", 9), 0x29B1);
	EQUAL(wl_line_read(hello, strlen(hello), true, &line), WL_LINE_OK);
	for (size_t bit = 0; bit < 8 * (strlen(hello) - 1); bit++) {
		memcpy(bytes, hello, sizeof hello);
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
		CHECK(wl_line_read(bytes, strlen(hello), true, &line) != WL_LINE_OK);
	}
}

static void odd_bytes_are_encoded(void)
{
	static const char wanted[] = "=7.1 hello set.stack=lwIP%202.2%2050%25%20%C2%B5=*%7F~! *XXXX\n";
	static const char text[] = "lwIP 2.2 50% \xC2\xB5=*\x7F~!";
	struct wl_out out;

	wl_out_begin(&out, '=', 7, 1, "hello");
	wl_out_key(&out, "set.", "stack");
	wl_out_text(&out, text, strlen(text));
	CHECK(wl_out_end(&out));
	/* All except the digits of the check, which the vectors cover. */
	CHECK(out.count == strlen(wanted) && memcmp(out.bytes, wanted, out.count - 5u) == 0);
}

static void too_much_is_taken_back(void)
{
	struct wl_out out;
	int fitted = 0;

	wl_out_begin(&out, '=', 0, 0, "x");
	for (;; fitted++) {
		uint16_t mark = wl_out_mark(&out);

		wl_out_number_field(&out, "key", 12345);
		if (!wl_out_keep(&out, mark, 0))
			break;
	}
	EQUAL(fitted, (512 - 7 - 6) / 10);
	CHECK(wl_out_end(&out));
	wl_out_begin(&out, '=', 0, 0, "x");
	for (int n = 0; n < 60; n++)
		wl_out_number_field(&out, "key", 12345);
	CHECK(!wl_out_end(&out));
}

static void in_step_again_after_a_long_line(void)
{
	static struct wl_assembler a;
	size_t count;

	for (int n = 0; n < 2000; n++)
		EQUAL(wl_assemble(&a, '?', &count), WL_NOT_YET);
	EQUAL(wl_assemble(&a, '\n', &count), WL_LINE_DROPPED);
	EQUAL(a.bytes[0], '?');
	for (const char *at = hello; at[1]; at++)
		EQUAL(wl_assemble(&a, *at, &count), WL_NOT_YET);
	EQUAL(wl_assemble(&a, '\n', &count), WL_LINE_DONE);
	CHECK(count == strlen(hello) && memcmp(a.bytes, hello, count) == 0);
	EQUAL(wl_assemble(&a, '\n', &count), WL_NOT_YET); /* an empty line */
	for (int n = 0; n < 511; n++)
		wl_assemble(&a, 'x', &count);
	EQUAL(wl_assemble(&a, '\n', &count), WL_LINE_DONE);
	EQUAL(count, 512);
}

static void addresses_both_ways(void)
{
	/* Reads an address and writes it as in RFC 5952; 0 if it is invalid. */
	static const char *const addresses[][2] = {
		{ "192.0.2.1", "192.0.2.1" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "192.0.2.01", 0 },
		{ "192.0.2", 0 },
		{ "192.0.2.1.", 0 },
		{ "192.0.2.256", 0 },
		{ "", 0 },
#if WL_CONTROL_IPV6
		{ "::", "::" },
		{ "::1", "::1" },
		{ "1::", "1::" },
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8" },
		{ "::ffff:192.0.2.1", "::ffff:c000:201" },
		{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
		{ "1::2::3", 0 },
		{ "1:2:3:4:5:6:7:8:9", 0 },
		{ "1:2:3:4:5:6:7", 0 },
		{ "12345::", 0 },
		{ ":1::", 0 },
		{ "1:", 0 },
		{ ":::", 0 },
		{ "1:2:3:4:5:6:7:192.0.2.1", 0 },
		{ "::1%eth0", 0 },
#else
		{ "::1", 0 },
#endif
	};

	for (size_t n = 0; n < sizeof addresses / sizeof addresses[0]; n++) {
		struct wl_out out = { .count = 0 };
		struct wl_ip ip;
		bool good = wl_ip_read(text_of(addresses[n][0]), &ip);

		if (!CHECK(good == (addresses[n][1] != 0)))
			printf("# %s\n", addresses[n][0]);
		if (!good || !addresses[n][1])
			continue;
		wl_ip_write(&ip, &out);
		if (!CHECK(out.count == strlen(addresses[n][1]) &&
			   memcmp(out.bytes, addresses[n][1], out.count) == 0))
			printf("# %s: %.*s\n", addresses[n][1], out.count, out.bytes);
	}
}

int main(int argc, char **argv)
{
	vectors_path = argc > 1 ? argv[1] : "";
	RUN(every_vector_gives_what_it_says);
	RUN(every_damaged_bit_is_found);
	RUN(odd_bytes_are_encoded);
	RUN(too_much_is_taken_back);
	RUN(in_step_again_after_a_long_line);
	RUN(addresses_both_ways);
	return tap_end();
}
